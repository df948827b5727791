"""The words for parts of the time of units of work: places, reasons and families."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from netstudy.analysis.accounts import Family, PartKey, TimePart, UnitTime
from netstudy.queues import queue_title
from netstudy.report.numbers import Quantity
from netstudy.report.prose.words import with_article
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
    "packet-rate-sending": "packet rate",
    "packet-rate-receiving": "packet rate",
    "serialization": "serialization",
    "switch-latency": "latency",
    "propagation": "propagation",
    "retransmission-timer": "retransmission timer",
    "probe-timer": "probe timer",
    "reordering-timer": "reordering timer",
    "window-probe-timer": "window probe timer",
    "delayed-ack-timer": "delayed-ACK timer",
    "think": "think time",
    "generator": "load generator",
    "not-known": "not known",
}
_AT_PORT: Final[tuple[Place, ...]] = ("queue", "pause")


def place_name(place: Place) -> str:
    """The name of a kind of place, for labels."""
    return _NAMES[place]


def place_words(key: PartKey) -> str:
    """The place of a part: "queue at switch to client", "FQ-CoDel queue at modem to isp",
    "retransmission timer of server"."""
    name = queue_title(key.disciplines) if key.place == "queue" else _NAMES[key.place]
    if not key.node:
        return name
    if key.place == "packet-rate-sending":
        return f"{name} of {key.node}, sending"
    if key.place == "packet-rate-receiving":
        return f"{name} of {key.to or key.node}, receiving"
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


def by_name(
    time: UnitTime, family: Family, *, with_disciplines: bool = True
) -> dict[str, list[TimePart]]:
    """The parts of a family by their names in figures and sentences: the window or the place, for
    all reasons together. The largest first, by lower bounds.

    `with_disciplines`: the name of a queue has that of its discipline.
    """
    found: dict[str, list[TimePart]] = {}
    for part in time.parts:
        if part.key.family == family:
            name = WINDOW_NAMES.get(part.key.reason) if family == "window" else None
            key = part.key if with_disciplines else replace(part.key, disciplines=())
            found.setdefault(name or place_words(key), []).append(part)
    return dict(sorted(found.items(), key=lambda one: -low_s(one[1])))


def low_s(parts: Iterable[TimePart]) -> float:
    """The sum of the lower bounds."""
    return sum(part.low_s for part in parts)


def high_s(parts: Iterable[TimePart]) -> float:
    """The sum of the upper bounds."""
    return sum(part.high_s for part in parts)


def whose_time(unit: str) -> str:
    """The unit of work whose time is divided: "an iteration"; of streams, "streams"."""
    return "streams" if unit == "interval" else with_article(unit)


def time_quantity(seconds: Sequence[float], whole_s: float) -> Quantity:
    """Times in ms, with three digits of the whole."""
    decimals = 2 - math.floor(math.log10(1e3 * whole_s)) if whole_s > 0 else 0
    return Quantity(tuple(1e3 * one for one in seconds), decimals)


def time_text(seconds: float) -> str:
    """A time with three digits, in its most readable unit."""
    return time_quantity([seconds], seconds).in_unit("ms")
