"""Checks a study's expectations against the cells: confirmed, refuted or undecided.

A condition is checked against the 95 % interval of each cell. Levels are compared as in verdicts:
an expected difference must exceed the study's noise. If the report has a verdict on the same two
cells, that verdict is used. An expectation is confirmed if every cell confirms it, and refuted if
one cell refutes it. The significance level of each test is divided by the number of cells;
otherwise, one of many cells would soon refute the expectation by chance. Cells left out of this run
do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.intervals import CONFIDENCE, Estimate, Interval, student_interval
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.order_statistics import wider
from netstudy.analysis.requirements import cells_at, levels_partly_run
from netstudy.analysis.verdict import Comparison, Pair, verdict_table
from netstudy.study.levels import level_text
from netstudy.study.outcome import Bound
from netstudy.study.selection import one_level
from netstudy.wire import Level, Treatment

if TYPE_CHECKING:
    from netstudy.study import Study
    from netstudy.study.outcome import Expectation

Finding = Literal["confirmed", "refuted", "undecided"]

Verdicts = Mapping[tuple[str, CellRow, CellRow], Comparison]
"""Name of a metric, cell, base cell -> the verdict on this cell."""


@dataclass(frozen=True)
class Place:
    """One cell, or two cells that differ only in the compared levels."""

    treatment: Treatment
    """The levels of the cell, or the levels that both cells share."""
    finding: Finding


@dataclass(frozen=True, eq=False)
class CheckedExpectation:
    """One expectation and the findings of the runs."""

    expected: Expectation
    metric: Metric | None
    """None for a metric that this version does not compute."""
    partly: Mapping[str, tuple[Level, ...]]
    """Factor -> the expected levels that were run, if only some of them were."""
    places: tuple[Place, ...]

    @property
    def outcome(self) -> Finding | Literal["not in this run"]:
        """Refuted if one place refutes it, confirmed if all confirm it."""
        findings = {place.finding for place in self.places}
        if not findings:
            return "not in this run"
        if "refuted" in findings:
            return "refuted"
        return "confirmed" if findings == {"confirmed"} else "undecided"

    def found(self, finding: Finding) -> tuple[Place, ...]:
        """The places with this finding."""
        return tuple(place for place in self.places if place.finding == finding)


def check_expectations(
    study: Study, table: CellTable, verdicts: Verdicts
) -> tuple[CheckedExpectation, ...]:
    """Every expectation of a study, in its order; `verdicts` are the verdicts in the report."""
    return tuple(_checked(study, one, table, verdicts) for one in study.expect)


def _checked(
    study: Study, expected: Expectation, table: CellTable, verdicts: Verdicts
) -> CheckedExpectation:
    metric = metric_named(expected.metric, table.vocabulary)
    rows = tuple(cells_at(study, expected.at, table.rows))
    if metric is None:
        places = [Place(row.treatment, "undecided") for row in rows]
    elif expected.that:
        places = [_against(expected.that, row, metric, len(rows)) for row in rows]
    else:
        places = list(_compared(study, expected, metric, rows, verdicts))
    partly = levels_partly_run(study, expected.at, rows)
    return CheckedExpectation(expected, metric, partly, tuple(places))


def _against(bound: Bound, row: CellRow, metric: Metric, cells: int) -> Place:
    """Checks a condition at a cell. An interval that is widened for the number of cells must refute
    it."""
    estimate = row.estimate(metric)
    confirms = _interval(estimate)
    refutes = _interval(estimate, 1 - (1 - CONFIDENCE) / cells)
    finding: Finding = "undecided"
    if confirms is not None and all(map(bound.holds, (confirms.low, confirms.high))):
        finding = "confirmed"
    elif refutes is not None and not any(map(bound.holds, (refutes.low, refutes.high))):
        finding = "refuted"
    return Place(row.treatment, finding)


def _interval(estimate: Estimate | None, confidence: float = CONFIDENCE) -> Interval | None:
    """The interval over the runs; for a published value, the range that rounding allows; None if
    run-to-run variation is unknown. For a percentile, at least as wide as the interval from order
    statistics."""
    if estimate is None:
        return None
    if estimate.unit == "rounding":
        half = (estimate.rounding or 0.0) / 2
        return Interval(estimate.value - half, estimate.value + half)
    if estimate.unit != "run":
        return None
    found = student_interval(estimate.value, estimate.variance, estimate.df, confidence)
    return wider(found, estimate.interval)


def _compared(
    study: Study,
    expected: Expectation,
    metric: Metric,
    rows: Sequence[CellRow],
    verdicts: Verdicts,
) -> Iterator[Place]:
    first, second = _levels(study, expected.with_), _levels(study, expected.than)
    other = {_key(_without(row, second)): row for row in rows if _has(row, second)}
    pairs = [
        Pair(None, row, other.get(_key(_without(row, first)))) for row in rows if _has(row, first)
    ]
    table = verdict_table(
        pairs,
        metric=metric,
        factor=", ".join(first),
        level=", ".join(map(level_text, first.values())),
        base=", ".join(map(level_text, second.values())),
        x=None,
        margin_pct=study.margin_pct,
    )
    for pair, compared in zip(pairs, table.rows, strict=True):
        if pair.a is not None and pair.base is not None:
            shown = _shown(verdicts, metric, pair.a, pair.base) or compared
            yield Place(_without(pair.a, first), _stands(expected, shown))


def _shown(verdicts: Verdicts, metric: Metric, a: CellRow, base: CellRow) -> Comparison | None:
    """The report's verdict on two cells, no matter which of them is the base in the report."""
    turned = verdicts.get((metric.name, base, a))
    if turned is not None:
        return replace(turned, value=turned.base_value, base_value=turned.value)
    return verdicts.get((metric.name, a, base))


def _stands(expected: Expectation, compared: Comparison) -> Finding:
    if compared.outcome not in ("different", "same"):
        return "undecided"
    if compared.outcome == "same":
        return "confirmed" if expected.same else "refuted"
    assert compared.value is not None, "a decided pair has both values"
    assert compared.base_value is not None, "a decided pair has both values"
    is_lower = compared.value < compared.base_value
    return "confirmed" if (expected.lower if is_lower else expected.higher) else "refuted"


def _levels(study: Study, side: Mapping[str, Level]) -> dict[str, Level]:
    return {name: one_level(study.factors[name], level) for name, level in side.items()}


def _has(row: CellRow, side: Mapping[str, Level]) -> bool:
    return all(row.treatment.get(name) == level for name, level in side.items())


def _without(row: CellRow, side: Mapping[str, Level]) -> Treatment:
    return {name: level for name, level in row.treatment.items() if name not in side}


def _key(treatment: Treatment) -> tuple[tuple[str, Level], ...]:
    return tuple(sorted(treatment.items()))
