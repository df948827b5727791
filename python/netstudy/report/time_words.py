"""The words for parts of the time of units of work: places, reasons and families."""

from __future__ import annotations

from typing import Final

from netstudy.analysis.accounts import Family, PartKey
from netstudy.wire import Place, Reason

FAMILY_NAMES: Final[dict[Family, str]] = {
    "work": "work",
    "wire": "wire",
    "window": "window",
    "queue": "queue",
    "timer": "timer",
    "slot": "wait for a slot",
    "think": "think",
    "not known": "not known",
}
"""The names of the families in figures and tables, in the order in which bars are stacked: so
neighbours differ in lightness too."""
FAMILY_WORDS: Final[dict[Family, str]] = {
    "work": "work of hosts",
    "wire": "transmission and latencies",
    "window": "round trips until a window has room",
    "queue": "waiting in queues",
    "timer": "waiting for timers",
    "slot": "waiting for a free thread or connection",
    "think": "think time",
    "not known": "not known",
}
"""The families in sentences: "97 % of an iteration is waiting for timers"."""
WINDOW_NAMES: Final[dict[Reason, str]] = {
    "peer-window": "receive window",
    "own-buffer": "send buffer",
    "congestion-window": "congestion window",
}
_REASONS: Final[dict[Reason, str]] = {
    **{reason: f"round trips for the {name}" for reason, name in WINDOW_NAMES.items()},
    "recovery": "retransmission",
    "own-interface": "earlier bytes of the connection",
}
_NAMES: Final[dict[Place, str]] = {
    "application": "application",
    "cpu": "CPU",
    "memory-bus": "memory bus",
    "io-bus": "I/O bus",
    "disk": "disk",
    "database-hold": "logs and locks",
    "cpu-queue": "queue for the CPU",
    "memory-bus-queue": "queue for the memory bus",
    "io-bus-queue": "queue for the I/O bus",
    "disk-queue": "queue for the disk",
    "queue": "queue",
    "pause": "PAUSE",
    "thread": "wait for a thread",
    "pool": "wait for a connection to the database",
    "database-slot": "wait for a slot of the database",
    "connection": "wait for the connection of the request",
    "host-latency": "network stack",
    "interrupt": "interrupt delay",
    "packet-rate-sending": "packet rate of sending",
    "packet-rate-receiving": "packet rate of receiving",
    "serialization": "serialization",
    "switch-latency": "latency",
    "propagation": "propagation",
    "retransmission-timer": "retransmission timer",
    "probe-timer": "timer of tail loss probes",
    "reordering-timer": "reordering timer",
    "window-probe-timer": "timer of window probes",
    "delayed-ack-timer": "delayed-ACK timer",
    "think": "think time",
    "generator": "load generator",
    "not-known": "not known",
}
_AT_PORT: Final[tuple[Place, ...]] = ("queue", "pause")


def place_words(key: PartKey) -> str:
    """The place of a part: "queue at switch to client", "retransmission timer of server"."""
    name = _NAMES[key.place]
    if not key.node:
        return name
    if not key.to:
        return f"{name} {'at' if key.place in _AT_PORT else 'of'} {key.node}"
    return f"{name} {'at' if key.place in _AT_PORT else 'from'} {key.node} to {key.to}"


def part_words(key: PartKey) -> str:
    """The reason of a part, unless it is the bytes of the unit itself, and its place: "round trips
    for the receive window: propagation from client to switch"."""
    place, reason = place_words(key), _REASONS.get(key.reason)
    if reason is None:
        return place
    if key.place == "not-known":
        return reason
    # A timer that recovers losses needs no other reason.
    is_timer = key.reason == "recovery" and key.place.endswith("-timer")
    return place if is_timer else f"{reason}: {place}"
