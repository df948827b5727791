"""Charts of a metric against x, with a line for each level of the series; also together with
published values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from netstudy.analysis.cells import CellRow
from netstudy.analysis.intervals import Estimate
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.reference import PanelReference
from netstudy.analysis.verdict import VerdictTable
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.report.charts.idle import idle_lines, idle_rules
from netstudy.report.charts.measure import measure_of, quantity_texts
from netstudy.report.charts.places import is_wide, places
from netstudy.report.charts.plot import Drawn
from netstudy.report.charts.style import Row, Style
from netstudy.report.charts.words import against, held, series_name, subtitle
from netstudy.report.numbers import full_level, level_text
from netstudy.study.levels import is_numeric
from netstudy.wire import Level

POINTS_SHOWN = 120
"""If a panel has at most this many runs, every run is drawn as a small point."""
_SEEN = 0.1
"""If all values are below this share of the line rate, the line rate is only given in words, since
a line far above would flatten the values."""


def metric_chart(
    panel: Panel,
    metric: Metric,
    workload: WorkloadAnalysis,
    title: str | None = None,
    verdicts: Sequence[VerdictTable] = (),
) -> Drawn:
    """A metric against x, one line for each level of the series; `title` is the title from the
    study, if it has one. `verdicts` on this metric determine the marks where the lead changes and
    the shaded margin."""
    at = places(panel.x_levels) if panel.x else {}
    cells = [*panel.cells.values()]
    points = [point for level in panel.series_levels for point in _points(panel, level, metric, at)]
    told = ["bars: 95 % interval"] if any(point["low"] is not None for point in points) else []
    rules = rate_rules(cells, metric, workload)
    # A line far above the values would squeeze them into a small part of the axis.
    if rules and max(point["y"] or 0 for point in points) < rules[0]["y"] * _SEEN:
        (far,) = quantity_texts([rules[0]["y"]], "Mbit/s")
        told.append(f"line rate {far} is far above")
        rules = []
    idle = idle_rules(cells, metric)
    idle_along = list(idle_lines(cells, metric, _placed(panel, at))) if at else []
    told += ["dashed: while idle"] if idle else ["dotted: while idle"] if idle_along else []
    band = _band(panel, metric, verdicts[0], at) if verdicts and at else []
    if band:
        base = full_level(verdicts[0].factor, verdicts[0].base)
        told.append(f"shaded: {base} ± {verdicts[0].margin_pct:g}\u00a0%")
    return Drawn(
        title=held(title, panel.fixed) if title else against(metric.title, panel),
        subtitle=subtitle(metric, "; ".join(told)),
        x=panel.x or panel.series or "",
        x_numeric=bool(at),
        x_log=is_wide(at),
        axis=measure_of([metric]),
        series={
            series_name(panel.series, v): Style(i, i, i) for i, v in enumerate(panel.series_levels)
        },
        points=points,
        runs=_run_points(panel, metric, at),
        rules=[*rules, *idle],
        ideals=idle_along,
        marks=[mark for table in verdicts for mark in _crossings(table)] if panel.x_numeric else (),
        band=band,
        decimals=metric.decimals,
    )


def _crossings(table: VerdictTable) -> Iterator[dict[str, Any]]:
    for one in table.crossovers:
        yield {"x": one.before, "text": f"{full_level(table.factor, one.to_level)} overtakes"}


def _placed(
    panel: Panel, at: Mapping[Level, float]
) -> Callable[[CellRow], tuple[float, str] | None]:
    """A function that gives the x position and the series of a cell of the panel."""
    known = {
        id(cell): (at[x], series_name(panel.series, level))
        for (x, level), cell in panel.cells.items()
        if x is not None
    }
    return lambda cell: known.get(id(cell))


def _band(
    panel: Panel, metric: Metric, table: VerdictTable, at: Mapping[Level, float]
) -> list[dict[str, Any]]:
    """The equivalence margin around the values of the base level, as a band along x."""
    margin = (table.margin_pct or 0.0) / 100
    cells = [(x, panel.cell(x, table.base)) for x in panel.x_levels]
    values = [(x, cell.value(metric) if cell else None) for x, cell in cells]
    return [
        {"x": at[x], "low": value * (1 - margin), "high": value * (1 + margin)}
        for x, value in values
        if x is not None and value is not None and margin
    ]


def overlay_chart(panel: Panel, metric: Metric, reference: PanelReference) -> Drawn:
    """Published values and the study's own values, as a pair of series for each level."""
    at = places(panel.x_levels) if panel.x else {}
    series: dict[str, Style] = {}
    points: list[Row] = []
    for index, one in enumerate(reference.of(metric)):
        for kind, style in (
            # A level keeps its colour; published values differ in dash and fill.
            (reference.here, Style(index, 0, index)),
            ("published", Style(index, 1, index, filled=False)),
        ):
            label = f"{level_text(one.level)} {kind}".strip()
            series[label] = style
            points += [
                _estimate_point(row.x, label, row.estimate, at)
                if kind != "published"
                else _point(row.x, label, row.published, at)
                for row in one.rows
            ]
    return Drawn(
        title=f"{metric.title}: published and {reference.here}",
        subtitle=subtitle(metric),
        x=panel.x or "",
        x_numeric=bool(at),
        x_log=is_wide(at),
        axis=measure_of([metric]),
        series=series,
        points=points,
        decimals=metric.decimals,
    )


def _points(panel: Panel, level: Any, metric: Metric, at: Mapping[Level, float]) -> list[Row]:
    found: list[Row] = []
    for x in panel.x_levels:
        cell = panel.cell(x, level)
        estimate = cell.estimate(metric) if cell else None
        name = series_name(panel.series, level)
        found.append(_estimate_point(x if panel.x else level, name, estimate, at))
    return found


def _estimate_point(
    x: Level | None, series: str, estimate: Estimate | None, at: Mapping[Level, float]
) -> dict[str, Any]:
    """A point with its interval and its number of runs, if these are known."""
    interval = estimate.interval if estimate else None
    return {
        **_point(x, series, estimate.value if estimate else None, at),
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        **({"n": estimate.n} if estimate and estimate.unit == "run" else {}),
    }


def _point(
    x: Level | None, series: str, y: float | None, at: Mapping[Level, float]
) -> dict[str, Any]:
    return {**_place(x, at), "series": series, "y": y, "low": None, "high": None}


def _place(x: Level | None, at: Mapping[Level, float]) -> dict[str, Any]:
    """The position of a level along x; for a quantity, such as 20 ms, also its text."""
    if not at or x is None:
        return {"x": level_text(x)}
    return {"x": at[x], **({} if is_numeric([x]) else {"level": level_text(x)})}


def _run_points(panel: Panel, metric: Metric, at: Mapping[Level, float]) -> list[Row]:
    """One point for each run, if the runs are few enough to be distinguished."""
    cells = panel.cells.values()
    runs = sum(len(cell.runs) for cell in cells)
    if runs > POINTS_SHOWN or runs == len(cells):
        return []
    return [
        {
            "x": _place(x if panel.x else level, at)["x"],
            "series": series_name(panel.series, level),
            "y": value,
        }
        for (x, level), cell in panel.cells.items()
        for value in metric.reading.of_each(cell.runs)
        if value is not None
    ]


def rate_rules(
    cells: Sequence[CellRow], metric: Metric, workload: WorkloadAnalysis
) -> list[dict[str, Any]]:
    """In a chart of goodput: lines at the line rate and at the highest goodput that headers
    allow."""
    if metric != workload.bounded:
        return []
    bounds = [workload.bound(cell.planned[0]) for cell in cells]
    rates = {None if bound is None else bound.line_rate_bps for bound in bounds}
    if len(rates) != 1 or None in rates:
        return []
    line = next(rate for rate in rates if rate is not None) / 1e6
    best = max(bound.goodput_mbps for bound in bounds if bound is not None)
    rate, most = quantity_texts([line, best], "Mbit/s")
    text = f"line rate {rate}, at most {most} after headers"
    return [{"y": line, "text": text}, {"y": best, "text": ""}]
