"""Resolves the scope of a metric in a network: finds the nodes and ports to read."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from netstudy.plan.paths import carries_bps
from netstudy.study.vocabulary import LINK, MACHINE, Scope
from netstudy.wire import Host, Link, Network, Port, Switch, Zone

Kind = Literal["host", "switch", "link", "machine"]


@dataclass(frozen=True)
class Line:
    """A port, with the rates of its link in both directions."""

    port: str
    sends_bps: int
    receives_bps: int


@dataclass(frozen=True)
class Place:
    """A node with counters, and its selected ports."""

    node: str
    lines: tuple[Line, ...]
    are_all: bool
    """Whether `lines` are all ports of the node, so that counters of the whole node apply."""
    is_machine: bool = False
    """True if the counters of the node's machine are to be read."""


def places(network: Network, scope: Scope) -> list[Place]:
    """The nodes of a scope. If the scope names a neighbour, only their ports towards it, without
    nodes that have no such port."""
    if scope.node == MACHINE:
        return [Place(MACHINE, (), are_all=True, is_machine=True)]
    if scope.node == LINK:
        return [Place(port.node, (line,), are_all=False) for port, line in _each_end(network)]
    found = (_place(network, node, scope.towards) for node in _nodes(network, scope.node))
    return [place for place in found if place is not None]


def neighbours(network: Network, name: str) -> list[str]:
    """The groups and switches to which the ports of a host group or switch are linked."""
    found = [
        _group(network, far.node)
        for node in _nodes(network, name)
        for _, far, _ in _ports(network, node.name)
    ]
    return list(dict.fromkeys(found))


def _nodes(network: Network, name: str) -> Iterator[Host | Zone | Switch]:
    yield from _endpoints(network, name)
    yield from (switch for switch in network.switches if switch.name == name)


def _endpoints(network: Network, name: str) -> Iterator[Host | Zone]:
    """The hosts of a group, or the host or zone with that name."""
    yield from (host for host in network.hosts if name in (host.name, host.group))
    yield from (zone for zone in network.zones if zone.name == name)


def _place(network: Network, node: Host | Zone | Switch, towards: str | None) -> Place | None:
    """A node with its ports towards a neighbour. For a zone, it is the interface of the zone's host
    that has the zone's address."""
    host, bound = (node.host, node.interface) if isinstance(node, Zone) else (node.name, None)
    ports = list(_ports(network, host))
    own = [port for port, _, _ in ports if bound in (None, port.name)]
    chosen = own if towards is None else _towards(network, host, ports, towards)
    names = {port.name for port in own} & {port.name for port in chosen}
    lines = tuple(_line(link, port, far) for port, far, link in ports if port.name in names)
    if not lines and (towards is not None or isinstance(node, Switch)):
        return None
    return Place(node.name, lines, are_all=len(lines) == len(ports))


def _towards(
    network: Network, node: str, ports: Iterable[tuple[Port, Port, Link]], towards: str
) -> list[Port]:
    """The port with that name, or the ports on the shortest paths to the nodes with that name."""
    named = [port for port, _, _ in ports if port.name == towards]
    if named and towards not in {_group(network, far.node) for _, far, _ in ports}:
        return named
    best: dict[str, tuple[int, Port]] = {}
    for port, far, _ in ports:
        for member, distance in _distances(network, node, far.node).items():
            is_meant = towards in (member, _group(network, member))
            if is_meant and distance < best.get(member, (1 << 30, port))[0]:
                best[member] = (distance, port)
    return [port for _, port in best.values()]


def _distances(network: Network, node: str, first: str) -> dict[str, int]:
    """For every node that can be reached from `node` through its neighbour `first`: the number of
    links to it. Hosts do not forward."""
    found, ahead = {first: 1}, deque([first])
    switches = {switch.name for switch in network.switches}
    while ahead:
        here = ahead.popleft()
        if here not in switches:
            continue
        for _, far, _ in _ports(network, here):
            if far.node != node and far.node not in found:
                found[far.node] = found[here] + 1
                ahead.append(far.node)
    return found


def _ports(network: Network, node: str) -> Iterator[tuple[Port, Port, Link]]:
    """Ports of a node, each with the port at the other end of its link, and the link."""
    for link in network.links:
        for port, far in (link.ports, link.ports[::-1]):
            if port.node == node:
                yield port, far, link


def _each_end(network: Network) -> Iterator[tuple[Port, Line]]:
    """For each link, its ends that are at switches, because a switch port counts both directions;
    if no end is at a switch, both ends."""
    switches = {switch.name for switch in network.switches}
    for link in network.links:
        known = [port for port in link.ports if port.node in switches] or link.ports
        for port, far in (link.ports, link.ports[::-1]):
            if any(port is one for one in known):
                yield port, _line(link, port, far)


def _line(link: Link, port: Port, far: Port) -> Line:
    return Line(port.name, carries_bps(port, link), carries_bps(far, link))


def _group(network: Network, name: str) -> str:
    node = network.node(name)
    return node.group if isinstance(node, Host) else node.name
