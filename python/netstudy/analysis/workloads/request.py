"""Request and response: the rate of requests, and the latency of their answers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from netstudy.analysis.distribution import Histogram, SampledQuantity, merged
from netstudy.analysis.distribution import latencies as latency_samples
from netstudy.analysis.gathering import Block, cell_runs
from netstudy.analysis.metrics import (
    CLIENT_CLOCK,
    CLIENT_SOCKETS,
    Metric,
    Percentile,
    Pooled,
    RatioOfSums,
    Share,
    of_work,
)
from netstudy.analysis.samples import NS_PER_S, NS_PER_US, RunSample, Terms, dropped_at_ports, one
from netstudy.analysis.statistics import further
from netstudy.analysis.workloads.base import Counted, Step, WorkloadAnalysis
from netstudy.analysis.workloads.closed_loop import ClosedLoop, Starved, no_bytes
from netstudy.analysis.workloads.losses import losses_per_run, sent_again
from netstudy.analysis.workloads.signals import signals_of
from netstudy.wire import PhaseKind, Request, Run, RunRecord, UntilTime

REQUEST = "request"
PERCENTILES = (
    ("p50", 0.5, "median"),
    ("p90", 0.9, "90th percentile of the"),
    ("p99", 0.99, "99th percentile of the"),
    ("p999", 0.999, "99.9th percentile of the"),
)
"""Ending of the metric's name, quantile, and the words before `latency` in its label."""


def latencies(runs: Sequence[RunSample], operation: str, phase: PhaseKind) -> Histogram | None:
    """The latencies of all requests of an operation that were due in a phase, over all clients and
    runs."""
    parts = cell_runs(runs).gathered(*latencies_demand(operation, phase))
    known = [part for part in parts if part is not None]
    return known[0] if len(known) == 1 else merged(known)


def latencies_demand(
    operation: str, phase: PhaseKind
) -> tuple[Hashable, Callable[[Block], Histogram | None]]:
    """The key and the part of `latencies`."""

    def part(block: Block) -> Histogram | None:
        return merged(
            one
            for run in block
            for one in run.record.samples.request
            if one.operation == operation and one.phase == phase
        )

    return ("latencies", operation, phase), part


def of_requests(runs: Sequence[RunSample]) -> Histogram | None:
    """The requests of the workload in the measuring phase."""
    return latencies(runs, REQUEST, "measure")


LATENCIES = latency_samples(REQUEST, of_requests, NS_PER_US)


def _rate(run: RunSample) -> Terms | None:
    found, window = of_requests([run]), run.measure_s
    return None if found is None or not window else one(found.count, window)


def _mean(run: RunSample) -> Terms | None:
    loop = closed_loop(run)
    return _answered(run) if loop is None else loop.mean


def _answered(run: RunSample) -> Terms | None:
    found = of_requests([run])
    return None if found is None or not found.count else one(found.sum_ns / NS_PER_US, found.count)


def closed_loop(run: RunSample) -> ClosedLoop | None:
    """The response times of a closed loop."""
    return run.kept("closed loop", lambda: _closed_loop(run))


def _closed_loop(run: RunSample) -> ClosedLoop | None:
    work, answered, window = run.planned.workload, _answered(run), run.measure_s
    assert isinstance(work, Request), "only requests have outstanding messages"
    found = of_requests([run])
    is_timed = isinstance(run.planned.until("measure"), UntilTime)
    if found is None or answered is None or not window or work.every_ns is not None or not is_timed:
        return None
    users = work.outstanding * sum(1 for _ in work.connected)
    # The histogram has the requests that were due in the phase, so the rate is that of these.
    due = found.count + found.unanswered
    law_us = users * window * 1e6 - due * work.think_ns / NS_PER_US
    return ClosedLoop(
        answered=answered,
        law=one(law_us, due),
        expected=found.sum_ns / (window * NS_PER_S),
        in_progress=found.unanswered,
        starved=starved_connections(run),
        noun="requests under way",
        users=users,
        think_s=work.think_ns / NS_PER_S,
        per_s=due / window,
    )


def starved_connections(run: RunSample) -> Starved | None:
    """The connections on which no answer came."""
    return no_bytes(run.column("connection", "bytes_received"))


def _largest(runs: Sequence[RunSample]) -> float | None:
    found = of_requests(runs)
    return None if found is None or not found.count else found.max_ns / NS_PER_US


def _unanswered(run: RunSample) -> Terms | None:
    found = of_requests([run])
    if found is None or not found.count + found.unanswered:
        return None
    return one(100.0 * found.unanswered, found.count + found.unanswered)


def _latency(
    statistic: str,
    label: str,
    formula: str,
    reading: RatioOfSums | Percentile | Pooled,
    sampled: SampledQuantity | None = None,
) -> Metric:
    return Metric(
        name=f"latency_us_{statistic}",
        label=label,
        unit="µs",
        formula=formula,
        direction="lower",
        instruments=(CLIENT_CLOCK,),
        decimals=1,
        title=f"{label[:1].upper()}{label[1:]}",
        figure="latency" if statistic == "mean" else f"latency_{statistic}",
        reading=reading,
        sampled=sampled,
    )


RATE = Metric(
    name="requests_per_s",
    label="request rate",
    unit="1/s",
    formula="answered requests of the measuring phase ÷ its length",
    direction="higher",
    instruments=(CLIENT_SOCKETS, CLIENT_CLOCK),
    decimals=1,
    title="Requests a second",
    figure="requests",
    reading=RatioOfSums(_rate),
)
LATENCY = of_work(
    _latency(
        "mean",
        "latency",
        "sum of the times from when each request was due to its answer ÷ answered requests; by N/X "
        "in a closed loop where requests without an answer make this mean too low",
        RatioOfSums(_mean),
        LATENCIES,
    )
)
LATENCY_P50, LATENCY_P90, LATENCY_P99, LATENCY_P999 = (
    _latency(
        ending,
        f"{name} latency",
        f"{100 * q:g}th percentile of the merged histograms of all clients and runs, where there "
        "are enough requests to show it",
        Percentile(q, LATENCIES),
    )
    for ending, q, name in PERCENTILES
)
LATENCY_MAX = _latency(
    "max",
    "largest latency",
    "the largest time from when a request was due to its answer",
    Pooled(_largest, repeats=False),
)
UNANSWERED = Metric(
    name="unanswered_pct",
    label="share of requests without an answer",
    unit="%",
    formula="requests that had no answer when the phase was over ÷ all that were due in it × 100",
    direction="lower",
    instruments=(CLIENT_SOCKETS,),
    decimals=2,
    title="Unanswered requests",
    figure="unanswered",
    reading=Share(_unanswered),
)
DROPS, RETRANSMISSIONS, TIMEOUTS = losses_per_run(figures=True)
SIGNALS = signals_of(
    "per_run", "a run", lambda _: 1.0, "in the measuring phase; mean over the runs"
)


def _offered(run: Run) -> list[int | None]:
    """The most bytes of outstanding messages on each connection; None for an open loop, which has
    no limit."""
    work = run.workload
    assert isinstance(work, Request), "only requests have outstanding messages"
    most = max(work.request_bytes, work.response_bytes) * work.outstanding
    return [None if work.every_ns is not None else most for _ in work.connected]


def _offered_per_s(run: Run) -> float | None:
    work = run.workload
    assert isinstance(work, Request), "only requests have an interval"
    connections = sum(1 for _ in work.connected)
    return None if work.every_ns is None else connections * NS_PER_S / work.every_ns


def _requests(run: RunSample) -> int:
    found = of_requests([run])
    return 0 if found is None else found.count


def _is_sampled(record: RunRecord) -> bool:
    return record.measure is not None and any(
        part.operation == REQUEST and part.phase == "measure" for part in record.samples.request
    )


REQUESTS = WorkloadAnalysis(
    kind="request",
    metrics=(
        RATE,
        LATENCY,
        LATENCY_P50,
        LATENCY_P90,
        LATENCY_P99,
        LATENCY_P999,
        LATENCY_MAX,
        UNANSWERED,
        DROPS,
        RETRANSMISSIONS,
        TIMEOUTS,
    ),
    headline=(RATE, LATENCY_P50, LATENCY_P99, UNANSWERED),
    figures=(RATE, LATENCY_P50, LATENCY_P99),
    observed=(RATE, LATENCY_P50, RETRANSMISSIONS),
    compared_on=(LATENCY_P50, LATENCY_P99, RATE),
    throughput=RATE,
    chain=(
        Step(DROPS, RETRANSMISSIONS),
        Step(RETRANSMISSIONS, LATENCY_P99),
        Step(TIMEOUTS, LATENCY_P99),
    ),
    counted=Counted("request", _requests),
    is_sampled=_is_sampled,
    drops=DROPS,
    retransmissions=RETRANSMISSIONS,
    timeouts=TIMEOUTS,
    dropped=dropped_at_ports,
    sent_again=sent_again,
    course=lambda _: None,
    bound=lambda _: None,
    further=tuple(further(LATENCY, ("p50", "p90", "p99", "p999", "max"))),
    closed_loop=closed_loop,
    response=LATENCY,
    starved=starved_connections,
    latencies=of_requests,
    demands=dict([latencies_demand(REQUEST, "measure")]),
    tail=(LATENCY_P50, LATENCY_P99),
    offered=_offered,
    offered_per_s=_offered_per_s,
    trips=lambda run: tuple(run.workload.roles.pairs)[:1],
    is_load_outside=True,
    signals=SIGNALS.steps(LATENCY_P99, DROPS, RETRANSMISSIONS),
)
