"""The report as data: sections of sentences, tables and figures, which other modules render."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.testbed import Here
from netstudy.report.answer import Answer, answer
from netstudy.report.appendix import Appendix, appendix, fitted_figures
from netstudy.report.case_section import CaseSection, case_sections, key_figure
from netstudy.report.caveats import caveat_sentence
from netstudy.report.conclusions import (
    concluded_points,
    conclusion_figures,
    conclusion_tables,
    default_points,
)
from netstudy.report.expectation_table import expectations_table
from netstudy.report.figures import Figure
from netstudy.report.illustrations import bed_figure, workload_figure
from netstudy.report.methods import methods, samples_of
from netstudy.report.problem_table import problems_table
from netstudy.report.prose.against_published import fitted_note, implied_sentences
from netstudy.report.prose.describe import study_description
from netstudy.report.prose.explain import limits
from netstudy.report.prose.words import Point, point
from netstudy.report.provenance import provenance, title_of
from netstudy.report.reference_tables import implied_sizes_table
from netstudy.report.refs import Sentence
from netstudy.report.requirement_table import requirements_table
from netstudy.report.tables import Table
from netstudy.report.testbed_tables import Evidence, agreement_evidence, limits_evidence
from netstudy.report.workloads import page_of

if TYPE_CHECKING:
    from netstudy.store import Folder


@dataclass(frozen=True)
class Document:
    """The whole report."""

    study: str
    badge: str
    """The origin of the values, such as simulated, measured in namespaces, or published."""
    title: str
    question: str | None
    """None if the question is the title."""
    description: tuple[Sentence, ...]
    """The description of the whole study; empty if only its test cases have descriptions."""
    expectation: str | None
    expectations: Table | None
    provenance: Sentence
    answer: Answer
    caveats: tuple[Sentence, ...]
    """The caveats that the answer does not have."""
    problems: Table | None
    requirements: Table | None
    findings: tuple[Point, ...]
    """The conclusions that the study asks for, without the sentences that the answer has."""
    finding_tables: tuple[Table, ...]
    """The tables that support the conclusions."""
    finding_figures: tuple[Figure, ...]
    key_figure: Figure | None
    bed: Figure | None
    """The test bed; None if nothing is known of it."""
    workload: Figure | None
    cases: tuple[CaseSection, ...]
    sources: tuple[str, ...]
    fitted: Sentence | None
    implied_sizes: Evidence | None
    """Evidence on published times of a transfer size that do not fit the law of the other published
    sizes."""
    methods: tuple[Sentence, ...]
    here: Here
    """The word for the study's own values, such as "simulated"."""
    testbed_limits: Evidence | None
    instruments: Evidence | None
    limits: Sentence
    appendix: Appendix

    @property
    def published(self) -> bool:
        """Whether the report compares the study's own values with published ones."""
        return any(panel.references for case in self.cases for panel in case.panels)

    def figures(self) -> Iterator[Figure]:
        """Every figure of the report; none comes twice."""
        yield from (figure for figure in (self.bed, self.workload) if figure is not None)
        yield from self.finding_figures
        for case in self.cases:
            yield from case.figures()


def document(
    folder: Folder,
    result: StudyResult,
    cases: tuple[CaseSection, ...] | None = None,
    finding_figures: tuple[Figure, ...] | None = None,
) -> Document:
    """Assembles everything that the report shows. `cases` has the sections of the test cases, and
    `finding_figures` the figures of the conclusions, if they are already made."""
    if cases is None:
        cases = tuple(case_sections(result))
    if finding_figures is None:
        finding_figures = tuple(conclusion_figures(result))
    # One run per cell is enough here, since replicates differ only in their seeds.
    runs = [cell.planned[0] for cell in result.cells.rows]
    metrics, testbed = (*result.cells.metrics, *result.cells.asked), result.testbed
    added = appendix(folder, result.plan, runs, testbed.environment, metrics, testbed.nodes)
    page = page_of(result.cells.workload)
    answered = answer(result)
    return Document(
        study=result.study,
        badge=result.testbed.badge,
        title=title_of(result),
        question=result.question if result.title not in (None, result.question) else None,
        description=tuple(study_description(result)),
        expectation=result.expectation,
        expectations=expectations_table(result.expectations) if result.expectations else None,
        provenance=provenance(folder, result),
        answer=answered,
        caveats=tuple(_told(answered, result)),
        problems=problems_table(result.cells.problems),
        requirements=requirements_table(result.requirements) if result.requirements else None,
        findings=tuple(_not_in(answered, [*concluded_points(result), *default_points(result)])),
        finding_tables=tuple(conclusion_tables(result)),
        finding_figures=finding_figures,
        key_figure=key_figure(result, cases),
        bed=bed_figure(runs),
        workload=workload_figure(page, runs),
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


def _told(answered: Answer, result: StudyResult) -> Iterator[Sentence]:
    """The caveats that the answer does not have."""
    for one in result.caveats:
        if not any(one is forbidding for forbidding in answered.caveats):
            yield caveat_sentence(one).capitalised()


def _not_in(answered: Answer, points: Iterable[Point]) -> Iterator[Point]:
    """The points without the sentences that the answer has."""
    told = [str(one) for one in answered]
    for one in points:
        rest = [
            sentence.capitalised()
            for sentence in one.sentences
            # After "Yes:" or the name of a test case, its first letter is small.
            if not any(said.endswith((str(sentence), str(sentence.capitalised()))) for said in told)
        ]
        yield from point(one.lead, rest)


def _implied_sizes(result: StudyResult) -> Evidence | None:
    found, here = result.implied_sizes, result.testbed.here
    if not found:
        return None
    return Evidence(tuple(implied_sentences(found, here)), (implied_sizes_table(found, here),))
