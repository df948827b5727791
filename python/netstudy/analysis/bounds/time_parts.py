"""The account of time of a cell, by the limits of throughput that its parts belong to.

Bytes on a link belong to the link, whatever they were sent for. A window has the time in which
nothing but the round trip passes until it has room: propagation and latencies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.accounts import PartKey, UnitTime, unit_time
from netstudy.analysis.bounds.buffers import behind_drops
from netstudy.analysis.bounds.candidates import Candidate, Key, LimitKind
from netstudy.analysis.bounds.clocks import waiting_group
from netstudy.analysis.bounds.parts import Part, wait_of
from netstudy.analysis.bounds.ties import WINDOWS
from netstudy.analysis.cells import CellRow
from netstudy.plan.workloads.base import Permit
from netstudy.wire import Place, Reason

_STATIONS: Final[dict[Place, tuple[LimitKind, str]]] = {
    "cpu": ("cpu", ""),
    "cpu-queue": ("cpu", ""),
    "memory-bus": ("bus", "memory bus"),
    "memory-bus-queue": ("bus", "memory bus"),
    "io-bus": ("bus", "I/O bus"),
    "io-bus-queue": ("bus", "I/O bus"),
    "disk": ("disk", "disk"),
    "disk-queue": ("disk", "disk"),
}
_SLOTS: Final[dict[Place, Permit]] = {
    "thread": "threads",
    "pool": "pool",
    "database-slot": "database_slots",
    "database-hold": "database_slots",
}
_ON_LINK: Final[tuple[Place, ...]] = ("serialization", "queue")
_OF_REASONS: Final[dict[Reason, tuple[LimitKind, str]]] = {
    "own": ("round_trip", ""),
    "own-interface": ("round_trip", ""),
    "peer-window": ("window", ""),
    "own-buffer": ("send_buffer", ""),
    "congestion-window": ("congestion_window", ""),
    "recovery": ("congestion_window", "recovery"),
}
_THINK: Final[Key] = ("think_time", "", "")
_OF_HOSTS: Final = ("window", "send_buffer", "congestion_window")


@dataclass(frozen=True)
class Piece:
    """A part of the time, and everything that would shorten it."""

    key: Key
    """The limit that it belongs to."""
    window: Key | None
    """The window that has no room until the time has passed; None: the part is no such wait."""
    share_pct: float


@dataclass(frozen=True)
class TimeShares:
    """The account of the mean time of a cell's units of work, by limits."""

    unit: str
    is_exact: bool
    """True if the parts are known exactly, and not only within bounds."""
    journey: tuple[Part, ...]
    """The largest first; of a closed loop, with the think time."""
    cause: tuple[Part, ...]
    """The same, with the work in front in place of waits in queues. Where a buffer drops frames,
    the waits for the congestion window are waits for this buffer."""
    pieces: tuple[Piece, ...]
    """The parts of `cause`, one by one."""


def shares_of_time(
    row: CellRow, candidates: Sequence[Candidate], think_s: float
) -> TimeShares | None:
    """The shares of the time of all units, by their lower bounds where only bounds are known; None:
    the cell has no account of time. `think_s`: the think time between two units."""
    journey = unit_time(row, "journey", "all")
    if journey is None:
        return None
    # Nothing tells real hosts which work was in front.
    cause = unit_time(row, "cause", "all") or journey
    keys = _Keys(row, {one.resource.key: one.name for one in candidates})
    return TimeShares(
        unit=journey.unit,
        is_exact=journey.is_exact and cause.is_exact,
        journey=keys.shares(journey, think_s),
        cause=_largest_first(behind_drops(keys.shares(cause, think_s), candidates)),
        pieces=tuple(keys.pieces(cause, think_s)),
    )


def _largest_first(parts: Iterable[Part]) -> tuple[Part, ...]:
    return tuple(sorted(parts, key=lambda part: -part.share_pct))


@dataclass(frozen=True)
class _Keys:
    """Tells which limit a part of a time belongs to."""

    row: CellRow
    names: dict[Key, str]
    """The candidates of the cell."""

    def shares(self, time: UnitTime, think_s: float) -> tuple[Part, ...]:
        """The parts of a mean time by the limits that they belong to, the largest first."""
        sums: defaultdict[Key, float] = defaultdict(float)
        for piece in self.pieces(time, think_s):
            sums[piece.key] += piece.share_pct
        return _largest_first(self.part(key, share) for key, share in sums.items() if share > 0)

    def pieces(self, time: UnitTime, think_s: float) -> Iterator[Piece]:
        """The parts of a mean time, without the part that is not known. `think_s`: think time
        that passes in addition."""
        whole_s = time.whole_s + think_s
        yield Piece(_THINK, None, 100 * think_s / whole_s)
        for part in time.parts:
            if part.key.place != "not-known":
                share = 100 * part.low_s / whole_s
                yield Piece(self.of(part.key), self._window(part.key), share)

    def _window(self, key: PartKey) -> Key | None:
        kind, _ = _OF_REASONS[key.reason]
        return (kind, waiting_group(self.row, kind), "") if kind in WINDOWS else None

    def of(self, key: PartKey) -> Key:
        """The limit that a part belongs to: a candidate of the cell, or a wait."""
        place, node = key.place, key.node
        if place in _STATIONS:
            kind, part = _STATIONS[place]
            of_load: Key = ("generator", node, part)
            return of_load if kind == "cpu" and of_load in self.names else (kind, node, part)
        if place in _SLOTS:
            return "slots", node, _SLOTS[place]
        if place in _ON_LINK:
            return "link", node, key.to
        if place == "packet-rate-sending":
            return "packet_rate", node, f"{key.to}, send"
        if place == "packet-rate-receiving":
            return "packet_rate", key.to, f"{node}, receive"
        return self._wait(key)

    def _wait(self, key: PartKey) -> Key:
        match key.place:
            case "pause":
                return "port", key.to, "PAUSE"
            case "retransmission-timer" | "probe-timer" | "reordering-timer":
                return "timeouts", "", ""
            case "delayed-ack-timer":
                return "delayed_ack", key.node, ""
            case "think":
                return _THINK
            case "generator":
                return "generator", key.node, "schedule"
            case "application" | "connection":
                return "wait", "", key.place
            case "window-probe-timer":
                return "window", waiting_group(self.row, "window"), ""
        kind, part = _OF_REASONS[key.reason]
        return kind, waiting_group(self.row, kind) if kind in _OF_HOSTS else "", part

    def part(self, key: Key, share_pct: float) -> Part:
        """The part with its name."""
        kind, node, part = key
        if key in self.names:
            return Part(kind, node, f"the {self.names[key]}", share_pct, part)
        if kind == "link":
            return Part(kind, node, f"the link from {node} to {part}", share_pct, part)
        if kind == "packet_rate":
            return Part(kind, node, f"the packet rate of {node}", share_pct, part)
        if kind in ("cpu", "bus", "disk", "slots"):
            return Part(kind, node, f"the {part or 'CPUs'} of {node}", share_pct, part)
        return wait_of(key, share_pct)
