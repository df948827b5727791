"""Clock domains: a time belongs to one clock, and reaches another clock only as bounds.

The controller pings the clock of each host: it notes its own time before and after, and the host
answers with its own. The host's clock showed that time in between, so each ping bounds the offset
of the two clocks. Groups of pings are made while nothing else is sent: before a run, at the edges
of its phases, and after it. At any time, the rate of a clock is taken to be within `_WANDER` of its
mean over the run, which the groups bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Final, NamedTuple

from netstudy import wire

_RATE_MAX: Final = 500e-6
"""The most by which the rates of two clocks are taken to differ: a kernel slews a clock by no more
than this (NTP's MAXFREQ, include/linux/timex.h), and quartz crystals differ by less."""
_WANDER: Final = 10e-6
"""How far a rate may depart from its mean over a run, by temperature and by corrections of a time
service."""


class NoBoundError(LookupError):
    """Times of two clocks cannot be compared: no bound of their offset is known."""


@dataclass(frozen=True)
class Instant:
    """A time of one clock."""

    domain: str
    ns: int

    def __sub__(self, earlier: Instant) -> int:
        """The time between two instants of one clock, in nanoseconds. Raises NoBoundError if they
        are of two."""
        if self.domain != earlier.domain:
            raise NoBoundError(
                f"a time of {self.domain} and one of {earlier.domain} are of two clocks"
            )
        return self.ns - earlier.ns


@dataclass(frozen=True)
class Bracket:
    """An instant, as bounds of the time that a clock showed then."""

    domain: str
    low_ns: int
    high_ns: int

    @property
    def is_exact(self) -> bool:
        """True if it is one time of the clock."""
        return self.low_ns == self.high_ns


class Ping(NamedTuple):
    """The time of a host, and the controller's own times before and after, in nanoseconds."""

    sent_ns: int
    host_ns: int
    received_ns: int


class _Offset(NamedTuple):
    """Bounds of the controller's time less the host's, at one time of the host."""

    host_ns: int
    low_ns: float
    high_ns: float


@dataclass(frozen=True)
class HostClock:
    """The estimate of a host's clock by the controller's."""

    domain: str
    offsets: tuple[_Offset, ...]
    """One for each group of pings, in order of time."""

    @classmethod
    def of(cls, domain: str, groups: Iterable[Sequence[Ping]]) -> HostClock:
        """The estimate by groups of pings, in order of time; empty groups are left out."""
        return cls(domain, tuple(_offset(group) for group in groups if group))

    @property
    def rate(self) -> tuple[float, float]:
        """Bounds of the mean rate of the controller's clock less the host's, by the host's time."""
        first, last = self.offsets[0], self.offsets[-1]
        span_ns = last.host_ns - first.host_ns
        if not span_ns:
            return -_RATE_MAX, _RATE_MAX
        low = (last.low_ns - first.high_ns) / span_ns
        high = (last.high_ns - first.low_ns) / span_ns
        return max(low, -_RATE_MAX), min(high, _RATE_MAX)

    def to_controller(self, host_ns: int) -> tuple[float, float]:
        """Bounds of the controller's time less the host's, at a time of the host. Raises
        NoBoundError without pings, or if they contradict each other: then the clock was set, or its
        rate changed."""
        if not self.offsets:
            raise NoBoundError(f"the clock of {self.domain} was not compared with another one")
        low, high = self.rate
        slowest, fastest = max(low - _WANDER, -_RATE_MAX), min(high + _WANDER, _RATE_MAX)
        each = [_moved(one, host_ns, slowest, fastest) for one in self.offsets]
        least, most = max(one[0] for one in each), min(one[1] for one in each)
        if least > most or low > high:
            raise NoBoundError(
                f"the clock of {self.domain} was set during the run, or changed its rate"
            )
        return least, most

    def to_host(self, controller_ns: int) -> tuple[float, float]:
        """Bounds of the host's time at a time of the controller. Raises NoBoundError."""
        if not self.offsets:
            raise NoBoundError(f"the clock of {self.domain} was not compared with another one")
        nearest = self.offsets[-1]
        host_ns = controller_ns - round((nearest.low_ns + nearest.high_ns) / 2)
        # The offset is nearly constant: a second step takes the drift since the last ping away.
        low, high = self.to_controller(host_ns)
        low, high = self.to_controller(controller_ns - round((low + high) / 2))
        return controller_ns - high, controller_ns - low


def _offset(group: Sequence[Ping]) -> _Offset:
    """The bounds that all pings of a group agree on, at the middle of the group."""
    at_ns = (group[0].host_ns + group[-1].host_ns) // 2

    def slack_ns(ping: Ping) -> float:
        return _RATE_MAX * abs(ping.host_ns - at_ns)

    return _Offset(
        at_ns,
        max(ping.sent_ns - ping.host_ns - slack_ns(ping) for ping in group),
        min(ping.received_ns - ping.host_ns + slack_ns(ping) for ping in group),
    )


def _moved(one: _Offset, host_ns: int, slowest: float, fastest: float) -> tuple[float, float]:
    """Bounds at another time, with a rate between these."""
    span_ns = host_ns - one.host_ns
    drifts = (slowest * span_ns, fastest * span_ns)
    return one.low_ns + min(drifts), one.high_ns + max(drifts)


@dataclass(frozen=True)
class Clocks:
    """The clocks of a run's nodes."""

    domains: Mapping[str, str]
    """Host, zone or switch -> its clock. Nodes with the same clock have equal times."""
    hosts: Mapping[str, HostClock] = field(default_factory=dict)
    """Clock -> its estimate; clocks that were not compared are missing."""

    @property
    def is_one(self) -> bool:
        """True if all nodes have the same clock."""
        return len(set(self.domains.values())) <= 1

    def translate(self, instant: Instant, domain: str) -> Bracket:
        """An instant by another clock; exact if it is the same one. Raises NoBoundError."""
        if instant.domain == domain:
            return Bracket(domain, instant.ns, instant.ns)
        low, high = self._estimate(instant.domain).to_controller(instant.ns)
        other = self._estimate(domain)
        least, _ = other.to_host(floor(instant.ns + low))
        _, most = other.to_host(ceil(instant.ns + high))
        return Bracket(domain, floor(least), ceil(most))

    def bounds(self, domain: str, other: str, span_ns: tuple[int, int]) -> wire.ClockBounds:
        """The bounds of a clock, compared with another one, in a span of the other's time. Raises
        NoBoundError."""
        start_ns, end_ns = span_ns
        places = (start_ns, (start_ns + end_ns) // 2, end_ns)
        found = [self.translate(Instant(other, at_ns), domain) for at_ns in places]
        ours, theirs = self._estimate(domain).rate, self._estimate(other).rate
        return wire.ClockBounds(
            offset_low_ns=found[0].low_ns - start_ns,
            offset_high_ns=found[0].high_ns - start_ns,
            drift_low_ppm=round(1e6 * (theirs[0] - ours[1]), 3),
            drift_high_ppm=round(1e6 * (theirs[1] - ours[0]), 3),
            uncertainty_ns=max((one.high_ns - one.low_ns + 1) // 2 for one in found),
        )

    def _estimate(self, domain: str) -> HostClock:
        return self.hosts.get(domain) or HostClock(domain, ())
