"""The bound that a window sets: flows × window ÷ round-trip time."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import numpy as np

from netstudy.analysis.bounds.parts import Part
from netstudy.analysis.cells import CellRow
from netstudy.analysis.gathering import Block
from netstudy.analysis.ideal import framing, group_of
from netstudy.analysis.machines import is_simulated_in
from netstudy.analysis.receive_window import window_bytes
from netstudy.analysis.samples import Floats, NotAlikeError
from netstudy.plan.paths import Routes
from netstudy.wire import Run

_USABLE: Final = 0.6
"""The share of `send_buffer` that a Linux kernel fills with payload at least; the rest is for
headers and metadata."""
_LEAST: Final = 0.5
"""A window can be the limit only if throughput is at least this share of window ÷ round-trip time
without queues. Below it, senders wait for a window that a queue in front of a full link holds."""


def can_limit(row: CellRow, part: Part) -> bool:
    """True if the throughput of a cell is near enough to the bound of a window that senders wait
    for."""
    share = share_of_bound(row, part)
    return share is None or share >= _LEAST


def is_tied(row: CellRow, part: Part, near_pct: float) -> bool:
    """True if the window bounds throughput as closely as a resource that is full: senders wait for
    it all the time, and no queue in front of the resource is needed to explain that."""
    share = share_of_bound(row, part)
    usable = _USABLE if _is_real(row) and part.kind == "send_buffer" else 1.0
    return part.share_pct >= near_pct and share is not None and share >= near_pct / 100 * usable


def share_of_bound(row: CellRow, part: Part) -> float | None:
    """Bytes a second ÷ the sum of window ÷ round-trip time over all connections; None: not
    known."""
    bound = _bytes_per_s(row.planned[0], part, by_kernel=_is_real(row))
    parts = row.runs.gathered("rates", rates_part)
    rates = [rate for part in parts if part is not None for rate in part.tolist()]
    if any(part is None for part in parts) or not rates or not bound:
        return None
    return float(sum(rates)) / len(rates) / bound


def rates_part(block: Block) -> Floats | None:
    """Gathers the bytes a second of each run of a block; None if one of them did not count."""
    with suppress(NotAlikeError):
        return _rates_by_rows(block)
    rates = []
    for run in block:
        moved = [run.column("connection", name) for name in ("bytes_received", "bytes_sent")]
        if not run.measure_s or any(one is None for one in moved):
            return None
        rates.append(sum(float(one.sum()) for one in moved if one is not None) / run.measure_s)
    return np.array(rates, dtype=np.float64)


def _rates_by_rows(block: Block) -> Floats | None:
    moved = [block.column("connection", name) for name in ("bytes_received", "bytes_sent")]
    seconds = block.measure_s
    if not all(seconds) or any(one is None for one in moved):
        return None
    total = sum(one.sum(axis=1) for one in moved if one is not None)
    return np.asarray(total / np.array(seconds, dtype=np.float64))


def _is_real(row: CellRow) -> bool:
    return not is_simulated_in(row.runs)


def _bytes_per_s(run: Run, part: Part, *, by_kernel: bool) -> float:
    routes, total = Routes(run.network), 0.0
    is_from_server = run.workload.sending[0] == "server"
    ways = len(run.workload.sending)
    for client, server in run.workload.connected:
        sender, receiver = (server, client) if is_from_server else (client, server)
        frames = framing(run.network, (client, server), sender)
        if part.kind == "window":
            receiving = group_of(run.network, receiver).tcp
            window = window_bytes(receiving, frames.mtu_bytes, by_kernel=by_kernel)
        else:
            window = group_of(run.network, sender).tcp.send_buffer_bytes
        payload = frames.payload_bytes
        trip_ns = routes.time_ns(sender, receiver, payload) + routes.time_ns(receiver, sender, 0)
        total += ways * window / (trip_ns / 1e9)
    return total
