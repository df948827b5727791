"""Where the time of transactions goes, from evidence made by hand: in a second, 100 transactions of
two users took 1.8 s."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from netstudy import wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.application import ApplicationEvidence
from netstudy.testbed.real.brokerage_wire import BrokerageCounters, BrokerageSnapshot
from netstudy.testbed.real.evidence import Evidence
from netstudy.testbed.workloads import traffic_of
from tests.testbed.served import a_served_run, brokerage, transactions
from tests.testbed.told import evidence

MS = 1_000_000


def times(latency: Literal["response", "service"], sum_ms: int) -> agent_wire.ResponseTimesRecord:
    return agent_wire.ResponseTimesRecord(
        of="workload",
        operation="transaction",
        latency=latency,
        phase="measure",
        count=100,
        unanswered=0,
        min_ns=1,
        max_ns=1,
        sum_ns=MS * sum_ms,
        histogram=((1, 100),),
    )


def table(completed: int, unfinished: int) -> agent_wire.TransactionsRecord:
    names = [name for name in agent_wire.TransactionsRecord.model_fields if name != "kind"]
    columns: dict[str, tuple[object, ...]] = dict.fromkeys(names, (0,))
    columns |= {"operation": ("home",), "completed": (completed,), "unfinished": (unfinished,)}
    return agent_wire.TransactionsRecord.model_validate(columns)


def statistics() -> agent_wire.StatisticsRecord:
    names = [name for name in agent_wire.StatisticsRecord.model_fields if name != "kind"]
    return agent_wire.StatisticsRecord.model_validate(dict.fromkeys(names, ()))


def snapshot(edge: str, **counted_ms: int) -> BrokerageSnapshot:
    maps = ("operations", "errors", "responses", "database_errors")
    values: dict[str, object] = dict.fromkeys(BrokerageCounters.model_fields, 0)
    values |= {name: {} for name in maps}
    values |= {name: MS * ms for name, ms in counted_ms.items()}
    return BrokerageSnapshot(name=edge, at_ns=0, counters=BrokerageCounters.model_validate(values))


def account(
    application: wire.Brokerage, completed: int = 100, **counted_ms: int
) -> wire.TimeAccount:
    """The generator used 50 ms of CPU time and waited 10 ms; the application and its database used
    200 ms each, and waited 20 ms each."""
    run = a_served_run(transactions(application, wire.ClosedLoad(users=2)))
    spent = {"namespace_cpu_ns": 200 * MS, "namespace_waited_ns": 20 * MS}
    told: Evidence = evidence(
        run,
        {
            "client": [
                times("response", 1_800),
                times("service", 1_790),
                table(completed, 100 - completed),
                agent_wire.TransactionErrorsRecord(operation=(), reason=(), count=()),
                statistics(),
            ]
        },
        {
            "client": {"process_cpu_ns": 50 * MS, "process_waited_ns": 10 * MS},
            "app": spent,
            "db": spent,
        },
        observers=("db",),
    )
    told = replace(
        told,
        application=ApplicationEvidence(
            "app",
            snapshots={
                wire.MEASURE_START: snapshot(wire.MEASURE_START),
                wire.MEASURE_END: snapshot(wire.MEASURE_END, **counted_ms),
            },
        ),
    )
    (found,) = traffic_of(run.workload).samples(told).time
    return found


def bounds_ms(found: wire.TimeAccount) -> dict[tuple[str, str], tuple[float, float]]:
    assert found.high_ps is not None
    keys = zip(found.place, found.node, strict=True)
    rows = zip(found.low_ps, found.high_ps, strict=True)
    return {key: (low / 1e9, high / 1e9) for key, (low, high) in zip(keys, rows, strict=True)}


POSTGRESQL = brokerage(database="postgresql")


def test_what_was_counted_is_known() -> None:
    """10 ms until requests were sent, and 300 ms until a connection to the database was free. While
    connections were in use, for 700 ms, operations may have waited for logs and locks."""
    found = account(POSTGRESQL, pool_wait_ns=300, pool_busy_ns=700)
    assert (found.unit, found.units, found.whole_ps) == ("transaction", 100, 1_800 * 10**9)
    known = 10 + 300 + 2 * 200 + 20
    assert (
        bounds_ms(found).items()
        >= {
            ("generator", "client"): (10, 10),
            ("pool", "app"): (300, 300),
            ("database-hold", "db"): (0, 700),
            ("cpu", "db"): (200, 200),
            ("cpu-queue", "db"): (20, 20),
            ("cpu", "app"): (200, 200),
            # Threads may have waited to let transactions have connections.
            ("cpu-queue", "app"): (0, 20),
            # The 10 ms may be those until requests were sent; the answers to both users may wait.
            ("cpu-queue", "client"): (0, 2 * 60),
            ("not-known", ""): (0, 1_800 - known),
        }.items()
    )


def test_submissions_that_did_not_complete_count_in_proportion() -> None:
    parts = bounds_ms(account(POSTGRESQL, 80, pool_wait_ns=300, pool_busy_ns=0))
    assert parts["cpu", "db"] == pytest.approx((160, 200))
    assert parts["pool", "app"] == pytest.approx((240, 240))


def test_an_embedded_database_works_while_its_connections_are_busy() -> None:
    found = account(brokerage(database="sqlite"), pool_wait_ns=0, pool_busy_ns=1_000)
    parts = bounds_ms(found)
    assert parts.items() >= {("database-hold", "app"): (1_000 - 220, 1_000)}.items()
    assert ("cpu", "db") not in parts
