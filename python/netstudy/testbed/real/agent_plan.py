"""The plan of each agent of a run: its role, the addresses of its peers, its instruments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address

from netstudy import wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.accounts.looks import looks_interval_ms
from netstudy.testbed.real.agent_specs import AgentSpec
from netstudy.testbed.real.place import Place
from netstudy.testbed.real.setting import Setting
from netstudy.testbed.workloads import traffic_of
from netstudy.testbed.workloads.base import ApplicationTraffic

PROGRESS_MS = 1_000
"""Interval of a client's progress records. Each record costs the client some microseconds."""

Listening = Mapping[AgentSpec, tuple[agent_wire.Endpoint, ...]]
"""The endpoints on which servers listen."""


def agent_plan(
    setting: Setting, spec: AgentSpec, token: str, listening: Listening, port: int | None = None
) -> agent_wire.AgentPlan:
    """The plan of an agent, which is the first line that it reads; `port` is the port of the run's
    application."""
    run = setting.run
    is_client = spec.role == "client"
    return agent_wire.AgentPlan(
        run=run.id,
        node=setting.process_name(spec),
        token=token,
        time_limit_ms=setting.time_limits.run_ms,
        silence_limit_ms=int(1_000 * setting.time_limits.server_silence_s) if is_client else None,
        progress_interval_ms=PROGRESS_MS if is_client else None,
        cpu=setting.place.agent_cpu(spec.node),
        socket=setting.place.address(spec.endpoint).socket,
        instruments=_instruments(setting, spec),
        ports=setting.place.ports,
        connections=tuple(_connections(setting, spec, listening)),
        workload=_workload(setting, spec, port),
        probe=_probe(run, spec),
    )


def _workload(setting: Setting, spec: AgentSpec, port: int | None) -> agent_wire.AgentWorkload:
    run, traffic = setting.run, traffic_of(setting.run.workload)
    match spec.role:
        case "client" if isinstance(traffic, ApplicationTraffic):
            assert port is not None, "the application runs before it is asked"
            host = traffic.served(run).host
            own, other = setting.routes.reached(spec.endpoint, host) or (spec.endpoint, host)
            local, target = (IPv4Address(setting.place.address(one).ip) for one in (own, other))
            endpoint = agent_wire.Endpoint(address=target, port=port)
            return traffic.generator(run, spec, local, endpoint)
        case "client":
            return _in_folder(traffic.client(run, spec), setting.place, spec.node)
        case "server":
            return _in_folder(traffic.server(run, spec), setting.place, spec.node)
        case "observer":
            return agent_wire.Observer()


def _in_folder(
    workload: agent_wire.AgentWorkload, place: Place, node: str
) -> agent_wire.AgentWorkload:
    """The workload, with files in the folder of the host."""
    if not isinstance(workload, agent_wire.FtpClient | agent_wire.FtpServer):
        return workload
    if not isinstance(workload.store, agent_wire.FolderStore):
        return workload
    folder = place.folder(node, workload.store.folder)
    store = workload.store.model_copy(update={"folder": folder})
    return workload.model_copy(update={"store": store})


def _connections(
    setting: Setting, spec: AgentSpec, listening: Listening
) -> Iterator[agent_wire.ConnectionPlan]:
    place, specs = setting.place, setting.specs
    local = IPv4Address(place.address(spec.endpoint).ip)
    for row in spec.rows:
        one = specs.connections[row]
        if spec.role == "server":
            peer = IPv4Address(place.address(one.client).ip)
            yield agent_wire.AcceptConnection(local=local, peer=peer)
            continue
        server, number = specs.end(row, "server")
        (endpoint,) = listening[server]
        yield agent_wire.OpenConnection(local=local, peer=endpoint, peer_number=number)


def _instruments(setting: Setting, spec: AgentSpec) -> agent_wire.InstrumentPlan:
    """Only the first agent in a host samples the host's counters; every agent samples its own
    connections."""
    place, address = setting.place, setting.place.address(spec.endpoint)
    host = address.stack
    inside = [one for one in setting.specs.all if place.address(one.endpoint).stack == host]
    return agent_wire.InstrumentPlan(
        counters_interval_ms=_interval_ms(setting.run, "host", {host, spec.node})
        if inside[0] == spec
        else None,
        connections_interval_ms=_interval_ms(setting.run, "tcp", {spec.node}),
        interfaces=(address.device,),
        looks_interval_ms=looks_interval_ms(spec) if _is_looked_at(setting.run, spec) else None,
        namespace_cpu=setting.served is not None
        and host in setting.served.hosts
        and inside[0] == spec,
    )


def _is_looked_at(run: wire.Run, spec: AgentSpec) -> bool:
    """Whether an agent looks at its connections, which a generator of an application's load has
    none of."""
    role = spec.role
    return role != "observer" and bool(spec.own) and traffic_of(run.workload).is_looked_at(role)


def _interval_ms(run: wire.Run, kind: wire.InstrumentKind, nodes: set[str]) -> int | None:
    asked = [one.every_ns for one in run.instruments if one.kind == kind and one.node in nodes]
    return max(1, min(asked) // 1_000_000) if asked else None


def _probe(run: wire.Run, spec: AgentSpec) -> agent_wire.ProbePlan | None:
    if run.probe is None or spec.role == "observer":
        return None
    probe, connections = run.probe, len(spec.probes)
    if spec.role == "server":
        return agent_wire.ProbeServer(
            connections=connections,
            request_bytes=probe.request_bytes,
            response_bytes=probe.response_bytes,
        )
    idle = run.until("idle")
    return agent_wire.ProbeClient(
        connections=connections,
        request_bytes=probe.request_bytes,
        response_bytes=probe.response_bytes,
        interval_ns=probe.every_ns,
        idle_ns=idle.ns if isinstance(idle, wire.UntilTime) else 0,
    )
