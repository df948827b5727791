"""What namespaces cannot do of a plan, as its user is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from netstudy import queues, wire
from netstudy.testbed.netns.layout import Switching
from netstudy.testbed.netns.unsupported import notes, unsupported
from tests.testbed.carried_out import a_run, counts, roles
from tests.testbed.networks import LINUX_6, MODERN, direct, placements, star, zones

ASKS = {"pause_high_frames": 64}
HONOURS = {"honours_pause": True}


def refused(
    client: Mapping[str, object], server: Mapping[str, object], *, at_link: bool
) -> list[str]:
    """Of two hosts with a link between them, whose interfaces differ from the usual one in that:
    those of the hosts' groups, or those of the link."""
    graph = direct()
    said = {"client": client, "server": server}
    nics = {name: wire.Nic().model_copy(update=own) for name, own in said.items()}
    (joined,) = graph.links
    if at_link:
        ends = {
            side: end.model_copy(update={"nic": nics[end.node]})
            for side, end in (("a", joined.a), ("b", joined.b))
        }
        graph = graph.model_copy(update={"links": (joined.model_copy(update=ends),)})
    else:
        groups = [one.model_copy(update={"nic": nics[one.name]}) for one in graph.groups]
        graph = graph.model_copy(update={"groups": tuple(groups)})
    run = a_run(graph, wire.Transfer(roles=roles("client", "server"), size_bytes=1), counts(1))
    plan = wire.Plan(study="by hand", seed=1, runs=(run,))
    return unsupported(plan, "user-space", MODERN)


@pytest.mark.parametrize("at_link", [False, True], ids=["of the hosts", "of the link"])
def test_an_interface_that_would_pause_its_peer_over_a_link_is_refused(at_link: bool) -> None:
    (said,) = refused(ASKS, HONOURS, at_link=at_link)
    assert said.startswith("The nic of client asks that of server to pause")
    assert "leave out pause_high at client, or write honours_pause: false at server" in said


@pytest.mark.parametrize(("client", "server"), [(ASKS, {}), ({}, HONOURS), (ASKS | HONOURS, {})])
def test_a_pause_that_nobody_honours_or_asks_for_changes_nothing(
    client: Mapping[str, object], server: Mapping[str, object]
) -> None:
    assert refused(client, server, at_link=False) == []


def test_a_zone_with_another_quota_than_its_host_is_refused() -> None:
    graph = zones()
    of_host = graph.group("server").model_copy(update={"cpu_quota_pct": 50.0})
    of_zones = graph.group("server").model_copy(update={"name": "zones"})
    nodes = [
        node.model_copy(update={"group": "zones"}) if isinstance(node, wire.Zone) else node
        for node in graph.nodes
    ]
    groups = (of_host, of_zones, graph.group("client"))
    graph = graph.model_copy(update={"groups": groups, "nodes": tuple(nodes)})
    work = wire.Transfer(roles=roles("server.a", "client"), size_bytes=1)
    plan = wire.Plan(study="by hand", seed=1, runs=(a_run(graph, work, counts(1)),))

    assert unsupported(plan, "user-space", MODERN) == [
        f"Zone server.{name} has another cpu_quota than its host server, whose quota is for the "
        "processes of both."
        for name in ("a", "b")
    ]


def _queued(graph: wire.Network, end: str) -> wire.Plan:
    """A run over the network, in which this end of the first link (`a`, `b`) has a discipline."""
    first, *others = graph.links
    port = getattr(first, end).model_copy(update={"queue": queues.FqCoDel()})
    links = (first.model_copy(update={end: port}), *others)
    run = a_run(
        graph.model_copy(update={"links": links}),
        wire.Transfer(roles=roles("client", "server"), size_bytes=1),
        counts(1),
    )
    return wire.Plan(study="by hand", seed=1, runs=(run,))


def test_a_discipline_stands_at_a_port_of_the_user_space_switch_and_nowhere_else() -> None:
    graph = star(1)
    of_host, of_switch = ("a", "b") if graph.links[0].a.node == "client" else ("b", "a")
    assert unsupported(_queued(graph, of_switch), "user-space", MODERN) == []
    assert unsupported(_queued(graph, of_host), "user-space", MODERN) == [
        "client is a host and has the queues of its kernel: leave fq-codel out at client, or have "
        "it at the port of the switch."
    ]
    refusals = unsupported(_queued(graph, of_switch), "kernel", MODERN)
    assert "The kernel's bridge has no fq-codel at switch: use --testbed netns." in refusals


def test_code_points_are_set_by_agents() -> None:
    graph = star(1)
    groups = tuple(one.model_copy(update={"dscp": 46}) for one in graph.groups)
    graph = graph.model_copy(update={"groups": groups})
    work = wire.Transfer(roles=roles("client", "server"), size_bytes=1)
    plan = wire.Plan(study="by hand", seed=1, runs=(a_run(graph, work, counts(1)),))
    assert unsupported(plan, "user-space", MODERN) == []


def told(graph: wire.Network, setting: str, switching: Switching = "user-space") -> list[str]:
    """What is said of a setting that is not imposed."""
    return [line for line in notes(graph, switching, MODERN) if setting in line]


def with_nic(graph: wire.Network, **values: object) -> wire.Network:
    """The network whose clients have another interface in that."""
    nic = wire.Nic().model_copy(update=values)
    groups = [
        one.model_copy(update={"nic": nic}) if one.name == "client" else one for one in graph.groups
    ]
    return graph.model_copy(update={"groups": tuple(groups)})


def test_what_a_batch_of_received_frames_holds_is_the_machines_own() -> None:
    assert told(star(1), "poll_weight") == []
    assert told(with_nic(star(1), poll_weight_frames=64), "poll_weight") == [
        "The hosts are this machine: poll_weight_frames of plain are not imposed."
    ]


def test_a_transmit_queue_is_imposed_where_the_kernel_carries_the_link_and_else_told() -> None:
    short = {"transmit_queue_frames": 100}
    assert told(star(1), "transmit_queue") == []
    assert told(with_nic(direct(), **short), "transmit_queue") == []
    assert told(with_nic(star(1), **short), "transmit_queue", "kernel") == []
    for graph in (star(1), direct(delay_ns=1_000_000)):
        (said,) = told(with_nic(graph, **short), "transmit_queue")
        assert said.startswith("The transmit_queue of host client is not imposed where the switche")


def test_small_queues_are_imposed_where_the_kernel_carries_the_link_and_else_told() -> None:
    without = LINUX_6.model_copy(update={"limit_output_bytes": 0})
    assert told(direct(), "limit_output") == []
    assert told(star(1), "limit_output", "kernel") == []
    assert told(star(1, tcp=without), "limit_output") == []
    assert told(star(1), "limit_output") == [
        "The limit_output of hosts client and server has no effect where the switches' "
        "program carries a link: it takes frames at once, so that none wait in the host."
    ]


def test_bursts_are_imposed_where_the_switches_program_carries_the_link_and_else_told() -> None:
    assert told(star(1), "offload_burst") == []
    single = LINUX_6.model_copy(update={"offload_burst_bytes": 0})
    assert told(direct(tcp=single), "offload_burst") == []
    of_both = [
        "The offload_burst of hosts client and server is not imposed where the kernel keeps a link "
        "to its rate: there TCP hands over single frames."
    ]
    assert told(direct(), "offload_burst") == of_both
    assert told(star(2), "offload_burst", "kernel") == of_both


def test_stacks_of_zones_need_virtual_interfaces() -> None:
    work = wire.Transfer(roles=roles("a.x", "a.z"), size_bytes=1)
    plan = wire.Plan(study="by hand", seed=1, runs=(a_run(placements("own"), work, counts(1)),))
    old = replace(MODERN, links=frozenset({"veth", "bridge"}))

    assert unsupported(plan, "user-space", MODERN) == []
    first, _ = unsupported(plan, "user-space", old)
    assert first == (
        "The zones of a have network stacks of their own, and Linux 6.18 here makes no virtual "
        "interfaces (CONFIG_MACVLAN): write stack: shared."
    )


def test_a_zone_with_a_stack_of_its_own_does_not_talk_to_its_host() -> None:
    work = wire.Transfer(roles=roles("a.x", "a@two"), size_bytes=1)
    plan = wire.Plan(study="by hand", seed=1, runs=(a_run(placements("own"), work, counts(1)),))
    (said,) = unsupported(plan, "user-space", MODERN)
    assert said.startswith("a.x has a network stack of its own and does not reach that of its host")
