"""Why senders wait: the clocks of TCP connections, as shares of the time of the measuring phase."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from netstudy.analysis.bounds.candidates import LimitKind
from netstudy.analysis.bounds.parts import Part, wait_of
from netstudy.analysis.cells import CellRow
from netstudy.analysis.samples import NS_PER_S, RunSample

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


def share_of_waits(row: CellRow) -> Iterator[Part]:
    """The waits of the senders of a cell that have a clock, each as a share of the time of all
    connections; empty for testbeds without these clocks."""
    for column, (kind, part) in _CLOCKS.items():
        shares = [share for run in row.runs if (share := _share_pct(run, column)) is not None]
        if shares and len(shares) == len(row.runs):
            yield wait_of((kind, waiting_group(row, kind), part), sum(shares) / len(shares))


def _share_pct(run: RunSample, column: str) -> float | None:
    waited, window = run.column("connection", column), run.measure_s
    if waited is None or not window or np.isnan(waited).any():
        return None
    ends = waited.size * len(run.planned.workload.sending)
    return float(100 * waited.sum() / (ends * window * NS_PER_S))


def waiting_group(row: CellRow, kind: LimitKind) -> str:
    """The group whose setting is the limit: the receiver's window, else the sender's."""
    run = row.planned[0]
    sending = run.workload.sending
    is_received = kind == "window"
    role = "client" if (sending[0] == "server") == is_received else "server"
    members = run.workload.roles.client if role == "client" else run.workload.roles.server
    node = run.network.node(members[0].partition("@")[0])
    return getattr(node, "group", node.name)
