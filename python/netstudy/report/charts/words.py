"""Titles and axes of charts in words."""

from __future__ import annotations

from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.report.numbers import full_level, level_text
from netstudy.wire import Level, Treatment


def against(title: str, panel: Panel) -> str:
    """The title of a metric against x."""
    return held(f"{title} against {panel.x}" if panel.x else title, panel.fixed)


def held(title: str, fixed: Treatment) -> str:
    """A title with the held levels in brackets."""
    told = ", ".join(f"{factor} {level_text(level)}" for factor, level in fixed.items())
    return f"{title}{f' ({told})' if told else ''}"


def axis(metric: Metric) -> str:
    """The unit of a metric, with the amount of work that a value refers to: "ms an iteration"."""
    return f"{metric.unit}{metric.per}"


def subtitle(metric: Metric, more: str = "") -> str:
    """Which direction is better, and further notes. The unit is on the axis."""
    return "; ".join(part for part in (metric.better, more) if part)


def series_name(factor: str | None, level: Level | None) -> str:
    """The name of a line: the level of the series factor."""
    return "" if factor is None else full_level(factor, level)
