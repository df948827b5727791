"""Cells: replicates pooled, missing stays missing, bad runs counted and left out."""

from __future__ import annotations

import numpy as np
import pytest

from netstudy.analysis.cells import CellRow
from netstudy.analysis.workloads import METRICS, VOCABULARY, WORKLOADS
from netstudy.analysis.workloads.incast import (
    COMPLETION,
    COMPLETION_P50,
    COMPLETION_P99,
    DROPS,
    GOODPUT,
    TIMEOUT_SHARE,
    TIMEOUTS,
)
from netstudy.wire import RunRecord, Samples
from tests.report.synthetic import (
    FakeFolder,
    failed,
    from_samples,
    incast_plan,
    invalid,
    plan_of,
    pooled,
    record,
    run,
)


def cell_of(*samples: tuple[list[float], list[int], list[int]]) -> CellRow:
    """One cell with 4 servers whose runs have these times in ms, drops and timeouts."""
    planned = [
        run({"servers": 4}, replicate + 1, iterations=len(times))
        for replicate, (times, _, _) in enumerate(samples)
    ]
    records = [
        from_samples(one, times, drops, drops, timeouts)
        for one, (times, drops, timeouts) in zip(planned, samples, strict=True)
    ]
    plan = plan_of(planned)
    return pooled(FakeFolder(plan, records)).rows[0]


def test_replicates_are_pooled() -> None:
    cell = cell_of(([10.0, 20.0], [0, 4], [0, 1]), ([40.0, 50.0], [6, 2], [2, 0]))
    assert cell.value(COMPLETION) == 30
    assert cell.value(DROPS) == 3
    assert cell.value(TIMEOUTS) == 0.75
    assert cell.value(TIMEOUT_SHARE) == 50
    assert cell.value(COMPLETION_P50) is None  # four samples carry no median

    longer = cell_of(([10.0, 20.0, 22.0], [0] * 3, [0] * 3), ([38.0, 40.0, 50.0], [0] * 3, [0] * 3))
    assert longer.value(COMPLETION_P50) == 30


def test_goodput_is_all_bytes_over_all_time() -> None:
    cell = cell_of(([10.0, 20.0], [0, 0], [0, 0]), ([40.0, 50.0], [0, 0], [0, 0]))
    # 4 iterations of 4 servers of 4 MB are 512 Mbit; 120 ms
    assert cell.value(GOODPUT) == pytest.approx(512 / 0.120)


def test_goodput_times_completion_time_is_the_bytes_of_an_iteration() -> None:
    table = pooled(FakeFolder(plan := incast_plan([2, 9]), [record(one) for one in plan.runs]))
    for row in table.rows:
        goodput, completion = row.value(GOODPUT), row.value(COMPLETION)
        assert goodput is not None
        assert completion is not None
        servers = row.treatment["servers"]
        assert goodput * completion == pytest.approx(float(servers) * 4e6 * 8 / 1e3)


def test_cells_stand_in_the_order_of_their_levels_whatever_the_order_of_the_runs() -> None:
    plan = incast_plan([10, 2, 1], replicates=1)
    shuffled = plan.with_runs(plan.runs[::-1])
    table = pooled(FakeFolder(shuffled, []), {"switch": ("arista-7124s", "nexus-5010")})
    order = [(row.treatment["switch"], row.treatment["servers"]) for row in table.rows]
    assert order == [(s, n) for s in ("arista-7124s", "nexus-5010") for n in (1, 2, 10)]


def test_bad_runs_are_named_and_leave_the_numbers_alone() -> None:
    plan = incast_plan([5], switches=["nexus-5010"], replicates=5)
    one, two, three, four, five = plan.runs
    records: list[RunRecord] = [record(one), failed(two, "no memory"), invalid(three), record(five)]
    row = pooled(FakeFolder(plan, records)).rows[0]
    assert [(p.replicate, p.kind) for p in row.problems] == [
        (2, "failed"),
        (3, "invalid"),
        (4, "missing"),
    ]
    assert row.problems[0].reason == "no memory"
    assert row.problems[1].reason == "bytes in = bytes out: one byte is missing"
    assert four.id == row.problems[2].run
    alone = [record(one), record(five)]
    clean = pooled(FakeFolder(plan.with_runs((one, five)), alone)).rows[0]
    assert row.value(COMPLETION) == clean.value(COMPLETION)


def test_a_cell_without_a_run_has_no_values() -> None:
    row = pooled(FakeFolder(incast_plan([5], replicates=1), [])).rows[0]
    assert all(row.estimate(metric) is None for metric in METRICS)


def without_connections(full: RunRecord) -> Samples:
    return full.samples.model_copy(update={"connection": None})


def test_what_no_instrument_counted_is_missing_and_not_zero() -> None:
    planned = run({"servers": 4}, iterations=3)
    full = from_samples(planned, [1.0, 2.0, 3.0], [], [], [])
    plan = plan_of((planned,))
    row = pooled(
        FakeFolder(plan, [full.model_copy(update={"samples": without_connections(full)})])
    ).rows[0]
    assert row.value(COMPLETION) == 2
    assert row.value(DROPS) is None
    assert row.value(TIMEOUT_SHARE) is None
    assert row.value(GOODPUT) is None


def test_a_record_without_iterations_is_a_failed_run() -> None:
    planned = run({"servers": 4}, iterations=1)
    empty = record(planned).model_copy(update={"samples": Samples()})
    plan = plan_of((planned,))
    row = pooled(FakeFolder(plan, [empty])).rows[0]
    assert row.problems[0].kind == "failed"


def test_p99_of_pooled_iterations_agrees_with_numpy() -> None:
    rng = np.random.default_rng(5)
    times = [rng.gamma(2, 10, 100).round(6) for _ in range(3)]
    zeros = [0] * 100
    cell = cell_of(*((list(t), zeros, zeros) for t in times))
    expected = float(np.quantile(np.concatenate(times), 0.99))
    assert cell.value(COMPLETION_P99) == pytest.approx(expected)


def test_the_vocabulary_names_each_metric_once_and_ends_names_in_unit_or_statistic() -> None:
    beside = (*VOCABULARY["probe"], *VOCABULARY["tcp"])
    for workload in WORKLOADS.values():
        metrics = (*workload.metrics, *beside)
        assert len({metric.name for metric in metrics}) == len(metrics)
        assert len({metric.figure for metric in metrics}) == len(metrics)
    assert [metric.name for metric in WORKLOADS["incast"].metrics if metric.exported] == [
        "completion_ms_mean",
        "completion_ms_p50",
        "completion_ms_p99",
        "goodput_mbps",
        "drops_per_iteration",
        "retransmissions_per_iteration",
        "timeouts_per_iteration",
    ]
