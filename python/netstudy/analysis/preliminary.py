"""The comparisons of an unfinished study, without p values and without verdicts.

A test at 5 % that is repeated as the data arrive finds a difference between equal levels far more
often than in 5 % of all studies: in 14 % after five looks, in 19 % after ten (Armitage, McPherson
and Rowe, Repeated significance tests on accumulating data, J. R. Statist. Soc. A 132, 1969).
Someone who stops a study at such a look publishes that error (Johari, Pekelis and Walsh, Always
valid inference: bringing sequential analysis to A/B testing, arXiv 1512.04922). So this module only
says which level is ahead in the runs that are there, and by how much. The final report tests once,
when all runs are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netstudy.analysis.case_result import CaseResult, PanelResult
from netstudy.analysis.cells import CellRow
from netstudy.analysis.intervals import Interval
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.verdict import Comparison, VerdictTable
from netstudy.wire import Level


@dataclass(frozen=True, eq=False)
class PreliminaryPair:
    """Two cells that differ only in the compared factor, as far as their runs are there."""

    x: Level | None
    """Level of the factor along x; None if there is none."""
    a: CellRow | None
    base: CellRow | None
    value: float | None
    base_value: float | None
    change: float | None
    """Change from the base: in % of its value, for a share in percentage points. None if a value is
    missing, or if the base is 0."""
    interval: Interval | None
    """95 % interval of `change` over the runs so far, as if nobody looked before the end; None with
    fewer than two runs in one of the cells."""
    ahead: Level | None
    """The level with the better value, or the larger one if neither direction is better. None if
    the values are equal or missing."""
    is_within_noise: bool
    """True if the change is smaller than the study's noise."""

    @property
    def has_values(self) -> bool:
        """True if both cells have a value."""
        return self.value is not None and self.base_value is not None


@dataclass(frozen=True, eq=False)
class PreliminaryTable:
    """One metric along x, for one level against the base."""

    panel: Panel
    metric: Metric
    factor: str
    level: Level
    base: Level
    noise_pct: float | None
    """The study's equivalence margin (`noise`); None: it declares none."""
    pairs: tuple[PreliminaryPair, ...]


def preliminary_tables(case: CaseResult) -> Iterator[PreliminaryTable]:
    """The comparisons of a test case, in the order of its panels and metrics."""
    for found in case.panels:
        for verdicts in found.verdicts:
            yield _table(found, verdicts)


def _table(found: PanelResult, verdicts: VerdictTable) -> PreliminaryTable:
    return PreliminaryTable(
        panel=found.panel,
        metric=verdicts.metric,
        factor=verdicts.factor,
        level=verdicts.level,
        base=verdicts.base,
        noise_pct=verdicts.margin_pct,
        pairs=tuple(_pair(found.panel, verdicts, row) for row in verdicts.rows),
    )


def _pair(panel: Panel, verdicts: VerdictTable, row: Comparison) -> PreliminaryPair:
    a, base = (panel.cell(row.x, level) for level in (verdicts.level, verdicts.base))
    change, interval = _change(row, verdicts.metric)
    relative = row.change_pct
    noise = verdicts.margin_pct or 0.0
    return PreliminaryPair(
        x=row.x,
        a=a,
        base=base,
        value=row.value,
        base_value=row.base_value,
        change=change,
        # Batches of a single run say nothing of how runs differ.
        interval=None if row.within_one_run else interval,
        ahead=verdicts.ahead(row),
        is_within_noise=relative is not None and abs(relative) < noise,
    )


def _change(row: Comparison, metric: Metric) -> tuple[float | None, Interval | None]:
    if metric.is_share:
        return row.difference, row.difference_interval
    found = row.interval
    in_percent = found and Interval((found.low - 1) * 100, (found.high - 1) * 100)
    return row.change_pct, in_percent
