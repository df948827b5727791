"""All findings that the report of a results folder prints, computed once: `analyse(folder)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

from netstudy.analysis.case_result import CaseResult, Comparing, case_result, verdicts_by_cells
from netstudy.analysis.caveats import Analysed, Caveat, Planned, found
from netstudy.analysis.cells import CellTable
from netstudy.analysis.conclusions import Concluded, by_default, concluded
from netstudy.analysis.effects import Effects, effects
from netstudy.analysis.expectations import CheckedExpectation, check_expectations
from netstudy.analysis.growth import loops_of
from netstudy.analysis.inseparable import Inseparable, inseparable
from netstudy.analysis.lazy import Lazy
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import figure_named, metric_named
from netstudy.analysis.reference import read_reference
from netstudy.analysis.related import pool_study, reader
from netstudy.analysis.requirements import CheckedRequirement, check
from netstudy.analysis.size_law import ImpliedSize, implied_sizes
from netstudy.analysis.testbed import Evidence, TestbedResult, gather_testbed
from netstudy.analysis.workloads import figures_of, headline_of
from netstudy.hardware import HardwareLibrary
from netstudy.study.outcome import DistributionKind, Figure, Table
from netstudy.study.undrawn import undrawn
from netstudy.study.vocabulary import MetricName
from netstudy.wire import Plan, RunRecord

if TYPE_CHECKING:
    from netstudy.store import Folder
    from netstudy.study import Study


@dataclass(frozen=True)
class ShownFigure:
    """A standard figure that the report shows."""

    metric: Metric
    title: str | None = None
    """Its heading; None: the report writes one."""
    case: str | None = None
    """The test case that the figure shows; None: all test cases."""
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
    """A figure of the distribution of samples that the study asks for."""

    kind: DistributionKind
    metric: Metric
    """The metric that is the mean of the samples."""
    title: str | None
    case: str | None


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
    """The variant that was run (it has the name of its testbed), and its description; None: no
    variant is given."""
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
    """The figures of distributions that the study asks for; if none, the report chooses."""
    asked_figures: tuple[AskedFigure, ...]
    requirements: tuple[CheckedRequirement, ...]
    """The study's requirements of its outcome, with their results."""
    concluded: tuple[Concluded, ...]
    """The conclusions that the study asks for, in the order of the study, one for each test case to
    which a conclusion applies."""
    inseparable: tuple[Inseparable, ...]
    """Levels of the comparison whose difference cannot be credited to one thing."""
    authors: tuple[str, ...]
    sources: tuple[str, ...]
    """Sources of the published values."""
    implied_sizes: tuple[ImpliedSize, ...]
    """Published times of sizes that do not follow the law of the other published sizes."""
    plan: Plan
    testbed: TestbedResult
    """The testbed of the runs, and how far it can be trusted."""
    find_by_default: Callable[[], tuple[Concluded, ...]]
    """Draws the conclusions of every study for which this one does not ask."""
    find_expectations: Callable[[Sequence[CaseResult]], tuple[CheckedExpectation, ...]]
    """Checks the expectations against the analysed cases."""
    find_caveats: Callable[[Sequence[CaseResult], Metric], tuple[Caveat, ...]]
    """Finds the caveats, from the analysed cases and the deciding metric."""

    @cached_property
    def by_default(self) -> tuple[Concluded, ...]:
        """The conclusions of every study for which this one does not ask. They are drawn on first
        use, since they take most of the time of an analysis, and not every reader needs them."""
        return self.find_by_default()

    @cached_property
    def expectations(self) -> tuple[CheckedExpectation, ...]:
        """The study's expectations, each with its outcome in these runs."""
        return self.find_expectations(self.cases)

    @cached_property
    def caveats(self) -> tuple[Caveat, ...]:
        """Reasons for caution before the result is trusted."""
        return self.find_caveats(self.cases, self.deciding)

    @cached_property
    def deciding(self) -> Metric:
        """The first metric in `compare.on` of the study, else the deciding metric of the
        workload."""
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
    """The contents of a results folder: its study and plan, and the runs pooled into cells."""

    study: Study
    plan: Plan
    evidence: Sequence[RunRecord]
    """The parts of the records that describe their testbed (`testbed.Evidence`)."""
    cells: CellTable


def pool(folder: Folder) -> Pooled:
    """Reads a results folder, finished or not."""
    study, plan = folder.study(), folder.plan()
    evidence = Evidence()
    cells = pool_study(study, plan, reader(folder, evidence.add), folder.series)
    return Pooled(study, plan, evidence.records(), cells)


def analyse(folder: Folder, pooled: Pooled | None = None) -> StudyResult:
    """Analyses a results folder, finished or not; reads it if `pooled` is not given."""
    pooled = pooled or pool(folder)
    study, plan, cells = pooled.study, pooled.plan, pooled.cells
    testbed = _testbed(folder, pooled.evidence)
    comparing, not_compared = _comparing(study, cells)
    # The cells of a published study are themselves the reference data, so there is nothing to
    # compare them with.
    published = () if testbed.published else read_reference(study, cells.vocabulary)
    figures, not_drawn = _figures(study, plan, cells)
    headline, not_tabled = _headline(study, plan, cells)
    loops = loops_of(folder, study, plan, cells)
    margin_pct = comparing.margin_pct if comparing else study.margin_pct
    only = folder.invocation().levels_kept(study)
    cases = Lazy(
        [
            partial(
                case_result,
                cells,
                case,
                only,
                comparing,
                margin_pct,
                published,
                testbed.here,
                loops,
            )
            for case in study.cases
            if case.name in cells.cases
        ]
    )
    not_shown = (*not_compared, *map(str, not_tabled), *not_drawn)
    not_shown += _not_of_this_run(study, cells.vocabulary)
    not_shown += undrawn(study)
    unread, left_out = folder.reference_problems(), tuple(folder.invocation().without)
    drawn = concluded(study, cells)
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
        concluded=drawn,
        inseparable=()
        if comparing is None
        else tuple(
            inseparable(study, cells, comparing.factor, comparing.base, comparing.on[0], margin_pct)
        ),
        authors=study.authors,
        sources=tuple(dict.fromkeys(reference.source for reference in study.reference)),
        implied_sizes=implied_sizes(study, cells, published),
        plan=plan,
        testbed=testbed,
        find_by_default=lambda: by_default(study, cells, drawn),
        find_expectations=lambda cases: check_expectations(study, cells, verdicts_by_cells(cases)),
        find_caveats=lambda cases, deciding: found(
            Analysed(
                Planned(study, plan, cells.workload),
                cells,
                cases,
                testbed,
                HardwareLibrary.default(study.folder),
                deciding,
                unread,
                not_shown,
                left_out,
                _left_out_by_variant(folder, study),
            )
        ),
    )


def _variant(folder: Folder, study: Study) -> tuple[str, str] | None:
    name = folder.invocation().variant
    variant = study.testbeds.get(name) if name else None
    return (name, variant.description) if name and variant and variant.description else None


def _left_out_by_variant(folder: Folder, study: Study) -> tuple[str, ...]:
    name = folder.invocation().variant
    variant = study.testbeds.get(name) if name else None
    return variant.without if variant else ()


def _testbed(folder: Folder, records: Sequence[RunRecord]) -> TestbedResult:
    """The testbed, under the name that the engine recorded; before the engine has started, under
    the requested name."""
    invocation, engine = folder.invocation(), folder.engine()
    name = engine.testbed if engine else invocation.testbed
    return gather_testbed(name, records, invocation.scale, folder.set_aside_as("invalid"))


def _comparing(study: Study, cells: CellTable) -> tuple[Comparing | None, tuple[str, ...]]:
    """The study's comparison, and the metrics of `compare.on` that this workload does not have."""
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
    """The named metrics found in `metrics`, each once, and the names that were not found."""
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
    """The metrics of the study's tables, and the names of metrics that this workload does
    not have. Without tables, the workload's metrics that were measured: on hosts of a user, nobody
    counts the drops of the switch."""
    names = (
        name
        for table in study.report.tables
        for name in (table.cell or table.metric_columns(study.factors))
    )
    known, unknown = _known(names, cells.vocabulary)
    usual = headline_of(plan)
    return known or cells.measured(usual) or usual, unknown


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
