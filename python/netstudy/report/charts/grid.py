"""Matrices of two factors: heat maps and winners."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from netstudy.report.charts.style import COLOURS, FAINT, INK, PAPER, Size, Spec, titles, whole

GREYS = ("#ffffff", "#e3e3e3")
"""Colours of cells whose levels are equal, and of undecided cells."""
SHADE_INK, SHADE_PAPER = "#212121", "#fefefe"
"""Text colours on shaded cells, which dark mode does not change."""
_WIDE_SPAN = 20
"""If the largest value ÷ the smallest exceeds this, shades follow the logarithms of the values."""
_FACET_COLUMNS = 3


@dataclass(frozen=True)
class GridCell:
    """A cell of a grid."""

    x: str
    y: str
    facet: str
    """The held levels of the grid that the cell belongs to; empty if there is only one grid."""
    text: str
    kind: str = ""
    """Kind of the cell, which determines its colour if kinds have colours."""
    value: float | None = None
    """Value of the cell, which determines its shade if values are shaded."""


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
    """The kinds of cells: first the kinds with a colour of their own, then the two grey kinds.
    Empty if cells are shaded by value."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each cell."""
        return (vars(cell) for cell in self.cells)

    def spec(self, size: Size, *, live: bool = False) -> Spec:
        """The matrices in Vega-Lite, several of them side by side."""
        facets = list(dict.fromkeys(cell.facet for cell in self.cells))
        columns = max(1, min(len(facets), _FACET_COLUMNS if size.is_wide else 1))
        spec: Spec = self._unit(size, columns, live=live)
        if len(facets) > 1:
            by = {"field": "facet", "type": "nominal", "title": None, "sort": facets}
            spec = {"facet": by, "columns": columns, "spec": spec}
        return whole(spec | {"title": titles(self.title, self.subtitle, size)}, self.rows(), size)

    def _unit(self, size: Size, columns: int, *, live: bool) -> Spec:
        x: Spec = {"field": "x", "type": "nominal", "title": self.x, "sort": list(self.x_levels)}
        y = {"field": "y", "type": "nominal", "title": self.y, "sort": list(self.y_levels)}
        side = self._side(size, columns)
        x["axis"] = {"labelAngle": 0}
        if max(map(len, self.x_levels), default=0) * size.font // 2 > side:
            x["axis"]["labelExpr"] = "split(datum.label, ' ')"  # one word per line
        fill, is_dark, dark, light = self._colours()
        tip = {"tooltip": {"content": "data"}} if live else {}
        rect = {"type": "rect", "stroke": FAINT, "strokeWidth": 0.5, **tip}
        ink = {"condition": {"test": is_dark, "value": light}, "value": dark}
        return {
            "width": side * len(self.x_levels),
            "height": 34 * len(self.y_levels),
            "layer": [
                {"mark": rect, "encoding": {"x": x, "y": y, "color": fill}},
                {
                    "mark": {"type": "text", "fontSize": size.font - 2, **tip},
                    "encoding": {"x": x, "y": y, "text": {"field": "text"}, "color": ink},
                },
            ],
        }

    def _side(self, size: Size, columns: int) -> int:
        """Width of a cell."""
        side = (size.width - 60 * columns) // (columns * max(1, len(self.x_levels)))
        longest = max((len(cell.text) for cell in self.cells), default=0)
        return max(min(64, side), 12 + longest * size.font // 2)

    def _colours(self) -> tuple[Spec, str, str, str]:
        """The fill of cells, the condition for light text, and the colours of dark and light text,
        in this order."""
        if self.kinds:
            colours = [*COLOURS[: len(self.kinds) - 2], *GREYS]
            scale: Spec = {"domain": list(self.kinds), "range": colours}
            fill = {"field": "kind", "type": "nominal", "scale": scale, "legend": None}
            return fill, f"indexof({json.dumps(self.kinds[-2:])}, datum.kind) < 0", INK, PAPER
        values = [cell.value for cell in self.cells if cell.value is not None]
        low, high = min(values, default=0.0), max(values, default=1.0)
        scale, limit = {"scheme": "blues"}, low + (high - low) * 0.6
        if low > 0 and high / low > _WIDE_SPAN:
            scale, limit = {"scheme": "blues", "type": "log"}, low * (high / low) ** 0.6
        fill = {"field": "value", "type": "quantitative", "scale": scale, "legend": None}
        return fill, f"datum.value > {limit}", SHADE_INK, SHADE_PAPER
