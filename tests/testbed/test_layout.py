"""From the network of a plan to namespaces, interfaces, addresses and commands."""

from __future__ import annotations

from typing import Any

import pytest

from netstudy import buffers, wire
from netstudy.errors import StudyError
from netstudy.plan.paths import Routes
from netstudy.testbed.netns import kernel_path
from netstudy.testbed.netns.layout import (
    SWITCHES,
    forwarding_commands,
    host_commands,
    make_links,
    sysctls,
)
from tests.testbed.networks import (
    LINUX_6,
    direct,
    dumbbell,
    layout,
    placements,
    star,
    two_interfaces,
    zones,
)


def with_switch(network: wire.Network, changed: dict[str, Any]) -> wire.Network:
    """The network with other properties of its switches."""
    nodes = tuple(
        node.model_copy(update=changed) if node.kind == "switch" else node for node in network.nodes
    )
    return network.model_copy(update={"nodes": nodes})


def test_every_host_has_a_namespace_and_the_switch_has_one() -> None:
    assert layout(star(3)).namespaces == ("@switch", "client", "server-1", "server-2", "server-3")


def test_a_single_server_bears_its_groups_name() -> None:
    assert layout(star(1)).namespaces == ("@switch", "client", "server")


def test_addresses_and_ports_count_from_the_client_on() -> None:
    client, *_, last = layout(star(300)).addresses

    assert (client.ip, client.interface.mac) == ("10.77.0.1", "02:00:00:00:00:01")
    assert client.interface.peer == ("@switch", "p0")
    assert (last.ip, last.interface.mac) == ("10.77.1.45", "02:00:00:00:01:2d")
    assert last.interface.peer == ("@switch", "p300")


def test_no_two_hosts_share_an_address() -> None:
    found = layout(star(600)).addresses

    assert len({one.ip for one in found}) == len({one.interface.mac for one in found}) == 601


def test_more_hosts_than_addresses_are_refused() -> None:
    with pytest.raises(StudyError, match=r"65,535 addresses do not fit into 10\.77\.0\.0/16"):
        layout(star(65_534))


def test_a_link_is_made_with_both_ends_in_place() -> None:
    assert make_links(layout(star(1), switching="user-space"))[0] == (
        "link add name eth0 netns client address 02:00:00:00:00:01 "
        "mtu 9000 numtxqueues 1 numrxqueues 1 "
        "type veth peer name p0 netns @switch mtu 9000 numtxqueues 1 numrxqueues 1"
    )


def test_a_host_knows_the_others_and_nothing_else() -> None:
    plan = layout(star(2))
    neighbours = [line for line in host_commands(plan.hosts[1], plan) if "neighbour" in line]

    assert neighbours == [
        "neighbour add 10.77.0.1 lladdr 02:00:00:00:00:01 dev eth0 nud permanent",
        "neighbour add 10.77.0.3 lladdr 02:00:00:00:00:03 dev eth0 nud permanent",
    ]


def test_the_route_carries_what_tcp_takes_from_it() -> None:
    plan = layout(star(1, LINUX_6.model_copy(update={"min_rto_ns": 5_000_000})))

    assert (
        "route add 10.77.0.0/16 dev eth0 scope link src 10.77.0.1 rto_min 5ms initcwnd 10"
        in host_commands(plan.hosts[0], plan)
    )


@pytest.mark.parametrize(
    ("burst_bytes", "switching", "said"),
    [
        (65_536, "user-space", "gso_max_size 65536"),
        (0, "user-space", "gso_max_segs 1"),
        (65_536, "kernel", "gso_max_segs 1"),
    ],
)
def test_bursts_are_the_tcps_own_where_frames_are_cut_behind_no_queue(
    burst_bytes: int, switching: str, said: str
) -> None:
    tcp = LINUX_6.model_copy(update={"offload_burst_bytes": burst_bytes})
    plan = layout(star(1, tcp), switching="kernel" if switching == "kernel" else "user-space")

    assert f" {said} up" in next(
        line for line in host_commands(plan.hosts[0], plan) if line.startswith("link set dev eth0 ")
    )


def test_agents_of_a_group_set_its_code_point() -> None:
    graph = star(1)
    groups = [
        one.model_copy(update={"dscp": 46 if one.name == "server" else None})
        for one in graph.groups
    ]
    plan = layout(graph.model_copy(update={"groups": tuple(groups)}))
    assert {node: plan.dscp(node) for node in ("client", "server")} == {"client": 0, "server": 46}


def test_the_switch_has_no_tcp_to_set() -> None:
    found = sysctls(layout(star(1)))

    assert found[SWITCHES] == {}
    assert found["server"]["ipv4/tcp_sack"] == "1"


def test_only_the_kernels_switch_is_told_who_is_where() -> None:
    assert forwarding_commands(layout(star(1), switching="user-space")) == []
    assert "fdb add 02:00:00:00:00:02 dev p1 master static" in forwarding_commands(layout(star(1)))


def test_a_port_has_the_links_rate_and_the_switchs_buffer() -> None:
    # 131072 B hold frames of 9018 B; the kernel counts them as 9014: 131072 * 9014 / 9018 = 131013
    assert kernel_path.port_queues(layout(star(1)))[:3] == [
        "qdisc add dev p0 root handle 1: htb default 1",
        "class add dev p0 parent 1: classid 1:1 htb rate 500000000bit "
        "burst 18076b cburst 18076b quantum 9000 overhead 24",
        "qdisc add dev p0 parent 1:1 handle 10: bfifo limit 131013",
    ]


@pytest.mark.parametrize(
    ("rate_bps", "mtu_bytes", "burst_bytes"),
    [
        (100_000_000, 1500, 3076),  # two frames of 1538 B
        (1_000_000_000, 1500, 12_500),  # 100 µs at 1 Gbit/s: eight frames
        (2_500_000_000, 9000, 31_250),
    ],
)
def test_a_bucket_holds_what_a_late_timer_costs(
    rate_bps: int, mtu_bytes: int, burst_bytes: int
) -> None:
    link = star(1, rate_bps=rate_bps, mtu_bytes=mtu_bytes).links[0]

    assert kernel_path.burst_bytes(link.a, link) == burst_bytes


def test_the_kernels_path_refuses_what_its_queues_cannot_do() -> None:
    network = star(1)
    shared = buffers.SharedMemory(pool_bytes=1_000_000)
    changed = {"buffer": shared, "forwarding": "cut-through", "ecn_threshold_bytes": 90_000}
    said = " ".join(kernel_path.unsupported(with_switch(network, changed)))

    assert kernel_path.unsupported(network) == []
    assert kernel_path.departures(network) == []
    for word in ("shared-memory", "cut through", "mark"):
        assert word in said


@pytest.mark.parametrize(("delay_ns", "is_refused"), [(1_000, False), (1_000_000, True)])
def test_a_delay_that_could_be_seen_is_refused_and_a_shorter_one_noted(
    delay_ns: int, is_refused: bool
) -> None:
    network = star(1)
    links = tuple(link.model_copy(update={"delay_ns": delay_ns}) for link in network.links)
    delayed = network.model_copy(update={"links": links})

    assert len(kernel_path.unsupported(delayed)) == is_refused
    assert len(kernel_path.departures(delayed)) == (not is_refused)


def test_a_latency_of_the_switch_counts_alike() -> None:
    network = star(1)
    (said,) = kernel_path.departures(with_switch(network, {"latency_ns": 800}))

    assert said.startswith("A latency of the switch of 800 ns is not imposed")


def test_the_kernels_path_carries_a_star_and_nothing_else() -> None:
    for network in (direct(), dumbbell(), two_interfaces(), zones()):
        (said,) = kernel_path.unsupported(network)
        assert "hosts around one switch" in said


def test_a_direct_link_is_the_kernels_where_its_queues_can_make_it() -> None:
    plan = layout(direct(), switching="user-space")

    assert plan.namespaces == ("client", "server"), "nothing is left to a switch"
    assert make_links(plan) == [
        "link add name eth0 netns client address 02:00:00:00:00:01 "
        "mtu 1500 numtxqueues 1 numrxqueues 1 "
        "type veth peer name eth0 netns server address 02:00:00:00:00:02 "
        "mtu 1500 numtxqueues 1 numrxqueues 1"
    ]


@pytest.mark.parametrize(
    ("delay_ns", "rate_bps", "mtu_bytes", "is_direct"),
    [
        (0, 500_000_000, 1500, True),
        (0, 600_000_000, 1500, False),  # a frame of 1538 B takes 20 µs
        (0, 2_500_000_000, 9000, True),
        (0, 10_000_000_000, 9000, False),
        (1_000, 100_000_000, 1500, False),
    ],
)
def test_a_direct_link_goes_through_the_switches_program_where_queues_would_be_inexact(
    delay_ns: int, rate_bps: int, mtu_bytes: int, is_direct: bool
) -> None:
    network = direct(rate_bps=rate_bps, delay_ns=delay_ns, mtu_bytes=mtu_bytes)
    plan = layout(network, switching="user-space")

    assert {one.is_direct for one in plan.interfaces} == {is_direct}
    assert ("@switch" in plan.namespaces) is not is_direct


def test_each_end_of_a_link_sends_at_its_own_rate() -> None:
    plan = layout(direct(rate_bps=(100_000_000, 10_000_000)), switching="user-space")
    client, server = plan.interfaces

    assert "rate 100000000bit" in kernel_path.host_queue(client)[1]
    assert "rate 10000000bit" in kernel_path.host_queue(server)[1]
    assert (client.far.rate_bps, server.far.rate_bps) == (10_000_000, 100_000_000)


def test_what_comes_from_an_address_leaves_by_its_interface() -> None:
    plan = layout(two_interfaces(), switching="user-space")
    commands = host_commands(plan.hosts[2], plan)
    first, second = plan.hosts[2].addresses

    assert (first.ip, second.ip) == ("10.77.0.3", "10.77.0.4")
    assert "rule add from 10.77.0.3 lookup 1003 priority 1003" in commands
    assert "rule add from 10.77.0.4 lookup 1004 priority 1004" in commands
    assert any(
        line.startswith("route add 10.77.0.0/16 dev eth1 scope link src 10.77.0.4 ")
        and line.endswith(" table 1004")
        for line in commands
    )
    assert "neighbour add 10.77.0.1 lladdr 02:00:00:00:00:01 dev eth1 nud permanent" in commands


def test_a_zone_is_an_address_on_the_interface_of_its_host() -> None:
    plan = layout(zones(), switching="user-space")

    assert plan.namespaces == ("@switch", "server", "client")
    assert [one.node for one in plan.hosts[0].addresses] == ["server", "server.a", "server.b"]
    assert "address add 10.77.0.3/16 dev eth0 noprefixroute" in host_commands(plan.hosts[0], plan)
    neighbours = [line for line in host_commands(plan.hosts[1], plan) if "neighbour" in line]
    assert {line.split()[4] for line in neighbours} == {"02:00:00:00:00:01"}
    assert len(neighbours) == 3


def test_a_zone_with_a_stack_of_its_own_has_a_namespace_and_a_virtual_interface() -> None:
    plan = layout(placements("own"), switching="user-space")
    of_host = host_commands(plan.hosts[0], plan)
    zone = plan.hosts[1]

    assert plan.namespaces == ("@switch", "a", "a.x", "a.y", "a.z", "b", "b.x")
    assert [(one.node, one.machine) for one in plan.hosts[:2]] == [("a", "a"), ("a.x", "a")]
    assert "address add 10.77.0.3/16 dev eth0 noprefixroute" in host_commands(zone, plan)
    assert (
        "link add link eth0 name eth0 netns a.x address 02:00:00:01:00:03 mtu 1500 numtxqueues 1 "
        "numrxqueues 1 type macvlan mode bridge" in of_host
    )
    assert any(line.startswith("link add link eth1 name eth0 netns a.z ") for line in of_host)
    neighbours = {
        words[2]: words[4]
        for line in host_commands(zone, plan)
        if (words := line.split())[0] == "neighbour"
    }
    sibling, far = plan.address("a.y"), plan.address("b.x")
    assert neighbours[sibling.ip] == sibling.mac
    assert neighbours[far.ip] == far.mac
    assert zone.address.ip not in neighbours


def test_a_switch_sends_frames_for_zones_to_their_hosts_interface() -> None:
    plan = layout(placements("own"), switching="user-space")
    first, second, _ = plan.interfaces
    zones = [plan.address(name).mac for name in ("a.x", "a.y", "a.z")]

    assert list(plan.macs_behind(first)) == [first.mac, *zones[:2]]
    assert list(plan.macs_behind(second)) == [second.mac, zones[2]]
    shared = layout(placements("shared"), switching="user-space")
    assert list(shared.macs_behind(shared.interfaces[0])) == [shared.interfaces[0].mac]


@pytest.mark.parametrize(
    ("stack", "target", "hops"),
    [
        ("shared", "a.y", 0),
        ("shared", "a.z", 0),
        ("shared", "b.x", 2),
        ("own", "a.y", 0),
        ("own", "a.z", 2),
        ("own", "b.x", 2),
    ],
)
def test_only_stacks_of_their_own_at_two_interfaces_need_the_wire_within_a_host(
    stack: wire.Stack, target: str, hops: int
) -> None:
    assert len(Routes(placements(stack)).route("a.x", target).hops) == hops
