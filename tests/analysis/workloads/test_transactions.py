"""Metrics of transactions, from tables whose sums are worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netstudy.analysis.cells import CellRow
from netstudy.analysis.named import metric_named
from netstudy.analysis.workloads.transactions import TRANSACTIONS
from netstudy.study.vocabulary import split_metric
from netstudy.wire import ClosedLoad, OpenLoad, Run
from tests.report.synthetic import FakeFolder, plan_of, pooled
from tests.report.tiers import Planted, record, run, work


def cell(*planted: Planted, like: Run | None = None, nodes: bool = True) -> CellRow:
    """A cell with a run for each of these."""
    runs = [
        replace(like or run({"users": 20}), id=f"{n:012x}", replicate=n)
        for n, _ in enumerate(planted, start=1)
    ]
    made = FakeFolder(
        plan_of(runs),
        [record(one, what, nodes=nodes) for one, what in zip(runs, planted, strict=True)],
    )
    (row,) = pooled(made).rows
    return row


def value(row: CellRow, name: str) -> float | None:
    metric = metric_named(split_metric(name), (*TRANSACTIONS.metrics, *TRANSACTIONS.further))
    assert metric is not None
    return row.value(metric)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("etr_per_s", 250.0),  # 1,500 + 2 x 500 page elements in 10 s
        ("transactions_per_s", 200.0),
        ("elements_per_transaction", 1.25),
        ("itr_per_s", 500.0),  # 250 at 50 % of the application's CPUs
        ("response_ms", 8.0),
        ("service_ms", 4.0),
        ("first_byte_ms", 2.0),
        ("transaction_ms", 10.0),  # 8 ms x 1.25
        ("response_law_ms", 80.0),  # 20 users ÷ 250 a second
        ("response_home_ms", 8.0),
        ("response_buy_ms", 16.0),
        ("response_ms_min", 6.0),
        ("response_ms_max", 10.0),
        ("response_ms_above_9ms_pct", 50.0),
        ("offered_per_s", 200.0),
        ("not_met_pct", 0.0),
        ("read_mb_per_run", 22.5),  # 2,500 x 9,000 bytes
        ("written_mb_per_run", 1.0),
        ("element_bytes_mean", 9000.0),
        ("app_cpu_ms_per_transaction", 5.0),  # half of 2 CPUs for 10 s by 2,000
        ("db_cpu_ms_per_transaction", 5.0),  # a quarter of 4 CPUs
        ("db_cpu_ms_per_element", 4.0),
        ("errors", 0.0),
        ("retransmissions_per_run", 0.0),
    ],
)
def test_a_metric_follows_from_the_tables(name: str, expected: float) -> None:
    assert value(cell(Planted()), name) == pytest.approx(expected, rel=1e-3)


def test_errors_and_what_was_not_met_are_counted_by_their_kind() -> None:
    row = cell(Planted(network_errors=3, server_errors=5, not_met=92))
    assert [value(row, f"{kind}errors") for kind in ("", "network_", "server_")] == [8, 3, 5]
    assert value(row, "offered_per_s") == 210.0
    assert value(row, "not_met_pct") == pytest.approx(100 * 92 / 2100)


def test_what_was_under_way_when_the_phase_began_was_due_before() -> None:
    row = cell(Planted(not_met=100, carried=40))
    assert value(row, "offered_per_s") == 210.0
    assert value(row, "not_met_pct") == pytest.approx(100 * 100 / 2100)


def test_rates_are_ratios_of_sums_over_runs() -> None:
    """250 a second at half of the CPUs and 750 at all of them are 500 at three quarters."""
    row = cell(Planted(), Planted(home=4500, buy=1500, app_cpu_pct=100.0))
    assert value(row, "etr_per_s") == pytest.approx(500.0)
    assert value(row, "itr_per_s") == pytest.approx(500.0 / 0.75)
    assert value(row, "response_law_ms") == pytest.approx(1000 * 20 * 20 / 10_000)


def test_think_time_is_not_response_time() -> None:
    """20 users, 200 transactions a second: each takes 100 ms, of which 60 are thinking."""
    like = run({"users": 20}, workload=work(ClosedLoad(users=20, think_ns=60_000_000)))
    assert value(cell(Planted(), like=like), "response_law_ms") == pytest.approx(40 / 1.25)


def test_an_open_loop_has_no_number_of_users_to_imply_a_response_time() -> None:
    like = run({"rate": 200}, workload=work(OpenLoad(interval_ps=5_000_000_000)))
    assert value(cell(Planted(), like=like), "response_law_ms") is None


def test_without_counters_of_a_host_its_cpu_is_missing_and_not_zero() -> None:
    row = cell(Planted(), nodes=False)
    assert value(row, "itr_per_s") is None
    assert value(row, "etr_per_s") == 250.0
    assert value(row, "app_cpu_ms_per_transaction") == pytest.approx(5.0)  # needs no CPUs


def test_one_run_has_an_interval_from_its_blocks_of_statistics() -> None:
    """Ten blocks are too few for batches; forty in either half of the rate are enough."""
    metric = metric_named(split_metric("etr_per_s"), TRANSACTIONS.metrics)
    assert metric is not None
    assert cell(Planted()).estimate(metric) is not None
    terms = metric.reading.terms(cell(Planted()).runs[0])
    assert terms is not None
    assert terms[0].tolist() == [250.0] * 10
    assert terms[1].tolist() == [1.0] * 10


def test_drops_of_a_hosts_own_queue_and_its_retransmissions_are_losses() -> None:
    row = cell(Planted(counters={"nic_queue_drops": 31, "segments_retransmitted": 12}))
    assert value(row, "drops_per_run") == 31.0
    assert value(row, "retransmissions_per_run") == 12.0
