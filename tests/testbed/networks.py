"""A small network as a plan has it, and the TCP that a kernel of today makes of it."""

from __future__ import annotations

from netstudy import wire
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
            *("rto_max_ms", "rmem", "wmem"),
        )
    ),
    congestion_controls=frozenset({"reno", "cubic", "bbr"}),
    hystart=True,
    qdiscs=frozenset({"bfifo", "pfifo", "tbf", "htb"}),
    links=frozenset({"veth", "bridge"}),
    packet_sockets=True,
)
"""Linux 6.18 with 250 ticks a second and its own defaults."""

LINUX_6 = wire.Tcp(
    profile="linux-6",
    congestion_control="cubic-hystart",
    recovery="prr",
    initial_window_segments=10,
    rto_rule="linux",
    clock_tick_ns=4_000_000,
    quick_ack_segments=16,
    ack_pushed=True,
    offload_burst_bytes=65_536,
    offload_rule="autosizing",
)
"""The figures of hardware/tcp/linux-6.yaml."""


def star(
    servers: int, tcp: wire.Tcp = LINUX_6, *, rate_bps: int = 500_000_000, mtu_bytes: int = 9000
) -> wire.Network:
    """A client and servers around an output-queued switch of 128 KiB a port."""
    groups = (("client", 1), ("server", servers))
    return wire.Network(
        hosts=tuple(
            wire.HostGroup(name=name, count=count, profile="plain", tcp=tcp, nic=wire.Nic())
            for name, count in groups
        ),
        switch=wire.Switch(
            profile="plain",
            ports=servers + 1,
            buffer=wire.OutputQueued(port_buffer_bytes=131_072),
        ),
        links=tuple(
            wire.Link(between=(name, "switch"), rate_bps=rate_bps, delay_ns=0, mtu_bytes=mtu_bytes)
            for name, _ in groups
        ),
    )


def layout(
    network: wire.Network, kernel: Kernel = MODERN, *, switching: Switching = "kernel"
) -> Layout:
    """The network's layout, with every group's TCP on that kernel."""
    return make_layout(network, kernel, switching=switching)
