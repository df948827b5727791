"""The processor time of a host is that of all its processes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netstudy import wire
from netstudy.testbed.real.counters import port_readings, readings
from netstudy.testbed.real.evidence import Evidence
from netstudy.testbed.real.series import series
from netstudy.testbed.real.wire import SamplesRecord
from tests.testbed.carried_out import a_run, counts, roles
from tests.testbed.networks import star, zones
from tests.testbed.told import evidence

SECOND = 1_000_000_000


def between_zones(first: list[SamplesRecord], second: list[SamplesRecord]) -> Evidence:
    """Two zones of one host talk to each other, and to a client."""
    ends = roles(["server.a", "client"], ["server.b", "server.b"])
    run = a_run(zones(), wire.Transfer(roles=ends, size_bytes=1000), counts(2))
    told = evidence(
        run,
        {"server.a": first, "server.b": second},
        {
            "server.a": {"process_cpu_ns": 300, "tcp_segments_out": 7},
            "server.b": {"process_cpu_ns": 400, "tcp_segments_out": 7},
            "client": {"process_cpu_ns": 50},
        },
    )
    hosts = {"server.a": "server", "server.b": "server", "client": "client"}
    agents = {spec: replace(one, host=hosts[spec.node]) for spec, one in told.agents.items()}
    return replace(told, agents=agents, phases=())


def sampled(at_ns: tuple[int, ...], spent_ns: tuple[int | None, ...]) -> SamplesRecord:
    return SamplesRecord(
        at_ns=at_ns,
        late_ns=(0,) * len(at_ns),
        cost_ns=(0,) * len(at_ns),
        skipped=0,
        values={"process_cpu_ns": spent_ns, "tcp_segments_out": at_ns},
    )


def test_it_is_the_sum_of_its_agents_at_each_edge() -> None:
    found = readings(between_zones([], []))
    assert found["server"] == {"tcp_segments_out": (0, 7), "host_cpu_ns": (0, 700)}
    assert found["client"] == {"host_cpu_ns": (0, 50)}


def test_it_is_that_of_all_processes_where_an_agent_counts_them() -> None:
    run = a_run(star(2), wire.Transfer(roles=roles("client", "server-1"), size_bytes=1), counts(1))
    grown = {"server-1": {"process_cpu_ns": 5, "namespace_cpu_ns": 700}}
    assert readings(evidence(run, {}, grown))["server-1"] == {"host_cpu_ns": (0, 700)}


def test_what_one_agent_does_not_tell_is_missing_and_not_nothing() -> None:
    run = a_run(star(2), wire.Transfer(roles=roles("client", "server-1"), size_bytes=1), counts(1))
    found = readings(evidence(run, {}, {"client": {"process_cpu_ns": 5}}))
    assert "host_cpu_ns" not in found["server-1"]


def test_drops_of_an_interfaces_queue_are_its_own_and_summed_those_of_its_host() -> None:
    run = a_run(star(2), wire.Transfer(roles=roles("client", "server-1"), size_bytes=1), counts(1))
    told = evidence(run, {}, {"client": {"nic_queue_drops": 5}, "server-1": {"nic_queue_drops": 7}})
    two = {
        spec: replace(agent, host="client", interface=spec.endpoint)
        for spec, agent in told.agents.items()
    }
    found = replace(told, agents=two)
    assert readings(found)["client"]["nic_queue_drops"] == (0, 12)
    ports = port_readings(found)["client"]
    assert [one["nic_queue_drops"] for one in ports.values()] == [(0, 5), (0, 7)]


@pytest.mark.parametrize(
    ("at_ns", "spent_ns", "expected"),
    [
        pytest.param((1, SECOND + 1), (20, 40), (120, 240), id="a moment later"),
        pytest.param((1, SECOND + 1), (20, None), (120, None), id="not read once"),
        pytest.param((1, 2), (20, 40), (120, None), id="ended before"),
    ],
)
def test_samples_of_several_agents_are_added_where_they_are_of_about_the_same_time(
    at_ns: tuple[int, ...], spent_ns: tuple[int | None, ...], expected: tuple[int | None, ...]
) -> None:
    told = between_zones([sampled((0, SECOND), (100, 200))], [sampled(at_ns, spent_ns)])
    own = next(one for one in series(told) if (one.node, one.port) == ("server", None))
    assert own.values == {"tcp_segments_out": (0, SECOND), "host_cpu_ns": expected}
