"""Finds lines that coincide, and draws them so that all remain visible.

If lines have the same values, only the one drawn last would be visible. Therefore their dashes
alternate, and points that are covered by others are larger than these. No value is moved.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from netstudy.documents.problems import listed
from netstudy.report.charts.style import Row, Spec, Style

_NEAR = 0.006
"""Lines whose distance is at most this share of the chart's height look like one line; it is about
the width of a line."""
_DASH = 8
"""Length in pixels of one dash; dashes of the lines follow each other in turn."""
_POINT, _LARGER = 55, 80
"""The area of a usual point, and how much larger a point is for each point that covers it."""
_NAMES_MAX = 3
_WORDS = ("Two", "Three", "Four", "Five", "Six")


@dataclass(frozen=True)
class Together:
    """Lines of one panel that coincide, in the order in which they are drawn."""

    panel: str | None
    names: tuple[str, ...]


def coincident(points: Iterable[Row], height: float) -> list[Together]:
    """The groups of lines in each panel that have the same values at the same x. `height` is the
    span of the axis."""
    found: list[Together] = []
    for panel, lines in _by_panel(points).items():
        group_of = {name: {name} for name in lines}
        for one, other in combinations(lines, 2):
            if _are_alike(lines[one], lines[other], height):
                joined = group_of[one] | group_of[other]
                group_of.update(dict.fromkeys(joined, joined))
        groups = {id(group): group for group in group_of.values() if len(group) > 1}
        for group in groups.values():
            found.append(Together(panel, tuple(name for name in lines if name in group)))
    return found


def _by_panel(points: Iterable[Row]) -> dict[str | None, dict[str, dict[float, float]]]:
    found: dict[str | None, dict[str, dict[float, float]]] = {}
    for row in points:
        if row["y"] is not None and not row.get("right"):
            lines = found.setdefault(row.get("panel"), {})
            lines.setdefault(row["series"], {})[row["x"]] = row["y"]
    return found


def _are_alike(one: Mapping[float, float], other: Mapping[float, float], height: float) -> bool:
    return (
        len(one) > 1
        and one.keys() == other.keys()
        and all(abs(value - other[x]) <= _NEAR * height for x, value in one.items())
    )


def told(found: Sequence[Together]) -> str:
    """A text that says which lines coincide; empty if none do."""
    if not found:
        return ""
    if any(one.panel is not None for one in found):
        panels = len({one.panel for one in found})
        return f"lines coincide in {panels} panel{'' if panels == 1 else 's'}"
    return "; ".join(_group_text(one) for one in found)


def _group_text(one: Together) -> str:
    number = len(one.names)
    word = _WORDS[number - 2] if number - 2 < len(_WORDS) else str(number)
    names = f": {listed(list(one.names))}" if number <= _NAMES_MAX else ""
    return f"{word.lower()} lines coincide{names}"


def dashes(series: Mapping[str, Style], found: Sequence[Together]) -> Spec:
    """The dashes of lines: their own, or alternating if lines coincide. They are conditions and not
    a Vega-Lite scale, because a scale would also dash the points in the legend."""
    turns = [
        {"test": _of(name, one.panel), "value": _turn(place, len(one.names))}
        for one in found
        for place, name in enumerate(one.names)
    ]
    own = [{"test": _of(name, None), "value": style.dashes} for name, style in series.items()]
    return {"condition": [*turns, *own], "value": [1, 0]}


def _turn(place: int, of: int) -> list[int]:
    """The dash pattern of one line: a gap where earlier lines have their dashes, its own dash, a
    gap for later lines."""
    before, after = place * _DASH, (of - 1 - place) * _DASH
    return [_DASH, after] if not before else [0, before, _DASH, after]


def sizes(found: Sequence[Together]) -> Spec:
    """The areas of points. Of several points at the same place, each is larger than the one drawn
    on top of it."""
    larger = [
        {"test": _of(name, one.panel), "value": _POINT + _LARGER * (len(one.names) - 1 - place)}
        for one in found
        for place, name in enumerate(one.names[:-1])
    ]
    return {"condition": larger, "value": _POINT} if larger else {"value": _POINT}


def _of(name: str, panel: str | None) -> str:
    test = f"datum.series === {json.dumps(name)}"
    return test if panel is None else f"{test} && datum.panel === {json.dumps(panel)}"
