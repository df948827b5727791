"""Checks the requirements that a study makes on its results, cell by cell.

Whether a requirement is met depends only on the value, not on its interval: a requirement is a
fixed limit, and the report shows the uncertainty of the value in any case. A requirement also fails
if a value could not be measured, because nothing shows that it is met. Cells left out of this run
(`--only`, `--quick`) do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.intervals import Estimate
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.study.levels import level_text
from netstudy.study.outcome import Bound
from netstudy.study.selection import select
from netstudy.wire import Level

if TYPE_CHECKING:
    from netstudy.study import Study
    from netstudy.study.outcome import Requirement

Outcome = Literal["met", "missed", "not measured", "not in this run"]


@dataclass(frozen=True, eq=False)
class CheckedCell:
    """A cell checked against a requirement."""

    cell: CellRow
    estimate: Estimate | None
    """The estimate of the required metric; None when it was not measured."""
    met: bool


@dataclass(frozen=True, eq=False)
class CheckedRequirement:
    """One requirement and its outcome."""

    bound: Bound
    metric: Metric | None
    """None for a metric that this version does not compute."""
    at: Mapping[str, tuple[Level, ...]]
    """Factor -> the levels at which the requirement must hold, as written in the study; 1..6, for
    example, stands for a range."""
    partly: Mapping[str, tuple[Level, ...]]
    """For factors of which this run lacks some levels of `at`: factor -> the levels of `at` that
    were run."""
    cells: tuple[CheckedCell, ...]
    """The cells of this run to which the requirement applies."""

    @property
    def outcome(self) -> Outcome:
        """The outcome is "missed" if a cell misses the bound; else "not measured" if a cell has no
        value."""
        if not self.cells:
            return "not in this run"
        if all(cell.met for cell in self.cells):
            return "met"
        measured = [cell for cell in self.cells if cell.estimate is not None]
        return "not measured" if all(cell.met for cell in measured) else "missed"

    @property
    def failed(self) -> bool:
        """Whether this requirement prevents the run from counting as a success."""
        return self.outcome in ("missed", "not measured")

    @property
    def worst(self) -> CheckedCell | None:
        """The cell that exceeds the bound most; if no cell exceeds it, the cell nearest to the
        bound."""
        measured = [cell for cell in self.cells if cell.estimate is not None]
        sign = 1 if self.bound.sign in ("<", "<=") else -1
        values = [sign * cell.estimate.value for cell in measured if cell.estimate is not None]
        return measured[values.index(max(values))] if values else None


def check(study: Study, cells: CellTable) -> tuple[CheckedRequirement, ...]:
    """Checks every requirement of a study against the cells of a run, in the study's order."""
    return tuple(_checked(study, one, cells) for one in study.require)


def _checked(study: Study, requirement: Requirement, table: CellTable) -> CheckedRequirement:
    bound = requirement.that
    metric = metric_named(bound.metric, table.vocabulary)
    cells = tuple(cells_at(study, requirement.at, table.rows))
    held = tuple(_held(cell, metric, bound) for cell in cells)
    partly = levels_partly_run(study, requirement.at, cells)
    return CheckedRequirement(bound, metric, requirement.at, partly, held)


def cells_at(
    study: Study, at: Mapping[str, Sequence[Level]], rows: Sequence[CellRow]
) -> Iterator[CellRow]:
    """The cells at the levels of a condition's `at`; all cells if `at` is empty."""
    chosen = _levels_at(study, at)
    for row in rows:
        if all(
            name in row.treatment and level_text(row.treatment[name]) in levels
            for name, levels in chosen.items()
        ):
            yield row


def levels_partly_run(
    study: Study, at: Mapping[str, Sequence[Level]], cells: Sequence[CellRow]
) -> dict[str, tuple[Level, ...]]:
    """For factors of which `cells` lack some levels of a condition's `at`, because only a part of
    the study was run: factor -> the levels of `at` that do occur."""
    partly = {}
    for name, levels in _levels_at(study, at).items():
        texts = {level_text(cell.treatment[name]) for cell in cells}
        there = tuple(level for text, level in levels.items() if text in texts)
        if 0 < len(there) < len(levels):
            partly[name] = there
    return partly


def _levels_at(study: Study, at: Mapping[str, Sequence[Level]]) -> dict[str, dict[str, Level]]:
    """Factor -> text of a level -> the level, for all levels at which a condition must hold."""
    return {
        name: {level_text(level): level for level in select(study.factors[name], wanted)}
        for name, wanted in at.items()
    }


def _held(cell: CellRow, metric: Metric | None, bound: Bound) -> CheckedCell:
    estimate = None if metric is None else cell.estimate(metric)
    return CheckedCell(cell, estimate, estimate is not None and bound.holds(estimate.value))
