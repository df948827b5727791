"""Times of the brokerage's threads and of its pool, among the counters of its host."""

from __future__ import annotations

from dataclasses import replace

from netstudy import wire
from netstudy.testbed.real.application import ApplicationEvidence
from netstudy.testbed.real.brokerage_wire import BrokerageCounters, BrokerageSnapshot
from netstudy.testbed.real.counters import readings
from netstudy.testbed.real.evidence import Evidence
from tests.testbed.served import a_served_run, brokerage, transactions
from tests.testbed.told import evidence

NAMES = ("threads_busy_ns", "pool_busy_ns", "pool_waiting_ns")


def snapshot(edge: str, busy_ns: int) -> BrokerageSnapshot:
    """What the brokerage had counted: `busy_ns` of its threads, twice that of its pool, and three
    times that of waiting."""
    counted = dict.fromkeys(BrokerageCounters.model_fields, 0) | {
        "operations": {},
        "errors": {},
        "responses": {},
        "database_errors": {},
        "threads_busy_ns": busy_ns,
        "pool_busy_ns": 2 * busy_ns,
        "pool_wait_ns": 3 * busy_ns,
    }
    return BrokerageSnapshot(name=edge, at_ns=0, counters=BrokerageCounters.model_validate(counted))


def served(application: ApplicationEvidence | None) -> Evidence:
    run = a_served_run(transactions(brokerage(), wire.ClosedLoad(users=2)))
    return replace(evidence(run, {}), application=application)


def test_they_belong_to_the_host_of_the_server_alone() -> None:
    taken = {wire.MEASURE_START: 10, wire.MEASURE_END: 50}
    told = {edge: snapshot(edge, busy_ns) for edge, busy_ns in taken.items()}
    found = readings(served(ApplicationEvidence("app", snapshots=told)))
    assert [found["app"][name] for name in NAMES] == [(10, 50), (20, 100), (30, 150)]
    assert not [host for host in found if host != "app" and set(NAMES) & set(found[host])]


def test_what_a_program_does_not_tell_is_missing() -> None:
    for application in (None, ApplicationEvidence("app")):
        assert not set(NAMES) & set(readings(served(application))["app"])


def test_what_was_not_read_at_an_edge_is_missing_there() -> None:
    told = {wire.MEASURE_END: snapshot(wire.MEASURE_END, 50)}
    found = readings(served(ApplicationEvidence("app", snapshots=told)))
    assert found["app"]["pool_busy_ns"] == (None, 100)
