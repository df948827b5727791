"""Application bytes that a host received, computed from the sample tables of the workload's
connections."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netstudy.analysis.gathering import Block
from netstudy.analysis.intervals import Sums
from netstudy.analysis.nodes.places import Place
from netstudy.analysis.samples import (
    BITS_PER_MEGABIT,
    Floats,
    NotAlikeError,
    RunSample,
    Terms,
    by_second,
    one,
)
from netstudy.wire import ConnectionSamples


def goodput(run: RunSample, places: Sequence[Place]) -> Terms | None:
    """Megabits that the hosts received in the measuring phase, and the length of the phase."""
    received, window = _received(run, "connection", places), run.measure_s
    if received is None or not window:
        return None
    return one(float(received.sum()) * 8 / BITS_PER_MEGABIT, window)


def goodput_of_block(block: Block, places: Sequence[Place]) -> Sums | None:
    """`goodput` of all runs of a block; None: they have different connections, and must be read one
    by one."""
    seconds = block.measure_s
    try:
        to_client = block.column("connection", "bytes_received")
        to_server = block.column("connection", "bytes_sent")
    except NotAlikeError:
        return None
    tables = [run.record.samples.connection for run in block]
    first = tables[0]
    if to_client is None or to_server is None or first is None or not all(seconds):
        return None
    ends = [None if each is None else (each.client, each.server) for each in tables]
    if any(each != ends[0] for each in ends):
        return None
    client, server = _marks(first, places)
    received = (to_client * client + to_server * server).sum(axis=1)
    return Sums(received * 8 / BITS_PER_MEGABIT, np.array(seconds, dtype=np.float64), len(block))


def goodput_by_second(run: RunSample, places: Sequence[Place]) -> tuple[Floats, Floats] | None:
    """For each whole second of the measuring phase: when the second ends, in s from the start of
    the phase, and the Mbit/s in this second."""
    received, starts = _received(run, "second", places), run.column("second", "start_ns")
    window = run.measure_s
    if received is None or starts is None or not window:
        return None
    begin, total = by_second(received, starts)
    is_whole = begin + 1 <= window
    return begin[is_whole] + 1, total[is_whole] * 8 / BITS_PER_MEGABIT


def _received(run: RunSample, table: str, places: Sequence[Place]) -> Floats | None:
    """Bytes that the hosts received in each row of a table, both as clients and as servers."""
    connections = run.record.samples.connection
    to_client, to_server = run.column(table, "bytes_received"), run.column(table, "bytes_sent")
    if connections is None or to_client is None or to_server is None:
        return None
    client, server = _marks(connections, places)
    if table == "second":
        rows = np.asarray(run.column("second", "connection"), dtype=np.int64)
        client, server = client[rows], server[rows]
    return np.asarray(to_client * client + to_server * server)


def _marks(connections: ConnectionSamples, places: Sequence[Place]) -> tuple[Floats, Floats]:
    """Marks the connections whose client, and those whose server, is one of the places."""
    names = {place.node for place in places}
    client, server = (
        np.array([name.partition("@")[0] in names for name in column], dtype=np.float64)
        for column in (connections.client, connections.server)
    )
    return client, server
