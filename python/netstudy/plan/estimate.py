"""The cost of running a plan: packets, time, size of the records.

Everything is computed from the runs on the wire, so that a plan made by hand can be estimated too.
The workload lists the messages of one sample; the routes list the links that each message crosses.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from netstudy import wire
from netstudy.plan.lower import Lowered
from netstudy.plan.paths import Routes, carries_bps, is_star
from netstudy.plan.planned import Estimate, RunSize
from netstudy.plan.stations import busiest_seconds, has_stations
from netstudy.plan.workloads import Load, Lowering, lowering_of
from netstudy.plan.workloads.base import pair_count
from netstudy.plan_lines import RUN_LINE_BYTES
from netstudy.units import payload_bytes, segments_of
from netstudy.wire import Treatment
from netstudy.wire_model import Wire

_LOCAL_SEGMENT_BYTES = 65_483
"""Payload of a segment that stays inside a host: the MTU of a loopback minus its headers."""

_RUN_BYTES = 2_000
"""A run record without nodes and samples, rounded up."""
_NODE_BYTES = 1_200
"""Size of a host's or switch's counters in a record, rounded up; each further phase boundary adds a
fraction of it (`_EDGE_SHARE`)."""
_PORT_BYTES = 400
"""The same for an interface or port."""
_EDGE_SHARE = 0.2
"""The fraction that each further phase boundary adds: less than 1, since names are written only
once."""
_CONNECTION_BYTES = 60
"""Size of a connection in a record."""
_SAMPLE_BYTES = 120
"""Size of one sample of a connection or port, about ten counters."""
_PROBE_BYTES = 9_000
"""Size of a histogram of a probe's latencies in one phase."""
_TRACE_BYTES = 6_000
"""Size of the accounts of time of a traced run, rounded up: 2.6 to 6.4 kB with few nodes."""
_TRACE_NODE_BYTES = 1_500
"""The same for each host or switch, which has parts of its own: 1.3 kB a server of an incast."""
_TREATMENT_BYTES = 200
"""Size of the line of a treatment in a plan, without levels, phases and instruments."""
_START_BYTES = 11
"""Size of the drawn start of a flow."""


Carried = wire.Run | Lowered
"""A run, or the form on the wire that all replicates of a treatment share."""


@dataclass(frozen=True)
class Repeated:
    """A treatment and its runs."""

    carried: Carried
    treatment: Treatment
    runs: int
    traced: int
    """How many of the runs the simulator traces."""


def estimate_of(runs: Iterable[wire.Run]) -> Estimate:
    """The estimate of these runs."""
    return total_of(Repeated(run, run.treatment, 1, int(run.trace)) for run in runs)


def total_of(parts: Iterable[Repeated]) -> Estimate:
    """The estimate of treatments with their runs. Treatments that are equal on the wire are
    computed once."""
    found: dict[object, _Counted] = {}
    lines = _Lines()
    for part in parts:
        carried = part.carried
        key = (
            id(carried.network),
            id(carried.workload),
            carried.phases,
            carried.probe,
            carried.instruments,
        )
        before = found.get(key) or _Counted(_Reckoned.of(carried), part.treatment, 0, 0)
        found[key] = before.with_runs(part)
        lines.add(part, found[key].one.connections)
    return _added(list(found.values()), lines.size_bytes)


@dataclass
class _Lines:
    """The size of a plan, in which each part stands once."""

    size_bytes: int = 0
    seen: set[int] = field(default_factory=set)
    """Identities of networks and workloads that are counted."""

    def add(self, part: Repeated, connections: int) -> None:
        carried = part.carried
        self.size_bytes += part.runs * RUN_LINE_BYTES + _TREATMENT_BYTES + len(str(part.treatment))
        self.size_bytes += sum(map(_json_bytes, (*carried.phases, *carried.instruments)))
        if isinstance(carried, Lowered) and carried.spread_ns:
            starts = _json_bytes(carried.workload) + connections * _START_BYTES
            self.size_bytes += part.runs * starts
        for shared in (carried.network, carried.workload):
            if id(shared) not in self.seen:
                self.seen.add(id(shared))
                self.size_bytes += _json_bytes(shared)


def _json_bytes(part: Wire) -> int:
    return len(wire.to_json(part))


def _added(parts: Sequence[_Counted], plan_bytes: int) -> Estimate:
    return Estimate(
        runs=sum(part.runs for part in parts),
        packets=sum(part.runs * part.one.packets for part in parts),
        per_hop_runs=sum(part.per_hop_runs for part in parts),
        per_hop_packets=sum(part.per_hop_runs * part.one.packets for part in parts),
        traced_runs=sum(part.traced for part in parts),
        traced_packets=sum(part.traced * part.one.packets for part in parts),
        record_bytes=sum(part.record_bytes for part in parts),
        line_seconds=sum(part.runs * part.one.seconds for part in parts),
        timed_seconds=sum(part.runs * part.one.timed_seconds for part in parts),
        nodes=sum(part.runs * part.one.nodes for part in parts),
        connections=sum(part.runs * part.one.connections for part in parts),
        users=sum(part.runs * part.one.users for part in parts),
        series_bytes=sum(part.runs * round(part.one.series_bytes) for part in parts),
        plan_bytes=plan_bytes,
        sizes=tuple(
            RunSize(
                part.treatment,
                part.runs,
                part.one.nodes,
                part.one.connections,
                part.one.users,
                part.one.record_bytes,
            )
            for part in parts
        ),
    )


def measured_samples(run: Carried) -> float:
    """Number of samples of the workload in the measuring phase of a run if nothing is lost;
    infinite if it is unknown, as for a program without a cost model."""
    return _Reckoned.of(run).measured_samples


def probe_samples(run: Carried, phase: wire.PhaseKind) -> float:
    """Number of probes that are due in a phase, over all pairs."""
    return _Reckoned.of(run).probes_in(phase)


def connection_samples(run: Carried) -> float:
    """Number of connection samples in the measuring phase: at each interval of a sampler, one for
    every connection."""
    reckoned = _Reckoned.of(run)
    each = sum(1 / one.every_ns for one in run.instruments if one.kind == "tcp")
    return reckoned.connections * each * reckoned.seconds_of("measure") * 1e9


def useful_packets(run: wire.Run) -> int:
    """Least number of full-sized data packets that the run carries, warm-up included."""
    return _Reckoned.of(run).packets


def has_pause(network: wire.Network) -> bool:
    """True if a switch or an interface of the network pauses others, or obeys their PAUSE."""
    return any(
        one.honours_pause or one.pause_high_bytes is not None for one in network.switches
    ) or any(nic.honours_pause or nic.pause_high_frames is not None for nic in _nics(network))


def _nics(network: wire.Network) -> list[wire.Nic]:
    nics = [group.nic for group in network.groups]
    return nics + [port.nic for link in network.links for port in link.ports if port.nic]


def is_per_hop(network: wire.Network) -> bool:
    """Whether the simulator needs an event for each hop of a frame: if the network is not a star
    around one switch, and with PAUSE, GRO, or simulated CPUs, buses or disks."""
    nics = _nics(network)
    return (
        not is_star(network)
        or has_pause(network)
        or any(nic.receive_merge_bytes > 0 for nic in nics)
        or any(map(has_stations, network.groups))
    )


@dataclass(frozen=True)
class _Counted:
    """The cost of one run, and the number of runs that cost as much."""

    one: _Reckoned
    treatment: Treatment
    runs: int
    traced: int

    def with_runs(self, more: Repeated) -> _Counted:
        """The same with further runs."""
        return replace(self, runs=self.runs + more.runs, traced=self.traced + more.traced)

    @property
    def per_hop_runs(self) -> int:
        """Only the event-driven network can be traced."""
        return self.runs if self.one.per_hop else self.traced

    @property
    def record_bytes(self) -> int:
        trace_bytes = _TRACE_BYTES + self.one.nodes * _TRACE_NODE_BYTES
        return self.runs * self.one.record_bytes + self.traced * trace_bytes


@dataclass(frozen=True)
class _Reckoned:
    """The cost of one run."""

    run: Carried
    lowering: Lowering[Any, Any]
    routes: Routes

    @classmethod
    def of(cls, run: Carried) -> _Reckoned:
        return cls(run, lowering_of(run.workload), Routes(run.network))

    @cached_property
    def packets(self) -> int:
        """Packets of the workload and of the probe."""
        return round(self._units * self._packets_per_unit) + self._probe_packets

    @cached_property
    def per_hop(self) -> bool:
        return is_per_hop(self.run.network)

    @cached_property
    def seconds(self) -> float:
        """Duration of all phases."""
        return sum(self._phase_seconds(phase) for phase in self.run.phases)

    @cached_property
    def timed_seconds(self) -> float:
        """Total duration of the phases with a fixed duration."""
        ends = (phase.until for phase in self.run.phases)
        return sum(until.ns / 1e9 for until in ends if isinstance(until, wire.UntilTime))

    @property
    def nodes(self) -> int:
        """Hosts, zones and switches."""
        return len(self.run.network.nodes)

    @cached_property
    def connections(self) -> int:
        """Connections of the workload."""
        return self.lowering.connections(self.run.workload)

    @property
    def users(self) -> int:
        """Number of users that the application has registered."""
        return self.lowering.registered_users(self.run.workload)

    @property
    def measured_samples(self) -> float:
        """The workload's samples in the measuring phase, over all connections."""
        if isinstance(self._measure.until, wire.UntilTime) and not self._unit_seconds:
            return math.inf
        each = self.lowering.samples_per_count(self.run.workload)
        return each * self._counted(self._measure)

    @cached_property
    def _measure(self) -> wire.Phase:
        return next(phase for phase in self.run.phases if phase.kind == "measure")

    @cached_property
    def record_bytes(self) -> int:
        """Size of the run's record, samples included."""
        network, phases = self.run.network, len(self.run.phases)
        edges = 1 + _EDGE_SHARE * max(phases - 1, 0)
        counters = len(network.nodes) * _NODE_BYTES + 2 * len(network.links) * _PORT_BYTES
        connections = self.connections * _CONNECTION_BYTES
        seconds, counted = self._phase_seconds(self._measure), self._counted(self._measure)
        samples = self.lowering.sample_bytes(self.run.workload, counted, seconds)
        whole = _RUN_BYTES + counters * edges + connections + samples
        return round(whole + self.series_bytes + self._probe_bytes)

    @cached_property
    def _loads(self) -> list[Load]:
        return list(self.lowering.loads(self.run.workload))

    @cached_property
    def _packets_per_unit(self) -> int:
        return sum(
            load.times * self._packets_of(load.source, load.target, load.size_bytes)
            for load in self._loads
        )

    def _packets_of(self, source: str, target: str, size_bytes: int) -> int:
        mtu = self.routes.route(source, target).mtu_bytes
        payload = _LOCAL_SEGMENT_BYTES if mtu is None else payload_bytes(mtu, timestamps=True)
        return segments_of(size_bytes, payload)

    @cached_property
    def _unit_seconds(self) -> float:
        """Time of one sample of the workload: the time of the busiest port, CPU, bus or disk, or
        the workload's own waiting time if that is longer."""
        bytes_by_port: Counter[tuple[str, str]] = Counter()
        rates: dict[tuple[str, str], int] = {}
        for load in self._loads:
            for port, link in self.routes.route(load.source, load.target).hops:
                bytes_by_port[port.node, port.name] += load.times * load.size_bytes
                rates[port.node, port.name] = carries_bps(port, link)
        on_wire = max((size * 8 / rates[key] for key, size in bytes_by_port.items()), default=0.0)
        waiting = self.lowering.waiting_ns(self.run.workload, self.routes) / 1e9
        return max(on_wire, waiting, self._work_seconds)

    @property
    def _work_seconds(self) -> float:
        """Time of the busiest CPU, bus or disk of simulated hosts."""
        if not any(map(has_stations, self.run.network.groups)):
            return 0.0
        return busiest_seconds(
            self.routes,
            self._loads,
            self.lowering.files(self.run.workload),
            lambda load: self._packets_of(load.source, load.target, load.size_bytes),
        )

    @cached_property
    def _units(self) -> float:
        """Samples of the workload over all phases in which it runs."""
        running = [phase for phase in self.run.phases if phase.kind in ("warm-up", "measure")]
        return sum(self._counted(phase) for phase in running)

    def _counted(self, phase: wire.Phase) -> float:
        if isinstance(phase.until, wire.UntilCount):
            return phase.until.count
        seconds = self._phase_seconds(phase)
        return seconds / self._unit_seconds if self._unit_seconds else 0.0

    def seconds_of(self, kind: wire.PhaseKind) -> float:
        """Duration of the phase of this kind; 0 if the run has no such phase."""
        return sum(self._phase_seconds(phase) for phase in self.run.phases if phase.kind == kind)

    def probes_in(self, kind: wire.PhaseKind) -> float:
        """Requests of the probe in a phase, over all pairs."""
        if self.run.probe is None:
            return 0.0
        each = self.seconds_of(kind) * 1e9 / self.run.probe.every_ns
        return each * pair_count(self.run.workload)

    def _phase_seconds(self, phase: wire.Phase) -> float:
        match phase.until:
            case wire.UntilTime():
                return phase.until.ns / 1e9
            case wire.UntilCount():
                return phase.until.count * self._unit_seconds
            case None:
                return 0.0

    @cached_property
    def _probes(self) -> float:
        """Number of the probe's requests between one pair."""
        probe = self.run.probe
        return 0.0 if probe is None else self.seconds * 1e9 / probe.every_ns

    @cached_property
    def _probe_packets(self) -> int:
        probe = self.run.probe
        if probe is None:
            return 0
        each = sum(
            self._packets_of(client, server, probe.request_bytes)
            + self._packets_of(server, client, probe.response_bytes)
            for client, server in self.run.workload.roles.pairs
        )
        return round(each * self._probes)

    @property
    def _probe_bytes(self) -> float:
        if self.run.probe is None:
            return 0.0
        pairs = len(list(self.run.workload.roles.pairs))
        return pairs * len(self.run.phases) * _PROBE_BYTES

    @property
    def series_bytes(self) -> float:
        """Size of the samplers' samples over all phases: one for each connection or port at each
        interval."""
        per_sample = {"tcp": self.connections, "ports": 2 * len(self.run.network.links)}
        samples = sum(
            (per_sample.get(one.kind, 1) if one.port is None else 1) / one.every_ns
            for one in self.run.instruments
        )
        return self.seconds * 1e9 * samples * _SAMPLE_BYTES
