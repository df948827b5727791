"""Workloads and networks on real namespaces.

Bounds are those of physics, with room for a machine that has other things to do: no test here
depends on how fast the machine is.
"""

from __future__ import annotations

import pytest

from netstudy import wire
from netstudy.analysis.nodes import node_metric
from netstudy.analysis.samples import RunSample
from netstudy.study.vocabulary import split_metric
from netstudy.testbed.engine import find_engine
from tests.skips import needs_programs, or_skip
from tests.testbed.carried_out import (
    a_run,
    broken,
    counts,
    record_of,
    records_of,
    roles,
    simulated,
    times,
)
from tests.testbed.conftest import User
from tests.testbed.networks import direct, dumbbell, placements, star, two_interfaces, zones

pytestmark = [pytest.mark.one_user, pytest.mark.quiet]

MEGABIT = 1_000_000
SIZE = 1_000_000
"""Bytes of a transfer: 80 ms at 100 Mbit/s."""


@pytest.fixture(autouse=True)
def engine() -> None:
    """The engine, where netstudy finds it."""
    with or_skip():
        find_engine()


def goodput_bps(record: wire.RunRecord) -> float:
    """What all clients together received or sent, by the time of the measuring phase."""
    table, phase = record.samples.connection, record.measure
    assert table is not None
    assert phase is not None
    got = sum(table.bytes_received) + sum(table.bytes_sent)
    return 8e9 * got / (phase.end_ns - phase.start_ns)


def held(record: wire.RunRecord) -> wire.RunRecord:
    """The record, which breaks no law that a busy machine does not break."""
    assert not broken(record)
    assert {check.law for check in record.checks} > {"no link carries more than its rate"}
    return record


@pytest.mark.parametrize("switching", ["user-space", "kernel"])
def test_an_incast_says_what_its_application_verified(user: User, switching: str) -> None:
    work = wire.Incast(roles=roles("client", ["server-1", "server-2"]), block_bytes=32_000)
    graph = star(2, rate_bps=100 * MEGABIT, mtu_bytes=1500)
    record = held(record_of(user, a_run(graph, work, counts(3)), switching))
    rows, table = record.samples.iteration, record.samples.connection

    assert rows is not None
    assert table is not None
    assert len(rows.completion_ns) == 3
    assert (rows.dropped_packets is None) == (switching == "kernel")
    assert (table.client, table.server) == (("client", "client"), ("server-1", "server-2"))
    assert table.bytes_received == (96_000, 96_000)
    assert table.bytes_sent == (3 * 64, 3 * 64)
    assert record.bytes_received == 192_000
    assert {one.clock for one in record.nodes.values()} == {"machine"}
    grown = record.growth(record.ports["switch"]["client"])
    assert grown["bytes_forwarded"] > 192_000
    assert (
        record.growth(record.ports["client"]["eth0"])["interface_packets_received"]
        == (grown["frames_forwarded"])
    )


@pytest.mark.parametrize("delay_ns", [0, 2_000_000], ids=["the kernel's", "through the program"])
def test_a_direct_link_carries_what_its_rate_allows(user: User, delay_ns: int) -> None:
    work = wire.Transfer(roles=roles("client", "server"), size_bytes=SIZE)
    graph = direct(rate_bps=(20 * MEGABIT, 50 * MEGABIT), delay_ns=delay_ns)
    record = held(record_of(user, a_run(graph, work, counts(3))))
    rows = record.samples.transfer

    assert rows is not None
    assert rows.bytes_received == (SIZE,) * 3
    assert rows.bytes_sent == (0,) * 3
    # 1,448 of 1,538 bytes are the application's; the end of the server has 50 Mbit/s
    assert 0.5 * 50 * MEGABIT < goodput_bps(record) < 50 * MEGABIT
    least_ns = 8e9 * SIZE / (50 * MEGABIT) + 2 * delay_ns
    assert all(
        end - start >= 0.99 * least_ns
        for start, end in zip(rows.start_ns, rows.end_ns, strict=True)
    )
    assert "switch" not in record.ports


@pytest.mark.parametrize("direction", ["get", "put", "both"])
def test_over_a_dumbbell_flows_share_the_link_in_the_middle(user: User, direction: str) -> None:
    ends = roles(["client-1", "client-2"], ["server-1", "server-2"])
    work = wire.Transfer.model_validate(
        {"roles": ends, "direction": direction, "size_bytes": SIZE // 4, "flows": 2}
    )
    graph = dumbbell(middle_bps=20 * MEGABIT, delay_ns=1_000_000)
    record = held(record_of(user, a_run(graph, work, counts(2))))
    rows, table = record.samples.transfer, record.samples.connection

    assert rows is not None
    assert table is not None
    assert len(rows.connection) == 4 * 2
    assert table.client == ("client-1", "client-1", "client-2", "client-2")
    ways = 2 if direction == "both" else 1
    assert goodput_bps(record) < ways * 20 * MEGABIT
    assert set(rows.bytes_received) == {0 if direction == "put" else SIZE // 4}
    assert set(rows.bytes_sent) == {0 if direction == "get" else SIZE // 4}
    # What leaves the one switch comes to the other.
    left, right = record.ports["left"]["right"], record.ports["right"]["left"]
    out, back = record.growth(left), record.growth(right)
    assert out["frames_forwarded"] == back["frames_received"]
    assert back["frames_forwarded"] == out["frames_received"]


def test_a_host_answers_by_the_interface_that_it_was_asked_by(user: User) -> None:
    ends = roles(["client-1", "client-2"], ["server@eth0", "server@eth1"])
    work = wire.Transfer(roles=ends, size_bytes=SIZE)
    record = held(record_of(user, a_run(two_interfaces(rate_bps=20 * MEGABIT), work, counts(1))))

    for port in ("eth0", "eth1"):
        grown = record.growth(record.ports["server"][port])
        assert SIZE < grown["interface_bytes_sent"] < 1.2 * SIZE
        assert (
            record.growth(record.ports["switch"][f"server@{port}"])["frames_received"]
            == (grown["interface_packets_sent"])
        )


@pytest.mark.parametrize(
    ("stack", "target", "crosses"),
    [("shared", "a.z", False), ("own", "a.y", False), ("own", "a.z", True)],
)
def test_interfaces_count_what_zones_send_over_the_wire_and_nothing_else(
    user: User, stack: wire.Stack, target: str, crosses: bool
) -> None:
    """A shared stack hands data over inside, whatever the interfaces; stacks of their own do so at
    one interface, and use the wire between two."""
    work = wire.Transfer(roles=roles("a.x", target), direction="put", size_bytes=SIZE)
    record = held(record_of(user, a_run(placements(stack), work, counts(2))))
    table, ports = record.samples.connection, record.ports["a"]
    at = "two" if target == "a.z" else "one"

    assert table is not None
    assert table.bytes_sent == (2 * SIZE,)
    sent = record.growth(ports["one"])["interface_bytes_sent"]
    received = record.growth(ports[at])["interface_bytes_received"]
    if crosses:
        assert 2 * SIZE < min(sent, received) <= max(sent, received) < 2.4 * SIZE
    else:
        assert max(sent, received) == 0
    assert ("a.x" in record.counters) == (stack == "own")
    assert all(one.holds for one in record.reconciliation)


def test_what_zones_of_a_host_say_to_each_other_touches_no_link(user: User) -> None:
    """Connections are sampled at the zones that have them."""
    ends = roles(["server.a", "client"], ["server.b", "server.b"])
    work = wire.Transfer(roles=ends, size_bytes=SIZE)
    run = a_run(
        zones(rate_bps=20 * MEGABIT),
        work,
        counts(2),
        instruments=[
            wire.Instrument(kind="tcp", node=node, every_ns=100_000_000)
            for node in ("server", "server.a", "server.b")
        ],
    )
    record = held(record_of(user, run))
    table = record.samples.connection

    assert table is not None
    assert table.bytes_received == (2 * SIZE, 2 * SIZE)
    assert record.nodes["server.a"].kind == "zone"
    sent = record.growth(record.ports["server"]["eth0"])["interface_bytes_sent"]
    assert 2 * SIZE < sent < 2.4 * SIZE
    inside, outside = table.busy_ns
    assert inside < outside
    sampled = {(one.node, one.connection) for one in record.series if one.connection is not None}
    assert sampled == {("server.a", 0), ("server.b", 0), ("server.b", 1)}


def test_requests_wait_for_their_answers_over_the_delay(user: User) -> None:
    work = wire.Request(
        roles=roles("client", "server"),
        request_bytes=100,
        response_bytes=1000,
        connections=2,
        outstanding=3,
    )
    graph = direct(delay_ns=500_000)
    record = held(record_of(user, a_run(graph, work, counts(50, 5))))
    (latencies,) = record.samples.request
    table = record.samples.connection

    assert table is not None
    assert (latencies.operation, latencies.phase) == ("request", "measure")
    assert latencies.count == sum(latencies.requests) == 100
    assert latencies.min_ns >= 1_000_000
    assert (table.bytes_received, table.bytes_sent) == ((50_000,) * 2, (5_000,) * 2)


def test_a_stream_lasts_for_its_time_with_a_probe_beside_it_and_before_it(user: User) -> None:
    """Samplers of hosts, connections and ports cover the phase."""
    seconds = 1.0
    phases = (wire.Phase(kind="idle", until=wire.UntilTime(ns=500_000_000)), *times(seconds))
    cooled = wire.Phase(kind="cool-down", until=wire.UntilTime(ns=200_000_000))
    run = a_run(
        dumbbell(middle_bps=20 * MEGABIT),
        wire.Transfer(roles=roles("client-1", "server-1")),
        (*phases, cooled),
        probe=wire.Probe(every_ns=10_000_000),
        instruments=(
            wire.Instrument(kind="ports", node="left", every_ns=100_000_000),
            wire.Instrument(kind="host", node="client-1", every_ns=200_000_000),
            wire.Instrument(kind="tcp", node="server-1", every_ns=100_000_000),
        ),
    )
    record = held(record_of(user, run))
    table, rows = record.samples.connection, record.samples.transfer

    assert table is not None
    assert rows is not None
    assert [phase.kind for phase in record.phases] == ["idle", "warm-up", "measure", "cool-down"]
    assert [edge.name for edge in record.edges] == [
        *("warm-up-start", "measure-start", "measure-end", "cool-down-end")
    ]
    (took_ns,) = (end - start for start, end in zip(rows.start_ns, rows.end_ns, strict=True))
    assert took_ns == pytest.approx(1e9 * seconds, rel=0.2)
    assert 0.3 * 20 * MEGABIT < 8e9 * table.bytes_received[0] / took_ns < 20 * MEGABIT
    latencies = {one.phase: one for one in record.samples.request}
    assert {one.operation for one in latencies.values()} == {"probe"}
    assert set(latencies) >= {"idle", "measure"}
    idle, loaded = (one.sum_ns / one.count for one in (latencies["idle"], latencies["measure"]))
    assert idle < loaded, "requests wait in the queue that the stream makes"
    assert {(one.node, one.port, one.connection) for one in record.series} == {
        ("machine", None, None),
        ("client-1", None, None),
        ("client-1", "eth0", None),
        ("server-1", None, 0),
        *(("left", port, None) for port in ("client-1", "client-2", "right")),
    }
    measure = record.measure
    assert measure is not None
    for one in record.series:
        assert one.at_ns[0] <= measure.start_ns
        assert one.at_ns[-1] >= measure.start_ns
        assert all(len(column) == len(one.at_ns) for column in one.values.values())


@pytest.mark.parametrize("direction", ["put", "both"])
def test_each_second_has_a_row_as_in_the_simulator(user: User, direction: str) -> None:
    """Of two clients, which do not begin at quite the same time."""
    ends = roles(["client-1", "client-2"], ["server-1", "server-2"])
    work = wire.Transfer.model_validate({"roles": ends, "direction": direction})
    run = a_run(dumbbell(middle_bps=20 * MEGABIT), work, times(2.5, 0.5))
    records = [held(record_of(user, run)), simulated(run)]
    real, ideal = (one.samples.second for one in records)

    assert real is not None
    assert ideal is not None
    for record, seconds in zip(records, (real, ideal), strict=True):
        phase = record.measure
        assert phase is not None
        assert seconds.connection == (0, 1) * 3, "the end of the phase cuts the third one off"
        assert seconds.start_ns == tuple(n * 10**9 for n in range(3) for _ in (0, 1))
        carried = record.samples.connection
        assert carried is not None
        for column in ("bytes_received", "bytes_sent"):
            assert sum(getattr(seconds, column)) == sum(getattr(carried, column))
    for column in ("bytes_received", "bytes_sent"):
        values, expected = getattr(real, column), getattr(ideal, column)
        for second in (slice(0, 2), slice(2, 4)):
            assert sum(values[second]) <= 1.05 * 20 * MEGABIT / 8
            assert sum(values[second]) == pytest.approx(sum(expected[second]), rel=0.5)


def test_every_node_has_counters_at_every_edge_whether_it_has_a_part_or_not(user: User) -> None:
    """A host and an interface of another one have no part; that host is sampled."""
    graph = two_interfaces(rate_bps=20 * MEGABIT)
    idle = wire.Instrument(kind="host", node="client-2", every_ns=10_000_000)
    work = wire.Transfer(roles=roles("client-1", "server@eth0"), size_bytes=SIZE)
    record = held(record_of(user, a_run(graph, work, counts(2), instruments=(idle,))))

    assert set(record.ports) == {node.name for node in graph.nodes}
    assert {host: set(ports) for host, ports in record.ports.items() if host != "switch"} == {
        "client-1": {"eth0"},
        "client-2": {"eth0"},
        "server": {"eth0", "eth1"},
    }
    for port in (port for ports in record.ports.values() for port in ports.values()):
        assert port
        assert all(None not in values and len(values) == 2 for values in port.values())
    for host in ("client-1", "client-2", "server"):
        assert len(record.counters[host]["tcp_segments_out"]) == 2
        assert record.nodes[host].read_at_ns is not None
    start, end = record.edges
    (measure,) = (phase for phase in record.phases if phase.kind == "measure")
    assert start.at_ns <= measure.start_ns
    assert end.quiet_ns is not None
    assert measure.end_ns <= end.quiet_ns < end.at_ns
    assert record.growth(record.counters["client-2"])["tcp_segments_out"] == 0
    assert record.growth(record.ports["server"]["eth1"])["interface_packets_sent"] == 0
    sampled = {(one.node, one.port) for one in record.series}
    assert {("client-2", None), ("client-2", "eth0")} <= sampled


def test_a_link_that_is_full_for_a_short_time_is_full(user: User) -> None:
    """Counters are read a tenth of a second after the phase, a third of its length."""
    work = wire.Transfer(roles=roles("client", "server"))
    run = a_run(direct(rate_bps=20 * MEGABIT), work, times(0.3))
    sample = RunSample(run, held(record_of(user, run)))
    full = node_metric(split_metric("link.utilisation_pct")).reading.estimate([sample])
    assert full is not None
    assert full.value > 93


def test_every_host_tells_the_processor_time_of_its_processes(user: User) -> None:
    sampler = wire.Instrument(kind="host", node="client", every_ns=20_000_000)
    work = wire.Transfer(roles=roles("client", "server"), size_bytes=SIZE)
    graph = direct(rate_bps=100 * MEGABIT)
    record = held(record_of(user, a_run(graph, work, counts(2), instruments=(sampler,))))

    for host in ("client", "server"):
        node, spent = record.nodes[host], record.counters[host]["host_cpu_ns"]
        assert node.read_at_ns is not None
        assert node.cpus is not None
        took = node.read_at_ns[1] - node.read_at_ns[0]
        grown = record.growth(record.counters[host])["host_cpu_ns"]
        # A megabyte cannot be moved in less than some copies of it; a snapshot's reading counts.
        assert 20_000 < grown <= took * node.cpus
        assert any(value is not None and value % 1_000_000 for value in spent), "not in ticks"
        assert "process_cpu_ns" not in record.counters[host]
    (own,) = [one for one in record.series if (one.node, one.port) == ("client", None)]
    values = [value for value in own.values["host_cpu_ns"] if value is not None]
    assert values == sorted(values)
    assert values[-1] > values[0]


@pytest.mark.parametrize("user", ["ordinary user"], indirect=True)
def test_a_run_tells_how_far_it_is(user: User) -> None:
    run = a_run(direct(), wire.Request(roles=roles("client", "server")), times(2.2, 0.1))
    told = [one for one in records_of(user, run) if one["kind"] == "progress" and one["under_way"]]

    done = [one["under_way"]["done"] for one in told]
    assert done
    assert done == sorted(done)
    assert {one["under_way"]["of"] for one in told} == {2_300}


@pytest.mark.slow
@needs_programs("iperf3")
@pytest.mark.parametrize("user", ["root"], indirect=True)
@pytest.mark.parametrize("delay_ns", [0, 1_000_000], ids=["the kernel's", "through the program"])
def test_iperf3_reaches_over_the_same_link_what_a_transfer_does(user: User, delay_ns: int) -> None:
    graph = direct(rate_bps=50 * MEGABIT, delay_ns=delay_ns)
    work = wire.Transfer(roles=roles("client", "server"))
    ours = goodput_of_stream(held(record_of(user, a_run(graph, work, times(2.0, 0.5)))))
    theirs = user.outcome(f"iperf3_{delay_ns}", cases="tests.testbed.inside_reference")

    ideal_bps = 50 * MEGABIT * 1448 / 1538
    assert 0.7 * ideal_bps < ours <= 1.01 * ideal_bps
    assert 0.7 * ideal_bps < theirs <= 1.01 * ideal_bps


def goodput_of_stream(record: wire.RunRecord) -> float:
    """By the time of the phase: what was under way at its end is left out."""
    table = record.samples.connection
    assert table is not None
    return 8e9 * table.bytes_received[0] / table.busy_ns[0]


@needs_programs("netperf")
@pytest.mark.parametrize("user", ["root"], indirect=True)
def test_netperf_waits_over_the_same_link_as_long_as_requests_do(user: User) -> None:
    work = wire.Request(roles=roles("client", "server"), request_bytes=1, response_bytes=1)
    record = held(record_of(user, a_run(direct(delay_ns=2_000_000), work, times(1.0))))
    (latencies,) = record.samples.request
    theirs_ns = user.outcome("netperf", cases="tests.testbed.inside_reference")

    # The way there and back is 4 ms; hosts and a busy machine may take as long again.
    for mean_ns in (latencies.sum_ns / latencies.count, theirs_ns):
        assert 4_000_000 <= mean_ns < 8_000_000


def test_ends_of_a_client_and_a_server_may_be_one_host(user: User) -> None:
    ends = roles(["client", "server"], ["server", "client"])
    work = wire.Transfer(roles=ends, size_bytes=SIZE // 4)
    record = held(record_of(user, a_run(direct(rate_bps=20 * MEGABIT), work, counts(1))))
    table = record.samples.connection

    assert table is not None
    assert table.bytes_received == (SIZE // 4,) * 2
