"""Converts a treatment of a study to its form on the wire: network, workload, phases, samplers.

Contradictions, such as hosts that cannot reach each other or more hosts than ports, are refused
with their place in the study.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, cast

from netstudy import wire
from netstudy.documents.problems import Path, fail
from netstudy.hardware import HardwareLibrary
from netstudy.knobs import knobs
from netstudy.plan.graph import Graph
from netstudy.plan.identity import digest
from netstudy.plan.network import Devices
from netstudy.plan.paths import Routes
from netstudy.plan.workloads import (
    Context,
    Counts,
    Load,
    Roles,
    lowering_of,
    lowering_of_spec,
)
from netstudy.study import Study
from netstudy.study.places import Place
from netstudy.study.procedure import (
    Instrument,
    PortSampler,
    Procedure,
    SarSampler,
    SecretPlace,
    SnmpPoll,
    TcpSampler,
    field_of_phase,
)
from netstudy.study.references import concrete, references, resolve
from netstudy.study.topology import Topology
from netstudy.study.workloads import Probe
from netstudy.units import CHECK_SEQUENCE_BYTES, ETHERNET_HEADER_BYTES, header_bytes
from netstudy.wire import Level

_FRAME_BYTES = ETHERNET_HEADER_BYTES + CHECK_SEQUENCE_BYTES
"""Bytes of a frame that a switch stores in addition to the packet."""


@dataclass(frozen=True)
class Lowered:
    """A treatment on the wire. Treatments that are equal on the wire share one object."""

    network: wire.Network
    workload: wire.Workload
    probe: wire.Probe | None
    phases: tuple[wire.Phase, ...]
    instruments: tuple[wire.Instrument, ...]
    spread_ns: int
    """The starts of the flows are drawn from a span of this length; 0: they start together."""

    def run(self, *, plan_seed: int, replicate: int, **identity: Any) -> wire.Run:
        """A run with the given identity."""
        return wire.Run(
            **identity,
            replicate=replicate,
            network=self.network,
            workload=self._started(plan_seed, replicate),
            probe=self.probe,
            phases=self.phases,
            instruments=self.instruments,
        )

    def _started(self, plan_seed: int, replicate: int) -> wire.Workload:
        if not self.spread_ns:
            return self.workload
        # Drawn by the replicate and not by the treatment, so that all treatments of a block start
        # alike.
        lowering = lowering_of(self.workload)
        flows = range(lowering.connections(self.workload))
        starts = tuple(_drawn_ns(self.spread_ns, plan_seed, replicate, flow) for flow in flows)
        started: wire.Workload = lowering.started(self.workload, starts)
        return started


def _drawn_ns(span_ns: int, *parts: int) -> int:
    """A time from 0 to the span, evenly drawn by a hash of the parts."""
    return int(digest("start", *parts)[:16], 16) * span_ns >> 64


class Resolver:
    """Converts treatments of one study to the wire; raises StudyError with places."""

    def __init__(self, study: Study, hardware: HardwareLibrary, scale: Fraction) -> None:
        """`hardware` supplies the profiles that the study names; `scale` multiplies all rates."""
        self.study = study
        self.devices = Devices(hardware, self._refuse, study.document.values.__contains__)
        self.scale = scale
        parts = (study.topology, study.workload, study.procedure)
        self._used = sorted({ref.name for part in parts for _, ref in references(part)})
        self._known: dict[str, Lowered] = {}

    def lower(self, treatment: wire.Treatment) -> Lowered:
        """The form of one treatment on the wire."""
        levels = self.study.levels_of(treatment)
        # Treatments that are equal on the wire share one object, since a plan may have many.
        key = repr([levels[name] for name in self._used])
        if key not in self._known:
            self._known[key] = self._lowered(levels)
        return self._known[key]

    def _lowered(self, levels: Mapping[str, Level]) -> Lowered:
        topology = resolve(self.study.topology, levels)
        workload = resolve(self.study.workload, levels)
        procedure = resolve(self.study.procedure, levels)
        lowering, path = lowering_of_spec(workload.spec), ("workload", workload.kind)
        assert lowering is not None, "only supported workloads are lowered"
        # The cheap checks come first: expanding the graph of a mistyped study can take long.
        roles = lowering.roles(workload.spec, topology, path)
        self._check_client(roles, topology, workload.kind)
        if workload.spec.counted is None and procedure.measure is None:
            self._refuse(path, "needs procedure.measure: how long it is measured")
        graph = Graph(
            topology=topology,
            folder=self.study.folder,
            devices=self.devices,
            scale=self.scale,
            participants=roles.groups,
            working=lowering.working(roles),
            zone_interfaces=_placed_interfaces(roles),
        )
        network = graph.network()
        routes = Routes(network)
        context = Context(topology, self.devices.hardware, path, self._refuse)
        # The buffers must have room for the largest messages, which are known only after this step.
        work = lowering.lower(workload.spec, _Bind(graph, routes).roles(roles), context)
        self._check_buffers(routes, lowering.loads(work))
        return Lowered(
            network=network,
            workload=work,
            probe=None if workload.probe is None else _probe(workload.probe),
            phases=tuple(_phases(procedure, lowering.counts(workload.spec))),
            instruments=tuple(self._instruments(graph, network, work)),
            spread_ns=_spread_ns(procedure),
        )

    def _check_client(self, roles: Roles, topology: Topology, kind: str) -> None:
        """Checks the number of clients. This is done before hosts are expanded, so that the first
        mistake in the file is reported first."""
        one = self.study.workload.spec.one_client
        group = roles.client.group
        if one and concrete(topology.groups[group].count) != 1:
            self._refuse((*topology.host_path(group), "count"), f"an {kind} has one client")

    def _check_buffers(self, routes: Routes, loads: Iterable[Load]) -> None:
        """Refuses a buffer without room for the largest frame: the frame would be retransmitted and
        dropped for ever."""
        largest: dict[str, int] = {}
        for load in loads:
            route = routes.route(load.source, load.target)
            packet = load.size_bytes + header_bytes(timestamps=True)
            frame = min(packet, route.mtu_bytes or packet) + _FRAME_BYTES
            for port, _ in route.hops:
                largest[port.node] = max(largest.get(port.node, 0), frame)
        for switch in routes.network.switches:
            frame = largest.get(switch.name, 0)
            if not switch.buffer.holds(frame):
                said = ("switches", switch.name) if self._is_named(switch.name) else ("switch",)
                place = ("topology", *said, next(iter(knobs(type(switch.buffer)))))
                message = f"the empty buffer of {switch.profile} has no room for the largest"
                self._refuse(place, f"{message} frame, of {frame} bytes")

    def _is_named(self, switch: str) -> bool:
        return switch in self.study.topology.switches

    def _instruments(
        self, graph: Graph, network: wire.Network, work: wire.Workload
    ) -> Iterator[wire.Instrument]:
        for index, instrument in enumerate(self.study.instruments):
            path = ("instruments", index)
            if isinstance(instrument, SnmpPoll):
                self._check_poller(graph, network, work, instrument, path)
            yield from self._instrument(graph, network, instrument, path)

    def _instrument(
        self, graph: Graph, network: wire.Network, instrument: Instrument, path: Path
    ) -> Iterator[wire.Instrument]:
        match instrument:
            case SarSampler():
                for host in graph.hosts(instrument.sar):
                    yield wire.Instrument(
                        kind="host",
                        node=host,
                        every_ns=instrument.every,
                        sysstat=instrument.sysstat,
                    )
            case TcpSampler():
                for node in _with_zones(network, graph.hosts(instrument.tcp)):
                    yield wire.Instrument(kind="tcp", node=node, every_ns=instrument.every)
            case PortSampler():
                for port in self._ports(network, instrument, path):
                    yield wire.Instrument(
                        kind="ports", node=instrument.ports, port=port, every_ns=instrument.every
                    )
            case SnmpPoll():
                for port in self._towards(network, instrument.snmp, instrument.port, path):
                    asks: dict[str, Any] = {"from": instrument.from_}
                    yield wire.Instrument(
                        kind="snmp",
                        node=instrument.snmp,
                        port=port,
                        every_ns=instrument.every,
                        access=_access(instrument),
                        **asks,
                    )
            case _:
                return  # counters are always read at phase boundaries

    def _ports(
        self, network: wire.Network, instrument: PortSampler, path: Path
    ) -> Iterator[str | None]:
        """The ports to sample; None means all of them."""
        if instrument.ports not in [switch.name for switch in network.switches]:
            known = ", ".join(switch.name for switch in network.switches) or "none"
            self._refuse((*path, "ports"), f"no switch {instrument.ports}; there is: {known}")
        if instrument.port is None:
            yield None
            return
        yield from self._towards(network, instrument.ports, instrument.port, path)

    def _towards(
        self, network: wire.Network, switch: str, behind: str, path: Path
    ) -> Iterator[str]:
        """The ports of a switch that lead to a host group or another switch. Refuses a switch
        without such a port."""
        found = list(_ports_towards(network, switch, behind))
        if not found:
            self._refuse((*path, "port"), f"{behind} has no link to {switch}")
        yield from found

    def _check_poller(
        self,
        graph: Graph,
        network: wire.Network,
        work: wire.Workload,
        poll: SnmpPoll,
        path: Path,
    ) -> None:
        """Checks that polls come from a single host that takes no part in the workload, so that its
        port carries only polls."""
        if poll.from_ is None:
            return
        hosts, place = graph.hosts(poll.from_), (*path, "from")
        if len(hosts) != 1:
            self._refuse(
                place, f"{poll.from_} is {len(hosts)} hosts; polls come from a single host"
            )
        busy = {
            end.partition("@")[0].partition(".")[0] for pair in work.roles.pairs for end in pair
        }
        if hosts[0] in busy:
            message = f"{poll.from_} has a part in the workload; polls come from an idle host"
            self._refuse(place, message)
        if not any(_ports_towards(network, poll.snmp, poll.from_)):
            self._refuse(place, f"{poll.from_} has no link to {poll.snmp}, which it polls")

    def _refuse(self, path: Path, message: str) -> NoReturn:
        fail(self.study.document.problem(path, message))


@dataclass(frozen=True)
class _Bind:
    """Binds the roles of a workload to endpoints of a network; refuses endpoints that cannot reach
    each other."""

    graph: Graph
    routes: Routes

    def roles(self, roles: Roles) -> wire.Roles:
        """The endpoints of both roles: each host, with the interface that it uses if it has
        several."""
        client, server = self._endpoints(roles.client), self._endpoints(roles.server)
        chosen: dict[str, str] = {}
        for one, other in wire.Roles(client=client, server=server).pairs:
            names = self.routes.reached(chosen.get(one, one), chosen.get(other, other))
            if names is None:
                message = f"{other} cannot be reached from {one}: no link or switch joins them"
                self.graph.devices.refuse(roles.server_path, message)
            chosen[one], chosen[other] = names
            self._check_mtu(roles.server_path, *names)
        front = wire.Roles(
            client=tuple(chosen[name] for name in client),
            server=tuple(chosen[name] for name in server),
        )
        return front if roles.database is None else self._with_database(roles, front)

    def _with_database(self, roles: Roles, front: wire.Roles) -> wire.TierRoles:
        """The roles with the database's host, at its first interface that the server reaches."""
        assert roles.database is not None, "the caller has looked"
        (database,) = self._endpoints(roles.database)
        (server,) = self.graph.hosts(roles.server.group)
        names = self.routes.reached(server, database)
        if names is None:
            message = f"{database} cannot be reached from {server}: no link or switch joins them"
            self.graph.devices.refuse(roles.database_path, message)
        self._check_mtu(roles.database_path, *names)
        return wire.TierRoles(client=front.client, server=front.server, database=(names[1],))

    def _endpoints(self, place: Place) -> tuple[str, ...]:
        names = self.graph.hosts(place.group)
        if place.zone is not None:
            return tuple(f"{name}.{place.zone}" for name in names)
        several = len(self.routes.interfaces[names[0]]) > 1
        at = f"@{place.interface}" if several and place.interface else ""
        return tuple(f"{name}{at}" for name in names)

    def _check_mtu(self, path: Path, client: str, server: str) -> None:
        """Refuses a path with a link whose MTU is too small: switches would silently drop the
        frames, since there is no path MTU discovery."""
        route = self.routes.route(client, server)
        if (narrow := route.narrow) is not None:
            joined = " and ".join(port.node for port in narrow.ports)
            message = (
                f"packets of {route.mtu_bytes} bytes between {client} and {server} do not fit "
                f"through the link of {joined}, whose MTU is {narrow.mtu_bytes}"
            )
            self.graph.devices.refuse(path, message)


def _placed_interfaces(roles: Roles) -> dict[tuple[str, str], str]:
    """Host group and zone -> the interface that a role gives to the zone."""
    return {
        (place.group, place.zone): place.interface
        for place in (roles.client, roles.server, roles.database)
        if place and place.zone and place.interface
    }


def _with_zones(network: wire.Network, hosts: Iterable[str]) -> Iterator[str]:
    """Each host, followed by its zones, since zones have connections of their own."""
    for host in hosts:
        yield host
        yield from (zone.name for zone in network.zones if zone.host == host)


def _ports_towards(network: wire.Network, switch: str, behind: str) -> Iterator[str]:
    """The ports of `switch` that lead to the host group or switch `behind`."""
    for link in network.links:
        for own, peer in (link.ports, link.ports[::-1]):
            if own.node != switch:
                continue
            node = network.node(peer.node)
            if behind == (node.name if isinstance(node, wire.Switch) else node.group):
                yield own.name


def _access(poll: SnmpPoll) -> wire.SnmpAccess:
    return wire.SnmpAccess(
        community=_secret(poll.community),
        user=poll.user,
        authentication=cast(wire.SnmpAuthentication, poll.authentication),
        authentication_password=_secret(poll.password),
        privacy=cast(wire.SnmpCipher | None, poll.privacy),
        privacy_password=_secret(poll.privacy_password),
    )


def _secret(place: SecretPlace | None) -> wire.SecretSource | None:
    return None if place is None else wire.SecretSource(env=place.env, file=place.file)


def _probe(probe: Probe) -> wire.Probe:
    return wire.Probe(
        every_ns=concrete(probe.every),
        request_bytes=concrete(probe.request),
        response_bytes=concrete(probe.response),
    )


def _spread_ns(procedure: Procedure) -> int:
    """Half of the warm-up: in the other half, flows that start late come up to their rate."""
    is_spread = concrete(procedure.start) == "spread"
    return (concrete(procedure.warmup) or 0) // 2 if is_spread else 0


def _phases(procedure: Procedure, counts: Counts) -> Iterator[wire.Phase]:
    """Phases in the order of the procedure; a phase with a time or count of 0 is left out."""
    for kind in wire.APPLICATION_PHASES:
        if kind != "reset" and concrete(getattr(procedure, field_of_phase(kind))):
            yield wire.Phase(kind=kind)
    yield from _timed("idle", concrete(procedure.idle))
    yield from _counted("warm-up", counts.warmup) or _timed("warm-up", concrete(procedure.warmup))
    if concrete(procedure.stop):
        yield wire.Phase(kind="stop")
    if concrete(procedure.reset):
        yield wire.Phase(kind="reset")
    measure_ns = concrete(procedure.measure)
    yield from _timed("measure", measure_ns) or _counted("measure", counts.measure or 1)
    yield from _timed("cool-down", concrete(procedure.cooldown))


def _timed(kind: wire.PhaseKind, ns: int | None) -> tuple[wire.Phase, ...]:
    return (wire.Phase(kind=kind, until=wire.UntilTime(ns=ns)),) if ns else ()


def _counted(kind: wire.PhaseKind, count: int | None) -> tuple[wire.Phase, ...]:
    return (wire.Phase(kind=kind, until=wire.UntilCount(count=count)),) if count else ()
