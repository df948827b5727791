"""Specifications and drawings as SVG and PNG, without a browser: by vl-convert.

Texts are measured in the fonts that vl-convert brings along, so that a chart is the same on every
machine. The machine's own fonts are read from files, once for each letter: with them a chart takes
twice the time. They are taken for letters that the others lack.

It takes vl-convert half a second to start, ten times as long as a chart: `drawn_beside` has a copy
of this process start it while there is nothing to draw yet.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from types import ModuleType

from netstudy.beside import beside
from netstudy.report.rendering.compact import compact

PNG_SCALE = 2
"""Pixels of a PNG in each of the drawing, for screens and slides."""
_FONTS = "FONTCONFIG_FILE"
"""Names the file that says where fonts are; read when vl-convert loads them, which it does once."""
_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts")
"""Where systems with fontconfig keep fonts; others have them loaded in any case."""
_OTHER_SCRIPTS = re.compile("[\u0530-\u1dff\u2e80-\U0010ffff]")
"""Letters beyond Latin, Greek and Cyrillic ones."""

Draw = Callable[[Sequence[str]], Callable[[], list[str]]]
"""Begins to draw specifications; what it returns waits for the drawings, in the same order."""

_PLACES = re.compile(r' (?:d|transform|x|y|x1|x2|y1|y2|width|height)="[^"]*"')
_LONG = re.compile(r"\d+\.\d{3,}")


def _rounded(attribute: re.Match[str]) -> str:
    """A place in hundredths of a pixel: more digits are a tenth of a page and cannot be seen."""
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
    """What the block calls to have specifications drawn as SVG text: by a copy of this process.

    They are drawn here where vl-convert already runs in this process: a forked copy has none of its
    threads and could not draw (fork(2)). So are they with one processor.
    """
    if len(os.sched_getaffinity(0)) == 1 or _with_own_fonts.cache_info().currsize > 0:
        yield drawn_here
        return
    with beside(_start, svg) as draw:
        yield draw


def drawn_here(specifications: Sequence[str]) -> Callable[[], list[str]]:
    """Specifications as SVG text, drawn by this process when they are asked for."""
    return lambda: [svg(specification) for specification in specifications]


def _start() -> None:
    """Load fonts and start the engine that charts are laid out by."""
    svg(json.dumps({"data": {"values": []}, "mark": "point"}))


def _renderer(text: str) -> ModuleType:
    """vl-convert with fonts for a text."""
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
    """An environment variable that is set for a moment."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
