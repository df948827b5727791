"""The resources of a run's planned network that may limit throughput.

CPUs, disks, buses and slots of the hosts that take part in the workload; the packet rate of their
interfaces and the wires between them, each by direction; the machine below all hosts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.bounds.candidates import Key, LimitKind, Resource
from netstudy.analysis.workloads.base import WorkloadAnalysis
from netstudy.plan.graph import WIRE_SPEED
from netstudy.plan.paths import directions
from netstudy.plan.workloads import planned_of
from netstudy.plan.workloads.base import Permit
from netstudy.queues import limits_of
from netstudy.study.vocabulary import MACHINE, MetricName, Scope
from netstudy.wire import Host, Modelled, Network, Run, RunRecord, Switch

_STATIONS: Final[tuple[tuple[LimitKind, str, str], ...]] = (
    ("disk", "disk", "disk_busy_pct"),
    ("bus", "memory bus", "memory_bus_busy_pct"),
    ("bus", "I/O bus", "io_bus_busy_pct"),
)
_CAPACITIES: Final[tuple[tuple[tuple[Modelled, ...], str], ...]] = (
    (("cpu",), "CPUs"),
    (("disk",), "disks"),
    (("memory_bus", "io_bus"), "buses"),
    (("packet_rate",), "packet rates of interfaces"),
)
_SLOTS: Final[dict[Permit, str]] = {
    "threads": "threads",
    "pool": "connections to the database",
    "database_slots": "database slots",
}
_LIMITERS: Final = {"shaper": "shaper", "policer": "policer", "varying-rate": "varying rate"}
_WAYS: Final = {"send": "sending", "receive": "receiving"}


@dataclass(frozen=True)
class Listing:
    """Lists the resources of one cell."""

    run: Run
    workload: WorkloadAnalysis
    grown_group: str | None
    """The group of hosts whose number is the load; None: the load is no number of hosts."""
    is_simulated: bool
    are_machines: bool = False
    """True if each host is a machine; else one machine may be below all hosts."""

    @property
    def network(self) -> Network:
        """The network of the cell."""
        return self.run.network

    def all(self) -> Iterator[Resource]:
        """Every resource, in the order of tables."""
        groups = self.groups
        for group in groups:
            yield self._cpus(group)
            yield from self._stations(group)
        yield from self._slots(groups)
        yield from self._wires(groups)
        yield from self._packet_rates(groups)
        if not self.are_machines:
            yield from _machine()

    def not_modelled(self, record: RunRecord) -> list[str]:
        """Capacities that the simulator models at none of the hosts of a run."""
        nodes = [record.nodes.get(host) for group in self.groups for host in self._hosts(group)]
        known = [node.modelled for node in nodes if node is not None and node.modelled is not None]
        return [
            name
            for kinds, name in _CAPACITIES
            if known and not any(kind in modelled for modelled in known for kind in kinds)
        ]

    @property
    def groups(self) -> tuple[str, ...]:
        """Groups of the hosts that take part in the workload."""
        roles = self.run.workload.roles
        members = (*roles.server, *getattr(roles, "database", ()), *roles.client)
        return tuple(dict.fromkeys(self._group_of(one.partition("@")[0]) for one in members))

    def _group_of(self, name: str) -> str:
        node = self.network.node(name)
        if isinstance(node, Host):
            return node.group
        host = next(one.host for one in self.network.zones if one.name == name)
        return self._group_of(host)

    @property
    def _generators(self) -> set[str]:
        """Groups of hosts that only make the load."""
        if not self.workload.is_load_outside:
            return set()
        roles = self.run.workload.roles
        clients = {self._group_of(one.partition("@")[0]) for one in roles.client}
        return clients - {self._group_of(one.partition("@")[0]) for one in roles.server}

    def _hosts(self, group: str) -> list[str]:
        return [host.name for host in self.network.hosts if host.group == group]

    def _read(
        self, group: str, *bases: str
    ) -> tuple[tuple[str | None, tuple[MetricName, ...]], ...]:
        hosts = self._hosts(group)
        if len(hosts) == 1:
            return ((None, tuple(MetricName(Scope(group), base) for base in bases)),)
        return tuple(
            (host, tuple(MetricName(Scope(host), base) for base in bases)) for host in hosts
        )

    def _cpus(self, group: str) -> Resource:
        """The busiest CPU of a host, where its CPUs are counted one by one; else all of them."""
        return Resource(
            kind="generator" if group in self._generators else "cpu",
            node=group,
            name=f"CPUs of {group}",
            reads=self._read(group, "busiest_cpu_pct", "cpu_pct"),
            comes_with_load=group == self.grown_group,
            # A CPU that copies is busy until the memory bus has carried the bytes.
            waits_for=frozenset({("bus", group, "memory bus")}),
            is_cpus=True,
        )

    def _stations(self, group: str) -> Iterator[Resource]:
        for kind, name, base in _STATIONS:
            yield Resource(
                kind=kind,
                node=group,
                part=name,
                name=f"{name} of {group}",
                reads=self._read(group, base),
                comes_with_load=group == self.grown_group,
            )

    def _slots(self, groups: Sequence[str]) -> Iterator[Resource]:
        """Threads, pools of connections, and slots of the database."""
        for group, host in ((one, host) for one in groups for host in self._hosts(one)[:1]):
            work = self.run.workload
            found = planned_of(work).permits(work, host, is_simulated=self.is_simulated)
            for kind, count in found.items():
                yield Resource(
                    kind="slots",
                    node=group,
                    part=kind,
                    name=f"{_SLOTS[kind]} of {group}",
                    reads=self._read(group, f"{kind}_busy_pct"),
                    waits_for=frozenset(self._inside(kind, group)),
                    servers=float(count),
                )

    def _inside(self, kind: Permit, group: str) -> Iterator[Key]:
        """The resources that the holders of a slot wait for: a thread for all of both tiers, a
        connection of the pool for the database and the wire, a database slot for its host."""
        databases = {
            self._group_of(one) for one in getattr(self.run.workload.roles, "database", ())
        }
        tiers = {group} if kind == "database_slots" else databases or {group}
        if kind == "threads":
            tiers = tiers | {group}
        for tier in tiers:
            yield from (("cpu", tier, ""), ("disk", tier, "disk"))
            inner = {"threads": ("pool", "database_slots"), "pool": ("database_slots",)}
            yield from (("slots", tier, part) for part in inner.get(kind, ()))
        if kind != "database_slots":
            yield from (("link", a, b) for a in {group, *tiers} for b in {group, *tiers} if a != b)

    # ---- wires

    def _end(self, node: str) -> tuple[str, bool]:
        """The group of a host, or a switch; and whether it is a switch."""
        found = self.network.node(node)
        return (found.group, False) if isinstance(found, Host) else (found.name, True)

    def _wires(self, groups: Sequence[str]) -> Iterator[Resource]:
        """The links between each pair of groups or switches, in each direction; where a shaper or
        policer limits the rate, it is named in place of the link."""
        kinds: dict[tuple[str, str], str] = {}
        found: dict[tuple[str, str], list[tuple[str | None, tuple[MetricName, ...]]]] = {}
        for near, far in directions(self.network):
            pair = [self._end(port.node) for port in (near, far)]
            if all(name in groups or is_switch for name, is_switch in pair):
                read = (f"{near.node} to {far.node}", self._read_at(near.node, far.node))
                key = pair[0][0], pair[1][0]
                found.setdefault(key, []).append(read)
                limit = next(limits_of(near.queue), None)
                kinds.setdefault(key, "link" if limit is None else _LIMITERS[limit.kind])
        for (near_name, far_name), reads in found.items():
            several = len(reads) > 1
            yield Resource(
                kind="link",
                node=near_name,
                part=far_name,
                name=f"{kinds[near_name, far_name]} from {self._title(near_name, far_name)}",
                reads=tuple(reads) if several else ((None, reads[0][1]),),
                comes_with_load=self.grown_group in (near_name, far_name),
            )

    def _title(self, near: str, far: str) -> str:
        """Both ends of a link. Where several hosts share the only interface of another one, the
        plan has a switch of its own between them, which the study does not name."""
        shared, own = self._behind(far, near), self._behind(near, far)
        if shared:
            return f"{near} to {', '.join(shared)}"
        if own:
            return f"{', '.join(own)} to each {far}"
        return f"{near} to {far}"

    def _behind(self, name: str, other: str) -> list[str]:
        """The groups on the other side of a switch that only the plan has."""
        node = next((one for one in self.network.switches if one.name == name), None)
        if node is None or node.profile != WIRE_SPEED:
            return []
        far = (
            self._end(there.node)[0]
            for here, there in directions(self.network)
            if here.node == name
        )
        return [group for group in dict.fromkeys(far) if group != other]

    def _read_at(self, near: str, far: str) -> tuple[MetricName, MetricName]:
        """The metrics of the utilisation from near to far: as counted at the switch port
        (preferred), and as counted by the host at the other end."""
        if isinstance(self.network.node(far), Switch):
            of_switch = MetricName(Scope(far, near), "port_in_utilisation_pct")
            return of_switch, MetricName(Scope(near, far), "send_utilisation_pct")
        of_switch = MetricName(Scope(near, far), "port_utilisation_pct")
        return of_switch, MetricName(Scope(far, near), "receive_utilisation_pct")

    def _packet_rates(self, groups: Sequence[str]) -> Iterator[Resource]:
        """The packets of the interfaces that have a limit, by group, neighbour and direction."""
        found: dict[tuple[str, str, str, int], list[tuple[str, MetricName]]] = {}
        for near, far in directions(self.network):
            group, is_switch = self._end(near.node)
            if is_switch or group not in groups:
                continue
            most = (near.nic or self.network.group(group).nic).packet_rate_pps
            if most is None:
                continue
            there = self._end(far.node)[0]
            for way in _WAYS:
                metric = MetricName(Scope(near.node, far.node), f"{way}_packets_per_s")
                found.setdefault((group, there, way, most), []).append((near.node, metric))
        for (group, there, way, most), reads in found.items():
            several = len(reads) > 1
            yield Resource(
                kind="packet_rate",
                node=group,
                part=f"{there}, {way}",
                name=f"packet rate of the interface of {group} to "
                f"{', '.join(self._behind(there, group)) or there}, {_WAYS[way]}",
                reads=tuple((host if several else None, (metric,)) for host, metric in reads),
                limit=float(most),
                comes_with_load=group == self.grown_group,
            )


def _machine() -> Iterator[Resource]:
    for name, base in (("CPUs", "cpu_pct"), ("disk", "disk_busy_pct")):
        yield Resource(
            kind="machine",
            node=MACHINE,
            part=name,
            name=f"{name} of the machine below all hosts",
            reads=((None, (MetricName(Scope(MACHINE), base),)),),
            is_cpus=name == "CPUs",
        )
