"""Synchronized reads: the time of an iteration, and how much of it is spent waiting for
timeouts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from netstudy.analysis.distribution import Marks, raw
from netstudy.analysis.gathering import Block, cell_runs
from netstudy.analysis.ideal import arrival_rate_bps, framing
from netstudy.analysis.metrics import (
    CLIENT_CLOCK,
    CLIENT_SOCKETS,
    SERVER_TCP,
    SWITCH_PORTS,
    Metric,
    Percentile,
    RatioOfSums,
    Share,
    by_rows,
)
from netstudy.analysis.samples import (
    BITS_PER_MEGABIT,
    NS_PER_MS,
    NS_PER_S,
    Columns,
    Floats,
    NotAlikeError,
    RunSample,
    Terms,
    dropped_at_ports,
    each,
    jain_index,
    one,
)
from netstudy.analysis.statistics import further
from netstudy.analysis.workloads.base import (
    Bound,
    Counted,
    Course,
    Identity,
    Step,
    WorkloadAnalysis,
)
from netstudy.analysis.workloads.signals import signals_of
from netstudy.units import FRAMING_BYTES, segments_of
from netstudy.wire import Incast, Run, RunRecord

TABLE = "iteration"
MIN_GROUP = 5
"""Means are compared only if there are at least this many iterations with a timeout and at least
this many without."""


def iterations(run: RunSample) -> int:
    """Number of iterations measured."""
    times = run.column(TABLE, "completion_ns")
    return 0 if times is None else int(times.size)


def _times_ms(run: Columns) -> Floats | None:
    times = run.column(TABLE, "completion_ns")
    return None if times is None else times / NS_PER_MS


def _completion(run: Columns) -> Terms | None:
    times = _times_ms(run)
    return None if times is None else each(times)


def _waited(run: Columns) -> Marks | None:
    """Marks the iterations with a retransmission timeout; None if timeouts were not counted."""
    timeouts = run.column(TABLE, "timeouts")
    return None if timeouts is None else timeouts > 0


TIMES = raw("iteration", _times_ms, _waited, rows=_times_ms, marked_rows=_waited)


def _goodput(run: Columns) -> Terms | None:
    """Terms of the goodput, one for each iteration. All iterations carry the same number of bytes,
    so the total is divided evenly."""
    times, received = run.column(TABLE, "completion_ns"), run.bytes_received
    if times is None or received is None:
        return None
    megabits = received * 8 / BITS_PER_MEGABIT / times.shape[-1]
    return np.full(times.shape, megabits), times / NS_PER_S


def _drops(run: RunSample) -> Terms | None:
    """One entry per iteration, or a single entry if only the run's total is known."""
    dropped = run.column(TABLE, "dropped_packets")
    if dropped is not None:
        return each(dropped)
    in_all = dropped_in_all(run.record)
    return None if in_all is None else one(in_all, iterations(run))


def dropped_in_all(record: RunRecord) -> int | None:
    """Frames that the switches dropped in the measuring phase: the sum over iterations if they have
    counts, else from the port counters. None if neither exists: missing is not zero."""
    table = record.samples.iteration
    if table is None or table.dropped_packets is None:
        return dropped_at_ports(record)
    return sum(table.dropped_packets) if table.dropped_packets else None


def _retransmissions(run: Columns) -> Terms | None:
    again = run.column(TABLE, "retransmissions")
    return None if again is None else each(again)


def _timeouts(run: Columns) -> Terms | None:
    timeouts = run.column(TABLE, "timeouts")
    return None if timeouts is None else each(timeouts)


def _timeout_share(run: Columns) -> Terms | None:
    waited = _waited(run)
    return None if waited is None else each(np.where(waited, 100.0, 0.0))


def _drops_by_rows(block: Block) -> Terms | None:
    dropped = block.column(TABLE, "dropped_packets")
    if dropped is None:
        raise NotAlikeError  # totals are read run by run
    return each(dropped)


def _fairness_by_rows(block: Block) -> Terms | None:
    received = block.column("connection", "bytes_received")
    busy = block.column("connection", "busy_ns")
    if received is None or busy is None or not busy.all():
        raise NotAlikeError
    found = [jain_index(shares) for shares in received / busy]
    known = np.array([one for one in found if one is not None])
    if known.size < len(found):
        raise NotAlikeError
    return known[:, np.newaxis], np.ones((known.size, 1))


def _fairness(run: RunSample) -> Terms | None:
    """Jain's index over the connections, of the bytes of a connection ÷ the time that the client
    waited for them. None without counts, or if the client never waited for some connection."""
    received, busy = run.column("connection", "bytes_received"), run.column("connection", "busy_ns")
    if received is None or busy is None or not busy.all():
        return None
    index = jain_index(received / busy)
    return None if index is None else one(index)


COMPLETION = Metric(
    name="completion_ms_mean",
    label="completion time",
    unit="ms",
    formula="sum of completion times ÷ iterations",
    direction="lower",
    instruments=(CLIENT_CLOCK,),
    decimals=1,
    title="Completion time",
    figure="completion",
    reading=by_rows(_completion),
    sampled=TIMES,
    is_of_work=True,
)
COMPLETION_P50 = Metric(
    name="completion_ms_p50",
    label="median completion time",
    unit="ms",
    formula="50th percentile of the completion times of all iterations",
    direction="lower",
    instruments=(CLIENT_CLOCK,),
    decimals=1,
    title="Median completion time",
    figure="completion_p50",
    reading=Percentile(0.50, TIMES),
)
COMPLETION_P99 = Metric(
    name="completion_ms_p99",
    label="99th percentile of the completion time",
    unit="ms",
    formula="99th percentile of the completion times of all iterations",
    direction="lower",
    instruments=(CLIENT_CLOCK,),
    decimals=1,
    title="99th percentile of the completion time",
    figure="completion_p99",
    reading=Percentile(0.99, TIMES),
)
GOODPUT = Metric(
    name="goodput_mbps",
    label="goodput",
    unit="Mbit/s",
    formula="application bytes received × 8 ÷ sum of completion times (a ratio of sums)",
    direction="higher",
    instruments=(CLIENT_SOCKETS, CLIENT_CLOCK),
    decimals=1,
    title="Goodput",
    figure="goodput",
    reading=by_rows(_goodput),
)
DROPS = Metric(
    name="drops_per_iteration",
    label="dropped packets an iteration",
    unit="packets",
    formula="packets dropped at the switch ÷ iterations",
    direction="lower",
    instruments=(SWITCH_PORTS,),
    decimals=1,
    title="Dropped packets",
    figure="drops",
    reading=RatioOfSums(_drops, of_rows=_drops_by_rows),
    per=" an iteration",
)
RETRANSMISSIONS = Metric(
    name="retransmissions_per_iteration",
    label="TCP retransmissions an iteration",
    unit="segments",
    formula="segments that the servers sent again ÷ iterations",
    direction="lower",
    instruments=(SERVER_TCP,),
    decimals=1,
    title="TCP retransmissions",
    figure="retransmissions",
    reading=by_rows(_retransmissions),
    per=" an iteration",
)
TIMEOUTS = Metric(
    name="timeouts_per_iteration",
    label="TCP timeouts an iteration",
    unit="timeouts",
    formula="retransmission timer expiries on the servers ÷ iterations",
    direction="lower",
    instruments=(SERVER_TCP,),
    decimals=2,
    title="TCP timeouts",
    figure="timeouts",
    reading=by_rows(_timeouts),
    per=" an iteration",
)
TIMEOUT_SHARE = Metric(
    name="timeout_iterations_pct",
    label="share of iterations with a timeout",
    unit="%",
    formula="iterations with at least one timeout ÷ iterations × 100",
    direction="lower",
    instruments=(SERVER_TCP,),
    decimals=1,
    title="Iterations with a timeout",
    figure="timeout_iterations",
    reading=Share(_timeout_share, of_rows=_timeout_share),
    exported=False,
)
FAIRNESS = Metric(
    name="fairness_index",
    label="fairness index",
    unit="",
    formula="(Σ x)² ÷ (n × Σ x²) over the n connections of a run, x being bytes received ÷ "
    "time that the client waited for them (Jain's index); mean over the runs",
    direction="higher",
    instruments=(CLIENT_SOCKETS, CLIENT_CLOCK),
    decimals=3,
    title="Fairness index",
    figure="fairness",
    reading=RatioOfSums(_fairness, ceiling=1.0, of_rows=_fairness_by_rows),
    exported=False,
)
SIGNALS = signals_of(
    "per_iteration", "an iteration", lambda run: float(iterations(run)), "÷ iterations"
)


@dataclass(frozen=True)
class Ideal:
    """The fastest possible iteration: every byte of the blocks, in full segments with headers, is
    sent once over the client's link, which all blocks share. It needs no simulation."""

    line_rate_bps: int
    payload_bytes: int
    wire_bytes: int
    segments: int
    mtu_bytes: int

    @property
    def goodput_mbps(self) -> float:
        """Goodput of an iteration that takes this time."""
        return self.line_rate_bps / 1e6 * self.payload_bytes / self.wire_bytes


def ideal_of(run: Run) -> Ideal:
    """The bound for a run, from its network and workload."""
    work = run.workload
    assert isinstance(work, Incast), "only an incast has iterations"
    client, servers = work.roles.client[0], work.roles.server
    full = framing(run.network, (client, *servers), servers[0])
    payload = sum(work.response_bytes)
    segments = sum(segments_of(size, full.payload_bytes) for size in work.response_bytes)
    return Ideal(
        line_rate_bps=arrival_rate_bps(run.network, client),
        payload_bytes=payload,
        wire_bytes=payload + segments * (full.headers_bytes + FRAMING_BYTES),
        segments=segments,
        mtu_bytes=full.mtu_bytes,
    )


def _bound(run: Run) -> Bound:
    ideal = ideal_of(run)
    return Bound(ideal.line_rate_bps, ideal.goodput_mbps)


def _bits_of_iteration(run: Run) -> float:
    """The bits of one iteration in kbit, which is Mbit/s x ms."""
    return ideal_of(run).payload_bytes * 8 / 1e3


def _timeout_cost_ms(runs: Sequence[RunSample]) -> float | None:
    """Mean time of iterations with a timeout minus the mean of iterations without."""
    cell = cell_runs(runs)
    both = [one for one in cell.gathered(*TIMED_OUT) if one is not None]
    cell.forget(TIMED_OUT[:1])
    if not both:
        return None
    times, late = (np.concatenate(column) for column in zip(*both, strict=True))
    if min(int(late.sum()), int((~late).sum())) < MIN_GROUP:
        return None
    return float(times[late].mean() - times[~late].mean())


def _timed_out(block: Block) -> tuple[Floats, Marks] | None:
    """Gathers the times of the iterations of a block, and their timeout marks."""
    with suppress(NotAlikeError):
        times, timeouts = _times_ms(block), block.column(TABLE, "timeouts")
        return None if times is None or timeouts is None else (times.ravel(), timeouts.ravel() > 0)
    both = [
        (times, timeouts)
        for run in block
        if (timeouts := run.column(TABLE, "timeouts")) is not None
        and (times := run.column(TABLE, "completion_ns")) is not None
    ]
    if not both:
        return None
    times, timeouts = (np.concatenate(column) for column in zip(*both, strict=True))
    return times / NS_PER_MS, timeouts > 0


TIMED_OUT = "timed out", _timed_out


def _each(run: Columns) -> tuple[Floats, Floats, Floats] | None:
    times, timeouts = _times_ms(run), run.column(TABLE, "timeouts")
    again = run.column(TABLE, "retransmissions")
    return None if times is None or timeouts is None or again is None else (times, timeouts, again)


def _is_sampled(record: RunRecord) -> bool:
    table = record.samples.iteration
    return table is not None and bool(table.completion_ns)


def _sent_again(run: RunSample) -> float | None:
    again = run.column(TABLE, "retransmissions")
    return None if again is None else float(again.sum())


def _offered(run: Run) -> tuple[int, ...]:
    """Bytes that each server sends in an iteration."""
    assert isinstance(run.workload, Incast), "only an incast has iterations"
    return run.workload.response_bytes


def _course(run: RunSample) -> Course | None:
    times = run.column(TABLE, "completion_ns")
    return None if times is None else Course(times / NS_PER_MS, "iteration")


INCAST = WorkloadAnalysis(
    kind="incast",
    metrics=(
        COMPLETION,
        COMPLETION_P50,
        COMPLETION_P99,
        GOODPUT,
        DROPS,
        RETRANSMISSIONS,
        TIMEOUTS,
        TIMEOUT_SHARE,
        FAIRNESS,
    ),
    headline=(GOODPUT, DROPS, RETRANSMISSIONS, COMPLETION),
    figures=(COMPLETION, DROPS, RETRANSMISSIONS, GOODPUT),
    observed=(COMPLETION, DROPS, RETRANSMISSIONS),
    compared_on=(COMPLETION, DROPS, RETRANSMISSIONS, TIMEOUTS),
    throughput=GOODPUT,
    chain=(
        Step(DROPS, RETRANSMISSIONS),
        Step(DROPS, TIMEOUTS),
        Step(RETRANSMISSIONS, COMPLETION),
        Step(TIMEOUTS, COMPLETION),
    ),
    counted=Counted("iteration", iterations),
    is_sampled=_is_sampled,
    further=tuple(further(COMPLETION, ("p50", "p99"))),
    drops=DROPS,
    retransmissions=RETRANSMISSIONS,
    timeouts=TIMEOUTS,
    dropped=dropped_in_all,
    sent_again=_sent_again,
    course=_course,
    bound=_bound,
    timeout_share=TIMEOUT_SHARE,
    tail=(COMPLETION_P50, COMPLETION_P99),
    bounded=GOODPUT,
    identity=Identity(
        GOODPUT,
        COMPLETION,
        _bits_of_iteration,
        "goodput × completion time",
        "bytes",
    ),
    timeout_cost_ms=_timeout_cost_ms,
    demands=dict([TIMED_OUT]),
    waiting_samples=_each,
    waiting_rows=_each,
    offered=_offered,
    signals=SIGNALS.steps(COMPLETION, DROPS, RETRANSMISSIONS),
)
