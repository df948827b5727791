"""Conclusions that a study asks for, drawn from records with a planted answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from netstudy.report.prose.answer import answer

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.conclusions import concluded_points, conclusion_tables
from netstudy.report.prose.words import held_in_each
from netstudy.report.refs import Sentence
from netstudy.study.conclusions import KINDS
from netstudy.wire import Run, RunRecord, Treatment
from tests.report.caveats import caveat_sentences
from tests.report.results import Maker, from_text, study_text
from tests.report.synthetic import from_samples, server_count

EVERY_KIND = (
    "{compare: switch, base: arista-7124s}",
    "{substitution: switch}",
    "{equivalent: drops_per_iteration}",
    "{knee: servers}",
    "plateau",
    "loss against ideal",
    "{limit: goodput_mbps, while: completion_ms_mean < 50}",
    "first repetition",
    "bottleneck",
    "{extrapolate: clients per link}",
    "bypasses the wire",
)
SCATTER = (0.0, 0.001, -0.001, 0.0005, -0.0005)


def outcome(run: Run) -> RunRecord:
    """Goodput grows in proportion up to four servers and then no more; the switch nexus-5010 takes
    a tenth more time."""
    servers, n = server_count(run), run.count("measure")
    time = 10.0 * max(servers, 4) * (1.1 if run.treatment["switch"] == "nexus-5010" else 1.0)
    times = [time * (1 + SCATTER[run.replicate - 1])] * n
    return from_samples(run, times, [2] * n, [0] * n, [0] * n)


def slow_at_first(run: Run) -> RunRecord:
    """The same, but the first repetition at eight servers takes half as much again."""
    if run.replicate > 1 or server_count(run) < 8:
        return outcome(run)
    n = run.count("measure")
    time = 120.0 * (1.1 if run.treatment["switch"] == "nexus-5010" else 1.0)
    return from_samples(run, [time] * n, [2] * n, [0] * n, [0] * n)


def concluding(
    folder: Path, conclusions: str, servers: str = "[1, 2, 4, 8]", maker: Maker = outcome
) -> StudyResult:
    """The results of a study that asks for these conclusions."""
    rest = (
        f"factors: {{switch: [arista-7124s, nexus-5010], servers: {servers}}}\n"
        "replicates: 5\nnoise: 2 %\n"
        f"conclude: [{conclusions}]\n"
    )
    text = study_text(rest, servers='"${servers}"').replace(
        "switch: nexus-5010", 'switch: {profile: "${switch}"}'
    )
    return analyse(from_text(folder, text, maker=maker))


def told(folder: Path, conclusions: str, **made: Any) -> list[str]:
    """All sentences of the conclusions."""
    result = concluding(folder, conclusions, **made)
    return [_text(one) for point in concluded_points(result) for one in point.sentences]


def _text(sentence: Sentence) -> str:
    return str(sentence).replace("\u00a0", " ")


def test_levels_are_compared_over_all_settings(tmp_path: Path) -> None:
    (sentence,) = told(tmp_path, EVERY_KIND[0])
    assert sentence.startswith("arista-7124s takes 9.1 % less time than nexus-5010 (95 % CI ")
    assert "on average over 4 settings" in sentence


def test_a_replaced_part_is_told_in_every_metric_that_is_compared(tmp_path: Path) -> None:
    sentences = told(tmp_path, EVERY_KIND[1])
    assert any("less time than nexus-5010" in one for one in sentences)
    assert any("equal in dropped packets an iteration" in one for one in sentences)


def test_equal_levels_are_equal_in_every_factor(tmp_path: Path) -> None:
    sentences = told(tmp_path, "{equivalent: drops_per_iteration, at: {servers: 4}}")
    assert sentences == [
        "nexus-5010 and arista-7124s are equal in dropped packets an iteration (servers 4)."
    ]


@pytest.mark.parametrize("kind", ["{knee: servers}", "plateau"])
def test_growth_ends_at_the_last_level_that_gains(kind: str, tmp_path: Path) -> None:
    (both,) = told(tmp_path, kind)
    assert both.startswith("Goodput grows up to 4 servers in both settings of switch, ")
    assert both.endswith("; 8 servers gain no more than the noise.")


def test_settings_are_told_by_the_level_that_they_alone_share() -> None:
    """Else one by one; and all of them by the names of their factors."""
    every: list[Treatment] = [{"sink": sink, "daemon": of} for sink in "nd" for of in "cs"]
    nulls, mixed = every[:2], [every[0], every[3]]
    assert str(held_in_each(nulls, every)) == " (sink n)"
    assert str(held_in_each(mixed, every)) == " (sink n, daemon c; sink d, daemon s)"
    assert str(held_in_each(nulls[:1], every)) == " (sink n and daemon c)"
    assert str(held_in_each(every, every)) == " in all 4 settings of sink and daemon"
    assert str(held_in_each(every[:3], every)).count(";") == 2, "sink d has a fourth"


def test_growth_that_does_not_end_is_said_to_go_on(tmp_path: Path) -> None:
    (both,) = told(tmp_path, "plateau", servers="[1, 2, 4]")
    assert both.startswith("Goodput still grows at 4 servers, the largest level in both settings ")


def test_growth_that_does_not_begin_is_not_said_to_reach_the_first_level(tmp_path: Path) -> None:
    (both,) = told(tmp_path, "plateau", servers="[4, 8]")
    assert both.startswith("Goodput does not grow beyond 4 servers, the first level in both ")
    assert both.endswith("; 8 servers gain no more than the noise.")


def test_a_gain_within_what_the_runs_vary_by_is_not_shown(tmp_path: Path) -> None:
    """On one switch the runs vary by half, and only goodput there is uncertain."""

    def varying(run: Run) -> RunRecord:
        if run.treatment["switch"] == "nexus-5010":
            return outcome(run)
        times = [40.0 * (0.5, 1.5, 1.0, 0.7, 1.3)[run.replicate - 1]] * run.count("measure")
        return from_samples(run, times, *[[0] * len(times)] * 3)

    unsure, growth = told(tmp_path, "plateau", servers="[3, 4]", maker=varying)
    assert unsure.startswith(
        "Whether goodput still grows at 4 servers (switch arista-7124s) is not"
    )
    assert unsure.endswith(", a gain within what the runs vary by.")
    assert growth.startswith("Goodput still grows at 4 servers, the largest level (switch nexus-50")


def test_loss_is_held_against_growth_in_proportion(tmp_path: Path) -> None:
    """Up to four servers nothing is lost."""
    (both,) = told(tmp_path, "loss against ideal", servers="[1, 2, 4]")
    assert "Goodput at 4 servers is 0 % less than in proportion to 1 server in both" in both


def test_half_is_lost_where_twice_the_servers_carry_the_same(tmp_path: Path) -> None:
    (both,) = told(tmp_path, "loss against ideal", servers="[4, 8]")
    assert "Goodput at 8 servers is 50.0 % less than in proportion to 4 servers in both" in both


@pytest.mark.parametrize("kind", ["plateau", "loss against ideal"])
def test_the_load_is_the_number_of_hosts_and_not_another_number(kind: str, tmp_path: Path) -> None:
    rest = (
        "factors: {mtu: [1500, 9000], servers: [1, 2, 4]}\n"
        f"replicates: 3\nnoise: 2 %\nconclude: [{kind}]\n"
    )
    text = study_text(rest, servers='"${servers}"').replace("mtu: 9000 B", 'mtu: "${mtu}"')
    result = analyse(from_text(tmp_path, text, maker=_of_one_switch))
    said = [_text(one) for point in concluded_points(result) for one in point.sentences]
    assert "4 servers" in said[0]
    assert "in both settings" in said[0]


def test_growth_in_proportion_begins_above_zero(tmp_path: Path) -> None:
    rest = (
        "factors: {warmup: [0, 10, 20]}\n"
        "replicates: 3\nnoise: 2 %\nconclude: [loss against ideal]\n"
    )
    text = study_text(rest).replace("warmup: 10", 'warmup: "${warmup}"')
    result = analyse(from_text(tmp_path, text, maker=_of_one_switch))
    (sentence,) = (_text(one) for point in concluded_points(result) for one in point.sentences)
    assert "at warmup 20 is 50.0 % less than in proportion to warmup 10" in sentence


def test_loss_is_told_along_the_axis_of_the_ideal_and_not_of_the_growing_load(
    tmp_path: Path,
) -> None:
    """Twice the iterations carry no more a second."""
    rest = (
        "factors: {iterations: [30, 60], servers: {grow: [1, 2, 4], until: no gain}}\n"
        "replicates: 3\nnoise: 2 %\n"
        "figures: [{x: iterations, y: goodput_mbps, ideal: true}]\n"
        "conclude: [loss against ideal]\n"
    )
    text = study_text(rest, servers='"${servers}"', iterations='"${iterations}"')
    result = analyse(from_text(tmp_path, text, maker=_of_one_switch))
    (sentence,) = (_text(one) for point in concluded_points(result) for one in point.sentences)
    assert sentence.startswith(
        "Goodput at 60 iterations is 50.0 % less than in proportion to 30 iterations"
    )


def _of_one_switch(run: Run) -> RunRecord:
    servers, n = server_count(run), run.count("measure")
    time = 10.0 * 4 / servers
    return from_samples(run, [time] * n, [2] * n, [0] * n, [0] * n)


def test_a_limit_is_the_largest_value_that_keeps_the_condition(tmp_path: Path) -> None:
    """Eight servers take 80 ms or more; four of the arista take 40 ms."""
    reached, broken = told(tmp_path, EVERY_KIND[6])
    assert "while completion_ms_mean < 50 ms (switch=arista-7124s, servers=4)" in reached
    assert broken == "2 of 8 settings do not keep completion_ms_mean < 50 ms."


def test_a_condition_that_every_cell_keeps_shows_no_limit(tmp_path: Path) -> None:
    _, kept = told(tmp_path, "{limit: goodput_mbps, while: completion_ms_mean < 5000}")
    assert kept == "All 8 settings keep it, so that none shows the limit."


def test_a_condition_that_no_cell_keeps_is_told(tmp_path: Path) -> None:
    sentences = told(tmp_path, "{limit: goodput_mbps, while: completion_ms_mean < 1}")
    assert sentences == ["No setting keeps completion_ms_mean < 1 ms."]


def test_first_repetitions_that_stand_out_are_named(tmp_path: Path) -> None:
    first, *cells, scatter = told(tmp_path, "first repetition", maker=slow_at_first)
    assert first == "The first repetition stands out in 2 of 8 settings."
    assert sorted(cells) == [
        f"switch={name}, servers=8: the completion time of the first repetition is 1.50 times the "
        "mean of the later ones."
        for name in ("arista-7124s", "nexus-5010")
    ]
    assert scatter.startswith("Later repetitions scatter by 0.0")


def alike(run: Run) -> RunRecord:
    """A deterministic study: every repetition gives the same."""
    n = run.count("measure")
    return from_samples(run, [10.0 * server_count(run)] * n, [2] * n, [0] * n, [0] * n)


def test_repetitions_that_are_all_alike_conclude_nothing_of_the_first(tmp_path: Path) -> None:
    assert told(tmp_path, "first repetition", maker=alike) == [
        "All repetitions of 8 settings gave the same completion time: repetition shows nothing "
        "there."
    ]


def test_settings_that_vary_are_judged_beside_those_that_do_not(tmp_path: Path) -> None:
    def mixed(run: Run) -> RunRecord:
        return alike(run) if server_count(run) < 4 else slow_at_first(run)

    nothing, first, *_ = told(tmp_path, "first repetition", maker=mixed)
    assert nothing.startswith("All repetitions of 4 settings gave the same completion time")
    assert first == "The first repetition stands out in 2 of 4 settings."


def test_a_report_says_where_repetition_shows_nothing(tmp_path: Path) -> None:
    def mixed(run: Run) -> RunRecord:
        return alike(run) if server_count(run) < 4 else outcome(run)

    def caveats(name: str, maker: Maker) -> list[str]:
        (tmp_path / name).mkdir()
        result = concluding(tmp_path / name, "plateau", maker=maker)
        return [_text(one) for one in caveat_sentences(result)]

    every, some = caveats("every", alike), caveats("some", mixed)
    told_of = "All runs gave the same completion time in every cell: repetition shows nothing here."
    assert told_of in every
    assert (
        "All runs gave the same completion time in switch=arista-7124s, servers=1 and 2 and in "
        "switch=nexus-5010, servers=1 and 2: repetition shows nothing here."
    ) in some


def test_without_the_first_repetition_none_is_held_against_the_later_ones(tmp_path: Path) -> None:
    """The second is not the first one, however much it stands out."""

    def second_is_slow(run: Run) -> RunRecord | None:
        if run.replicate == 1:
            return None
        first = run.model_copy(update={"replicate": 1 if run.replicate == 2 else run.replicate})
        return slow_at_first(first).model_copy(update={"replicate": run.replicate})

    assert told(tmp_path, "first repetition", maker=second_is_slow) == [
        "Not drawn: it needs 3 repetitions of a setting or more."
    ]


def test_growth_in_proportion_needs_levels_that_are_numbers(tmp_path: Path) -> None:
    named = "{grow: [{name: small, n: 1}, {name: large, n: 4}], until: no gain, confirm: 2}"
    rest = f"factors: {{servers: {named}}}\nreplicates: 2\nconclude: [loss against ideal]\n"
    text = study_text(rest, servers='"${servers.n}"')
    result = analyse(from_text(tmp_path, text))
    (point,) = concluded_points(result)
    assert [str(one) for one in point.sentences] == [
        "Not drawn: these runs do not measure what it needs."
    ]


def test_a_loss_within_what_the_runs_vary_by_is_told_as_such(tmp_path: Path) -> None:
    """Twice the servers, and 1.96 times the goodput on both switches; runs vary by tens of
    percents."""

    def varying(run: Run) -> RunRecord:
        n = run.count("measure")
        time = (100.0 if server_count(run) == 1 else 102.0) * (1 + 0.1 * (run.replicate - 3))
        return from_samples(run, [time] * n, [2] * n, [0] * n, [0] * n)

    (both,) = told(tmp_path, "loss against ideal", servers="[1, 2]", maker=varying)
    assert "% less than in proportion to 1 server in both settings of switch" in both
    assert both.endswith(", which is within what the runs vary by.")


def test_nothing_of_which_less_is_better_grows_in_proportion(tmp_path: Path) -> None:
    grown = "{grow: [1, 2, 4], until: no gain, confirm: 2, of: completion_ms_mean}"
    sentences = told(tmp_path, "loss against ideal", servers=grown)
    assert sentences == ["Not drawn: these runs do not measure what it needs."]


def test_the_answer_follows_the_order_of_the_conclusions(tmp_path: Path) -> None:
    result = concluding(tmp_path, "first repetition, {compare: switch}")
    first, second, *_ = map(_text, answer(result))
    assert first == "No first repetition stands out in 8 settings."
    assert second.startswith("arista-7124s takes 9.1 % less time")


def test_every_kind_of_conclusion_is_drawn(tmp_path: Path) -> None:
    rest = f"conclude: [{', '.join(EVERY_KIND)}]\n"
    text = study_text(f"factors: {{servers: [2, 4]}}\n{rest}", servers='"${servers}"')
    text = text.replace("{compare: switch, base: arista-7124s}", "{compare: servers}")
    text = text.replace("{substitution: switch}", "{substitution: servers}")
    result = analyse(from_text(tmp_path, text))
    assert {type(one.asked) for one in result.concluded} == set(KINDS)
    assert all(one.drawn is not None for one in result.concluded[:5])


def test_levels_are_held_against_the_base_that_the_study_names(tmp_path: Path) -> None:
    """The later level as base: the ratio is the earlier one's against it, whichever is better."""
    result = concluding(tmp_path, "{compare: switch, base: nexus-5010}")
    (table,) = [one for one in conclusion_tables(result) if "÷" in str(one.caption)]
    assert str(table.caption) == "Completion time: arista-7124s ÷ nexus-5010"
    assert str(table.rows[0][3]) == "0.909"


def test_levels_compared_at_one_level_of_another_factor_say_so(tmp_path: Path) -> None:
    at = "{compare: switch, base: nexus-5010, at: {servers: 8}}"
    result = concluding(tmp_path, at)
    assert [point.lead for point in concluded_points(result)] == ["Compare switch (servers 8)"]
