"""Limits of the wire: headers, access links, and the highest rate that a network can carry."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from netstudy.plan.paths import carries_bps
from netstudy.units import FRAMING_BYTES, header_bytes
from netstudy.wire import Group, Host, Link, Network, Port, Zone

_SOURCE: Final = ""
"""Stands for all senders together in the search for paths; the name is free because no node has an
empty name."""


@dataclass(frozen=True)
class Framing:
    """The payload share of a full frame."""

    mtu_bytes: int
    headers_bytes: int

    @property
    def payload_bytes(self) -> int:
        """Payload of a full segment."""
        return self.mtu_bytes - self.headers_bytes

    @property
    def share(self) -> float:
        """Payload ÷ bytes on the wire, of a full frame."""
        return self.payload_bytes / (self.mtu_bytes + FRAMING_BYTES)


def framing(network: Network, members: Iterable[str], sender: str) -> Framing:
    """The framing of full frames between these members of the workload's roles; the TCP options are
    those of the sender."""
    mtu = min(link.mtu_bytes for member in members for link in access_links(network, member))
    timestamps = group_of(network, sender).tcp.timestamps
    return Framing(mtu, header_bytes(timestamps=timestamps))


def split(member: str) -> tuple[str, str | None]:
    """Splits a member of a role into its node and the interface that it is bound to, if any."""
    node, _, interface = member.partition("@")
    return node, interface or None


def host_of(network: Network, member: str) -> tuple[str, str | None]:
    """The host whose interfaces a member uses, and the interface that it is bound to, if any."""
    name, interface = split(member)
    node = network.node(name)
    return (node.host, node.interface) if isinstance(node, Zone) else (name, interface)


def group_of(network: Network, member: str) -> Group:
    """The group of a member's node."""
    node = network.node(split(member)[0])
    assert isinstance(node, Host | Zone), "a switch has no role in a workload"
    return network.group(node.group)


def access_links(network: Network, member: str) -> tuple[Link, ...]:
    """The links at the interfaces of a member, in order."""
    host, interface = host_of(network, member)
    return tuple(
        link
        for link in network.links
        for port in link.ports
        if port.node == host and interface in (None, port.name)
    )


def arrival_rate_bps(network: Network, member: str) -> int:
    """Rate at which data arrives at a member: the rate of the port at the other end of its first
    link."""
    host, _ = host_of(network, member)
    link = access_links(network, member)[0]
    return next(carries_bps(port, link) for port in link.ports if port.node != host)


def capacity_bps(network: Network, senders: Iterable[str], receivers: Iterable[str]) -> int | None:
    """The highest rate at which the senders together can send to the receivers: the minimum cut
    between them (Ford and Fulkerson 1956). None if a sender is on the same host as a receiver, so
    that data need no link."""
    sources = {_end_of(network, member) for member in senders}
    sinks = {_end_of(network, member) for member in receivers}
    if sources & sinks:
        return None
    left = _capacities(network, sources | sinks)
    left[_SOURCE] = dict.fromkeys(sources, sum(sum(out.values()) for out in left.values()))
    flow = 0
    while (path := _path(left, sinks)) is not None:
        most = min(left[a][b] for a, b in path)
        for a, b in path:
            left[a][b] -= most
            left.setdefault(b, {})[a] = left.get(b, {}).get(a, 0) + most
        flow += most
    return flow


def _end_of(network: Network, member: str) -> str:
    """The host of a member; for a zone with its own stack, the interface that it uses."""
    node = network.node(split(member)[0])
    if isinstance(node, Zone):
        return f"{node.host}@{node.interface}" if node.stack == "own" else node.host
    return node.name


def _capacities(network: Network, ends: Container[str]) -> dict[str, dict[str, int]]:
    """Node -> neighbour -> rate, parallel links added up; interfaces in `ends` count as nodes."""
    found: dict[str, dict[str, int]] = {}
    for link in network.links:
        a, b = (_owner(port, ends) for port in link.ports)
        for here, there, port in ((a, b, link.a), (b, a, link.b)):
            out = found.setdefault(here, {})
            out[there] = out.get(there, 0) + carries_bps(port, link)
    return found


def _owner(port: Port, ends: Container[str]) -> str:
    interface = f"{port.node}@{port.name}"
    return interface if interface in ends else port.node


def _path(
    left: Mapping[str, Mapping[str, int]], sinks: Iterable[str]
) -> list[tuple[str, str]] | None:
    """A shortest path from the source to a sink, of links with capacity left (Edmonds and Karp
    1972)."""
    ends, before = set(sinks), {_SOURCE: _SOURCE}
    queue = deque([_SOURCE])
    while queue:
        node = queue.popleft()
        if node in ends:
            return _back(node, before)
        for after, rate in left.get(node, {}).items():
            if rate and after not in before:
                before[after] = node
                queue.append(after)
    return None


def _back(node: str, before: Mapping[str, str]) -> list[tuple[str, str]]:
    path = []
    while node != _SOURCE:
        path.append((before[node], node))
        node = before[node]
    return path[::-1]
