"""The error rates of verdicts: a small part of the tables, and the whole of the page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.error_rates import CONDITIONS, DIFFERENCES_PCT, NOISE_PCT, PAGE, rates, write

FEW = 40
"""Studies in the part that runs with every test."""
FALSE_PCT_MAX = 5.0
INDEPENDENT = [name for name in CONDITIONS if name != "autocorrelated"]


@pytest.mark.parametrize("condition", INDEPENDENT)
def test_differences_at_the_edge_of_the_noise_are_seldom_called_different(condition: str) -> None:
    found = rates(condition, NOISE_PCT, 5, FEW)
    assert found.false_studies <= FALSE_PCT_MAX
    assert found.as_planted + found.reversed + found.same + found.undecided == pytest.approx(100)


@pytest.mark.parametrize("condition", ["normal", "bimodal", "unequal spread"])
def test_a_planted_difference_of_5_pct_is_found(condition: str) -> None:
    found = rates(condition, 5, 5, FEW)
    assert found.as_planted > 80
    assert found.reversed == found.same == 0


def test_autocorrelated_runs_err_and_are_told() -> None:
    found = rates("autocorrelated", NOISE_PCT, 10, FEW)
    assert found.false_studies > FALSE_PCT_MAX
    assert found.told > 90


def columns(page: Path) -> dict[str, list[list[float]]]:
    """Condition -> the rows of its table on the page."""
    found: dict[str, list[list[float]]] = {}
    name = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("### "):
            name = line.removeprefix("### ").lower()
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0].isdigit() and name in CONDITIONS:
            found.setdefault(name, []).append([float(cell) for cell in cells])
    return found


def test_the_page_has_every_condition_and_no_rate_of_false_differences_above_5_pct() -> None:
    tables = columns(PAGE)
    assert list(tables) == list(CONDITIONS)
    for name in INDEPENDENT:
        rows = tables[name]
        assert {row[1] for row in rows} == set(DIFFERENCES_PCT)
        assert max(row[6] for row in rows) <= FALSE_PCT_MAX, name


@pytest.mark.slow
def test_the_page_is_what_the_program_writes(tmp_path: Path) -> None:
    copy = tmp_path / PAGE.name
    shutil.copy(PAGE, copy)
    write(copy)
    assert copy.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
