"""Activity of others on hosts that are not the run's own, found in a stored run."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from netstudy import wire
from netstudy.testbed.real.allowance import Allowance
from netstudy.testbed.real.assemble import interference, run_record
from netstudy.testbed.real.conduct import carry_out
from netstudy.testbed.real.evidence import Evidence
from netstudy.testbed.real.others import LAW, activity
from netstudy.testbed.real.setting import Setting
from tests.testbed.golden_runs import Golden
from tests.testbed.replay import Replay

ALLOWED = Allowance(traffic_pct=0.5, cpu_pct=100)


def stored(name: str, allowed: Allowance = ALLOWED) -> Evidence:
    golden = Golden.stored(name)
    found = asyncio.run(carry_out(Setting(golden.run, Replay.of(golden)), {}))
    return replace(found, allowed=allowed)


def with_growth(evidence: Evidence, host: str, counter: str, more: int) -> Evidence:
    """The evidence, if a counter of a host had grown by so much more in the measuring phase."""
    agents = {}
    for spec, agent in evidence.agents.items():
        end = agent.snapshots[wire.MEASURE_END]
        if agent.host == host:
            counters = {**end.counters, counter: end.counters[counter] + more}
            end = end.model_copy(update={"counters": counters})
        snapshots = {**agent.snapshots, wire.MEASURE_END: end}
        agents[spec] = replace(agent, snapshots=snapshots)
    return replace(evidence, agents=agents)


def counted_s(evidence: Evidence, host: str) -> float:
    snapshots = evidence.hosts[host].snapshots
    return (snapshots[wire.MEASURE_END].at_ns - snapshots[wire.MEASURE_START].at_ns) / 1e9


@pytest.mark.parametrize("name", ["incast", "transfer", "request", "probe"])
def test_the_traffic_of_a_run_is_none_of_others(name: str) -> None:
    evidence = stored(name)
    traffic = [one for one in activity(evidence) if one.name.startswith("traffic")]

    interfaces = {(agent.host, agent.device) for agent in evidence.agents.values()}
    assert len(traffic) == 2 * len(interfaces)
    assert [one.value for one in traffic] == [0.0] * len(traffic)


def test_a_stream_of_others_makes_the_run_be_repeated() -> None:
    evidence = stored("transfer")
    (port,) = (
        port
        for link in evidence.run.network.links
        for port in link.ports
        if port.node == "server-1"
    )
    # Headers of the run's own segments were taken at their largest, which hides some traffic.
    stray = round(0.05 * port.rate_bps * counted_s(evidence, "server-1") / 8)
    disturbed = with_growth(evidence, "server-1", "interface_bytes_received", stray)

    (found,) = (one for one in activity(disturbed) if one.exceeded)
    assert found.name == "traffic of others received at eth0 (server-1)"
    assert found.value is not None
    assert 3 < found.value <= 5
    record = run_record(disturbed, {})
    assert [check.law for check in record.checks if not check.holds] == [LAW]
    assert record.status == "invalid"
    assert interference(record) == f"{found.name}: {found.value:.3g} %"


def test_traffic_within_the_allowance_is_told_and_spoils_nothing() -> None:
    evidence = stored("transfer", Allowance(traffic_pct=10, cpu_pct=100))
    disturbed = with_growth(evidence, "client-1", "interface_bytes_sent", 300_000)

    assert not [one for one in activity(disturbed) if one.exceeded]
    assert [one.value for one in activity(disturbed) if one.value and "client-1" in one.name]


def test_cpu_time_of_others_is_all_that_agents_did_not_use() -> None:
    evidence = stored("transfer", Allowance(traffic_pct=0.5, cpu_pct=5))
    first = next(iter(evidence.hosts))
    before = next(one for one in activity(evidence) if one.name.startswith("CPU")).value
    busy = with_growth(evidence, first, "cpu_user_ms", 10_000)

    found = next(one for one in activity(busy) if one.name.startswith("CPU"))
    assert before is not None
    assert found.value is not None
    assert found.value > max(before, 80)
    assert found.exceeded
