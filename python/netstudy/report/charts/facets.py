"""Panels on shared axes: a chart drawn once for each combination of held levels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from netstudy.report.charts.style import Row, Size, Spec, titles, whole, wrapped

_PAGE = 900
"""Inner width of a row of panels on a wide page."""
_COLUMNS = (4, 3, 5)
"""Possible numbers of panels per row, the most legible first."""
_BETWEEN = 36
"""Gap between panels: room for half a label on either side."""
_BETWEEN_AXES = 120
"""Gap between panels if each has its own axes."""
_NARROW_PANEL = Size(270, 120, 12)


@dataclass(frozen=True)
class PanelName:
    """The levels of one panel."""

    levels: tuple[str, ...]
    """One level for each factor, in the order of the factors."""
    label: str
    is_shown: bool = True
    """If false, the panel is only shown to a reader who chooses its levels."""


@dataclass(frozen=True)
class Facets:
    """The panels of a chart, in their order."""

    factors: tuple[str, ...]
    panels: tuple[PanelName, ...]

    def named(self, index: int) -> dict[str, Any]:
        """The fields that are added to each row of a panel: the panel's label and levels."""
        panel = self.panels[index]
        levels = {f"f{number}": level for number, level in enumerate(panel.levels)}
        return {"panel": panel.label, "shown": panel.is_shown, **levels}

    @property
    def shown(self) -> tuple[PanelName, ...]:
        """The panels that are shown at first."""
        return tuple(panel for panel in self.panels if panel.is_shown)

    def levels(self, number: int) -> tuple[str, ...]:
        """The levels of a factor, each once."""
        return tuple(dict.fromkeys(panel.levels[number] for panel in self.panels))


class Faceted(Protocol):
    """A chart that can be drawn in several panels."""

    @property
    def title(self) -> str:
        """Its heading."""

    @property
    def subtitle(self) -> str:
        """The line below it."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every row."""

    def unit(self, size: Size, *, live: bool, room: int | None = None) -> Spec:
        """The layers of one panel."""


def faceted(drawn: Faceted, facets: Facets, size: Size, *, live: bool) -> Spec:
    """The panels of a chart, wrapped into rows; on a phone one below the other."""
    count = len(facets.shown)
    columns = _columns(count) if size.is_wide else 1
    between = _BETWEEN_AXES if getattr(drawn, "y2", None) is not None else _BETWEEN
    panel = _panel_size(columns, between) if size.is_wide else _NARROW_PANEL
    labels = [one.label for one in (facets.panels if live else facets.shown)]
    room = panel.width * 11 // 12  # bold letters are wider
    named = {label: wrapped(label, room, panel.font) for label in labels}
    lines = max(map(len, named.values()), default=1)
    field: Spec = {"field": "panel", "type": "nominal", "title": None, "sort": labels}
    if lines > 1:
        field["header"] = {"labelExpr": f"({json.dumps(named)})[datum.label]"}
    rows = drawn.rows()
    unit = drawn.unit(panel, live=live, room=_PAGE if size.is_wide else None)
    spec: Spec = {
        "title": titles(drawn.title, drawn.subtitle, size, _PAGE if size.is_wide else None),
        "facet": field,
        "columns": columns,
        "bounds": "flush",
        "spacing": {
            "row": (70 if count % columns else 40) + (lines - 1) * (panel.font + 4),
            "column": between,
        },
        "spec": unit,
    }
    resolved: dict[str, Spec] = {}
    if count % columns:  # a shared axis would also be drawn below empty places in the last row
        resolved["axis"] = {"x": "independent"}
    if between == _BETWEEN_AXES:  # panels cannot share two y axes
        resolved["scale"] = {"y": "independent"}
    if resolved:
        spec["resolve"] = resolved
    if live:
        spec |= {"transform": [{"filter": _chosen(facets)}]}
        spec["params"] = [{"name": f"f{n}", "value": ""} for n in range(len(facets.factors))]
        return whole(spec, rows, size)
    return whole(spec, (row for row in rows if row.get("shown", True)), size)


def _columns(count: int) -> int:
    """The number of panels per row with the fewest empty places."""
    if count < min(_COLUMNS):
        return max(1, count)
    return min(_COLUMNS, key=lambda columns: (-count % columns, _COLUMNS.index(columns)))


def _panel_size(columns: int, between: int) -> Size:
    width = min(420, _PAGE // columns - between)
    return Size(width, max(130, min(220, width * 2 // 3)), 13)


def _chosen(facets: Facets) -> str:
    """The filter of panels. At first it keeps only the panels shown initially; once a level is
    chosen, it keeps every panel with this level."""
    names = [f"f{number}" for number in range(len(facets.factors))]
    nothing = " && ".join(f"{name} == ''" for name in names)
    match = " && ".join(f"({name} == '' || datum.{name} == {name})" for name in names)
    return f"({nothing}) ? datum.shown : ({match})"


def placed(rows: tuple[Row, ...], facets: Facets, index: int) -> Iterator[dict[str, Any]]:
    """The rows of a chart, with the fields of its panel added."""
    for row in rows:
        yield {**row, **facets.named(index)}
