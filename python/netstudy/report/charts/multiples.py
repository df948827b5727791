"""Small multiples: joins the charts of several panels into one on shared axes.

Panels with the same values as another panel are left out, and so are panels with only zeros. If
more than `SHOWN_MAX` remain, the panels that differ most from each other are shown at first; a
reader of the page can choose all others by their levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from netstudy.documents.problems import listed
from netstudy.report.charts.curves import Lines
from netstudy.report.charts.facets import Facets, PanelName, placed
from netstudy.report.charts.plot import Drawn
from netstudy.report.charts.style import Row
from netstudy.report.numbers import counted, level_text
from netstudy.wire import Treatment

SHOWN_MAX = 12
"""At most this number of panels is shown at first."""
_LOG_SPAN = 30
"""If the largest values of panels differ by more than this factor, the shared axis is
logarithmic."""

Part = TypeVar("Part", bound=Drawn | Lines)


@dataclass(frozen=True)
class Left:
    """The panels that a figure does not show at first."""

    alike: tuple[str, ...]
    """Panels that equal an earlier panel, within the noise."""
    empty: tuple[str, ...]
    """Panels with only zeros."""
    others: int
    """Number of further panels, which are more similar to the panels shown."""
    shown: int


def multiples(
    parts: Sequence[tuple[Treatment, Part]], title: str, subtitle: str, margin_pct: float | None
) -> tuple[Part, Left]:
    """Joins the charts of panels into one chart. `parts` has each panel's held levels and chart.
    Panels whose values differ by no more than the margin count as equal."""
    factors = _varied([fixed for fixed, _ in parts])
    labels = [_label(fixed, factors) for fixed, _ in parts]
    filled = [number for number, (_, part) in enumerate(parts) if not part.is_empty]
    alike, apart = _apart([parts[number][1] for number in filled], (margin_pct or 0.0) / 100)
    apart = [filled[number] for number in apart]
    chosen = _differing([parts[number][1] for number in apart], SHOWN_MAX)
    shown = {apart[number] for number in chosen}
    names = tuple(
        PanelName(tuple(level_text(fixed.get(f)) for f in factors), labels[n], n in shown)
        for n, (fixed, _) in enumerate(parts)
    )
    facets = Facets(factors, names)
    left = Left(
        alike=tuple(labels[filled[number]] for number in alike),
        empty=tuple(label for n, label in enumerate(labels) if n not in filled),
        others=len(apart) - len(shown),
        shown=len(shown),
    )
    return _joined([part for _, part in parts], facets, title, subtitle), left


def without_others(drawn: Lines) -> Lines:
    """The chart with only the panels shown initially: the points of all panels would make the page
    too large."""
    assert drawn.facets is not None, "it was made of several panels"
    facets = replace(drawn.facets, panels=drawn.facets.shown)
    points = tuple(row for row in drawn.points if row["shown"])
    rules = tuple(row for row in drawn.rules if row["shown"])
    return replace(drawn, facets=facets, points=points, rules=rules)


def _varied(held: Sequence[Treatment]) -> tuple[str, ...]:
    """The factors whose levels differ between panels."""
    names = dict.fromkeys(name for fixed in held for name in fixed)
    return tuple(n for n in names if len({level_text(fixed.get(n)) for fixed in held}) > 1)


def _label(fixed: Treatment, factors: Sequence[str]) -> str:
    return ", ".join(counted(name, level_text(fixed[name])) for name in factors if name in fixed)


def _joined(parts: Sequence[Part], facets: Facets, title: str, subtitle: str) -> Part:
    series = {name: style for part in parts for name, style in part.series.items()}
    common: dict[str, Any] = {
        "title": title,
        "subtitle": subtitle,
        "series": series,
        "facets": facets,
        "points": _of_all([part.points for part in parts], facets),
        "rules": _of_all([[{**row, "text": ""} for row in part.rules] for part in parts], facets),
    }
    lines = [part for part in parts if isinstance(part, Drawn)]
    if lines:
        common["y_log"] = lines[0].y_log or _is_wide(lines)
        for name in ("runs", "marks", "band", "fits", "ideals"):
            common[name] = _of_all([getattr(part, name) for part in lines], facets)
        if common["marks"]:  # panels have no room for the name of the new leader
            common["subtitle"] = f"{subtitle}; dotted vertical line: the lead changes"
    return replace(parts[0], **common)


def _of_all(rows: Sequence[Sequence[Row]], facets: Facets) -> tuple[Row, ...]:
    return tuple(row for n, own in enumerate(rows) for row in placed(tuple(own), facets, n))


def _is_wide(parts: Sequence[Drawn]) -> bool:
    """Whether a linear axis would flatten some panels."""
    values = [[row["y"] for row in part.points if row["y"] is not None] for part in parts]
    if any(value <= 0 for own in values for value in own):
        return False
    largest = [max(own) for own in values if own]
    return bool(largest) and max(largest) > _LOG_SPAN * min(largest)


Values = dict[tuple[object, object], float]
"""The values of a panel: x and series -> y."""


def _values(part: Drawn | Lines) -> Values:
    return {(row["x"], row["series"]): row["y"] for row in part.points if row["y"] is not None}


def _apart(parts: Sequence[Drawn | Lines], margin: float) -> tuple[list[int], list[int]]:
    """Two lists of indices: of panels that equal an earlier panel within a relative margin, and of
    all other panels."""
    alike: list[int] = []
    apart: list[int] = []
    values = [_values(part) for part in parts]
    for number, own in enumerate(values):
        repeats = any(_is_alike(own, values[other], margin) for other in apart)
        (alike if repeats else apart).append(number)
    return alike, apart


def _is_alike(one: Values, other: Values, margin: float) -> bool:
    return one.keys() == other.keys() and all(
        math.isclose(value, other[key], rel_tol=max(margin, 1e-4)) for key, value in one.items()
    )


def _differing(parts: Sequence[Drawn | Lines], most: int) -> list[int]:
    """The panels that differ most from each other: the first one, then repeatedly the panel that is
    farthest from all panels chosen so far (Gonzalez 1985)."""
    if len(parts) <= most:
        return list(range(len(parts)))
    places = _places(parts)
    taken = [0]
    nearest = np.linalg.norm(places - places[0], axis=1)
    while len(taken) < most:
        farthest = int(np.argmax(nearest))
        taken.append(farthest)
        nearest = np.minimum(nearest, np.linalg.norm(places - places[farthest], axis=1))
    return sorted(taken)


def _places(
    parts: Sequence[Drawn | Lines],
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The values of each panel as a vector, on a logarithmic scale."""
    found = [_values(part) for part in parts]
    keys = list(dict.fromkeys(key for values in found for key in values))
    return np.array([[math.log1p(abs(values.get(key, 0.0))) for key in keys] for values in found])


def of_panel(held: Treatment, texts: Sequence[str]) -> Iterator[str]:
    """The notes on one panel; each begins with the panel's levels."""
    label = _label(held, tuple(held))
    return (f"{label}: {text}" if label else text for text in texts)


def told(left: Left, where: str) -> Iterator[str]:
    """The notes on panels that a figure leaves out: the reason, and where their values are
    listed."""
    if left.others:
        total = left.shown + left.others
        yield (
            f"The {left.shown} of {total} panels that differ most from each other; "
            f"all values: {where}."
        )
    if left.alike:
        yield (
            "Not drawn, as they show the same as a panel that is, within the noise: "
            f"{_some(left.alike)}; their values: {where}."
        )
    if left.empty:
        yield f"Not drawn, as every value is zero: {_some(left.empty)}."


def _some(labels: Sequence[str]) -> str:
    return (
        listed(labels)
        if len(labels) <= 6
        else f"{listed([*labels[:5], f'{len(labels) - 5} more'])}"
    )
