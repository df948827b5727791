"""A part of the time of a unit of work, or of the time of a connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from netstudy.analysis.bounds.candidates import Key, LimitKind

_NAMES: Final[dict[tuple[LimitKind, str], str]] = {
    ("window", ""): "the receive window of {node}",
    ("send_buffer", ""): "the send buffer of {node}",
    ("congestion_window", ""): "the congestion window of {node}",
    ("congestion_window", "recovery"): "recovery from losses",
    ("timeouts", ""): "retransmission timers",
    ("delayed_ack", ""): "delayed acknowledgments of {node}",
    ("round_trip", ""): "round trips without queues",
    ("think_time", ""): "thinking",
    ("generator", "schedule"): "the schedule of {node}",
    ("port", "PAUSE"): "PAUSE from {node}",
    ("wait", "application"): "waits inside the application",
    ("wait", "connection"): "connections that other requests use",
}


@dataclass(frozen=True)
class Part:
    """A part of a time."""

    kind: LimitKind
    node: str
    """The group of hosts, or the switch; empty: none."""
    name: str
    share_pct: float
    """In percent of the whole."""
    part: str = ""
    """The neighbour or the part of the node, as of a resource."""

    @property
    def key(self) -> Key:
        """As of a resource."""
        return self.kind, self.node, self.part


def wait_of(key: Key, share_pct: float) -> Part:
    """A wait that uses no resource."""
    kind, node, part = key
    return Part(kind, node, _NAMES[kind, part].format(node=node), share_pct, part)
