"""Charts of values against x, in one panel or in several on shared axes: points with intervals,
joined by lines, or bars. Intervals, fits and bands are computed elsewhere; a missing value leaves a
gap. Everything drawn is a row of a single table, because panels must share one table. `kind`
distinguishes the layers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from statistics import fmean
from typing import Any, Literal

from netstudy.report.charts import coincident
from netstudy.report.charts.facets import Facets, faceted
from netstudy.report.charts.measure import Measure, scaled_rows, value_text
from netstudy.report.charts.style import (
    FAINT,
    INK,
    LAW_DASHES,
    NARROW,
    NUMBERS,
    PAPER,
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


@dataclass(frozen=True)
class Drawn:
    """The data of one chart: its points in x order, its title, axes and legend.

    In a chart with panels, each row has the label (`panel`) and the levels (`f0`, `f1`, …) of its
    panel.
    """

    title: str
    subtitle: str
    x: str
    x_numeric: bool
    axis: Measure
    """The measure along y, in the unit of the rows."""
    series: Mapping[str, Style]
    points: Sequence[Row]
    """Each point has x, series, y, the ends of the interval of y (low, high) and the number of runs
    (n). It is on the right axis if `right` is true."""
    runs: Sequence[Row] = ()
    rules: Sequence[Row] = ()
    """Horizontal lines at a value of y, each with a text, such as the line rate."""
    marks: Sequence[Row] = ()
    """Values of x at which the lead changes, each with its text."""
    band: Sequence[Row] = ()
    """The equivalence margin around the values of the base level, along x."""
    fits: Sequence[Row] = ()
    """Points of the curves of fitted laws, each with its series; low and high are the ends of the
    interval."""
    ideals: Sequence[Row] = ()
    """Ideal growth along x, one line per series."""
    mark: Literal["lines", "bars"] = "lines"
    joins: bool = True
    """Whether a line joins the points; false if a fitted law is drawn instead."""
    x_log: bool = False
    y_log: bool = False
    right: Measure | None = None
    """The measure on the right axis; None: no right axis."""
    decimals: int = 1
    """Decimals of values in tooltips."""
    facets: Facets | None = None

    @property
    def y(self) -> str:
        """The title of the y axis: the quantity and its unit."""
        return self.axis.title

    @property
    def y2(self) -> str | None:
        """The title of the right axis."""
        return None if self.right is None else self.right.title

    @cached_property
    def readable(self) -> Drawn:
        """The chart with axes in the units that people read most easily."""
        left = [row for row in self.points if not row.get("right")]
        scale = self.axis.scale(_ends(left, self.rules))
        # The left and the right axis have different units, so their points are scaled separately.
        beside = [row for row in self.points if row.get("right")]
        other = None if self.right is None else self.right.scale(_ends(beside))
        points = tuple(
            row
            for one in self.points
            for row in scaled_rows(
                [one], scale.power if not one.get("right") else other.power if other else 0
            )
        )
        decimals = max(0, self.decimals + scale.power)
        if self.mark == "bars":
            points = tuple(_with_text(row, decimals) for row in points)
        parts: dict[str, Any] = {
            name: scaled_rows(getattr(self, name), scale.power) for name in _ON_THE_LEFT
        }
        return replace(
            self,
            points=points,
            axis=self.axis.scaled(scale),
            right=None if self.right is None or other is None else self.right.scaled(other),
            decimals=decimals,
            subtitle="; ".join(
                part for part in (self.subtitle, coincident.told(self._together)) if part
            ),
            **parts,
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every row, with the kind of its layer."""
        parts = {
            "band": self.band,
            "rule": self.rules,
            "mark": self.marks,
            "fit": self.fits,
            "ideal": self.ideals,
            "run": self.runs,
            "label": self._end_labels,
            "head": self._room_above(),
        }
        for row in self.points:
            if row.get("right"):
                yield {"kind": "right", **row, "unit": self.y2}
            else:
                yield {"kind": "point", **row}
        for kind, rows in parts.items():
            for row in rows:
                yield {"kind": kind, **row}

    @property
    def is_empty(self) -> bool:
        """Whether every value is zero or missing, so that there is nothing to draw."""
        return not any(row["y"] for row in self.points)

    def spec(self, size: Size, *, live: bool = False) -> Spec:
        """The chart in Vega-Lite; with `live`, it is interactive, with tooltips and zoom."""
        if self.facets is not None:
            return faceted(self, self.facets, size, live=live)
        unit = self.unit(size, live=live)
        title = titles(self.title, self.subtitle, size)
        return whole({**unit, "title": title}, self.rows(), size)

    def unit(self, size: Size, *, live: bool, room: int | None = None) -> Spec:
        """The layers of one panel. `room` is the width of a whole row of panels, for the legend."""
        is_told = live or bool(self._end_labels)
        legend = None if is_told else legend_of(self.series, size, room)
        if legend is not None and self.rules:
            legend["offset"] = size.font + 6  # room for the label of the top rule
        layers = [
            *self._behind(size, legend),
            *self._data(size, "point", live=live, legend=legend),
            *self._rule_words(size),
            *self._labels(size),
            *self._above(size, "head", live=live),
        ]
        inner = {"width": size.width, "height": size.height}
        if self.y2 is None:
            return {**inner, "layer": layers}
        right = [
            *self._data(size, "right", live=live, legend=None),
            *self._above(size, "head right", live=live),
        ]
        independent = {"scale": {"y": "independent"}}
        return {**inner, "layer": [{"layer": layers}, {"layer": right}], "resolve": independent}

    # ---- axes

    def _x(self, size: Size, *, live: bool) -> Spec:
        title = axis_title(self.x, size)
        if not self.x_numeric:
            axis: Spec = {"labelAngle": 0, "labelLimit": max(60, size.width // 3)}
            return {
                "field": "x",
                "type": "nominal",
                "title": title,
                "sort": None,
                "axis": axis,
            }
        levels = sorted({row["x"] for row in self.points})
        span = levels[-1] - levels[0] or 1
        # Points at the ends would be cut in half at the edge of the panel.
        domain = [levels[0] - span * 0.02, levels[-1] + span * 0.02]
        scale: Spec = {"domain": domain, "nice": False, **zoomed("x", live=live)}
        if self.x_log:
            scale |= {"type": "log", "domain": [levels[0] / 1.2, levels[-1] * 1.2]}
        axis = {"values": self._labelled_levels(levels, size), "format": NUMBERS, "grid": False}
        if self._level_names:
            axis |= {"labelExpr": f"({_as_object(self._level_names)})[datum.value] || datum.label"}
        if self._is_flush:
            axis["labelFlush"] = size.width // 20
        return {
            "field": "x",
            "type": "quantitative",
            "title": title,
            "scale": scale,
            "axis": axis,
        }

    @cached_property
    def _level_names(self) -> Mapping[float, str]:
        """Position along x -> the level as the study spells it, such as 20 ms; only for levels that
        are quantities."""
        return {row["x"]: row["level"] for row in self.points if "level" in row}

    @property
    def _is_flush(self) -> bool:
        """Whether labels at the ends of an axis are kept inside the panel, so that long ones do not
        overlap labels of the next panel."""
        return self.facets is not None and bool(self._level_names)

    def _labelled_levels(self, levels: Sequence[float], size: Size) -> list[float]:
        """The levels along x whose labels fit without overlap; the largest is always among them."""
        step = max(1, -(-len(levels) // (size.width // _LABEL_STEP)))
        placed = [math.log(level) for level in levels] if self.x_log else list(levels)
        scale = size.width / (placed[-1] - placed[0] or 1)
        found: list[float] = []
        left = math.inf
        for level, at in list(zip(levels, placed, strict=True))[::-1][::step]:
            text = self._level_names.get(level) or f"{level:,.15g}"
            width = len(text) * size.font * _LETTER
            middle = (at - placed[0]) * scale
            if self._is_flush:
                middle = min(max(middle, width / 2), size.width - width / 2)
            if middle + width / 2 <= left:
                found.insert(0, level)
                left = middle - width / 2 - size.font / 2
        return found

    def _y(self, kind: str, size: Size, *, live: bool) -> Spec:
        is_right = kind in ("right", "head right")
        title = axis_title(self.y2 if is_right and self.y2 else self.y, size, size.height)
        axis: Spec = {"format": NUMBERS, "tickCount": 6}
        if is_right:
            axis |= {"orient": "right", "grid": False}
        # "nice" is off, since `_room_above` computes the room above the highest point and for
        # names.
        scale: Spec = {"domainMin": 0, "nice": False, "clamp": not live}
        if self.y_log:
            scale = {"type": "log", "clamp": not live}
        elif self._span()[0] < 0:
            scale = {"nice": False}
        if self.y2 is None:
            scale |= zoomed("y", live=live)
        return {"field": "y", "type": "quantitative", "title": title, "scale": scale, "axis": axis}

    # ---- layers

    def _data(self, size: Size, kind: str, *, live: bool, legend: Spec | None) -> list[Spec]:
        x, y = self._x(size, live=live), self._y(kind, size, live=live)
        stroke = by_series(self.series, "ink", legend)
        fill = by_series(self.series, "fill", legend)
        shape = by_series(self.series, "symbol", legend)
        dash = coincident.dashes(self.series, self._together)
        shift = self._shift()
        tip = {"tooltip": {"content": "data"}} if live else {}
        clip = {"clip": {"expr": "zoomed"}} if live else {}
        whisker = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "stroke": stroke}
        if self.mark == "bars":
            whisker["stroke"] = {"value": INK}
        # The interval of a value near zero may end below the axis.
        inside = {"clip": True} if live else {}
        bars: Spec = {
            "transform": only(kind, also="isValid(datum.low)"),
            "mark": {"type": "rule", "strokeWidth": 1.5, **inside},
            "encoding": {**whisker, **shift},
        }
        if self.mark == "bars":
            return [*self._bars(size, kind, x, y, fill, tip), bars]
        layers: list[Spec] = [bars]
        if self.x_numeric and self.joins:
            line = {"type": "line", "strokeWidth": 2, **clip}
            encoding = {"x": x, "y": y, "stroke": stroke, "strokeDash": dash}
            layers.append({"transform": only(kind), "mark": line, "encoding": encoding})
        if self.runs and kind == "point":
            run = {"type": "point", "size": 10, "opacity": 0.6, **clip}
            small = {"x": x, "y": y, "stroke": stroke, "fill": fill, **shift}
            layers.append({"transform": only("run"), "mark": run, "encoding": small})
        dots = {"type": "point", "opacity": 1, "strokeWidth": 1.5, **clip, **tip}
        encoding = {"x": x, "y": y, "stroke": stroke, "fill": fill, "shape": shape, **shift}
        encoding["size"] = coincident.sizes(self._together)
        valid = only(kind, also="isValid(datum.y)")
        layers.append({"transform": valid, "mark": dots, "encoding": encoding})
        return layers

    @cached_property
    def _together(self) -> list[coincident.Together]:
        """The groups of lines that would hide each other."""
        if not self.x_numeric or not self.joins or self.mark == "bars":
            return []
        low, high = self._span()
        return coincident.coincident(self.points, high - low)

    def _span(self, *, right: bool = False) -> tuple[float, float]:
        """The lowest value on an axis, or zero if all are above it, and the highest value."""
        own = [row for row in self.points if bool(row.get("right")) is right]
        ends = _ends(own, *(() if right else (getattr(self, name) for name in _ON_THE_LEFT)))
        return min([0.0, *(row["y"] or 0.0 for row in own)]), max([0.0, *ends])

    def _room_above(self) -> Iterator[dict[str, Any]]:
        """An invisible point above all others in each panel, so that none touches the upper end."""
        if not self.y_log:
            for panel in _panels(self.points):
                yield {**panel, "y": self._head(panel)}
                if self.right is not None:
                    yield {**panel, "kind": "head right", "y": self._head(panel, right=True)}

    def _head(self, panel: Row, *, right: bool = False) -> float:
        of_panel: dict[str, Any] = {
            name: _rows_in(getattr(self, name), panel) for name in _OF_PANEL
        }
        low, high = replace(self, **of_panel)._span(right=right)
        return high + (high - low) * (_ABOVE_BARS if self.mark == "bars" else _ABOVE) or 1.0

    def _above(self, size: Size, kind: str, *, live: bool) -> Iterator[Spec]:
        if not self.y_log:
            mark = {"type": "point", "opacity": 0, "size": 0}
            y = self._y(kind, size, live=live)
            yield {"transform": only(kind), "mark": mark, "encoding": {"y": y}}

    def _shift(self) -> Spec:
        """The channel that places the series side by side, if the levels along x are names."""
        if self.x_numeric or len(self.series) < 2:
            return {}
        names = {"domain": list(self.series)}
        return {"xOffset": {"field": "series", "type": "nominal", "scale": names}}

    def _bars(self, size: Size, kind: str, x: Spec, y: Spec, fill: Spec, tip: Spec) -> list[Spec]:
        """Bars, each with its value as text above it, because values are hard to read from the
        axis."""
        place = {"x": x, "y": y, **self._shift()}
        bar = {"type": "bar", "stroke": INK, "strokeWidth": 0.8, **tip}
        above = {"field": "high", "type": "quantitative"}
        text = {"type": "text", "baseline": "bottom", "dy": -4, "color": INK}
        valid = only(kind, also="isValid(datum.y)")
        return [
            {"transform": valid, "mark": bar, "encoding": {**place, "fill": fill}},
            {
                "transform": [
                    *valid,
                    {"calculate": "isValid(datum.high) ? datum.high : datum.y", "as": "high"},
                ],
                "mark": {**text, "fontSize": size.font - 2},
                "encoding": {**place, "y": {**y, **above}, "text": {"field": "text"}},
            },
        ]

    def _behind(self, size: Size, legend: Spec | None) -> Iterator[Spec]:
        """The layers behind the data: equivalence margin, horizontal lines, changes of the lead,
        ideal growth, fitted laws."""
        x = {"field": "x", "type": "quantitative"}
        y = {"field": "y", "type": "quantitative"}
        span = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
        ink = by_series(self.series, "ink", legend)
        if self.band:
            area = {"type": "area", "color": FAINT, "opacity": 0.18}
            yield {"transform": only("band"), "mark": area, "encoding": span}
        if self.rules:
            rule = {"type": "rule", "color": FAINT, "strokeDash": [3, 3]}
            yield {"transform": only("rule"), "mark": rule, "encoding": {"y": y}}
        if self.marks:
            rule = {"type": "rule", "color": INK, "strokeDash": [2, 3]}
            yield {"transform": only("mark"), "mark": rule, "encoding": {"x": x}}
            told = {"x": x, "y": {"value": 2}, "text": {"field": "text"}}
            words = {**_words("left", size), "color": INK, "dx": 5}
            # A panel among others has no room for these texts; the subtitle explains the lines.
            if self.facets is None:
                yield {"transform": only("mark"), "mark": words, "encoding": told}
        if self.ideals:
            line = {"type": "line", "strokeWidth": 1.2, "strokeDash": [1, 3], "clip": True}
            along = {"x": x, "y": y, "color": ink}
            yield {"transform": only("ideal"), "mark": line, "encoding": along}
        if self.fits:
            detail = {"field": "law", "type": "nominal"}
            laws = [str(law) for law in dict.fromkeys(row["law"] for row in self.fits)]
            dashes = {"domain": laws, "range": [*LAW_DASHES[: len(laws)]]}
            apart = {"title": None, "symbolType": "stroke", "symbolSize": 900}
            dash = {**detail, "scale": dashes, "legend": apart if len(laws) > 1 else None}
            area = {"type": "area", "opacity": 0.15, "clip": True}
            shaded = {**span, "color": ink, "detail": detail}
            yield {"transform": only("fit"), "mark": area, "encoding": shaded}
            line = {"type": "line", "strokeWidth": 1, "clip": True}
            along = {"x": x, "y": y, "color": ink, "strokeDash": dash}
            yield {"transform": only("fit"), "mark": line, "encoding": along}

    # ---- words

    def _rule_words(self, size: Size) -> Iterator[Spec]:
        """The texts of horizontal lines: above the right end of each line, and in front of the
        data."""
        if not self.rules:
            return
        y = {"field": "y", "type": "quantitative"}
        told = {"y": y, "x": {"value": size.width}, "text": {"field": "text"}}
        words = {**_words("right", size), "baseline": "bottom", "dy": -3}
        for ink in ({"stroke": PAPER, "strokeWidth": 3}, {"color": FAINT}):
            yield {"transform": only("rule"), "mark": {**words, **ink}, "encoding": told}

    def _labels(self, size: Size) -> list[Spec]:
        if not self._end_labels:
            return []
        text = {"type": "text", "align": "left", "dx": 10, "fontWeight": "bold"}
        encoding = {
            "x": {"field": "x", "type": "quantitative"},
            "y": {"field": "y", "type": "quantitative"},
            "text": {"field": "series", "type": "nominal"},
            "color": by_series(self.series, "ink", None),
        }
        mark = {**text, "fontSize": size.font - 1}
        return [{"transform": only("label"), "mark": mark, "encoding": encoding}]

    @cached_property
    def _end_labels(self) -> list[dict[str, Any]]:
        """The position of each line's name: at its last point, moved so that names do not
        overlap."""
        if not self._is_labelled:
            return []
        ends = []
        for name in self.series:
            own = [one for one in self.points if one["series"] == name and one["y"] is not None]
            if not own:
                return []
            last = max(own, key=lambda one: float(one["x"]))
            ends.append({"x": last["x"], "y": float(last["y"]), "series": name})
        if len({one["x"] for one in ends}) > 1:
            return []
        low, top = self._span()[0], self._head({})
        return _apart(ends, low, top)

    @property
    def _is_labelled(self) -> bool:
        return (
            self.x_numeric
            and self.facets is None
            and self.y2 is None
            and not self.y_log
            and self.mark == "lines"
            and 2 <= len(self.series) <= _LABELLED_MAX
            and max(map(len, self.series)) <= _NAME_MAX
        )


_LABEL_STEP = 28
"""Least distance in pixels between two labelled levels along x, if levels are evenly spaced."""
_LETTER = 0.55
"""Usual width of a letter ÷ font size."""
_LABELLED_MAX = 6
"""Up to this number of lines have their names at their ends; more lines have a legend."""
_NAME_MAX = 24
"""The longest name, in characters, that is written at the end of a line; longer names would leave
too little room."""
_LABEL_GAP = (NARROW.font + 3) / NARROW.height
"""Height of a name including the gap to the next name, as a share of the smallest chart's
height."""


def _apart(ends: list[dict[str, Any]], low: float, top: float) -> list[dict[str, Any]]:
    """Moves names so that they do not overlap and stay inside the axis. The sum of the squared
    shifts is minimal, by pooling adjacent violators (Barlow et al. 1972)."""
    gap = _LABEL_GAP * (top - low)
    ends.sort(key=lambda one: one["y"])
    pools: list[list[float]] = []
    for number, one in enumerate(ends):  # without the gaps, names must only be in order
        pools.append([one["y"] - number * gap])
        while len(pools) > 1 and fmean(pools[-2]) > fmean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    highest = top - gap / 2 - (len(ends) - 1) * gap
    moved = (min(max(fmean(pool), low), highest) for pool in pools for _ in pool)
    for number, (one, place) in enumerate(zip(ends, moved, strict=True)):
        one["y"] = place + number * gap
    return ends


_ABOVE, _ABOVE_BARS = 0.08, 0.12
"""Room above the highest point, and above the highest bar with its value, as a share of the axis
below it."""
_ON_THE_LEFT = ("runs", "rules", "band", "fits", "ideals")
_OF_PANEL = ("points", *_ON_THE_LEFT)
"""All fields of `Drawn` with rows that have values along y."""


def _ends(*parts: Iterable[Row]) -> Iterator[float]:
    """All values and ends of intervals in some rows."""
    for row in chain(*parts):
        for key in ("y", "low", "high"):
            value = row.get(key)
            if value is not None and math.isfinite(value):
                yield float(value)


def _panels(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """For each panel, the fields that identify it in its rows; for a chart without panels, one
    empty mapping."""
    found: dict[str | None, dict[str, Any]] = {}
    for row in rows:
        own = {k: v for k, v in row.items() if k in ("panel", "shown") or _LEVEL.fullmatch(k)}
        found.setdefault(row.get("panel"), own)
    return [*found.values()] or [{}]


_LEVEL = re.compile(r"f\d+")
"""The keys of a panel's levels in rows: f0, f1, …"""


def _rows_in(rows: Sequence[Row], panel: Row) -> tuple[Row, ...]:
    return tuple(row for row in rows if row.get("panel") == panel.get("panel"))


def _with_text(row: Row, decimals: int) -> Row:
    return row if row["y"] is None else {**row, "text": value_text(row, decimals)}


def _words(align: str, size: Size) -> Spec:
    return {"type": "text", "align": align, "baseline": "top", "fontSize": size.font - 2}


def _as_object(names: Mapping[float, str]) -> str:
    """The mapping from values to names, as an object in Vega's expression language."""
    return json.dumps({f"{value:.15g}": name for value, name in names.items()})
