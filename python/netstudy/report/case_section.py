"""The section of one test case: its own tables and figures, then its panels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netstudy.analysis.case_result import CaseResult
from netstudy.analysis.study_result import StudyResult
from netstudy.report.answer.findings import key_metric, worth_a_figure
from netstudy.report.asked_tables import asked_tables
from netstudy.report.effects_tables import effects_section
from netstudy.report.figures import (
    Figure,
    FigureSet,
    case_figures,
    effect_figures,
    reference_figures,
)
from netstudy.report.panel_section import PanelSection, panel_section
from netstudy.report.prose.describe import case_description
from netstudy.report.prose.grow import growth_sentences, growth_table, steps_table
from netstudy.report.refs import Sentence
from netstudy.report.tables import Table
from netstudy.report.testbed_tables import Evidence
from netstudy.report.workloads import page_of


@dataclass(frozen=True)
class CaseSection:
    """A test case."""

    id: str
    name: str
    description: tuple[Sentence, ...]
    tables: tuple[Table, ...]
    """The tables that the study asks for; if it asks for none, each panel has a table."""
    growth: Evidence | None
    """How the growing factor ended; None if no factor grows."""
    effects: tuple[Table, ...]
    """The effects of the factors; empty if the verdicts already show them."""
    effect_figures: tuple[Figure, ...]
    own_tables: tuple[Table, ...]
    """Tables of the workload itself, below `own_heading`."""
    own_heading: str
    drawn: FigureSet
    """Figures of the metrics against x, over all panels, and of the curves of the runs."""
    reference_figures: tuple[Figure, ...]
    panels: tuple[PanelSection, ...]

    @property
    def results(self) -> tuple[Table, ...]:
        """The tables that the study asks for or, without any, the main table of each panel."""
        found = (panel.results for panel in self.panels)
        return self.tables or tuple(table for table in found if table is not None)

    def figures(self) -> Iterator[Figure]:
        """All figures of the section, in the order of the page."""
        yield from self.effect_figures
        yield from self.drawn.figures
        for panel in self.panels:
            yield from (one for part in panel.distributions for one in part.figures)
        yield from self.reference_figures


def case_sections(result: StudyResult) -> Iterator[CaseSection]:
    """Makes the section of each test case in turn, with its charts."""
    return (_case(case, index, result) for index, case in enumerate(result.cases))


def key_figure(result: StudyResult, cases: Sequence[CaseSection]) -> Figure | None:
    """The figure next to the answer: one that shows the answer's metric, if possible of a case
    that shows a difference."""
    worth, metric = [case.name for case in worth_a_figure(result)], key_metric(result, result.cases)
    drawn = [
        (case.name, figure)
        for case, section in zip(result.cases, cases, strict=True)
        for figure in section.drawn.figures
    ]
    drawn.sort(key=lambda one: (metric.name not in one[1].metrics, one[0] not in worth))
    return next((figure for _, figure in drawn), None)


def _case(case: CaseResult, index: int, result: StudyResult) -> CaseSection:
    # The ids are anchors in the page. They contain a number only if there are several cases or
    # panels.
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
        drawn=case_figures(case, result, prefix, key_metric(result, [case])),
        reference_figures=tuple(reference_figures(case, prefix)),
        panels=tuple(
            panel_section(
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
