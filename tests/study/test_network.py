"""Topologies on the wire: names of nodes and ports, wire-speed switches, rates each way, zones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.plan import make_plan, unsupported
from netstudy.study import Study

Small = Callable[..., Study]

TEXT = """\
study: graph
question: Which way?
factors: {{size: [1 MB]}}
topology:
{topology}
workload:
  transfer: {{{workload}, size: "${{size}}"}}
"""
HOST = "{profile: host-1g}"
DUMBBELL = """\
  hosts:
    left: {profile: host-1g, count: 2}
    right: {profile: host-1g, count: 2}
  switches: {west: generic-shallow, east: generic-deep}
  links:
    - {between: [left, west], rate: 1 Gbit/s}
    - {between: [west, east], rate: 100 Mbit/s, delay: 1 ms}
    - {between: [east, right], rate: 1 Gbit/s}
"""


def with_topology(topology: str, workload: str = "clients: client, servers: server") -> str:
    return TEXT.format(topology=topology.rstrip("\n"), workload=workload)


def two_hosts(links: str, *, client: str = HOST, server: str = HOST, more: str = "") -> str:
    """A client, a server, and what joins them."""
    return with_topology(f"  client: {client}\n  server: {server}\n{more}  links:\n{links}")


def run_of(study: Study) -> wire.Run:
    return make_plan(study).plan.runs[0]


def joined(run: wire.Run) -> list[str]:
    """Each link as `node port - node port`."""
    return [
        " - ".join(f"{port.node} {port.name}" for port in link.ports) for link in run.network.links
    ]


def names(run: wire.Run) -> list[str]:
    return [node.name for node in run.network.nodes]


def test_a_direct_link_joins_two_interfaces(small: Small) -> None:
    run = run_of(small(text=two_hosts("    - {between: [client, server], rate: 1 Gbit/s}\n")))
    assert names(run) == ["client", "server"]
    assert joined(run) == ["client eth0 - server eth0"]
    assert run.workload.roles == wire.Roles(client=("client",), server=("server",))


def test_a_dumbbell_has_two_switches_with_a_trunk(small: Small) -> None:
    run = run_of(small(text=with_topology(DUMBBELL, "clients: left, servers: right")))
    assert names(run) == ["left-1", "left-2", "right-1", "right-2", "west", "east"]
    assert joined(run) == [
        "left-1 eth0 - west left-1",
        "left-2 eth0 - west left-2",
        "west east - east west",
        "right-1 eth0 - east right-1",
        "right-2 eth0 - east right-2",
    ]
    assert list(run.workload.roles.pairs) == [("left-1", "right-1"), ("left-2", "right-2")]
    assert [switch.profile for switch in run.network.switches] == [
        "generic-shallow",
        "generic-deep",
    ]


def test_several_hosts_share_the_one_interface_of_another_behind_a_wire_speed_switch(
    small: Small,
) -> None:
    link = "    - {between: [client, server], rate: 100 Mbit/s, delay: 1 ms}\n"
    run = run_of(small(text=two_hosts(link, client="{profile: host-1g, count: 2}")))
    assert names(run) == ["client-1", "client-2", "server", "wire-server"]
    assert joined(run) == [
        "client-1 eth0 - wire-server client-1",
        "client-2 eth0 - wire-server client-2",
        "server eth0 - wire-server server",
    ]
    assert [link.delay_ns for link in run.network.links] == [1_000_000, 1_000_000, 0], (
        "the delay of the link is there once on each way"
    )
    (switch,) = run.network.switches
    assert (switch.profile, switch.ports, switch.latency_ns) == ("wire-speed", 3, 0)


def test_a_wire_speed_switch_takes_a_name_that_no_other_has(small: Small) -> None:
    topology = """\
  hosts:
    load: {profile: host-1g, count: 2}
    app: {profile: host-1g}
    db: {profile: host-1g, count: 2, unused: true}
  switches: {wire-app: generic-shallow}
  links:
    - {between: [load, app]}
    - {between: [app, db], unused: true}
    - {between: [app, wire-app], unused: true}
"""
    run = run_of(small(text=with_topology(topology, "clients: load, servers: app")))
    switches = [(switch.name, switch.profile) for switch in run.network.switches]
    assert switches == [
        ("wire-app", "generic-shallow"),
        ("wire-app-2", "wire-speed"),
        ("wire-app-3", "wire-speed"),
    ]


def test_a_link_may_have_a_rate_each_way(small: Small) -> None:
    rate = "rate: {up: 10 Mbit/s, down: 100 Mbit/s}"
    direct = run_of(small(text=two_hosts(f"    - {{between: [client, server], {rate}}}\n")))
    (link,) = direct.network.links
    assert (link.a.rate_bps, link.b.rate_bps) == (10_000_000, 100_000_000)

    several = two_hosts(
        f"    - {{between: [client, server], {rate}}}\n", client="{profile: host-1g, count: 2}"
    )
    for link in run_of(small(text=several)).network.links:
        upwards = link.a if link.a.node.startswith("client") else link.b
        assert upwards.rate_bps == 10_000_000, "from the clients to the server"

    star = "  switch: generic-shallow\n"
    reverse = two_hosts(
        f"    - {{between: [switch, client], {rate}}}\n    - {{between: [server, switch]}}\n",
        more=star,
    )
    to_client, _ = run_of(small(text=reverse)).network.links
    assert (to_client.a.node, to_client.a.rate_bps) == ("client", 100_000_000)
    assert (to_client.b.node, to_client.b.rate_bps) == ("switch", 10_000_000)


def test_the_short_form_may_have_a_rate_each_way_too(small: Small) -> None:
    study = small(("rate: 10 Gbit/s", "rate: {up: 1 Gbit/s, down: 10 Gbit/s}"))
    for link in run_of(study).network.links:
        assert (link.a.rate_bps, link.b.rate_bps) == (10**9, 10**10)


def test_the_interface_of_a_link_is_that_of_its_hosts_and_not_of_the_switch(small: Small) -> None:
    run = run_of(small(("link: {", "link: {nic: {receive_ring: 64}, ")))
    for link in run.network.links:
        assert link.a.nic is not None
        assert link.a.nic.receive_ring_frames == 64
        assert link.a.nic.send_latency_ns == 10_000, "the rest is the host's own"
        assert link.b.nic is None
    assert run.network.group("client").nic.receive_ring_frames is None


TWO_NETWORKS = """\
  hosts:
    load: {profile: host-1g, count: 2, unused: true}
    app: {profile: host-10g, interfaces: [front, back]}
    db: {profile: host-10g, unused: true}
  links:
    - {between: [load, app], rate: 1 Gbit/s, unused: true}
    - {between: [app, db], unused: true}
"""


def test_a_host_takes_its_interfaces_in_the_order_of_its_links(small: Small) -> None:
    run = run_of(small(text=with_topology(TWO_NETWORKS, "clients: load, servers: app")))
    assert joined(run) == [
        "load-1 eth0 - wire-app load-1",
        "load-2 eth0 - wire-app load-2",
        "app front - wire-app app@front",
        "app back - db eth0",
    ]
    assert run.workload.roles == wire.Roles(client=("load-1", "load-2"), server=("app@front",))


def test_a_role_takes_the_interface_by_which_it_is_reached(small: Small) -> None:
    run = run_of(small(text=with_topology(TWO_NETWORKS, "clients: app, servers: db")))
    assert run.workload.roles == wire.Roles(client=("app@back",), server=("db",))


def test_a_host_may_have_two_interfaces_at_one_switch(small: Small) -> None:
    """A cycle through a host is none: hosts forward nothing."""
    run = run_of(
        small(
            text=two_hosts(
                "    - {between: [client, switch]}\n"
                "    - {between: [client, switch], unused: true}\n"
                "    - {between: [server, switch]}\n",
                more="  switch: generic-shallow\n",
            )
        )
    )
    assert joined(run) == [
        "client eth0 - switch client@eth0",
        "client eth1 - switch client@eth1",
        "server eth0 - switch server",
    ]
    assert run.workload.roles.client == ("client@eth0",)


ZONES = """\
  hosts:
    a:
      profile: host-1g
      interfaces: [ce2, ce3]
      zones: {zone1: {interface: ce2}, zone2: {interface: ce2}, zone3: {interface: ce3}}
    b: {profile: host-1g, interfaces: [ce4], zones: {zone1: {}}, unused: true}
  switch: generic-shallow
  placement:
    inside: {sender: a.zone1@ce2, receiver: a.zone2@ce2}
    across: {sender: a.zone3, receiver: b.zone1@ce4}
  links:
    - {between: [a@ce3, switch], rate: 1 Gbit/s, unused: true}
    - {between: [a@ce2, switch], rate: 1 Gbit/s, unused: true}
    - {between: [b, switch], rate: 1 Gbit/s}
"""
CE3_LINK = "    - {between: [a@ce3, switch], rate: 1 Gbit/s, unused: true}\n"
FREE_ZONE = ZONES.replace("zone3: {interface: ce3}", "zone3: {}").replace("a.zone3", "a.zone3@ce3")


def test_zones_are_endpoints_on_an_interface_of_their_host(small: Small) -> None:
    run = run_of(small(text=with_topology(ZONES, "placement: across, direction: put")))
    assert [(zone.name, zone.host, zone.interface) for zone in run.network.zones] == [
        ("a.zone1", "a", "ce2"),
        ("a.zone2", "a", "ce2"),
        ("a.zone3", "a", "ce3"),
        ("b.zone1", "b", "ce4"),
    ]
    assert run.workload.roles == wire.Roles(client=("a.zone3",), server=("b.zone1",))


def test_connections_of_a_host_are_sampled_in_its_zones_too(small: Small) -> None:
    text = with_topology(ZONES, "placement: across") + "\ninstruments: [{tcp: a}, {sar: a}]\n"
    run = run_of(small(text=text))
    assert [(one.kind, one.node) for one in run.instruments] == [
        *(("tcp", node) for node in ("a", "a.zone1", "a.zone2", "a.zone3")),
        ("host", "a"),
    ]


def test_who_receives_asks_for_a_get(small: Small) -> None:
    run = run_of(small(text=with_topology(ZONES, "placement: across, direction: get")))
    assert run.workload.roles == wire.Roles(client=("b.zone1",), server=("a.zone3",))


def test_zones_of_one_host_reach_each_other(small: Small) -> None:
    run = run_of(small(text=with_topology(ZONES, "placement: inside, direction: put")))
    assert run.workload.roles == wire.Roles(client=("a.zone1",), server=("a.zone2",))


def test_a_network_may_have_thousands_of_hosts(small: Small) -> None:
    study = small(
        ("servers: 1..3", "servers: [2000]"),
        ('switch: "${switch}"', 'switch: {profile: "${switch}", ports: 2001}'),
    )
    run = run_of(study)
    assert len(run.network.nodes) == 2002


def test_a_host_that_takes_no_part_is_there_and_needs_no_profile(small: Small) -> None:
    study = small(
        (
            "client: {profile: host-10g}",
            "client: {profile: host-10g}\n  hosts: {idle: {unused: true}}",
        )
    )
    assert unsupported(study, "sim") == []
    run = run_of(study)
    assert "idle" in names(run)
    assert run.network.group("idle").profile == "none"
    assert "idle" not in (*run.workload.roles.client, *run.workload.roles.server)


BOTH_SIDES = "clients: left, servers: right"
TO_SWITCH = "    - {{between: [{}, switch]}}\n"
ONE_SWITCH = "  switch: generic-shallow\n"
BOTH = TO_SWITCH.format("client") + TO_SWITCH.format("server")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (two_hosts("    - {between: [client, switch]}\n", more=ONE_SWITCH),
         "6:11: topology.server: has no link"),
        (two_hosts("    - {between: [client, west]}\n    - {between: [server, east]}\n",
                   more="  switches: {west: generic-shallow, east: generic-shallow}\n"),
         "12:40: workload.transfer.servers: server cannot be reached from client: no link or "
         "switch joins them"),
        (with_topology(DUMBBELL + "    - {between: [east, west]}\n", BOTH_SIDES),
         "13:17: topology.links.3.between: closes a loop of switches: east, west; take one of its "
         "links away"),
        (with_topology(DUMBBELL.replace("east: generic-deep}", "east: generic-deep, "
                                        "north: generic-deep}")
                       + "    - {between: [east, north]}\n    - {between: [north, west]}\n",
                       "clients: left, servers: right"),
         "14:17: topology.links.4.between: closes a loop of switches: north, east, west; take one "
         "of its links away"),
        (with_topology(DUMBBELL.replace("west: generic-shallow",
                                        "west: {profile: generic-shallow, ports: 2}"),
                       "clients: left, servers: right"),
         "6:37: topology.hosts.left.count: 3 links (2 left and 1 east) need as many ports, and "
         "generic-shallow has 2"),
        (with_topology(DUMBBELL.replace("left, west", "left, right"), BOTH_SIDES),
         "10:17: topology.links.0.between: joins 2 left and 2 right; put a switch between them, "
         "and link each group to it"),
        (two_hosts("    - {between: [client, server], rate: {up: 2 Gbit/s, down: 1 Gbit/s}}\n"),
         "8:46: topology.links.0.rate.up: 2 Gbit/s is above the 1 Gbit/s of host-1g"),
        (two_hosts("    - {between: [client, switch]}\n    - {between: [client, switch]}\n"
                   "    - {between: [server, switch]}\n", more=ONE_SWITCH,
                   client="{profile: host-1g, interfaces: [a]}"),
         "10:18: topology.links.1.between.0: client has no interface left for this link; it has a"),
        (two_hosts("    - {between: [client@a, switch]}\n    - {between: [client@a, switch]}\n"
                   "    - {between: [server, switch]}\n", more=ONE_SWITCH,
                   client="{profile: host-1g, interfaces: [a, b]}"),
         "10:18: topology.links.1.between.0: interface a of client has a link already"),
        (with_topology(ZONES.replace(CE3_LINK, ""),
                       "placement: inside"),
         "9:72: topology.hosts.a.zones.zone3: its interface ce3 has no link"),
        (with_topology(DUMBBELL.replace("delay: 1 ms", "delay: 1 ms, mtu: 1400"),
                       "clients: left, servers: right"),
         "14:38: workload.transfer.servers: packets of 1500 bytes between left-1 and right-1 do "
         "not fit through the link of west and east, whose MTU is 1400"),
        (two_hosts(BOTH, more=ONE_SWITCH, client="{profile: host-1g, count: 2}").replace(
            "  server:", "  hosts: {client-1: {profile: host-1g}}\n  server:").replace(
            TO_SWITCH.format("server"), TO_SWITCH.format("server") + TO_SWITCH.format("client-1")),
         "6:21: topology.hosts.client-1: a host would have the name client-1, which another node "
         "has already"),
        # Two links do not make a bond: the second one would carry nothing.
        (two_hosts("    - {between: [client, switch]}\n    - {between: [client, switch]}\n"
                   "    - {between: [server, switch]}\n", more=ONE_SWITCH),
         "10:7: topology.links.1: no traffic uses interface eth1 of client, which this link joins "
         "to switch like another link (bonds are not supported): place an end of the workload "
         "there, leave the link out, or set unused: true"),
        (with_topology(TWO_NETWORKS.replace("app, db], unused: true", "app, db]"),
                       "clients: load, servers: app"),
         "11:7: topology.links.1: no traffic uses interface back of app, which this link joins: "
         "place an end of the workload there, leave the link out, or set unused: true"),
        (with_topology(TWO_NETWORKS.replace("10g, unused: true", "10g")
                       .replace("app, db], unused: true", "app, db]"),
                       "clients: app, servers: load"),
         "8:5: topology.hosts.db: no traffic uses this host: give it a part in the workload, "
         "leave it out, or set unused: true"),
    ],
)  # fmt: skip
def test_a_graph_that_does_not_hold_together_is_refused_with_its_place(
    text: str, said: str, small: Small, tmp_path: Path
) -> None:
    study = small(text=text)
    with pytest.raises(StudyError) as caught:
        make_plan(study)
    assert str(caught.value) == f"{tmp_path}/study.yaml:{said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (two_hosts("    - {between: [client, server], reorder: true}\n"),
         "8:44: topology.links.0.reorder: frames overtake others only if delays are random: give "
         "jitter"),
        (two_hosts("    - {between: [client, server], loss: 101 %}\n"),
         "8:41: topology.links.0.loss: must be at most 99.9999 %, not 101 %"),
        (two_hosts("    - {between: [client, server], delay: {up: 20 ms}}\n"),
         "8:35: topology.links.0.delay.down: the key is missing"),
        (two_hosts("    - {between: [client, server], loss: {gilbert-elliott: {to_bad: 1 %}}}\n"),
         "8:42: topology.links.0.loss.gilbert-elliott.to_good: the key is missing"),
        (two_hosts(BOTH, more=ONE_SWITCH + "  switches: {east: generic-deep}\n"),
         "7:11: topology.switch: is short for a single switch; keep either switch or switches"),
        (two_hosts(BOTH, more="  switches: {client: generic-deep}\n"),
         "5:3: topology.client: is also the name of a switch"),
        (two_hosts("    - {between: [client@eth7, server]}\n"),
         "8:18: topology.links.0.between.0: host client names no interfaces; write interfaces: "
         "[eth7]"),
        (two_hosts("    - {between: [client, switch@a]}\n", more=ONE_SWITCH),
         "9:26: topology.links.0.between.1: a switch has no named interfaces; write switch"),
        (two_hosts("    - {between: [client, client]}\n"),
         "8:17: topology.links.0.between: joins a host to itself"),
        (two_hosts("    - {between: [client, ser ver]}\n"),
         '8:26: topology.links.0.between.1: "ser ver" is not a place; write host or '
         "host@interface"),
        (with_topology(DUMBBELL.replace("delay: 1 ms", "nic: osa-express2"),
                       "clients: left, servers: right"),
         "11:54: topology.links.1.nic: belongs to a host, but this link joins two switches"),
        (with_topology(DUMBBELL.replace("delay: 1 ms", "buffers: 8"),
                       "clients: left, servers: right"),
         "11:58: topology.links.1.buffers: belongs to a host, but this link joins two switches"),
        (with_topology(ZONES.replace("b.zone1@ce4", "a.zone3"), "placement: across"),
         "14:41: topology.placement.across.receiver: is also the sender; the two must be "
         "different places"),
        (with_topology(FREE_ZONE.replace("b.zone1@ce4", "a.zone3@ce2"), "placement: across"),
         "14:45: topology.placement.across.receiver: is the same zone as the sender; a zone has "
         "only one interface"),
        (with_topology(FREE_ZONE, "clients: a.zone3@ce3, servers: a.zone3@ce2"),
         "20:45: workload.transfer.servers: is the same zone as the client; a zone has only one "
         "interface"),
        (with_topology(ZONES.replace("b.zone1@ce4", "a.zone1@ce3"), "placement: across"),
         "14:41: topology.placement.across.receiver: the zone zone1 of a is at interface ce2"),
        (two_hosts("    - {between: [client, server], rate: {up: 1 Gbit/s}}\n"),
         "8:35: topology.links.0.rate.down: the key is missing"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_topology_is_found_when_the_file_is_read(
    text: str, said: str, refusal: Callable[..., list[str]]
) -> None:
    assert f"study.yaml:{said}" in refusal(text=text)
