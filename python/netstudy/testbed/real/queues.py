"""Counters of the queue disciplines of switches, over the measuring phase."""

from __future__ import annotations

from typing import Final

from netstudy import wire
from netstudy.testbed.real.evidence import Evidence

_NAMES: Final = frozenset({"node", "port", "dscp", "sojourn_ns", "frames"})
"""Fields that are no counters."""


def queues(evidence: Evidence) -> tuple[wire.QueueStatistics, ...]:
    """The growth of the counters of each discipline and class."""
    first = {_key(one): one for one in evidence.switch.queues(wire.MEASURE_START)}
    last = evidence.switch.queues(wire.MEASURE_END)
    grown = (since(one, first.get(_key(one))) for one in last)
    return tuple(sorted(grown, key=_key))


def since(now: wire.QueueStatistics, before: wire.QueueStatistics | None) -> wire.QueueStatistics:
    """The growth of counters since `before`; None: nothing had been counted yet."""
    if before is None:
        return now
    counters = {
        name: getattr(now, name) - getattr(before, name)
        for name in wire.QueueStatistics.model_fields
        if name not in _NAMES
    }
    waited = dict(zip(before.sojourn_ns, before.frames, strict=True))
    buckets = [
        (ns, frames - waited.get(ns, 0))
        for ns, frames in zip(now.sojourn_ns, now.frames, strict=True)
        if frames > waited.get(ns, 0)
    ]
    return now.model_copy(
        update={
            **counters,
            "sojourn_ns": tuple(ns for ns, _ in buckets),
            "frames": tuple(frames for _, frames in buckets),
        }
    )


def _key(one: wire.QueueStatistics) -> tuple[str, str, int]:
    return one.node, one.port, one.dscp
