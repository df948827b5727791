"""A few SVG shapes as text, for drawings other than charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

INK = "#222222"
FAINT = "#666666"
FONT = "Helvetica, Arial, sans-serif"


@dataclass
class Drawing:
    """An SVG drawing of a fixed size; shapes are drawn in the order of the calls."""

    width: int
    height: int
    parts: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, w: float, h: float, fill: str, radius: int = 5) -> None:
        """A rectangle with rounded corners and an outline."""
        self._add("rect", x=x, y=y, width=w, height=h, rx=radius, fill=fill, stroke=INK)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, colour: str = INK, dash: str = ""
    ) -> None:
        """A straight line."""
        extra = {"stroke-dasharray": dash} if dash else {}
        self._add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour, **extra)

    def arrow(self, x1: float, y1: float, x2: float, y2: float, colour: str = INK) -> None:
        """A line with an arrowhead at its end, pointing up or down."""
        self.line(x1, y1, x2, y2, colour)
        back = -6 if y2 > y1 else 6
        points = f"{x2},{y2} {x2 - 3.5},{y2 + back} {x2 + 3.5},{y2 + back}"
        self._add("polygon", points=points, fill=colour)

    def dots(self, x: float, y: float) -> None:
        """Three dots below each other, for omitted items; y is the middle one. They are drawn,
        because few fonts have a vertical ellipsis."""
        for down in (-5, 0, 5):
            self._add("circle", cx=x, cy=y + down, r=1.3, fill=INK)

    def text(
        self,
        x: float,
        y: float,
        lines: str | Sequence[str],
        *,
        size: int = 14,
        anchor: str = "start",
        bold: bool = False,
        colour: str = INK,
        width: float | None = None,
    ) -> None:
        """Lines of text; y is the baseline of the first. A line that is wider than `width` gets a
        smaller font."""
        for index, line in enumerate([lines] if isinstance(lines, str) else lines):
            needed = text_width(line, size, bold=bold)
            attributes: dict[str, object] = {
                "x": x,
                "y": y + index * (size + 3),
                "font-size": size if width is None or needed <= width else size * width / needed,
                "text-anchor": anchor,
                "font-weight": "bold" if bold else "normal",
                "fill": colour,
            }
            self.parts.append(f"<text{_attributes(attributes)}>{escape(line)}</text>")

    def render(self) -> str:
        """The drawing as SVG text."""
        head = {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {self.width} {self.height}",
            "width": self.width,
            "height": self.height,
            "font-family": FONT,
            "stroke-width": 1.2,
        }
        paper = f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>'
        return f"<svg{_attributes(head)}>{paper}{''.join(self.parts)}</svg>"

    def _add(self, tag: str, **attributes: object) -> None:
        self.parts.append(f"<{tag}{_attributes(attributes)}/>")


def text_width(line: str, size: float, *, bold: bool = False) -> float:
    """An upper estimate of the width of a line in Helvetica or Arial, whose letters are about 0.5
    em wide."""
    return len(line) * size * (0.6 if bold else 0.55)


def _attributes(attributes: dict[str, object]) -> str:
    return "".join(f" {name}={quoteattr(_plain(value))}" for name, value in attributes.items())


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
