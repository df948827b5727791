"""Metrics of requests and of a probe: percentiles of merged histograms, worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netstudy.analysis.cells import CellRow
from netstudy.analysis.distribution import merged
from netstudy.analysis.metrics import Metric
from netstudy.analysis.order_statistics import Lacking
from netstudy.analysis.workloads.probe import (
    IDLE_P50,
    INCREASE_P50,
    LOADED_P50,
    LOADED_P99,
    MINIMUM,
    SMOOTHED,
)
from netstudy.analysis.workloads.request import (
    LATENCY,
    LATENCY_MAX,
    LATENCY_P50,
    LATENCY_P99,
    LATENCY_P999,
    RATE,
    UNANSWERED,
)
from netstudy.wire import (
    Instrument,
    Phase,
    PhaseTimes,
    Probe,
    Request,
    RequestHistogram,
    Roles,
    Run,
    RunRecord,
    Samples,
    Series,
    UntilTime,
)
from tests.report.synthetic import FakeFolder, network, nodes, plan_of, planned, pooled
from tests.report.workloads import histogram

SECOND = 1_000_000_000
US = 1_000


def request(replicate: int = 1, **beside: Any) -> Run:
    roles = Roles(client=("client",), server=("server",))
    return planned(
        {},
        replicate,
        network=network("arista-7124s", 1),
        workload=Request(roles=roles),
        phases=(Phase(kind="measure", until=UntilTime(ns=2 * SECOND)),),
        **beside,
    )


def outcome(run: Run, *parts: RequestHistogram, series: tuple[Series, ...] = ()) -> RunRecord:
    return RunRecord(
        run=run.id,
        treatment=run.treatment,
        replicate=run.replicate,
        seed=run.seed,
        status="ok",
        nodes=nodes(run),
        phases=(PhaseTimes(kind="measure", start_ns=SECOND, end_ns=3 * SECOND),),
        samples=Samples(request=parts),
        series=series,
    )


def cell_of(*records: tuple[Run, RunRecord]) -> CellRow:
    plan = plan_of(run for run, _ in records)
    return pooled(FakeFolder(plan, [record for _, record in records])).rows[0]


def values(cell: CellRow, *metrics: Metric) -> list[float | None]:
    return [cell.value(metric) for metric in metrics]


def test_clients_are_merged_and_requests_counted_by_the_phase() -> None:
    run = request()
    fast, slow = histogram([10 * US] * 180, client="a"), histogram([90 * US] * 120, client="b")
    cell = cell_of((run, outcome(run, fast, slow)))
    # 300 requests in 2 s; (180 × 10 + 120 × 90) ÷ 300
    assert values(cell, RATE, LATENCY) == [150, 42]
    assert cell.value(LATENCY_P50) == pytest.approx(10, rel=0.1)
    assert values(cell, LATENCY_P99, LATENCY_MAX) == [90, 90]


def test_no_percentile_is_given_beyond_what_the_requests_carry() -> None:
    """At 95 % some pair of n samples holds the 99th percentile from 299 on: 0.99²⁹⁹ < 0.05."""
    run = request()
    few = cell_of((run, outcome(run, histogram([10 * US] * 298))))
    assert few.value(LATENCY_P99) is None
    assert few.lacking(LATENCY_P99) == Lacking(298, 299, "request")
    enough = cell_of((run, outcome(run, histogram([10 * US] * 299))))
    assert enough.value(LATENCY_P99) is not None
    assert enough.lacking(LATENCY_P99) is None
    assert enough.value(LATENCY_P999) is None


def test_a_request_without_an_answer_is_told_and_in_no_percentile() -> None:
    run = request()
    cell = cell_of((run, outcome(run, histogram([10 * US] * 30, unanswered=10))))
    assert values(cell, UNANSWERED, RATE) == [25, 15]
    silent = cell_of((run, outcome(run, histogram([], unanswered=4))))
    assert values(silent, UNANSWERED, RATE, LATENCY, LATENCY_MAX) == [100, 0, None, None]


def test_a_percentile_has_its_interval_from_the_runs() -> None:
    runs = [request(n) for n in (1, 2, 3)]
    parts = [histogram([us * US] * 50) for us in (100, 200, 300)]
    cell = cell_of(*((run, outcome(run, part)) for run, part in zip(runs, parts, strict=True)))
    estimate = cell.estimate(LATENCY_P50)
    assert estimate is not None
    assert (estimate.unit, estimate.n) == ("run", 3)
    # Standard deviation of the three medians is 100; its square by three runs
    assert estimate.variance == pytest.approx(100**2 / 3, rel=0.02)
    largest = cell.estimate(LATENCY_MAX)
    assert largest is not None
    assert largest.interval is None


@given(st.lists(st.integers(1, 10**9), min_size=20, max_size=200), st.floats(0.05, 0.95))
def test_a_percentile_is_the_sample_at_its_rank_within_a_bucket(
    latencies: list[int], q: float
) -> None:
    found = merged([histogram(latencies[::2]), histogram(latencies[1::2])])
    assert found is not None
    value = found.quantile_ns(q)
    assert value is not None
    exact = sorted(latencies)[max(1, int(np.ceil(q * len(latencies) - 1e-9))) - 1]
    assert exact <= value <= max(exact * 1.1, exact)


def probe(latency_us: int, phase: Any, count: int = 300) -> RequestHistogram:
    return histogram([latency_us * US] * count, operation="probe", phase=phase)


def test_a_probe_tells_idle_from_loaded() -> None:
    run = request(probe=Probe(every_ns=SECOND))
    parts = (histogram([10 * US]), probe(50, "idle"), probe(400, "measure"))
    cell = cell_of((run, outcome(run, *parts)))
    assert values(cell, IDLE_P50, LOADED_P50, LOADED_P99, INCREASE_P50) == [50, 400, 400, 350]
    assert cell.value(RATE) == 0.5  # a probe is no request of the workload


def test_without_an_idle_phase_there_is_no_increase() -> None:
    run = request(probe=Probe(every_ns=SECOND))
    cell = cell_of((run, outcome(run, histogram([10 * US]), probe(400, "measure"))))
    assert values(cell, IDLE_P50, LOADED_P50, INCREASE_P50) == [None, 400, None]


def tcp(srtt: tuple[int | None, ...], at_s: tuple[float, ...], connection: int) -> Series:
    return Series(
        node="server",
        connection=connection,
        instrument="tcp",
        at_ns=tuple(round(at * SECOND) for at in at_s),
        values={"srtt_us": srtt, "min_rtt_us": tuple(min(v or 99, 40) for v in srtt)},
    )


def test_round_trip_times_are_those_of_the_measuring_phase() -> None:
    run = request(instruments=(Instrument(kind="tcp", node="server", every_ns=SECOND),))
    # The phase is from 1 s to 3 s; a sample before it and one that could not be read do not count
    series = (
        tcp((900, 100, None, 200), (0.5, 1.0, 1.5, 2.0), 0),
        tcp((300,), (3.0,), 1),
    )
    cell = cell_of((run, outcome(run, histogram([10 * US]), series=series)))
    assert values(cell, SMOOTHED, MINIMUM) == [200, 40]
