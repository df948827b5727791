"""The section of one panel: results, figures of samples, verdicts and their causes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netstudy.analysis.case_result import CaseResult, PanelResult
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.reference import PanelReference
from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.verdict import VerdictTable
from netstudy.report.cellrefs import level_name
from netstudy.report.distribution_section import distribution_parts
from netstudy.report.figures import Figure
from netstudy.report.numbers import level_text
from netstudy.report.prose.against_published import against_published
from netstudy.report.prose.explain import chain
from netstudy.report.prose.observe import out_of_order
from netstudy.report.prose.words import in_panel
from netstudy.report.reference_tables import agreement_table, ratios_table, reference_table
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.tables import (
    Table,
    causes_table,
    results_table,
    unrepeated,
    verdicts_table,
)


@dataclass(frozen=True)
class DistributionSection:
    """The samples of one quantity in a panel."""

    sentences: tuple[Sentence, ...]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class PanelSection:
    """The section of one panel: one combination of held levels of a test case."""

    id: str
    heading: str
    results: Table | None
    """The main table; None if the study's own tables show the results."""
    detail: Table | None
    """A table of the metrics that `results` leaves out; None if there are none."""
    distributions: tuple[DistributionSection, ...]
    """A section for each quantity that has samples."""
    breaks: tuple[Sentence, ...]
    """The levels that break the order of their neighbours."""
    verdicts: tuple[Table, ...]
    """Tables of verdicts, that of the deciding metric first."""
    causes: Table | None
    """The tests of the causal chain; None if no link can be tested."""
    explanation: tuple[Sentence, ...]
    agreement: tuple[Table, ...]
    """How well the study's own values agree with published ones: a table of metrics and one of
    ratios."""
    references: tuple[Table, ...]
    reference_text: tuple[Sentence, ...]


def panel_section(
    found: PanelResult, case: CaseResult, key: str, result: StudyResult, *, is_tabled: bool
) -> PanelSection:
    """Makes the section of a panel. `is_tabled`: the study asks for its own tables of results."""
    panel = found.panel
    held = in_panel(panel)
    # Metrics without any value in this panel are left out: their columns would be empty.
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
        breaks=tuple(out_of_order(found, result)),
        verdicts=unrepeated(
            verdicts_table(table, f"{key}-verdict-{n}", _verdict_caption(table, held))
            for n, table in enumerate(found.verdicts, start=1)
        ),
        causes=_causes(found, key, held),
        explanation=tuple(chain(found)),
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
    """The table of the links of the causal chain; None if no link can be tested (the text says
    so)."""
    if not found.causes.testable():
        return None
    caption = say("Links of the causal chain{held}", held=held)
    return causes_table(found.panel, found.causes, f"{key}-causes", caption)


def _rest(result: StudyResult) -> list[Metric]:
    """The metrics that the main table leaves out; a second table has them."""
    known = (*result.cells.metrics, *result.cells.asked)
    return [metric for metric in known if metric not in result.headline]


def _is_measured(panel: Panel, metric: Metric) -> bool:
    """Whether any cell of the panel has a value of the metric."""
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
    """One table for each metric with published values, compared with the study's own; the deciding
    metric first."""
    reference = found.reference
    if reference is None:
        return
    has_fitted = any(one.has_fitted for one in case.panels)
    for metric in _reference_metrics(reference, found.workload.deciding):
        caption = say(
            "{metric}{unit}: published and {here}{held}",
            metric=Name(metric.title),
            unit=Name(f" ({metric.unit})" if metric.unit else ""),
            here=Name(reference.here),
            held=in_panel(found.panel),
        )
        table_id = f"{key}-published-{metric.figure}"
        yield reference_table(
            found.panel, reference, metric, table_id, caption, has_fitted=has_fitted
        )


def _reference_metrics(reference: PanelReference, deciding: Metric) -> list[Metric]:
    metrics = list(dict.fromkeys(a.metric for a in reference.agreements))
    return sorted(metrics, key=lambda metric: metric != deciding)
