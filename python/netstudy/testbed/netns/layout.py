"""The network of a run as namespaces, interfaces and addresses: decided here, made in `network`.

Every host has a namespace of its own, with an interface `eth0`, `eth1` … for each of its links. The
other end of a link that the switches carry, `p0`, `p1` …, is in their namespace; a link between two
hosts that the kernel carries ends in both of theirs. A zone is an address more on its host's
interface. All addresses are of one subnet. Nothing asks for an address: every host knows the
others' from the start, so no broadcast disturbs a measurement. Where a host has several addresses,
what comes from one of them leaves by the interface of that address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network
from itertools import count
from typing import Final, Literal

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.plan.paths import Routes
from netstudy.study.vocabulary import TestbedName
from netstudy.testbed.netns.kernel import Kernel
from netstudy.testbed.netns.kernel_tcp import KernelTcp, kernel_tcp
from netstudy.units import FRAMING_BYTES

Switching = Literal["user-space", "kernel"]
"""Who forwards: the engine's own switch, or the kernel's bridge with a queue a port."""
NAMES: Final[Mapping[Switching, TestbedName]] = {"user-space": "netns", "kernel": "netns-kernel"}
"""What `--testbed` calls the testbed that switches so."""

SWITCHES: Final = "@switch"
"""The namespace of all switches: a name that no node has."""
BRIDGE: Final = "br0"
"""The kernel's switch, where that forwards."""

_SUBNET = IPv4Network("10.77.0.0/16")
_FIRST_TABLE = 1_000
"""Routing tables of addresses, above those that the kernel names itself (0, 253 to 255)."""
_LEAST_FRAME_NS = 24_000
"""The kernel's queues keep to a rate at which a full frame takes as long: measured are 2.5 Gbit/s
at an MTU of 9000 bytes and 500 Mbit/s at 1500. Faster links go through the switches' program."""

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
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
    "bridge/bridge-nf-call-iptables": "0",
    "bridge/bridge-nf-call-ip6tables": "0",
}
"""What would send frames of its own, look at others', or refuse those that come by another
interface than answers leave by: a kernel that lacks it needs no switch."""

NAMESPACES_TO_COME: Final[Mapping[str, str]] = {"ipv4/tcp_child_ehash_entries": "16384"}
"""Each namespace made from here gets a table of connections of its own (Linux 6.1). Who lists the
connections of a namespace walks the whole table, and the machine's has room for as many as its
memory: a quarter of a millisecond for each list, which would load the processors of the run."""


@dataclass(frozen=True)
class Interface:
    """An end of a link in a host."""

    host: str
    port: str
    """Its name in the plan."""
    device: str
    """Its name in the host's namespace."""
    number: int
    """From 1 on, in the order of hosts and of their links."""
    link: wire.Link
    nic: wire.Nic
    peer: tuple[str, str]
    """The namespace and the name of the other end of the veth pair."""

    @property
    def is_direct(self) -> bool:
        """Whether the kernel alone carries the link, from host to host."""
        return self.peer[0] != SWITCHES

    @property
    def end(self) -> wire.Port:
        """The plan's own description of this end."""
        return next(
            end for end in self.link.ports if (end.node, end.name) == (self.host, self.port)
        )

    @property
    def far(self) -> wire.Port:
        """That of the other end."""
        return next(end for end in self.link.ports if end is not self.end)

    @property
    def mac(self) -> str:
        """A locally administered address (IEEE 802, 8.2): 02:00:00:00:00:01 for the first."""
        high, low = divmod(self.number, 256)
        return f"02:00:00:00:{high:02x}:{low:02x}"


@dataclass(frozen=True)
class Address:
    """Where a host or a zone can be reached."""

    node: str
    """The host or zone."""
    number: int
    """From 1 on, in the order of the nodes."""
    interface: Interface
    """That it belongs to: what comes from the address leaves by it."""
    tcp: KernelTcp

    @property
    def ip(self) -> str:
        """10.77.0.1 for the first."""
        return str(IPv4Address(int(_SUBNET.network_address) + self.number))


@dataclass(frozen=True)
class Host:
    """A host, with the zones on it."""

    node: str
    """Its name in records, and its namespace's."""
    group: wire.Group
    interfaces: tuple[Interface, ...]
    addresses: tuple[Address, ...]
    """Its own, an interface each, then those of its zones."""
    tcp: KernelTcp

    @property
    def address(self) -> Address:
        """Its first one."""
        return self.addresses[0]


@dataclass(frozen=True)
class Layout:
    """Everything that the namespaces of a run are made from."""

    network: wire.Network
    hosts: tuple[Host, ...]
    switching: Switching
    receive_cpu: int | None
    """The processor that deals with every received frame. Frames of one connection that are dealt
    with on several overtake each other and look lost. None: wherever they were sent."""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The switches', where there are any links of theirs, then the hosts' in order."""
        own = (SWITCHES,) if self.switched else ()
        return (*own, *(host.node for host in self.hosts))

    @cached_property
    def interfaces(self) -> tuple[Interface, ...]:
        """Those of all hosts."""
        return tuple(one for host in self.hosts for one in host.interfaces)

    @cached_property
    def switched(self) -> tuple[Interface, ...]:
        """Those whose links the switches carry."""
        return tuple(one for one in self.interfaces if not one.is_direct)

    @cached_property
    def addresses(self) -> tuple[Address, ...]:
        """All of them, in order."""
        return tuple(one for host in self.hosts for one in host.addresses)

    @cached_property
    def routes(self) -> Routes:
        """The ways through the network."""
        return Routes(self.network)

    def address(self, endpoint: str) -> Address:
        """That of an endpoint of a role; of a host with several interfaces of which none is named,
        the first."""
        node, _, port = endpoint.partition("@")
        return next(
            one
            for one in self.addresses
            if one.node == node and (not port or one.interface.port == port)
        )

    @cached_property
    def _hosts(self) -> dict[str, Host]:
        """By host and zone."""
        return {one.node: host for host in self.hosts for one in host.addresses}

    @cached_property
    def _segments(self) -> dict[int, list[Address]]:
        """Addresses that can reach each other."""
        found: dict[int, list[Address]] = {}
        for one in self.addresses:
            segment = self.routes.segments[one.interface.host, one.interface.port]
            found.setdefault(segment, []).append(one)
        return found

    def is_shaped(self, interface: Interface) -> bool:
        """Whether the interface has a queue of its own at its link's rate, which the kernel keeps;
        the switches' program takes frames as soon as they are handed over."""
        return self.switching == "kernel" or interface.is_direct

    def host_of(self, node: str) -> Host:
        """The host of a host or a zone."""
        return self._hosts[node]

    def reached_from(self, interface: Interface) -> Iterator[Address]:
        """Addresses of other hosts that share a segment with an interface."""
        segment = self.routes.segments[interface.host, interface.port]
        return (one for one in self._segments[segment] if one.interface.host != interface.host)


def make_layout(
    network: wire.Network,
    kernel: Kernel,
    *,
    switching: Switching = "user-space",
    receive_cpu: int | None = 0,
) -> Layout:
    """The layout of a graph on a kernel, whose TCP comes as near to each group's as it can.

    Raises StudyError when there are more hosts than addresses.
    """
    ends = _ends(network)
    needed = len(network.zones) + sum(map(len, ends.values()))
    if needed > _SUBNET.num_addresses - 2:
        raise StudyError(f"{needed:,} addresses do not fit into {_SUBNET}")
    interfaces = _interfaces(network, ends, switching)
    addresses = list(_addresses(network, interfaces, kernel))
    hosts = tuple(
        _host(node, network, interfaces[node.name], addresses, kernel) for node in network.hosts
    )
    return Layout(network, hosts, switching, receive_cpu)


_Ends = Mapping[str, list[tuple[wire.Port, wire.Port, wire.Link]]]
"""Host -> its own end, the far end and the link, in the order of the links."""


def _ends(network: wire.Network) -> _Ends:
    found: dict[str, list[tuple[wire.Port, wire.Port, wire.Link]]]
    found = {host.name: [] for host in network.hosts}
    for link in network.links:
        for end, far in ((link.a, link.b), (link.b, link.a)):
            if end.node in found:
                found[end.node].append((end, far, link))
    return found


def _interfaces(
    network: wire.Network, ends: _Ends, switching: Switching
) -> dict[str, list[Interface]]:
    """Host -> its interfaces, in the order of the links."""
    devices = {
        (host, end.name): f"eth{place}"
        for host, own in ends.items()
        for place, (end, _, _) in enumerate(own)
    }
    numbers = count(1)
    return {
        host.name: [
            _interface(next(numbers), network.group(host.group), one, devices, switching)
            for one in ends[host.name]
        ]
        for host in network.hosts
    }


def _interface(
    number: int,
    group: wire.Group,
    joined: tuple[wire.Port, wire.Port, wire.Link],
    devices: Mapping[tuple[str, str], str],
    switching: Switching,
) -> Interface:
    end, far, link = joined
    device = devices.get((far.node, far.name))
    direct = device is not None and switching == "user-space" and is_exact(link)
    return Interface(
        host=end.node,
        port=end.name,
        device=devices[end.node, end.name],
        number=number,
        link=link,
        nic=end.nic or group.nic,
        peer=(far.node, device) if direct and device else (SWITCHES, f"p{number - 1}"),
    )


def is_exact(link: wire.Link) -> bool:
    """Whether the kernel's queues can make a link: with a rate that they keep to, and without a
    delay, for which they have no way."""
    frame_bits = 8 * (link.mtu_bytes + FRAMING_BYTES)
    fastest_bps = max(end.rate_bps for end in link.ports)
    return not link.delay_ns and frame_bits * 1_000_000_000 >= _LEAST_FRAME_NS * fastest_bps


def _addresses(
    network: wire.Network, interfaces: Mapping[str, list[Interface]], kernel: Kernel
) -> Iterator[Address]:
    number = 0
    for node in network.nodes:
        if isinstance(node, wire.Switch):
            continue
        group = network.group(node.group)
        if isinstance(node, wire.Host):
            own = interfaces[node.name]
        else:
            own = [one for one in interfaces[node.host] if one.port == node.interface]
        for interface in own:
            number += 1
            tcp = kernel_tcp(group.tcp, interface.link.mtu_bytes, kernel)
            yield Address(node.name, number, interface, tcp)


def _host(
    node: wire.Host,
    network: wire.Network,
    interfaces: list[Interface],
    addresses: list[Address],
    kernel: Kernel,
) -> Host:
    zones = {zone.name for zone in network.zones if zone.host == node.name}
    group = network.group(node.group)
    return Host(
        node=node.name,
        group=group,
        interfaces=tuple(interfaces),
        addresses=(
            *(one for one in addresses if one.node == node.name),
            *(one for one in addresses if one.node in zones),
        ),
        tcp=kernel_tcp(group.tcp, interfaces[0].link.mtu_bytes, kernel),
    )


def sysctls(layout: Layout) -> dict[str, Mapping[str, str]]:
    """Namespace -> file below /proc/sys/net -> text."""
    of_hosts = {host.node: host.tcp.sysctls for host in layout.hosts}
    return {name: of_hosts.get(name, {}) for name in layout.namespaces}


def make_namespaces(layout: Layout) -> list[str]:
    """Commands of `ip` that make the namespaces."""
    return [f"netns add {name}" for name in layout.namespaces]


def make_links(layout: Layout) -> list[str]:
    """Commands of `ip` that make each link with its two ends where they belong."""
    return list(_links(layout))


def _links(layout: Layout) -> Iterator[str]:
    made: set[tuple[str, str]] = set()
    macs = {(one.host, one.device): f"address {one.mac} " for one in layout.interfaces}
    for one in layout.interfaces:
        if (one.host, one.device) in made:
            continue
        namespace, device = one.peer
        made.add(one.peer)
        yield (
            f"link add name {one.device} netns {one.host} address {one.mac} {_device(one)} "
            f"type veth peer name {device} netns {namespace} "
            f"{macs.get(one.peer, '')}{_device(one)}"
        )


def _device(interface: Interface) -> str:
    """One queue a direction: frames of several would overtake each other."""
    return f"mtu {interface.link.mtu_bytes} numtxqueues 1 numrxqueues 1"


def host_commands(host: Host, layout: Layout) -> list[str]:
    """Commands of `ip` in a host's namespace, once its interfaces are there."""
    return [
        "link set lo up",
        *(
            f"address add {one.ip}/{_SUBNET.prefixlen} {_dev(one)} noprefixroute"
            for one in host.addresses
        ),
        *(_up(one, layout) for one in host.interfaces),
        *_own_routes(host, layout),
        *(
            f"neighbour add {other.ip} lladdr {other.interface.mac} dev {one.device} nud permanent"
            for one in host.interfaces
            for other in layout.reached_from(one)
        ),
    ]


def _dev(address: Address) -> str:
    return f"dev {address.interface.device}"


def _up(interface: Interface, layout: Layout) -> str:
    queue = f"txqueuelen {interface.nic.transmit_queue_frames}"
    return f"link set dev {interface.device} arp off {queue} {_bursts(interface, layout)} up"


def interface_settings(interface: Interface, layout: Layout) -> str:
    """What distinguishes an interface but its addresses and its peer."""
    return f"{_device(interface)} {_up(interface, layout)}"


def _own_routes(host: Host, layout: Layout) -> Iterator[str]:
    """With one address, one route; with several, a table each, and a rule that leads to it."""
    if len(host.addresses) == 1:
        yield f"route add {_route(host.address)}"
        return
    for one in host.addresses:
        table = _FIRST_TABLE + one.number
        yield f"route add {_route(one)} table {table}"
        yield f"rule add from {one.ip} lookup {table} priority {table}"
    known: set[str] = set()
    for one in (one for one in host.addresses if one.node == host.node):
        for other in layout.reached_from(one.interface):
            if other.ip not in known:
                known.add(other.ip)
                yield f"route add {_route(one, f'{other.ip}/32')}"


def _route(address: Address, to: str = str(_SUBNET)) -> str:
    return f"{to} {_dev(address)} scope link src {address.ip} {address.tcp.route}"


def _bursts(interface: Interface, layout: Layout) -> str:
    """What TCP hands to its interface at once.

    A burst is cut into frames behind the interface's own queue. Where that queue has the link's
    rate, the frames of a burst would reach the other end all at the same time.
    """
    burst_bytes = layout.host_of(interface.host).tcp.burst_bytes
    if layout.is_shaped(interface) or not burst_bytes:
        return "gso_max_segs 1"
    return f"gso_max_size {burst_bytes}"


def switch_commands(layout: Layout) -> list[str]:
    """Commands of `ip` in the switches' namespace, once their ports are there."""
    ports = [_port(one, layout) for one in layout.switched]
    if layout.switching == "user-space":
        return ports
    options = "mcast_snooping 0 stp_state 0 forward_delay 0"
    return [f"link add name {BRIDGE} type bridge {options}", *ports, f"link set dev {BRIDGE} up"]


def _port(interface: Interface, layout: Layout) -> str:
    master = f"master {BRIDGE} " if layout.switching == "kernel" else ""
    return f"link set dev {interface.peer[1]} {master}arp off up"


def forwarding_commands(layout: Layout) -> list[str]:
    """Commands of `bridge`: who is behind which port. Nothing is learned, nothing is flooded."""
    return list(_forwarding(layout)) if layout.switching == "kernel" else []


def _forwarding(layout: Layout) -> Iterator[str]:
    for one in layout.switched:
        yield f"link set dev {one.peer[1]} learning off flood off mcast_flood off"
        yield f"fdb add {one.mac} dev {one.peer[1]} master static"
