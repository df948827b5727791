"""Time in which a sender waited for a timer, by counts of the kernel and looks of the agents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from netstudy.testbed.real.accounts.bounds import NOTHING, UNKNOWN, Bounds, Part, at_most
from netstudy.testbed.real.wire import WaitEnd, WaitsRecord

_DELAYED_ACK_NS = 40_000_000
"""The least delay of an acknowledgment by its timer (TCP_DELACK_MIN, include/net/tcp.h). It may be
longer (`tcp_send_delayed_ack`, net/ipv4/tcp_output.c)."""


class Wait(NamedTuple):
    """Bounds of a time in which nothing moved although data were outstanding: see WaitsRecord."""

    before_ns: int
    from_ns: int
    to_ns: int
    until_ns: int
    round_trip_ns: int
    ended: WaitEnd

    @property
    def is_for_timer(self) -> bool:
        """True if the wait was for a timer of the sender: a timeout ended it, or it was longer than
        a round trip, so that no acknowledgment was under way. The timer ran from the last event
        before the wait."""
        return self.ended == "timeout" or self.to_ns - self.from_ns > self.round_trip_ns

    def within(self, start_ns: int, end_ns: int) -> Bounds:
        """How much of it lies in a span, as a wait for a timer."""
        low = min(self.to_ns, end_ns) - max(self.from_ns, start_ns)
        high = min(self.until_ns, end_ns) - max(self.before_ns, start_ns)
        return Bounds(max(low, 0) if self.is_for_timer else 0, max(high, 0))


def waits(records: Sequence[WaitsRecord]) -> Iterator[Wait]:
    """The waits of a connection."""
    for record in records:
        times = (record.before_ns, record.from_ns, record.to_ns, record.until_ns)
        yield from map(Wait, *times, record.round_trip_ns, record.ended)


@dataclass(frozen=True)
class Timers:
    """Knowledge of a sender's timers in a span."""

    seen: Sequence[Wait] | None
    """Waits that overlap the span; None: the sender's kernel does not show them."""
    timeouts: Bounds
    """Number of expiries of the retransmission timer."""
    retransmissions: Bounds
    """Number of retransmitted segments."""
    probes: int
    """The most tail loss probes."""
    delayed_acks: int
    """The most acknowledgments that the receiver's timer sent."""
    min_rto_ns: float
    """The minimum of the retransmission timeout, in whole ticks: ip-route(8), rto_min."""
    rto_ns: float
    """The largest timeout at readings in the span, before and after it, with its backoff."""
    unseen_ns: float
    """The longest wait that looks may miss: two intervals of them."""
    tick_ns: int


def retransmission(timers: Timers, start_ns: int, end_ns: int) -> Bounds:
    """Waits for the retransmission timer. Each expiry is at least the minimum timeout after the
    event that armed the timer (RFC 6298, 5; tcp_rearm_rto, net/ipv4/tcp_input.c)."""
    if not timers.timeouts.high:
        return NOTHING
    if timers.seen is None:
        return UNKNOWN
    seen = [one.within(start_ns, end_ns) for one in timers.seen if one.ended == "timeout"]
    missed = max(timers.timeouts.high - len(seen), 0)
    longest = timers.rto_ns + 2 * timers.tick_ns
    return Bounds(
        max(timers.timeouts.low * timers.min_rto_ns, sum(one.low for one in seen)),
        sum(one.high for one in seen) + missed * longest,
    )


def probe(timers: Timers, start_ns: int, end_ns: int) -> Bounds:
    """Waits for the timer of a tail loss probe (RFC 8985, 7). A span without a retransmission had
    none that mattered: a probe retransmits, or the loss that it finds is repaired."""
    if not timers.probes or not timers.retransmissions.high:
        return NOTHING
    if timers.seen is None:
        return UNKNOWN
    seen = [one.within(start_ns, end_ns) for one in timers.seen if one.ended == "retransmission"]
    missed = max(min(timers.probes, timers.retransmissions.high) - len(seen), 0)
    return Bounds(
        sum(one.low for one in seen), sum(one.high for one in seen) + missed * timers.unseen_ns
    )


def delayed_ack(timers: Timers, start_ns: int, end_ns: int) -> Bounds:
    """Waits for the receiver's timer of delayed acknowledgments: long waits that an acknowledgment
    ended, and no more of them than its host has sent such acknowledgments."""
    if timers.seen is None:
        return UNKNOWN if timers.delayed_acks else NOTHING
    least_ns = _DELAYED_ACK_NS - timers.tick_ns
    seen = [one for one in timers.seen if one.ended == "progress"]
    long = [one for one in seen if one.until_ns - one.before_ns >= least_ns]
    times = sorted((one.within(start_ns, end_ns).high for one in long), reverse=True)
    return at_most(sum(time for time in times[: timers.delayed_acks] if time >= least_ns))


def parts(
    timers: Timers, sender: str, receiver: str, start_ns: int, end_ns: int
) -> dict[Part, Bounds]:
    """The parts of the timers at both ends of a connection."""
    span = (start_ns, end_ns)
    found = {
        Part("recovery", "retransmission-timer", sender): retransmission(timers, *span),
        Part("recovery", "probe-timer", sender): probe(timers, *span),
        Part("own", "delayed-ack-timer", receiver): delayed_ack(timers, *span),
    }
    return {part: bounds for part, bounds in found.items() if bounds.high > 0}
