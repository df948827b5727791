"""The network of a run as namespaces, interfaces and addresses: decided here, made in `network`.

Every host has a namespace of its own with one interface `eth0`; the other end of its link, `p0`,
`p1` …, is in the namespace `switch`. All hosts share one subnet. Nothing asks for an address:
every host knows the others' from the start, so no broadcast disturbs a measurement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Final, Literal

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.testbed.netns.kernel import Kernel
from netstudy.testbed.netns.kernel_tcp import KernelTcp, kernel_tcp

Switching = Literal["user-space", "kernel"]
"""Who forwards: the engine's own switch, or the kernel's bridge with a queue a port."""

SWITCH: Final = "switch"
"""The namespace that all links meet in."""
INTERFACE: Final = "eth0"
"""A host's end of its link."""
BRIDGE: Final = "br0"
"""The kernel's switch, where that forwards."""

_SUBNET = IPv4Network("10.77.0.0/16")

OFFLOADS_OFF: Final[Mapping[str, bool]] = {
    "tso": False,
    "gso": False,
    "gro": False,
    "tx": False,
}
"""Every frame is on the wire what it is in a switch's queue, with its checksum: one that asks the
interface for either cannot be forwarded by a program, and is one entry of a queue for many."""

SWITCHED_OFF: Final[Mapping[str, str]] = {
    "ipv6/conf/all/disable_ipv6": "1",
    "ipv6/conf/default/disable_ipv6": "1",
    "bridge/bridge-nf-call-iptables": "0",
    "bridge/bridge-nf-call-ip6tables": "0",
}
"""What would send frames of its own, or look at others': a kernel that lacks it needs no switch."""

NAMESPACES_TO_COME: Final[Mapping[str, str]] = {"ipv4/tcp_child_ehash_entries": "16384"}
"""Each namespace made from here gets a table of connections of its own (Linux 6.1). Who lists the
connections of a namespace walks the whole table, and the machine's has room for as many as its
memory: a quarter of a millisecond for each list, which would load the processors of the run."""


@dataclass(frozen=True)
class Host:
    """One host of the network, and its link."""

    node: str
    """Its name in records, and its namespace's."""
    number: int
    """From 1 on, in the order of the network's groups."""
    link: wire.Link
    nic: wire.Nic
    tcp: KernelTcp

    @property
    def address(self) -> str:
        """10.77.0.1 for the first."""
        return str(IPv4Address(int(_SUBNET.network_address) + self.number))

    @property
    def mac(self) -> str:
        """A locally administered address (IEEE 802, 8.2): 02:00:00:00:00:01 for the first."""
        high, low = divmod(self.number, 256)
        return f"02:00:00:00:{high:02x}:{low:02x}"

    @property
    def port(self) -> str:
        """The interface at the switch's end of its link."""
        return f"p{self.number - 1}"


@dataclass(frozen=True)
class Layout:
    """Everything that the namespaces of a run are made from."""

    hosts: tuple[Host, ...]
    switching: Switching
    receive_cpu: int | None
    """The processor that deals with every received frame. Frames of one connection that are dealt
    with on several overtake each other and look lost. None: wherever they were sent."""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The switch's, then the hosts' in order."""
        return (SWITCH, *(host.node for host in self.hosts))


def make_layout(
    network: wire.Network,
    kernel: Kernel,
    *,
    switching: Switching = "user-space",
    receive_cpu: int | None = 0,
) -> Layout:
    """The layout of a star on a kernel, whose TCP comes as near to each group's as it can.

    Raises StudyError when there are more hosts than addresses.
    """
    named = [(node, group) for group in network.hosts for node in node_names(group)]
    if len(named) > _SUBNET.num_addresses - 2:
        raise StudyError(f"{len(named):,} hosts do not fit into {_SUBNET}")
    links = {link.between[0]: link for link in network.links}
    tcp = {
        group.name: kernel_tcp(group.tcp, links[group.name].mtu_bytes, kernel)
        for group in network.hosts
    }
    hosts = tuple(
        Host(node, number, links[group.name], group.nic, tcp[group.name])
        for number, (node, group) in enumerate(named, start=1)
    )
    return Layout(hosts, switching, receive_cpu)


def node_names(group: wire.HostGroup) -> list[str]:
    """The names of a group's hosts, as records use them."""
    if group.count == 1:
        return [group.name]
    return [f"{group.name}-{number}" for number in range(1, group.count + 1)]


def sysctls(layout: Layout) -> dict[str, Mapping[str, str]]:
    """Namespace -> file below /proc/sys/net -> text."""
    return {SWITCH: {}, **{host.node: host.tcp.sysctls for host in layout.hosts}}


def make_namespaces(layout: Layout) -> list[str]:
    """Commands of `ip` that make the namespaces."""
    return [f"netns add {name}" for name in layout.namespaces]


def make_links(layout: Layout) -> list[str]:
    """Commands of `ip` that make each link with its two ends where they belong."""
    return [
        f"link add name {INTERFACE} netns {host.node} address {host.mac} {_device(host)} "
        f"type veth peer name {host.port} netns {SWITCH} {_device(host)}"
        for host in layout.hosts
    ]


def _device(host: Host) -> str:
    """One queue a direction: frames of several would overtake each other."""
    return f"mtu {host.link.mtu_bytes} numtxqueues 1 numrxqueues 1"


def host_commands(host: Host, layout: Layout) -> list[str]:
    """Commands of `ip` in a host's namespace, once its interface is there."""
    device = f"dev {INTERFACE}"
    queue = f"txqueuelen {host.nic.transmit_queue_frames}"
    return [
        "link set lo up",
        f"address add {host.address}/{_SUBNET.prefixlen} {device} noprefixroute",
        f"link set {device} arp off {queue} {_bursts(host, layout)} up",
        f"route add {_SUBNET} {device} scope link src {host.address} {host.tcp.route}",
        *(
            f"neighbour add {other.address} lladdr {other.mac} {device} nud permanent"
            for other in layout.hosts
            if other != host
        ),
    ]


def _bursts(host: Host, layout: Layout) -> str:
    """What TCP hands to its interface at once.

    A burst is cut into frames behind the interface's own queue. Where that queue has the link's
    rate (the kernel's path), the frames of a burst would reach the switch all at the same time.
    """
    if layout.switching == "kernel" or not host.tcp.burst_bytes:
        return "gso_max_segs 1"
    return f"gso_max_size {host.tcp.burst_bytes}"


def switch_commands(layout: Layout) -> list[str]:
    """Commands of `ip` in the switch's namespace, once its ports are there."""
    ports = [_port(host, layout) for host in layout.hosts]
    if layout.switching == "user-space":
        return ports
    options = "mcast_snooping 0 stp_state 0 forward_delay 0"
    return [f"link add name {BRIDGE} type bridge {options}", *ports, f"link set dev {BRIDGE} up"]


def _port(host: Host, layout: Layout) -> str:
    master = f"master {BRIDGE} " if layout.switching == "kernel" else ""
    return f"link set dev {host.port} {master}arp off up"


def forwarding_commands(layout: Layout) -> list[str]:
    """Commands of `bridge`: who is behind which port. Nothing is learned, nothing is flooded."""
    return list(_forwarding(layout)) if layout.switching == "kernel" else []


def _forwarding(layout: Layout) -> Iterator[str]:
    for host in layout.hosts:
        yield f"link set dev {host.port} learning off flood off mcast_flood off"
        yield f"fdb add {host.mac} dev {host.port} master static"
