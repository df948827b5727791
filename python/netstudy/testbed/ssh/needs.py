"""The needs of a plan: of each host, and of each path between two hosts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from itertools import permutations

from netstudy import wire
from netstudy.inventory import Inventory
from netstudy.plan.paths import Routes
from netstudy.testbed.ssh.assignment import TestAddress, assign
from netstudy.testbed.workloads import traffic_of

Place = tuple[str, IPv4Address]
"""A host of the inventory, and one of its test addresses."""


@dataclass
class InterfaceNeeds:
    """The links that the runs expect at one address; empty without runs."""

    device: str | None
    """The interface that the inventory names."""
    rates_bps: set[int] = field(default_factory=set)
    mtus_bytes: set[int] = field(default_factory=set)


@dataclass
class Needs:
    """The needs of some runs."""

    interfaces: dict[Place, InterfaceNeeds] = field(default_factory=dict)
    groups: dict[str, list[wire.Group]] = field(default_factory=dict)
    """Host -> the groups that it plays; in the runs of a group with several TCPs, each once."""
    paths: dict[tuple[Place, Place], set[int]] = field(default_factory=dict)
    """Client and server of connections -> round-trip times in ns that the study's links make up."""
    storing: set[str] = field(default_factory=set)
    """Hosts whose files are read or written."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that take part, in order."""
        return tuple(dict.fromkeys(host for host, _ in self.interfaces))


def needs_of_runs(runs: Iterable[wire.Run], inventory: Inventory) -> Needs:
    """The needs of some runs, all of which can be assigned to hosts."""
    found = Needs()
    # Runs differ in much that hosts need not know of.
    distinct = {(repr(run.network), run.workload.connected, _stores(run)): run for run in runs}
    for run in distinct.values():
        assigned = assign(run.network, inventory)
        if _stores(run):
            found.storing.update(assigned.hosts.values())
        for one in assigned.addresses:
            _add_interface(found, run.network, one)
        for node, host in assigned.hosts.items():
            name = next(one.group for one in run.network.hosts if one.name == node)
            group, known = run.network.group(name), found.groups.setdefault(host, [])
            if group not in known:
                known.append(group)
        routes = Routes(run.network)
        for pair in dict.fromkeys(run.workload.connected):
            ends = [assigned.address(end) for end in routes.reached(*pair) or pair]
            if ends[0].host == ends[1].host:
                continue
            client, server = ((one.host, one.ip) for one in ends)
            round_trips = found.paths.setdefault((client, server), set())
            round_trips.add(routes.route(*pair).delay_ns + routes.route(*pair[::-1]).delay_ns)
    return found


def _stores(run: wire.Run) -> bool:
    return bool(traffic_of(run.workload).folders(run.workload))


def _add_interface(found: Needs, network: wire.Network, one: TestAddress) -> None:
    owner = next((zone.host for zone in network.zones if zone.name == one.node), one.node)
    place = (owner, one.port)
    link = next(
        link for link in network.links if place in [(port.node, port.name) for port in link.ports]
    )
    own = found.interfaces.setdefault((one.host, one.ip), InterfaceNeeds(one.device))
    own.rates_bps.add(min(port.rate_bps for port in link.ports))
    own.mtus_bytes.add(link.mtu_bytes)


def needs_of_hosts(inventory: Inventory, names: Sequence[str]) -> Needs:
    """The needs without a study: every address of every host, and a path between each two hosts in
    both directions."""
    found = Needs()
    for name in names:
        entry = inventory.hosts[name]
        if entry.address is not None:
            found.interfaces[name, entry.address] = InterfaceNeeds(None)
        for one in (entry.interfaces or {}).values():
            found.interfaces[name, one.address] = InterfaceNeeds(one.device)
    first = {host: (host, address) for host, address in reversed(found.interfaces)}
    for client, server in permutations(found.hosts, 2):
        found.paths[first[client], first[server]] = set()
    return found
