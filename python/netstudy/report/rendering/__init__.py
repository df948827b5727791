"""Draws charts as SVG, and SVG as PNG, with vl-convert, which needs no browser.

Texts are measured with the fonts of vl-convert, so that a chart is the same on every machine. The
machine's fonts are loaded only for letters that these fonts lack, since they double the time for a
chart.

vl-convert takes half a second to start, ten times as long as a chart takes. Therefore
`drawn_beside` starts it in a copy of this process before there is anything to draw. vl-convert
crashes on some texts. In the copy, a crash loses only the drawing that caused it, not the report.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from types import ModuleType

from netstudy.beside import beside
from netstudy.report.rendering.compact import compact

PNG_SCALE = 2
"""Pixels of a PNG per unit of the drawing, for screens and slides."""
_FONTS = "FONTCONFIG_FILE"
"""The environment variable with the path of fontconfig's file, which lists the folders of fonts;
vl-convert reads it once."""
_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts")
"""Folders of fonts on systems with fontconfig. On other systems, the machine's fonts are always
loaded."""
_OTHER_SCRIPTS = re.compile("[\u0530-\u1dff\u2e80-\U0010ffff]")
"""Letters of scripts other than Latin, Greek and Cyrillic."""

Draw = Callable[[Sequence[str]], Callable[[], list[str]]]
"""A function that begins to draw: specifications as SVG text, or SVG text as PNG in base64. It
returns a function that waits for the drawings and returns them in the same order; a failed drawing
is `LOST`."""
LOST = ""

_PLACES = re.compile(r' (?:d|transform|x|y|x1|x2|y1|y2|width|height)="[^"]*"')
_LONG = re.compile(r"\d+\.\d{3,}")


def _rounded(attribute: re.Match[str]) -> str:
    """Rounds coordinates to hundredths of a pixel: further digits are invisible, but take up a
    tenth of the page's size."""
    return _LONG.sub(lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), attribute[0])


def svg(specification: str) -> str:
    """A Vega-Lite specification, in JSON, as SVG text."""
    text: str = _renderer(specification).vegalite_to_svg(specification)
    return compact(_PLACES.sub(_rounded, text))


def png(drawing: str) -> bytes:
    """SVG text as PNG."""
    image: bytes = _renderer(drawing).svg_to_png(drawing, scale=PNG_SCALE)
    return image


@contextmanager
def drawn_beside() -> Iterator[Draw]:
    """Yields a function that draws in a forked copy of this process.

    If vl-convert already runs in this process, the function draws here instead: a fork has no copy
    of vl-convert's threads and could not draw (fork(2)).
    """
    if _with_own_fonts.cache_info().currsize > 0:
        yield drawn_here
        return
    with beside(_start, _drawn, _one_by_one) as draw:
        yield draw


def drawn_here(wanted: Sequence[str]) -> Callable[[], list[str]]:
    """Draws in this process, when the returned function is called. Exceptions of the renderer are
    not caught."""
    return lambda: list(map(_rendered, wanted))


def _drawn(wanted: str) -> str:
    """The drawing, or `LOST` if the renderer fails, so that an error loses only this drawing."""
    try:
        return _rendered(wanted)
    except Exception:
        return LOST


def _rendered(wanted: str) -> str:
    """Draws a specification as SVG text, or SVG text as PNG in base64."""
    return svg(wanted) if wanted.startswith("{") else b64encode(png(wanted)).decode()


def _one_by_one(wanted: Sequence[str]) -> list[str]:
    """Used after one of several drawings crashed the copy: draws one by one, and starts a new copy
    after each failure."""
    found: list[str] = []
    while len(found) < len(wanted):
        with beside(_start, _drawn, lambda pieces: [LOST] * len(pieces)) as draw:
            for piece in wanted[len(found) :]:
                found += draw([piece])()
                if found[-1] == LOST:
                    break
    return found


def _start() -> None:
    """Load fonts and start the layout engine of charts."""
    svg(json.dumps({"data": {"values": []}, "mark": "point"}))


def _renderer(text: str) -> ModuleType:
    """vl-convert, with the fonts that a text needs."""
    found = _with_own_fonts()
    if _OTHER_SCRIPTS.search(text):
        _add_fonts_of_the_machine()
    return found


@cache
def _with_own_fonts() -> ModuleType:
    import vl_convert

    with as_file(files(__package__) / "fonts.conf") as path, _variable(_FONTS, str(path)):
        vl_convert.register_font_directory("/nonexistent")  # loads the fonts
    return vl_convert


@cache
def _add_fonts_of_the_machine() -> None:
    for folder in _FOLDERS:
        _with_own_fonts().register_font_directory(str(Path(folder).expanduser()))


@contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    """Sets an environment variable within the block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
