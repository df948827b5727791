"""Quantities of queue disciplines, from their counters over the measuring phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from netstudy.analysis.nodes.growth import Fraction, Growth
from netstudy.wire import QueueStatistics

_NS_PER_MS = 1e6

Queues = Sequence[QueueStatistics]
"""The counters of the selected ports in one run, by port and class."""


def sojourn(growth: Growth) -> Fraction | None:
    """Milliseconds in the queue of all frames that left it, and the number of these frames."""
    if not _is_known(growth):
        return None
    waited = [sum(one.sojourn_sum_ns for one in queues) / _NS_PER_MS for queues in growth.queues]
    sent = [sum(one.frames_sent for one in queues) for queues in growth.queues]
    return np.array(waited, dtype=np.float64), np.array(sent, dtype=np.float64)


def sojourn_percentile(percent: float) -> Callable[[Growth], Fraction | None]:
    """The time in the queue that this share of the frames did not exceed, in milliseconds."""

    def of(growth: Growth) -> Fraction | None:
        if not _is_known(growth):
            return None
        found = [percentile_ns(queues, percent) / _NS_PER_MS for queues in growth.queues]
        return np.array(found, dtype=np.float64), np.ones(len(found))

    return of


def dropped_at_departure(growth: Growth) -> Fraction | None:
    """Frames that were dropped when they were taken out of the queue."""
    if not _is_known(growth):
        return None
    dropped = [sum(one.frames_dropped_at_departure for one in queues) for queues in growth.queues]
    return np.array(dropped, dtype=np.float64), np.ones(len(dropped))


def _is_known(growth: Growth) -> bool:
    """True if the ports have a discipline in each run."""
    return bool(growth.queues) and all(growth.queues)


def percentile_ns(queues: Queues, percent: float) -> float:
    """The highest time of the bucket that contains the percentile; NaN if no frame left."""
    frames: Counter[int] = Counter()
    for one in queues:
        frames.update(dict(zip(one.sojourn_ns, one.frames, strict=True)))
    wanted = frames.total() * percent / 100
    below = 0
    for ns in sorted(frames):
        below += frames[ns]
        if below >= wanted:
            return ns
    return float("nan")
