"""Curves of runs: the course over time, and the distribution of latencies.

One cell per series is drawn: the cell at the last x, where the series usually differ most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from netstudy.analysis.cells import CellRow
from netstudy.analysis.distribution import Histogram
from netstudy.analysis.layout import Panel
from netstudy.analysis.samples import NS_PER_US, Floats, RunSample
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.analysis.workloads.probe import SRTT, idle, loaded, tcp_series
from netstudy.wire import Level

Kind = Literal["over-time", "latency", "srtt"]


@dataclass(frozen=True, eq=False)
class Curve:
    """Points of one line."""

    label: str
    """Distinguishes this curve from other curves of the same series; empty if it is the only
    one."""
    level: Level | None
    """Level of the series."""
    at: Floats
    values: Floats


@dataclass(frozen=True, eq=False)
class Curves:
    """Lines of one chart."""

    kind: Kind
    x: Level | None
    """The level along x at which the drawn cells are."""
    curves: tuple[Curve, ...]
    replicate: int | None
    """The run that is drawn; None: all runs together."""


def curves_of(panel: Panel, workload: WorkloadAnalysis) -> Iterator[Curves]:
    """The charts that can be drawn of a panel: those for which its runs have samples."""
    found: tuple[tuple[Kind, Iterator[Curve], int | None], ...] = (
        ("over-time", _over_time(panel, workload), None),
        ("latency", _latencies(panel, workload), None),
        ("srtt", _round_trips(panel), 1),
    )
    for kind, curves, replicate in found:
        lines = tuple(curves)
        if lines:
            yield Curves(kind, panel.x_levels[-1], lines, replicate)


def _last(panel: Panel) -> Iterator[tuple[Level | None, CellRow]]:
    """The cell of each series at the last x."""
    for level in panel.series_levels:
        cell = panel.cell(panel.x_levels[-1], level)
        if cell is not None and cell.runs:
            yield level, cell


def _over_time(panel: Panel, workload: WorkloadAnalysis) -> Iterator[Curve]:
    """Mean over the runs in each second, up to the end of the shortest run."""
    for level, cell in _last(panel):
        first = workload.course(cell.runs[0])
        if first is not None and first.noun != "second":
            continue
        courses = [course for run in cell.runs if (course := workload.course(run)) is not None]
        if not courses or courses[0].noun != "second" or len(courses) < len(cell.runs):
            continue
        length = min(course.values.size for course in courses)
        mean = np.mean([course.values[:length] for course in courses], axis=0)
        yield Curve("", level, np.arange(length, dtype=np.float64), mean)


def _latencies(panel: Panel, workload: WorkloadAnalysis) -> Iterator[Curve]:
    """Curves of latencies: for each time in µs, the percentage of requests that take longer."""
    for level, cell in _last(panel):
        own = None if workload.latencies is None else workload.latencies(cell.runs)
        for label, found in (
            ("", own),
            ("probe, idle", idle(cell.runs)),
            ("probe, loaded", loaded(cell.runs)),
        ):
            if found is not None and found.count:
                yield Curve(label, level, *_longer(found))


def _longer(found: Histogram) -> tuple[Floats, Floats]:
    """The complementary distribution: times in µs, and the share of requests that take at least
    as long, in percent."""
    latencies, share = found.curve()
    longer = 100 * (1 - np.concatenate(([0.0], share[:-1])))
    return latencies / NS_PER_US, longer


def _round_trips(panel: Panel) -> Iterator[Curve]:
    """Round-trip times of the first run: the mean over its connections at each timestamp of the
    sampler."""
    for level, cell in _last(panel):
        found = _mean_over_connections(cell.runs)
        if found is not None:
            yield Curve("", level, *found)


def _mean_over_connections(runs: Sequence[RunSample]) -> tuple[Floats, Floats] | None:
    first = [(at, values) for _, at, values in tcp_series(runs[0], SRTT)]
    if not first:
        return None
    at = np.concatenate([times for times, _ in first])
    values = np.concatenate([column for _, column in first])
    times, place = np.unique(at, return_inverse=True)
    sums, counts = np.zeros(times.size), np.zeros(times.size)
    np.add.at(sums, place, values)
    np.add.at(counts, place, 1)
    return times, sums / counts
