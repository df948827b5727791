"""The report as data: sections of sentences, tables and figures, rendered elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.reference import PanelReference
from netstudy.analysis.study_result import CaseResult, PanelResult, StudyResult
from netstudy.analysis.testbed import Here
from netstudy.analysis.verdict import VerdictTable
from netstudy.report.appendix import Appendix, appendix, fitted_figures
from netstudy.report.asked_tables import asked_tables
from netstudy.report.cellrefs import level_name, treatment_text
from netstudy.report.conclusion_tables import conclusion_tables
from netstudy.report.distribution_section import distribution_parts
from netstudy.report.drawings import test_bed, test_bed_alt
from netstudy.report.effects_tables import effects_section
from netstudy.report.expectation_table import expectations_table
from netstudy.report.figures import (
    Figure,
    FigureSet,
    case_figures,
    effect_figures,
    reference_figures,
)
from netstudy.report.methods import methods, samples_of
from netstudy.report.numbers import level_text
from netstudy.report.prose.answer import worth_a_figure
from netstudy.report.prose.conclude import conclusions
from netstudy.report.prose.concluded import concluded_points
from netstudy.report.prose.describe import case_description, study_description
from netstudy.report.prose.explain import chain, limits
from netstudy.report.prose.grow import growth_sentences, growth_table, steps_table
from netstudy.report.prose.observe import observations, out_of_order
from netstudy.report.prose.published import against_published, fitted_note, implied_sentences
from netstudy.report.prose.summary import summary
from netstudy.report.prose.warn import warnings
from netstudy.report.prose.words import NOTHING, Point, in_panel
from netstudy.report.reference_tables import (
    agreement_table,
    implied_sizes_table,
    ratios_table,
    reference_table,
)
from netstudy.report.refs import Name, Sentence, join, say
from netstudy.report.requirement_table import requirements_table
from netstudy.report.tables import (
    Group,
    Table,
    account_table,
    causes_table,
    results_table,
    unrepeated,
    verdicts_table,
)
from netstudy.report.testbed_tables import Evidence, agreement_evidence, limits_evidence
from netstudy.report.workloads import page_of
from netstudy.report.workloads.base import WorkloadPage
from netstudy.wire import Run

if TYPE_CHECKING:
    from netstudy.store import Folder


@dataclass(frozen=True)
class DistributionSection:
    """The samples of one quantity in a panel."""

    sentences: tuple[Sentence, ...]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class PanelSection:
    """One combination of held levels of a test case."""

    id: str
    heading: str
    results: Table | None
    """None: the study's own tables show it."""
    detail: Table | None
    """The metrics that `results` leaves out; None without any."""
    distributions: tuple[DistributionSection, ...]
    """One for each quantity that has samples."""
    observations: tuple[Sentence, ...]
    verdicts: tuple[Table, ...]
    """The deciding metric first; the others after it."""
    causes: Table | None
    """None: no link of the chain can be tested."""
    accounts: Table | None
    explanation: tuple[Sentence, ...]
    conclusion: tuple[Point, ...]
    agreement: tuple[Table, ...]
    """Agreement of the study's own and published values: by metric, and by ratio."""
    references: tuple[Table, ...]
    reference_text: tuple[Sentence, ...]


@dataclass(frozen=True)
class CaseSection:
    """A test case."""

    id: str
    name: str
    description: tuple[Sentence, ...]
    tables: tuple[Table, ...]
    """The study's own tables; if there are none, each panel has one."""
    growth: Evidence | None
    """How its growing factor ended; None if no factor grows."""
    effects: tuple[Table, ...]
    """The effects of its factors; empty if the verdicts already show them."""
    effect_figures: tuple[Figure, ...]
    own_tables: tuple[Table, ...]
    """Tables of the workload itself, below `own_heading`."""
    own_heading: str
    drawn: FigureSet
    """The metrics against x, in all of its panels, and the curves of its runs."""
    reference_figures: tuple[Figure, ...]
    panels: tuple[PanelSection, ...]

    @property
    def results(self) -> tuple[Table, ...]:
        """The study's own tables, else the main one of each panel."""
        found = (panel.results for panel in self.panels)
        return self.tables or tuple(table for table in found if table is not None)

    def figures(self) -> Iterator[Figure]:
        """Its figures in the order of the page."""
        yield from self.effect_figures
        yield from self.drawn.figures
        for panel in self.panels:
            yield from (one for part in panel.distributions for one in part.figures)
        yield from self.reference_figures


@dataclass(frozen=True)
class Document:
    """The whole report."""

    study: str
    badge: str
    """The origin of the values: simulated, measured in namespaces, published."""
    title: str
    question: str | None
    """None if the question is the title."""
    description: tuple[Sentence, ...]
    """The study's general description; often empty, as its test cases have their own."""
    expectation: str | None
    expectations: Table | None
    provenance: Sentence
    warnings: tuple[Sentence, ...]
    problems: Table | None
    requirements: Table | None
    summary: tuple[Point, ...]
    concluded: tuple[Point, ...]
    """The conclusions that the study asks for."""
    concluded_tables: tuple[Table, ...]
    """The tables that support the conclusions."""
    key_figure: Figure | None
    bed: Figure | None
    """The test bed; None if nothing is known of it."""
    workload: Figure | None
    cases: tuple[CaseSection, ...]
    sources: tuple[str, ...]
    fitted: Sentence | None
    implied_sizes: Evidence | None
    """Published times of a size that is off the law of the other published sizes."""
    methods: tuple[Sentence, ...]
    here: Here
    """Label of the study's own values."""
    testbed_limits: Evidence | None
    instruments: Evidence | None
    limits: Sentence
    appendix: Appendix

    @property
    def published(self) -> bool:
        """Whether the report compares the study's own values with published ones."""
        return any(panel.references for case in self.cases for panel in case.panels)

    def figures(self) -> Iterator[Figure]:
        """Every figure of the report, once."""
        yield from (figure for figure in (self.bed, self.workload) if figure is not None)
        for case in self.cases:
            yield from case.figures()


def case_sections(result: StudyResult) -> Iterator[CaseSection]:
    """Makes the section of each test case in turn, with its charts."""
    return (_case(case, index, result) for index, case in enumerate(result.cases))


def document(
    folder: Folder, result: StudyResult, cases: tuple[CaseSection, ...] | None = None
) -> Document:
    """Assembles everything that the report shows; `cases` are the sections of its test cases, if
    they were already made."""
    if cases is None:
        cases = tuple(case_sections(result))
    # The replicates of a cell differ only in their seeds.
    runs = [cell.planned[0] for cell in result.cells.rows]
    metrics, testbed = (*result.cells.metrics, *result.cells.asked), result.testbed
    added = appendix(folder, result.plan, runs, testbed.environment, metrics, testbed.nodes)
    page = page_of(result.cells.workload)
    return Document(
        study=result.study,
        badge=result.testbed.badge,
        title=_title(result),
        question=result.question if result.title not in (None, result.question) else None,
        description=tuple(study_description(result)),
        expectation=result.expectation,
        expectations=expectations_table(result.expectations) if result.expectations else None,
        provenance=_provenance(folder, result),
        warnings=tuple(warnings(result)),
        problems=_problems(result),
        requirements=requirements_table(result.requirements) if result.requirements else None,
        summary=tuple(summary(result)),
        concluded=tuple(concluded_points(result)),
        concluded_tables=tuple(conclusion_tables(result)),
        key_figure=_key_figure(result, cases),
        bed=_bed(runs),
        workload=_workload(page, runs),
        cases=cases,
        sources=result.sources,
        fitted=fitted_note(fitted_figures(added.profiles)),
        implied_sizes=_implied_sizes(result),
        methods=tuple(methods(result)),
        here=result.testbed.here,
        testbed_limits=limits_evidence(result.testbed),
        instruments=agreement_evidence(result.testbed),
        limits=limits(samples_of(result)),
        appendix=added,
    )


def _bed(runs: Sequence[Run]) -> Figure | None:
    """The network of the runs, if it is known."""
    if not any(run.network.nodes for run in runs):
        return None
    return Figure("testbed", test_bed_alt(runs), say("The test bed."), test_bed(runs))


def _workload(page: WorkloadPage, runs: Sequence[Run]) -> Figure | None:
    if page.illustration is None:
        return None
    drawn = page.illustration
    caption = say("{text}", text=Name(drawn.caption))
    return Figure("workload", drawn.alt(runs), caption, drawn.svg(runs))


def _title(result: StudyResult) -> str:
    """The study's title, with the scale: scaled rates must not be taken for the study's own."""
    title, scale = result.title or result.question, result.testbed.scaled_by
    return f"{title} (all link rates × {scale})" if scale else title


def _provenance(folder: Folder, result: StudyResult) -> Sentence:
    """The origin of the numbers, in one line."""
    invocation, engine = folder.invocation(), folder.engine()
    authors = [Name(name) for name in result.authors]
    by = say("By {authors}. ", authors=join(authors)) if authors else NOTHING
    own = page_of(result.cells.workload).provenance
    if own is not None:
        return say(
            "{by}{values}; netstudy {version}, results {folder}.",
            by=by,
            values=own(result),
            version=Name(invocation.versions.get("netstudy", "unknown")),
            folder=Name(folder.path.name),
        )
    return say(
        "{by}Testbed {testbed}, seed {seed}, netstudy {version}, engine {engine}; {when}; results "
        "{folder}.",
        by=by,
        when=_when(folder.environment()),
        testbed=Name(invocation.testbed),
        seed=Name(str(invocation.seed)),
        version=Name(invocation.versions.get("netstudy", "unknown")),
        engine=Name(engine.version if engine else "unknown"),
        folder=Name(folder.path.name),
    )


def _when(environment: Mapping[str, Any]) -> Name:
    """The date of the run, and the machine: 23 November 2026, AMD EPYC (2 CPUs)."""
    started = datetime.fromisoformat(environment["started_utc"])
    machine = environment.get("cpu") or environment.get("machine") or "unknown machine"
    day = f"{started.day} {started:%B %Y}"
    return Name(f"{day}, {machine} ({environment.get('cores')} CPUs, {environment.get('kernel')})")


def _key_figure(result: StudyResult, cases: Sequence[CaseSection]) -> Figure | None:
    """The figure in the summary: the first figure, preferably of a case with a difference."""
    worth = [case.name for case in worth_a_figure(result)]
    by_case = zip((case.name for case in result.cases), cases, strict=True)
    first = sorted(by_case, key=lambda named: named[0] not in worth)
    return next((figure for _, section in first for figure in section.drawn.figures), None)


def _problems(result: StudyResult) -> Table | None:
    """The runs without valid results, by name."""
    if not result.warnings.problems:
        return None
    rows = tuple(
        (
            Name(problem.run, code=True),
            Name(treatment_text(cell.treatment)),
            Name(str(problem.replicate)),
            Name(problem.kind),
            Name(problem.reason),
        )
        for cell, problem in result.warnings.problems
    )
    groups = tuple(Group(head) for head in ("run", "treatment", "replicate", "kind", "reason"))
    return Table("problems", say("Runs that gave no numbers"), groups, rows)


def _case(case: CaseResult, index: int, result: StudyResult) -> CaseSection:
    many = len(result.cases) > 1
    prefix = f"case{index + 1}" if many else "results"
    tables = tuple(asked_tables(result, case, prefix))
    page = page_of(result.cells.workload)
    whole = result.effects_in(case)
    section = effects_section(case, whole, prefix) if whole else None
    return CaseSection(
        id=prefix,
        name=f"Test case {case.name}" if many else "Test case",
        description=tuple(case_description(case, result.comparing)),
        tables=tables,
        growth=_growth(case, prefix, result.margin_pct) if case.loops else None,
        effects=section.tables if section else (),
        effect_figures=tuple(effect_figures(section, prefix)),
        own_tables=tuple(page.tables(result.cells.of_case(case.name), prefix))
        if page.tables
        else (),
        own_heading=page.tables_heading,
        drawn=case_figures(case, result, prefix),
        reference_figures=tuple(reference_figures(case, prefix)),
        panels=tuple(
            _panel(
                found,
                case,
                f"{prefix}-{number}" if len(case.panels) > 1 else prefix,
                result,
                is_tabled=bool(tables),
            )
            for number, found in enumerate(case.panels, start=1)
        ),
    )


def _growth(case: CaseResult, key: str, margin_pct: float | None) -> Evidence:
    tables = (growth_table(case, f"{key}-growth"), steps_table(case, f"{key}-steps"))
    return Evidence(tuple(growth_sentences(case, margin_pct)), tables)


def _panel(
    found: PanelResult, case: CaseResult, key: str, result: StudyResult, *, is_tabled: bool
) -> PanelSection:
    panel = found.panel
    held = in_panel(panel)
    rest = [one for one in _rest(result) if _is_measured(panel, one)]
    return PanelSection(
        id=key,
        heading=", ".join(f"{f} {level_text(level)}" for f, level in panel.fixed.items()),
        results=None
        if is_tabled
        else results_table(panel, result.headline, f"{key}-table", _caption("Results", panel)),
        detail=results_table(panel, rest, f"{key}-detail", _caption("All other metrics", panel))
        if rest
        else None,
        distributions=tuple(_distributions(found, case, key, result)),
        observations=(*out_of_order(found, result), *observations(found)),
        verdicts=unrepeated(
            verdicts_table(table, f"{key}-verdict-{n}", _verdict_caption(table, held))
            for n, table in enumerate(found.verdicts, start=1)
        ),
        causes=_causes(found, key, held),
        accounts=_accounts(found, key, held),
        explanation=tuple(chain(found)),
        conclusion=tuple(conclusions(found)),
        agreement=tuple(_agreement_tables(found, key)),
        references=tuple(_references(found, case, key)),
        reference_text=tuple(against_published(found, result.margin_pct)),
    )


def _distributions(
    found: PanelResult, case: CaseResult, key: str, result: StudyResult
) -> Iterator[DistributionSection]:
    prefix = "" if key == "results" else f"{key}-"
    for part in distribution_parts(found, case, result.distributions, key):
        figures = (Figure(f"{prefix}{one.name}", one.alt, None, one.plot) for one in part.figures)
        yield DistributionSection(part.sentences, tuple(figures), part.tables)


def _causes(found: PanelResult, key: str, held: Sentence) -> Table | None:
    """The links of the chain; None if none can be tested, which the text states."""
    if not found.causes.testable():
        return None
    caption = say("Links of the causal chain{held}", held=held)
    return causes_table(found.panel, found.causes, f"{key}-causes", caption)


def _accounts(found: PanelResult, key: str, held: Sentence) -> Table | None:
    """The account of time, if samples allow one."""
    waiting = found.workload.waiting
    if waiting is None or not found.causes.accounts:
        return None
    caption = say("Where the time goes{held}", held=held)
    return account_table(found.panel, found.causes, waiting, f"{key}-time", caption)


def _rest(result: StudyResult) -> list[Metric]:
    """The metrics that the main table leaves out, so that every metric with a value is in a
    table."""
    known = (*result.cells.metrics, *result.cells.asked)
    return [metric for metric in known if metric not in result.headline]


def _is_measured(panel: Panel, metric: Metric) -> bool:
    """Whether any cell of the panel has a value of it."""
    return any(cell.value(metric) is not None for cell in panel.cells.values())


def _caption(what: str, panel: Panel) -> Sentence:
    return say("{what}{held}", what=Name(what), held=in_panel(panel))


def _verdict_caption(table: VerdictTable, held: Sentence) -> Sentence:
    return say(
        "{metric}: {level} against {base}{held}",
        metric=Name(table.metric.title),
        level=level_name(table.level),
        base=level_name(table.base),
        held=held,
    )


def _agreement_tables(found: PanelResult, key: str) -> Iterator[Table]:
    if found.reference is not None:
        yield agreement_table(found.panel, found.reference, f"{key}-agreement")
        if found.reference.ratios:
            yield ratios_table(found.panel, found.reference, f"{key}-ratios")


def _references(found: PanelResult, case: CaseResult, key: str) -> Iterator[Table]:
    """Comparisons of published values with the study's own, one table for each metric; the deciding
    metric first."""
    reference = found.reference
    if reference is None:
        return
    has_fitted = any(one.has_fitted for one in case.panels)
    for metric in _reference_metrics(reference, found.workload.deciding):
        caption = say(
            "{metric}{unit}: published beside {here}{held}",
            metric=Name(metric.title),
            unit=Name(f" ({metric.unit})" if metric.unit else ""),
            here=Name(reference.here),
            held=in_panel(found.panel),
        )
        table_id = f"{key}-published-{metric.figure}"
        yield reference_table(
            found.panel, reference, metric, table_id, caption, has_fitted=has_fitted
        )


def _implied_sizes(result: StudyResult) -> Evidence | None:
    found, here = result.implied_sizes, result.testbed.here
    if not found:
        return None
    return Evidence(tuple(implied_sentences(found, here)), (implied_sizes_table(found, here),))


def _reference_metrics(reference: PanelReference, deciding: Metric) -> list[Metric]:
    metrics = list(dict.fromkeys(a.metric for a in reference.agreements))
    return sorted(metrics, key=lambda metric: metric != deciding)
