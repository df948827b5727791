"""Small networks as a plan has them, and the TCP that a kernel of today makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from netstudy import buffers, wire
from netstudy.testbed.netns.kernel import Kernel
from netstudy.testbed.netns.layout import Layout, Switching, make_layout

MODERN = Kernel(
    release="6.18.2-generic",
    tick_ns=4_000_000,
    sysctls=frozenset(
        f"ipv4/tcp_{name}"
        for name in (
            *("sack", "dsack", "timestamps", "ecn", "recovery", "early_retrans"),
            *("slow_start_after_idle", "no_metrics_save", "no_ssthresh_metrics_save"),
            *("rto_max_ms", "rmem", "wmem", "limit_output_bytes"),
        )
    ),
    congestion_controls=frozenset({"reno", "cubic"}),
    hystart=True,
    qdiscs=frozenset({"bfifo", "pfifo", "tbf", "htb"}),
    links=frozenset({"veth", "bridge", "macvlan"}),
    packet_sockets=True,
    source_routes=True,
    control_groups=frozenset({"cpu", "memory", "io"}),
)
"""Linux 6.18 with 250 ticks a second and its own defaults."""

LINUX_6 = wire.Tcp(
    profile="linux-6",
    congestion_control="cubic-hystart",
    recovery="prr",
    initial_window_segments=10,
    rto_rule="linux",
    window_rule="scaling-ratio",
    clock_tick_ns=4_000_000,
    quick_ack_segments=16,
    ack_pushed=True,
    offload_burst_bytes=65_536,
    offload_rule="autosizing",
    limit_output_bytes=1_048_576,
)
"""The figures of hardware/tcp/linux-6.yaml."""
BUFFER = buffers.OutputQueued(port_buffer_bytes=131_072)


def switch(name: str, ports: int, buffer: buffers.Buffer = BUFFER) -> wire.Switch:
    """An output-queued switch of 128 KiB a port, if not said otherwise."""
    return wire.Switch(name=name, profile="plain", ports=ports, buffer=buffer)


def host(name: str, group: str | None = None) -> wire.Host:
    """A host, in a group of its name if not said otherwise."""
    return wire.Host(name=name, group=group or name)


def link(
    a: str,
    b: str,
    *,
    rate_bps: int | tuple[int, int] = 100_000_000,
    delay_ns: int = 0,
    mtu_bytes: int = 1500,
) -> wire.Link:
    """A link between `node.port` and `node.port`; two rates are those of either end."""
    rates = rate_bps if isinstance(rate_bps, tuple) else (rate_bps, rate_bps)
    ends = [
        wire.Port(node=end.rpartition(".")[0], name=end.rpartition(".")[2], rate_bps=rate)
        for end, rate in zip((a, b), rates, strict=True)
    ]
    return wire.Link(a=ends[0], b=ends[1], delay_ns=delay_ns, mtu_bytes=mtu_bytes)


def network(
    nodes: Sequence[wire.Node], links: Sequence[wire.Link], tcp: wire.Tcp = LINUX_6
) -> wire.Network:
    """A network whose groups are those that its nodes name."""
    groups = dict.fromkeys(node.group for node in nodes if node.kind != "switch")
    return wire.Network(
        groups=tuple(
            wire.Group(name=name, profile="plain", tcp=tcp, nic=wire.Nic()) for name in groups
        ),
        nodes=tuple(nodes),
        links=tuple(links),
    )


def star(
    servers: int,
    tcp: wire.Tcp = LINUX_6,
    *,
    rate_bps: int = 500_000_000,
    mtu_bytes: int = 9000,
    delay_ns: int = 0,
    buffer: buffers.Buffer = BUFFER,
) -> wire.Network:
    """A client and servers around one switch."""
    names = ["server"] if servers == 1 else [f"server-{n}" for n in range(1, servers + 1)]
    hosts = [host("client"), *(host(name, "server") for name in names)]
    return network(
        [*hosts, switch("switch", servers + 1, buffer)],
        [
            link(
                f"{one.name}.eth0",
                f"switch.{one.name}",
                rate_bps=rate_bps,
                delay_ns=delay_ns,
                mtu_bytes=mtu_bytes,
            )
            for one in hosts
        ],
        tcp,
    )


def direct(
    *,
    rate_bps: int | tuple[int, int] = 100_000_000,
    delay_ns: int = 0,
    mtu_bytes: int = 1500,
    tcp: wire.Tcp = LINUX_6,
) -> wire.Network:
    """A client and a server with a link between them."""
    joined = link(
        "client.eth0", "server.eth0", rate_bps=rate_bps, delay_ns=delay_ns, mtu_bytes=mtu_bytes
    )
    return network([host("client"), host("server")], [joined], tcp)


def dumbbell(
    *,
    rate_bps: int = 100_000_000,
    middle_bps: int | tuple[int, int] = 50_000_000,
    delay_ns: int = 0,
    buffer: buffers.Buffer = BUFFER,
    tcp: wire.Tcp = LINUX_6,
) -> wire.Network:
    """Two clients, two servers, two switches with one link between them."""
    clients = [host(f"client-{n}", "client") for n in (1, 2)]
    servers = [host(f"server-{n}", "server") for n in (1, 2)]
    sides = [("left", clients), ("right", servers)]
    return network(
        [*clients, *servers, switch("left", 3, buffer), switch("right", 3, buffer)],
        [
            *(
                link(f"{one.name}.eth0", f"{side}.{one.name}", rate_bps=rate_bps)
                for side, hosts in sides
                for one in hosts
            ),
            link("left.right", "right.left", rate_bps=middle_bps, delay_ns=delay_ns),
        ],
        tcp,
    )


def two_interfaces(*, rate_bps: int = 100_000_000) -> wire.Network:
    """Two clients and a server that has two interfaces on the same switch."""
    clients = [host(f"client-{n}", "client") for n in (1, 2)]
    return network(
        [*clients, host("server"), switch("switch", 4)],
        [
            *(link(f"{one.name}.eth0", f"switch.{one.name}", rate_bps=rate_bps) for one in clients),
            link("server.eth0", "switch.server@eth0", rate_bps=rate_bps),
            link("server.eth1", "switch.server@eth1", rate_bps=rate_bps),
        ],
    )


def zones(*, rate_bps: int = 100_000_000) -> wire.Network:
    """A host with two zones, and another host behind a switch."""
    return network(
        [
            host("server"),
            wire.Zone(name="server.a", group="server", host="server", interface="eth0"),
            wire.Zone(name="server.b", group="server", host="server", interface="eth0"),
            host("client"),
            switch("switch", 2),
        ],
        [
            link("server.eth0", "switch.server", rate_bps=rate_bps),
            link("client.eth0", "switch.client", rate_bps=rate_bps),
        ],
    )


def placements(stack: wire.Stack, *, rate_bps: int = 100_000_000) -> wire.Network:
    """A host with two interfaces, two zones at the first and one at the second, and another host
    with a zone, around a switch."""
    places = (("a", "one", "x"), ("a", "one", "y"), ("a", "two", "z"), ("b", "eth0", "x"))
    zones = {
        host: [
            wire.Zone(name=f"{at}.{name}", group=at, host=at, interface=port, stack=stack)
            for at, port, name in places
            if at == host
        ]
        for host in ("a", "b")
    }
    return network(
        [host("a"), *zones["a"], host("b"), *zones["b"], switch("switch", 3)],
        [
            link("a.one", "switch.a@one", rate_bps=rate_bps),
            link("a.two", "switch.a@two", rate_bps=rate_bps),
            link("b.eth0", "switch.b", rate_bps=rate_bps),
        ],
    )


def layout(
    graph: wire.Network,
    kernel: Kernel = MODERN,
    *,
    switching: Switching = "kernel",
    polled: Sequence[str] = (),
) -> Layout:
    """The network's layout, with every group's TCP on that kernel; `polled` switches have
    addresses."""
    return make_layout(graph, kernel, switching=switching, polled=polled)
