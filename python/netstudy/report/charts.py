"""Charts as SVG: a metric against x, a line for each series, with intervals, readable without
colour.

Series differ in colour (Okabe & Ito's palette, safe for colour-blind readers), in dash and in the
shape of their points. Intervals are computed beforehand, and a missing value leaves a gap.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt

from netstudy.analysis.curves import Curves
from netstudy.analysis.intervals import Estimate
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.reference import PanelReference
from netstudy.analysis.verdict import VerdictTable
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.report.numbers import counted, full_level, level_text, number_text
from netstudy.wire import Level

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe & Ito (2008), darkest first."""
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 2, 1, 2], [1, 3])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke")
INK = "#222222"
FAINT = "#666666"
PAPER = "#ffffff"
FONT = "Helvetica, Arial, sans-serif"
POINTS_SHOWN = 120
"""With at most this many runs in a panel, every run is drawn as a small point of its own."""


@dataclass(frozen=True)
class Size:
    """Inner width and height of a chart in pixels, and its largest font."""

    width: int
    height: int
    font: int


WIDE = Size(520, 290, 13)
NARROW = Size(270, 230, 12)
"""For a phone held upright."""


@dataclass(frozen=True)
class Style:
    """The look of one series: indices into colours, dashes and shapes, and whether it is filled."""

    colour: int
    dash: int
    shape: int
    filled: bool = True

    @property
    def ink(self) -> str:
        """Colour of line and outline."""
        return COLOURS[self.colour % len(COLOURS)]


@dataclass(frozen=True)
class Drawn:
    """The data of one chart: its points in x order, its title, axes and legend."""

    title: str
    subtitle: str
    x: str
    x_numeric: bool
    y: str
    series: Mapping[str, Style]
    points: Sequence[Mapping[str, Any]]
    runs: Sequence[Mapping[str, Any]] = ()
    rules: Sequence[Mapping[str, Any]] = ()
    marks: Sequence[Mapping[str, Any]] = ()
    """Values of x at which the lead changes, each with its words."""
    band: Sequence[Mapping[str, Any]] = ()
    """The equivalence margin about the base level, along x."""


def metric_chart(
    panel: Panel,
    metric: Metric,
    workload: WorkloadAnalysis,
    title: str | None = None,
    verdicts: Sequence[VerdictTable] = (),
) -> Drawn:
    """A metric against x, one line for each level of the series; `title` is the study's own, and
    `verdicts` those on this metric: where the lead changes is marked, and the margin shaded."""
    points = [point for level in panel.series_levels for point in _points(panel, level, metric)]
    intervals = any(point["low"] is not None for point in points)
    return Drawn(
        title=_held(title, panel) if title else _title(metric.title, panel),
        subtitle=_subtitle(metric, "bars: 95 % interval" if intervals else ""),
        x=panel.x or panel.series or "",
        x_numeric=panel.x_numeric,
        y=_axis(metric),
        series={_series(panel, v): Style(i, i, i) for i, v in enumerate(panel.series_levels)},
        points=points,
        runs=_run_points(panel, metric),
        rules=_rules(panel, metric, workload),
        marks=[mark for table in verdicts for mark in _crossings(table)] if panel.x_numeric else (),
        band=_band(panel, metric, verdicts[0]) if verdicts and panel.x_numeric else (),
    )


def _series(panel: Panel, level: Level | None) -> str:
    return "" if panel.series is None else full_level(panel.series, level)


def _crossings(table: VerdictTable) -> Iterator[dict[str, Any]]:
    for one in table.crossovers:
        yield {"x": one.before, "text": f"{full_level(table.factor, one.to_level)} overtakes"}


def _band(panel: Panel, metric: Metric, table: VerdictTable) -> list[dict[str, Any]]:
    """Values that differ from the base level by the margin."""
    margin = (table.margin_pct or 0.0) / 100
    cells = [(x, panel.cell(x, table.base)) for x in panel.x_levels]
    values = [(x, cell.value(metric) if cell else None) for x, cell in cells]
    return [
        {"x": x, "low": value * (1 - margin), "high": value * (1 + margin)}
        for x, value in values
        if value is not None and margin
    ]


def overlay_chart(panel: Panel, metric: Metric, reference: PanelReference) -> Drawn:
    """Published values as points beside the line of the study's own, a pair for each level."""
    series: dict[str, Style] = {}
    points: list[dict[str, Any]] = []
    for index, one in enumerate(reference.of(metric)):
        for kind, style in (
            (reference.here, Style(index, 0, index)),
            ("published", Style(index, 1, index, filled=False)),
        ):
            label = f"{level_text(one.level)} {kind}".strip()
            series[label] = style
            points += [
                _estimate_point(row.x, label, row.estimate, panel)
                if kind != "published"
                else _point(row.x, label, row.published, None, None, panel.x_numeric)
                for row in one.rows
            ]
    return Drawn(
        title=f"{metric.title}: published and {reference.here}",
        subtitle=_subtitle(metric),
        x=panel.x or "",
        x_numeric=panel.x_numeric,
        y=_axis(metric),
        series=series,
        points=points,
    )


def _title(title: str, panel: Panel) -> str:
    return _held(f"{title} against {panel.x}" if panel.x else title, panel)


def _held(title: str, panel: Panel) -> str:
    """A title with the levels that the panel holds."""
    held = ", ".join(f"{factor} {level_text(level)}" for factor, level in panel.fixed.items())
    return f"{title}{f' ({held})' if held else ''}"


def _axis(metric: Metric) -> str:
    return f"{metric.unit}{metric.per}"


def _subtitle(metric: Metric, more: str = "") -> str:
    """The axis text without repeats: an index has no unit."""
    return "; ".join(part for part in (_axis(metric), metric.better, more) if part)


def _points(panel: Panel, level: Any, metric: Metric) -> list[dict[str, Any]]:
    found = []
    for x in panel.x_levels:
        cell = panel.cell(x, level)
        estimate = cell.estimate(metric) if cell else None
        name = _series(panel, level)
        found.append(_estimate_point(x if panel.x else level, name, estimate, panel))
    return found


def _estimate_point(x: Any, series: str, estimate: Estimate | None, panel: Panel) -> dict[str, Any]:
    """A value with the ends of its interval, if it has one."""
    interval = estimate.interval if estimate else None
    return _point(
        x,
        series,
        estimate.value if estimate else None,
        interval.low if interval else None,
        interval.high if interval else None,
        panel.x_numeric,
    )


def _point(
    x: Any, series: str, y: float | None, low: float | None, high: float | None, numeric: bool
) -> dict[str, Any]:
    return {
        "x": x if numeric else level_text(x),
        "series": series,
        "y": y,
        "low": low,
        "high": high,
    }


def _run_points(panel: Panel, metric: Metric) -> list[dict[str, Any]]:
    """One point for each run, if they are few enough to be seen."""
    cells = panel.cells.values()
    runs = sum(len(cell.runs) for cell in cells)
    if runs > POINTS_SHOWN or runs == len(cells):
        return []
    return [
        _point(x if panel.x else level, _series(panel, level), value, None, None, panel.x_numeric)
        for (x, level), cell in panel.cells.items()
        for run in cell.runs
        if (value := metric.reading.of_run(run)) is not None
    ]


def _rules(panel: Panel, metric: Metric, workload: WorkloadAnalysis) -> list[dict[str, Any]]:
    """The line rate and the best goodput after headers, in a chart of goodput."""
    if metric != workload.bounded:
        return []
    bounds = [workload.bound(cell.planned[0]) for cell in panel.cells.values()]
    rates = {None if bound is None else bound.line_rate_bps for bound in bounds}
    if len(rates) != 1 or None in rates:
        return []
    line = next(rate for rate in rates if rate is not None) / 1e6
    best = max(bound.goodput_mbps for bound in bounds if bound is not None)
    text = f"line rate {number_text(line, 0)}, at most {number_text(best, 0)} after headers"
    return [{"y": line, "text": text}, {"y": best, "text": ""}]


@dataclass(frozen=True)
class Lines:
    """The data of a chart of curves: many points on each line, without marks."""

    title: str
    subtitle: str
    x: str
    y: str
    series: Mapping[str, Style]
    points: Sequence[Mapping[str, Any]]
    logarithmic: bool
    """Whether both axes are logarithmic; otherwise both begin at zero."""


@dataclass(frozen=True)
class GridCell:
    """A cell of a grid."""

    x: str
    y: str
    facet: str
    """The levels that its grid holds; empty where there is one grid."""
    text: str
    kind: str = ""
    """Decides its colour, where kinds have one."""
    value: float | None = None
    """Decides its shade, where values have one."""


@dataclass(frozen=True)
class Grid:
    """A matrix of two factors with a text in each cell, coloured by kind or shaded by value."""

    title: str
    subtitle: str
    x: str
    y: str
    x_levels: Sequence[str]
    y_levels: Sequence[str]
    cells: Sequence[GridCell]
    kinds: Sequence[str] = ()
    """Kinds with a colour of their own, then the two grey ones; empty where values are shaded."""


Chart = Drawn | Lines | Grid

_CURVES = {
    "over-time": ("Goodput over time", "s from the start of the measuring phase", "Mbit/s"),
    "latency": ("Latencies", "latency, µs", "% of requests that take longer"),
    "srtt": ("Round-trip time over time", "s from the start of the measuring phase", "srtt, µs"),
}
"""Title, x and y."""
POINTS_A_LINE = 1_000
"""Lines with more points are thinned out."""


def curves_chart(panel: Panel, found: Curves) -> Lines:
    """The curves of one chart: one colour for each series, one dash for each kind of line."""
    title, x, y = _CURVES[found.kind]
    labels = list(dict.fromkeys(curve.label for curve in found.curves))
    series: dict[str, Style] = {}
    points: list[dict[str, Any]] = []
    for curve in found.curves:
        name = ", ".join(text for text in (level_text(curve.level), curve.label) if text)
        index = panel.series_levels.index(curve.level)
        alone = len(panel.series_levels) == 1
        dash = labels.index(curve.label)
        series[name] = Style(dash if alone else index, dash if len(labels) > 1 else index, index)
        step = max(1, curve.at.size // POINTS_A_LINE)
        points += [
            {"x": float(at), "y": float(value), "series": name}
            for at, value in zip(curve.at[::step], curve.values[::step], strict=True)
        ]
    where = f" at {counted(panel.x, level_text(found.x))}" if panel.x else ""
    of = "all runs together" if found.replicate is None else "first run, mean over connections"
    if found.kind == "over-time":
        of = "mean over the runs, all connections together"
    return Lines(
        title=f"{_held(title, panel)}{where}",
        subtitle=of,
        x=x,
        y=y,
        series=series,
        points=points,
        logarithmic=found.kind == "latency",
    )


def svg(drawn: Chart, size: Size) -> str:
    """The chart as SVG text, without a browser."""
    import vl_convert

    spec = _made(drawn, size).to_dict()
    text: str = vl_convert.vegalite_to_svg(json.dumps(spec))
    return text


def _made(drawn: Chart, size: Size) -> Any:
    if isinstance(drawn, Grid):
        return _grid(drawn, size)
    return _lines(drawn, size) if isinstance(drawn, Lines) else _chart(drawn, size)


_GREYS = ("#ffffff", "#e3e3e3")
"""Of cells in which nothing is better, and of those that are open."""


def _grid(drawn: Grid, size: Size) -> Any:
    """Small multiples of matrices on the same axes."""
    facets = list(dict.fromkeys(cell.facet for cell in drawn.cells))
    columns = max(1, min(len(facets), 3 if size.width > 400 else 1))
    side = min(64, (size.width - 60 * columns) // (columns * max(1, len(drawn.x_levels))))
    longest = max((len(cell.text) for cell in drawn.cells), default=0)
    side = max(side, 12 + longest * size.font // 2)
    colours = [*COLOURS[: len(drawn.kinds) - 2], *_GREYS]
    values = [vars(cell) for cell in drawn.cells]
    x = alt.X("x:N", title=drawn.x, sort=list(drawn.x_levels), axis=alt.Axis(labelAngle=0))
    y = alt.Y("y:N", title=drawn.y, sort=list(drawn.y_levels))
    base = alt.Chart(_data(values)).encode(x=x, y=y)
    kinds = alt.Scale(domain=list(drawn.kinds), range=colours)
    fill = alt.Color("kind:N", scale=kinds, legend=None)
    rect = base.mark_rect(stroke=FAINT, strokeWidth=0.5).encode(color=fill)
    dark = f"indexof({json.dumps(list(drawn.kinds[-2:]))}, datum.kind) < 0"
    if not drawn.kinds:
        shade, limit = _shade([cell.value for cell in drawn.cells if cell.value is not None])
        fill = alt.Color("value:Q", scale=shade, legend=None)
        rect = base.mark_rect(stroke=FAINT, strokeWidth=0.5).encode(color=fill)
        dark = f"datum.value > {limit}"
    text = base.mark_text(fontSize=size.font - 2).encode(
        text="text:N", color=alt.condition(dark, alt.value(PAPER), alt.value(INK))
    )
    layered = alt.layer(rect, text).properties(
        width=side * len(drawn.x_levels), height=34 * len(drawn.y_levels)
    )
    if len(facets) > 1:
        faceted = layered.facet(
            facet=alt.Facet("facet:N", title=None, sort=facets), columns=columns
        )
        return _configured(faceted.properties(title=_titles(drawn, size)), size)
    return _configured(layered.properties(title=_titles(drawn, size)), size)


_WIDE_SPAN = 20
"""Values that differ by more are shaded by their logarithms."""


def _shade(values: Sequence[float]) -> tuple[alt.Scale, float]:
    """The shades of values, and the value from which on they are dark."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low > 0 and high / low > _WIDE_SPAN:
        return alt.Scale(scheme="blues", type="log"), low * (high / low) ** 0.6
    return alt.Scale(scheme="blues"), low + (high - low) * 0.6


def _chart(drawn: Drawn, size: Size) -> Any:
    labels = _end_labels(drawn)
    layers = [
        *_band_layers(drawn),
        *_rule_layers(drawn, size),
        *_mark_layers(drawn, size),
        *_data_layers(drawn, size, has_legend=not labels),
        *_label_layers(drawn, labels, size),
    ]
    chart = (
        alt.layer(*layers)
        .resolve_legend(strokeDash="independent")
        .properties(width=size.width, height=size.height, title=_titles(drawn, size))
    )
    return _configured(chart, size)


def _titles(drawn: Chart, size: Size) -> alt.TitleParams:
    return alt.TitleParams(
        text=_wrapped(drawn.title, size), subtitle=_wrapped(drawn.subtitle, size), anchor="start"
    )


def _lines(drawn: Lines, size: Size) -> Any:
    """Lines without points, ordered by x rather than by the data."""
    names, looks = list(drawn.series), list(drawn.series.values())
    legend = (
        None if len(names) < 2 else alt.Legend(title=None, columns=2 if size.width > 400 else 1)
    )
    colours = alt.Scale(domain=names, range=[look.ink for look in looks])
    dashes = alt.Scale(domain=names, range=[DASHES[look.dash % len(DASHES)] for look in looks])
    scale = alt.Scale(type="log") if drawn.logarithmic else alt.Scale(domainMin=0)
    axis = alt.Axis(format=",~f", grid=drawn.logarithmic, tickCount=6)
    chart = (
        alt.Chart(_data(drawn.points))
        .mark_line(
            strokeWidth=1.8, interpolate="step-after" if drawn.logarithmic else "linear", clip=True
        )
        .encode(
            x=alt.X("x:Q", title=drawn.x, scale=scale, axis=axis),
            y=alt.Y("y:Q", title=drawn.y, scale=scale, axis=alt.Axis(format=",~f", tickCount=6)),
            stroke=alt.Stroke("series:N", scale=colours, legend=legend),
            strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=legend),
        )
        .properties(width=size.width, height=size.height, title=_titles(drawn, size))
    )
    return _configured(chart, size)


def _wrapped(text: str, size: Size) -> list[str]:
    """Lines that fit the chart, broken between words."""
    fits = size.width // (size.font * 11 // 20)
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        lines = [*lines[:-1], longer] if len(longer) <= fits else [*lines, word]
    return lines


def _data(values: Sequence[Mapping[str, Any]]) -> Any:
    return alt.Data(values=list(values))  # type: ignore[no-untyped-call]  # altair leaves it so


_LABELLED_MAX = 6
"""Lines of a chart that bear their names at their ends; more have a legend."""
_LABEL_GAP = 0.06
"""Share of the height between two names, so that they can be read."""


def _end_labels(drawn: Drawn) -> list[dict[str, Any]]:
    """Where the name of each line stands: at its last point, moved away from the others'."""
    if not drawn.x_numeric or not 2 <= len(drawn.series) <= _LABELLED_MAX:
        return []
    ends = []
    for name in drawn.series:
        own = [one for one in drawn.points if one["series"] == name and one["y"] is not None]
        if not own:
            return []
        last = max(own, key=lambda one: float(one["x"]))
        ends.append({"x": last["x"], "y": float(last["y"]), "series": name})
    if len({one["x"] for one in ends}) > 1:
        return []
    top = max(max(float(p["high"] or p["y"] or 0) for p in drawn.points), 1e-12)
    ends.sort(key=lambda one: one["y"])
    for below, above in pairwise(ends):
        above["y"] = max(above["y"], below["y"] + _LABEL_GAP * top)
    return ends


def _label_layers(drawn: Drawn, labels: Sequence[Mapping[str, Any]], size: Size) -> list[alt.Chart]:
    if not labels:
        return []
    names, looks = list(drawn.series), list(drawn.series.values())
    colours = alt.Scale(domain=names, range=[look.ink for look in looks])
    text = alt.Chart(_data(labels)).mark_text(
        align="left", dx=10, fontSize=size.font - 1, fontWeight="bold", clip=False
    )
    return [
        text.encode(
            x=alt.X("x:Q"),
            y=alt.Y("y:Q"),
            text="series:N",
            color=alt.Color("series:N", scale=colours, legend=None),
        )
    ]


def _band_layers(drawn: Drawn) -> list[alt.Chart]:
    if not drawn.band:
        return []
    area = alt.Chart(_data(drawn.band)).mark_area(color=FAINT, opacity=0.18)
    return [area.encode(x=alt.X("x:Q"), y=alt.Y("low:Q"), y2="high:Q")]


def _mark_layers(drawn: Drawn, size: Size) -> list[alt.Chart]:
    """A line at each change of the lead, with its words at the top."""
    if not drawn.marks:
        return []
    base = alt.Chart(_data(drawn.marks))
    rule = base.mark_rule(color=INK, strokeDash=[2, 3]).encode(x=alt.X("x:Q"))
    text = base.mark_text(
        align="left", baseline="top", dx=5, color=INK, fontSize=size.font - 2
    ).encode(x=alt.X("x:Q"), y=alt.value(2), text="text:N")
    return [rule, text]


def _data_layers(drawn: Drawn, size: Size, *, has_legend: bool) -> list[alt.Chart]:
    x, y = _x(drawn, size), alt.Y("y:Q", title=drawn.y, scale=alt.Scale(domainMin=0, clamp=True))
    stroke, fill, dash, shape = _styles(drawn, size, has_legend=has_legend)
    base = alt.Chart(_data(drawn.points))
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
    line = base.mark_line(strokeWidth=2, clip=False)
    dots = base.transform_filter("isValid(datum.y)").mark_point(size=55, opacity=1, strokeWidth=1.5)
    layers = [bars.encode(x=x, y=alt.Y("low:Q"), y2="high:Q", stroke=stroke)]
    if drawn.x_numeric:
        layers.append(line.encode(x=x, y=y, stroke=stroke, strokeDash=dash))
    layers.append(dots.encode(x=x, y=y, stroke=stroke, fill=fill, shape=shape))
    if drawn.runs:
        runs = alt.Chart(_data(drawn.runs)).mark_point(size=10, opacity=0.6)
        layers.append(runs.encode(x=x, y=y, stroke=stroke, fill=fill))
    return layers


def _x(drawn: Drawn, size: Size) -> alt.X:
    if not drawn.x_numeric:
        return alt.X("x:N", title=drawn.x, sort=None, axis=alt.Axis(labelAngle=0))
    levels = sorted({point["x"] for point in drawn.points})
    step = max(1, -(-len(levels) // (size.width // 28)))
    span = levels[-1] - levels[0] or 1
    scale = alt.Scale(domain=[levels[0] - span * 0.02, levels[-1] + span * 0.02], nice=False)
    axis = alt.Axis(values=_ticks(levels, step), format=",~f", grid=False)
    return alt.X("x:Q", title=drawn.x, scale=scale, axis=axis)


def _ticks(levels: Sequence[float], step: int) -> list[float]:
    """Every step-th level, including the last one."""
    return list(levels[::-1][::step][::-1])


def _styles(
    drawn: Drawn, size: Size, *, has_legend: bool
) -> tuple[alt.Stroke, alt.Fill, alt.StrokeDash, alt.Shape]:
    """One look for each series; the legend shows outline, filling and shape together."""
    names, looks = list(drawn.series), list(drawn.series.values())
    columns = 2 if size.width > 400 else 1
    has_legend = has_legend and len(names) > 1
    legend = alt.Legend(title=None, columns=columns) if has_legend else None

    def scale(values: Sequence[Any]) -> alt.Scale:
        return alt.Scale(domain=names, range=values)

    fills = [look.ink if look.filled else PAPER for look in looks]
    dashes = [DASHES[look.dash % len(DASHES)] for look in looks]
    shapes = [SHAPES[look.shape % len(SHAPES)] for look in looks]
    return (
        alt.Stroke("series:N", scale=scale([look.ink for look in looks]), legend=legend),
        alt.Fill("series:N", scale=scale(fills), legend=legend),
        alt.StrokeDash("series:N", scale=scale(dashes), legend=None),
        alt.Shape("series:N", scale=scale(shapes), legend=legend),
    )


def _rule_layers(drawn: Drawn, size: Size) -> list[alt.Chart]:
    if not drawn.rules:
        return []
    base = alt.Chart(_data(drawn.rules))
    rule = base.mark_rule(color=FAINT, strokeDash=[3, 3]).encode(y=alt.Y("y:Q"))
    text = base.mark_text(
        align="right", baseline="top", dy=10, color=FAINT, fontSize=size.font - 2
    ).encode(y=alt.Y("y:Q"), x=alt.value(size.width), text="text:N")
    return [rule, text]


def _configured(chart: Any, size: Size) -> Any:
    small = size.font - 1
    return (
        chart.configure(font=FONT, background=PAPER, padding=8, aria=False)
        .configure_view(stroke=None)
        .configure_title(
            fontSize=size.font + 3,
            subtitleFontSize=size.font,
            color=INK,
            subtitleColor=FAINT,
            offset=10,
        )
        .configure_axis(
            labelFontSize=small,
            titleFontSize=small,
            labelColor=INK,
            titleColor=INK,
            gridColor="#dddddd",
            domainColor=FAINT,
            tickColor=FAINT,
            titleFontWeight="normal",
        )
        .configure_axisY(minExtent=size.font * 3)
        .configure_legend(
            orient="top",
            labelFontSize=size.font,
            labelLimit=size.width,
            symbolStrokeWidth=1.5,
            symbolDash=[1, 0],
            symbolSize=90,
            offset=4,
        )
    )
