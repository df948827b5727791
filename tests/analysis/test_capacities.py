"""Capacities of hosts with several servers: CPUs and permits.

Counters are made by hand, and results are computed by hand beside them. A phase takes two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from netstudy import wire
from netstudy.analysis.nodes import node_metric
from netstudy.analysis.samples import RunSample
from netstudy.plan.workloads import planned_of
from netstudy.plan.workloads.base import Permit
from netstudy.study.vocabulary import split_metric
from tests.analysis.test_nodes import counted, value
from tests.report.synthetic import nodes, run

SECOND_NS = 1_000_000_000


def known(cpus: float | None) -> dict[str, wire.RecordNode]:
    """The nodes of a record, where the client has this many CPUs."""
    found = nodes(run({"servers": 3}))
    return {**found, "client": found["client"].model_copy(update={"cpus": cpus})}


def busy(*seconds: float) -> dict[str, tuple[int, int]]:
    """Counters of CPUs that were busy for so long; each had been busy for 7 ns before."""
    return {
        f"cpu_busy_ns.{cpu}": (7, 7 + round(one * SECOND_NS)) for cpu, one in enumerate(seconds)
    }


def test_the_busiest_cpu_is_the_largest_share_of_one_cpu() -> None:
    counters = {"client": {**busy(0.5, 1.8, 0.1), "host_cpu_ns": (0, 2_400_000_000)}}
    record = counted(counters, nodes=known(3))
    assert value(record, "client.busiest_cpu_pct") == pytest.approx(90)
    assert value(record, "client.cpu_pct") == pytest.approx(40)
    machine = counted({"machine": busy(0.5, 1.0)})
    assert value(machine, "machine.busiest_cpu_pct") == pytest.approx(50)


def test_a_cpu_is_busy_between_the_readings_also_when_nothing_is_in_flight() -> None:
    """Nothing is in flight in the last half second of four between the readings."""
    counters = {"client": {**busy(2.0), "host_cpu_ns": (0, 700_000_000)}}
    found = counted(counters, nodes=known(2))
    first, last = found.edges
    late = {"at_ns": first.at_ns + 4 * SECOND_NS, "quiet_ns": first.at_ns + 3_500_000_000}
    record = found.model_copy(update={"edges": (first, last.model_copy(update=late))})
    assert value(record, "client.busiest_cpu_pct") == pytest.approx(50)
    assert value(record, "client.cpu_pct") == pytest.approx(10)


def test_the_only_cpu_of_a_host_is_its_busiest_one_and_of_several_it_is_not_known() -> None:
    counters = {"client": {"host_cpu_ns": (0, 1_500_000_000)}}
    assert value(counted(counters, nodes=known(1)), "client.busiest_cpu_pct") == pytest.approx(75)
    assert value(counted(counters, nodes=known(2)), "client.busiest_cpu_pct") is None
    assert value(counted(counters, nodes=known(None)), "client.busiest_cpu_pct") is None


def test_a_cpu_that_was_not_read_at_both_edges_leaves_the_busiest_one_unknown() -> None:
    counters = {"client": {**busy(0.5), "cpu_busy_ns.1": (None, SECOND_NS)}}
    assert value(counted(counters, nodes=known(2)), "client.busiest_cpu_pct") is None


def tiers(**costs: Any) -> wire.Run:
    """A run with an application and its database on hosts of their own."""
    made = run({"servers": 3})
    work = wire.Transactions(
        roles=wire.TierRoles(client=("client",), server=("server-1@eth0",), database=("server-2",)),
        application=wire.Brokerage(threads=3, pool_connections=5),
        mix=(wire.Operation(name="home", share_ppm=1_000_000, elements_ppm=1_000_000),),
        load=wire.ClosedLoad(users=9),
        costs=wire.Costs(profile="lab", app_cpu_ns=1, **costs),
    )
    return replace(made, workload=work)


def on_one_host(planned: wire.Run) -> wire.Run:
    work = planned.workload
    assert isinstance(work, wire.Transactions)
    alone = work.model_copy(update={"roles": work.roles.model_copy(update={"database": ()})})
    return replace(planned, workload=alone)


def measured(planned: wire.Run, name: str, counters: dict[str, Any]) -> float | None:
    found = node_metric(split_metric(name)).reading.estimate(
        [RunSample(planned, counted(counters, mode="per-hop"))]
    )
    return None if found is None else found.value


def test_permits_are_in_use_by_their_number_and_jobs_wait_by_the_time() -> None:
    """4 slots for 2 s: 6 s in use are 75 %. Jobs that waited for 5 s are 2.5 that wait."""
    planned = tiers(database_slots=4, pool_connections=10, threads=2)
    grown = {"busy": 6 * SECOND_NS, "waiting": 5 * SECOND_NS}
    for kind, host, share in (
        ("database_slots", "server-2", 75),
        ("pool", "server-1", 30),
        ("threads", "server-1", 150),
    ):
        counters = {host: {f"{kind}_{what}_ns": (3, 3 + by) for what, by in grown.items()}}
        assert measured(planned, f"{host}.{kind}_busy_pct", counters) == pytest.approx(share)
        assert measured(planned, f"{host}.{kind}_waiting", counters) == pytest.approx(2.5)
        assert measured(planned, f"client.{kind}_waiting", counters) is None


def test_what_has_no_limit_has_no_share() -> None:
    counters = {"server-1": {"threads_busy_ns": (0, SECOND_NS)}}
    assert measured(tiers(), "server-1.threads_busy_pct", counters) is None
    assert measured(tiers(), "server-1.pool_busy_pct", counters) is None


def permits(planned: wire.Run, node: str, *, is_simulated: bool) -> Mapping[Permit, int]:
    work = planned.workload
    return planned_of(work).permits(work, node, is_simulated=is_simulated)


def test_the_simulator_has_the_permits_of_the_costs() -> None:
    planned = tiers(threads=2, pool_connections=7, database_slots=4)
    assert permits(planned, "server-1", is_simulated=True) == {"threads": 2, "pool": 7}
    assert permits(planned, "server-2", is_simulated=True) == {"database_slots": 4}
    assert permits(planned, "client", is_simulated=True) == {}
    alone = on_one_host(planned)
    both = {"threads": 2, "database_slots": 4}
    assert permits(alone, "server-1", is_simulated=True) == both
    assert permits(run({"servers": 3}), "server-1", is_simulated=True) == {}


def test_elsewhere_the_application_has_the_permits_that_it_is_started_with() -> None:
    planned = tiers(threads=2, pool_connections=7)
    assert permits(planned, "server-1", is_simulated=False) == {"threads": 3, "pool": 5}
    assert permits(planned, "server-2", is_simulated=False) == {}
