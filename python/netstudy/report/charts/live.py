"""The data and the library that make the page's figures interactive.

The page has one compressed copy of the drawing library: Vega-Embed with Vega and Vega-Lite, bundled
by vl-convert, in the same release that draws the static SVG. It is written by `python -m
tools.figure_library`.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from netstudy.report.charts.curves import Lines
from netstudy.report.charts.distributions import CHOSEN, Plot
from netstudy.report.charts.facets import Facets
from netstudy.report.charts.grid import Grid
from netstudy.report.charts.plot import Drawn
from netstudy.report.charts.style import DATA, NARROW, WIDE, Row, Style
from netstudy.report.charts.time_bars import TimeBars

LIBRARY = "vega.js.gz"
SNIPPET = "window.netstudyEmbed = vegaEmbed;"
"""The end of the bundle, which makes the function `vegaEmbed` available to the page."""
_DIGITS = 7
"""Significant digits of values in the page; cells.csv has all of them."""


def library() -> str:
    """The drawing library, compressed by gzip and written as base64."""
    return b64encode((files(__package__) / LIBRARY).read_bytes()).decode()


def packed(found: Any) -> str:
    """JSON, compressed by gzip and written as base64: a tenth of the size, because figures have
    much in common."""
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def payload(drawn: Drawn | Lines | Grid | Plot | TimeBars) -> Mapping[str, Any]:
    """The data of a figure in JSON: its specification for a wide and for a narrow page, its rows,
    and the settings that a reader may change."""
    wide, narrow = (drawn.spec(size, live=True) for size in (WIDE, NARROW))
    rows = wide.pop("datasets")[DATA["name"]]
    del narrow["datasets"]
    series = {} if isinstance(drawn, Grid | TimeBars) else drawn.series
    return {
        "wide": wide,
        "narrow": narrow,
        "rows": [dict(_brief(row)) for row in rows],
        "series": [_look(name, style) for name, style in series.items()],
        "filters": list(_filters(drawn)),
        "axes": _axes(drawn),
        "x": drawn.x,
        "y": drawn.y,
        "decimals": drawn.decimals if isinstance(drawn, Drawn | Plot) else 2,
    }


def _axes(drawn: Drawn | Lines | Grid | Plot | TimeBars) -> list[str]:
    """The axes that can be zoomed."""
    if isinstance(drawn, Grid | TimeBars):
        return []
    if isinstance(drawn, Plot):
        return list(drawn.axes)
    if isinstance(drawn, Drawn) and not drawn.x_numeric:
        return []
    return ["x"] if drawn.y2 is not None else ["x", "y"]


def _brief(row: Row) -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, float):
            yield key, float(f"{value:.{_DIGITS}g}")
        elif value is not None:
            yield key, value


def _look(name: str, style: Style) -> Mapping[str, Any]:
    looks = {"ink": style.ink, "fill": style.fill, "symbol": style.symbol}
    return {"name": name, **looks, "dash": style.dashes}


def _filters(drawn: Drawn | Lines | Grid | Plot | TimeBars) -> Iterator[Mapping[str, Any]]:
    """The controls of a figure with panels: one for each factor of the panels, or one that chooses
    a panel."""
    if isinstance(drawn, Plot):
        if drawn.is_chosen:
            levels = list(drawn.panels)
            yield {"factor": drawn.along, "signal": CHOSEN, "levels": levels, "first": "all"}
    elif not isinstance(drawn, Grid | TimeBars) and drawn.facets is not None:
        yield from _of_factors(drawn.facets)


def _of_factors(facets: Facets) -> Iterator[Mapping[str, Any]]:
    """A control for each factor, which chooses one of its levels. As long as nothing is chosen, the
    panels shown initially remain."""
    every = len(facets.shown) == len(facets.panels)
    for number, factor in enumerate(facets.factors):
        first = "all" if every else f"the {len(facets.shown)} drawn"
        levels = facets.levels(number)
        yield {"factor": factor, "signal": f"f{number}", "levels": levels, "first": first}
