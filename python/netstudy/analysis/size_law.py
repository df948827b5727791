"""Finds a size, such as a mistyped one, whose times do not follow the law of the other sizes.

The law is latency + size/bandwidth. If the law that is fitted to the other sizes is plausible for a
network path, and the times of one size deviate from this law, the size is reported, together with
the implied size: the size at which the law gives these times. Published times of such a size are
compared with the study's own times twice: at the published size and at the implied size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.fits import fit
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.reference import Published
from netstudy.study.levels import has_levels
from netstudy.units import quantity
from netstudy.wire import Level, Treatment

if TYPE_CHECKING:
    from netstudy.study import Study

LAW = "latency + size/bandwidth"
_OFF = 1.5
"""A size is off the law if its mean time is more than this factor above or below the time by the
law."""
_SLACK = 0.1
"""A fitted latency may be negative by up to this share of the shortest time, because the true
latency may be 0."""
_CLEARLY = 3.0
"""A size is off the law only if the fit without it has an error that is smaller, by this factor,
than the fit without any other size."""


@dataclass(frozen=True, eq=False)
class ImpliedSize:
    """Published times off the law of the other published sizes, compared with the study's own."""

    factor: str
    level: Level
    """The size as published."""
    metric: Metric
    at: Treatment
    """The levels of the other factors."""
    published: float
    """The mean time."""
    implied_bytes: float
    """The size at which the law of the other published sizes gives this time."""
    own: float | None
    """The study's own mean time at the size as published."""
    own_implied: float | None
    """The time at the implied size, by the law fitted to the study's own times."""

    @property
    def error_pct(self) -> float | None:
        """Error of the study's own time at the published size, relative to the published time."""
        return _error_pct(self.own, self.published)

    @property
    def implied_error_pct(self) -> float | None:
        """Error of the study's own time at the implied size, relative to the published time."""
        return _error_pct(self.own_implied, self.published)


def _error_pct(own: float | None, published: float) -> float | None:
    return None if own is None else 100 * (own / published - 1)


@dataclass(frozen=True)
class SizePoint:
    """The times of one size."""

    level: Level
    size_bytes: float
    times: tuple[float, ...]


@dataclass(frozen=True)
class OffSize:
    """A size that is off the law at one setting."""

    level: Level
    ratio: float
    implied_bytes: float
    error: float
    """Root mean square of the relative errors of the other sizes' mean times."""


def fitted_along(study: Study, table: CellTable) -> Iterator[tuple[Metric, str, str]]:
    """For each fit of the law that the study asks for: the metric, the factor whose levels are the
    sizes, and the test case."""
    for _, figure in study.figures:
        if LAW not in figure.fit or figure.x is None:
            continue
        for name in figure.y:
            metric = metric_named(name, table.vocabulary)
            for case in table.cases:
                if metric is not None and figure.case in (None, case):
                    yield metric, figure.x, case


Setting = tuple[tuple[str, Level], ...]
"""Levels of the factors other than the size."""


def without_size(levels: Mapping[str, Level], factor: str) -> Setting:
    """The levels of the factors other than the size."""
    return tuple(item for item in levels.items() if item[0] != factor)


def off_everywhere(series: Mapping[Setting, Sequence[SizePoint]]) -> dict[Setting, OffSize]:
    """Setting -> the size that is off the law there, for settings with three or more sizes. Empty
    unless the same size is off at all of these settings."""
    found = {at: _off(points) for at, points in series.items() if len(points) > 2}
    known = {at: one for at, one in found.items() if one is not None}
    alike = len(known) == len(found) and len({one.level for one in known.values()}) == 1
    return known if alike else {}


def implied_sizes(
    study: Study, table: CellTable, published: Sequence[Published]
) -> tuple[ImpliedSize, ...]:
    """Published times off the law of the other published sizes, compared with the study's own."""
    found = [
        one
        for metric, factor, case in fitted_along(study, table)
        for one in _implied(
            [value for value in published if value.metric == metric and value.case in (None, case)],
            table.of_case(case),
            factor,
            metric,
        )
    ]
    return tuple(found)


def _implied(
    published: Sequence[Published], rows: Sequence[CellRow], factor: str, metric: Metric
) -> Iterator[ImpliedSize]:
    times: dict[Setting, dict[Level, list[float]]] = {}
    for value in published:
        if factor in value.levels and value.value > 0:
            at = without_size(value.levels, factor)
            times.setdefault(at, {}).setdefault(value.levels[factor], []).append(value.value)
    series = {
        at: [point for level, own in of.items() if (point := _point(level, own)) is not None]
        for at, of in times.items()
    }
    for at, off in off_everywhere(series).items():
        here = [row for row in rows if has_levels(row.treatment, dict(at))]
        points = size_points(here, factor, metric)
        yield ImpliedSize(
            factor=factor,
            level=off.level,
            metric=metric,
            at=dict(at),
            published=fmean(times[at][off.level]),
            implied_bytes=off.implied_bytes,
            own=next((fmean(one.times) for one in points if one.level == off.level), None),
            own_implied=_by_law(points, off.implied_bytes),
        )


def _by_law(points: Sequence[SizePoint], size_bytes: float) -> float | None:
    """The time at a size, by the law fitted to these points."""
    pairs = [(one.size_bytes, time) for one in points for time in one.times]
    fitted = fit(LAW, *zip(*pairs, strict=True)) if pairs else None
    if fitted is None:
        return None
    latency, each = (parameter.value for parameter in fitted.parameters)
    return latency + each * size_bytes


def _point(level: Level, times: Sequence[float]) -> SizePoint | None:
    size = quantity(str(level))
    return None if size is None or not times else SizePoint(level, float(size[1]), tuple(times))


def size_points(rows: Sequence[CellRow], factor: str, metric: Metric) -> list[SizePoint]:
    """The times of each size that has some."""
    found = []
    for row in rows:
        level = row.treatment.get(factor)
        values = metric.reading.of_each(row.runs)
        times = [value for value in values if value is not None and value > 0]
        point = None if level is None else _point(level, times)
        if point is not None:
            found.append(point)
    return found


def _off(points: Sequence[SizePoint]) -> OffSize | None:
    """The one size that is off the law of the others; None: no size is, or several could be."""
    found = [one for point in points if (one := _without(point, points)) is not None]
    found.sort(key=lambda one: one.error)
    if not found or (len(found) > 1 and found[0].error * _CLEARLY > found[1].error):
        return None
    return found[0]


def _without(point: SizePoint, points: Sequence[SizePoint]) -> OffSize | None:
    """Checks a size against the law of the other sizes. None if that law is not plausible for a
    path, if the size follows it, or if the law does not give these times at any size."""
    others = [one for one in points if one is not point]
    pairs = [(one.size_bytes, time) for one in others for time in one.times]
    fitted = fit(LAW, *zip(*pairs, strict=True))
    if fitted is None:
        return None
    latency, each = (parameter.value for parameter in fitted.parameters)
    shortest = min(time for one in others for time in one.times)
    mean, law = fmean(point.times), latency + each * point.size_bytes
    is_of_a_path = each > 0 and latency >= -_SLACK * shortest
    if not is_of_a_path or law <= 0 or 1 / _OFF <= mean / law <= _OFF or mean <= latency:
        return None
    errors = [
        (fmean(one.times) / (latency + each * one.size_bytes) - 1) ** 2
        for one in others
        if latency + each * one.size_bytes > 0
    ]
    return OffSize(point.level, mean / law, (mean - latency) / each, fmean(errors) ** 0.5)
