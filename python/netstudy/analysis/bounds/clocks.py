"""Why senders wait: the clocks of TCP connections, as shares of the time of the measuring phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Final

import numpy as np

from netstudy.analysis.bounds.candidates import LimitKind
from netstudy.analysis.bounds.parts import Part, wait_of
from netstudy.analysis.cells import CellRow
from netstudy.analysis.gathering import Block, Demands
from netstudy.analysis.ideal import group_of
from netstudy.analysis.intervals import packed
from netstudy.analysis.samples import NS_PER_S, Floats, NotAlikeError, RunSample
from netstudy.wire import Role

_CLOCKS: Final[dict[str, tuple[LimitKind, str]]] = {
    "peer_window_ns": ("window", ""),
    "own_buffer_ns": ("send_buffer", ""),
    "congestion_window_ns": ("congestion_window", ""),
    "recovery_ns": ("congestion_window", "recovery"),
    "timer_ns": ("timeouts", ""),
}
"""Column of the table of connections -> the kind of limit that a sender waits for, and its part.
The other clocks name no limit: a sender that waits for its own interface waits for a link or a
CPU."""


_SETTINGS: Final[dict[LimitKind, str]] = {
    "window": "receive_buffer_bytes",
    "send_buffer": "send_buffer_bytes",
}
"""Kind of a limit -> the setting of TCP."""


def share_of_waits(row: CellRow) -> Iterator[Part]:
    """The waits of the senders of a cell that have a clock, each as a share of the time of all
    connections; empty for testbeds without these clocks."""
    for column, (kind, part) in _CLOCKS.items():
        parts = row.runs.gathered(("share", column), _shares(column))
        shares = [share for each in parts for share in each.tolist()]
        if shares and len(shares) == len(row.runs):
            yield wait_of((kind, waiting_group(row, kind), part), sum(shares) / len(shares))


def share_demands() -> Demands:
    """The parts that `share_of_waits` needs from the runs of a cell."""
    return {("share", column): _shares(column) for column in _CLOCKS}


def _shares(column: str) -> Callable[[Block], Floats]:
    """The shares of the runs of a block that have the clock."""

    def part(block: Block) -> Floats:
        with suppress(NotAlikeError):
            return packed(_shares_by_rows(block, column))
        found = [share for run in block if (share := _share_pct(run, column)) is not None]
        return packed(np.array(found, dtype=np.float64))

    return part


def _shares_by_rows(block: Block, column: str) -> Floats:
    waited, windows = block.column("connection", column), block.measure_s
    if waited is None:
        return np.empty(0)
    if not all(windows) or np.isnan(waited).any():
        raise NotAlikeError
    ends = waited.shape[1] * len(block[0].planned.workload.sending)
    shares: Floats = 100 * waited.sum(axis=1) / (ends * np.array(windows) * NS_PER_S)
    return shares


def _share_pct(run: RunSample, column: str) -> float | None:
    waited, window = run.column("connection", column), run.measure_s
    if waited is None or not window or np.isnan(waited).any():
        return None
    ends = waited.size * len(run.planned.workload.sending)
    return float(100 * waited.sum() / (ends * window * NS_PER_S))


def waiting_group(row: CellRow, kind: LimitKind) -> str:
    """The group whose setting is the limit: the receiver's window, else the sender's. Where both
    send, the smaller window."""
    run = row.planned[0]
    other: Mapping[Role, Role] = {"client": "server", "server": "client"}
    roles = [other[role] if kind == "window" else role for role in run.workload.sending]
    members = (getattr(run.workload.roles, role)[0] for role in roles)
    groups = [group_of(run.network, member) for member in members]
    setting = _SETTINGS.get(kind)
    if setting is None:
        return groups[0].name
    return min(groups, key=lambda group: int(getattr(group.tcp, setting))).name
