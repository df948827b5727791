"""The paths of frames through a network, and the links and switches on them.

Switches form trees, and hosts do not forward, so there is exactly one path between any two
interfaces that can reach each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from netstudy import wire
from netstudy.queues import limits_of
from netstudy.units import (
    CHECK_SEQUENCE_BYTES,
    ETHERNET_HEADER_BYTES,
    FRAMING_BYTES,
    header_bytes,
)

FRAME_OVERHEAD_BYTES = FRAMING_BYTES + header_bytes(timestamps=True)
"""Ethernet framing, IPv4 and TCP headers with timestamps."""

Interface = tuple[str, str]
"""A host and one of its interfaces."""
Hop = tuple[wire.Port, wire.Link]
"""A link, and the end at which frames enter it."""


def directions(network: wire.Network) -> Iterator[tuple[wire.Port, wire.Port]]:
    """Both directions of each link: the end that sends, and the other one."""
    for link in network.links:
        yield link.a, link.b
        yield link.b, link.a


def direction_from(network: wire.Network, node: str, port: str) -> tuple[wire.Port, wire.Port]:
    """The port with this name of a node, and the other end of its link."""
    return next(
        ends for ends in directions(network) if (ends[0].node, ends[0].name) == (node, port)
    )


def carries_bps(port: wire.Port, link: wire.Link) -> int:
    """Rate at which full-sized frames leave an end of a link, with preambles and gaps: that of the
    line or, if it is lower, of a shaper or policer; the mean of a rate that varies."""
    frame_bytes = link.mtu_bytes + ETHERNET_HEADER_BYTES + CHECK_SEQUENCE_BYTES
    wire_bytes = link.mtu_bytes + FRAMING_BYTES
    limits = (
        limit.rate_bps * wire_bytes // (frame_bytes + limit.overhead_bytes)
        for limit in limits_of(port.queue)
    )
    return min((port.rate_bps, *limits))


def is_star(network: wire.Network) -> bool:
    """Whether each host has exactly one link, to the only switch."""
    if len(network.switches) != 1 or network.zones:
        return False
    linked = Counter(port.node for link in network.links for port in link.ports)
    hub = network.switches[0].name
    joined = all(hub in {port.node for port in link.ports} for link in network.links)
    return joined and all(linked[host.name] == 1 for host in network.hosts)


@dataclass(frozen=True)
class Route:
    """The links from one interface to another, each with the port at which frames enter it."""

    hops: tuple[Hop, ...]
    """Empty if both endpoints are on one host, which hands data over inside."""

    @property
    def delay_ns(self) -> int:
        """Propagation delay, summed over all links."""
        return sum(link.delay_from_ns(port) for port, link in self.hops)

    @property
    def mtu_bytes(self) -> int | None:
        """The smaller of the MTUs of the first and the last link, which both TCPs agree on; None
        inside a host."""
        if not self.hops:
            return None
        return min(self.hops[0][1].mtu_bytes, self.hops[-1][1].mtu_bytes)

    @property
    def narrow(self) -> wire.Link | None:
        """A link on the path with an MTU below that of both ends; None if there is none."""
        mtu = self.mtu_bytes
        if mtu is None:
            return None
        return next((link for _, link in self.hops if link.mtu_bytes < mtu), None)


@dataclass(frozen=True)
class Routes:
    """The paths through one network."""

    network: wire.Network

    @cached_property
    def interfaces(self) -> dict[str, tuple[str, ...]]:
        """Host -> its interfaces, in the order of the links."""
        found: dict[str, tuple[str, ...]] = {host.name: () for host in self.network.hosts}
        for link in self.network.links:
            for port in link.ports:
                if port.node in found:
                    found[port.node] += (port.name,)
        return found

    @cached_property
    def segments(self) -> dict[Interface, int]:
        """Interface -> a number shared by all interfaces that reach each other."""
        found: dict[Interface, int] = {}
        for host, names in self.interfaces.items():
            for name in names:
                if (host, name) not in found:
                    found |= dict.fromkeys(self._reached((host, name)), len(found))
        return found

    def of(self, endpoint: str) -> tuple[str, tuple[str, ...]]:
        """The host of an endpoint, and the interfaces that the endpoint may use."""
        name, _, interface = endpoint.partition("@")
        node = self._nodes[name]
        if isinstance(node, wire.Zone):
            return node.host, (node.interface,)
        return name, (interface,) if interface else self.interfaces[name]

    def reached(self, source: str, target: str) -> tuple[str, str] | None:
        """Both endpoints, named as in roles, with their first interfaces that reach each other;
        None if no two interfaces do."""
        (one, own), (other, theirs) = self.of(source), self.of(target)
        if self.is_inside(source, target):
            return source, target
        joined = self._joined((one, own), (other, theirs))
        if joined is None:
            return None
        return self._named(source, joined[0]), self._named(target, joined[1])

    def route(self, source: str, target: str) -> Route:
        """The path from one endpoint to another; there must be one."""
        if self.is_inside(source, target):
            return Route(())
        (one, own), (other, theirs) = self.of(source), self.of(target)
        joined = self._joined((one, own), (other, theirs))
        assert joined is not None, f"{source} reaches {target}"
        return self._between((one, joined[0]), (other, joined[1]))

    def _joined(
        self, source: tuple[str, tuple[str, ...]], target: tuple[str, tuple[str, ...]]
    ) -> tuple[str, str] | None:
        """The first pair of interfaces, one of each host, that reach each other."""
        (one, own), (other, theirs) = source, target
        pairs = ((interface, peer) for interface in own for peer in theirs)
        return next(
            (
                (interface, peer)
                for interface, peer in pairs
                if self.segments[one, interface] == self.segments[other, peer]
            ),
            None,
        )

    def is_inside(self, source: str, target: str) -> bool:
        """Whether the data of two endpoints stay inside one host. Zones with stacks of their own at
        different interfaces use the wire."""
        (one, own), (other, theirs) = self.of(source), self.of(target)
        if one != other:
            return False
        zones = [self._nodes[end.partition("@")[0]] for end in (source, target)]
        apart = all(isinstance(zone, wire.Zone) and zone.stack == "own" for zone in zones)
        return not apart or own == theirs

    def time_ns(self, source: str, target: str, size_bytes: int) -> float:
        """Time of a message without queueing: each hop receives a whole frame before forwarding it,
        the slowest port sends all frames one after the other, and both hosts add their
        latencies."""
        route = self.route(source, target)
        inside = self._group(source).local_path
        if not route.hops and inside is not None:
            copying_ns = 0.0 if inside.rate_bps is None else size_bytes * 8e9 / inside.rate_bps
            return inside.latency_ns + copying_ns
        latencies = self._nic(source).send_latency_ns + self._nic(target).receive_latency_ns
        if not route.hops:
            return float(latencies)
        switches = (self._nodes[port.node] for port, _ in route.hops)
        latencies += sum(one.latency_ns for one in switches if isinstance(one, wire.Switch))
        frame = min(size_bytes, route.mtu_bytes or size_bytes) + FRAME_OVERHEAD_BYTES
        frames_ns = sum(frame * 8e9 / carries_bps(port, link) for port, link in route.hops)
        rest = max(size_bytes + FRAME_OVERHEAD_BYTES - frame, 0)
        slowest_bps = min(carries_bps(port, link) for port, link in route.hops)
        return latencies + route.delay_ns + frames_ns + rest * 8e9 / slowest_bps

    def _nic(self, endpoint: str) -> wire.Nic:
        return self._group(endpoint).nic

    def _group(self, endpoint: str) -> wire.Group:
        node = self._nodes[endpoint.partition("@")[0]]
        assert not isinstance(node, wire.Switch), f"{endpoint} is an endpoint"
        return self.network.group(node.group)

    def _named(self, endpoint: str, interface: str) -> str:
        """An endpoint as roles name it: with its interface if its host has several."""
        several = len(self.interfaces.get(endpoint, ())) > 1
        return f"{endpoint}@{interface}" if several else endpoint

    def _between(self, source: Interface, target: Interface) -> Route:
        first, last = self._links[source], self._links[target]
        start, end = self._peer(*first).node, self._peer(*last).node
        if start == target[0]:
            return Route((first,))
        return Route((first, *self._trunks(start, end), (self._peer(*last), last[1])))

    def _trunks(self, start: str, end: str) -> tuple[Hop, ...]:
        if (start, end) not in self._known_trunks:
            self._known_trunks[start, end] = self._searched(start, end)
        return self._known_trunks[start, end]

    def _searched(self, start: str, end: str) -> tuple[Hop, ...]:
        ahead: list[tuple[str, tuple[Hop, ...]]] = [(start, ())]
        seen = {start}
        for node, hops in ahead:
            if node == end:
                return hops
            for port, link in self._switch_links[node]:
                following = self._peer(port, link).node
                if following in self._switch_links and following not in seen:
                    seen.add(following)
                    ahead.append((following, (*hops, (port, link))))
        raise AssertionError(f"{start} and {end} share a segment")

    def _reached(self, start: Interface) -> Iterator[Interface]:
        port, link = self._links[start]
        yield start
        peer = self._peer(port, link)
        if peer.node not in self._switch_links:
            yield peer.node, peer.name
            return
        ahead, seen = [peer.node], {peer.node}
        for node in ahead:
            for own, joined in self._switch_links[node]:
                far = self._peer(own, joined)
                if far.node not in self._switch_links:
                    yield far.node, far.name
                elif far.node not in seen:
                    seen.add(far.node)
                    ahead.append(far.node)

    @staticmethod
    def _peer(port: wire.Port, link: wire.Link) -> wire.Port:
        return link.b if port is link.a else link.a

    @cached_property
    def _known_trunks(self) -> dict[tuple[str, str], tuple[Hop, ...]]:
        return {}

    @cached_property
    def _nodes(self) -> dict[str, wire.Node]:
        return {node.name: node for node in self.network.nodes}

    @cached_property
    def _links(self) -> dict[Interface, Hop]:
        return {
            (port.node, port.name): (port, link)
            for link in self.network.links
            for port in link.ports
        }

    @cached_property
    def _switch_links(self) -> dict[str, list[Hop]]:
        found: dict[str, list[Hop]] = {switch.name: [] for switch in self.network.switches}
        for link in self.network.links:
            for port in link.ports:
                if port.node in found:
                    found[port.node].append((port, link))
        return found
