"""Charts (`Drawn`, `Lines`, `Grid`, `Plot`, `TimeBars`), drawn as SVG or as interactive figures.

The modules `metric`, `curves` and `asked` make charts from results; `multiples` joins the charts of
several panels.
"""

from __future__ import annotations

import json

from netstudy.report import rendering
from netstudy.report.charts.curves import Lines, curves_chart
from netstudy.report.charts.distributions import Plot
from netstudy.report.charts.grid import Grid, GridCell
from netstudy.report.charts.metric import metric_chart, overlay_chart
from netstudy.report.charts.plot import Drawn
from netstudy.report.charts.style import NARROW, WIDE, Size, Style
from netstudy.report.charts.time_bars import TimeBars
from netstudy.report.charts.words import held

__all__ = [
    "NARROW",
    "WIDE",
    "Chart",
    "Drawn",
    "Grid",
    "GridCell",
    "Lines",
    "Plot",
    "Size",
    "Style",
    "TimeBars",
    "curves_chart",
    "held",
    "metric_chart",
    "overlay_chart",
    "specification",
    "svg",
]

Chart = Drawn | Lines | Grid | Plot | TimeBars


def specification(drawn: Chart, size: Size) -> str:
    """The chart as a Vega-Lite specification, in JSON."""
    return json.dumps(drawn.spec(size), ensure_ascii=False)


def svg(drawn: Chart, size: Size) -> str:
    """The chart as SVG text, without a browser."""
    return rendering.svg(specification(drawn, size))
