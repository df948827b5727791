"""The box that answers: what was planted in made-up records is named, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from netstudy.report.prose.answer import WORDS_MAX, answer, in_order, led, within
from netstudy.report.prose.summary import WORDS_MAX as SUMMARY_WORDS_MAX
from netstudy.report.prose.summary import summary

from netstudy.analysis.intervals import Interval
from netstudy.analysis.nodes import node_metric
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.analysis.workloads.incast import COMPLETION, COMPLETION_P99, DROPS, FAIRNESS, GOODPUT
from netstudy.report.document import document
from netstudy.report.numbers import full_level
from netstudy.report.prose.change import Change, ahead_of, lead, told_apart
from netstudy.report.refs import Name, Number, say
from netstudy.store import Folder
from netstudy.study.vocabulary import split_metric
from netstudy.wire import Level, Run, RunRecord
from tests.report.results import from_text, study_text
from tests.report.synthetic import from_samples

RTO_STUDY = """
factors:
  min_rto: [1 ms, 200 ms]
  buffer: [128 kB, 512 kB, 2 MB]
  servers: [4, 8, 16]
replicates: 5
noise: 5 %
"""
RTO = (
    study_text(RTO_STUDY, servers='"${servers}"')
    .replace("switch: nexus-5010", 'switch: {profile: generic-shallow, port_buffer: "${buffer}"}')
    .replace('count: "${servers}"', 'count: "${servers}", tcp: {min_rto: "${min_rto}"}')
)
Mean = Callable[..., float]


TRAFFIC = node_metric(split_metric("app@client.network_mbps"))
"""Neither more nor less of it is better."""


def records(mean: Mean) -> Callable[[Run], RunRecord]:
    """Runs of iterations that take a mean time in ms by the levels, one run 1 % beside another."""

    def made(planned: Run) -> RunRecord:
        n = planned.count("measure")
        rng = np.random.default_rng(crc32(planned.id.encode()))
        times = np.full(n, mean(**planned.treatment) * (1 + 0.01 * rng.standard_normal()))
        zeros = np.zeros(n, dtype=int)
        return from_samples(planned, times, zeros, zeros, zeros)

    return made


def answered(folder: Path, text: str, mean: Mean) -> str:
    result = analyse(from_text(folder, text, records(mean)))
    return said(result)


def said(result: StudyResult) -> str:
    text = " ".join(map(str, answer(result))).replace("\u00a0", " ")
    assert len(text.split()) <= WORDS_MAX
    whole = " ".join(str(s) for point in summary(result) for s in point.sentences)
    assert len(whole.split()) <= SUMMARY_WORDS_MAX
    return text


def test_who_wins_where_by_how_much_and_where_it_turns(found: StudyResult) -> None:
    text = said(found)
    assert text.startswith("nexus-5010 is faster than arista-7124s at 2 to 9 servers.")
    assert "Largest lead at 9 servers: " in text
    assert " times faster (95 % CI " in text


def planted(min_rto: str, buffer: str, servers: int) -> float:
    """2 MB drop nothing; at 512 kB a low RTO helps up to 8 servers and harms 16."""
    work = 10.0 * servers
    if buffer == "2 MB":
        return work
    if min_rto == "1 ms":
        return work * 2
    if buffer == "512 kB" and servers == 16:
        return work * 1.6
    return work * 6


def test_the_planted_buffer_and_the_planted_turn_are_named(tmp_path: Path) -> None:
    text = answered(tmp_path, RTO, planted)
    assert "With buffer 2 MB, min_rto makes no difference." in text
    assert "Only at buffer 512 kB, 16 servers, min_rto 200 ms takes 20 % less time" in text


def test_levels_that_are_names_have_no_order(tmp_path: Path) -> None:
    """The switch matters with reno alone; cubic and dctcp are no more of anything."""
    text = study_text(
        "factors: {switch: [arista-7124s, nexus-5010], cc: [reno, cubic, dctcp]}\nreplicates: 5\n"
        "noise: 5 %\n",
        switch='"${switch}"',
    ).replace("client: {", 'client: {tcp: {congestion_control: "${cc}"}, ')

    def mean(switch: str, cc: str) -> float:
        return {"reno": 80.0 if switch == "nexus-5010" else 40.0}.get(cc, 50.0)

    assert "With cc cubic and dctcp, switch makes no difference." in answered(tmp_path, text, mean)


@pytest.mark.parametrize("base", ["arista-7124s", "nexus-5010"])
def test_none_against_some_is_fewer_whichever_is_the_base(base: str, tmp_path: Path) -> None:
    """One run of each: the order is told and no verdict."""
    asked = f"{{factor: switch, base: {base}, on: [drops_per_iteration]}}"
    text = study_text(
        "factors: {switch: [arista-7124s, nexus-5010], servers: [1, 2, 4]}\nreplicates: 1\n"
        f"compare: {asked}\n",
        servers='"${servers}"',
        switch='"${switch}"',
    )

    def made(planned: Run) -> RunRecord:
        n = planned.count("measure")
        drops = 10 if planned.treatment["switch"] == "nexus-5010" else 0
        return from_samples(planned, [40.0] * n, [drops] * n, [0] * n, [0] * n)

    result = analyse(from_text(tmp_path, text, made))
    ahead = "arista-7124s is lower in dropped packets an iteration than nexus-5010 in 3 of 3."
    assert ahead in said(result)


def test_factors_that_only_multiply_have_neither(tmp_path: Path) -> None:
    def mean(min_rto: str, buffer: str, servers: int) -> float:
        return servers * {"1 ms": 1, "200 ms": 1.5}[min_rto] * {"2 MB": 1}.get(buffer, 3.0)

    text = answered(tmp_path, RTO, mean)
    assert text.startswith("buffer matters most for completion time: buffer 2 MB is ")
    assert "; then min_rto (50 %)" in text or "; then min_rto (49 %)" in text
    assert "makes no difference" not in text
    assert "Only at" not in text


def test_where_nothing_is_planted_no_factor_matters(tmp_path: Path) -> None:
    text = answered(tmp_path, RTO, lambda **_: 10.0)
    assert "matters" not in text
    assert "no difference" not in text


ALONG = """
factors:
  servers: [1, 2, 4, 8, 16]
replicates: 5
noise: 3 %
"""


def along(folder: Path, times: Sequence[float]) -> Folder:
    """Results of five numbers of servers with these times."""
    levels = dict(zip((1, 2, 4, 8, 16), times, strict=True))
    text = study_text(ALONG, servers='"${servers}"')
    return from_text(folder, text, records(lambda servers: levels[servers]))


def test_a_level_that_breaks_the_order_of_its_neighbours_is_named(tmp_path: Path) -> None:
    made = along(tmp_path, (10, 20, 90, 40, 50))
    result = analyse(made)
    text = said(result)
    assert "Completion time breaks the order of its neighbours at 4 servers: " in text
    assert " at 2 servers and " in text
    assert text.endswith(" at 8 servers.")
    first, *_ = document(made, result).cases[0].panels[0].observations
    assert str(first).replace("\u00a0", " ") in text


@pytest.mark.parametrize(
    "times",
    [(10, 20, 30, 40, 50), (10, 20, 30, 20, 10), (10, 20, 20.1, 20, 30), (10, 50, 10, 50, 10)],
    ids=["rising", "turning", "within the noise", "up and down"],
)
def test_no_level_is_out_of_an_order_that_holds_or_that_there_is_not(
    tmp_path: Path, times: tuple[float, ...]
) -> None:
    assert "breaks the order" not in said(analyse(along(tmp_path, times)))


THREE = """
factors:
  control: [reno, cubic, dctcp]
  servers: [8, 16]
replicates: 5
compare: {factor: control, base: reno, noise: 3 %}
"""


def of_three(folder: Path, **times: float | Mapping[int, float]) -> str:
    """The box of three congestion controls with these times a server, at all numbers of servers
    or at each."""
    text = study_text(THREE, servers='"${servers}"').replace(
        'count: "${servers}"', 'count: "${servers}", tcp: {congestion_control: "${control}"}'
    )

    def mean(control: str, servers: int) -> float:
        found = times[control]
        return servers * (found[servers] if isinstance(found, Mapping) else found)

    return answered(folder, text, mean)


def test_the_best_of_three_is_held_against_each_other_one(tmp_path: Path) -> None:
    box = of_three(tmp_path, reno=20.0, cubic=50.0, dctcp=15.0)
    assert box.startswith("dctcp is 3.3")
    assert "times faster than cubic (95 % CI " in box
    assert "takes 25 % less time than reno (95 % CI " in box
    assert box.endswith("on average over 2 settings.")


def test_those_that_none_of_three_beats_share_the_lead(tmp_path: Path) -> None:
    box = of_three(tmp_path, reno=20.0, cubic=50.0, dctcp=20.0)
    assert "dctcp and reno share the lead in completion time. " in box
    assert "times faster than cubic (95 % CI " in box
    assert "No level" not in box


def test_those_that_none_beats_and_that_differ_are_not_said_to_be_equal(tmp_path: Path) -> None:
    """One is ahead at 8 servers, the other at 16, by as much."""
    box = of_three(tmp_path, reno=20.0, cubic=90.0, dctcp={8: 12.5, 16: 32.0})
    assert "share the lead" not in box
    assert (
        "No level is shown to beat dctcp or reno in completion time, and which of them is best is "
        "undecided. "
    ) in box
    assert "times faster than cubic (95 % CI " in box


CASES = """
cases:
  short:
    factors: {control: [reno, dctcp], servers: [2, 4]}
  long:
    factors: {control: [reno, dctcp], servers: [8, 16]}
replicates: 5
compare: {factor: control, base: reno, noise: 3 %}
"""


def test_what_a_conclusion_goes_on_with_does_not_stand_without_its_finding() -> None:
    finding, other = say("The link is full."), say("Nothing decides between the links.")
    beside, again, more = *(say("Not measured: CPUs.") for _ in "ab"), say("More would.")
    both = [*in_order([finding, beside]), *in_order([other, again, more])]
    assert within(both) == [finding, beside, other, more]
    assert within(both, 10) == [finding, beside]
    assert within(in_order([other, beside]), 4, first_always=False) == []
    assert within(led([finding, other, beside]), 7) == [finding, beside]


def test_each_case_has_a_line_and_then_by_how_much(tmp_path: Path) -> None:
    text = study_text(CASES, servers='"${servers}"').replace(
        'count: "${servers}"', 'count: "${servers}", tcp: {congestion_control: "${control}"}'
    )
    times = {"reno": 40.0, "dctcp": 10.0}
    box = answered(tmp_path, text, lambda control, servers: times[control] * servers)
    first, second, third, fourth = re.split(r"(?<=\.) (?=short:|long:)", box)
    assert first.startswith("short: dctcp is faster than reno throughout, at 2 and 4 servers")
    assert second.startswith("long: dctcp is faster than reno throughout, at 8 and 16 servers")
    assert re.fullmatch(r"short: Largest lead at \d servers: [34]\.\d\d times faster\.", third)
    assert re.fullmatch(r"long: Largest lead at \d+ servers: [34]\.\d\d times faster\.", fourth)


CONCLUDED = """
cases:
  two: {factors: {control: [reno, dctcp]}, fixed: {servers: 2}}
  four: {factors: {control: [reno, dctcp]}, fixed: {servers: 4}}
  eight: {factors: {control: [reno, dctcp]}, fixed: {servers: 8}}
replicates: 5
noise: 3 %
conclude:
  - {case: two, equivalent: completion_ms_mean}
  - {case: four, equivalent: completion_ms_mean}
  - {case: eight, equivalent: completion_ms_mean}
"""


@pytest.mark.parametrize(
    ("slower", "last"),
    [
        ((8,), "Equal in completion time: two, four."),
        ((4, 8), "two: dctcp and reno are equal in completion time."),
        ((), "Equal in completion time: two, four, eight."),
    ],
)
def test_cases_in_which_nothing_differs_are_told_at_once_after_the_others(
    tmp_path: Path, slower: tuple[int, ...], last: str
) -> None:
    text = study_text(CONCLUDED, servers='"${servers}"').replace(
        'count: "${servers}"', 'count: "${servers}", tcp: {congestion_control: "${control}"}'
    )

    def mean(control: str, servers: int) -> float:
        return 20.0 if control == "reno" and servers in slower else 10.0

    box = answered(tmp_path, text, mean)
    assert last in box
    if 8 in slower:
        assert "eight: dctcp is" in box
        assert box.endswith(last) == (len(slower) == 1)


def test_an_effect_that_another_factor_reverses_is_told_at_each_of_its_levels(
    tmp_path: Path,
) -> None:
    text = study_text(
        "factors: {mtu: [1500, 9000], block: [1 MB, 2 MB], servers: [2, 4]}\nreplicates: 5\n"
        "compare: {factor: mtu, base: 1500, noise: 2 %}\n",
        servers='"${servers}"',
        block='"${block}"',
    ).replace("mtu: 9000 B", 'mtu: "${mtu}"')

    def mean(mtu: int, block: str, servers: int) -> float:
        return 20.0 if (mtu == 1500) == (block == "1 MB") else 10.0

    found = answered(tmp_path, text, mean)
    assert found.startswith("With block 1 MB: mtu 9000 takes ")
    assert " With block 2 MB: mtu 1500 is " in found


def test_three_levels_of_a_lone_factor_are_each_held_against_the_base(tmp_path: Path) -> None:
    text = study_text(
        "factors: {servers: [1, 2, 4]}\nreplicates: 5\n"
        "compare: {factor: servers, base: 1, noise: 5 %}\n",
        servers='"${servers}"',
    )
    box = answered(tmp_path, text, lambda servers: 20.0 if servers == 4 else 10.0)
    assert "2 servers and 1 server are equal in completion time." in box
    assert "1 server is faster than 4 servers." in box


def test_a_number_of_things_has_a_plural_verb_and_one_thing_a_singular(tmp_path: Path) -> None:
    text = study_text(
        "factors: {servers: [1, 4], block: [1 MB, 2 MB]}\nreplicates: 5\n"
        "compare: {factor: servers, base: 1, noise: 2 %}\n",
        servers='"${servers}"',
        block='"${block}"',
    )

    def four_are_faster(servers: int, block: str) -> float:
        return {1: 20.0, 4: 10.0}[servers]

    def one_is_faster(servers: int, block: str) -> float:
        return {1: 10.0, 4: 20.0}[servers]

    (tmp_path / "four").mkdir()
    (tmp_path / "one").mkdir()
    assert answered(tmp_path / "four", text, four_are_faster).startswith("4 servers are faster")
    assert answered(tmp_path / "one", text, one_is_faster).startswith("1 server is faster")


def test_the_key_figure_is_of_a_case_in_which_something_differs(tmp_path: Path) -> None:
    text = study_text(CONCLUDED, servers='"${servers}"').replace(
        'count: "${servers}"', 'count: "${servers}", tcp: {congestion_control: "${control}"}'
    )

    def key_of(name: str, slower: Sequence[int]) -> str:
        def mean(control: str, servers: int) -> float:
            return 20.0 if control == "reno" and servers in slower else 10.0

        (tmp_path / name).mkdir()
        folder = from_text(tmp_path / name, text, records(mean))
        key = document(folder, analyse(folder)).key_figure
        assert key is not None
        return key.name

    assert key_of("all but the last", (8,)).startswith("case3-")
    assert key_of("none", ()).startswith("case1-")


def test_intervals_are_left_out_where_the_cases_do_not_fit_with_them(tmp_path: Path) -> None:
    text = study_text(CONCLUDED, servers='"${servers}"').replace(
        'count: "${servers}"', 'count: "${servers}", tcp: {congestion_control: "${control}"}'
    )
    named = r"\1 of a case with quite a long name"
    long = re.sub(r"(?<=  |: )(two|four|eight)(?=: |,)", named, text)

    def mean(control: str, **_: Level) -> float:
        return 20.0 if control == "reno" else 10.0

    for name, study in (("short", text), ("long", long)):
        (tmp_path / name).mkdir()
        box = answered(tmp_path / name, study, mean)
        assert ("95 % CI" in box) == (name == "short")
        assert box.count("dctcp is 2.0") == 3
        assert len(box.split()) <= WORDS_MAX


def test_a_tie_is_a_tie(tmp_path: Path) -> None:
    text = study_text(
        "factors: {mtu: [1500, 9000], servers: [2, 4]}\nreplicates: 5\n"
        "compare: {factor: mtu, base: 1500, noise: 5 %}\n",
        servers='"${servers}"',
    ).replace("mtu: 9000 B", 'mtu: "${mtu}"')
    box = answered(tmp_path, text, lambda **_: 10.0)
    assert box == "mtu 9000 and mtu 1500 are equal in completion time at 2 and 4 servers."


@pytest.mark.parametrize(
    ("metric", "ratio", "short", "whole"),
    [
        (COMPLETION, 0.68, "32 % less time", "takes 32 % less time than B"),
        (COMPLETION, 0.25, "4.00 times faster", "is 4.00 times faster than B"),
        (
            COMPLETION_P99,
            0.25,
            "4.00 times lower",
            "has a 99th percentile of the completion time that is 4.00 times lower than that of B",
        ),
        (
            COMPLETION_P99,
            0.68,
            "32 % lower",
            "has a 99th percentile of the completion time that is 32 % lower than that of B",
        ),
        (
            FAIRNESS,
            1.12,
            "12 % higher",
            "has a fairness index that is 12 % higher than that of B",
        ),
        (FAIRNESS, 3.0, "3.00 times as high", "has 3.00 times the fairness index of B"),
        (GOODPUT, 1.12, "12 % more", "has 12 % more goodput than B"),
        (GOODPUT, 3.0, "3.00 times as much", "has 3.00 times the goodput of B"),
        (DROPS, 0.9, "10 % fewer", "has 10 % fewer dropped packets an iteration than B"),
        (TRAFFIC, 1.15, "15 % more", "has 15 % more network traffic at app@client than B"),
        (TRAFFIC, 0.85, "15 % less", "has 15 % less network traffic at app@client than B"),
        (
            TRAFFIC,
            3.0,
            "3.00 times as much",
            "has 3.00 times the network traffic at app@client of B",
        ),
    ],
)
def test_a_lead_is_told_in_times_from_two_on_and_in_percent_below(
    metric: object, ratio: float, short: str, whole: str
) -> None:
    change = Change(ratio, None, "a ÷ b")
    assert str(lead(metric, change)).replace("\u00a0", " ") == short  # type: ignore[arg-type]
    told = ahead_of(metric, change, Name("A"), Name("B"))  # type: ignore[arg-type]
    assert str(told).replace("\u00a0", " ") == whole


def test_the_interval_is_that_of_the_number_that_is_told() -> None:
    change = Change(0.4, Interval(0.38, 0.42), "a ÷ b")
    assert str(lead(COMPLETION, change)) == "2.50 times faster (95 % CI 2.38 to 2.63)"
    change = Change(0.68, Interval(0.6, 0.78), "a ÷ b")
    text = str(lead(COMPLETION, change)).replace("\u00a0", " ")
    assert text == "32 % less time (95 % CI 22 to 40 %)"


@pytest.mark.parametrize(
    ("ratio", "interval", "text"),
    [
        (0.849, Interval(0.531, 1.581), "15 % less time (95 % CI 47 % less to 58 % more)"),
        (0.75, Interval(0.53, 1.204), "25 % less time (95 % CI 47 % less to 20 % more)"),
        (0.97, Interval(0.94, 0.99), "3.0 % less time (95 % CI 1.0 to 6.0 %)"),
    ],
)
def test_an_interval_on_both_sides_of_no_difference_says_which_end_is_which(
    ratio: float, interval: Interval, text: str
) -> None:
    told = lead(COMPLETION, Change(ratio, interval, "a ÷ b"))
    assert str(told).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("factor", "level", "text"),
    [
        ("mtu", 9000, "mtu 9000"),
        ("buffer", "2 MB", "buffer 2 MB"),
        ("sack", True, "sack true"),
        ("servers", 23, "23 servers"),
        ("switch", "nexus-5010", "nexus-5010"),
    ],
)
def test_a_level_that_is_no_name_says_of_which_factor_it_is(
    factor: str, level: Level, text: str
) -> None:
    assert full_level(factor, level).replace("\u00a0", " ") == text


def test_values_that_look_alike_have_as_many_digits_as_tell_them_apart() -> None:
    a, b = (Number(value, "0.5\u00a0ms", "x") for value in (0.512, 0.471))
    told = told_apart(a, b, COMPLETION)
    assert [one.text.replace("\u00a0", " ") for one in told] == ["0.51 ms", "0.47 ms"]
    same = (Number(0.5, "0.5", "x"), Number(0.5, "0.5", "x"))
    assert told_apart(*same, COMPLETION) == same


def test_the_panel_that_is_compared_may_be_another_one_than_the_first(tmp_path: Path) -> None:
    factors = """
factors:
  min_rto: [1 ms, 200 ms]
  buffer: [128 kB, 512 kB]
  servers: [4, 8]
holes:
  - {buffer: 128 kB, min_rto: 200 ms, because: not asked}
compare: {factor: min_rto, base: 1 ms}
replicates: 5
noise: 5 %
"""
    text = RTO.replace(RTO_STUDY.strip(), factors.strip())
    assert text != RTO

    def mean(min_rto: str, servers: int, **_: str) -> float:
        return servers * {"1 ms": 10.0, "200 ms": 15.0}[min_rto]

    found = answered(tmp_path, text, mean)
    assert found.startswith("min_rto 1 ms is faster than min_rto 200 ms throughout")
    assert "Largest lead at 4 servers: 39.6 ms against 59.7 ms" in found
