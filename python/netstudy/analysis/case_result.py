"""The findings of a test case: panels with their verdicts, causes and published values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netstudy.analysis.causes import Causes, causes
from netstudy.analysis.cells import CellRow, CellTable, have_one_base
from netstudy.analysis.expectations import Verdicts
from netstudy.analysis.growth import GrownLoop
from netstudy.analysis.layout import Layout, Panel, layout
from netstudy.analysis.metrics import Metric
from netstudy.analysis.reference import PanelReference, Published, beside
from netstudy.analysis.testbed import Here
from netstudy.analysis.verdict import Comparison, Pair, VerdictTable, verdict_table
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.study.treatments import reasoned_holes
from netstudy.wire import Level, Treatment

if TYPE_CHECKING:
    from netstudy.study import Case


@dataclass(frozen=True)
class Comparing:
    """The study's comparison: a factor, its base level, and the equivalence margin (`noise`)."""

    factor: str
    base: Level
    margin_pct: float | None
    on: tuple[Metric, ...]
    """The metrics compared, the deciding one first."""


@dataclass(frozen=True, eq=False)
class PanelResult:
    """The findings of one panel: its verdicts, its causes, and the published values for it."""

    panel: Panel
    workload: WorkloadAnalysis
    verdicts: tuple[VerdictTable, ...]
    causes: Causes
    reference: PanelReference | None

    @property
    def has_fitted(self) -> bool:
        """Whether a profile was fitted to some of its published values."""
        agreements = self.reference.agreements if self.reference else ()
        return any(row.fitted for one in agreements for row in one.rows)

    def verdict(self, metric: Metric, level: Level) -> VerdictTable | None:
        """The verdicts on a metric for one level against the base."""
        found = (v for v in self.verdicts if v.metric == metric and v.level == level)
        return next(found, None)


@dataclass(frozen=True, eq=False)
class CaseResult:
    """The findings of one test case."""

    name: str
    description: str | None
    levels: tuple[tuple[str, Level, str], ...]
    """Factor, level and description of the level, for levels that the study describes."""
    layout: Layout
    panels: tuple[PanelResult, ...]
    loops: tuple[GrownLoop, ...]
    """The loop of the growing factor at each combination of the other factors; empty if no factor
    grows."""
    holes: tuple[tuple[Treatment, str], ...]
    """Treatments that are not run, with the reason that the study gives."""


def case_result(
    cells: CellTable,
    case: Case,
    only: Mapping[str, Sequence[Level]],
    comparing: Comparing | None,
    margin_pct: float | None,
    published: Sequence[Published],
    here: Here,
    loops: Sequence[GrownLoop],
) -> CaseResult:
    """The findings of a test case; `only`: factor -> the levels that the invocation kept."""
    laid = layout(cells, case.name, comparing.factor if comparing else None)
    published = [one for one in published if one.case in (None, case.name)]
    return CaseResult(
        name=case.name,
        description=case.description,
        levels=tuple(
            (factor.name, level.name, level.text)
            for factor in case.factors
            for level in factor.levels
            if level.text and level.name in laid.factors.get(factor.name, ())
        ),
        layout=laid,
        panels=tuple(
            _panel(panel, cells, comparing, margin_pct, published, here) for panel in laid.panels
        ),
        loops=tuple(one for one in loops if one.loop.case == case.name),
        # Holes at levels that the command line left out (--only) say nothing about this run.
        holes=tuple(
            (treatment, reason)
            for treatment, reason in reasoned_holes(case)
            if all(treatment.get(name) in kept for name, kept in only.items() if name in treatment)
        ),
    )


def _panel(
    panel: Panel,
    cells: CellTable,
    comparing: Comparing | None,
    margin_pct: float | None,
    published: Sequence[Published],
    here: Here,
) -> PanelResult:
    compared = comparing is not None and panel.series == comparing.factor
    # Causes and published ratios need a base even if the study compares another factor, or none.
    base = comparing.base if comparing and compared else panel.series_levels[0]
    workload = cells.workload
    reference = beside(
        panel,
        published,
        base,
        margin_pct,
        here,
        metrics=(*cells.metrics, *cells.asked),
        counted=workload.counted,
        law=workload.identity,
    )
    return PanelResult(
        panel=panel,
        workload=workload,
        verdicts=tuple(_verdicts(panel, comparing)) if comparing and compared else (),
        causes=causes(panel, base, workload),
        reference=reference if reference.agreements else None,
    )


def _verdicts(panel: Panel, comparing: Comparing) -> Iterator[VerdictTable]:
    """One table for each metric and each level except the base; no table if the base is missing."""
    if comparing.base not in panel.series_levels:
        return
    for metric in comparing.on:
        for level in panel.series_levels:
            if level is None or level == comparing.base:
                continue
            pairs = [_cells(panel, x, level, comparing.base, metric) for x in panel.x_levels]
            yield verdict_table(
                pairs,
                metric=metric,
                factor=comparing.factor,
                level=level,
                base=comparing.base,
                x=panel.x,
                margin_pct=comparing.margin_pct,
            )


def _cells(panel: Panel, x: Level | None, level: Level, base: Level, metric: Metric) -> Pair:
    a, other = panel.cell(x, level), panel.cell(x, base)
    if a is not None and other is not None and not have_one_base(a, other, metric):
        return Pair(x, None, None)
    return Pair(x, a, other)


def verdicts_by_cells(cases: Iterable[CaseResult]) -> Verdicts:
    """Every verdict, by its metric, cell and base cell; if several test cases compare the same
    cells, the verdict of the first."""
    found: dict[tuple[str, CellRow, CellRow], Comparison] = {}
    for result in (one for case in cases for one in case.panels):
        for table in result.verdicts:
            for row in table.rows:
                a, base = (result.panel.cell(row.x, level) for level in (table.level, table.base))
                if a is not None and base is not None:
                    found.setdefault((table.metric.name, a, base), row)
    return found
