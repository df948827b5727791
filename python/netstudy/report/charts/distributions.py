"""Charts of distributions: ECDF, boxes, histograms with and without timeouts, and samples in the
order of time.

Each chart is a Vega-Lite specification as plain data, and separate rows of values. To keep the page
small, only some points are drawn, by rules that the captions state. The export has all samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from netstudy.analysis.distribution import Distribution, Values
from netstudy.analysis.order_statistics import carries
from netstudy.analysis.panel_distributions import CellSamples, PanelDistribution
from netstudy.analysis.samples import Floats, RunSample
from netstudy.report.charts.measure import Measure
from netstudy.report.charts.style import (
    COLOURS,
    DASHES,
    FAINT,
    INK,
    NUMBERS,
    Size,
    Spec,
    Style,
    by_series,
    only,
    titles,
    whole,
    zoomed,
)
from netstudy.report.charts.words import held
from netstudy.report.numbers import full_level, level_text
from netstudy.wire import Level

WIDE_SPAN = 20
"""An axis is logarithmic if the ratio of the largest to the smallest value is at least this."""
STEPS_A_LINE = 70
"""Number of steps drawn of an ECDF, at equal distances in rank. The largest samples are drawn in
addition."""
LARGEST_KEPT = 20
POINTS_DRAWN = 300
"""A chart of samples over time draws at most this number of samples in all panels together. If
there are more, only every n-th sample of a run is drawn."""
BINS = 40
_PADDING = 6
"""Room in pixels between the outermost samples and the ends of an axis."""
_LOG_ROOM = 0.04
"""The same room on a logarithmic axis, as a share of the distance between the outermost samples."""
BOX = (0.25, 0.5, 0.75)
WHISKERS = (0.05, 0.95)
TAIL = 0.99
"""The percentile that is drawn as a point beyond the whiskers, if there are enough samples for
it."""
WAITED, OTHER = "with a retransmission timeout", "without a timeout"
_HUMPS = {WAITED: Style(1, 0, 2), OTHER: Style(5, 0, 0)}


@dataclass(frozen=True)
class Plot:
    """A chart of small panels that share their axes."""

    title: str
    subtitle: str
    rows: Sequence[Mapping[str, Any]]
    """`kind` selects the layer that draws a row, `panel` its panel."""
    panels: tuple[str, ...]
    layers: tuple[Spec, ...]
    x: str
    y: str
    decimals: int
    """Decimals of values in tooltips."""
    series: Mapping[str, Style] = field(default_factory=dict)
    """The series that a reader can switch off."""
    axes: tuple[str, ...] = ()
    """The axes that can be zoomed."""
    columns: int = 3
    """Panels per row on a wide page."""
    along: str = ""
    """The factor whose levels make the panels, as the label of a control that chooses one panel."""

    @property
    def is_chosen(self) -> bool:
        """Whether a reader can choose one of the panels."""
        return bool(self.along) and len(self.panels) > 1

    def spec(self, size: Size, *, live: bool = False) -> Spec:
        """The Vega-Lite specification; with `live`, of an interactive figure."""
        many = len(self.panels) > 1
        columns = min(self.columns, len(self.panels)) if size.width > 400 else 1
        width = (size.width - 44 * (columns - 1)) // columns
        height = (
            size.height if not many else max(110, size.height * 2 // (2 + len(self.panels) // 3))
        )
        layers = [self._live(layer) for layer in self.layers] if live else list(self.layers)
        body: Spec = {"width": width, "height": height, "layer": layers}
        title = titles(self.title, self.subtitle, size)
        if not many:
            return whole({"title": title, **body}, self.rows, size)
        header = {"title": None, "labelFontSize": size.font, "labelColor": INK}
        facet = {"field": "panel", "sort": list(self.panels), "header": header}
        del body["width"], body["height"]
        panels: Spec = {
            "title": title,
            "facet": {**facet, "type": "nominal"},
            "columns": columns,
            "spec": {"width": width, "height": height, **body},
        }
        if live and self.is_chosen:
            panels["params"] = [{"name": CHOSEN, "value": ""}]
            panels["transform"] = [{"filter": f"{CHOSEN} == '' || datum.panel == {CHOSEN}"}]
        return whole(panels, self.rows, size)

    def _live(self, layer: Spec) -> Spec:
        """The layer with tooltips and axes that can be zoomed. It has no legend, since the page has
        buttons."""
        if layer["mark"]["type"] == "rect":
            return {**layer, "encoding": self._zoomed(layer)}
        mark = {**layer["mark"], "tooltip": {"content": "data"}}
        if self.axes:
            mark["clip"] = {"expr": "zoomed"}
        if mark["type"] == "line":  # a line would have a single tooltip
            mark = {"type": "point", "size": 120, "opacity": 0, **{k: mark[k] for k in _TOLD}}
            near = {**layer, "mark": mark, "encoding": self._zoomed(layer, ("x", "y"))}
            line = {**layer["mark"], "clip": mark["clip"]}
            return {"layer": [{**layer, "mark": line, "encoding": self._zoomed(layer)}, near]}
        return {**layer, "mark": mark, "encoding": self._zoomed(layer)}

    def _zoomed(self, layer: Spec, only: Sequence[str] = ()) -> Spec:
        found = dict(layer["encoding"])
        for name, channel in layer["encoding"].items():
            if only and name not in only:
                del found[name]
            elif name in self.axes and "scale" in channel:
                scale = {**channel["scale"], **zoomed(name, live=True)}
                found[name] = {**channel, "scale": scale}
            elif self.series and channel.get("field") == "series" and "legend" in channel:
                found[name] = {**channel, "legend": None}
        return found


_TOLD = ("tooltip", "clip")
CHOSEN = "panel_chosen"
"""Name of the Vega parameter with the chosen panel; its value is empty if all panels are shown."""


def ecdf_chart(found: PanelDistribution, title: str | None = None) -> Plot:
    """The share of samples up to a value, one line for each level of the series."""
    panel, (along, factor) = found.panel, _measure(found)
    names = _series(found)
    rows: list[dict[str, Any]] = [
        {
            "kind": "step",
            "panel": _place(found, one.x),
            "series": names[one.level],
            "x": _short(x * factor),
            "y": y,
        }
        for one in found.cells
        for x, y in _steps(one.found)
    ]
    nouns = f"{found.quantity.noun}s"
    # Panels share their axes, so the scale is computed from the values of all panels.
    scale = _scale([row["x"] for row in rows])
    line = {
        "transform": only("step"),
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.8},
        "encoding": {
            "x": _quantitative("x", along.title, scale),
            "y": {
                **_quantitative("y", f"% of {nouns}", {"domain": [0, 100]}),
                "axis": {"values": [0, 25, 50, 75, 100], "format": NUMBERS},
            },
            "stroke": _colour(names.values()),
            "strokeDash": _dash(names.values()),
        },
    }
    return Plot(
        title=title or held(f"Distribution of the {found.mean.label}", panel.fixed),
        subtitle=f"share of {nouns} that take at most a time, all runs together",
        rows=rows,
        panels=_panels(found),
        layers=(line,),
        x=along.title,
        y=f"% of {nouns}",
        decimals=1,
        series=_styles(names.values()),
        axes=("x", "y"),
        along=panel.x or "",
    )


def _steps(found: Distribution) -> Iterator[tuple[float, float]]:
    """The points of an ECDF, with shares in %; the first point has a share of zero."""
    values, share = found.curve()
    yield float(values[0]), 0.0
    kept = _kept(values.size, STEPS_A_LINE, LARGEST_KEPT)
    for value, part in zip(values[kept], share[kept], strict=True):
        yield _short(float(value)), round(100 * float(part), 3)


def _kept(size: int, even: int, last: int) -> Any:
    """Indices at equal distances, and the last indices."""
    spaced = np.linspace(0, size - 1, min(size, even)).round().astype(int)
    return np.union1d(spaced, np.arange(max(0, size - last), size))


def _short(value: float) -> float:
    """The value with six digits: more would be invisible."""
    return float(f"{value:.6g}")


def box_chart(found: PanelDistribution, title: str | None = None) -> Plot:
    """Boxes at every level of x: quartiles, and percentiles outside them."""
    panel, mean = found.panel, found.mean
    (measure, factor), names = _measure(found), _series(found)
    rows: list[dict[str, Any]] = [
        {"kind": "box", "panel": "", "x": _x_name(found, x, level), "series": names[level], **box}
        for x, level, samples in found.all_cells()
        for box in (_box(samples, factor),)
    ]
    scale = _scale([row[end] for row in rows for end in ("low", "high", "tail") if row[end]])
    order = list(dict.fromkeys(row["x"] for row in rows))
    beside = {"field": "series", "sort": list(names.values())} if panel.x else None
    x = {
        "field": "x",
        "type": "nominal",
        "sort": order,
        "title": panel.x or panel.series or "",
        "axis": {"labelAngle": 0, "labelOverlap": True},
    }
    place = {"x": x} if beside is None else {"x": x, "xOffset": beside}
    y = measure.title
    stroke = _colour(names.values())

    def layer(mark: Spec, low: str, high: str | None, fill: bool = False) -> Spec:
        encoding = {**place, "y": _quantitative(low, y, scale), "stroke": stroke}
        if mark["type"] in ("rule", "bar"):  # distinguishable without colours too
            encoding["strokeDash"] = _dash(names.values())
        if high:
            encoding["y2"] = {"field": high}
        if fill:
            encoding["fill"] = {**stroke, "legend": None}
        valid = only("box", also=f"isValid(datum.{low})")
        return {"mark": mark, "encoding": encoding, "transform": valid}

    return Plot(
        title=title or held(f"Spread of the {mean.label}", panel.fixed),
        subtitle=(
            f"box: quartiles and median; line: {_nth(WHISKERS[0])} to {_nth(WHISKERS[1])} "
            f"percentile; point: {_nth(TAIL)}, where the {found.quantity.noun}s carry it"
        ),
        rows=rows,
        panels=("",),
        layers=(
            layer({"type": "rule", "strokeWidth": 1.2}, "low", "high"),
            layer(
                {"type": "bar", "fillOpacity": 0.35, "strokeWidth": 1.2},
                "first",
                "third",
                fill=True,
            ),
            layer({"type": "tick", "thickness": 2.5, "width": {"band": 1}}, "median", None, True),
            layer({"type": "point", "size": 12, "filled": True}, "tail", None, fill=True),
        ),
        x=panel.x or panel.series or "",
        y=y,
        decimals=mean.decimals,
        series=_styles(names.values()),
    )


def _box(samples: Distribution, factor: float) -> dict[str, float | None]:
    first, median, third = (_short(factor * samples.quantile(q)) for q in BOX)
    low, high = (_short(factor * samples.quantile(q)) for q in WHISKERS)
    tail = _short(factor * samples.quantile(TAIL)) if carries(TAIL, samples.count) else None
    return {
        "low": low,
        "first": first,
        "median": median,
        "third": third,
        "high": high,
        "tail": tail,
    }


def histogram_chart(found: PanelDistribution, title: str | None = None) -> Plot:
    """Histograms, one panel for each cell with timeouts, in which samples with and without a
    timeout are stacked. If no cell has timeouts, one panel for each cell."""
    cells = [one for one in found.cells if one.waits] or found.cells
    along, factor = _measure(found)
    edges = _edges([value for one in cells for value in _ends(one.found)])
    rows = [row for one in cells for row in _bars(found, one, edges, factor)]
    nouns = f"{found.quantity.noun}s"
    bar = {
        "transform": [*only("bar"), _STACKED],
        # Bins are separated by outlines, since gaps would suggest missing values.
        "mark": {"type": "bar", "strokeWidth": 0.4, "stroke": INK, "binSpacing": 0},
        "encoding": {
            "x": _quantitative("x", along.title, _scale([edge * factor for edge in edges])),
            "x2": {"field": "x2"},
            "y": _quantitative("y", f"% of {nouns}", {"domainMin": 0}),
            "y2": {"field": "y2"},
            "fill": _by_hump(rows, "fill"),
        },
    }
    usual = f"{nouns.capitalize()} with and without a timeout"
    if not _is_marked(rows):
        usual = f"Histogram of the {found.mean.label}"
    return Plot(
        title=title or held(usual, found.panel.fixed),
        subtitle=f"share of {nouns} by {found.mean.label}, all runs together",
        rows=rows,
        panels=tuple(dict.fromkeys(row["panel"] for row in rows)),
        layers=(bar,),
        x=along.title,
        y=f"% of {nouns}",
        decimals=1,
        series=_HUMPS if _is_marked(rows) else {},
        axes=("x", "y"),
        columns=2 if len(cells) in (2, 4) else 3,
        along="cell",
    )


_STACKED = {
    "stack": "share",
    "groupby": ["panel", "x"],
    "sort": [{"field": "order"}],
    "as": ["y", "y2"],
}
"""Stacks the bars of the same bin; series that a reader switched off are left out."""


def _ends(found: Distribution) -> tuple[float, float]:
    return found.at_rank(1), found.at_rank(found.count)


def _edges(values: Sequence[float]) -> list[float]:
    """Bounds of the bins, the same in all panels: at equal distances or, on a logarithmic axis, at
    equal ratios."""
    low, high = min(values), max(values)
    if high == low:
        return [low * 0.95, high * 1.05]
    if _is_wide(values):
        return [_short(float(edge)) for edge in np.geomspace(low * 0.999, high * 1.001, BINS + 1)]
    return [_short(float(edge)) for edge in np.linspace(low * 0.999, high * 1.001, BINS + 1)]


def _bars(
    found: PanelDistribution, one: CellSamples, edges: Sequence[float], factor: float
) -> Iterator[dict[str, Any]]:
    for order, (name, samples) in enumerate(_parts(one)):
        counts, _ = np.histogram(samples.ascending, bins=edges)
        for k in map(int, np.flatnonzero(counts)):
            yield {
                "kind": "bar",
                "panel": _cell_name(found, one),
                "series": name,
                "order": order,
                "x": _short(factor * edges[k]),
                "x2": _short(factor * edges[k + 1]),
                "share": round(100 * float(counts[k]) / one.found.count, 4),
            }


def _parts(one: CellSamples) -> Iterator[tuple[str, Values]]:
    """The samples of a cell without and with a timeout, in the order in which they are stacked from
    the bottom."""
    if one.humps is None:
        assert isinstance(one.found, Values), "histograms are drawn of single samples"
        yield OTHER, one.found
        return
    for name, hump in ((OTHER, one.humps.other), (WAITED, one.humps.waited)):
        if hump is not None:
            yield name, hump.samples


def course_chart(found: PanelDistribution, title: str | None = None) -> Plot:
    """The samples of each cell's first run that has some, in order of time, at the most informative
    level along x, with one panel for each series."""
    cells = found.at_focus()
    noun = found.quantity.noun
    sizes = [_first_run(found, one)[1].size for one in cells]
    # All panels use the same step, so that equal densities look equal.
    step = max(1, math.ceil(sum(sizes) / POINTS_DRAWN))
    measure, factor = _measure(found)
    rows = [row for one in cells for row in _course(found, one, step, factor)]
    warm = max((int(row["x2"]) for row in rows if row["kind"] == "warm-up"), default=0)
    scale = _scale([row["y"] for row in rows if row["kind"] == "sample"])
    thinned = f"every {_nth_number(step)} {noun}" if step > 1 else f"every {noun}"
    x = _quantitative("x", f"{noun} of the run", {"domainMin": 0})
    y = _quantitative("y", measure.title, scale)
    shade = {
        "transform": only("warm-up"),
        "mark": {"type": "rect", "color": FAINT, "opacity": 0.25},
        "encoding": {"x": x, "x2": {"field": "x2"}},
    }
    points = {
        "transform": only("sample"),
        "mark": {"type": "point", "size": 14, "opacity": 0.85, "strokeWidth": 1},
        "encoding": {
            "x": x,
            "y": y,
            "stroke": _by_hump(rows, "ink"),
            "fill": _by_hump(rows, "fill"),
            "shape": _by_hump(rows, "symbol"),
        },
    }
    cut = f"; shaded: {warm} of warm-up, not measured" if warm else ""
    place = _place(found, found.focus)
    where = f" at {place}" if place else ""
    return Plot(
        title=title or held(f"{noun.capitalize()}s over time{where}", found.panel.fixed),
        subtitle=f"first run of a cell, {thinned}{cut}",
        rows=rows,
        panels=tuple(dict.fromkeys(row["panel"] for row in rows)),
        layers=(shade, points) if warm else (points,),
        x=f"{noun} of the run",
        y=measure.title,
        decimals=found.mean.decimals,
        series=_HUMPS if _is_marked(rows) else {},
        axes=("x", "y"),
        columns=2,
        along=found.panel.series or "",
    )


def _is_marked(rows: Iterable[Mapping[str, Any]]) -> bool:
    return any(row.get("series") == WAITED for row in rows)


def _by_hump(rows: Iterable[Mapping[str, Any]], look: str) -> Spec:
    """A channel in which samples with a timeout look different from others, if there are both.
    Otherwise all samples have a neutral look: a colour would suggest a level, but the panels have
    different levels."""
    if not _is_marked(rows):
        return {"value": "circle" if look == "symbol" else FAINT}
    return by_series(_HUMPS, look, {"title": None})


def _first_run(found: PanelDistribution, one: CellSamples) -> tuple[RunSample, Floats]:
    """The first run of a cell with samples, and its samples. Files of several tools may be runs of
    one cell, so that not every run has them."""
    assert found.quantity.values is not None, "only raw samples have an order"
    runs = one.cell.runs
    # By place, so that only these runs are read, not the others of their cell.
    each = ((runs[place], found.quantity.values(runs[place])) for place in range(len(runs)))
    known = ((run, values) for run, values in each if values is not None)
    return next(known, (runs[0], np.empty(0)))


def _course(
    found: PanelDistribution, one: CellSamples, step: int, factor: float
) -> Iterator[dict[str, Any]]:
    run, values = _first_run(found, one)
    marks = found.quantity.timeouts(run) if found.quantity.timeouts else None
    warm, panel = run.planned.count("warm-up"), _series_name(found, one.level)
    if warm:
        yield {"kind": "warm-up", "panel": panel, "x": 0, "x2": warm}
    for k in range(0, values.size, step):
        waited = marks is not None and bool(marks[k])
        yield {
            "kind": "sample",
            "panel": panel,
            "x": warm + k + 1,
            "y": _short(factor * float(values[k])),
            "series": WAITED if waited else OTHER,
        }


def _measure(found: PanelDistribution) -> tuple[Measure, float]:
    """The measure of the sampled quantity in its most readable unit, and the factor that converts
    values to this unit."""
    measure = Measure(found.mean.label, found.mean.unit)
    scale = measure.scale(value for one in found.cells for value in _ends(one.found))
    return measure.scaled(scale), 10.0**-scale.power


def _panels(found: PanelDistribution) -> tuple[str, ...]:
    return tuple(_place(found, x) for x in found.shown)


def _place(found: PanelDistribution, x: Level | None) -> str:
    return "" if found.panel.x is None else full_level(found.panel.x, x)


def _x_name(found: PanelDistribution, x: Level | None, level: Level | None) -> str:
    return level_text(x if found.panel.x else level)


def _series_name(found: PanelDistribution, level: Level | None) -> str:
    return "" if found.panel.series is None else full_level(found.panel.series, level)


def _cell_name(found: PanelDistribution, one: CellSamples) -> str:
    parts = (_series_name(found, one.level), _place(found, one.x))
    return ", ".join(part for part in parts if part)


def _series(found: PanelDistribution) -> dict[Level | None, str]:
    return {level: _series_name(found, level) for level in found.panel.series_levels}


def _nth(q: float) -> str:
    return _nth_number(round(100 * q))


def _nth_number(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 <= number % 100 <= 20 else ending}"


def _is_wide(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) >= WIDE_SPAN


def _scale(values: Sequence[float]) -> Spec:
    """A logarithmic axis for a wide range, else a linear one."""
    if values and _is_wide(values):
        room = (max(values) / min(values)) ** _LOG_ROOM
        domain = [min(values) / room, max(values) * room]
        return {"type": "log", "domain": domain, "nice": False}
    return {"zero": False, "padding": _PADDING}


def _quantitative(field: str, title: str, scale: Spec) -> Spec:
    axis: Spec = {"format": NUMBERS, "tickCount": 5, "labelOverlap": True}
    if scale.get("type") == "log":
        axis["values"] = _log_ticks(*scale["domain"])
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis}


def _log_ticks(low: float, high: float) -> list[float]:
    """Ticks at 1, 2 and 5 in each power of ten; only at powers of ten if the axis spans three
    decades or more."""
    digits = (1, 2, 5) if high / low < 1000 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = (float(f"{digit}e{power}") for power in powers for digit in digits)
    return [tick for tick in ticks if low <= tick <= high]


def _colour(names: Iterable[str]) -> Spec:
    found = list(names)
    inks = [COLOURS[k % len(COLOURS)] for k in range(len(found))]
    legend = {"title": None} if len(found) > 1 else None
    return {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": found, "range": inks},
        "legend": legend,
    }


def _styles(names: Iterable[str]) -> dict[str, Style]:
    """Name of a line -> its look, for the buttons that switch lines off."""
    return {name: Style(k, k, k) for k, name in enumerate(dict.fromkeys(names))}


def _dash(names: Iterable[str]) -> Spec:
    found = list(names)
    dashes = [DASHES[k % len(DASHES)] for k in range(len(found))]
    return {**_colour(found), "scale": {"domain": found, "range": dashes}}
