"""Figures as a study defines them: axes, series and panels of its own, a second axis, bars, time
series, fitted laws, ideal growth and the line rate.

A factor that is neither x nor in the series also makes panels. A growing factor does not: only the
cells at the last level with a gain are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from netstudy.analysis.case_result import CaseResult
from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.fits import LAWS, Fitted, fit
from netstudy.analysis.line_rates import line_bps
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.nodes import course
from netstudy.analysis.samples import Floats, RunSample
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.documents.problems import listed
from netstudy.report.charts.curves import TIME, Lines, thinned
from netstudy.report.charts.idle import idle_lines, idle_rules
from netstudy.report.charts.measure import measure_of
from netstudy.report.charts.places import is_wide, places
from netstudy.report.charts.plot import Drawn
from netstudy.report.charts.style import Row, Style
from netstudy.report.charts.words import axis, held, subtitle
from netstudy.report.fits import SeriesFit
from netstudy.report.numbers import full_level, level_text
from netstudy.study import outcome
from netstudy.study.levels import is_numeric
from netstudy.study.vocabulary import is_line_rate
from netstudy.units import format_rate
from netstudy.wire import Level, Treatment


@dataclass(frozen=True)
class AskedPart:
    """One panel of a figure."""

    held: Treatment
    drawn: Drawn | Lines
    told: tuple[str, ...]
    """Notes on what could not be drawn."""
    fits: tuple[SeriesFit, ...] = ()


@dataclass(eq=False)
class Asked:
    """A figure that a study asks for, drawn for one of the study's test cases."""

    figure: outcome.Figure
    case: CaseResult
    cells: CellTable
    notes: list[str] = field(default_factory=list)
    """Remarks on the figure, such as the reasons why parts are not drawn."""

    def parts(self) -> Iterator[tuple[str, list[AskedPart]]]:
        """Unit of y and panels, for each unit: values in different units cannot share an axis."""
        if not self._metrics:
            return
        found = sorted(self._metrics, key=lambda metric: axis(metric) != axis(self._metrics[0]))
        for unit, metrics in groupby(found, key=axis):
            alike = list(metrics)
            panels = [
                part
                for levels, cells in self._panels()
                if (part := self._part(levels, cells, alike)) is not None
            ]
            if panels:
                yield unit, panels
            else:
                names = listed([metric.label for metric in alike])
                why = "nothing was measured of it"
                if self._is_course:
                    why = "too little was sampled of it in the measuring phase"
                self.notes.append(f"Not drawn, as {why}: {names}.")

    @property
    def title(self) -> str:
        """The study's own title; without one, the names of the metrics and of x."""
        if self.figure.title:
            return self.figure.title
        names = listed([metric.title for metric in self._metrics])
        return f"{names} over time" if self._is_course else f"{names} against {self.figure.x}"

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that the figure shows."""
        found = [*self._metrics, *([self._right] if self._right else [])]
        return tuple(metric.name for metric in found)

    def is_course_of(self, metric: Metric) -> bool:
        """Whether this figure shows the metric over time."""
        return self._is_course and metric in self._metrics

    # ---- which cells

    @property
    def _is_course(self) -> bool:
        return self.figure.kind == "time series"

    @cached_property
    def _metrics(self) -> list[Metric]:
        names = (*self.figure.y, *((self.figure.beside,) if self.figure.beside else ()))
        found = (metric_named(name, self.cells.vocabulary) for name in names)
        return [metric for metric in found if metric is not None]

    @cached_property
    def _right(self) -> Metric | None:
        name = self.figure.y2
        return None if name is None else metric_named(name, self.cells.vocabulary)

    def _panels(self) -> Iterator[tuple[Treatment, list[CellRow]]]:
        placed = {*self.figure.series, self.figure.x} - {self.figure.panel}
        cells = list(self.cells.of_case(self.case.name))
        grown = {loop.loop.factor.name for loop in self.case.loops} - placed
        if grown:
            settled = [loop.last_gain_row for loop in self.case.loops]
            cells = [cell for cell in cells if any(cell is one for one in settled)]
        follows = self._following(cells, placed, grown)
        if follows:
            where = self.figure.x or listed(self.figure.series)
            self.notes.append(f"{listed(follows)} varies along {where}, as in the table.")
        grown |= set(follows)
        groups: dict[tuple[tuple[str, Level], ...], list[CellRow]] = {}
        for cell in cells:
            levels = ((f, cell.treatment.get(f)) for f in self.case.layout.factors)
            fixed = tuple(
                (f, level)
                for f, level in levels
                if level is not None and f not in placed and f not in grown
            )
            groups.setdefault(fixed, []).append(cell)
        order = self.case.layout.factors
        for fixed in sorted(groups, key=lambda one: [order[f].index(level) for f, level in one]):
            yield dict(fixed), groups[fixed]

    def _following(
        self, cells: Sequence[CellRow], placed: set[str | None], grown: set[str]
    ) -> list[str]:
        """Factors that vary only together with the other factors, so that they need no panels: at
        each combination of the others, there is one cell. This happens if growing factors are held
        at the last level with a gain, which may differ between cells."""
        found: list[str] = []
        for name in self.case.layout.factors:
            others = [f for f in self.case.layout.factors if f not in (name, *found, *grown)]
            places = {tuple(level_text(cell.treatment.get(f)) for f in others) for cell in cells}
            varies = len({level_text(cell.treatment.get(name)) for cell in cells}) > 1
            kept = (*placed, *grown, self.figure.panel)
            if name not in kept and varies and len(places) == len(cells):
                found.append(name)
        return found

    def _part(
        self, levels: Treatment, cells: Sequence[CellRow], metrics: Sequence[Metric]
    ) -> AskedPart | None:
        if self._is_course:
            return self._courses(levels, cells, metrics)
        if not any(cell.value(metric) is not None for cell in cells for metric in metrics):
            return None
        return self._against(levels, cells, metrics)

    def _series(self, cell: CellRow, metric: Metric, metrics: Sequence[Metric]) -> str:
        names = [
            full_level(f, cell.treatment[f]) for f in self.figure.series if f in cell.treatment
        ]
        if len(metrics) > 1 or self._right is not None:
            names.append(metric.label)
        return ", ".join(names)

    def _style(self, number: int, metric: Metric, metrics: Sequence[Metric]) -> Style:
        """Levels differ in colour and shape, metrics in dash and fill. With a single metric, levels
        differ in dash too; without series, metrics differ in colour and shape too."""
        place = len(metrics) if metric not in metrics else list(metrics).index(metric)
        is_beside = self.figure.beside is not None and metric == self._metrics[-1]
        alone = len(metrics) == 1 and self._right is None
        if alone:
            return Style(number, number, number)
        if self.figure.kind == "bars":
            return Style(number * len(metrics) + place, place, place)
        if not self.figure.series:
            return Style(place, place, place, filled=not is_beside)
        return Style(number, place, number, filled=place == 0)

    # ---- against a factor

    @cached_property
    def _x_values(self) -> dict[Level, float]:
        """Level along x -> its position, if levels are numbers or quantities of one kind; empty for
        names and for bar charts."""
        assert self.figure.x is not None, "a study file says so"
        levels = self.case.layout.factors.get(self.figure.x, ())
        return {} if self.figure.kind == "bars" else places(levels)

    @property
    def _is_log(self) -> bool:
        values = list(self._x_values.values())
        if not values or min(values) <= 0:
            return False
        return self.figure.kind == "size law" or is_wide(self._x_values)

    def _point(self, cell: CellRow, metric: Metric, series: str) -> dict[str, Any]:
        assert self.figure.x is not None, "a study file says so"
        level = cell.treatment[self.figure.x]
        estimate = cell.estimate(metric)
        interval = estimate.interval if estimate else None
        numeric = bool(self._x_values)
        value = estimate.value if estimate else None
        return {
            "x": self._x_values[level] if numeric else level_text(level),
            "series": series,
            "y": value,
            "low": interval.low if interval else None,
            "high": interval.high if interval else None,
            **({"level": level_text(level)} if numeric and not is_numeric([level]) else {}),
            **({"n": estimate.n} if estimate and estimate.unit == "run" else {}),
        }

    def _against(
        self, levels: Treatment, cells: Sequence[CellRow], metrics: Sequence[Metric]
    ) -> AskedPart:
        series: dict[str, Style] = {}
        points: list[Row] = []
        of_series: dict[str, tuple[Metric, list[CellRow]]] = {}
        right = [] if self._right is None else [self._right]
        for metric in (*metrics, *right):
            for cell in cells:
                name = self._series(cell, metric, (*metrics, *right))
                _, own = of_series.setdefault(name, (metric, []))
                own.append(cell)
                point = self._point(cell, metric, name)
                points.append(point if metric in metrics else {**point, "right": True})
        # The look of a series is its index among all series of the case, so it is the same in every
        # panel.
        for name, (metric, own) in of_series.items():
            series[name] = self._style(self._combos.index(self._combo(own[0])), metric, metrics)
        told: list[str] = []
        laws = [
            found
            for name, (metric, own) in of_series.items()
            for found in self._fits(levels, name, metric, own, told)
        ]
        fits = [row for one in laws for row in _curve(one)]
        first = metrics[0]
        told_of = ["bars: 95 % interval"] if any(p["low"] is not None for p in points) else []
        told_of += ["lines: fits with their 95 % intervals"] if fits else []
        told_of += ["dotted: ideal"] if self.figure.ideal and self._x_values else []
        rules = self._line_rate(first, cells, told)
        told_of += ["dashed: line rate"] if rules else []
        # With several metrics, a reader could not see which of them an idle level belongs to.
        idle = idle_rules(cells, first) if len(metrics) == 1 else []
        told_of += ["dashed: while idle"] if idle else []
        idle_along = list(idle_lines(cells, first, self._placed)) if len(metrics) == 1 else []
        told_of += ["dotted: while idle"] if idle_along else []
        return AskedPart(
            levels,
            Drawn(
                title=held(self.title, levels),
                subtitle=subtitle(first, "; ".join(told_of)),
                x=self.figure.x or "",
                x_numeric=bool(self._x_values),
                axis=measure_of(metrics),
                series=series,
                points=sorted(points, key=lambda p: p["x"]) if self._x_values else points,
                rules=[*rules, *idle],
                fits=fits,
                ideals=[
                    *idle_along,
                    *(
                        row
                        for name, (metric, own) in of_series.items()
                        if metric in metrics
                        for row in self._ideal(name, metric, own)
                    ),
                ],
                mark="bars" if self.figure.kind == "bars" else "lines",
                joins=not fits,
                x_log=self._is_log,
                y_log=self.figure.kind == "size law" and all(map(_is_above_zero, points)),
                right=None if self._right is None else measure_of([self._right]),
                decimals=max(metric.decimals for metric in metrics),
            ),
            tuple(told),
            tuple(laws),
        )

    @cached_property
    def _combos(self) -> list[tuple[Level | None, ...]]:
        """The level combinations of all series of the case. Their order determines the looks, which
        are therefore the same in every panel."""
        cells = self.cells.of_case(self.case.name)
        return list(dict.fromkeys(self._combo(cell) for cell in cells))

    def _combo(self, cell: CellRow) -> tuple[Level | None, ...]:
        return tuple(cell.treatment.get(name) for name in self.figure.series)

    def _placed(self, cell: CellRow) -> tuple[float, str] | None:
        """The x position and the series of a cell, for a figure with one metric."""
        x = self._x_values.get(cell.treatment[self.figure.x or ""])
        return None if x is None else (x, self._series(cell, self._metrics[0], ()))

    # ---- laws, ideals, bounds

    def _fits(
        self,
        held: Treatment,
        name: str,
        metric: Metric,
        cells: Sequence[CellRow],
        told: list[str],
    ) -> Iterator[SeriesFit]:
        """The laws fitted to the runs of a series."""
        x_of = self._x_values
        for law in self.figure.fit:
            pairs = [
                (x_of[cell.treatment[self.figure.x or ""]], value)
                for cell in cells
                if x_of
                for value in _values(cell, metric)
            ]
            found = fit(law, *zip(*pairs, strict=True)) if pairs else None
            if found is not None:
                yield SeriesFit(held, name, metric, found, self._errors_pct(found, metric, cells))
                continue
            who = f"{name}: " if name else ""
            told.append(
                f"{who}no fit of {LAWS[law].name}: the points along {self.figure.x} are too few, "
                "or do not determine it."
            )

    def _errors_pct(
        self, found: Fitted, metric: Metric, cells: Sequence[CellRow]
    ) -> dict[str, float]:
        """Level along x -> the error of a fitted law there, in percent of the measured value."""
        levels = [(cell.treatment[self.figure.x or ""], cell.value(metric)) for cell in cells]
        return {
            level_text(level): 100 * (found.value(self._x_values[level]) / value - 1)
            for level, value in levels
            if value
        }

    def _ideal(self, name: str, metric: Metric, cells: Sequence[CellRow]) -> Iterator[Row]:
        """The line of growth in proportion to x, starting at the first point."""
        found = [
            (self._x_values[cell.treatment[self.figure.x or ""]], value)
            for cell in cells
            if self.figure.ideal and self._x_values
            if (value := cell.value(metric)) is not None
        ]
        if not found or min(found)[0] <= 0:
            return
        first, value = min(found)
        for x, _ in sorted(found):
            yield {"x": x, "y": value * x / first, "series": name}

    def _line_rate(
        self, metric: Metric, cells: Sequence[CellRow], told: list[str]
    ) -> list[dict[str, Any]]:
        """The line rate of each series. If hosts are added along x, it is the sum of the hosts'
        line rates."""
        if not self.figure.line_rate:
            return []
        of_series: dict[tuple[Level | None, ...], int] = {}
        for cell in cells:
            rate = self._bound_bps(metric, cell) if cell.planned else None
            if rate:
                combo = self._combo(cell)
                of_series[combo] = max(rate, of_series.get(combo, 0))
        rates = set(of_series.values())
        if metric.unit != "Mbit/s" or not rates:
            told.append(f"The line rate is not drawn: {metric.label} has none to be held against.")
            return []
        return [{"y": r / 1e6, "text": f"line rate {format_rate(r)}"} for r in sorted(rates)]

    def _bound_bps(self, metric: Metric, cell: CellRow) -> int | None:
        """The line rate of the port or host that the metric belongs to; without one, of the link
        that limits the workload."""
        name = metric.named
        if name is not None and is_line_rate(name):
            return line_bps(None, cell, name)
        bound = self.cells.workload.bound(cell.planned[0])
        return None if bound is None else bound.line_rate_bps

    # ---- over time

    def _courses(
        self, levels: Treatment, cells: Sequence[CellRow], metrics: Sequence[Metric]
    ) -> AskedPart | None:
        series: dict[str, Style] = {}
        points: list[Row] = []
        right = [] if self._right is None else [self._right]
        for metric in (*metrics, *right):
            side = {} if metric in metrics else {"right": True}
            for cell in cells:
                found = _mean_course(cell, metric, self.cells.workload)
                if found is None:
                    continue
                name = self._series(cell, metric, (*metrics, *right))
                series[name] = self._style(self._combos.index(self._combo(cell)), metric, metrics)
                points += ({**row, **side} for row in thinned(*found, name))
        # A figure needs values on the left axis; if only the right axis has values, nothing is
        # drawn.
        if not any(row for row in points if not row.get("right")):
            return None
        told: list[str] = []
        has_right = any(row.get("right") for row in points)
        if self._right is not None and not has_right:
            told.append(f"Not drawn, as nothing was sampled of it: {self._right.label}.")
        drawn = Lines(
            title=held(self.title, levels),
            subtitle="mean over the runs of each cell",
            along=TIME,
            axis=measure_of(metrics),
            series=series,
            points=points,
            logarithmic=False,
            right=measure_of([self._right]) if self._right and has_right else None,
            rules=self._line_rate(metrics[0], cells, told),
        )
        return AskedPart(levels, drawn, tuple(told))


def _is_above_zero(point: Row) -> bool:
    return point["y"] is None or point["y"] > 0


def _curve(one: SeriesFit) -> Iterator[Row]:
    """The curve of a fitted law, with the interval of the mean."""
    found = one.fitted
    for number, at in enumerate(found.at):
        yield {
            "x": float(at),
            "y": float(found.values[number]),
            "low": None if found.low is None else float(found.low[number]),
            "high": None if found.high is None else float(found.high[number]),
            "series": one.series,
            "law": found.law.name,
        }


def _values(cell: CellRow, metric: Metric) -> list[float]:
    """The value of each run; if the metric has no value for single runs, the cell's value."""
    runs = [value for value in metric.reading.of_each(cell.runs) if value is not None]
    whole = cell.value(metric)
    return runs or ([] if whole is None else [whole])


def _mean_course(
    cell: CellRow, metric: Metric, workload: WorkloadAnalysis
) -> tuple[Floats, Floats] | None:
    """The course of a metric as the mean over the runs, up to the end of the shortest run."""
    found = [one for run in cell.runs if (one := _course_of(run, metric, workload)) is not None]
    if not found:
        return None
    length = min(values.size for _, values in found)
    mean: Floats = np.mean([values[:length] for _, values in found], axis=0)  # NaN stays NaN
    return found[0][0][:length], mean


def _course_of(
    run: RunSample, metric: Metric, workload: WorkloadAnalysis
) -> tuple[Floats, Floats] | None:
    """The course of a metric of a file or node, or of the workload's throughput in each second."""
    if run.record.measured is not None:
        return workload.over_time(run, metric)
    if metric.named is not None and metric.scope is not None:
        return course(run, metric.named)
    own = workload.course(run) if metric == workload.throughput else None
    if own is None or own.noun != "second":
        return None
    return np.arange(own.values.size, dtype=np.float64), own.values
