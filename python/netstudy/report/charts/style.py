"""The look of charts: sizes, colours, dashes and shapes, title and configuration.

Charts are Vega-Lite specifications as plain data. Series differ in colour (Okabe & Ito's palette,
safe for colour-blind readers), in dash and in the shape of their points. For dark mode, the page
replaces exactly these colours (`report.css`), so no chart may use others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""
Row = Mapping[str, Any]
"""The data of one mark; `kind` selects the layer that draws it."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe & Ito (2008), darkest first."""
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 2, 1, 2], [1, 3])
LAW_DASHES = tuple(DASHES[k] for k in (0, 1, 3, 4))
"""Dashes of fitted laws, different from the short dashes of line rates and the dots of ideal
growth."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke")
INK = "#222222"
FAINT = "#666666"
GRID = "#dddddd"
PAPER = "#ffffff"
FONT = "Helvetica, Arial, sans-serif"
NUMBERS = ",~f"
"""Format of axis labels: as many decimals as the value needs, never powers of ten."""


@dataclass(frozen=True)
class Size:
    """Inner width and height of a chart in pixels, and its largest font."""

    width: int
    height: int
    font: int

    @property
    def is_wide(self) -> bool:
        """Whether panels and legends fit side by side."""
        return self.width > 400


WIDE = Size(520, 290, 13)
NARROW = Size(270, 230, 12)
"""The size for a phone held upright."""


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

    @property
    def fill(self) -> str:
        """Colour inside the points."""
        return self.ink if self.filled else PAPER

    @property
    def dashes(self) -> list[int]:
        """Lengths of dashes and gaps."""
        return DASHES[_turned(self.dash, len(DASHES))]

    @property
    def symbol(self) -> str:
        """Vega's name for the shape of the points."""
        return SHAPES[_turned(self.shape, len(SHAPES))]


def _turned(index: int, looks: int) -> int:
    """The index of a dash or shape. Each time the colours start again, it moves on by one, so that
    no two series look the same."""
    return (index + index // len(COLOURS)) % looks


DATA = {"name": "values"}
"""The data source that every layer refers to; the rows themselves are in `datasets`."""


PARAMETERS = (
    {"name": "hidden", "value": []},
    {"name": "zoomed", "value": False},
    {"name": "zoom_x", "value": None},
    {"name": "zoom_y", "value": None},
)
"""Settings that a reader of the page can change: hidden series, and the ranges of zoomed axes."""


def zoomed(axis: str, *, live: bool) -> Spec:
    """The property of a scale that zooming changes."""
    return {"domainRaw": {"expr": f"zoom_{axis}"}} if live else {}


def only(*kinds: str, also: str = "") -> list[Spec]:
    """The transform of a layer: it keeps only rows of these kinds, and no rows of hidden series."""
    chosen = " || ".join(f"datum.kind == '{kind}'" for kind in kinds)
    more = f" && ({also})" if also else ""
    return [{"filter": f"({chosen}){more} && indexof(hidden, datum.series) < 0"}]


def by_series(series: Mapping[str, Style], look: str, legend: Spec | None) -> Spec:
    """An encoding in which each series has its own look; `look` is `ink`, `fill`, `dashes` or
    `symbol`."""
    values = [getattr(style, look) for style in series.values()]
    scale = {"domain": list(series), "range": values}
    return {"field": "series", "type": "nominal", "scale": scale, "legend": legend}


def legend_of(series: Mapping[str, Style], size: Size, room: int | None = None) -> Spec | None:
    """A legend above the chart; None with fewer than two series."""
    if len(series) < 2:
        return None
    letters = max(map(len, series)) + 6
    fitting = (room or size.width) // (letters * size.font * 11 // 20)
    return {"title": None, "columns": max(1, fitting)}


def titles(title: str, subtitle: str, size: Size, width: int | None = None) -> Spec:
    """Title and subtitle in lines that fit."""
    room = width or size.width
    return {
        "text": wrapped(title, room, size.font),
        "subtitle": wrapped(subtitle, room, size.font),
        "anchor": "start",
    }


def axis_title(title: str, size: Size, room: int | None = None) -> str | list[str]:
    """The title of an axis, broken into lines that fit `room`, the length of the axis."""
    lines = wrapped(title, room or size.width, size.font)
    return title if len(lines) == 1 else lines


def wrapped(text: str, width: int, font: int) -> list[str]:
    """The text in lines that fit a width, broken between words."""
    fits = width // (font * 11 // 20)
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        lines = [*lines[:-1], longer] if len(longer) <= fits else [*lines, word]
    return lines


def whole(spec: Spec, rows: Iterable[Row], size: Size) -> Spec:
    """A specification with its rows, its parameters and the look that all charts share."""
    return {
        "data": DATA,
        "datasets": {DATA["name"]: list(rows)},
        "config": _config(size),
        **spec,
        "params": [*PARAMETERS, *spec.get("params", ())],
    }


def _config(size: Size) -> Spec:
    small = size.font - 1
    return {
        "font": FONT,
        "background": PAPER,
        "padding": 8,
        # The page describes each figure as one image; descriptions of single marks would only
        # disturb.
        "aria": False,
        "view": {"stroke": None},
        "title": {
            "fontSize": size.font + 3,
            "subtitleFontSize": size.font,
            "color": INK,
            "subtitleColor": FAINT,
            "offset": 10,
        },
        "axis": {
            "labelFontSize": small,
            "titleFontSize": small,
            "labelColor": INK,
            "titleColor": INK,
            "gridColor": GRID,
            "domainColor": FAINT,
            "tickColor": FAINT,
            "titleFontWeight": "normal",
        },
        "axisY": {"minExtent": size.font * 3},
        "header": {"labelFontSize": size.font, "labelColor": INK, "labelFontWeight": "bold"},
        "legend": {
            "orient": "top",
            "labelFontSize": size.font,
            "labelColor": INK,
            "labelLimit": size.width,
            "symbolStrokeWidth": 1.5,
            "symbolDash": [1, 0],
            "symbolSize": 90,
            "symbolOpacity": 1,
            "offset": 4,
        },
    }
