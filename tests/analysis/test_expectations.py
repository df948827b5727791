"""Expectations held against cells: confirmed, refuted, undecided, not in this run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from netstudy.analysis.expectations import CheckedExpectation, check_expectations
from netstudy.analysis.related import cell_table
from netstudy.analysis.verdict import Pair, verdict_table
from netstudy.wire import Run, RunRecord
from tests.analysis.test_requirements import FACTORS, outcome
from tests.report.results import from_text, study_text
from tests.report.synthetic import failed, server_count


def expected(folder: Path, text: str, rest: str = FACTORS, **made: object) -> CheckedExpectation:
    text = study_text(f"{rest}expect: {text}\n", servers='"${servers}"')
    found = from_text(folder, text, **{"maker": outcome, **made})  # type: ignore[arg-type]
    (one,) = check_expectations(found.study(), cell_table(found), {})
    return one


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("completion_ms_mean < 45", "confirmed"),
        ("completion_ms_mean > 19", "confirmed"),
        ("completion_ms_mean < 43", "undecided"),
        ("completion_ms_mean < 41", "undecided"),
        ("completion_ms_mean < 38", "refuted"),
        ("[{that: completion_ms_mean < 38, at: {servers: 2}}]", "confirmed"),
    ],
)
def test_a_condition_is_held_against_the_interval_of_every_cell(
    condition: str, said: str, tmp_path: Path
) -> None:
    """Means are 22 and 42 ms with 95 % intervals of ± 2.48 ms; with two cells to refute, ± 3.58."""
    assert expected(tmp_path, condition).outcome == said


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("lower: completion_ms_mean", "confirmed"),
        ("higher: completion_ms_mean", "refuted"),
        ("same: completion_ms_mean", "refuted"),
        ("same: retransmissions_per_iteration", "confirmed"),
        ("lower: retransmissions_per_iteration", "refuted"),
    ],
)
def test_levels_are_compared_as_verdicts_are(claim: str, said: str, tmp_path: Path) -> None:
    """Two servers take half the time of four; nothing is sent again."""
    text = f"{{{claim}, with: {{servers: 2}}, than: {{servers: 4}}}}"
    assert expected(tmp_path, text).outcome == said


@pytest.mark.parametrize(("level", "base"), [(2, 4), (4, 2)])
def test_cells_that_the_study_compares_have_one_verdict(
    level: int, base: int, tmp_path: Path
) -> None:
    """That of the report, adjusted over its own table, whichever of the two is the base there."""
    claim = "expect: {lower: completion_ms_mean, with: {servers: 2}, than: {servers: 4}}\n"
    found = from_text(tmp_path, study_text(FACTORS + claim, servers='"${servers}"'), outcome)
    table = cell_table(found)
    cells = {row.treatment["servers"]: row for row in table.rows}
    metric = next(one for one in table.metrics if one.name == "completion_ms_mean")
    shown = verdict_table(
        [Pair(None, cells[level], cells[base])],
        metric=metric,
        factor="servers",
        level=level,
        base=base,
        x=None,
        margin_pct=None,
    ).rows[0]
    key = metric.name, cells[level], cells[base]
    assert shown.outcome == "different"
    (confirmed,) = check_expectations(found.study(), table, {key: shown})
    assert confirmed.outcome == "confirmed"
    (left_open,) = check_expectations(
        found.study(), table, {key: replace(shown, outcome="undecided")}
    )
    assert left_open.outcome == "undecided"


def test_a_difference_within_the_noise_is_none(tmp_path: Path) -> None:
    text = "{lower: completion_ms_mean, with: {servers: 2}, than: {servers: 4}}"
    found = expected(tmp_path, text, f"{FACTORS}noise: 80 %\n")
    assert found.outcome == "refuted"


def test_one_run_of_each_cell_decides_nothing(tmp_path: Path) -> None:
    text = "{lower: completion_ms_mean, with: {servers: 2}, than: {servers: 4}}"
    single = "factors: {servers: [2, 4]}\nreplicates: 1\n"
    assert expected(tmp_path, text, single).outcome == "undecided"
    assert expected(tmp_path, "completion_ms_mean < 1", single).outcome == "undecided"


def test_the_places_that_refute_it_are_known(tmp_path: Path) -> None:
    found = expected(tmp_path, "completion_ms_mean < 30")
    assert [place.treatment["servers"] for place in found.found("refuted")] == [4]
    assert [place.treatment["servers"] for place in found.found("confirmed")] == [2]


def test_a_cell_without_numbers_leaves_it_undecided(tmp_path: Path) -> None:
    def lacking(run: Run) -> RunRecord:
        return failed(run) if server_count(run) == 2 else outcome(run)

    assert expected(tmp_path, "completion_ms_mean < 99", maker=lacking).outcome == "undecided"
    assert expected(tmp_path, "completion_ms_mean < 1", maker=lacking).outcome == "refuted"
