"""What a plan cannot give, told before it runs: each boundary is worked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.caveats import Caveat, Planned, foreseen
from netstudy.analysis.caveats.few_runs import SingleRuns
from netstudy.analysis.caveats.few_samples import FewSamplesExpected
from netstudy.analysis.caveats.no_queue import NoQueue
from netstudy.analysis.caveats.short_phase import ShortPhase
from netstudy.analysis.workloads import workload_of
from netstudy.plan import make_plan
from netstudy.report.caveats import caveat_sentence
from netstudy.study import Study, load

STUDY = """
study: asked
question: What will it give?
factors: {{{factors}}}
topology:
  switch: {{{switch}}}
  hosts:
    client: {{profile: host-1g, count: {clients}}}
    server: {{profile: host-1g, count: {servers}}}
  links:
    - {{between: [client, switch], rate: 1 Gbit/s, delay: {delay}}}
    - {{between: [server, switch], rate: {rate}, delay: {delay}}}
workload: {{{workload}}}
procedure: {{{procedure}}}
replicates: {replicates}
{rest}
"""


def told(
    folder: Path,
    workload: str,
    *,
    factors: str = "size: [1 MB, 2 MB]",
    switch: str = "profile: generic-shallow",
    clients: int = 1,
    servers: int = 1,
    delay: str = "5 us",
    rate: str = "1 Gbit/s",
    procedure: str = "",
    replicates: int = 5,
    rest: str = "",
) -> tuple[Caveat, ...]:
    """The caveats, of a study like the one above."""
    text = STUDY.format(
        factors=factors,
        switch=switch,
        clients=clients,
        servers=servers,
        delay=delay,
        rate=rate,
        workload=workload,
        procedure=procedure,
        replicates=replicates,
        rest=rest,
    )
    path = folder / "study.yaml"
    path.write_text(text)
    study = load(path)
    return of_plan(study)


def of_plan(study: Study) -> tuple[Caveat, ...]:
    plan = make_plan(study, seed=1).plan_of_one_each
    return foreseen(Planned(study, plan, workload_of(plan), study.replicates))


def sentence(found: Caveat) -> str:
    return str(caveat_sentence(found)).replace("\u00a0", " ")


TRANSFERS = 'transfer: {{size: "${{size}}", repeats: {repeats}, flows: 2}}'
TAIL = "figures: [transfer_p99]"


def test_a_far_percentile_takes_more_samples_than_all_runs_of_a_setting_have(
    tmp_path: Path,
) -> None:
    """299 samples carry a 99th percentile. 5 runs of 2 flows give ten for each repeat."""
    (found,) = told(tmp_path, TRANSFERS.format(repeats=29), rest=TAIL)
    assert isinstance(found, FewSamplesExpected)
    assert (found.metric.name, found.expected, found.needed) == ("transfer_s_p99", 290, 299)
    assert not found.of_one_run
    assert sentence(found).startswith(
        "transfer_s_p99 takes 299 transfers, and all runs of a setting give about 290 (at size="
    )
    assert told(tmp_path, TRANSFERS.format(repeats=30), rest=TAIL) == ()


def test_a_metric_that_is_named_anywhere_counts(tmp_path: Path) -> None:
    work = TRANSFERS.format(repeats=10)
    for rest in (
        "require: [transfer_s_p99 < 3]",
        "report: {tables: [{rows: [size], columns: [transfer_s_p99]}]}",
    ):
        (found,) = told(tmp_path, work, rest=rest)
        assert isinstance(found, FewSamplesExpected)
    assert told(tmp_path, work) == (), "nobody asks for it"


def test_a_verdict_takes_a_percentile_of_each_run(tmp_path: Path) -> None:
    """One sample of a hundred lies beyond the 99th percentile: 50 repeats of 2 flows."""
    compare = "compare: {factor: size, base: 1 MB, on: [transfer_s_p99]}"
    (found,) = told(tmp_path, TRANSFERS.format(repeats=49), rest=compare)
    assert isinstance(found, FewSamplesExpected)
    assert (found.expected, found.needed, found.of_one_run) == (98, 100, True)
    assert "there will be no verdict on it" in sentence(found)
    assert told(tmp_path, TRANSFERS.format(repeats=50), rest=compare) == ()


def test_probes_are_counted_by_their_interval(tmp_path: Path) -> None:
    """5 runs of 1 s: a probe each 20 ms gives 250, one each 10 ms gives 500."""
    workload = 'transfer: {{flows: "${{n}}"}}, probe: {every}'
    more = {"factors": "n: [1, 2]", "procedure": "idle: 1 s, measure: 1 s"}
    rest = "figures: [probe_increase_p99]"
    (found,) = told(tmp_path, workload.format(every="20 ms"), rest=rest, **more)  # type: ignore[arg-type]
    assert isinstance(found, FewSamplesExpected)
    assert (found.noun, found.expected) == ("probe", 250)
    assert told(tmp_path, workload.format(every="10 ms"), rest=rest, **more) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("replicates", [1, 2])
def test_a_comparison_takes_two_runs_of_a_setting(tmp_path: Path, replicates: int) -> None:
    compare = "compare: {factor: size, base: 1 MB, on: [goodput_mbps]}"
    found = told(tmp_path, TRANSFERS.format(repeats=9), rest=compare, replicates=replicates)
    assert found == ((SingleRuns(),) if replicates == 1 else ())
    if found:
        assert "Set replicates to 2 at least; 5 are better." in sentence(found[0])


def test_a_phase_of_a_few_round_trips_is_told(tmp_path: Path) -> None:
    """Two links of 5 ms each way are a round trip of 20 ms and a little."""
    more = {"factors": "n: [1, 2]", "delay": "5 ms"}
    work = 'transfer: {flows: "${n}"}'
    (found,) = told(tmp_path, work, procedure="warmup: 1 s, measure: 200 ms", **more)  # type: ignore[arg-type]
    assert isinstance(found, ShortPhase)
    assert (found.phase, found.length_ns) == ("measure", 200_000_000)
    assert found.trip_ns == pytest.approx(20e6, rel=0.01)
    assert sentence(found).startswith("The measuring phase lasts 200 ms, and a round trip takes 20")
    both = told(tmp_path, work, procedure="warmup: 100 ms, measure: 100 ms", **more)  # type: ignore[arg-type]
    assert [one.phase for one in both if isinstance(one, ShortPhase)] == ["warm-up", "measure"]
    assert told(tmp_path, work, procedure="warmup: 1 s, measure: 300 ms", **more) == ()  # type: ignore[arg-type]


BUFFERS = {
    "factors": "buffer: [100 kB, 1 MB]",
    "switch": 'profile: generic-shallow, port_buffer: "${buffer}"',
    "procedure": "measure: 1 s",
}


def test_a_star_of_pairs_never_queues(tmp_path: Path) -> None:
    for workload in ("transfer: {}", "transfer: {direction: both, flows: 8}"):
        (found,) = told(tmp_path, workload, clients=3, servers=3, **BUFFERS)  # type: ignore[arg-type]
        assert found == NoQueue(("switch",))
        assert sentence(found).startswith("No port of switch ever gets frames faster than it sends")


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"clients": 1, "servers": 2}, id="two servers send to one client"),
        pytest.param({"rate": "100 Mbit/s"}, id="a fast link leads to a slow one"),
        pytest.param(
            {"factors": "n: [1, 2]", "switch": "profile: generic-shallow"}, id="not asked"
        ),
        pytest.param(
            {"switch": 'profile: generic-shallow, port_buffer: "${buffer}", pause_high: 60 kB'},
            id="PAUSE makes a queue",
        ),
    ],
)
def test_a_star_that_queues_or_is_not_asked_about_is_not_told(
    tmp_path: Path, more: dict[str, str | int]
) -> None:
    workload = 'transfer: {flows: "${n}"}' if "factors" in more else "transfer: {}"
    assert told(tmp_path, workload, **(BUFFERS | more)) == ()  # type: ignore[arg-type]


def test_drops_that_are_asked_for_count_as_asking_about_the_switch(tmp_path: Path) -> None:
    work = TRANSFERS.format(repeats=9)
    assert told(tmp_path, work, rest="figures: [drops]") == (NoQueue(("switch",)),)


PROGRAM = """
study: asked
question: What will it give?
factors: {users: [1, 2]}
topology:
  hosts: {app: {profile: host-1g}, client: {profile: host-1g}}
  links: [{between: [app, client]}]
workload:
  transactions:
    application: {start: [/usr/bin/true], url: "http://app:8080/"}
    closed: {users: "${users}"}
procedure: {measure: 1 s}
figures: [response_p99]
"""


def test_nothing_is_foreseen_of_a_program_whose_costs_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(PROGRAM)
    study = load(tmp_path)
    assert of_plan(study) == ()
