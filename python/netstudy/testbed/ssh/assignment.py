"""Which host of the inventory plays which node of a run, and at which address.

The hosts of a group are taken in the order of the inventory: a level that needs fewer hosts uses
the first ones, so that equal levels always run on equal hosts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from netstudy import wire
from netstudy.inventory import HostEntry, Inventory


@dataclass(frozen=True)
class TestAddress:
    """The address of an endpoint's test traffic."""

    __test__ = False  # pytest would collect a class of this name as tests

    node: str
    """The host or zone of the study."""
    port: str
    """The name of the interface in the study."""
    host: str
    """The host of the inventory."""
    ip: IPv4Address
    device: str | None
    """The interface that the inventory names; None: the one that has the address."""


@dataclass(frozen=True)
class Assignment:
    """The hosts and addresses of a run."""

    hosts: Mapping[str, str]
    """Host of the study -> host of the inventory."""
    addresses: tuple[TestAddress, ...]

    def address(self, endpoint: str) -> TestAddress:
        """The address of an endpoint of a role. An endpoint that names a host with several
        interfaces, but none of them, has the host's first address."""
        node, _, port = endpoint.partition("@")
        return next(
            one for one in self.addresses if one.node == node and (not port or one.port == port)
        )

    def of_host(self, host: str) -> tuple[TestAddress, ...]:
        """The addresses that a host of the inventory uses in this run."""
        return tuple(one for one in self.addresses if one.host == host)


def assign(network: wire.Network, inventory: Inventory) -> Assignment:
    """The hosts of a network; `refusals` must be empty."""
    hosts = {node: host for node, host in _hosts(network, inventory).items() if host is not None}
    addresses = [
        TestAddress(node, port, hosts[owner], *found)
        for node, owner, port, found in _places(network, hosts, inventory)
        if found is not None
    ]
    return Assignment(hosts, tuple(addresses))


def refusals(runs: Sequence[wire.Run], inventory: Inventory, name: str) -> list[str]:
    """The reasons why the hosts cannot play the nodes of some runs, one sentence each; `name` is
    the file of the inventory."""
    networks = {repr(run.network): run.network for run in runs}.values()
    of_networks = (line for network in networks for line in _of(network, inventory, name))
    return list(dict.fromkeys([*_too_few(runs, inventory, name), *of_networks]))


def _of(network: wire.Network, inventory: Inventory, name: str) -> Iterator[str]:
    hosts = {node: host for node, host in _hosts(network, inventory).items() if host is not None}
    yield from _twice(hosts)
    yield from _without_address(network, hosts, inventory, name)


def _hosts(network: wire.Network, inventory: Inventory) -> dict[str, str | None]:
    """Host of the study -> host of the inventory; None: the inventory has too few."""
    found: dict[str, str | None] = {}
    taken: Counter[str] = Counter()
    for node in network.hosts:
        role = inventory.roles.get(node.group)
        if role is None:
            found[node.name] = node.name if node.name in inventory.hosts else None
            continue
        place = taken[node.group]
        found[node.name] = role[place] if place < len(role) else None
        taken[node.group] += 1
    return found


def _too_few(runs: Sequence[wire.Run], inventory: Inventory, name: str) -> Iterator[str]:
    """A sentence for each group that lacks hosts, about the run that needs most of them."""
    most: dict[str, tuple[int, wire.Run]] = {}
    for run in runs:
        hosts = _hosts(run.network, inventory)
        sizes = Counter(node.group for node in run.network.hosts)
        for group in {node.group for node in run.network.hosts if hosts[node.name] is None}:
            most[group] = max(
                most.get(group, (0, run)), (sizes[group], run), key=lambda one: one[0]
            )
    for group, (wanted, run) in sorted(most.items(), key=lambda item: item[0]):
        needed = f"{_reason(run, wanted)} needs {wanted} host{'s' * (wanted > 1)} of group {group}"
        if group in inventory.roles:
            yield f"{needed}; {name} has {len(inventory.roles[group])}: add some to roles.{group}."
        else:
            yield f"{needed}; {name} has no roles.{group}: list hosts there."


def _reason(run: wire.Run, wanted: int) -> str:
    """The part of the study that asks for so many hosts: a level, or the study itself."""
    factor = next((name for name, level in run.treatment.items() if level == wanted), None)
    return "The study" if factor is None else f"Level {wanted} of `{factor}`"


def _twice(hosts: Mapping[str, str]) -> Iterator[str]:
    """Traffic between two nodes on one host would not leave the host."""
    players: dict[str, list[str]] = {}
    for node, host in hosts.items():
        players.setdefault(host, []).append(node)
    for host, nodes in players.items():
        if len(nodes) > 1:
            yield (
                f"Host {host} would be {' and '.join(nodes)}, whose traffic would not leave it: "
                "give each group hosts of its own."
            )


def _without_address(
    network: wire.Network, hosts: Mapping[str, str], inventory: Inventory, name: str
) -> Iterator[str]:
    for node, owner, port, found in _places(network, hosts, inventory):
        if found is not None:
            continue
        if node == owner:
            yield (
                f"Interface {port} of {node} has no address: {name} needs "
                f"hosts.{hosts[owner]}.interfaces.{port}."
            )
        else:
            zone = _zone_name(node, owner)
            yield (
                f"Zone {node} needs a second address of host {hosts[owner]}: {name} needs "
                f"hosts.{hosts[owner]}.interfaces.{zone}."
            )


_Found = tuple[IPv4Address, str | None] | None
"""Address and device in the inventory; None: the inventory has none."""


def _places(
    network: wire.Network, hosts: Mapping[str, str], inventory: Inventory
) -> Iterator[tuple[str, str, str, _Found]]:
    """Node, its host in the study, its interface there, and its address in the inventory."""
    for node in network.nodes:
        if isinstance(node, wire.Host) and node.name in hosts:
            own = inventory.hosts[hosts[node.name]]
            ports = _ports(network, node.name)
            for port in ports:
                yield node.name, node.name, port, _found(own, port, is_only=len(ports) == 1)
        elif isinstance(node, wire.Zone) and node.host in hosts:
            own = inventory.hosts[hosts[node.host]]
            zone = _zone_name(node.name, node.host)
            yield node.name, node.host, node.interface, own.interface(zone)


def _found(own: HostEntry, port: str, *, is_only: bool) -> _Found:
    """A single address serves the only interface of a host, whatever the study calls it."""
    if own.address is not None:
        return (own.address, None) if is_only else None
    return own.interface(port)


def _ports(network: wire.Network, node: str) -> list[str]:
    """The interfaces of a host, in the order of its links."""
    return [port.name for link in network.links for port in link.ports if port.node == node]


def _zone_name(zone: str, host: str) -> str:
    """The name of a zone without its host's."""
    return zone.removeprefix(f"{host}.")
