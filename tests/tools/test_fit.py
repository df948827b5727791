"""The fit of the incast profiles: what is made small, what fits as well, what is written."""

from __future__ import annotations

import math
import shutil
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from netstudy.analysis.reference import Published
from netstudy.analysis.workloads.incast import COMPLETION, DROPS, RETRANSMISSIONS
from netstudy.calibration import Figure, Fitted, Interval
from netstudy.hardware import HardwareLibrary
from netstudy.wire import IterationSamples, RunRecord, Samples, Treatment
from tools import fit, trial
from tools.fit import LISTS, PACKETS, WORST, Means, Simulator, errors, means, pooled

pytestmark = [pytest.mark.engine, pytest.mark.slow]

AT: Treatment = {"switch": "nexus-5010", "configuration": "4 MB", "servers": 23}


def figure(name: str) -> Figure:
    return next(one for one in LISTS if one.knob.name == name)


def run(
    replicate: int, times: float, drops: float, switch: str = "nexus-5010", servers: int = 23
) -> Means:
    """A run whose means are so many times the published ones; of packets with two more."""
    at = {**AT, "switch": switch, "servers": servers}
    table = {value.metric: value.value for value in trial.published() if value.is_of(at)}
    packets = drops * (table[DROPS] + PACKETS) - PACKETS
    return Means(at, replicate, {COMPLETION: times * table[COMPLETION], DROPS: packets})


def striped(again: float) -> Means:
    """A run of the striped configuration as published, but for its retransmissions."""
    at: Treatment = {"switch": "nexus-5010", "configuration": "10 MB striped", "servers": 8}
    table = {value.metric: value.value for value in trial.published() if value.is_of(at)}
    packets = again * (table[RETRANSMISSIONS] + PACKETS) - PACKETS
    of = {metric: table[metric] for metric in (COMPLETION, DROPS)}
    return Means(at, 1, {**of, RETRANSMISSIONS: packets})


@pytest.fixture
def hardware(tmp_path: Path) -> Path:
    copy = tmp_path / "hardware"
    shutil.copytree(fit.HARDWARE, copy)
    return copy


def test_an_error_counts_alike_up_and_down_and_never_more_than_the_bound() -> None:
    found = errors([run(1, 1.1, 1.0), run(2, 1 / 1.1, 1.0), run(3, 9.0, 1.0)])
    assert found == pytest.approx([math.log(1.1) / 2, math.log(1.1) / 2, WORST / 2])


@pytest.mark.parametrize(("other", "between"), [(1.1, 0.0), (1.0, 1.0), (1 / 1.1, 2.0)])
def test_the_ratio_of_the_switches_counts_as_much_as_their_times(
    other: float, between: float
) -> None:
    (found,) = errors([run(1, 1.1, 1.0), run(1, other, 1.0, "arista-7124s")])
    times = statistics.mean((1.0, abs(math.log(other)) / math.log(1.1)))
    assert found == pytest.approx(math.log(1.1) * (times + 0.0 + between) / 3)


@pytest.mark.parametrize(("servers", "series"), [(17, 2), (18, 3)])
def test_the_ratio_of_the_switches_counts_in_the_last_quarter_of_the_range(
    servers: int, series: int
) -> None:
    both = [run(1, 1.1, 1.1, switch, servers) for switch in ("nexus-5010", "arista-7124s")]
    assert errors(both) == pytest.approx([2 * math.log(1.1) / series])


def test_nothing_dropped_is_an_error_like_any_other() -> None:
    none = PACKETS / (155.1 + PACKETS)
    assert errors([run(1, 1.0, none)]) == pytest.approx([WORST / 2])


def test_where_the_host_loses_frames_retransmissions_are_a_series_of_their_own() -> None:
    assert errors([striped(1.1)]) == pytest.approx([math.log(1.1) / 3])


def test_every_configuration_counts_alike_however_many_rows_it_has() -> None:
    found = errors([striped(1.1), run(1, 1.2, 1.0), run(1, 1.2, 1.0, servers=17)])
    assert found == pytest.approx([(math.log(1.1) / 3 + math.log(1.2) / 2) / 2])


def test_the_means_of_a_run_are_in_the_units_of_the_table() -> None:
    samples = IterationSamples(
        completion_ns=(1_000_000, 3_000_000),
        dropped_packets=(3, 4),
        retransmissions=(4, 5),
        timeouts=(0, 0),
    )
    record = RunRecord(
        run="0" * 12,
        treatment=AT,
        replicate=7,
        seed="0",
        status="ok",
        samples=Samples(iteration=samples),
    )
    assert means(record) == Means(AT, 7, {COMPLETION: 2.0, DROPS: 3.5, RETRANSMISSIONS: 4.5})


def test_pooled_replicates_are_one_run_in_which_opposite_errors_cancel() -> None:
    other = run(1, 1.0, 1.0, "arista-7124s")
    found = pooled([run(1, 1.2, 0.9), other, run(2, 0.8, 1.1), other])
    assert [one.treatment["switch"] for one in found] == [AT["switch"], "arista-7124s"]
    assert errors(found) == pytest.approx([0.0])


def test_a_run_that_was_carried_out_is_not_carried_out_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base = trial.plan(2, 1, (2,), configurations=("4 MB",))
    asked: list[int] = []
    simulate = trial.simulate

    def counting(plan: trial.Plan) -> list[RunRecord]:
        asked.append(len(plan["runs"]))
        return simulate(plan)

    monkeypatch.setattr(trial, "simulate", counting)
    known = Simulator()
    first = known(base)
    other = known(fit.with_chosen(base, {figure("ingress_guarantee"): 1}))
    assert known(base) == first
    assert asked == [2, 1]
    assert [one.treatment for one in other] == [one.treatment for one in first]
    assert other[1] == first[1]


def test_every_list_is_of_a_fitted_figure_and_every_fitted_figure_has_one() -> None:
    chosen = fit.in_profiles(trial.plan(1, 1, (2,)))
    library = HardwareLibrary.default(trial.STUDY)
    fitted = {
        (name, row.name): row.value
        for kind, name in (("switch", "arista-7124s"), ("switch", "nexus-5010"),
                           ("host", "ucs-c200-rhel54"))
        for row in library.rows(kind, name)  # type: ignore[arg-type]
        if row.source == "fitted"
    }  # fmt: skip
    known = {(one.profile, one.name): one for one in chosen}
    assert fitted.keys() == known.keys()
    for place, text in fitted.items():
        assert known[place].read(text) == chosen[known[place]]
        assert chosen[known[place]] in LISTS[known[place]]


@pytest.fixture
def truth(monkeypatch: pytest.MonkeyPatch) -> trial.Plan:
    """A plan whose published values are what it gives with a guarantee of one frame."""
    base = trial.plan(20, 1, (12, 23), 5, ("4 MB",))
    guarantee = figure("ingress_guarantee")
    made = trial.simulate(fit.with_chosen(base, {guarantee: 1}))
    monkeypatch.setattr(trial, "published", lambda: tuple(values(pooled(map(means, made)))))
    fitted = (guarantee, figure("receive_ring"))
    monkeypatch.setattr(fit, "LISTS", {one: LISTS[one] for one in fitted})
    return base


def values(made: Sequence[Means]) -> Iterator[Published]:
    """Means of completion time and drops, as a table would have them."""
    for one in made:
        at = {factor: str(level) for factor, level in one.treatment.items()}
        yield from (Published(metric, at, value, 0.1) for metric, value in one.of.items())


def test_a_fit_finds_the_figure_that_a_table_was_made_with(truth: trial.Plan) -> None:
    simulate = Simulator()
    before = fit.in_profiles(truth)
    found = fit.fit(truth, simulate)
    assert before[figure("ingress_guarantee")] == 2
    assert found == {**before, figure("ingress_guarantee"): 1}
    assert errors(pooled(simulate(fit.with_chosen(truth, found)))) == pytest.approx([0.0])


def test_the_interval_of_a_figure_holds_it_and_not_what_fits_worse(truth: trial.Plan) -> None:
    guarantee = figure("ingress_guarantee")
    chosen = {**fit.in_profiles(truth), guarantee: 1}
    assert fit.interval(guarantee, chosen, truth, Simulator()) == Interval(1, 1)


def test_only_the_value_and_the_interval_of_a_profile_are_written(hardware: Path) -> None:
    before = (fit.HARDWARE / "nexus-5010.yaml").read_text()
    fit.write({figure("ingress_buffer"): Fitted(99_500, Interval(90_500, 99_500))}, hardware)
    after = (hardware / "nexus-5010.yaml").read_text()
    changed = set(after.splitlines()) - set(before.splitlines())
    assert changed == {"    value: 99.5 kB", "    interval: [90.5 kB, 99.5 kB]"}
    assert len(after.splitlines()) == len(before.splitlines())


def test_a_value_that_stays_is_left_as_it_was_written(hardware: Path) -> None:
    library = HardwareLibrary((hardware,))
    said = library.switch("nexus-5010").figures.egress_buffer
    assert said is not None
    before = (hardware / "nexus-5010.yaml").read_text()
    fit.write({figure("egress_buffer"): Fitted(said.value, Interval(*said.interval))}, hardware)
    assert (hardware / "nexus-5010.yaml").read_text() == before


def test_what_is_written_can_be_read(hardware: Path) -> None:
    first = {one: Fitted(some[0], Interval(some[0], some[-1])) for one, some in LISTS.items()}
    fit.write(first, hardware)
    library = HardwareLibrary((hardware,))
    switch, host = library.switch("nexus-5010"), library.host("ucs-c200-rhel54")
    assert switch.figures.random_arbitration is not None
    assert switch.figures.random_arbitration.interval == (10.0, 100.0)
    assert host.nic.receive_per_frame is not None
    assert host.nic.receive_per_frame.value == 925


def rings(plan: trial.Plan) -> list[int]:
    groups = [group for run in plan["runs"] for group in run["network"]["groups"]]
    return [group["nic"]["receive_ring_frames"] for group in groups]


def test_a_changed_plan_leaves_the_first_as_it_was() -> None:
    base = trial.plan(1, 1, (2,), configurations=("4 MB",))
    other = trial.changed(base, {"network.groups.nic.receive_ring_frames": 7, "network.x.y": 1})
    assert rings(other) == [7] * 4
    assert 7 not in rings(base)
    assert "x" not in other["runs"][0]["network"]
