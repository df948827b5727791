"""Converts the values that a switch reports by SNMP to counters that only grow.

The functions are pure: they take polls and return series of counters. They handle three problems.
The wrap of a 32-bit counter is corrected if the counter can have wrapped at most once between two
polls. If a counter restarted (because the switch restarted, or its counters were cleared or
declared discontinuous), its growth between the two polls is not known, and the interval is marked.
An agent may refresh its counters less often than it is polled (net-snmp: every 3 s): polls with
unchanged values are left out, so that traffic is not attributed to the wrong interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from netstudy.testbed.real.snmp_wire import SnmpSamples
from netstudy.units import FRAMING_BYTES

UP_TIME: Final = "sysUpTime"
DISCONTINUITY: Final = "ifCounterDiscontinuityTime"
"""Both are in hundredths of a second."""

_SUMS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "bytes_received": (("ifHCInOctets",), ("ifInOctets",)),
    "frames_received": (
        ("ifHCInUcastPkts", "ifHCInMulticastPkts", "ifHCInBroadcastPkts"),
        ("ifInUcastPkts", "ifInMulticastPkts", "ifInBroadcastPkts"),
    ),
    "bytes_forwarded": (("ifHCOutOctets",), ("ifOutOctets",)),
    "frames_forwarded": (
        ("ifHCOutUcastPkts", "ifHCOutMulticastPkts", "ifHCOutBroadcastPkts"),
        ("ifOutUcastPkts", "ifOutMulticastPkts", "ifOutBroadcastPkts"),
    ),
    "frames_dropped": (("ifOutDiscards",),),
    "frames_received_64": (("etherStatsPkts64Octets",),),
    "frames_received_65_127": (("etherStatsPkts65to127Octets",),),
    "frames_received_128_255": (("etherStatsPkts128to255Octets",),),
    "frames_received_256_511": (("etherStatsPkts256to511Octets",),),
    "frames_received_512_1023": (("etherStatsPkts512to1023Octets",),),
    "frames_received_1024_1518": (("etherStatsPkts1024to1518Octets",),),
    "frames_received_over_1518": (("etherStatsOversizePkts",),),
}
"""Counter of a record -> alternative sets of objects to sum up. The first set whose first object
the switch has is used; objects that the switch lacks are left out of the sum."""
_OCTETS: Final = ("ifInOctets", "ifOutOctets")
_DISCARDS: Final = "ifOutDiscards"
_WIDE: Final = "ifHC"
"""Beginning of the names of 64-bit counters, which never wrap in practice."""

_WRAP: Final = 1 << 32
_NS_PER_CS: Final = 10_000_000
_CLOCK_NS: Final = 1_000_000_000
"""How far the switch's clock may differ from ours over an interval, in addition to 5 % of the
interval."""
_SLACK: Final = 1.1
_SLACK_NS: Final = 100_000_000
"""A counter grows by at most `_SLACK` × the line rate × (the time between the middles of two polls
+ `_SLACK_NS`)."""
_SMALLEST_FRAME_BYTES: Final = 64
_CHANGES_MIN: Final = 3
"""With fewer refreshes than this, the time between refreshes is not computed."""
SLOWER: Final = 1.25
"""An SNMP agent counts as slower than the polls if the time between its refreshes is more than this
many poll intervals."""


@dataclass(frozen=True)
class Polls:
    """The readings of one poller at one switch."""

    switch: str
    from_: str
    """The host that polled."""
    every_ns: int
    own_port: str | None
    """The port of the switch that leads to the polling host; None: the host reaches it
    otherwise."""
    samples: tuple[SnmpSamples, ...]
    """Samples by port. The poller's own port is included; its counters grow with each poll."""
    edges: Mapping[str, int]
    """Start or end of a phase -> when the additional poll made there was complete."""
    rates_bps: Mapping[str, int]
    """Port -> the higher of the rates of the two directions of its link."""

    def course(self, port: str) -> Course:
        """The counters of a port. Raises LookupError when it was not polled."""
        found = [one for one in self.samples if one.port == port]
        if len(found) != 1:
            raise LookupError(f"the port {port} of {self.switch} was not polled")
        slow_ns = self.refresh_ns if self.is_slow else None
        return course(found[0], self.rates_bps[port], slow_ns)

    @property
    def refresh_ns(self) -> float | None:
        """Time between two refreshes of the agent's counters; None: too few were seen. A refresh
        time shorter than the interval of the polls looks like that interval."""
        found = (refresh_ns(one, self.every_ns) for one in self.samples)
        known = [one for one in found if one is not None]
        return min(known, default=None)

    @property
    def is_slow(self) -> bool:
        """Whether the agent refreshes its counters less often than it is polled."""
        found = self.refresh_ns
        return found is not None and found > SLOWER * self.every_ns


@dataclass(frozen=True)
class Course:
    """Counters of a port, poll by poll."""

    at_ns: tuple[int, ...]
    """For each poll, the middle between request and answer; if there was no answer, the time of the
    request."""
    values: Mapping[str, tuple[int | None, ...]]
    """Counter -> its value, corrected for wraps. `discontinuities` counts the restarts so far, over
    which the growth of counters is not known. At a poll without an answer, all values are None."""
    discontinuities: tuple[tuple[int, str], ...]
    """Time and reason of each discontinuity."""
    unanswered: tuple[tuple[int, str], ...]
    """Time and reason of each request without an answer."""

    def growth(self, counter: str, first_ns: int, last_ns: int) -> int | None:
        """Growth of a counter between two instants, each represented by the last answer before it;
        None: not known."""
        if counter not in self.values:
            return None
        first, last = (self._at(ns) for ns in (first_ns, last_ns))
        if first is None or last is None:
            return None
        broken = self.values["discontinuities"]
        start, end = self.values[counter][first], self.values[counter][last]
        if start is None or end is None or broken[first] != broken[last]:
            return None
        return end - start

    def _at(self, ns: int) -> int | None:
        known = (place for place, at in enumerate(self.at_ns) if at <= ns)
        answered = [place for place in known if self.values["discontinuities"][place] is not None]
        return answered[-1] if answered else None


def refresh_ns(samples: SnmpSamples, every_ns: int) -> float | None:
    """Time between two refreshes: the median of the times between consecutive polls that showed
    changed values, leaving out times in which the port was idle. None: too few were seen.

    The additional polls at the start and end of phases are left out, since they are not made at the
    regular interval."""
    spans: list[int] = []
    previous: int | None = None
    changed_ns: int | None = None
    times = _times(samples)
    for place, at_ns in enumerate(times):
        if previous is not None and at_ns - times[previous] < every_ns // 2:
            continue
        if samples.received_ns[place] is None:
            previous = changed_ns = None
            continue
        if previous is not None and _is_news(samples, previous, place):
            if changed_ns is not None:
                spans.append(at_ns - changed_ns)
            changed_ns = at_ns
        previous = place
    if len(spans) < _CHANGES_MIN - 1:
        return None
    return median(span for span in spans if span <= 2 * min(spans))


def course(samples: SnmpSamples, rate_bps: int, slow_ns: float | None = None) -> Course:
    """The counters of a port with the given line rate. `slow_ns` is the time between refreshes if
    the SNMP agent is slower than the polls, else None."""
    kept = list(_fresh(samples, slow_ns))
    at_ns = _times(samples)
    grown: dict[str, int] = {}
    columns: dict[str, list[int | None]] = {name: [] for name in _named(samples)}
    broken: list[int | None] = []
    found: list[tuple[int, str]] = []
    slack_ns = _SLACK_NS if slow_ns is None else round(slow_ns)
    before: int | None = None
    for place in kept:
        if samples.received_ns[place] is None:
            broken.append(None)
            for column in columns.values():
                column.append(None)
            continue
        # Only growth is added up, so a wrap or a restart causes no jump in the series.
        if before is not None:
            growth, why = _growth(samples, before, place, (rate_bps, slack_ns))
            if why is not None:
                found.append((at_ns[place], why))
            grown = {name: grown[name] + growth.get(name, 0) for name in grown}
        else:
            grown = {name: samples.values[name][place] or 0 for name in samples.values}
        before = place
        broken.append(len(found))
        for name, column in columns.items():
            objects = _objects(samples, name)
            known = all(samples.values[one][place] is not None for one in objects)
            column.append(sum(grown[one] for one in objects) if known else None)
    up_time = samples.values.get(UP_TIME)
    up_ms = (
        tuple(None if (up := up_time[one]) is None else 10 * up for one in kept) if up_time else ()
    )
    return Course(
        at_ns=tuple(at_ns[place] for place in kept),
        values={
            **{name: tuple(column) for name, column in columns.items()},
            **({"uptime_ms": up_ms} if up_ms else {}),
            "discontinuities": tuple(broken),
        },
        discontinuities=tuple(found),
        unanswered=tuple(
            (samples.sent_ns[place], samples.why[place] or "no answer")
            for place in kept
            if samples.received_ns[place] is None
        ),
    )


def _times(samples: SnmpSamples) -> list[int]:
    pairs = zip(samples.sent_ns, samples.received_ns, strict=True)
    return [sent if received is None else (sent + received) // 2 for sent, received in pairs]


def _is_news(samples: SnmpSamples, before: int, after: int) -> bool:
    counted = (column for name, column in samples.values.items() if name != UP_TIME)
    return any(column[before] != column[after] for column in counted)


def _fresh(samples: SnmpSamples, slow_ns: float | None) -> Iterator[int]:
    """The polls to keep: those without an answer, and the first one after each refresh. A poll
    counts as the first if values have changed, or if a refresh was due since the last one."""
    at_ns = _times(samples)
    last: int | None = None
    for place in range(len(at_ns)):
        if samples.received_ns[place] is None:
            yield place
        elif (
            slow_ns is None
            or last is None
            or _is_news(samples, last, place)
            or at_ns[place] - at_ns[last] > 2 * slow_ns
        ):
            last = place
            yield place


def _named(samples: SnmpSamples) -> list[str]:
    return [name for name in _SUMS if _objects(samples, name)]


def _objects(samples: SnmpSamples, name: str) -> list[str]:
    """The objects whose sum is the counter; empty: the switch does not have them."""
    for objects in _SUMS[name]:
        if objects[0] in samples.values:
            return [one for one in objects if one in samples.values]
    return []


def _growth(
    samples: SnmpSamples, before: int, after: int, line: tuple[int, int]
) -> tuple[dict[str, int], str | None]:
    """Growth of each object between two answers, or the reason why the growth is not known. `line`
    gives the line rate, and how much further apart the agent's readings may be than the polls."""
    rate_bps, slack_ns = line
    at_ns = _times(samples)
    elapsed_ns = at_ns[after] - at_ns[before]
    why = _restarted(samples, before, after, elapsed_ns) or _declared(samples, before, after)
    if why is not None:
        return {}, why
    grown: dict[str, int] = {}
    for name, column in samples.values.items():
        first, last = column[before], column[after]
        if name in (UP_TIME, DISCONTINUITY) or first is None or last is None:
            continue
        most = _most(name, elapsed_ns + slack_ns, rate_bps)
        growth = last - first
        if not name.startswith(_WIDE) and growth < 0:
            growth += _WRAP
        if growth < 0 or growth > most:
            return {}, f"{name} went from {first:,} to {last:,}: it began anew"
        if not name.startswith(_WIDE) and most >= _WRAP:
            return {}, f"{name} may have wrapped more than once between two polls"
        grown[name] = growth
    return grown, None


def _restarted(samples: SnmpSamples, before: int, after: int, elapsed_ns: int) -> str | None:
    """The reason if sysUpTime advanced less than our clock; a wrap of sysUpTime after 497 days is
    allowed for."""
    column = samples.values.get(UP_TIME)
    first, last = (column[before], column[after]) if column else (None, None)
    if first is None or last is None:
        return None
    allowed_ns = _CLOCK_NS + elapsed_ns // 20
    for up in (last, last + _WRAP):
        if up >= first and abs((up - first) * _NS_PER_CS - elapsed_ns) <= allowed_ns:
            return None
    if last > first and (last - first) * _NS_PER_CS > elapsed_ns:
        return None  # a fast clock does not mean a restart
    return f"the switch restarted: it is up for {last / 100:.2f} s, {first / 100:.2f} s before"


def _declared(samples: SnmpSamples, before: int, after: int) -> str | None:
    column = samples.values.get(DISCONTINUITY)
    if column is None or column[before] == column[after]:
        return None
    return "the switch says that the counters of the port began anew"


def _most(name: str, elapsed_ns: int, rate_bps: int) -> float:
    """The largest growth of a counter that the line rate allows in a given time."""
    if name == _DISCARDS:
        return _WRAP / 2  # a port may drop frames from all other ports
    octets = _SLACK * rate_bps / 8 * elapsed_ns / 1e9
    is_octets = name in _OCTETS or name.endswith(("HCInOctets", "HCOutOctets"))
    gap_bytes = FRAMING_BYTES - 18
    return octets if is_octets else octets / (_SMALLEST_FRAME_BYTES + gap_bytes)


def unanswered(polls: Polls, first_ns: int, last_ns: int) -> list[str]:
    """The reasons of requests without an answer between two instants, one per request."""
    return _between([one for port in _courses(polls) for one in port.unanswered], first_ns, last_ns)


def discontinuities(polls: Polls, first_ns: int, last_ns: int) -> list[str]:
    """The reasons of discontinuities between two instants, one per discontinuity."""
    found = [one for port in _courses(polls) for one in port.discontinuities]
    return _between(found, first_ns, last_ns)


def _courses(polls: Polls) -> list[Course]:
    return [polls.course(one.port) for one in polls.samples]


def _between(found: Sequence[tuple[int, str]], first_ns: int, last_ns: int) -> list[str]:
    return [why for at_ns, why in found if first_ns <= at_ns <= last_ns]
