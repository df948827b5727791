"""The verdicts of a study's comparison, one object each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.verdict import Comparison, Outcome, VerdictTable
from netstudy.wire import Level


@dataclass(frozen=True)
class Verdict:
    """One metric at one level of the compared factor against the base level, all other factors
    equal."""

    case: str
    """The test case."""
    at: Mapping[str, Level]
    """The levels of the other factors."""
    metric: str
    unit: str
    factor: str
    """The factor that is compared."""
    level: Level
    base: Level
    value: float | None
    """At `level`; None: not measured."""
    base_value: float | None
    """At `base`."""
    change_pct: float | None
    """Change from `base_value` to `value`, in percent of `base_value`."""
    interval_pct: tuple[float, float] | None
    """95 % interval of `change_pct`; None: the runs were not repeated."""
    noise_pct: float | None
    """The study's equivalence margin: smaller differences are not reported as differences."""
    outcome: Outcome
    """`different`, `same`, `undecided`, or `missing` if a value is missing."""
    winner: Level | None
    """The better level if the two differ; None for metrics without a better direction."""
    more_runs: int | None
    """Additional runs that each cell of an undecided pair probably needs; None: the pair is
    decided, or the number is not known."""


def verdicts_of(result: StudyResult) -> tuple[Verdict, ...]:
    """Every verdict, case by case and metric by metric, in the order of the report."""
    return tuple(
        verdict
        for case in result.cases
        for panel in case.panels
        for table in panel.verdicts
        for verdict in _of_table(case.name, panel.panel.fixed, table)
    )


def _of_table(case: str, fixed: Mapping[str, Level], table: VerdictTable) -> Iterator[Verdict]:
    for row in table.rows:
        along_x = {} if table.x is None or row.x is None else {table.x: row.x}
        yield Verdict(
            case=case,
            at={**fixed, **along_x},
            metric=table.metric.name,
            unit=table.metric.unit,
            factor=table.factor,
            level=table.level,
            base=table.base,
            value=row.value,
            base_value=row.base_value,
            change_pct=row.change_pct,
            interval_pct=_in_pct(row),
            noise_pct=table.margin_pct,
            outcome=row.outcome,
            winner=row.winner,
            more_runs=row.more_runs,
        )


def _in_pct(row: Comparison) -> tuple[float, float] | None:
    """The interval of the ratio, converted to the change in percent."""
    found = row.interval
    return None if found is None else (100 * (found.low - 1), 100 * (found.high - 1))
