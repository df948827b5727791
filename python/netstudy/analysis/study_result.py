"""Everything that a report of a results folder says, computed once: `analyse(folder)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

from netstudy.analysis.agreement import OrderAgreement
from netstudy.analysis.causes import Causes, causes
from netstudy.analysis.cells import CellRow, CellTable, Problem
from netstudy.analysis.conclusions import Concluded, concluded
from netstudy.analysis.demand import OffDemand, off_demands
from netstudy.analysis.effects import Effects, effects
from netstudy.analysis.expectations import CheckedExpectation, Verdicts, check_expectations
from netstudy.analysis.growth import GrownLoop, loops_of
from netstudy.analysis.layout import Layout, Panel, layout
from netstudy.analysis.lazy import Lazy
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import figure_named, metric_named
from netstudy.analysis.not_given import TooFew, not_measured, too_few
from netstudy.analysis.reference import (
    PanelReference,
    Published,
    beside,
    read_reference,
)
from netstudy.analysis.related import pool_study
from netstudy.analysis.requirements import CheckedRequirement, check
from netstudy.analysis.size_law import ImpliedSize, OffLaw, implied_sizes, off_laws
from netstudy.analysis.testbed import CheckFound, Here, LimitFound, TestbedResult, gather_testbed
from netstudy.analysis.truncated import Truncated, truncated
from netstudy.analysis.untested import Untested, of_plan, of_records
from netstudy.analysis.verdict import (
    RUNS_RECOMMENDED,
    Comparison,
    Pair,
    VerdictTable,
    verdict_table,
)
from netstudy.analysis.warmup import WarmUp, alarms
from netstudy.analysis.workloads import WorkloadAnalysis, figures_of, headline_of
from netstudy.study.not_reported import not_reported
from netstudy.study.outcome import DistributionKind, Figure, Table
from netstudy.study.treatments import reasoned_holes
from netstudy.study.vocabulary import MetricName
from netstudy.wire import Level, Plan, RunRecord, Treatment

if TYPE_CHECKING:
    from netstudy.store import Folder
    from netstudy.study import Case, Study


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
    """Its growing factor at each combination of the others; empty if no factor grows."""
    holes: tuple[tuple[Treatment, str], ...]
    """Treatments that are not run, with the reason that the study gives."""


@dataclass(frozen=True)
class ShownFigure:
    """A standard figure that the report shows."""

    metric: Metric
    title: str | None = None
    """Its heading; None: the report writes one."""
    case: str | None = None
    """The test case that it shows; None: all of them."""
    place: int = 0
    """Its position among the figures of the study."""


@dataclass(frozen=True)
class AskedFigure:
    """A figure whose axes the study chooses."""

    figure: Figure
    place: int
    """Its position among the figures of the study."""


@dataclass(frozen=True)
class DistributionFigure:
    """A figure of samples that the study asks for."""

    kind: DistributionKind
    metric: Metric
    """The mean of the samples."""
    title: str | None
    case: str | None


@dataclass(frozen=True, eq=False)
class Warnings:
    """Reasons to look before trusting the result; empty fields when there are none."""

    problems: tuple[tuple[CellRow, Problem], ...]
    """Failed, invalid and missing runs with their cells."""
    empty_cells: tuple[CellRow, ...]
    """Cells without a valid run."""
    few_runs: tuple[CellRow, ...]
    """Cells with fewer runs than recommended."""
    warm_up: tuple[tuple[CellRow, WarmUp], ...]
    reference: tuple[str, ...]
    """Problems of the reference data; the affected values are left out."""
    contradicted: tuple[OrderAgreement, ...]
    """Pairs of levels whose published order is reversed in most rows of the study."""
    exceeded: tuple[LimitFound, ...]
    """Limits of the testbed that some run exceeded."""
    disagreeing: tuple[CheckFound, ...]
    """Instruments that disagree in some run."""
    not_shown: tuple[str, ...]
    """Parts of the study that this version's report leaves out, by path: comparisons, tables,
    figures, conclusions."""
    left_out: tuple[str, ...]
    """Parts of the study that the user left out of the run by name."""
    left_out_by_variant: tuple[str, ...] = ()
    """Parts that the testbed's variant leaves out."""
    untested: tuple[Untested, ...] = ()
    """Questions of the study that its runs cannot answer."""
    not_measured: Mapping[str, Metric] = field(default_factory=dict)
    """Path of the study -> the metric named there that no run measured."""
    too_few: tuple[TooFew, ...] = ()
    """Percentiles that the study names and some cells have too few samples for."""
    truncated: tuple[Truncated, ...] = ()
    """Cells whose latencies are too low because they exclude many unanswered requests."""
    off_law: tuple[OffLaw, ...] = ()
    """Sizes whose times do not follow the law of the other sizes."""
    off_demand: tuple[OffDemand, ...] = ()
    """Published rows with an outlying CPU time per unit served."""

    def any(self) -> bool:
        """Whether there is any warning."""
        return any(
            (
                self.problems,
                self.empty_cells,
                self.few_runs,
                self.warm_up,
                self.reference,
                self.contradicted,
                self.exceeded,
                self.disagreeing,
                self.not_shown,
                self.left_out,
                self.left_out_by_variant,
                self.untested,
                self.not_measured,
                self.too_few,
                self.truncated,
                self.off_law,
                self.off_demand,
            )
        )


@dataclass(frozen=True, eq=False)
class StudyResult:
    """The results of a study: its cells and findings."""

    study: str
    title: str | None
    question: str
    expectation: str | None
    description: str | None
    """The study's general description; test cases have their own."""
    variant: tuple[str, str] | None
    """The variant that was run, named after its testbed, and its description; None: not given."""
    margin_pct: float | None
    """The study's equivalence margin, its `noise`; None: it declares none."""
    comparing: Comparing | None
    cells: CellTable
    cases: Sequence[CaseResult]
    """Its test cases; each is analysed on first use."""
    headline: tuple[Metric, ...]
    """The columns of the main table."""
    tables: tuple[Table, ...]
    """The tables that the study asks for; if none, only the main table is shown."""
    figures: tuple[ShownFigure, ...]
    distributions: tuple[DistributionFigure, ...]
    """The figures of samples that it asks for; if none, the report chooses."""
    asked_figures: tuple[AskedFigure, ...]
    requirements: tuple[CheckedRequirement, ...]
    """The study's requirements of its outcome, with their results."""
    concluded: tuple[Concluded, ...]
    """The conclusions that the study asks for, in its order, for each of their test cases."""
    authors: tuple[str, ...]
    sources: tuple[str, ...]
    """Sources of the published values."""
    implied_sizes: tuple[ImpliedSize, ...]
    """Published times of a size that is off the law of the other published sizes."""
    plan: Plan
    testbed: TestbedResult
    """The testbed of the runs, and how far it can be trusted."""
    find_expectations: Callable[[Sequence[CaseResult]], tuple[CheckedExpectation, ...]]
    """Checks the expectations against the analysed cases."""
    find_warnings: Callable[[Sequence[CaseResult]], Warnings]
    """Gathers the warnings about the analysed cases."""

    @cached_property
    def expectations(self) -> tuple[CheckedExpectation, ...]:
        """The study's expectations, each with its outcome in these runs."""
        return self.find_expectations(self.cases)

    @cached_property
    def warnings(self) -> Warnings:
        """Reasons to look before trusting the result."""
        return self.find_warnings(self.cases)

    @cached_property
    def deciding(self) -> Metric:
        """The metric that the study compares on first, else the workload's own."""
        if self.comparing is not None and self.comparing.on:
            return self.comparing.on[0]
        own = self.cells.workload.deciding
        return next(iter(self.cells.measured((own, *self.headline))), own)

    def effects_in(self, case: CaseResult) -> Effects | None:
        """The effects of a test case's factors on the deciding metric; computed on first use."""
        if case.name not in self._effects:
            own = self.cells.of_case(case.name)
            found = effects(own, case.layout.factors, self.deciding, self.margin_pct)
            self._effects[case.name] = found
        return self._effects[case.name]

    @cached_property
    def _effects(self) -> dict[str, Effects | None]:
        return {}

    @property
    def missed(self) -> tuple[CheckedRequirement, ...]:
        """The failed requirements: missed or not measured."""
        return tuple(one for one in self.requirements if one.failed)


@dataclass(frozen=True)
class Pooled:
    """The contents of a results folder: its study, plan and records, and the runs pooled into
    cells."""

    study: Study
    plan: Plan
    records: Sequence[RunRecord]
    cells: CellTable


def pool(folder: Folder) -> Pooled:
    """Reads a results folder, finished or not."""
    study, plan = folder.study(), folder.plan()
    records = folder.records(plan.runs)
    return Pooled(study, plan, records, pool_study(study, plan, records, folder.series))


def analyse(folder: Folder, pooled: Pooled | None = None) -> StudyResult:
    """Analyses a results folder, finished or not; reads it unless it is pooled already."""
    pooled = pooled or pool(folder)
    study, plan, cells = pooled.study, pooled.plan, pooled.cells
    testbed = _testbed(folder, pooled.records)
    comparing, not_compared = _comparing(study, cells)
    published = () if testbed.published else read_reference(study, cells.vocabulary)
    figures, not_drawn = _figures(study, plan, cells)
    headline, not_tabled = _headline(study, plan, cells)
    loops = loops_of(folder, study, plan, cells)
    margin_pct = comparing.margin_pct if comparing else study.margin_pct
    only = folder.invocation().levels_kept(study)
    cases = Lazy(
        [
            partial(_case, cells, case, only, comparing, margin_pct, published, testbed.here, loops)
            for case in study.cases
            if case.name in cells.cases
        ]
    )
    not_shown = (*not_compared, *map(str, not_tabled), *not_drawn)
    not_shown += _not_of_this_run(study, cells.vocabulary)
    not_shown += not_reported(study)
    return StudyResult(
        study=study.study,
        title=study.report.title,
        question=study.question,
        expectation=study.expectation,
        description=study.description,
        variant=_variant(folder, study),
        margin_pct=study.margin_pct,
        comparing=comparing,
        cells=cells,
        cases=cases,
        headline=headline,
        tables=study.report.tables,
        figures=figures,
        distributions=tuple(_distribution_figures(study, cells)),
        asked_figures=tuple(
            AskedFigure(one, place)
            for place, one in enumerate(study.report.figures)
            if one.name is None and not one.is_distribution
        ),
        requirements=check(study, cells),
        concluded=concluded(study, cells),
        authors=study.authors,
        sources=tuple(reference.source for reference in study.reference),
        implied_sizes=implied_sizes(study, cells, published),
        plan=plan,
        testbed=testbed,
        find_expectations=lambda cases: check_expectations(study, cells, _by_cells(cases)),
        find_warnings=partial(
            _warnings,
            study,
            plan,
            cells,
            testbed,
            folder.reference_problems(),
            not_shown,
            tuple(folder.invocation().without),
            _left_out_by_variant(folder, study),
        ),
    )


def _by_cells(cases: Iterable[CaseResult]) -> Verdicts:
    """Every verdict, by its two cells; the first one if several cases compare the same cells."""
    found: dict[tuple[str, CellRow, CellRow], Comparison] = {}
    for result in (one for case in cases for one in case.panels):
        for table in result.verdicts:
            for row in table.rows:
                a, base = (result.panel.cell(row.x, level) for level in (table.level, table.base))
                if a is not None and base is not None:
                    found.setdefault((table.metric.name, a, base), row)
    return found


def _variant(folder: Folder, study: Study) -> tuple[str, str] | None:
    name = folder.invocation().variant
    variant = study.testbeds.get(name) if name else None
    return (name, variant.description) if name and variant and variant.description else None


def _left_out_by_variant(folder: Folder, study: Study) -> tuple[str, ...]:
    name = folder.invocation().variant
    variant = study.testbeds.get(name) if name else None
    return variant.without if variant else ()


def _testbed(folder: Folder, records: Sequence[RunRecord]) -> TestbedResult:
    """The testbed under the name that the engine recorded, or the requested name before the engine
    has started."""
    invocation, engine = folder.invocation(), folder.engine()
    name = engine.testbed if engine else invocation.testbed
    return gather_testbed(name, records, invocation.scale, folder.set_aside_as("invalid"))


def _comparing(study: Study, cells: CellTable) -> tuple[Comparing | None, tuple[str, ...]]:
    """The comparison, and metrics of `compare.on` that this workload does not have."""
    asked = study.compare
    if asked is None:
        return None, ()
    known, unknown = _known(asked.on, cells.vocabulary)
    comparing = Comparing(
        asked.factor, asked.base, asked.margin_pct, known or cells.workload.compared_on
    )
    return comparing, tuple(f"compare.on: {name}" for name in unknown)


def _known(
    names: Iterable[MetricName], metrics: Sequence[Metric]
) -> tuple[tuple[Metric, ...], tuple[MetricName, ...]]:
    """The metrics that are measured here, each once, and the names of the others."""
    found = {name: metric_named(name, metrics) for name in names}
    known = {metric.name: metric for metric in found.values() if metric is not None}
    unknown = tuple(name for name, metric in found.items() if metric is None)
    return tuple(known.values()), unknown


def _not_of_this_run(study: Study, metrics: Sequence[Metric]) -> tuple[str, ...]:
    """The columns of reference data with metrics that this workload does not have."""
    return tuple(
        f"{column} of {reference.file}: {metric}"
        for reference in study.reference
        for column, holds in reference.columns.items()
        for metric in holds.metric.metrics
        if metric_named(metric, metrics) is None
    )


def _headline(
    study: Study, plan: Plan, cells: CellTable
) -> tuple[tuple[Metric, ...], tuple[MetricName, ...]]:
    """The metrics of the study's tables, and the names that are unknown here."""
    names = (
        name
        for table in study.report.tables
        for name in (table.cell or table.metric_columns(study.factors))
    )
    known, unknown = _known(names, cells.vocabulary)
    return known or headline_of(plan), unknown


def _figures(
    study: Study, plan: Plan, cells: CellTable
) -> tuple[tuple[ShownFigure, ...], tuple[str, ...]]:
    """The figures to draw, and the names of standard figures that the workload does not have."""
    if all(one.is_distribution for one in study.report.figures):
        return tuple(map(ShownFigure, figures_of(plan))), ()
    known: list[ShownFigure] = []
    unknown: list[str] = []
    for place, one in enumerate(study.report.figures):
        metric = None if one.name is None else figure_named(one.name, cells.metrics)
        if metric is not None:
            known.append(ShownFigure(metric, one.title, one.case, place))
        elif one.name is not None:
            unknown.append(one.name)
    return tuple(known), tuple(unknown)


def _distribution_figures(study: Study, cells: CellTable) -> Iterator[DistributionFigure]:
    for one in study.report.figures:
        metric = metric_named(one.y[0], cells.metrics) if one.is_distribution else None
        if metric is not None:
            kind = cast("DistributionKind", one.kind)
            yield DistributionFigure(kind, metric, one.title, one.case)


def _case(
    cells: CellTable,
    case: Case,
    only: Mapping[str, Sequence[Level]],
    comparing: Comparing | None,
    margin_pct: float | None,
    published: Sequence[Published],
    here: Here,
    loops: Sequence[GrownLoop],
) -> CaseResult:
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
    base = comparing.base if comparing and compared else panel.series_levels[0]
    workload = cells.workload
    reference = beside(
        panel,
        published,
        base,
        margin_pct,
        here,
        metrics=(*cells.metrics, *cells.asked),
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
    """One table for each metric and each level except the base; none if the base is missing."""
    if comparing.base not in panel.series_levels:
        return
    for metric in comparing.on:
        for level in panel.series_levels:
            if level is None or level == comparing.base:
                continue
            pairs = [
                Pair(x, panel.cell(x, level), panel.cell(x, comparing.base)) for x in panel.x_levels
            ]
            yield verdict_table(
                pairs,
                metric=metric,
                factor=comparing.factor,
                level=level,
                base=comparing.base,
                x=panel.x,
                margin_pct=comparing.margin_pct,
            )


def _warnings(
    study: Study,
    plan: Plan,
    cells: CellTable,
    testbed: TestbedResult,
    unread: Sequence[str],
    not_shown: tuple[str, ...],
    left_out: tuple[str, ...],
    left_out_by_variant: tuple[str, ...],
    cases: Sequence[CaseResult],
) -> Warnings:
    references = [found.reference for case in cases for found in case.panels if found.reference]
    return Warnings(
        problems=cells.problems,
        empty_cells=tuple(row for row in cells.rows if not row.runs),
        few_runs=tuple(row for row in cells.rows if len(row.runs) < RUNS_RECOMMENDED),
        warm_up=alarms(cells),
        reference=tuple(unread),
        contradicted=tuple(
            one
            for reference in references
            for one in reference.orders
            if one.contradicted and not cells.workload.says_again(one.metric)
        ),
        exceeded=testbed.exceeded,
        disagreeing=testbed.disagreeing,
        not_shown=not_shown,
        left_out=left_out,
        left_out_by_variant=left_out_by_variant,
        untested=_untested(study, plan, cells),
        not_measured=not_measured(study, cells),
        too_few=too_few(study, cells),
        truncated=tuple(truncated(cells)),
        off_law=off_laws(study, cells),
        off_demand=off_demands(study, cells.workload),
    )


def _untested(study: Study, plan: Plan, cells: CellTable) -> tuple[Untested, ...]:
    """Questions that the plan cannot test, or that the runs left untested. A buffer that never
    filled is reported once, from its runs."""
    seen = of_records(plan, cells, study.margin_pct)
    filled = {one.factor for one in seen if one.kind == "never filled"}
    planned = of_plan(study, plan, cells.workload)
    return (
        *(one for one in planned if one.kind != "cannot fill" or one.factor not in filled),
        *seen,
    )
