"""Faults of hosts and their links, put into the counters of a stored run: this machine has no CPU
that counts heat, and no interface that counts PAUSE."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netstudy import wire
from netstudy.testbed.real.assemble import interference, run_record
from netstudy.testbed.real.evidence import Evidence
from netstudy.testbed.real.health import LAW, faults
from tests.testbed.test_others import stored

HOST = "server-1"
CARRIER, HEAT = "interface_carrier_changes", "cpu_package_throttled"
RATE = "interface_rate_mbps"
RECEIVED = "interface_pause_frames_received"


def with_counts(
    counters: dict[str, tuple[int, int]] | None = None,
    gauges: dict[str, tuple[int, int]] | None = None,
    host: str = HOST,
) -> Evidence:
    """A stored run with counters of a host as they were at the start and at the end of the
    measuring phase."""
    evidence = stored("transfer")
    agents = {}
    for spec, agent in evidence.agents.items():
        taken = dict(agent.snapshots)
        for place, edge in enumerate((wire.MEASURE_START, wire.MEASURE_END)):
            if agent.host == host:
                one = taken[edge]
                own = {name: both[place] for name, both in (counters or {}).items()}
                states = {name: both[place] for name, both in (gauges or {}).items()}
                more = {"counters": one.counters | own, "gauges": one.gauges | states}
                taken[edge] = one.model_copy(update=more)
        agents[spec] = replace(agent, snapshots=taken)
    machines = {host: host for host in evidence.machines}
    return replace(evidence, agents=agents, machines=machines)


def limit(evidence: Evidence, name: str) -> wire.TestbedLimit:
    (found,) = (one for one in faults(evidence) if one.name == name)
    return found


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (
            with_counts({CARRIER: (4, 6)}),
            "the carrier of eth0 at server-1 came or went, 2 in all",
        ),
        (
            with_counts(gauges={RATE: (10_000, 1_000)}),
            "eth0 at server-1 went from 10 Gbit/s to 1 Gbit/s",
        ),
        (
            with_counts({HEAT: (0, 3), "cpu_core_throttled": (7, 8)}),
            "heat made CPUs of server-1 slower 4 times (thermal_throttle)",
        ),
        (
            with_counts({"ring_drops": (0, 12)}),
            "eth0 at server-1 lost 12 (rx_missed_errors)",
        ),
    ],
)
def test_a_fault_makes_the_run_be_repeated_and_names_host_and_interface(
    evidence: Evidence, said: str
) -> None:
    record = run_record(evidence, {})
    (broken,) = (check for check in record.checks if not check.holds)
    assert broken.law == LAW
    assert said in broken.detail
    assert record.status == "invalid"
    assert interference(record) == broken.detail
    assert [one.evidence for one in record.limits if one.invalidates] == [broken.detail]


def test_a_run_without_faults_holds_the_law() -> None:
    counted = {CARRIER: (4, 4), HEAT: (9, 9), "ring_drops": (1, 1), RECEIVED: (5, 5)}
    evidence = with_counts(counted, {RATE: (1_000, 1_000)})
    record = run_record(evidence, {})
    assert [check.holds for check in record.checks if check.law == LAW] == [True]
    assert not any(one.exceeded for one in faults(evidence))


def test_pause_is_reported_with_its_frames_and_spoils_nothing() -> None:
    evidence = with_counts({RECEIVED: (10, 510)})
    found = limit(evidence, "PAUSE frames that hosts received")
    assert (found.value, found.exceeded, found.invalidates) == (500, True, False)
    assert found.evidence.startswith("eth0 at server-1 received 500; not counted: ")
    assert run_record(evidence, {}).status == "ok"


def test_pause_that_the_study_asks_for_is_no_limit() -> None:
    evidence = with_counts({RECEIVED: (10, 510)})
    network = evidence.run.network
    groups = tuple(
        one.model_copy(update={"nic": one.nic.model_copy(update={"honours_pause": True})})
        for one in network.groups
    )
    run = replace(evidence.run, network=network.model_copy(update={"groups": groups}))
    found = limit(replace(evidence, run=run), "PAUSE frames that hosts received")
    assert (found.value, found.exceeded) == (500, False)


def test_a_packet_of_a_foreign_protocol_is_within_the_limit() -> None:
    drops = "interface_receive_drops"
    name = "received packets that hosts dropped before TCP"
    assert not limit(with_counts({drops: (0, 1)}), name).exceeded
    many = limit(with_counts({drops: (0, 900)}), name)
    assert (many.exceeded, many.invalidates) == (True, False)


def test_a_fault_that_no_host_counts_is_unknown() -> None:
    unknown = {one.name for one in faults(stored("transfer")) if one.value is None}
    assert {"times that heat made CPUs slower", "PAUSE frames that hosts sent"} <= unknown


def test_namespaces_have_no_such_limits() -> None:
    assert faults(replace(stored("transfer"), allowed=None)) == ()


def test_a_fault_explains_the_other_laws_that_it_broke() -> None:
    record = run_record(with_counts({CARRIER: (4, 6)}), {})
    broken = wire.Check(law="time bounds hold", holds=False, detail="at least 4 and at most 2")
    both = record.model_copy(update={"checks": (*record.checks, broken)})
    only = record.model_copy(update={"checks": (broken,)})
    assert (interference(both) or "").endswith("; at least 4 and at most 2")
    assert interference(only) is None
