"""Stacked bars of the time of units of work: a bar for each group, a segment for each part.

Every bar has the same length, so that bars of 1 ms and of 200 ms can be read side by side; its time
is written at its end. A part of which only bounds are known has a solid segment for its lower bound
and a hatched one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from netstudy.analysis.accounts import Family, TimePart, UnitTime
from netstudy.report.charts.grid import GREYS, SHADE_INK
from netstudy.report.charts.style import (
    COLOURS,
    FAINT,
    INK,
    NARROW,
    PAPER,
    WIDE,
    Size,
    Spec,
    only,
    titles,
    whole,
    wrapped,
)
from netstudy.report.time_words import FAMILY_NAMES, by_name, high_s, low_s, place_name, time_text

LABELLED_PCT: Final = 8.0
"""Segments from this share on have a label."""
_MERGED_PCT: Final = 1.0
"""Smaller parts of a family are drawn as one."""
_LOOKS: Final[dict[Family, tuple[str, str]]] = {
    "work": (COLOURS[2], SHADE_INK),
    "wire": (COLOURS[5], SHADE_INK),
    "window": (COLOURS[0], PAPER),
    "queue": (COLOURS[4], SHADE_INK),
    "timer": (COLOURS[1], SHADE_INK),
    "slot": (COLOURS[3], SHADE_INK),
    "think": (GREYS[1], INK),
    "not known": (FAINT, PAPER),
}
"""Family -> the colour of its segments and of their labels, legible in dark mode too."""
_WIDE: Final = 680
"""Inner width on a wide page."""
_BAR, _ROW, _ROW_NARROW = 22, 28, 42
"""Height of a bar, and of a row; on a phone, the name of a bar is above it."""
_HATCH_PCT: Final = 0.8
"""Distance of the lines of a hatched segment; on a phone, every second one is drawn."""
_LABELS: Final = {"label": (_WIDE, WIDE.font - 2), "brief": (NARROW.width, NARROW.font - 2)}
"""Field of the label -> the inner width and the font for which it is made."""
_LETTER: Final = 0.55
"""Usual width of a letter ÷ font size."""


@dataclass(frozen=True)
class Bar:
    """The time of a group of units, and the name of the bar."""

    name: str
    time: UnitTime


@dataclass(frozen=True)
class Block:
    """Bars below a heading; it may be empty."""

    heading: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class TimeBars:
    """Blocks of bars."""

    title: str
    subtitle: str
    blocks: tuple[Block, ...]
    x = "share of the time, %"
    y = ""

    def spec(self, size: Size, *, live: bool = False) -> Spec:
        """The bars in Vega-Lite, one block below the other."""
        width = _WIDE if size.is_wide else size.width
        spec = {
            "title": titles(self.title, self.subtitle, size, width),
            "vconcat": [
                self._block(place, size, width, live=live) for place in range(len(self.blocks))
            ],
            "spacing": 22,
        }
        return whole(spec, self.rows(), size)

    @property
    def families(self) -> tuple[Family, ...]:
        """The families with a segment, in the order of the bars."""
        found = {row["series"] for row in self.rows() if row["kind"] == "segment"}
        return tuple(family for family, name in FAMILY_NAMES.items() if name in found)

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each bar, each segment, and each line of a hatched segment."""
        for place, block in enumerate(self.blocks):
            for bar in block.bars:
                shared = {"block": place, "row": bar.name}
                ends = {"left": 0, "right": 100, "text": time_text(bar.time.whole_s)}
                yield {"kind": "bar-end", **shared, **ends}
                for row in _segments(bar):
                    yield {**shared, **row}

    def _block(self, place: int, size: Size, width: int, *, live: bool) -> Spec:
        block, is_last = self.blocks[place], place == len(self.blocks) - 1
        names = [bar.name for bar in block.bars]
        own = f"datum.block == {place}"
        x: Spec = {
            "field": "left",
            "type": "quantitative",
            "scale": {"domain": [0, 100]},
            "title": self.x if is_last else None,
            "axis": {"tickCount": 5, "grid": False, "labels": is_last, "ticks": is_last},
        }
        axis = {"title": None, "labelLimit": 220, "domain": False, "ticks": False}
        y: Spec = {"field": "row", "type": "nominal", "sort": names}
        y["axis"] = axis if size.is_wide else None
        shift = {} if size.is_wide else {"yOffset": 8}
        tip = {"tooltip": {"content": "data"}} if live else {}
        family = {
            "field": "series",
            "type": "nominal",
            "scale": {
                "domain": [FAMILY_NAMES[one] for one in self.families],
                "range": [_LOOKS[one][0] for one in self.families],
            },
            "legend": {"title": None, "columns": 8 if size.is_wide else 3, "offset": 10},
        }
        bar = {"type": "bar", "height": _BAR, "stroke": PAPER, "strokeWidth": 1, **shift, **tip}
        line = {"type": "tick", "orient": "vertical", "size": _BAR, "thickness": 1.2}
        label = {"type": "text", "fontSize": size.font - 2, **shift, **tip}
        dense = "true" if size.is_wide else "datum.place == 0"
        ink = {"field": "ink", "type": "nominal", "scale": None, "legend": None}
        field = "label" if size.is_wide else "brief"
        layers = [
            {
                "transform": only("segment", also=own),
                "mark": bar,
                "encoding": {"x": x, "x2": {"field": "right"}, "y": y, "fill": family},
            },
            {
                "transform": only("line", also=f"{own} && {dense}"),
                "mark": {**line, "color": PAPER, **shift},
                "encoding": {"x": x, "y": y},
            },
            {
                "transform": only("segment", also=f"{own} && datum.{field} != ''"),
                "mark": label,
                "encoding": {
                    "x": {**x, "field": "middle"},
                    "y": y,
                    "text": {"field": field},
                    "color": ink,
                },
            },
            *self._ends(own, x, y, size),
        ]
        heading = {
            "text": wrapped(block.heading, width, size.font),
            "fontSize": size.font,
            "anchor": "start",
            "frame": "group",
            "offset": 4,
        }
        row = _ROW if size.is_wide else _ROW_NARROW
        body: Spec = {"width": width, "height": {"step": row}, "layer": layers}
        return {**body, "title": heading} if block.heading else body

    def _ends(self, own: str, x: Spec, y: Spec, size: Size) -> Iterator[Spec]:
        """The time at the end of each bar; on a phone above it, after the name."""
        mark: Spec = {"type": "text", "fontSize": size.font - 1, "color": INK, "align": "left"}
        text: Spec = {"field": "text"}
        if size.is_wide:
            mark["dx"], x = 6, {**x, "field": "right"}
        else:
            mark |= {"dy": -12}
            text = {"field": "headed"}
        yield {
            "transform": [
                *only("bar-end", also=own),
                {"calculate": "datum.row + ': ' + datum.text", "as": "headed"},
            ],
            "mark": mark,
            "encoding": {"x": x, "y": y, "text": text},
        }


def _segments(bar: Bar) -> Iterator[dict[str, Any]]:
    """The segments of a bar from left to right, and the lines of hatched ones."""
    time, left = bar.time, 0.0
    room = max(0.0, time.whole_s - low_s(time.parts))
    spread = high_s(time.parts) - low_s(time.parts)
    for family, name, parts in _drawn_parts(time):
        low = low_s(parts)
        more = high_s(parts) - low
        # Upper bounds may add up to more than the whole, so they share the room that is left.
        open_s = room * more / spread if spread > 0 else 0.0
        for length, is_bound in ((low, False), (open_s, True)):
            if length <= 0:
                continue
            right = left + 100 * length / time.whole_s
            labels = _labels(family, name, parts, right - left)
            yield {
                "kind": "segment",
                "left": round(left, 4),
                "right": round(right, 4),
                "middle": round((left + right) / 2, 4),
                "series": FAMILY_NAMES[family],
                "ink": _LOOKS[family][1],
                "facet": bar.name,
                "text": f"{name}: {_told(low, low + more)}",
                **(dict.fromkeys(labels, "") if is_bound else labels),
            }
            if is_bound:
                yield from _hatch(left, right)
            left = right


def _drawn_parts(time: UnitTime) -> Iterator[tuple[Family, str, list[TimePart]]]:
    """The parts in the order of the bar with their names, small ones of a family together."""
    for family in FAMILY_NAMES:
        small: list[TimePart] = []
        for name, parts in by_name(time, family).items():
            if 100 * high_s(parts) >= _MERGED_PCT * time.whole_s:
                yield family, name, parts
            else:
                small += parts
        if small:
            yield family, "smaller parts", small


def _told(low: float, high: float) -> str:
    return time_text(low) if low == high else f"{time_text(low)} to {time_text(high)}"


def _labels(
    family: Family, name: str, parts: Sequence[TimePart], share_pct: float
) -> dict[str, str]:
    """The label in each size: the longest name that fits, or none."""
    names = [name, *({place_name(part.key.place) for part in parts} - {name}), family]
    if family == "window":
        names = [name, family]
    found = {}
    for field, (width, font) in _LABELS.items():
        room = share_pct * width / 100
        fitting = (one for one in names if len(one) * font * _LETTER + 6 <= room)
        found[field] = next(fitting, "") if share_pct >= LABELLED_PCT else ""
    return found


def _hatch(left: float, right: float) -> Iterator[dict[str, Any]]:
    number = int((right - left) / _HATCH_PCT)
    return (
        {"kind": "line", "left": round(left + (k + 0.5) * _HATCH_PCT, 4), "place": k % 2}
        for k in range(number)
    )


def in_words(blocks: Iterable[Block]) -> str:
    """The bars in words, for readers who do not see them."""
    return " ".join(
        f"{bar.name}{f' ({block.heading})' if block.heading else ''}: "
        f"{time_text(bar.time.whole_s)}, {_shares(bar.time)}."
        for block in blocks
        for bar in block.bars
    )


def _shares(time: UnitTime) -> str:
    shares = ((family, 100 * time.family_s(family) / time.whole_s) for family in time.families)
    return ", ".join(f"{FAMILY_NAMES[one]} {share:.0f} %" for one, share in shares if share >= 1)
