"""The times of a run's phases, by the clock of its first client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from netstudy import wire
from netstudy.testbed.real.clocks import Bracket, Clocks, Instant, NoBoundError
from netstudy.testbed.real.wire import PhaseRecord


@dataclass(frozen=True)
class Carried:
    """A phase with traffic, as the clients saw it."""

    kind: wire.PhaseKind
    clients: Mapping[str, PhaseRecord]
    """Host or zone of a client -> its record of the phase."""
    is_planned: bool = True
    """False for a warm-up without a length, which is not in the plan."""


@dataclass(frozen=True)
class Paused:
    """A phase without traffic. It begins when nothing is in flight."""

    kind: wire.PhaseKind
    length_ns: int


Happened = Carried | Paused | wire.PhaseTimes
"""A phase that has ended; the times of an application's phase are known at once."""


def phase_times(
    happened: Iterable[Happened], clocks: Clocks, domain: str
) -> tuple[wire.PhaseTimes, ...]:
    """The phases in order, by the clock `domain`. Raises NoBoundError if a client's times have no
    bound on it.

    With clients of several clocks, the measuring phase is the time that all of them share.
    """
    found: list[wire.PhaseTimes] = []
    quiet_ns = 0
    for phase in happened:
        match phase:
            case wire.PhaseTimes():
                found.append(phase)
            case Carried():
                quiet_ns = _quiet_ns(phase.clients, clocks, domain)
                if phase.is_planned:
                    found.append(_carried(phase, clocks, domain))
            case Paused():
                start_ns = found[-1].end_ns if found else 0
                end_ns = max(start_ns, quiet_ns) + phase.length_ns
                found.append(wire.PhaseTimes(kind=phase.kind, start_ns=start_ns, end_ns=end_ns))
    return tuple(found)


def _carried(phase: Carried, clocks: Clocks, domain: str) -> wire.PhaseTimes:
    records = phase.clients
    starts = _around({node: one.from_ns for node, one in records.items()}, clocks, domain)
    ends = _around({node: one.to_ns for node, one in records.items()}, clocks, domain)
    start_ns, end_ns = starts.low_ns, ends.high_ns
    if phase.kind == "measure" and len({clocks.domains[node] for node in records}) > 1:
        start_ns, end_ns = starts.high_ns, ends.low_ns
        if start_ns >= end_ns:
            raise NoBoundError("no time is in the measuring phase of every client for sure")
    return wire.PhaseTimes(kind=phase.kind, start_ns=start_ns, end_ns=end_ns)


def _quiet_ns(clients: Mapping[str, PhaseRecord], clocks: Clocks, domain: str) -> int:
    """The latest time at which the last traffic of a phase may have arrived."""
    return _around({node: one.quiet_ns for node, one in clients.items()}, clocks, domain).high_ns


def _around(times_ns: Mapping[str, int], clocks: Clocks, domain: str) -> Bracket:
    """From the first to the last of some times, each by the clock of its node."""
    each = [
        clocks.translate(Instant(clocks.domains[node], at_ns), domain)
        for node, at_ns in times_ns.items()
    ]
    return Bracket(domain, min(one.low_ns for one in each), max(one.high_ns for one in each))
