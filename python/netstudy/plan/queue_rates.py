"""The rates inside queue disciplines, under a scale of link rates."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn

from netstudy.queues import Policer, Queue, Shaper, VaryingRate
from netstudy.units import format_rate


def scaled(queue: Queue, scale: Fraction, refuse: Callable[[str], NoReturn]) -> Queue:
    """The discipline with the rates of its shapers, policers and varying rates multiplied by
    `scale`, like the rates of links, so that the same part of a path stays its narrowest.

    Sizes in bytes, such as bursts and limits, stay as they are, like the buffers of ports; so do
    delays. `refuse` raises StudyError: a rate would be below 1 bit/s.
    """
    if scale == 1 or not isinstance(queue, Shaper | Policer | VaryingRate):
        return queue

    def rate(rate_bps: int) -> int:
        if rate_bps and not int(rate_bps * scale):
            refuse(f"{format_rate(rate_bps)} at {scale} is below 1 bit/s")
        return int(rate_bps * scale)

    changed: dict[str, Any] = {
        "over": None if queue.over is None else scaled(queue.over, scale, refuse)
    }
    if isinstance(queue, VaryingRate):
        changed["steps"] = tuple((lasts_ns, rate(rate_bps)) for lasts_ns, rate_bps in queue.steps)
    else:
        changed["rate_bps"] = rate(queue.rate_bps)
    return queue.model_copy(update=changed)
