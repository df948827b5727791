"""Queue disciplines whose parameters contradict each other, or through which frames never pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netstudy.knobs import knobs
from netstudy.queues import (
    Band,
    Drr,
    DrrClass,
    Fifo,
    Policer,
    Priority,
    Queue,
    Red,
    Shaper,
    VaryingRate,
)
from netstudy.units import CHECK_SEQUENCE_BYTES, ETHERNET_HEADER_BYTES


def mistakes(queue: Queue, mtu_bytes: int) -> Iterator[str]:
    """The mistakes in a discipline, and in those under it, at a port whose link has this MTU.

    Each is a sentence that begins with a parameter, by its name in a study, and says which values
    would be right. The engine refuses some of these disciplines, too, by names of the wire.
    """
    frame_bytes = mtu_bytes + ETHERNET_HEADER_BYTES + CHECK_SEQUENCE_BYTES
    if isinstance(queue, Fifo):
        yield from _of_fifo(queue, frame_bytes)
    elif isinstance(queue, Red):
        yield from _of_red(queue, frame_bytes)
    elif isinstance(queue, Priority):
        yield from _of_classes("bands", "band", queue.bands)
    elif isinstance(queue, Drr):
        yield from _of_classes("classes", "class", queue.classes)
    elif isinstance(queue, Shaper | Policer):
        yield from _of_bucket(queue, frame_bytes)
    if isinstance(queue, Shaper | Policer | VaryingRate) and queue.over is not None:
        yield from (f"over: {said}" for said in mistakes(queue.over, mtu_bytes))


def _of_fifo(queue: Fifo, frame_bytes: int) -> Iterator[str]:
    if queue.limit_packets == 0:
        yield "limit_packets is 0, so that no frame ever passes; give at least 1"
    if queue.limit_bytes is not None:
        yield from _too_small(queue, "limit", queue.limit_bytes, frame_bytes)


def _of_red(queue: Red, frame_bytes: int) -> Iterator[str]:
    least, most, limit = (_shown(queue, name) for name in ("min", "max", "limit"))
    if queue.max_bytes <= queue.min_bytes:
        yield f"max, {most}, must be above min, {least}"
    if queue.limit_bytes < queue.max_bytes:
        yield f"limit, {limit}, must be at least max, {most}"
    yield from _too_small(queue, "limit", queue.limit_bytes, frame_bytes)
    yield from _of_average(queue)


def _of_average(queue: Red) -> Iterator[str]:
    """The average has no weight with which a burst of usual frames raises it to `min` (Floyd and
    Jacobson 1993, equation 3: burst + 1 + ((1 - w)^burst - 1) / w = min / avpkt)."""
    least, usual = _shown(queue, "min"), _shown(queue, "avpkt")
    bursts = -(-queue.min_bytes // queue.avpkt_bytes)
    # The left side is 1 for a single frame, whatever the weight, and above 1 for several.
    is_one = queue.burst_packets == 1 and queue.min_bytes == queue.avpkt_bytes
    if queue.min_bytes <= queue.avpkt_bytes and not is_one:
        yield f"min, {least}, must be above avpkt, {usual}"
    elif queue.burst_packets < bursts:
        yield (
            f"burst, {queue.burst_packets}, must be at least {bursts}: "
            f"min, {least}, divided by avpkt, {usual}"
        )


def _of_classes(key: str, one: str, classes: Sequence[Band | DrrClass]) -> Iterator[str]:
    owner: dict[int, int] = {}
    for number, own in enumerate(classes, start=1):
        if not own.dscp and number < len(classes):
            yield (
                f"{key}: {one} {number} has no dscp, so that it never gets a frame: only the last "
                f"{one} takes code points that are not listed; list some, or leave it out"
            )
        for dscp in own.dscp:
            if dscp in owner:
                yield (
                    f"{key}: the code point {dscp} of {one} {number} is in {one} {owner[dscp]} "
                    "already; list it once"
                )
            owner[dscp] = number


def _of_bucket(queue: Shaper | Policer, frame_bytes: int) -> Iterator[str]:
    yield from _too_small(queue, "burst", queue.burst_bytes, frame_bytes + queue.overhead_bytes)


def _too_small(queue: Queue, name: str, bytes_: int, needed_bytes: int) -> Iterator[str]:
    if bytes_ < needed_bytes:
        yield (
            f"{name}, {_shown(queue, name)}, is below a full frame of {needed_bytes:,} B, so that "
            "no full frame ever passes; give at least that"
        )


def _shown(queue: Queue, name: str) -> str:
    """A parameter as a study writes it."""
    knob = knobs(type(queue))[name]
    return knob.shown(getattr(queue, knob.wired))
