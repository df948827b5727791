"""The figures of a report, with their captions and the notes on omitted parts.

A metric has one figure per test case; several panels are drawn as small multiples. If all values of
a figure are zero, a note replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from netstudy.analysis.case_result import CaseResult, PanelResult
from netstudy.analysis.cells import CellRow
from netstudy.analysis.curves import curves_of
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.study_result import ShownFigure, StudyResult
from netstudy.documents.problems import listed
from netstudy.report import charts, rendering
from netstudy.report.cellrefs import cell_number
from netstudy.report.charts import live, multiples
from netstudy.report.charts.asked import Asked
from netstudy.report.effects_tables import EffectsSection
from netstudy.report.fits import fits_tables
from netstudy.report.numbers import NO_BREAK, level_text
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.svg import Drawing
from netstudy.report.tables import Table
from netstudy.study import outcome

_TABLES = "the tables and cells.csv"
"""Where a reader finds the values of figures, as a phrase for sentences."""


@dataclass(frozen=True)
class Figure:
    """A chart, which exists in a wide and a narrow size, or a drawing, which has a single size.

    A chart is rendered on first use.
    """

    name: str
    """Name of the file, without the ending."""
    alt: str
    caption: Sentence | None
    source: charts.Chart | str
    """The data of a chart, or the SVG text of a drawing."""
    metrics: tuple[str, ...] = ()
    """Names of the metrics that a chart shows."""

    _drawings: dict[charts.Size, Callable[[], str]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Size -> a function that waits until another process has drawn the chart. Other sizes are
    drawn in this process."""

    @cached_property
    def wide(self) -> str:
        """SVG text for a wide page."""
        source = self.source
        return source if isinstance(source, str) else self._drawn(source, charts.WIDE)

    @cached_property
    def narrow(self) -> str | None:
        """SVG text of a chart for a narrow page; None for a drawing."""
        source = self.source
        return None if isinstance(source, str) else self._drawn(source, charts.NARROW)

    def _drawn(self, source: charts.Chart, size: charts.Size) -> str:
        """The SVG text of the chart or, if the renderer failed on it, a drawing that says so."""
        if size in self._drawings:
            return self._drawings[size]() or _lost(self.name)
        return charts.svg(source, size)

    @property
    def is_lost(self) -> bool:
        """Whether the renderer failed on this figure in any size."""
        return any(drawing() == rendering.LOST for drawing in self._drawings.values())

    def specification(self, size: charts.Size) -> str | None:
        """The Vega-Lite specification of a chart, in JSON; None for a drawing."""
        source = self.source
        return None if isinstance(source, str) else charts.specification(source, size)

    def drawn_by(self, size: charts.Size, drawing: Callable[[], str]) -> None:
        """Sets who draws the chart in a size: `drawing` waits for another process and returns the
        SVG text."""
        self._drawings[size] = drawing

    @cached_property
    def live(self) -> Mapping[str, Any] | None:
        """The data of the interactive chart in the page; None for a drawing."""
        source = self.source
        return None if isinstance(source, str) else live.payload(source)

    @property
    def is_chart(self) -> bool:
        """Whether the figure is a chart of values, not a drawing."""
        return not isinstance(self.source, str)

    @property
    def is_broad(self) -> bool:
        """Whether the figure needs the full width of the page, for panels side by side or for long
        bars."""
        is_bars = isinstance(self.source, charts.TimeBars)
        return is_bars or getattr(self.source, "facets", None) is not None


def _lost(name: str) -> str:
    """The placeholder for a chart on which the renderer failed."""
    drawing = Drawing(480, 76)
    width = drawing.width - 40
    drawing.text(20, 32, f"Not drawn: {name}. The renderer failed on it.", width=width)
    drawing.text(20, 54, f"Its values are in {_TABLES}.", width=width)
    return drawing.render()


@dataclass(frozen=True)
class FigureSet:
    """The figures of a test case, and notes on figures that are not drawn."""

    figures: tuple[Figure, ...] = ()
    notes: tuple[Sentence, ...] = ()
    tables: tuple[Table, ...] = ()
    """Tables of the parameters of fitted laws, for figures with many laws."""


def case_figures(case: CaseResult, result: StudyResult, key: str, needed: Metric) -> FigureSet:
    """The figures of a test case: one for each metric, and the curves of its runs. `needed`: the
    metric of the answer, which has a figure even if the study asks for none."""
    found: list[tuple[int, Figure]] = []
    empty: list[str] = []
    notes: list[str] = []
    tables: list[Table] = []
    told: set[str] = set()
    for shown in result.figures:
        figure = _metric_figure(case, shown, key, result.margin_pct)
        if figure is None or shown.case not in (None, case.name):
            continue
        if isinstance(figure.source, charts.Drawn) and figure.source.is_empty:
            empty.append(shown.metric.label)
        else:
            found.append((shown.place, figure))
    for one in result.asked_figures:
        if _is_of(one.figure, case):
            asked = Asked(one.figure, case, result.cells)
            for drawn in _asked_figures(asked, _file(key, ""), one.place):
                found.append((one.place, drawn.figure))
                tables += drawn.tables
                if asked.is_course_of(result.cells.workload.throughput):
                    # The study's own figure replaces the default one, which would show the same
                    # curves.
                    told.add("over-time")
            notes += asked.notes
    figures = [figure for _, figure in sorted(found, key=lambda pair: pair[0])]
    is_asked = any(shown.metric == needed for shown in result.figures)
    if not is_asked and not any(needed.name in figure.metrics for figure in figures):
        own = _metric_figure(case, ShownFigure(needed), key, result.margin_pct)
        figures = [*([] if own is None else [own]), *figures]
    figures += _curve_figures(case, key, told)
    if empty:
        notes.append(f"Not drawn, as every value is zero: {listed(empty)}.")
    said = tuple(say("{text}", text=Name(text)) for text in notes)
    return FigureSet(tuple(figures), said, tuple(tables))


def _metric_figure(
    case: CaseResult, shown: ShownFigure, key: str, margin_pct: float | None
) -> Figure | None:
    """The figure of a metric against x, with all panels that have values; None if no panel has
    any."""
    metric = shown.metric
    measured = [found for found in case.panels if _is_measured(found.panel, metric)]
    if not measured:
        return None
    parts = [_metric_chart(found, shown) for found in measured]
    name = _file(key, metric.figure)
    if len(parts) == 1:
        alt = _alt(measured[0].panel, metric)
        return Figure(name, alt, None, parts[0].readable, (metric.name,))
    x = measured[0].panel.x
    title = shown.title or (f"{metric.title} against {x}" if x else metric.title)
    subtitle = max((part.subtitle for part in parts), key=len)
    pairs = [(one.panel.fixed, part) for one, part in zip(measured, parts, strict=True)]
    drawn, left = multiples.multiples(pairs, title, subtitle, margin_pct)
    drawn = drawn.readable
    alt = _many_alt(title, subtitle, drawn)
    return Figure(name, alt, _left_out(left), drawn, (metric.name,))


def _is_of(figure: outcome.Figure, case: CaseResult) -> bool:
    """Whether a figure applies to a test case: it must be meant for this case and use only its
    factors."""
    needed = {*figure.series, *((figure.x,) if figure.x else ())}
    return figure.case in (None, case.name) and needed <= set(case.layout.factors)


@dataclass(frozen=True)
class _AskedFigure:
    figure: Figure
    tables: tuple[Table, ...]
    """Tables of the fitted parameters, if these are too many for the caption."""


def _asked_figures(asked: Asked, prefix: str, place: int) -> Iterator[_AskedFigure]:
    """Draws a figure with the study's own axes, once for each unit of its metrics."""
    units = list(asked.parts())
    for number, (_, parts) in enumerate(units, start=1):
        drawn, left = parts[0].drawn, None
        name = f"{prefix}figure-{place + 1}{f'-{number}' if len(units) > 1 else ''}"
        fits = [one for part in parts for one in part.fits]
        tables = tuple(fits_tables(fits, asked.title, f"{name}-fits"))
        told: list[str] = []
        for part in parts:
            said = [*part.told, *([] if tables else [one.text for one in part.fits])]
            told += multiples.of_panel(part.held if len(parts) > 1 else {}, said)
        if len(parts) > 1:
            pairs = [(part.held, part.drawn) for part in parts]
            drawn, left = multiples.multiples(pairs, asked.title, drawn.subtitle, None)
        told += multiples.told(left, _TABLES) if left else []
        caption = say("{text}", text=Name(" ".join(told))) if told else None
        drawn = drawn.readable
        lines = ", ".join(drawn.series) or "one line"
        alt = f"{drawn.title}, {drawn.subtitle}: {drawn.y} against {drawn.x}; {lines}."
        yield _AskedFigure(Figure(name, alt, caption, drawn, asked.metrics), tables)


def _file(key: str, name: str) -> str:
    return name if key == "results" else f"{key}-{name}"


def _left_out(left: multiples.Left) -> Sentence | None:
    told = " ".join(multiples.told(left, _TABLES))
    return say("{text}", text=Name(told)) if told else None


def _metric_chart(found: PanelResult, shown: ShownFigure) -> charts.Drawn:
    verdicts = [table for table in found.verdicts if table.metric == shown.metric]
    return charts.metric_chart(found.panel, shown.metric, found.workload, shown.title, verdicts)


def _is_measured(panel: Panel, metric: Metric) -> bool:
    """Whether any cell has a value to draw."""
    return any(cell.value(metric) is not None for cell in panel.cells.values())


def _curve_figures(case: CaseResult, key: str, told: Collection[str]) -> Iterator[Figure]:
    """One figure for each kind of curve for which the runs of a test case have samples. Kinds in
    `told` are left out, since the study's own figures show them."""
    by_kind: dict[str, list[tuple[Panel, charts.Lines]]] = {}
    for found in case.panels:
        kinds = curves_of(found.panel, found.workload)
        for curves in (one for one in kinds if one.kind not in told):
            drawn = charts.curves_chart(found.panel, curves)
            by_kind.setdefault(curves.kind, []).append((found.panel, drawn))
    for kind, parts in by_kind.items():
        (panel, drawn), *others = parts
        left = None
        if others:
            title = drawn.title.replace(charts.held("", panel.fixed), "")
            pairs = [(panel.fixed, part) for panel, part in parts]
            drawn, left = multiples.multiples(pairs, title, drawn.subtitle, None)
            drawn = multiples.without_others(drawn)
        drawn = drawn.readable
        lines = ", ".join(drawn.series) or "one line"
        alt = f"{drawn.title}, {drawn.subtitle}: {drawn.y} against {drawn.x}; {lines}."
        yield Figure(_file(key, kind), alt, _left_out(left) if left else None, drawn)


def _alt(panel: Panel, metric: Metric) -> str:
    """A figure in words: metric, axes, and the first and last value of each line."""
    lines = [
        f"{level_text(level) or metric.title}: {_ends(panel.along_x(level), metric)}"
        for level in panel.series_levels
    ]
    against = f" against {panel.x}" if panel.x else ""
    better = f", {metric.better}" if metric.better else ""
    return f"{metric.title}{against}{better}. {'; '.join(lines)}."


def _ends(cells: Sequence[CellRow], metric: Metric) -> str:
    values = [one for cell in cells if (one := cell_number(cell, metric, unit=True)) is not None]
    if not values:
        return "not measured"
    return f"from {values[0]} to {values[-1]}".replace(NO_BREAK, " ")


def _many_alt(title: str, subtitle: str, drawn: charts.Drawn) -> str:
    """A figure of several panels in words; the values are in tables."""
    panels = [panel.label for panel in drawn.facets.shown] if drawn.facets else []
    lines = ", ".join(drawn.series)
    return f"{title}, {subtitle}{f'; {lines}' if lines else ''}. Panels: {'; '.join(panels)}."


def effect_figures(section: EffectsSection | None, key: str) -> Iterator[Figure]:
    """The heat map and the matrices of winners of a test case."""
    for name, grid in section.grids if section else ():
        told = "; ".join(
            f"{grid.x} {one.x}, {grid.y} {one.y}{', ' * bool(one.facet)}{one.facet}: {one.text}"
            for one in grid.cells
        )
        yield Figure(f"{key}-{name}", f"{grid.title}. {told}.", None, grid)


def reference_figures(case: CaseResult, key: str) -> Iterator[Figure]:
    """One figure for each metric with published values: these and the study's own."""
    by_metric: dict[Metric, list[tuple[PanelResult, charts.Drawn]]] = {}
    for found in case.panels:
        if found.reference is not None:
            for metric in dict.fromkeys(a.metric for a in found.reference.agreements):
                drawn = charts.overlay_chart(found.panel, metric, found.reference)
                by_metric.setdefault(metric, []).append((found, drawn))
    for metric in sorted(by_metric, key=lambda m: m != case.panels[0].workload.deciding):
        (found, drawn), *others = by_metric[metric]
        left = None
        if others:
            pairs = [(one.panel.fixed, part) for one, part in by_metric[metric]]
            drawn, left = multiples.multiples(pairs, drawn.title, drawn.subtitle, None)
        alt = f"{drawn.title}; the table has all values."
        name = _file(key, f"published-{metric.figure}")
        yield Figure(name, alt, _left_out(left) if left else None, drawn.readable)
