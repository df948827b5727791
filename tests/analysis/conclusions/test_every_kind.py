"""Conclusions that a study asks for, drawn from records with a planted answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netstudy.analysis.caveats.few_runs import IdenticalRuns
from netstudy.analysis.conclusions.cells import Growth
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.answer import answer
from netstudy.report.conclusions import concluded_points, conclusion_tables, sentences_of
from netstudy.report.prose.words import held_in_each
from netstudy.study.conclusions import KINDS
from netstudy.wire import Run, RunRecord, Treatment
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
    "where time goes",
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


def drawn(folder: Path, conclusion: str, **made: Any) -> Any:
    """The findings of the only conclusion."""
    (found,) = concluding(folder, conclusion, **made).concluded
    return found.drawn


def ends(found: Any) -> dict[str, tuple[str, int]]:
    """Each switch with the claim about its growth and the level of the claim."""
    return {
        str(one.held["switch"]): (claim.kind, claim.levels[0])
        for one, claim in zip(found.growths, found.claims(), strict=True)
    }


def test_levels_are_compared_over_all_settings(tmp_path: Path) -> None:
    (levels,) = drawn(tmp_path, "{compare: switch, base: nexus-5010}").compared
    (pair,) = levels.pairs
    assert (pair.level, pair.base) == ("arista-7124s", "nexus-5010")
    assert pair.change == pytest.approx(1 / 1.1, abs=1e-3)
    assert pair.interval.low < 1 / 1.1 < pair.interval.high
    assert len(pair.contexts) == 4


def test_a_replaced_part_is_compared_in_every_metric(tmp_path: Path) -> None:
    (found,) = drawn(tmp_path, EVERY_KIND[1]).replaced
    assert found.throughput.change == pytest.approx(1 / 1.1, abs=1e-3)
    others = {pair.metric.name: {row.outcome for row in pair.rows} for pair in found.others}
    assert others["completion_ms_mean"] == {"different"}
    assert others["drops_per_iteration"] == {"same"}


def test_equal_levels_are_equal_in_every_factor(tmp_path: Path) -> None:
    (claim,) = drawn(tmp_path, "{equivalent: drops_per_iteration, at: {servers: 4}}").claims()
    assert (claim.kind, claim.factor) == ("equal", "switch")


@pytest.mark.parametrize("kind", ["{knee: servers}", "plateau"])
def test_growth_ends_at_the_last_level_that_gains(kind: str, tmp_path: Path) -> None:
    found = ends(drawn(tmp_path, kind))
    assert found == dict.fromkeys(("arista-7124s", "nexus-5010"), ("growth ends", 4))


def test_settings_are_told_by_the_level_that_they_alone_share() -> None:
    """Else one by one; and all of them by the names of their factors."""
    every: list[Treatment] = [{"sink": sink, "daemon": of} for sink in "nd" for of in "cs"]
    nulls, mixed = every[:2], [every[0], every[3]]
    assert str(held_in_each(nulls, every)) == " (sink n)"
    assert str(held_in_each(mixed, every)) == " (sink n, daemon c; sink d, daemon s)"
    assert str(held_in_each(nulls[:1], every)) == " (sink n and daemon c)"
    assert str(held_in_each(every, every)) == " in all 4 settings of sink and daemon"
    assert str(held_in_each(every[:3], every)).count(";") == 2, "sink d has a fourth"


def test_growth_that_does_not_end_goes_on(tmp_path: Path) -> None:
    found = ends(drawn(tmp_path, "plateau", servers="[1, 2, 4]"))
    assert found == dict.fromkeys(("arista-7124s", "nexus-5010"), ("still grows", 4))


def test_growth_that_does_not_begin_has_its_last_gain_at_the_first_level(tmp_path: Path) -> None:
    found: list[Growth] = [*drawn(tmp_path, "plateau", servers="[4, 8]").growths]
    assert [one.last_gain.treatment["servers"] for one in found] == [4, 4]
    assert all(one.has_ended for one in found)


def test_a_gain_within_what_the_runs_vary_by_is_not_shown(tmp_path: Path) -> None:
    """On one switch the runs vary by half, and only goodput there is uncertain."""

    def varying(run: Run) -> RunRecord:
        if run.treatment["switch"] == "nexus-5010":
            return outcome(run)
        times = [40.0 * (0.5, 1.5, 1.0, 0.7, 1.3)[run.replicate - 1]] * run.count("measure")
        return from_samples(run, times, *[[0] * len(times)] * 3)

    found = drawn(tmp_path, "plateau", servers="[3, 4]", maker=varying)
    assert [one.held["switch"] for one in found.growths if one.is_uncertain] == ["arista-7124s"]
    (claim,) = found.claims()
    assert (claim.kind, claim.levels) == ("still grows", (4,))


@pytest.mark.parametrize(
    ("servers", "lost_pct"),
    [
        ("[1, 2, 4]", 0),
        ("[4, 8]", 50),  # twice the servers carry the same
    ],
)
def test_loss_is_held_against_growth_in_proportion(
    servers: str, lost_pct: float, tmp_path: Path
) -> None:
    found = drawn(tmp_path, "loss against ideal", servers=servers).losses
    shares = [one.last.share_pct for one in found if one.metric.name == "goodput_mbps"]
    assert shares == pytest.approx([lost_pct, lost_pct], abs=0.2)


@pytest.mark.parametrize("kind", ["plateau", "loss against ideal"])
def test_the_load_is_the_number_of_hosts_and_not_another_number(kind: str, tmp_path: Path) -> None:
    rest = (
        "factors: {mtu: [1500, 9000], servers: [1, 2, 4]}\n"
        f"replicates: 3\nnoise: 2 %\nconclude: [{kind}]\n"
    )
    text = study_text(rest, servers='"${servers}"').replace("mtu: 9000 B", 'mtu: "${mtu}"')
    found: Any = analyse(from_text(tmp_path, text, maker=_of_one_switch)).concluded[0].drawn
    each = found.growths if kind == "plateau" else found.losses
    assert [(one.factor, one.held) for one in each] == [
        ("servers", {"mtu": 1500}),
        ("servers", {"mtu": 9000}),
    ]


def loss_in(folder: Path, text: str) -> Any:
    """The loss of goodput of a study with one setting."""
    found: Any = analyse(from_text(folder, text, maker=_of_one_switch)).concluded[0].drawn
    (loss,) = (one for one in found.losses if one.metric.name == "goodput_mbps")
    return loss


def test_growth_in_proportion_begins_above_zero(tmp_path: Path) -> None:
    rest = (
        "factors: {warmup: [0, 10, 20]}\n"
        "replicates: 3\nnoise: 2 %\nconclude: [loss against ideal]\n"
    )
    loss = loss_in(tmp_path, study_text(rest).replace("warmup: 10", 'warmup: "${warmup}"'))
    assert loss.first.treatment == {"warmup": 10}
    assert loss.last.share_pct == pytest.approx(50)


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
    loss = loss_in(tmp_path, text)
    assert loss.factor == "iterations"
    assert loss.last.share_pct == pytest.approx(50)


def _of_one_switch(run: Run) -> RunRecord:
    servers, n = server_count(run), run.count("measure")
    time = 10.0 * 4 / servers
    return from_samples(run, [time] * n, [2] * n, [0] * n, [0] * n)


@pytest.mark.parametrize(
    ("most_ms", "kept", "broken", "best"),
    [
        # Eight servers take 80 ms or more; four of the arista take 40 ms.
        (50, 6, 2, {"switch": "arista-7124s", "servers": 4}),
        (5000, 8, 0, {"switch": "arista-7124s", "servers": 4}),
        (1, 0, 8, None),
    ],
)
def test_a_limit_is_the_largest_value_that_keeps_the_condition(
    most_ms: int, kept: int, broken: int, best: Treatment | None, tmp_path: Path
) -> None:
    asked = f"{{limit: goodput_mbps, while: completion_ms_mean < {most_ms}}}"
    value = drawn(tmp_path, asked).value
    assert (value.kept, value.broken) == (kept, broken)
    assert (None if value.best is None else value.best.treatment) == best


def test_first_repetitions_that_stand_out_are_named(tmp_path: Path) -> None:
    found = drawn(tmp_path, "first repetition", maker=slow_at_first)
    assert found.cells == 8
    assert sorted(
        (str(row.treatment["switch"]), row.treatment["servers"]) for row, _ in found.apart
    ) == [
        ("arista-7124s", 8),
        ("nexus-5010", 8),
    ]
    assert [ratio for _, ratio in found.apart] == pytest.approx([1.5, 1.5], abs=0.002)
    assert 0 < found.spread_pct < 0.2


def alike(run: Run) -> RunRecord:
    """A deterministic study: every repetition gives the same."""
    n = run.count("measure")
    return from_samples(run, [10.0 * server_count(run)] * n, [2] * n, [0] * n, [0] * n)


def test_repetitions_that_are_all_alike_conclude_nothing_of_the_first(tmp_path: Path) -> None:
    found = drawn(tmp_path, "first repetition", maker=alike)
    assert (found.cells, found.alike, found.apart) == (0, 8, ())


def test_settings_that_vary_are_judged_beside_those_that_do_not(tmp_path: Path) -> None:
    def mixed(run: Run) -> RunRecord:
        return alike(run) if server_count(run) < 4 else slow_at_first(run)

    found = drawn(tmp_path, "first repetition", maker=mixed)
    assert (found.cells, found.alike, len(found.apart)) == (4, 4, 2)


@pytest.mark.parametrize(("least", "servers"), [(9, {1, 2, 4, 8}), (4, {1, 2})])
def test_cells_where_repetition_shows_nothing_have_a_caveat(
    least: int, servers: set[int], tmp_path: Path
) -> None:
    def mixed(run: Run) -> RunRecord:
        return alike(run) if server_count(run) < least else outcome(run)

    result = concluding(tmp_path, "plateau", maker=mixed)
    (found,) = (one for one in result.caveats if isinstance(one, IdenticalRuns))
    assert {row.treatment["servers"] for row in found.cells} == servers


def test_without_the_first_repetition_none_is_held_against_the_later_ones(tmp_path: Path) -> None:
    """The second is not the first one, however much it stands out."""

    def second_is_slow(run: Run) -> RunRecord | None:
        if run.replicate == 1:
            return None
        first = replace(run, replicate=1 if run.replicate == 2 else run.replicate)
        return slow_at_first(first).model_copy(update={"replicate": run.replicate})

    assert drawn(tmp_path, "first repetition", maker=second_is_slow) is None


def test_growth_in_proportion_needs_levels_that_are_numbers(tmp_path: Path) -> None:
    named = "{grow: [{name: small, n: 1}, {name: large, n: 4}], until: no gain, confirm: 2}"
    rest = f"factors: {{servers: {named}}}\nreplicates: 2\nconclude: [loss against ideal]\n"
    text = study_text(rest, servers='"${servers.n}"')
    (found,) = analyse(from_text(tmp_path, text)).concluded
    assert found.drawn is None


def test_a_loss_within_what_the_runs_vary_by_is_told_as_such(tmp_path: Path) -> None:
    """Twice the servers, and 1.96 times the goodput on both switches; runs vary by tens of
    percents."""

    def varying(run: Run) -> RunRecord:
        n = run.count("measure")
        time = (100.0 if server_count(run) == 1 else 102.0) * (1 + 0.1 * (run.replicate - 3))
        return from_samples(run, [time] * n, [2] * n, [0] * n, [0] * n)

    found = drawn(tmp_path, "loss against ideal", servers="[1, 2]", maker=varying).losses
    assert [one.last.is_open for one in found] == [True, True]
    assert all(one.last.share_pct > 0 for one in found)


def test_nothing_of_which_less_is_better_grows_in_proportion(tmp_path: Path) -> None:
    grown = "{grow: [1, 2, 4], until: no gain, confirm: 2, of: completion_ms_mean}"
    assert drawn(tmp_path, "loss against ideal", servers=grown) is None


def test_the_answer_follows_the_order_of_the_conclusions(tmp_path: Path) -> None:
    result = concluding(tmp_path, "first repetition, {compare: switch}")
    firsts = [str(sentences_of(found)[0].capitalised()) for found in result.concluded]
    assert [str(one) for one in answer(result).sentences[:2]] == firsts


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
