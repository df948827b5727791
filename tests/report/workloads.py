"""Records made up for transfers and requests: shaped like what TCP does, not simulated.

Flows share a bottleneck unevenly, more of them lose more, and what waits behind them takes longer.
Everything follows from the seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from netstudy.analysis.ideal import capacity_bps
from netstudy.analysis.workloads.probe import MIN_RTT, SRTT
from netstudy.wire import (
    Check,
    ConnectionSamples,
    PhaseKind,
    PhaseTimes,
    Readings,
    Request,
    RequestHistogram,
    Run,
    RunRecord,
    Samples,
    SecondSamples,
    Series,
    Transfer,
    TransferSamples,
    UntilTime,
)
from tests.report.synthetic import edges, nodes

SECOND = 1_000_000_000
IDLE_NS = SECOND
START_NS = 2 * SECOND
SEGMENT = 1448


def record(planned: Run) -> RunRecord:
    """A made-up outcome of a run of transfers or of requests."""
    rng = np.random.default_rng(int(planned.seed, 16))
    until = planned.until("measure")
    window = until.ns if isinstance(until, UntilTime) else 10 * SECOND
    made = _transfers if isinstance(planned.workload, Transfer) else _requests
    samples, drops = made(planned, rng, window)
    sampled = any(one.kind == "tcp" for one in planned.instruments)
    return RunRecord(
        run=planned.id,
        treatment=planned.treatment,
        replicate=planned.replicate,
        seed=planned.seed,
        status="ok",
        checks=(Check(law="bytes received = bytes sent", holds=True, detail="all of them"),),
        nodes=nodes(planned),
        phases=(
            PhaseTimes(kind="idle", start_ns=0, end_ns=IDLE_NS),
            PhaseTimes(kind="warm-up", start_ns=IDLE_NS, end_ns=START_NS),
            PhaseTimes(kind="measure", start_ns=START_NS, end_ns=START_NS + window),
        ),
        samples=samples,
        edges=edges(START_NS, START_NS + window),
        ports=_ports(planned, drops),
        series=tuple(_series(planned, rng, window)) if sampled else (),
    )


def _ports(planned: Run, drops: int) -> dict[str, dict[str, Readings]]:
    """All drops at the first port of the first switch; the others count none."""
    found: dict[str, dict[str, Readings]] = {}
    for link in planned.network.links:
        for port in link.ports:
            if any(port.node == switch.name for switch in planned.network.switches):
                ports = found.setdefault(port.node, {})
                grown = drops if not any(found[node] for node in found) else 0
                ports[port.name] = {"frames_dropped": (7, 7 + grown)}
    return found


def pairs(planned: Run) -> list[tuple[str, str]]:
    """Client and server of each connection."""
    work = planned.workload
    each = work.flows if isinstance(work, Transfer) else getattr(work, "connections", 1)
    return [pair for pair in work.roles.pairs for _ in range(each)]


def _transfers(planned: Run, rng: np.random.Generator, window: int) -> tuple[Samples, int]:
    work = planned.workload
    assert isinstance(work, Transfer)
    both, n = pairs(planned), len(pairs(planned))
    rate = capacity_bps(planned.network, work.roles.server, work.roles.client) or 10**9
    shares = rng.dirichlet(np.full(n, 40.0)) * rate * 0.94
    seconds = -(-window // SECOND)
    grid = rng.normal(1.0, 0.05, (seconds, n)).clip(0.5, 1.2) * shares / 8
    moved = grid.astype(np.int64)
    total = moved.sum(axis=0)
    again = rng.poisson(total / SEGMENT / 900)
    get, put = work.direction in ("get", "both"), work.direction in ("put", "both")

    def ways(values: Iterable[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        found = tuple(int(value) for value in values)
        zeros = (0,) * len(found)
        return (found if get else zeros), (found if put else zeros)

    received, sent = ways(total)
    by_second = ways(moved.ravel())
    samples = Samples(
        connection=ConnectionSamples(
            client=tuple(client for client, _ in both),
            server=tuple(server for _, server in both),
            bytes_received=received,
            bytes_sent=sent,
            busy_ns=(window,) * n,
            retransmissions=tuple(int(v) for v in again),
            timeouts=tuple(int(v) for v in rng.poisson(again / 200)),
        ),
        transfer=_each_transfer(work, total, window, rng),
        request=_probes(planned, rng, 2_000_000),
        second=SecondSamples(
            connection=tuple(range(n)) * seconds,
            start_ns=tuple(s * SECOND for s in range(seconds) for _ in range(n)),
            bytes_received=by_second[0],
            bytes_sent=by_second[1],
        ),
    )
    return samples, int(again.sum())


def _each_transfer(
    work: Transfer, total: Sequence[int], window: int, rng: np.random.Generator
) -> TransferSamples | None:
    if work.size_bytes is None:
        return None
    rows = []
    for connection, moved in enumerate(total):
        count = max(1, int(moved) // work.size_bytes)
        lengths = rng.gamma(30, 1, count)
        ends = START_NS + np.cumsum(lengths / lengths.sum()) * window
        starts = np.concatenate(([START_NS], ends[:-1]))
        rows += [(connection, int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
    columns = list(zip(*rows, strict=True))
    sizes = (work.size_bytes,) * len(rows)
    zeros = (0,) * len(rows)
    get, put = work.direction in ("get", "both"), work.direction in ("put", "both")
    return TransferSamples(
        connection=columns[0],
        start_ns=columns[1],
        end_ns=columns[2],
        bytes_received=sizes if get else zeros,
        bytes_sent=sizes if put else zeros,
    )


def _requests(planned: Run, rng: np.random.Generator, window: int) -> tuple[Samples, int]:
    work = planned.workload
    assert isinstance(work, Request)
    both, n = pairs(planned), len(pairs(planned))
    base = 60_000 + 4_000 * n
    histograms = tuple(
        histogram(
            (base + rng.gamma(2.0, base / 8, 4000)).astype(np.int64), client=client, server=server
        )
        for client, server in dict.fromkeys(both)
    )
    samples = Samples(
        connection=ConnectionSamples(
            client=tuple(client for client, _ in both),
            server=tuple(server for _, server in both),
            bytes_received=(4000 * work.response_bytes,) * n,
            bytes_sent=(4000 * work.request_bytes,) * n,
            busy_ns=(window,) * n,
            retransmissions=(0,) * n,
            timeouts=(0,) * n,
        ),
        request=(*histograms, *_probes(planned, rng, 200_000)),
    )
    return samples, 0


def _probes(planned: Run, rng: np.random.Generator, queue_ns: int) -> tuple[RequestHistogram, ...]:
    if planned.probe is None:
        return ()
    client, server = next(iter(planned.workload.roles.pairs))
    states: tuple[tuple[PhaseKind, int], ...] = (("idle", 4_000), ("measure", queue_ns))
    return tuple(
        histogram(
            (50_000 + rng.gamma(3.0, extra / 3, 900)).astype(np.int64),
            operation="probe",
            phase=phase,
            client=client,
            server=server,
        )
        for phase, extra in states
    )


def histogram(
    latencies_ns: Sequence[int] | np.ndarray[tuple[int], np.dtype[np.int64]],
    *,
    operation: str = "request",
    phase: PhaseKind = "measure",
    client: str = "client",
    server: str = "server",
    unanswered: int = 0,
) -> RequestHistogram:
    """A histogram of these latencies with two significant digits."""
    values = [int(value) for value in latencies_ns]
    buckets: dict[int, int] = {}
    for value in values:
        step = 10 ** max(0, len(str(value)) - 2)
        top = value // step * step + step - 1
        buckets[top] = buckets.get(top, 0) + 1
    ordered = sorted(buckets.items())
    return RequestHistogram(
        operation=operation,
        phase=phase,
        client=client,
        server=server,
        count=len(values),
        unanswered=unanswered,
        min_ns=min(values, default=0),
        max_ns=max(values, default=0),
        sum_ns=sum(values),
        significant_digits=2,
        value_ns=tuple(value for value, _ in ordered),
        requests=tuple(count for _, count in ordered),
    )


def _series(planned: Run, rng: np.random.Generator, window: int) -> list[Series]:
    """Round-trip times of every connection at the sampler's interval, from before the window."""
    node = planned.workload.roles.server[0]
    every = next(one.every_ns for one in planned.instruments if one.kind == "tcp")
    at = tuple(range(START_NS - every, START_NS + window + 1, every))
    found = []
    for connection in range(len(pairs(planned))):
        srtt = 300 + 1500 * np.abs(np.sin(np.arange(len(at)) / 7)) + rng.normal(0, 60, len(at))
        values = tuple(max(60, int(value)) for value in srtt)
        found.append(
            Series(
                node=node,
                connection=connection,
                instrument="tcp",
                at_ns=at,
                values={SRTT: values, MIN_RTT: (58,) * len(at)},
            )
        )
    return found
