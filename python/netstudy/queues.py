"""Queue disciplines of the ports of switches and of interfaces, as plans describe them.

The engine has a file for each in `crates/fabric/src/queue`, with its RFC or paper. Parameters have
the names of `tc`, with their units, and its defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from netstudy.wire_model import UINT32_MAX, Said, Wire

_LONGEST_NS = 60_000_000_000
"""A minute: the longest span of a parameter."""


class Fifo(Wire):
    """First in, first out (`bfifo`, `pfifo`)."""

    kind: Literal["fifo"] = "fifo"
    limit_bytes: int | None = Field(default=None, ge=0, exclude_if=lambda limit: limit is None)
    """Most bytes that may wait, without the frame on the wire; None: only the buffer limits
    them."""
    limit_packets: int | None = Field(
        default=None, ge=0, le=UINT32_MAX, exclude_if=lambda limit: limit is None
    )
    """Most frames that may wait; None: only the buffer limits them."""


class Red(Wire):
    """Random early detection (Floyd and Jacobson 1993)."""

    kind: Literal["red"] = "red"
    limit_bytes: int = Field(ge=1)
    """Most bytes that may wait."""
    min_bytes: int = Field(ge=1)
    """Average length up to which no frame is dropped or marked."""
    max_bytes: int = Field(ge=1)
    """Average length from which every frame is dropped or marked."""
    probability: float = Field(default=0.02, gt=0, le=1)
    """Probability that is reached at `max`."""
    avpkt_bytes: int = Field(default=1000, ge=1, le=UINT32_MAX)
    """Size of a usual frame."""
    burst_packets: Annotated[int, Said("burst")] = Field(ge=1, le=UINT32_MAX)
    """How many usual frames may come together at an empty queue before the average exceeds
    `min`."""
    ecn: bool = False
    """True if ECN-capable frames are marked instead of dropped."""


class CoDel(Wire):
    """Controlled delay (RFC 8289)."""

    kind: Literal["codel"] = "codel"
    limit_packets: Annotated[int, Said("limit")] = Field(default=1000, ge=1, le=UINT32_MAX)
    """Most frames that may wait."""
    target_ns: int = Field(default=5_000_000, ge=0, le=_LONGEST_NS)
    """The acceptable standing delay."""
    interval_ns: int = Field(default=100_000_000, ge=1, le=_LONGEST_NS)
    """How long the delay must be above the target before the first drop."""
    ecn: bool = False
    """True if ECN-capable frames are marked instead of dropped."""


class FqCoDel(Wire):
    """Controlled delay of each flow, and turns between flows (RFC 8290)."""

    kind: Literal["fq-codel"] = "fq-codel"
    limit_packets: Annotated[int, Said("limit")] = Field(default=10_240, ge=1, le=UINT32_MAX)
    """Most frames that may wait in all queues together."""
    flows: int = Field(default=1024, ge=1, le=65_536)
    """Number of queues, to which flows are hashed."""
    target_ns: int = Field(default=5_000_000, ge=0, le=_LONGEST_NS)
    """The acceptable standing delay."""
    interval_ns: int = Field(default=100_000_000, ge=1, le=_LONGEST_NS)
    """How long the delay must be above the target before the first drop."""
    quantum_bytes: int = Field(default=1514, ge=1, le=UINT32_MAX)
    """Bytes that a queue may send in its turn."""
    ecn: bool = True
    """True if ECN-capable frames are marked instead of dropped."""


class Pie(Wire):
    """Proportional integral controller enhanced (RFC 8033)."""

    kind: Literal["pie"] = "pie"
    limit_packets: Annotated[int, Said("limit")] = Field(default=1000, ge=1, le=UINT32_MAX)
    """Most frames that may wait."""
    target_ns: int = Field(default=15_000_000, ge=1, le=_LONGEST_NS)
    """The delay that the controller aims at."""
    tupdate_ns: int = Field(default=15_000_000, ge=1, le=_LONGEST_NS)
    """Time between two updates of the drop probability."""
    alpha: float = Field(default=0.125, ge=0, le=1000)
    """Weight of the distance of the delay from the target, in 1/s; `tc` takes 16 times as much."""
    beta: float = Field(default=1.25, ge=0, le=1000)
    """Weight of the growth of the delay, in 1/s; `tc` takes 16 times as much."""
    ecn: bool = False
    """True if ECN-capable frames are marked instead of dropped up to a probability of 10 %."""


RateStepNs = Annotated[int, Field(ge=1)]
RateStepBps = Annotated[int, Field(ge=0)]
CodePoint = Annotated[int, Field(ge=0, le=63)]
"""A differentiated services code point (RFC 2474, 3)."""


class Band(Wire):
    """A band of `Priority`."""

    dscp: tuple[CodePoint, ...] = ()
    """The code points of its frames."""
    limit_packets: int | None = Field(
        default=None, ge=1, le=UINT32_MAX, exclude_if=lambda limit: limit is None
    )
    """Most frames that may wait in it; None: only the buffer limits them."""


class Priority(Wire):
    """Strict priority: a frame leaves only if no frame waits in the bands before its own."""

    kind: Literal["priority"] = "priority"
    bands: tuple[Band, ...] = Field(min_length=1, max_length=16)
    """The first one is served first. Code points that no band lists belong to the last one."""


class DrrClass(Wire):
    """A class of `Drr`."""

    dscp: tuple[CodePoint, ...] = ()
    """The code points of its frames."""
    quantum_bytes: int = Field(default=1514, ge=1, le=UINT32_MAX)
    """Bytes that the class may send in its turn."""
    limit_packets: int | None = Field(
        default=None, ge=1, le=UINT32_MAX, exclude_if=lambda limit: limit is None
    )
    """Most frames that may wait in it; None: only the buffer limits them."""


class Drr(Wire):
    """Deficit round-robin: classes send in turn (Shreedhar and Varghese 1995)."""

    kind: Literal["drr"] = "drr"
    classes: tuple[DrrClass, ...] = Field(min_length=1, max_length=16)
    """Code points that no class lists belong to the last one."""


class _Bucket(Wire):
    """A token bucket before another discipline."""

    rate_bps: int = Field(ge=1)
    """Rate of the frames in the long run."""
    burst_bytes: int = Field(ge=1)
    """Bytes that may pass at once after a pause."""
    overhead_bytes: int = Field(
        default=0, ge=-65_535, le=65_535, exclude_if=lambda overhead: overhead == 0
    )
    """Added to the size of each frame before it is charged. The size of a frame includes its
    Ethernet header and check sequence."""
    over: Queue | None = Field(default=None, exclude_if=lambda over: over is None)
    """The discipline of the frames that wait; None: a FIFO that only the buffer limits."""


class Shaper(_Bucket):
    """A token bucket that holds frames back until there are tokens for them (`tbf`)."""

    kind: Literal["shaper"] = "shaper"
    offload_as_one: bool = Field(default=False, exclude_if=lambda as_one: not as_one)
    """True if only the first frame of a packet of segmentation offload is charged, as by `htb` of
    Linux 2.6, whose rate table ends near the size of one frame. Its other frames pass at no cost.
    Only at a host."""


class Policer(_Bucket):
    """A token bucket that drops frames for which there are no tokens (`police`)."""

    kind: Literal["policer"] = "policer"


class VaryingRate(Wire):
    """A line whose rate changes with time, such as that of a mobile network."""

    kind: Literal["varying-rate"] = "varying-rate"
    steps: tuple[tuple[RateStepNs, RateStepBps], ...] = Field(min_length=1)
    """Rates in turn, each with the time for which it lasts; after the last one, the first begins
    again."""
    overhead_bytes: int = Field(
        default=0, ge=-65_535, le=65_535, exclude_if=lambda overhead: overhead == 0
    )
    """Added to the size of each frame before it is sent. The size of a frame includes its Ethernet
    header and check sequence."""
    over: Queue | None = Field(default=None, exclude_if=lambda over: over is None)
    """The discipline of the frames that wait; None: a FIFO that only the buffer limits."""

    @property
    def rate_bps(self) -> int:
        """The mean rate."""
        lasts_ns = sum(lasts for lasts, _ in self.steps)
        return sum(lasts * rate for lasts, rate in self.steps) // lasts_ns


Queue = Annotated[
    Fifo | Red | CoDel | FqCoDel | Pie | Priority | Drr | Shaper | Policer | VaryingRate,
    Field(discriminator="kind"),
]
"""A queue discipline."""


_TITLES: Final = {
    "fifo": "FIFO",
    "red": "RED",
    "codel": "CoDel",
    "fq-codel": "FQ-CoDel",
    "pie": "PIE",
    "priority": "priority",
    "drr": "DRR",
    "shaper": "shaper's",
    "policer": "policer's",
    "varying-rate": "varying-rate",
}


def _stacked(queue: Queue | None) -> Iterator[Queue]:
    """A discipline, and then those under it."""
    while queue is not None:
        yield queue
        queue = queue.over if isinstance(queue, Shaper | Policer | VaryingRate) else None


def kinds_of(queue: Queue | None) -> Iterator[str]:
    """The kind of a discipline, and then those under it."""
    return (one.kind for one in _stacked(queue))


def queue_title(kinds: Sequence[str]) -> str:
    """The name of a queue with disciplines of these kinds: "FQ-CoDel queue", "policer"; without
    any, "queue"."""
    if [*kinds] == ["policer"]:
        return "policer"
    return " ".join([*(_TITLES[kind] for kind in kinds), "queue"])


def limits_of(queue: Queue | None) -> Iterator[Shaper | Policer | VaryingRate]:
    """The parts of a queue discipline that limit its rate, the outer one first. A shaper that
    counts an offloaded packet as one frame limits packets, not bytes, so it is left out."""
    for one in _stacked(queue):
        if isinstance(one, Shaper | Policer | VaryingRate) and not _counts_as_one(one):
            yield one


def counts_offload_as_one(queue: Queue) -> bool:
    """True if the discipline contains a shaper that charges an offloaded packet as one frame."""
    return any(_counts_as_one(one) for one in _stacked(queue))


def _counts_as_one(queue: Queue) -> bool:
    return isinstance(queue, Shaper) and queue.offload_as_one


for _model in (_Bucket, Shaper, Policer, VaryingRate):
    _model.model_rebuild()
