"""A size whose times do not follow the law of the other sizes, as a mistyped size would not.

The law is latency + size/bandwidth. Where the law through the other sizes is one that a path may
have, and puts the times of a size at another size, that size is told of, with the size that its
times are of by the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.fits import fit
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.units import quantity
from netstudy.wire import Level

if TYPE_CHECKING:
    from netstudy.study import Study

LAW = "latency + size/bandwidth"
_OFF = 1.5
"""Ratio of a mean time to that of the law from which on a size is off the law."""
_SLACK = 0.1
"""Share of the shortest time by which a latency may be below zero, as an estimate of zero."""
_CLEARLY = 3.0
"""How many times better the law must fit without this size than without any other."""


@dataclass(frozen=True, eq=False)
class OffLaw:
    """A size that is off the law at every setting of the other factors."""

    factor: str
    level: Level
    metric: Metric
    settings: int
    ratio: tuple[float, float]
    """Mean time ÷ that of the law through the other sizes, least and most over the settings."""
    implied_bytes: tuple[float, float]
    """The size that the times are of by the other sizes, least and most."""


@dataclass(frozen=True)
class _Point:
    level: Level
    size_bytes: float
    times: tuple[float, ...]


@dataclass(frozen=True)
class _Off:
    level: Level
    ratio: float
    implied_bytes: float
    error: float
    """Root mean square of the relative errors of the other sizes' means."""


def off_laws(study: Study, table: CellTable) -> tuple[OffLaw, ...]:
    """The sizes that are off the law, for each figure that fits it in each test case."""
    asked = [figure for _, figure in study.figures if LAW in figure.fit and figure.x is not None]
    found = [
        one
        for figure in asked
        for name in figure.y
        for case in table.cases
        if figure.case in (None, case) and (metric := metric_named(name, table.vocabulary))
        for one in _of_case(table.of_case(case), str(figure.x), metric)
    ]
    return tuple({(one.factor, one.level, one.metric.name): one for one in found}.values())


def _of_case(rows: Sequence[CellRow], factor: str, metric: Metric) -> Iterator[OffLaw]:
    groups: dict[tuple[tuple[str, Level], ...], list[CellRow]] = {}
    for row in rows:
        rest = tuple(item for item in row.treatment.items() if item[0] != factor)
        groups.setdefault(rest, []).append(row)
    series = [_points(own, factor, metric) for own in groups.values()]
    found = [_off(points) for points in series if len(points) > 2]
    known = [one for one in found if one is not None]
    if known and len(known) == len(found) and len({one.level for one in known}) == 1:
        ratios, sizes = [one.ratio for one in known], [one.implied_bytes for one in known]
        yield OffLaw(
            factor=factor,
            level=known[0].level,
            metric=metric,
            settings=len(known),
            ratio=(min(ratios), max(ratios)),
            implied_bytes=(min(sizes), max(sizes)),
        )


def _points(rows: Sequence[CellRow], factor: str, metric: Metric) -> list[_Point]:
    found = []
    for row in rows:
        level = row.treatment.get(factor)
        size = None if level is None else quantity(str(level))
        values = [metric.reading.of_run(run) for run in row.runs]
        times = tuple(value for value in values if value is not None and value > 0)
        if level is not None and size is not None and times:
            found.append(_Point(level, float(size[1]), times))
    return found


def _off(points: Sequence[_Point]) -> _Off | None:
    """The one size that the others' law excludes; None: there is none, or any of several."""
    found = [one for point in points if (one := _without(point, points)) is not None]
    found.sort(key=lambda one: one.error)
    if not found or (len(found) > 1 and found[0].error * _CLEARLY > found[1].error):
        return None
    return found[0]


def _without(point: _Point, points: Sequence[_Point]) -> _Off | None:
    """A size against the law through the others; None where that is no law of a path, where the
    size follows it, or where its times are of no size."""
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
    return _Off(point.level, mean / law, (mean - latency) / each, fmean(errors) ** 0.5)
