"""The planned way of a connection's data, and of the acknowledgments back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netstudy import wire
from netstudy.plan.paths import FRAME_OVERHEAD_BYTES, Route, Routes
from netstudy.testbed.real.accounts.bounds import Bounds, Part, at_most, exactly, summed
from netstudy.units import FRAMING_BYTES


@dataclass(frozen=True)
class Way:
    """The way from a sender to a receiver and back."""

    parts: dict[Part, Bounds]
    """Time of one round trip in each part of the way: propagation, serialization, latency of
    switches. A frame with data has at least the size of an acknowledgment, and at most that of the
    link."""
    full: dict[Part, Bounds]
    """The same for a frame with data that has the size of the link."""
    there: dict[Part, Bounds]
    """Time of the smallest frame on its way to the receiver."""

    @property
    def least_ns(self) -> float:
        """The time of a round trip of the smallest frames through idle devices."""
        return sum(bounds.low for bounds in self.parts.values())

    @property
    def most_ns(self) -> float:
        """The same for the largest frames."""
        return sum(bounds.high for bounds in self.parts.values())


def way(routes: Routes, sender: str, receiver: str, *, is_kept: bool) -> Way:
    """The way between two endpoints; `is_kept`: every frame takes the planned times. A kernel's
    queue sends bursts above its rate, and does not delay frames."""
    there, back = routes.route(sender, receiver), routes.route(receiver, sender)
    full_bytes = FRAMING_BYTES + (there.mtu_bytes or 0)
    acknowledgment = (FRAME_OVERHEAD_BYTES, FRAME_OVERHEAD_BYTES)

    def planned(*sizes: tuple[int, int]) -> dict[Part, Bounds]:
        trips = zip((there, back), sizes, strict=False)
        each = (part for route, size in trips for part in _trip(routes, route, *size))
        parts = summed({part: bounds} for part, bounds in each)
        return parts if is_kept else {part: at_most(bounds.high) for part, bounds in parts.items()}

    return Way(
        parts=planned((FRAME_OVERHEAD_BYTES, full_bytes), acknowledgment),
        full=planned((full_bytes, full_bytes), acknowledgment),
        there=planned(acknowledgment),
    )


def _trip(
    routes: Routes, route: Route, least_bytes: int, most_bytes: int
) -> Iterator[tuple[Part, Bounds]]:
    """The times of a frame with a size between these."""
    for port, link in route.hops:
        other = link.b if port is link.a else link.a
        ends = (port.node, other.node)
        times = (size * 8e9 / port.rate_bps for size in (least_bytes, most_bytes))
        yield Part("own", "propagation", *ends), exactly(link.delay_ns)
        yield Part("own", "serialization", *ends), Bounds(*times)
        node = routes.network.node(port.node)
        if isinstance(node, wire.Switch) and node.latency_ns:
            yield Part("own", "switch-latency", node.name), exactly(node.latency_ns)
