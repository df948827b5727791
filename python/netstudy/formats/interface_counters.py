"""Counters of interfaces, for all formats that have them: /proc/net/dev, `ip -s -j link`,
`ethtool -S`."""

from __future__ import annotations

from typing import Final

from netstudy.formats.measured import Better, Quantity


def _counter(name: str, better: Better, meaning: str, unit: str = "") -> Quantity:
    return Quantity(name, name.replace("_", " "), unit, better, 0, meaning)


QUANTITIES: Final = (
    _counter(
        "receive_bytes", "neither", "bytes that the interface received, headers included", "B"
    ),
    _counter("receive_packets", "neither", "packets that the interface received"),
    _counter("receive_errors", "lower", "bad packets that the interface received"),
    _counter("receive_drops", "lower", "packets that were dropped when they came in"),
    _counter("receive_overruns", "lower", "packets lost because the adapter's queue was full"),
    _counter("send_bytes", "neither", "bytes that the interface sent, headers included", "B"),
    _counter("send_packets", "neither", "packets that the interface sent"),
    _counter("send_errors", "lower", "packets that could not be sent"),
    _counter("send_drops", "lower", "packets that were dropped before they were sent"),
)
"""Cumulative counters; their growth by time gives rates."""
