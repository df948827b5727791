"""Curves with many points on each line: courses over time, and distributions of latencies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from netstudy.analysis.curves import Curves
from netstudy.analysis.layout import Panel
from netstudy.report.charts.facets import Facets, faceted
from netstudy.report.charts.measure import Measure, scaled_rows
from netstudy.report.charts.style import (
    FAINT,
    NUMBERS,
    Row,
    Size,
    Spec,
    Style,
    axis_title,
    by_series,
    legend_of,
    only,
    titles,
    whole,
    zoomed,
)
from netstudy.report.charts.words import held
from netstudy.report.numbers import counted, level_text

TIME = Measure("s from the start of the measuring phase")
_CURVES = {
    "over-time": ("Goodput over time", TIME, Measure("Goodput", "Mbit/s")),
    "latency": (
        "Latencies",
        Measure("Latency", "µs"),
        Measure("% of requests that take longer"),
    ),
    "srtt": ("Round-trip time over time", TIME, Measure("Smoothed round-trip time", "µs")),
}
"""Title, x and y."""
_ABOVE = 1.08
"""Ratio of an axis's upper end to the highest value on it."""
POINTS_A_LINE = 1_000
"""Lines with more points are thinned out."""


@dataclass(frozen=True)
class Lines:
    """The data of a chart of curves: lines with many points, which are not marked."""

    title: str
    subtitle: str
    along: Measure
    """The measure along x, in the unit of the rows."""
    axis: Measure
    """The measure along y."""
    series: Mapping[str, Style]
    points: Sequence[Row]
    logarithmic: bool
    """Whether both axes are logarithmic; otherwise both begin at zero."""
    rules: Sequence[Row] = ()
    """Horizontal lines at a value of y, each with a text, such as the line rate."""
    facets: Facets | None = None
    right: Measure | None = None
    """The measure on the right axis, for points whose `right` is true; None: no right axis."""

    @property
    def x(self) -> str:
        """The title of the axis along x."""
        return self.along.title

    @property
    def y(self) -> str:
        """The title of the y axis: the quantity and its unit."""
        return self.axis.title

    @property
    def y2(self) -> str | None:
        """The title of the right axis."""
        return None if self.right is None else self.right.title

    @property
    def readable(self) -> Lines:
        """The same chart with axes in the units that people read most easily."""
        left = [row["y"] for row in (*self.points, *self.rules) if not row.get("right")]
        along = self.along.scale(row["x"] for row in self.points)
        scale = self.axis.scale(left)
        other = scale
        if self.right is not None:
            other = self.right.scale(row["y"] for row in self.points if row.get("right"))
        factor = 10.0**-along.power
        points = tuple(
            {**row, "x": row["x"] * factor}
            for one in self.points
            for row in scaled_rows([one], other.power if one.get("right") else scale.power)
        )
        return replace(
            self,
            points=points,
            rules=scaled_rows(self.rules, scale.power),
            along=self.along.scaled(along),
            axis=self.axis.scaled(scale),
            right=self.right and self.right.scaled(other),
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every row, with the kind that selects its layer."""
        for row in self.points:
            if row.get("right"):
                yield {"kind": "right", **row, "unit": self.y2}
            else:
                yield {"kind": "point", **row}
        yield from ({"kind": "rule", **row} for row in self.rules)
        yield from self._room_above()

    def _room_above(self) -> Iterator[dict[str, Any]]:
        """An invisible point above all others, so that no point touches the upper end. Panels share
        their axes; panels that are not shown at first do not count."""
        tops: dict[str, tuple[float, Row]] = {}
        for row in (*self.points, *self.rules) if not self.logarithmic else ():
            kind = "head right" if row.get("right") else "head"
            value = row["y"] or 0.0
            if value > tops.get(kind, (0.0, row))[0] and row.get("shown", True):
                tops[kind] = value, row
        for kind, (value, row) in tops.items():
            panel = {key: row[key] for key in row if key not in ("x", "y", "series", "unit")}
            yield {**panel, "kind": kind, "y": value * _ABOVE}

    @property
    def is_empty(self) -> bool:
        """Whether every value is zero."""
        return not any(row["y"] for row in self.points)

    def spec(self, size: Size, *, live: bool = False) -> Spec:
        """The curves in Vega-Lite."""
        if self.facets is not None:
            return faceted(self, self.facets, size, live=live)
        title = titles(self.title, self.subtitle, size)
        return whole({**self.unit(size, live=live), "title": title}, self.rows(), size)

    def unit(self, size: Size, *, live: bool, room: int | None = None) -> Spec:
        """The layers of one panel, as in `Drawn.unit`: lines without marked points, which Vega-Lite
        orders by x."""
        legend = None if live else legend_of(self.series, size, room)
        layers = [*self._rules(size), *self._lines(size, "point", legend, live=live)]
        inner = {"width": size.width, "height": size.height}
        if self.y2 is None:
            return {**inner, "layer": layers}
        right = self._lines(size, "right", legend, live=live)
        independent = {"scale": {"y": "independent"}}
        return {**inner, "layer": [{"layer": layers}, {"layer": right}], "resolve": independent}

    def _lines(self, size: Size, of: str, legend: Spec | None, *, live: bool) -> list[Spec]:
        """The lines on one of the axes, and the invisible points that carry their tooltips."""
        is_right = of == "right"
        kind: Spec = {"type": "log"} if self.logarithmic else {"domainMin": 0}
        x_scale = kind | zoomed("x", live=live)
        kind = kind if self.logarithmic else {**kind, "nice": False}
        y_scale = kind if self.y2 is not None else kind | zoomed("y", live=live)
        axis: Spec = {"format": NUMBERS, "tickCount": 6}
        side = {"orient": "right", "grid": False} if is_right else {}
        title = axis_title(self.y2 if is_right and self.y2 else self.y, size, size.height)
        encoding = {
            "x": {
                **{"field": "x", "type": "quantitative", "title": axis_title(self.x, size)},
                "scale": x_scale,
                "axis": axis | {"grid": self.logarithmic},
            },
            "y": {
                **{"field": "y", "type": "quantitative", "title": title, "scale": y_scale},
                "axis": axis | side,
            },
            "stroke": by_series(self.series, "ink", legend),
            "strokeDash": by_series(self.series, "dashes", legend),
        }
        step = "step-after" if self.logarithmic else "linear"
        mark = {"type": "line", "strokeWidth": 1.8, "interpolate": step, "clip": True}
        lines: list[Spec] = [{"transform": only(of), "mark": mark, "encoding": encoding}]
        if not self.logarithmic:
            # Panels share their axes, so room above the highest point can only be made by an
            # invisible point in the data.
            unseen = {"type": "point", "opacity": 0, "size": 0}
            kind_above = "head right" if is_right else "head"
            place = {"y": encoding["y"]}
            lines.append({"transform": only(kind_above), "mark": unseen, "encoding": place})
        if live:
            near = {"type": "point", "size": 120, "opacity": 0, "tooltip": {"content": "data"}}
            place = {"x": encoding["x"], "y": encoding["y"]}
            lines.append({"transform": only(of), "mark": near, "encoding": place})
        return lines

    def _rules(self, size: Size) -> Iterator[Spec]:
        if self.rules:
            y = {"field": "y", "type": "quantitative"}
            rule = {"type": "rule", "color": FAINT, "strokeDash": [3, 3]}
            yield {"transform": only("rule"), "mark": rule, "encoding": {"y": y}}
            told = {"y": y, "x": {"value": size.width}, "text": {"field": "text"}}
            words = {"type": "text", "align": "right", "baseline": "top", "color": FAINT, "dy": 4}
            mark = {**words, "fontSize": size.font - 2}
            yield {"transform": only("rule"), "mark": mark, "encoding": told}


def thinned(at: Any, values: Any, series: str) -> Iterator[Row]:
    """The points of a line. If there are too many to be distinguished, only some are kept. NaN is a
    gap in the line."""
    step = max(1, at.size // POINTS_A_LINE)
    for x, y in zip(np.asarray(at)[::step], np.asarray(values)[::step], strict=True):
        shown = None if np.isnan(y) else float(f"{y:.6g}")
        yield {"x": float(f"{x:.6g}"), "y": shown, "series": series}


def curves_chart(panel: Panel, found: Curves) -> Lines:
    """The curves of one chart: one colour for each series, one dash for each kind of line."""
    title, x, y = _CURVES[found.kind]
    labels = list(dict.fromkeys(curve.label for curve in found.curves))
    series: dict[str, Style] = {}
    points: list[Row] = []
    for curve in found.curves:
        name = ", ".join(text for text in (level_text(curve.level), curve.label) if text)
        index = panel.series_levels.index(curve.level)
        alone = len(panel.series_levels) == 1
        dash = labels.index(curve.label)
        series[name] = Style(dash if alone else index, dash if len(labels) > 1 else index, index)
        points += thinned(curve.at, curve.values, name)
    where = f" at {counted(panel.x, level_text(found.x))}" if panel.x else ""
    of = "all runs together" if found.replicate is None else "first run, mean over connections"
    if found.kind == "over-time":
        of = "mean over the runs, all connections together"
    return Lines(
        title=f"{held(title, panel.fixed)}{where}",
        subtitle=of,
        along=x,
        axis=y,
        series=series,
        points=points,
        logarithmic=found.kind == "latency",
    )
