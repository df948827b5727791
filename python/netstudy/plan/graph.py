"""From a topology to the graph on the wire: named nodes, and links between two of their ports.

Only this module expands host groups, so that all testbeds use the same names and order of nodes. A
single host of a group has the group's name; several are `group-1`, `group-2` and so on. The links
of a host use its interfaces in order. The study may name the interfaces; by default they are
`eth0`, `eth1` and so on. A port of a switch has the name of the node that it leads to, with
`@interface` if that node has several interfaces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path as FilePath

from netstudy import buffers, queues, wire
from netstudy.documents.problems import Path, listed
from netstudy.knobs import knobs
from netstudy.plan.link_paths import never_changes, paths_of
from netstudy.plan.network import Devices
from netstudy.plan.queue_mistakes import mistakes
from netstudy.plan.queues import Queued, Queues, check_at_switch, check_on_wire
from netstudy.study.places import Place
from netstudy.study.references import concrete
from netstudy.study.topology import EachWay, Link, QueueEachWay, Switch, Topology, wire_name
from netstudy.units import format_rate

MTU_DEFAULT = 1500
"""Bytes; the MTU of Ethernet, used if a study gives none."""
INSIDE_MTU = 8_192
"""The default MTU of links inside one machine: the IP packet of a HiperSockets frame of 16 kB."""
INSIDE_RATE_BPS = 10_000_000_000
"""Rate of a link inside one machine, if a study gives none. It is assumed, since such a link is
only memory."""
NODES_MAX = 10_000
"""The most nodes of a network: more would fill the memory."""
WIRE_SPEED = "wire-speed"
"""Profile of the switch that is inserted where one interface of a host has several links;
forwarding never limits it."""
WIRE_SPEED_BUFFER_BYTES = 512_000
"""Buffer per port of this switch, as in switches with small buffers, since many senders overflow
any buffer."""


@dataclass(frozen=True)
class _Properties:
    """Properties of a link in the study; they are the same for all hosts that it joins."""

    up_bps: int
    """From the first end to the second."""
    down_bps: int
    delay_ns: int
    mtu_bytes: int
    up_path: wire.LinkPath | None = None
    down_path: wire.LinkPath | None = None
    up_queue: Queued | None = None
    """At the first end; None: that of its node."""
    down_queue: Queued | None = None
    """At the second end; None: that of its node."""

    @property
    def reversed(self) -> _Properties:
        """The same link, seen from its second end."""
        return replace(
            self,
            up_bps=self.down_bps,
            down_bps=self.up_bps,
            up_path=self.down_path,
            down_path=self.up_path,
            up_queue=self.down_queue,
            down_queue=self.up_queue,
        )


@dataclass(frozen=True)
class _End:
    """An end of a link, before ports have names."""

    node: str
    interface: str | None
    """None: the node is a switch."""
    owner: str | None
    """The host group or the switch of the study; None: a switch that is inserted."""
    nic: wire.Nic | None = None


@dataclass(frozen=True)
class _Joined:
    """A link between two nodes."""

    a: _End
    b: _End
    like: _Properties

    @property
    def from_its_host(self) -> _Joined:
        """The same link with the host as its first end, whatever the study's order."""
        if self.a.interface is not None or self.b.interface is None:
            return self
        return _Joined(self.b, self.a, self.like.reversed)


def _mtu_default(link: Link) -> int:
    return INSIDE_MTU if concrete(link.kind) == "hipersocket" else MTU_DEFAULT


def node_names(group: str, count: int) -> tuple[str, ...]:
    """Names of the hosts of a group."""
    return (group,) if count == 1 else tuple(f"{group}-{n}" for n in range(1, count + 1))


@dataclass
class Graph:
    """Builds the network of one treatment; raises StudyError with places."""

    topology: Topology
    folder: FilePath
    """The folder that the study's other files are relative to."""
    devices: Devices
    scale: Fraction
    participants: frozenset[str]
    """Host groups that take part in the workload."""
    working: frozenset[str]
    """The participants at which the workload itself takes CPU time."""
    zone_interfaces: dict[tuple[str, str], str]
    """Host group and zone -> the interface that a placement gives to the zone."""
    _joined: list[_Joined] = field(default_factory=list)
    _interfaces: dict[str, list[str]] = field(default_factory=dict)
    """Host -> its linked interfaces, in the order of the links."""
    _wires: dict[str, wire.Switch] = field(default_factory=dict)
    _queued_switches: dict[str, Queued] = field(default_factory=dict)
    """Switch -> a queue discipline of one of its ports."""
    _owned_queues: dict[str, Queued | None] = field(default_factory=dict)
    """Host group or switch -> the discipline that it gives all its ports."""

    _checked_queues: set[tuple[Path, int]] = field(default_factory=set)
    """Place of a queue discipline and an MTU with which it makes sense."""
    _nics: dict[str, wire.Nic] = field(default_factory=dict)
    """Host group -> its interfaces, as far as a link does not change them."""

    @property
    def _queues(self) -> Queues:
        return Queues(self.topology.queues, self.folder, self.scale, self.devices.refuse)

    def network(self) -> wire.Network:
        """The whole graph."""
        groups = self.topology.groups
        for name in groups:
            self._check_profile(name)
        self._check_size()
        for path, link in self.topology.placed_links:
            self._join(("topology", *path), link)
        self._check_links()
        made = tuple(
            self.devices.group(
                name, host, self.topology.host_path(name), works=name in self.working
            )
            for name, host in groups.items()
        )
        self.devices.check_interfaces(self.topology, made)
        self._nics = {group.name: group.nic for group in made}
        links = tuple(map(self._link, self._joined))
        nodes = tuple(self._nodes())
        for node in nodes:
            if isinstance(node, wire.Switch) and node.name in self._queued_switches:
                queued = self._queued_switches[node.name]
                check_at_switch(node, queued.at, self.devices.refuse)
        return wire.Network(
            groups=made,
            nodes=nodes,
            links=links,
            shared_clock=concrete(self.topology.shared_clock),
        )

    def hosts(self, group: str) -> tuple[str, ...]:
        """The hosts of a group."""
        return node_names(group, concrete(self.topology.groups[group].count))

    def _switch_path(self, name: str) -> Path:
        inside = ("switches", name) if name in self.topology.switches else (name,)
        return ("topology", *inside)

    def _check_profile(self, group: str) -> None:
        host = self.topology.groups[group]
        if group in self.participants and concrete(host.profile) is None:
            self.devices.refuse(self.topology.host_path(group), "needs a profile to be simulated")

    # Links.

    def _join(self, path: Path, link: Link) -> None:
        first, second = link.between
        switches = self.topology.all_switches
        like = self._properties(path, link)
        hosts = [() if end.group in switches else self.hosts(end.group) for end in (first, second)]
        if hosts[0] and hosts[1] and max(map(len, hosts)) > 1:
            self._join_by_wire(path, link, like, hosts)
            return
        for one in hosts[0] or (first.group,):
            for other in hosts[1] or (second.group,):
                a = self._end(path, link, first, one)
                b = self._end(path, link, second, other)
                self._joined.append(_Joined(a, b, like).from_its_host)

    def _join_by_wire(
        self, path: Path, link: Link, like: _Properties, hosts: list[tuple[str, ...]]
    ) -> None:
        """Links several hosts to a single interface of one host, through a wire-speed switch."""
        if min(map(len, hosts)) > 1:
            ends = zip(hosts, link.between, strict=True)
            said = " and ".join(f"{len(names):,} {end}" for names, end in ends)
            message = f"joins {said}; put a switch between them, and link each group to it"
            self.devices.refuse((*path, "between"), message)
        single = 0 if len(hosts[0]) == 1 else 1
        (host,), others = hosts[single], hosts[1 - single]
        switch = self._wire_switch(host, len(others) + 1)
        inwards = like if single == 1 else like.reversed
        for name in others:
            far = self._end(path, link, link.between[1 - single], name)
            self._joined.append(_Joined(far, switch, inwards))
        near = self._end(path, link, link.between[single], host)
        self._joined.append(
            _Joined(
                near, switch, replace(inwards.reversed, delay_ns=0, up_path=None, down_path=None)
            )
        )

    def _wire_switch(self, host: str, ports: int) -> _End:
        name = wire_name(host, self._wires.keys() | self.topology.all_switches.keys())
        self._wires[name] = wire.Switch(
            name=name,
            profile=WIRE_SPEED,
            ports=ports,
            buffer=buffers.OutputQueued(port_buffer_bytes=WIRE_SPEED_BUFFER_BYTES),
        )
        return _End(name, None, None)

    def _end(self, path: Path, link: Link, place: Place, node: str) -> _End:
        if place.group in self.topology.all_switches:
            return _End(node, None, place.group)
        host = self.topology.groups[place.group]
        own = link.nic is not None or link.buffers is not None
        host_path = self.topology.host_path(place.group)
        nic = self.devices.nic_of_link(host, link, path, host_path) if own else None
        return _End(node, self._interface(path, link, place, node), place.group, nic)

    def _interface(self, path: Path, link: Link, place: Place, node: str) -> str:
        """The interface of a link's end: the one that the link names, else the next free one."""
        own = self.topology.groups[place.group].interfaces
        used = self._interfaces.setdefault(node, [])
        at = (*path, "between", link.between.index(place)) if path[-1] != "link" else path
        if place.interface in used:
            self.devices.refuse(at, f"interface {place.interface} of {node} has a link already")
        free = [name for name in own or (f"eth{len(used)}",) if name not in used]
        if not free:
            had = f"{node} has no interface left for this link; it has {', '.join(own or ())}"
            self.devices.refuse(at, had)
        used.append(place.interface or free[0])
        return used[-1]

    def _properties(self, path: Path, link: Link) -> _Properties:
        mtu = concrete(link.mtu)
        up_bps, down_bps = self._rates(path, link)
        delay_ns, up_path, down_path = paths_of(link)
        if any(map(never_changes, (up_path, down_path))):
            message = "to_bad and to_good are 0, so that the state never changes; give to_good"
            self.devices.refuse((*path, "loss"), message)
        up_queue, down_queue = self._queues_of(path, link)
        return _Properties(
            up_bps=self._scaled(up_bps, path),
            down_bps=self._scaled(down_bps, path),
            delay_ns=delay_ns,
            mtu_bytes=_mtu_default(link) if mtu is None else mtu,
            up_path=up_path,
            down_path=down_path,
            up_queue=up_queue,
            down_queue=down_queue,
        )

    def _queues_of(self, path: Path, link: Link) -> tuple[Queued | None, Queued | None]:
        """The disciplines that the link gives its first end and its second."""
        at = (*path, "queue")
        if isinstance(link.queue, QueueEachWay):
            up, down = link.queue.up, link.queue.down
            return self._queues.lowered(up, (*at, "up")), self._queues.lowered(down, (*at, "down"))
        queued = self._queues.lowered(link.queue, at)
        return queued, queued

    def _scaled(self, rate_bps: int, path: Path) -> int:
        scaled = int(rate_bps * self.scale)
        try:
            knobs(wire.Port)["rate"].scalar.parse(f"{scaled} bit/s")
        except ValueError as error:
            message = f"{format_rate(rate_bps)} at {self.scale}: {error}"
            self.devices.refuse((*path, "rate"), message)
        return scaled

    def _rates(self, path: Path, link: Link) -> tuple[int, int]:
        """The link's rates in both directions; by default the highest rate that both ends carry."""
        limits: dict[str, int] = {}
        is_inside = concrete(link.kind) == "hipersocket"
        for end in link.between if not is_inside else ():
            limits |= self._line_rates(end.group, link)
        at = (*path, "rate")
        if isinstance(link.rate, EachWay):
            up_bps, down_bps = concrete(link.rate.up), concrete(link.rate.down)
            return (
                self._rate((*at, "up"), up_bps, limits, is_inside=is_inside),
                self._rate((*at, "down"), down_bps, limits, is_inside=is_inside),
            )
        rate_bps = self._rate(at, concrete(link.rate), limits, is_inside=is_inside)
        return rate_bps, rate_bps

    def _rate(
        self, path: Path, rate: int | None, limits: dict[str, int], *, is_inside: bool
    ) -> int:
        owner = min(limits, key=lambda end: limits[end], default=None)
        if owner is None:
            rate = INSIDE_RATE_BPS if rate is None and is_inside else rate
            if rate is None:
                self.devices.refuse(path, "is missing, and neither end has a rate of its own")
            return rate
        if rate is not None and rate > limits[owner]:
            message = f"{format_rate(rate)} is above the {format_rate(limits[owner])} of {owner}"
            self.devices.refuse(path, message)
        return limits[owner] if rate is None else rate

    def _line_rates(self, end: str, link: Link) -> dict[str, int]:
        switch = self.topology.all_switches.get(end)
        if switch is None:
            return self.devices.line_rates(end, self.topology.groups[end], link.nic)
        profile = self.devices.switch_profile(switch)
        return {profile.profile: profile.figures.line_rate.value}

    # Names.

    def _link(self, joined: _Joined) -> wire.Link:
        like = joined.like
        return wire.Link(
            a=self._port(
                joined.a, joined.b, like.up_bps, like.up_path, like.up_queue, like.mtu_bytes
            ),
            b=self._port(
                joined.b, joined.a, like.down_bps, like.down_path, like.down_queue, like.mtu_bytes
            ),
            delay_ns=like.delay_ns,
            mtu_bytes=like.mtu_bytes,
        )

    def _port(
        self,
        own: _End,
        peer: _End,
        rate_bps: int,
        path: wire.LinkPath | None,
        queue: Queued | None,
        mtu_bytes: int,
    ) -> wire.Port:
        name = own.interface
        if name is None:
            several = len(self._interfaces.get(peer.node, ())) > 1
            name = f"{peer.node}@{peer.interface}" if several else peer.node
        return wire.Port(
            node=own.node,
            name=name,
            rate_bps=rate_bps,
            nic=own.nic,
            path=path,
            queue=self._queue(own, queue, mtu_bytes),
        )

    def _queue(self, end: _End, of_link: Queued | None, mtu_bytes: int) -> queues.Queue | None:
        if end.owner is None:
            # A frame of the link has passed the discipline at the host from which it comes.
            return None
        queued = of_link or self._queue_of(end.owner)
        if queued is None:
            return None
        if end.interface is None:
            check_on_wire(end.node, queued, self.devices.refuse)
            self._queued_switches.setdefault(end.node, queued)
        elif (end.nic or self._nics[end.owner]).honours_pause:
            message = f"{end.owner} uses PAUSE, so its interfaces cannot have a queue discipline"
            self.devices.refuse(queued.at, message)
        self._check_queue(queued, mtu_bytes)
        return queued.queue

    def _check_queue(self, queued: Queued, mtu_bytes: int) -> None:
        if (queued.at, mtu_bytes) in self._checked_queues:
            return
        if wrong := next(mistakes(queued.queue, mtu_bytes), None):
            self.devices.refuse(queued.at, wrong)
        self._checked_queues.add((queued.at, mtu_bytes))

    def _queue_of(self, owner: str) -> Queued | None:
        """The discipline that a host group or a switch gives all its ports."""
        if owner not in self._owned_queues:
            # Only once: a group may have thousands of ports, and a trace many lines.
            of_switch = self.topology.all_switches.get(owner)
            of = of_switch or self.topology.groups[owner]
            at = self._switch_path(owner) if of_switch else self.topology.host_path(owner)
            self._owned_queues[owner] = self._queues.lowered(of.queue, (*at, "queue"))
        return self._owned_queues[owner]

    def _nodes(self) -> Iterator[wire.Host | wire.Zone | wire.Switch]:
        for group in self.topology.groups:
            for name in self.hosts(group):
                yield wire.Host(name=name, group=group)
                yield from self._zones(group, name)
        for name, switch in self.topology.all_switches.items():
            yield self.devices.switch(name, switch, self._switch_path(name))
        yield from self._wires.values()

    def _zones(self, group: str, host: str) -> Iterator[wire.Zone]:
        linked = self._interfaces[host]
        said = concrete(self.topology.groups[group].stack)
        stack: wire.Stack = "shared" if said is None else said
        for zone, own in (self.topology.groups[group].zones or {}).items():
            interface = own.interface or self.zone_interfaces.get((group, zone)) or linked[0]
            if interface not in linked:
                path = (*self.topology.host_path(group), "zones", zone)
                self.devices.refuse(path, f"its interface {interface} has no link")
            yield wire.Zone(
                name=f"{host}.{zone}", group=group, host=host, interface=interface, stack=stack
            )

    # Contradictions.

    def _check_size(self) -> None:
        """Checks the counts before groups are expanded, so that a mistyped count does not fill the
        memory."""
        self._check_ports()
        counts = {name: concrete(host.count) for name, host in self.topology.groups.items()}
        if sum(counts.values()) > NODES_MAX:
            largest = max(counts, key=lambda name: counts[name])
            message = f"makes {sum(counts.values()):,} hosts; a network may have {NODES_MAX:,}"
            self.devices.refuse((*self.topology.host_path(largest), "count"), message)

    def _check_links(self) -> None:
        for group in self.topology.groups:
            if not self._interfaces.get(self.hosts(group)[0]):
                self.devices.refuse(self.topology.host_path(group), "has no link")
        self._check_names()
        self._check_loops()

    def _check_ports(self) -> None:
        for name, switch in self.topology.all_switches.items():
            ends = [place for link in self.topology.all_links for place in _behind(link, name)]
            counts: Counter[str] = Counter()
            for end in ends:
                is_host = end in self.topology.groups
                counts[end] += concrete(self.topology.groups[end].count) if is_host else 1
            ports = self._ports(switch)
            if counts.total() > ports:
                self._refuse_ports(name, switch, counts, ports)

    def _refuse_ports(self, name: str, switch: Switch, counts: Counter[str], ports: int) -> None:
        said = listed([f"{count:,} {end}" for end, count in counts.items()])
        hosts = [end for end in counts if end in self.topology.groups]
        what = "hosts" if len(hosts) == len(counts) else "links"
        needed = f"{counts.total():,} {what} ({said}) need as many ports"
        path = (*self.topology.host_path(hosts[-1]), "count") if hosts else self._switch_path(name)
        self.devices.refuse(path, f"{needed}, and {switch.profile} has {ports}")

    def _ports(self, own: Switch) -> int:
        ports: int | None = concrete(own.ports)
        profile = self.devices.switch_profile(own).figures
        return profile.ports.value if ports is None else ports

    def _check_names(self) -> None:
        taken = {name: self._switch_path(name) for name in self.topology.all_switches}
        taken |= dict.fromkeys(self._wires, ("topology",))
        for group in self.topology.groups:
            for name in self.hosts(group):
                if name in taken:
                    message = f"a host would have the name {name}, which another node has already"
                    self.devices.refuse(self.topology.host_path(group), message)
                taken[name] = self.topology.host_path(group)

    def _check_loops(self) -> None:
        """Refuses loops of switches, in which frames would circulate for ever: no testbed has a
        protocol that blocks ports (STP)."""
        switches = self.topology.all_switches
        neighbours: dict[str, list[str]] = {name: [] for name in switches}
        for path, link in self.topology.placed_links:
            one, other = (end.group for end in link.between)
            if one not in switches or other not in switches:
                continue
            if loop := _path_between(neighbours, one, other):
                message = (
                    f"closes a loop of switches: {', '.join(loop)}; take one of its links away"
                )
                self.devices.refuse(("topology", *path, "between"), message)
            neighbours[one].append(other)
            neighbours[other].append(one)


def _behind(link: Link, switch: str) -> list[str]:
    """The group or switch at the other end of a link of `switch`; empty if the link does not end
    there."""
    ends = [end.group for end in link.between]
    return [ends[1 - at] for at, end in enumerate(ends) if end == switch]


def _path_between(neighbours: dict[str, list[str]], start: str, end: str) -> list[str]:
    """The switches on the path from one to the other, both included; empty if there is no path."""
    ahead = [[start]]
    seen = {start}
    while ahead:
        path = ahead.pop(0)
        if path[-1] == end:
            return path
        for following in neighbours[path[-1]]:
            if following not in seen:
                seen.add(following)
                ahead.append([*path, following])
    return []
