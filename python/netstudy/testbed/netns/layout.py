"""The layout of a run's network: namespaces, interfaces and addresses. `network` makes them.

Every host has its own namespace, with an interface `eth0`, `eth1` … for each link. A switch's end
of a link, `p0`, `p1` …, is in the switches' namespace; a direct link that the kernel carries joins
two hosts' namespaces. A zone that shares the network stack of its host is just another address on
the host's interface. A zone with a network stack of its own has a namespace with a virtual
interface (macvlan on the host's interface) and an Ethernet address of its own. All addresses are in
one subnet. Neighbour tables are filled beforehand, so that no ARP broadcast disturbs a measurement.
If a host has several addresses, packets from an address leave by the interface of that address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
"""The program that forwards frames: the engine's own switch, or the kernel's bridge with port
queues."""
NAMES: Final[Mapping[Switching, TestbedName]] = {"user-space": "netns", "kernel": "netns-kernel"}
"""The name, for `--testbed`, of the testbed with each kind of switching."""

SWITCHES: Final = "@switch"
"""The namespace of all switches. Nodes cannot have this name."""
BRIDGE: Final = "br0"
"""The kernel's bridge, if the kernel is the switch."""
ZONE_DEVICE: Final = "eth0"
"""The virtual interface of a zone with a network stack of its own."""

_SUBNET = IPv4Network("10.77.0.0/16")
_FIRST_TABLE = 1_000
"""Number of the first routing table for an address; the kernel itself uses the tables 0 and 253 to
255."""
_LEAST_FRAME_NS = 24_000
"""Shortest time of a full frame at which the kernel's queues keep their rate (measured: 2.5 Gbit/s
at an MTU of 9000 bytes, 500 Mbit/s at 1500). Faster links are emulated by the switch program."""

OFFLOADS_OFF: Final[Mapping[str, bool]] = {
    "tso": False,
    "gso": False,
    "gro": False,
    "tx": False,
}
"""Offloads that are switched off, so that frames in queues look as on the wire, checksums included.
A program cannot forward frames that leave segmentation or checksums to the interface."""

SWITCHED_OFF: Final[Mapping[str, str]] = {
    "ipv6/conf/all/disable_ipv6": "1",
    "ipv6/conf/default/disable_ipv6": "1",
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
    "bridge/bridge-nf-call-iptables": "0",
    "bridge/bridge-nf-call-ip6tables": "0",
}
"""Sysctls that turn off functions of the kernel: functions that send frames of their own, filter
frames, or drop frames because of their reverse path. A kernel without such a function lacks the
sysctl."""

NAMESPACES_TO_COME: Final[Mapping[str, str]] = {"ipv4/tcp_child_ehash_entries": "16384"}
"""Gives each new namespace its own table of connections (Linux 6.1). Listing connections reads a
whole table. The machine's own table is larger the more memory the machine has: each list of it
would take a quarter of a millisecond of CPU time."""


@dataclass(frozen=True)
class Interface:
    """The host's end of a link."""

    host: str
    port: str
    """The name of the port in the plan."""
    device: str
    """The name of the interface in the host's namespace."""
    number: int
    """Number of the interface, counted from 1 in the order of hosts and of their links."""
    link: wire.Link
    nic: wire.Nic
    peer: tuple[str, str]
    """Namespace and name of the other end of the veth pair."""

    @property
    def is_direct(self) -> bool:
        """Whether the link is just a veth pair of the kernel between two hosts."""
        return self.peer[0] != SWITCHES

    @property
    def end(self) -> wire.Port:
        """This end of the link in the plan."""
        return next(
            end for end in self.link.ports if (end.node, end.name) == (self.host, self.port)
        )

    @property
    def far(self) -> wire.Port:
        """The other end of the link in the plan."""
        return next(end for end in self.link.ports if end is not self.end)

    @property
    def mac(self) -> str:
        """The Ethernet address: 02:00:00:00:00:01 for the first interface."""
        return _mac(0, self.number)


def _mac(kind: int, number: int) -> str:
    """A locally administered Ethernet address (IEEE 802, 8.2)."""
    high, low = divmod(number, 256)
    return f"02:00:00:{kind:02x}:{high:02x}:{low:02x}"


@dataclass(frozen=True)
class Address:
    """An IP address of a host or zone."""

    node: str
    """The host or zone."""
    number: int
    """Number of the address, counted from 1 in the order of the nodes."""
    interface: Interface
    """The host's interface that packets from this address leave by, if they leave the host."""
    tcp: KernelTcp
    stack: str
    """The namespace that the address is in: the host's, or that of a zone with a network stack of
    its own."""

    @property
    def is_apart(self) -> bool:
        """Whether the address is in another namespace than its host's interface: that of a zone."""
        return self.stack != self.interface.host

    @property
    def device(self) -> str:
        """The interface that has the address, as named in the address's namespace."""
        return ZONE_DEVICE if self.is_apart else self.interface.device

    @property
    def mac(self) -> str:
        """The destination Ethernet address of frames to this IP address."""
        return _mac(1, self.number) if self.is_apart else self.interface.mac

    @property
    def ip(self) -> str:
        """The IP address: 10.77.0.1 for the first."""
        return str(IPv4Address(int(_SUBNET.network_address) + self.number))


@dataclass(frozen=True)
class SwitchAddress:
    """The address of a switch itself."""

    switch: str
    number: int
    """Number of the address from 1."""

    @property
    def ip(self) -> str:
        """The IP address: 10.77.255.254 for the first, counted down, since hosts count up."""
        return str(IPv4Address(int(_SUBNET.broadcast_address) - self.number))

    @property
    def mac(self) -> str:
        """The Ethernet address: 02:00:00:01:00:01 for the first."""
        high, low = divmod(self.number, 256)
        return f"02:00:00:01:{high:02x}:{low:02x}"


@dataclass(frozen=True)
class Host:
    """A network stack: a host with the zones that share its stack, or a zone with one of its
    own."""

    node: str
    """The name of the host or zone in records, which is also the name of its namespace."""
    machine: str
    """The host itself; for a zone, the host that the zone is on, whose processors and quota it
    uses."""
    group: wire.Group
    interfaces: tuple[Interface, ...]
    """The host's ends of its links; empty for a zone."""
    addresses: tuple[Address, ...]
    """First one address for each interface, then the addresses of zones."""
    tcp: KernelTcp

    @property
    def address(self) -> Address:
        """The first address."""
        return self.addresses[0]


@dataclass(frozen=True)
class Layout:
    """Everything that is needed to make the namespaces of a run."""

    network: wire.Network
    hosts: tuple[Host, ...]
    """Each host, followed by its zones that have a network stack of their own."""
    switching: Switching
    receive_cpu: int | None
    """The CPU that handles all received frames. With several CPUs, frames of a connection would
    overtake each other, and TCP would take them for lost. None: each frame is handled by the CPU
    that sent it."""
    polled: tuple[SwitchAddress, ...] = ()
    """Switches with an address of their own, at which they answer SNMP."""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespace of the switches, if any link leads to one, then the hosts' namespaces in
        order."""
        own = (SWITCHES,) if self.switched else ()
        return (*own, *(host.node for host in self.hosts))

    @cached_property
    def interfaces(self) -> tuple[Interface, ...]:
        """The interfaces of all hosts."""
        return tuple(one for host in self.hosts for one in host.interfaces)

    @cached_property
    def switched(self) -> tuple[Interface, ...]:
        """The interfaces whose links end in the namespace of the switches."""
        return tuple(one for one in self.interfaces if not one.is_direct)

    @cached_property
    def addresses(self) -> tuple[Address, ...]:
        """The addresses of all hosts, in order."""
        return tuple(one for host in self.hosts for one in host.addresses)

    @cached_property
    def routes(self) -> Routes:
        """The paths through the network."""
        return Routes(self.network)

    def address(self, endpoint: str) -> Address:
        """The address of an endpoint of a role. If an endpoint names a host with several
        interfaces, but none of the interfaces, it has the host's first address."""
        node, _, port = endpoint.partition("@")
        return next(
            one
            for one in self.addresses
            if one.node == node and (not port or one.interface.port == port)
        )

    def dscp(self, node: str) -> int:
        """The code point of the packets that a host or zone sends."""
        found = self.network.node(node)
        assert not isinstance(found, wire.Switch), "a switch sends no packets of its own"
        return self.network.group(found.group).dscp or 0

    @cached_property
    def _hosts(self) -> dict[str, Host]:
        """Host or zone -> its network stack."""
        return {one.node: host for host in self.hosts for one in host.addresses}

    @cached_property
    def _segments(self) -> dict[int, list[Address]]:
        """Segment -> its addresses, all of which can reach each other."""
        found: dict[int, list[Address]] = {}
        for one in self.addresses:
            segment = self.routes.segments[one.interface.host, one.interface.port]
            found.setdefault(segment, []).append(one)
        return found

    def is_shaped(self, interface: Interface) -> bool:
        """Whether the interface has a kernel queue that is limited to the link's rate. The switch
        program, in contrast, takes frames as soon as TCP hands them over."""
        return self.switching == "kernel" or interface.is_direct

    def switch_address(self, switch: str) -> SwitchAddress | None:
        """The switch's own address; None: nobody polls the switch."""
        return next((one for one in self.polled if one.switch == switch), None)

    def host_of(self, node: str) -> Host:
        """The network stack of a host or zone."""
        return self._hosts[node]

    def reached_from(self, interface: Interface, stack: str) -> Iterator[Address]:
        """Addresses of other network stacks on the segment of an interface."""
        segment = self.routes.segments[interface.host, interface.port]
        return (one for one in self._segments[segment] if one.stack != stack)

    def macs_behind(self, interface: Interface) -> Iterator[str]:
        """The Ethernet addresses at an interface: its own, then its zones'."""
        yield interface.mac
        for one in self.addresses:
            if one.is_apart and one.interface is interface:
                yield one.mac


def make_layout(
    network: wire.Network,
    kernel: Kernel,
    *,
    switching: Switching = "user-space",
    receive_cpu: int | None = 0,
    polled: Iterable[str] = (),
) -> Layout:
    """The layout of a network on this kernel; each group's TCP gets the closest settings that the
    kernel has. `polled` lists the switches that need an address.

    Raises StudyError when there are more hosts than addresses.
    """
    ends = _ends(network)
    of_switches = tuple(map(SwitchAddress, dict.fromkeys(polled), count(1)))
    needed = len(network.zones) + sum(map(len, ends.values())) + len(of_switches)
    if needed > _SUBNET.num_addresses - 2:
        raise StudyError(f"{needed:,} addresses do not fit into {_SUBNET}")
    interfaces = _interfaces(network, ends, switching)
    addresses = list(_addresses(network, interfaces, kernel))
    hosts = tuple(
        stack
        for node in network.hosts
        for stack in _stacks(node, network, interfaces[node.name], addresses, kernel)
    )
    return Layout(network, hosts, switching, receive_cpu, of_switches)


_Ends = Mapping[str, list[tuple[wire.Port, wire.Port, wire.Link]]]
"""Host -> for each of its links, in order: the host's own end, the other end, and the link."""


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
    """Whether the kernel's queues can emulate the link exactly: it loses no frames, it has no
    delay, and a rate that the queues can keep."""
    frame_bits = 8 * (link.mtu_bytes + FRAMING_BYTES)
    fastest_bps = max(end.rate_bps for end in link.ports)
    is_plain = not link.delay_ns and all(end.path is None for end in link.ports)
    return is_plain and frame_bits * 1_000_000_000 >= _LEAST_FRAME_NS * fastest_bps


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
        shares = isinstance(node, wire.Zone) and node.stack == "shared"
        stack = node.host if isinstance(node, wire.Zone) and shares else node.name
        for interface in own:
            number += 1
            tcp = kernel_tcp(group.tcp, interface.link.mtu_bytes, kernel)
            yield Address(node.name, number, interface, tcp, stack)


def _stacks(
    node: wire.Host,
    network: wire.Network,
    interfaces: list[Interface],
    addresses: list[Address],
    kernel: Kernel,
) -> Iterator[Host]:
    """First the network stack of the host, then the stacks of its zones that have one."""
    group = network.group(node.group)
    inside = [one for one in addresses if one.stack == node.name]
    yield Host(
        node=node.name,
        machine=node.name,
        group=group,
        interfaces=tuple(interfaces),
        addresses=tuple(sorted(inside, key=lambda one: one.node != node.name)),
        tcp=kernel_tcp(group.tcp, interfaces[0].link.mtu_bytes, kernel),
    )
    for one in addresses:
        if one.is_apart and one.interface.host == node.name:
            yield Host(one.node, node.name, group, (), (one,), one.tcp)


def offloads(nic: wire.Nic | None) -> dict[str, bool]:
    """Offload of an interface -> whether it is on. Checksum offload is on only if the study asks
    for it."""
    return {**OFFLOADS_OFF, "tx": nic is not None and bool(nic.checksum_offload)}


def sysctls(layout: Layout) -> dict[str, Mapping[str, str]]:
    """Namespace -> file below /proc/sys/net -> text."""
    of_hosts = {host.node: host.tcp.sysctls for host in layout.hosts}
    return {name: of_hosts.get(name, {}) for name in layout.namespaces}


def make_namespaces(layout: Layout) -> list[str]:
    """Commands of `ip` that make the namespaces."""
    return [f"netns add {name}" for name in layout.namespaces]


def make_links(layout: Layout) -> list[str]:
    """Commands of `ip` that make the links, with each end in its namespace."""
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
    """The MTU, and a single queue in each direction, so that frames stay in order."""
    return f"mtu {interface.link.mtu_bytes} numtxqueues 1 numrxqueues 1"


def host_commands(host: Host, layout: Layout) -> list[str]:
    """Commands of `ip` in a host's namespace, after its interfaces are made. They make the virtual
    interfaces of zones with a stack of their own, each in the zone's namespace."""
    devices = {one.device: one.interface for one in host.addresses}
    return [
        "link set lo up",
        *(
            f"address add {one.ip}/{_SUBNET.prefixlen} {_dev(one)} noprefixroute"
            for one in host.addresses
        ),
        *(_up(device, one, layout) for device, one in devices.items()),
        # The order matters: routes and neighbours need interfaces that are up, and interfaces of
        # zones need the host's interface.
        *_own_routes(host, layout),
        *(
            f"neighbour add {other.ip} lladdr {other.mac} dev {device} nud permanent"
            for device, one in devices.items()
            for other in layout.reached_from(one, host.node)
        ),
        *(
            f"link add link {one.interface.device} name {ZONE_DEVICE} netns {one.stack} "
            f"address {one.mac} {_device(one.interface)} type macvlan mode bridge"
            for one in layout.addresses
            if one.is_apart and one.interface in host.interfaces
        ),
        *(
            f"neighbour add {other.ip} lladdr {other.mac} dev {one.device} nud permanent"
            for one in host.interfaces
            for other in layout.polled
            if one.far.node == other.switch
        ),
    ]


def _dev(address: Address) -> str:
    return f"dev {address.device}"


def _up(device: str, interface: Interface, layout: Layout) -> str:
    queue = f"txqueuelen {interface.nic.transmit_queue_frames}"
    return f"link set dev {device} arp off {queue} {_bursts(interface, layout)} up"


def interface_settings(interface: Interface, layout: Layout) -> str:
    """An interface's settings, without its addresses and its peer."""
    return f"{_device(interface)} {_up(interface.device, interface, layout)}"


def _own_routes(host: Host, layout: Layout) -> Iterator[str]:
    """One route for a single address; for several, a routing table and a rule for each."""
    if len(host.addresses) == 1:
        yield f"route add {_route(host.address)}"
        return
    for one in host.addresses:
        table = _FIRST_TABLE + one.number
        yield f"route add {_route(one)} table {table}"
        yield f"rule add from {one.ip} lookup {table} priority {table}"
    known: set[str] = set()
    for one in (one for one in host.addresses if one.node == host.node):
        for other in layout.reached_from(one.interface, host.node):
            if other.ip not in known:
                known.add(other.ip)
                yield f"route add {_route(one, f'{other.ip}/32')}"


def _route(address: Address, to: str = str(_SUBNET)) -> str:
    return f"{to} {_dev(address)} scope link src {address.ip} {address.tcp.route}"


def _bursts(interface: Interface, layout: Layout) -> str:
    """The largest burst that TCP hands to its interface (GSO).

    The kernel cuts a burst into frames after the interface's queue. If that queue limits the rate
    to the link's, all frames of a burst would reach the other end at the same time; then bursts are
    off.
    """
    burst_bytes = layout.host_of(interface.host).tcp.burst_bytes
    if layout.is_shaped(interface) or not burst_bytes:
        return "gso_max_segs 1"
    return f"gso_max_size {burst_bytes}"


def switch_commands(layout: Layout) -> list[str]:
    """Commands of `ip` in the switches' namespace, after their ports are made."""
    ports = [_port(one, layout) for one in layout.switched]
    if layout.switching == "user-space":
        return ports
    options = "mcast_snooping 0 stp_state 0 forward_delay 0"
    return [f"link add name {BRIDGE} type bridge {options}", *ports, f"link set dev {BRIDGE} up"]


def _port(interface: Interface, layout: Layout) -> str:
    master = f"master {BRIDGE} " if layout.switching == "kernel" else ""
    return f"link set dev {interface.peer[1]} {master}arp off up"


def forwarding_commands(layout: Layout) -> list[str]:
    """Commands of `bridge` that say which hosts are behind each port. The bridge neither learns
    addresses nor floods frames."""
    return list(_forwarding(layout)) if layout.switching == "kernel" else []


def _forwarding(layout: Layout) -> Iterator[str]:
    for one in layout.switched:
        yield f"link set dev {one.peer[1]} learning off flood off mcast_flood off"
        for mac in layout.macs_behind(one):
            yield f"fdb add {mac} dev {one.peer[1]} master static"
