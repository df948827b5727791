"""A metric against x, a line for each level of the series; and published values beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from netstudy.analysis.cells import CellRow
from netstudy.analysis.intervals import Estimate
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.reference import PanelReference
from netstudy.analysis.verdict import VerdictTable
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.report.charts.plot import Drawn
from netstudy.report.charts.style import Row, Style
from netstudy.report.charts.words import against, axis, held, series_name, subtitle
from netstudy.report.numbers import full_level, level_text, number_text
from netstudy.wire import Level

POINTS_SHOWN = 120
"""With at most this many runs in a panel, every run is drawn as a small point of its own."""
_SEEN = 0.1
"""Where values reach less of the line rate, it is told and not drawn: it would flatten them."""


def metric_chart(
    panel: Panel,
    metric: Metric,
    workload: WorkloadAnalysis,
    title: str | None = None,
    verdicts: Sequence[VerdictTable] = (),
) -> Drawn:
    """A metric against x, one line for each level of the series; `title` is the study's own, and
    `verdicts` those on this metric: where the lead changes is marked, and the margin shaded."""
    points = [point for level in panel.series_levels for point in _points(panel, level, metric)]
    told = ["bars: 95 % interval"] if any(point["low"] is not None for point in points) else []
    rules = rate_rules([*panel.cells.values()], metric, workload)
    if rules and max(point["y"] or 0 for point in points) < rules[0]["y"] * _SEEN:
        told.append(f"line rate {number_text(rules[0]['y'], 0)} is far above")
        rules = []
    band = _band(panel, metric, verdicts[0]) if verdicts and panel.x_numeric else []
    if band:
        base = full_level(verdicts[0].factor, verdicts[0].base)
        told.append(f"shaded: {base} ± {verdicts[0].margin_pct:g}\u00a0%")
    return Drawn(
        title=held(title, panel.fixed) if title else against(metric.title, panel),
        subtitle=subtitle(metric, "; ".join(told)),
        x=panel.x or panel.series or "",
        x_numeric=panel.x_numeric,
        y=axis(metric),
        series={
            series_name(panel.series, v): Style(i, i, i) for i, v in enumerate(panel.series_levels)
        },
        points=points,
        runs=_run_points(panel, metric),
        rules=rules,
        marks=[mark for table in verdicts for mark in _crossings(table)] if panel.x_numeric else (),
        band=band,
        decimals=metric.decimals,
    )


def _crossings(table: VerdictTable) -> Iterator[dict[str, Any]]:
    for one in table.crossovers:
        yield {"x": one.before, "text": f"{full_level(table.factor, one.to_level)} overtakes"}


def _band(panel: Panel, metric: Metric, table: VerdictTable) -> list[dict[str, Any]]:
    """Values that differ from the base level by the margin."""
    margin = (table.margin_pct or 0.0) / 100
    cells = [(x, panel.cell(x, table.base)) for x in panel.x_levels]
    values = [(x, cell.value(metric) if cell else None) for x, cell in cells]
    return [
        {"x": x, "low": value * (1 - margin), "high": value * (1 + margin)}
        for x, value in values
        if value is not None and margin
    ]


def overlay_chart(panel: Panel, metric: Metric, reference: PanelReference) -> Drawn:
    """Published values as points beside the line of the study's own, a pair for each level."""
    series: dict[str, Style] = {}
    points: list[Row] = []
    for index, one in enumerate(reference.of(metric)):
        for kind, style in (
            (reference.here, Style(index, 0, index)),
            ("published", Style(index, 1, index, filled=False)),
        ):
            label = f"{level_text(one.level)} {kind}".strip()
            series[label] = style
            points += [
                estimate_point(row.x, label, row.estimate, panel)
                if kind != "published"
                else _point(row.x, label, row.published, panel.x_numeric)
                for row in one.rows
            ]
    return Drawn(
        title=f"{metric.title}: published and {reference.here}",
        subtitle=subtitle(metric),
        x=panel.x or "",
        x_numeric=panel.x_numeric,
        y=axis(metric),
        series=series,
        points=points,
        decimals=metric.decimals,
    )


def _points(panel: Panel, level: Any, metric: Metric) -> list[Row]:
    found: list[Row] = []
    for x in panel.x_levels:
        cell = panel.cell(x, level)
        estimate = cell.estimate(metric) if cell else None
        name = series_name(panel.series, level)
        found.append(estimate_point(x if panel.x else level, name, estimate, panel))
    return found


def estimate_point(
    x: Level | None, series: str, estimate: Estimate | None, panel: Panel
) -> dict[str, Any]:
    """A value with the ends of its interval and its runs, if it has them."""
    interval = estimate.interval if estimate else None
    return {
        **_point(x, series, estimate.value if estimate else None, panel.x_numeric),
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        **({"n": estimate.n} if estimate and estimate.unit == "run" else {}),
    }


def _point(x: Level | None, series: str, y: float | None, numeric: bool) -> dict[str, Any]:
    at = x if numeric else level_text(x)
    return {"x": at, "series": series, "y": y, "low": None, "high": None}


def _run_points(panel: Panel, metric: Metric) -> list[Row]:
    """One point for each run, if they are few enough to be seen."""
    cells = panel.cells.values()
    runs = sum(len(cell.runs) for cell in cells)
    if runs > POINTS_SHOWN or runs == len(cells):
        return []
    return [
        {
            "x": at if panel.x_numeric else level_text(at),
            "series": series_name(panel.series, level),
            "y": value,
        }
        for (x, level), cell in panel.cells.items()
        for at in ((x if panel.x else level),)
        for run in cell.runs
        if (value := metric.reading.of_run(run)) is not None
    ]


def rate_rules(
    cells: Sequence[CellRow], metric: Metric, workload: WorkloadAnalysis
) -> list[dict[str, Any]]:
    """The line rate and the best goodput after headers, in a chart of goodput."""
    if metric != workload.bounded:
        return []
    bounds = [workload.bound(cell.planned[0]) for cell in cells]
    rates = {None if bound is None else bound.line_rate_bps for bound in bounds}
    if len(rates) != 1 or None in rates:
        return []
    line = next(rate for rate in rates if rate is not None) / 1e6
    best = max(bound.goodput_mbps for bound in bounds if bound is not None)
    text = f"line rate {number_text(line, 0)}, at most {number_text(best, 0)} after headers"
    return [{"y": line, "text": text}, {"y": best, "text": ""}]
