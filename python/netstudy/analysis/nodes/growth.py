"""Growth of counters: over a phase, or between the samples of an instrument.

Formulas get both as arrays: with one entry for the phase, or with one entry for each interval
between samples.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from netstudy.analysis.clocks import Booleans, inside, placed
from netstudy.analysis.nodes.places import Line, Place
from netstudy.analysis.nodes.readings import PhaseReadings, cpus_of, edges_of, in_flight_ns
from netstudy.analysis.samples import Floats, RunSample, Sampled
from netstudy.plan.workloads import planned_of
from netstudy.plan.workloads.base import Permit
from netstudy.wire import (
    MAXIMA,
    InstrumentKind,
    PhaseKind,
    QueueStatistics,
)

DISCONTINUITIES = "discontinuities"
"""A column of a series: how many times its counters have been reset."""

Fraction = tuple[Floats, Floats]
"""Numerators and denominators of a quantity, one entry for each interval."""
Read = Callable[[str | None, str], Floats | None]
"""Reads the growth of a counter of this port; if the port is None, of the node itself."""


@dataclass(frozen=True, eq=False)
class Growth:
    """Growth of the counters of one node."""

    place: Place
    at_s: Floats
    """The end of each interval, from the start of the phase."""
    seconds: Floats
    """The length of each interval, without the time after it in which nothing was in flight."""
    counted_s: Floats
    """The time between the readings at both ends of each interval."""
    read: Read
    level: Read
    """Reads the value of a gauge, such as a queue length, at the end of each interval. Returns None
    for a whole phase: readings at its start and end do not show the time between."""
    cpus: float | None
    """CPUs that the node may use; None: not known."""
    permits: Mapping[Permit, int] = field(default_factory=dict)
    """The number of permits of each kind at the node."""
    counters: Collection[str] = ()
    """The names of the counters of the node itself."""
    queues: Sequence[Sequence[QueueStatistics]] = ()
    """For each run, the counters of the queue disciplines at the selected ports. They exist only
    for the measuring phase as a whole."""

    def node(self, *counters: str) -> Floats | None:
        """The sum of these counters of the node; None if one is missing."""
        return self._sum((None, counter) for counter in counters)

    def ports(self, *counters: str) -> Floats | None:
        """The sum of these counters over all selected ports; None if one is missing, or without
        ports."""
        return self._sum((line.port, each) for line in self.place.lines for each in counters)

    def waiting(self, state: str) -> Floats | None:
        """The sum of a gauge over all selected ports; None if a port lacks it, or without ports."""
        return _sum(self.level(line.port, state) for line in self.place.lines)

    def line(self, line: Line, *counters: str) -> Floats | None:
        """The sum of these counters of one port."""
        return self._sum((line.port, counter) for counter in counters)

    def _sum(self, wanted: Iterable[tuple[str | None, str]]) -> Floats | None:
        return _sum(self.read(port, counter) for port, counter in wanted)


def _sum(parts: Iterable[Floats | None]) -> Floats | None:
    """The sum of the parts; None if a part is missing, or if there are no parts."""
    found = list(parts)
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    return reduce(np.add, known)


def over_phase(read: PhaseReadings, place: Place, phase: PhaseKind) -> Growth | None:
    """Growth of the counters between the start and end of a phase, and the time in which they grew:
    one entry for each run. All runs must have the same network. Growth is NaN for a run that lacks
    the counter. None if a run has no readings at the start or end, or if the number of CPUs differs
    between runs."""
    counted = read.between(place.node)
    seconds = read.seconds(place.node, is_machine=place.is_machine)
    cpus = read.cpus(place.node)
    if not all(seconds) or not all(counted) or len(cpus) > 1:
        return None
    length = np.array(seconds)
    return Growth(
        place,
        length,
        length,
        np.array(counted),
        lambda port, counter: read.counters(place.node, port)[0](counter),
        lambda _port, _state: None,
        next(iter(cpus)),
        _permits(read.runs[0], place.node),
        read.counters(place.node, None)[1],
        read.queues(place.node, {line.port for line in place.lines}) if phase == "measure" else (),
    )


_OVERRUN = 0.01
"""The time between the readings of a phase may be longer than the phase by this share of its
length."""


def overruns(run: RunSample, phase: PhaseKind) -> bool:
    """Whether the growth of counters covers a time that is more than 1 % longer than the phase,
    because its last transfers ended late or counters were read late."""
    start, end = edges_of(run, phase)
    lasted = run.record.phase(phase)
    if start is None or end is None or lasted is None:
        return False
    length_ns = lasted.end_ns - lasted.start_ns
    edges = run.record.edges
    grown_ns = in_flight_ns(run, phase)
    if grown_ns is None:
        grown_ns = edges[end].at_ns - edges[start].at_ns
    return grown_ns > (1 + _OVERRUN) * length_ns


def between_samples(
    run: RunSample, all_places: Iterable[Place], instrument: InstrumentKind, phase: PhaseKind
) -> list[Growth]:
    """Growth between the samples of an instrument. The intervals are those between the samples of
    the place with the fewest samples.

    Counters of other places are interpolated to the times of these samples, since samplers do not
    tick at the same instant. Growth is NaN, a gap, in intervals with a missed sample or a reset of
    counters (`discontinuities`). The list is empty if some place was sampled less than twice.
    """
    wanted = [(place, _series_of(run, place, instrument)) for place in all_places]
    times = [_times(run, one, phase) for _, series in wanted for one in series.values()]
    at = min((one for one in times if one is not None), key=len, default=np.empty(0))
    if at.size < 2 or not all(series for _, series in wanted):
        return []
    found = []
    for place, series in wanted:
        reader = _SampleReader(run, series, at, phase)
        own = series.get(None)
        found.append(
            Growth(
                place,
                at[1:],
                np.diff(at),
                np.diff(at),
                reader.growth,
                reader.level,
                cpus_of(run, place.node),
                _permits(run, place.node),
                () if own is None else own.columns.keys(),
            )
        )
    return found


def _series_of(
    run: RunSample, place: Place, instrument: InstrumentKind
) -> dict[str | None, Sampled]:
    """The samples of a place: of its ports, by name, and of the node itself, under None. If two
    samplers read the same port, the one with more samples is used."""
    at_node = sorted(
        (one for one in run.sampled(instrument) if one.node == place.node),
        key=lambda series: series.at_ns.size,
    )
    ports = {line.port for line in place.lines}
    found = {one.port: one for one in at_node}
    return {port: one for port, one in found.items() if port is None or not ports or port in ports}


def _times(run: RunSample, series: Sampled, phase: PhaseKind) -> Floats | None:
    """The times of the samples in the phase, counted from its start."""
    for column in series.columns:
        found = inside(run, series, column, phase)
        if found is not None and found[0].size:
            return found[0]
    return None


@dataclass(frozen=True, eq=False)
class _SampleReader:
    run: RunSample
    series: dict[str | None, Sampled]
    at_s: Floats
    phase: PhaseKind

    def growth(self, port: str | None, counter: str) -> Floats | None:
        """The growth of a counter in each interval; for a maximum, its value at the end of the
        interval."""
        if counter in MAXIMA:
            return self.level(port, counter)
        sampled = self._sampled(port, counter)
        return None if sampled is None else self._known(port, counter, np.diff(sampled))

    def level(self, port: str | None, counter: str) -> Floats | None:
        """The value of a counter or gauge at the end of each interval."""
        sampled = self._sampled(port, counter)
        return None if sampled is None else self._known(port, counter, sampled[1:])

    def _series(self, port: str | None, counter: str) -> Sampled | None:
        """The series of the port, if it contains this counter; else the series of the node, because
        the only interface of a node may be sampled together with the node."""
        series = self.series.get(port)
        if series is None or counter not in series.columns:
            series = self.series.get(None)
        return series

    def _sampled(self, port: str | None, counter: str) -> Floats | None:
        series = self._series(port, counter)
        found = None if series is None else inside(self.run, series, counter, self.phase)
        return None if found is None or found[0].size < 2 else np.interp(self.at_s, *found)

    def _known(self, port: str | None, counter: str, values: Floats) -> Floats:
        series = self._series(port, counter)
        assert series is not None, "its column was found"
        return np.where(self._has_gap(series, counter), np.nan, values)

    def _has_gap(self, series: Sampled, counter: str) -> Booleans:
        """Whether an interval contains a missed sample or a reset of counters."""
        missed = placed(self.run, series, np.isnan(series.columns[counter]), self.phase)
        first, last = self.at_s[:-1], self.at_s[1:]
        broken = np.zeros(first.size, dtype=np.bool_)
        for at_s in missed:
            broken |= (first < at_s) & (at_s < last)
        anew = inside(self.run, series, DISCONTINUITIES, self.phase)
        if anew is not None and anew[0].size:
            broken |= np.diff(np.interp(self.at_s, *anew)) > 0
        return broken


def _permits(run: RunSample, node: str) -> Mapping[Permit, int]:
    work = run.planned.workload
    return planned_of(work).permits(work, node, is_simulated=run.record.mode is not None)
