"""The box that answers: what was planted in made-up records is named, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from netstudy.analysis.intervals import Interval
from netstudy.analysis.metrics import Metric
from netstudy.analysis.nodes import node_metric
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.analysis.workloads.incast import COMPLETION, COMPLETION_P99, DROPS, FAIRNESS, GOODPUT
from netstudy.report.answer import WORDS_MAX, Answer, answer
from netstudy.report.answer.budget import alone, in_order, led, within, words_in
from netstudy.report.answer.comparison import factors, two_levels
from netstudy.report.document import document
from netstudy.report.numbers import full_level
from netstudy.report.prose.change import Change, compared, lead, told_apart
from netstudy.report.prose.observe import out_of_order
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.study.vocabulary import split_metric
from netstudy.wire import Level, Run, RunRecord
from tests.report.planted import (
    RTO,
    answered,
    has,
    named,
    numbers,
    records,
    result_of,
    rto_time,
    with_control,
)
from tests.report.results import from_text, study_text
from tests.report.synthetic import from_samples

SWITCHES = ("arista-7124s", "nexus-5010")
TRAFFIC = node_metric(split_metric("app@client.network_mbps"))
"""Neither more nor less of it is better."""


def text_of(sentences: Sequence[Sentence]) -> str:
    return " ".join(map(str, sentences)).replace("\u00a0", " ")


def is_sound(told: Answer) -> bool:
    """Whether each paragraph has its words at most, and each sentence a capital letter."""
    fits = all(words_in(part) <= WORDS_MAX for part in (told.sentences, told.further))
    return fits and all(str(one)[0].isupper() for one in (*told.sentences, *told.further))


def test_who_wins_where_and_by_how_much(found: StudyResult) -> None:
    told = answer(found)
    (table,) = (t for t in found.cases[0].panels[0].verdicts if t.metric == found.deciding)
    assert is_sound(told)
    assert named(told.sentences[:1], SWITCHES) == ["nexus-5010", "arista-7124s"]
    won = table.won_by("nexus-5010")
    assert [row.x for row in won] == [2, 5, 9]
    largest = max(won, key=lambda row: max(row.ratio or 1, 1 / (row.ratio or 1)))
    assert has(told.sentences, max(largest.ratio or 1, 1 / (largest.ratio or 1)), within=1e-9)


def test_the_planted_buffer_and_the_planted_turn_are_named(tmp_path: Path) -> None:
    result = result_of(tmp_path, RTO, rto_time)
    (pointless,) = (one for one in answer(result).sentences if "no difference" in str(one))
    assert named([pointless], ["128 kB", "512 kB", "2 MB"]) == ["2 MB"]
    (case,) = result.cases
    whole = result.effects_in(case)
    assert whole is not None
    turned = next(one for one in factors(whole, "servers") if str(one).startswith("Only at"))
    assert named([turned], ["512 kB", "16 servers"]) == ["512 kB", "16 servers"]
    assert named([turned], ["1 ms", "200 ms"])[0] == "200 ms"
    assert has([turned], 20.0, within=0.1)  # 1.6 against 2


def test_levels_that_are_names_have_no_order(tmp_path: Path) -> None:
    """The switch matters with reno alone; cubic and dctcp are no more of anything."""
    text = study_text(
        "factors: {switch: [arista-7124s, nexus-5010], cc: [reno, cubic, dctcp]}\nreplicates: 5\n"
        "noise: 5 %\n",
        switch='"${switch}"',
    ).replace("client: {", 'client: {tcp: {congestion_control: "${cc}"}, ')

    def mean(switch: str, cc: str) -> float:
        return {"reno": 80.0 if switch == "nexus-5010" else 40.0}.get(cc, 50.0)

    told = answered(tmp_path, text, mean)
    (pointless,) = (one for one in told.sentences if "no difference" in str(one))
    assert named([pointless], ["reno", "cubic", "dctcp"]) == ["cubic", "dctcp"]
    assert "or more" not in str(pointless)


@pytest.mark.parametrize("base", SWITCHES)
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

    told = answer(analyse(from_text(tmp_path, text, made)))
    assert named(told.sentences, SWITCHES) == ["arista-7124s", "nexus-5010"]
    assert [one.value for one in numbers(told.sentences)][-2:] == [3, 3]


def test_factors_that_only_multiply_have_neither(tmp_path: Path) -> None:
    def mean(min_rto: str, buffer: str, servers: int) -> float:
        return servers * {"1 ms": 1, "200 ms": 1.5}[min_rto] * {"2 MB": 1}.get(buffer, 3.0)

    told = answered(tmp_path, RTO, mean)
    assert named(told.sentences[:1], ["buffer", "min_rto"])[0] == "buffer"
    assert has(told.sentences[:1], 3.0)
    assert has(told.sentences[:1], 50.0, within=0.05)
    assert "no difference" not in text_of(told.sentences)
    assert "Only at" not in text_of(told.sentences)


def test_where_nothing_is_planted_no_factor_matters(tmp_path: Path) -> None:
    result = result_of(tmp_path, RTO, lambda **_: 10.0)
    whole = result.effects_in(result.cases[0])
    assert whole is not None
    assert not whole.ranked
    text = text_of(answer(result).sentences)
    assert "changes" not in text
    assert "no difference" not in text


ALONG = """
factors:
  servers: [1, 2, 4, 8, 16]
replicates: 5
noise: 3 %
"""


def along(folder: Path, times: Sequence[float]) -> StudyResult:
    """Results of five numbers of servers with these times."""
    levels = dict(zip((1, 2, 4, 8, 16), times, strict=True))
    return result_of(
        folder, study_text(ALONG, servers='"${servers}"'), lambda servers: levels[servers]
    )


def broken(result: StudyResult) -> list[Sentence]:
    return list(out_of_order(result.cases[0].panels[0], result))


def test_a_level_that_breaks_the_order_of_its_neighbours_is_named(tmp_path: Path) -> None:
    result = along(tmp_path, (10, 20, 90, 40, 50))
    (told,) = broken(result)
    assert [round(one.value, -1) for one in numbers([told])] == [90, 20, 40]
    assert str(told) in set(map(str, answer(result).sentences))


@pytest.mark.parametrize(
    "times",
    [(10, 20, 30, 40, 50), (10, 20, 30, 20, 10), (10, 20, 20.1, 20, 30), (10, 50, 10, 50, 10)],
    ids=["rising", "turning", "within the noise", "up and down"],
)
def test_no_level_is_out_of_an_order_that_holds_or_that_there_is_not(
    tmp_path: Path, times: tuple[float, ...]
) -> None:
    assert broken(along(tmp_path, times)) == []


THREE = """
factors:
  control: [reno, cubic, dctcp]
  servers: [8, 16]
replicates: 5
compare: {factor: control, base: reno, noise: 3 %}
"""
CONTROLS = ("reno", "cubic", "dctcp")


def of_three(folder: Path, **times: float | Mapping[int, float]) -> Answer:
    """The box of three congestion controls with these times a server, at all numbers of servers
    or at each."""

    def mean(control: str, servers: int) -> float:
        found = times[control]
        return servers * (found[servers] if isinstance(found, Mapping) else found)

    return answered(folder, with_control(study_text(THREE, servers='"${servers}"')), mean)


def test_the_best_of_three_is_held_against_each_other_one(tmp_path: Path) -> None:
    told = of_three(tmp_path, reno=20.0, cubic=50.0, dctcp=15.0)
    assert named(told.sentences[:1], CONTROLS) == ["dctcp", "cubic", "reno"]
    times, _, percent, _, settings = numbers(told.sentences[:1])
    assert times.value == pytest.approx(50 / 15, rel=0.02)
    assert percent.value == pytest.approx(25, abs=1)
    assert settings.value == 2


def test_those_that_none_of_three_beats_share_the_lead(tmp_path: Path) -> None:
    told = of_three(tmp_path, reno=20.0, cubic=50.0, dctcp=20.0)
    assert set(named(told.sentences[:1], CONTROLS)) == {"dctcp", "reno"}
    assert "undecided" not in text_of(told.sentences)
    assert has(told.sentences, 2.5)  # cubic against both


def test_those_that_none_beats_and_that_differ_are_not_said_to_be_equal(tmp_path: Path) -> None:
    """One is ahead at 8 servers, the other at 16, by as much."""
    told = of_three(tmp_path, reno=20.0, cubic=90.0, dctcp={8: 12.5, 16: 32.0})
    assert set(named(told.sentences[:1], CONTROLS)) == {"dctcp", "reno"}
    assert "undecided" in str(told.sentences[0])
    assert "equal" not in text_of(told.sentences)


CASES = """
cases:
  short:
    factors: {control: [reno, dctcp], servers: [2, 4]}
  long:
    factors: {control: [reno, dctcp], servers: [8, 16]}
replicates: 5
compare: {factor: control, base: reno, noise: 3 %}
"""


def test_a_sentence_does_not_appear_without_the_one_that_names_its_subject() -> None:
    finding, other = say("The link is full."), say("Nothing decides between the links.")
    beside, again, more = *(say("Not measured: CPUs.") for _ in "ab"), say("More would.")
    both = [*in_order([finding, beside]), *in_order([other, again, more])]
    assert within(both, WORDS_MAX) == [finding, beside, other, more]
    assert within(both, 10) == [finding, beside]
    assert within(in_order([other, beside]), 4, first_always=False) == []
    assert within(led([finding, other, beside]), 7) == [finding, beside]
    assert within(alone([other, finding]), 4, first_always=False) == [finding]


def test_each_case_is_told_with_its_name(tmp_path: Path) -> None:
    text = with_control(study_text(CASES, servers='"${servers}"'))
    times = {"reno": 40.0, "dctcp": 10.0}
    told = answered(tmp_path, text, lambda control, servers: times[control] * servers)
    assert is_sound(told)
    first = [one for one in told.sentences if re.match("(short|long): ", str(one), re.IGNORECASE)]
    assert named(first, ["short", "long", *CONTROLS]) != []
    assert [str(one).partition(":")[0].lower() for one in first[:2]] == ["short", "long"]
    for one in first[:2]:
        assert named([one], CONTROLS)[:2] == ["dctcp", "reno"]
    assert has(told.sentences, 4.0)


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
CONCLUDED = with_control(study_text(CONCLUDED, servers='"${servers}"'))


@pytest.mark.parametrize(
    ("slower", "alike"),
    [((8,), ["two", "four"]), ((4, 8), ["two"]), ((), ["two", "four", "eight"])],
)
def test_cases_in_which_nothing_differs_are_named_without_a_number(
    tmp_path: Path, slower: tuple[int, ...], alike: list[str]
) -> None:
    def mean(control: str, servers: int) -> float:
        return 20.0 if control == "reno" and servers in slower else 10.0

    told = answered(tmp_path, CONCLUDED, mean)
    assert is_sound(told)
    equal = [one for one in told.sentences if "equal" in str(one)]
    assert re.findall("two|four|eight", text_of(equal).lower()) == alike
    assert has(told.sentences, 2.0) is bool(slower)


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

    told = answered(tmp_path, text, mean)
    (one,) = told.sentences
    assert named([one], ["1 MB", "2 MB"]) == ["2 MB", "1 MB"]
    longer, _, shorter, _ = numbers([one])
    assert longer.value == pytest.approx(2, rel=0.02)
    assert shorter.value == pytest.approx(50, abs=1)


def test_three_levels_of_a_lone_factor_are_each_held_against_the_base(tmp_path: Path) -> None:
    text = study_text(
        "factors: {servers: [1, 2, 4]}\nreplicates: 5\n"
        "compare: {factor: servers, base: 1, noise: 5 %}\n",
        servers='"${servers}"',
    )
    told = answered(tmp_path, text, lambda servers: 20.0 if servers == 4 else 10.0)
    levels = ["1 server", "2 servers", "4 servers"]
    equal, better, *_ = (named([one], levels) for one in told.sentences)
    assert set(equal) == {"1 server", "2 servers"}
    assert better == ["1 server", "4 servers"]


def test_the_key_figure_is_of_a_case_in_which_something_differs(tmp_path: Path) -> None:
    def key_of(name: str, slower: Sequence[int]) -> str:
        def mean(control: str, servers: int) -> float:
            return 20.0 if control == "reno" and servers in slower else 10.0

        (tmp_path / name).mkdir()
        folder = from_text(tmp_path / name, CONCLUDED, records(mean))
        key = document(folder, analyse(folder)).key_figure
        assert key is not None
        return key.name

    assert key_of("all but the last", (8,)).startswith("case3-")
    assert key_of("none", ()).startswith("case1-")


def test_a_tie_is_a_tie(tmp_path: Path) -> None:
    text = study_text(
        "factors: {mtu: [1500, 9000], servers: [2, 4]}\nreplicates: 5\n"
        "compare: {factor: mtu, base: 1500, noise: 5 %}\n",
        servers='"${servers}"',
    ).replace("mtu: 9000 B", 'mtu: "${mtu}"')
    told = answered(tmp_path, text, lambda **_: 10.0)
    assert len(told.sentences) == 1
    assert "equal" in str(told.sentences[0])
    assert numbers(told.sentences) == []


@pytest.mark.parametrize(
    ("metric", "ratio", "value", "word"),
    [
        (COMPLETION, 0.68, 32, "shorter"),
        (COMPLETION, 0.25, 4, "shorter"),
        (COMPLETION_P99, 0.25, 4, "shorter"),
        (COMPLETION_P99, 0.68, 32, "shorter"),
        (FAIRNESS, 1.12, 12, "higher"),
        (FAIRNESS, 3.0, 3, "high"),
        (GOODPUT, 1.12, 12, "higher"),
        (GOODPUT, 3.0, 3, "high"),
        (DROPS, 0.9, 10, "fewer"),
        (TRAFFIC, 1.15, 15, "higher"),
        (TRAFFIC, 0.85, 15, "lower"),
        (TRAFFIC, 3.0, 3, "high"),
    ],
)
def test_a_lead_is_told_in_times_from_two_on_and_in_percent_below(
    metric: Metric, ratio: float, value: float, word: str
) -> None:
    change = Change(ratio, None, "a ÷ b")
    told = lead(metric, change)
    (number,) = numbers([told])
    assert number.value == pytest.approx(value)
    assert str(told).endswith(word)
    whole = compared(metric, change, Name("with A"), Name("with B"))
    assert named([whole], ["A", "B"]) == ["A", "B"]
    assert str(told) in str(whole)


@pytest.mark.parametrize(
    ("ratio", "interval", "text"),
    [
        (0.4, Interval(0.38, 0.42), "2.38 to 2.63"),
        (0.68, Interval(0.6, 0.78), "22 to 40 %"),
        (0.849, Interval(0.531, 1.581), "47 % less to 58 % more"),
        (0.75, Interval(0.53, 1.204), "47 % less to 20 % more"),
        (0.97, Interval(0.94, 0.99), "1.0 to 6.0 %"),
    ],
)
def test_the_interval_is_that_of_the_number_that_is_told(
    ratio: float, interval: Interval, text: str
) -> None:
    """One on both sides of no difference says which end is which."""
    _, told = numbers([lead(COMPLETION, Change(ratio, interval, "a ÷ b"))])
    assert told.text.replace("\u00a0", " ") == text


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
    more = """
factors:
  control: [reno, dctcp]
  block: [1 MB, 2 MB]
  servers: [4, 8]
holes:
  - {block: 1 MB, control: dctcp, because: not asked}
compare: {factor: control, base: reno}
replicates: 5
noise: 5 %
"""
    text = with_control(study_text(more, servers='"${servers}"', block='"${block}"'))

    def mean(control: str, servers: int, **_: str) -> float:
        return servers * {"dctcp": 10.0, "reno": 15.0}[control]

    result = result_of(tmp_path, text, mean)
    told = answer(result)
    assert named(told.sentences[:1], CONTROLS) == ["dctcp", "reno"]
    (panel,) = (one for one in result.cases[0].panels if one.verdicts)
    (table,) = (one for one in panel.verdicts if one.metric == result.deciding)
    numbers_of_panel = numbers(two_levels(panel, table, keeps_order=False))
    assert {one.value for one in numbers_of_panel} <= {one.value for one in numbers(told.sentences)}
    assert has(told.sentences, 100 / 3, within=0.05)
