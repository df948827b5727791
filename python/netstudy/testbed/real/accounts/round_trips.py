"""The parts of round trips, by samples of their length and the planned way.

A sender that may send no more waits for an acknowledgment, so that its time is a chain of round
trips. At a sample of length r, a part of the way that takes the time t has the share t / r.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import NamedTuple

from netstudy.testbed.real.accounts.bounds import Bounds, Part
from netstudy.testbed.real.accounts.course import RoundTrip
from netstudy.testbed.real.accounts.way import Way

QUEUE = Part("own", "queue")
LATENCY = Part("own", "host-latency")


class Rate(NamedTuple):
    """Bounds of the mean number of round trips in a nanosecond."""

    low: float
    high: float


def rate(samples: Sequence[RoundTrip], least_ns: float) -> Rate:
    """By samples of round trips, of which none is shorter than the least one. The kernel's
    deviation is the error of a sample. Without a sample, a round trip may be of any length."""
    shortest = [max(one.smoothed - one.deviation, least_ns) for one in samples] or [least_ns]
    longest = [one.smoothed + one.deviation for one in samples]
    return Rate(
        mean(1 / one for one in longest) if longest and min(longest) > 0 else 0.0,
        mean(1 / one for one in shortest) if min(shortest) > 0 else 1.0,
    )


def shares(way: Way, trips: Rate, least_ns: float, *, full: float) -> dict[Part, Bounds]:
    """Bounds of the share of each part in a time: of the planned way, of the network stacks of
    hosts, and of queues.

    `least_ns` is the least round trip between the hosts, which is taken to have met no queue.
    `full` is the least number of round trips of full frames in a nanosecond.
    """
    idle_ns = least_ns + way.most_ns - way.least_ns
    stacks = Bounds(max(least_ns - way.most_ns, 0.0), least_ns - way.least_ns)
    found = {
        part: Bounds(way.full[part].low * full, min(bounds.high * trips.high, 1.0))
        for part, bounds in way.parts.items()
    }
    found[LATENCY] = Bounds(stacks.low * full, min(stacks.high * trips.high, 1.0))
    found[QUEUE] = Bounds(max(1 - idle_ns * trips.high, 0.0), 1 - way.least_ns * full)
    return found
