"""Bulk transfer: goodput, its fairness and steadiness, and losses."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import numpy as np

from netstudy.analysis.distribution import SampledQuantity, raw
from netstudy.analysis.ideal import capacity_bps, framing
from netstudy.analysis.metrics import (
    CLIENT_CLOCK,
    SOCKETS,
    Metric,
    Percentile,
    RatioOfSums,
    of_work,
)
from netstudy.analysis.samples import (
    BITS_PER_MEGABIT,
    BYTES_PER_GB,
    NS_PER_MS,
    NS_PER_S,
    Floats,
    RunSample,
    Terms,
    by_second,
    dropped_at_ports,
    each,
    jain_index,
    one,
)
from netstudy.analysis.statistics import further
from netstudy.analysis.workloads.base import Bound, Counted, Course, Step, WorkloadAnalysis
from netstudy.analysis.workloads.closed_loop import Starved, no_bytes
from netstudy.analysis.workloads.losses import loss_metrics, losses_per_run, sent_again
from netstudy.analysis.workloads.signals import signals_of
from netstudy.wire import Run, RunRecord, Transfer, UntilTime

# Samples are counted from the client's side: it receives the data of a get and sends the data of a
# put. The other column holds requests and confirmations, which are not part of the data.
DATA_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "get": ("bytes_received",),
    "put": ("bytes_sent",),
    "both": ("bytes_received", "bytes_sent"),
}
"""Direction of a transfer -> the columns of the tables `connection` and `second` that count its
data."""


def _work(run: Run) -> Transfer:
    assert isinstance(run.workload, Transfer), "these are metrics of transfers"
    return run.workload


def _moved(run: RunSample, table: str, direction: str | None = None) -> Floats | None:
    """Bytes of data in each row of a table of samples, in one direction or in all directions of the
    workload; None if a column was not sampled."""
    total: Floats | None = None
    for column in DATA_COLUMNS[direction or _work(run.planned).direction]:
        values = run.column(table, column)
        if values is None:
            return None
        total = values if total is None else total + values
    return total


def moved_bytes(run: RunSample) -> float | None:
    """Application bytes of the measuring phase, all directions together."""
    moved = _moved(run, "connection")
    return None if moved is None else float(moved.sum())


def _gigabytes(run: RunSample) -> float | None:
    moved = moved_bytes(run)
    return None if moved is None else moved / BYTES_PER_GB


def _goodput(run: RunSample, direction: str | None = None) -> Terms | None:
    """Megabits and seconds. If the seconds add up to the total, there is one term per second, so
    that even a single run has an interval; else only the totals."""
    moved, window = _moved(run, "connection", direction), run.measure_s
    if moved is None or not window:
        return None
    seconds = _seconds(run, direction)
    if seconds is not None and seconds[0].sum() == moved.sum():
        return seconds[0] * 8 / BITS_PER_MEGABIT, seconds[1]
    return one(float(moved.sum()) * 8 / BITS_PER_MEGABIT, window)


def _seconds(run: RunSample, direction: str | None = None) -> Terms | None:
    """Bytes of all connections in each second, and the length of each second; the last second is
    shorter if the phase ends within it."""
    moved, starts = _moved(run, "second", direction), run.column("second", "start_ns")
    window = run.measure_s
    if moved is None or starts is None or not window:
        return None
    begin, total = by_second(moved, starts)
    lengths = np.diff(np.append(begin, window))
    return (total, lengths) if (lengths > 0).all() else None


def _one_way(direction: str) -> RatioOfSums:
    """The goodput of one direction, if data flows both ways."""

    def of(run: RunSample) -> Terms | None:
        return _goodput(run, direction) if _work(run.planned).direction == "both" else None

    return RatioOfSums(of, over_time=True)


def _times(run: RunSample) -> Floats | None:
    """Times of the transfers, in the order in which they ended."""
    starts, ends = run.column("transfer", "start_ns"), run.column("transfer", "end_ns")
    if starts is None or ends is None or _work(run.planned).size_bytes is None:
        return None
    # Ends by several clocks cannot be compared here: the record has the rows in their order.
    order = slice(None) if run.record.clocks else np.argsort(ends, kind="stable")
    return np.asarray((ends - starts)[order] / NS_PER_S)


def _mean_time(run: RunSample) -> Terms | None:
    times = _times(run)
    return None if times is None else each(times)


TIMES = raw("transfer", _times)


def _fairness(run: RunSample) -> Terms | None:
    """Jain's index over the connections, of bytes moved ÷ busy time of a connection; None if there
    is only one connection."""
    moved, busy = _moved(run, "connection"), run.column("connection", "busy_ns")
    if moved is None or busy is None or moved.size < 2 or not busy.all():
        return None
    index = jain_index(moved / busy)
    return None if index is None else one(index)


def _megabytes(run: RunSample) -> Terms | None:
    moved = moved_bytes(run)
    return None if moved is None else one(moved / 1e6)


GOODPUT = Metric(
    name="goodput_mbps",
    label="goodput",
    unit="Mbit/s",
    formula="application bytes moved in the measuring phase × 8 ÷ its length, all connections "
    "together; of both directions where bytes go both ways",
    direction="higher",
    instruments=(SOCKETS, CLIENT_CLOCK),
    decimals=1,
    title="Goodput",
    figure="goodput",
    reading=RatioOfSums(_goodput, over_time=True),
)


def _goodput_one_way(direction: str, way: str) -> Metric:
    return Metric(
        name=f"goodput_{direction}_mbps",
        label=f"goodput {way}",
        unit="Mbit/s",
        formula=f"application bytes {way} in the measuring phase × 8 ÷ its length, where bytes go "
        "both ways",
        direction="higher",
        instruments=(SOCKETS, CLIENT_CLOCK),
        decimals=1,
        title=f"Goodput {way}",
        figure=f"goodput_{direction}",
        reading=_one_way(direction),
    )


GOODPUT_GET = _goodput_one_way("get", "from the servers")
GOODPUT_PUT = _goodput_one_way("put", "to the servers")


def _time_of_transfers(  # one argument for each field that differs
    quantity: str,
    unit: str,
    statistic: str,
    label: str,
    formula: str,
    reading: RatioOfSums | Percentile,
    sampled: SampledQuantity | None = None,
) -> Metric:
    """A statistic of a time that is measured for each transfer; the names of the metric and of its
    figure begin with `quantity`."""
    return Metric(
        name=f"{quantity}_{unit}_{statistic}",
        label=label,
        unit=unit,
        formula=formula,
        direction="lower",
        instruments=(CLIENT_CLOCK,),
        decimals=3,
        title=f"{label[:1].upper()}{label[1:]}",
        figure=quantity if statistic == "mean" else f"{quantity}_{statistic}",
        reading=reading,
        sampled=sampled,
    )


_transfer_time = partial(_time_of_transfers, "transfer", "s")
_first_byte = partial(_time_of_transfers, "first_byte", "ms")


TRANSFER = of_work(
    _transfer_time(
        "mean",
        "transfer time",
        "sum of the times of all transfers of a fixed size ÷ their number",
        RatioOfSums(_mean_time),
        TIMES,
    )
)
TRANSFER_P50 = _transfer_time(
    "p50",
    "median transfer time",
    "50th percentile of the times of all transfers of a fixed size",
    Percentile(0.50, TIMES),
)
TRANSFER_P99 = _transfer_time(
    "p99",
    "99th percentile of the transfer time",
    "99th percentile of the times of all transfers of a fixed size",
    Percentile(0.99, TIMES),
)


def _first_bytes(run: RunSample) -> Floats | None:
    """For each file: the time from the command to the first byte, in ms."""
    starts, firsts = run.column("transfer", "start_ns"), run.column("transfer", "first_byte_ns")
    if starts is None or firsts is None:
        return None
    return np.asarray((firsts - starts) / NS_PER_MS)


FIRST_BYTES = raw("transfer", _first_bytes)


def _mean_first_byte(run: RunSample) -> Terms | None:
    times = _first_bytes(run)
    return None if times is None else each(times)


_FIRST_BYTE = "times from the first command for a file to its first byte of data, by FTP"
FIRST_BYTE = _first_byte(
    "mean",
    "time to the first byte",
    f"sum of the {_FIRST_BYTE} ÷ their number",
    RatioOfSums(_mean_first_byte),
    FIRST_BYTES,
)
FIRST_BYTE_P50 = _first_byte(
    "p50",
    "median time to the first byte",
    f"50th percentile of the {_FIRST_BYTE}",
    Percentile(0.50, FIRST_BYTES),
)
FIRST_BYTE_P99 = _first_byte(
    "p99",
    "99th percentile of the time to the first byte",
    f"99th percentile of the {_FIRST_BYTE}",
    Percentile(0.99, FIRST_BYTES),
)


def _part_of_session(column: str) -> RatioOfSums:
    def of(run: RunSample) -> Terms | None:
        times = run.column("connection", column)
        return None if times is None else each(np.asarray(times / NS_PER_MS))

    return RatioOfSums(of)


def _session_time(part: str, label: str, formula: str) -> Metric:
    return Metric(
        name=f"{part}_ms_mean",
        label=label,
        unit="ms",
        formula=formula,
        direction="lower",
        instruments=(CLIENT_CLOCK,),
        decimals=3,
        title=f"{label[:1].upper()}{label[1:]}",
        figure=part,
        reading=_part_of_session(f"{part}_ns"),
    )


CONNECT = _session_time(
    "connect",
    "time to connect",
    "sum of the times in which the control connections of the sessions were opened, by FTP ÷ their "
    "number",
)
LOGIN = _session_time(
    "login",
    "time to log in",
    "sum of the times from an open control connection until the session was ready for transfers, "
    "by FTP ÷ their number",
)
FAIRNESS = Metric(
    name="fairness_index",
    label="fairness index",
    unit="",
    formula="(Σ x)² ÷ (n × Σ x²) over the n connections of a run, x being bytes moved ÷ time that "
    "the connection was busy (Jain's index); mean over the runs",
    direction="higher",
    instruments=(SOCKETS, CLIENT_CLOCK),
    decimals=3,
    title="Fairness index",
    figure="fairness",
    reading=RatioOfSums(_fairness, ceiling=1.0),
)
MOVED = Metric(
    name="moved_mb_per_run",
    label="data moved a run",
    unit="MB",
    formula="application bytes moved in the measuring phase; mean over the runs",
    direction="higher",
    instruments=(SOCKETS,),
    decimals=1,
    title="Data moved",
    figure="moved",
    reading=RatioOfSums(_megabytes),
    per=" a run",
)


DROPS, RETRANSMISSIONS, TIMEOUTS = loss_metrics(
    "per_gb", "a GB", _gigabytes, "÷ application bytes moved in GB (10⁹ bytes)", figures=True
)
LOSSES = losses_per_run(figures=False)
SIGNALS = signals_of("per_gb", "a GB", _gigabytes, "÷ application bytes moved in GB (10⁹ bytes)")


def _transfers(run: RunSample) -> int:
    ends = run.column("transfer", "end_ns")
    return 0 if ends is None else int(ends.size)


def starved_connections(run: RunSample) -> Starved | None:
    """The connections that carried no data in a phase with a time. A phase with a count of
    transfers ends only when all are done."""
    is_timed = isinstance(run.planned.until("measure"), UntilTime)
    return no_bytes(_moved(run, "connection")) if is_timed else None


def _is_sampled(record: RunRecord) -> bool:
    table = record.samples.connection
    return table is not None and record.measure is not None and bool(table.client)


def _course(run: RunSample) -> Course | None:
    """The goodput of each whole second."""
    seconds = _seconds(run)
    if seconds is None or seconds[0].size < 2:
        return None
    moved, lengths = (column[:-1] for column in seconds)
    return Course(moved * 8 / BITS_PER_MEGABIT / lengths, "second")


def _bound(run: Run) -> Bound | None:
    """The minimum cut of the network between senders and receivers; the goodput excludes
    headers."""
    work, network = _work(run), run.network
    client, server = work.roles.client, work.roles.server
    ways = {"client": (client, server), "server": (server, client)}
    line, goodput = 0, 0.0
    for senders, receivers in (ways[role] for role in work.sending):
        rate = capacity_bps(network, senders, receivers)
        if rate is None:
            return None
        line += rate
        goodput += rate * framing(network, (*client, *server), senders[0]).share / 1e6
    return Bound(line, goodput)


TRANSFERS = WorkloadAnalysis(
    kind="transfer",
    metrics=(
        GOODPUT,
        GOODPUT_GET,
        GOODPUT_PUT,
        TRANSFER,
        TRANSFER_P50,
        TRANSFER_P99,
        FIRST_BYTE,
        FIRST_BYTE_P50,
        FIRST_BYTE_P99,
        CONNECT,
        LOGIN,
        FAIRNESS,
        MOVED,
        DROPS,
        RETRANSMISSIONS,
        TIMEOUTS,
        *LOSSES,
    ),
    headline=(GOODPUT, DROPS, RETRANSMISSIONS),
    figures=(GOODPUT, DROPS, RETRANSMISSIONS, FAIRNESS),
    observed=(GOODPUT, DROPS, RETRANSMISSIONS),
    compared_on=(GOODPUT, DROPS, RETRANSMISSIONS, TIMEOUTS),
    throughput=GOODPUT,
    timed=TRANSFER,
    starved=starved_connections,
    chain=(
        Step(DROPS, RETRANSMISSIONS),
        Step(DROPS, TIMEOUTS),
        Step(RETRANSMISSIONS, GOODPUT),
        Step(TIMEOUTS, GOODPUT),
    ),
    counted=Counted("transfer", _transfers),
    is_sampled=_is_sampled,
    further=(
        *further(TRANSFER, ("p50", "p99")),
        *further(FIRST_BYTE, ("p50", "p99")),
    ),
    drops=DROPS,
    retransmissions=RETRANSMISSIONS,
    timeouts=TIMEOUTS,
    dropped=dropped_at_ports,
    sent_again=sent_again,
    course=_course,
    bound=_bound,
    tail=(TRANSFER_P50, TRANSFER_P99),
    bounded=GOODPUT,
    offered=lambda run: [_work(run).size_bytes for _ in _work(run).connected],
    signals=SIGNALS.steps(GOODPUT, DROPS, RETRANSMISSIONS),
)
