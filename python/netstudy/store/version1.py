"""Plans and records of version 1, converted to version 2 when they are read.

A plan of version 1 was one incast on one star: groups of hosts, each host with a link to the one
switch. Its record held the growth of counters over the measuring phase, by group. No code outside
the store knows that there were two versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from netstudy import wire
from netstudy.wire import (
    MEASURE_END,
    MEASURE_START,
    ConnectionSamples,
    Edge,
    IterationSamples,
    PhaseTimes,
    Readings,
    RecordNode,
    Samples,
)

SWITCH: Final = "switch"
"""The only switch of a version 1 network; its ports were `switch.` and the name of a group."""
_PLAN = re.compile(rb'\s*\{\s*"schema"\s*:\s*"netstudy/plan/1"')


def is_version1(plan: bytes) -> bool:
    """Whether the text of a plan is of version 1, as then is everything that belongs to it."""
    return _PLAN.match(plan) is not None


class _Old(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Group(wire.Group):
    count: int = Field(ge=1)

    def members(self) -> tuple[str, ...]:
        """A single host has the group's name, several are called name-1, name-2 …"""
        if self.count == 1:
            return (self.name,)
        return tuple(f"{self.name}-{number}" for number in range(1, self.count + 1))


class _Link(_Old):
    between: tuple[str, str]
    rate_bps: int
    delay_ns: int
    mtu_bytes: int


class _Network(_Old):
    hosts: tuple[_Group, ...]
    switch: dict[str, Any]
    links: tuple[_Link, ...]
    shared_clock: bool = False

    def group(self, name: str) -> _Group:
        return next(group for group in self.hosts if group.name == name)


class _Incast(_Old):
    kind: Literal["incast"]
    client: str
    servers: str
    block_bytes: int
    striped: bool = False
    iterations: int
    warmup_iterations: int = 0
    request_bytes: int = 64
    request_spacing_ns: int = 0
    start_jitter: wire.Jitter = wire.NoJitter()


class _Run(_Old):
    id: str
    cases: tuple[str, ...]
    treatment: wire.Treatment
    replicate: int
    seed: str
    network: _Network
    workload: _Incast


class _Plan(_Old):
    schema_: Literal["netstudy/plan/1"] = Field(alias="schema")
    study: str
    seed: int
    runs: tuple[_Run, ...]


class _Engine(_Old):
    kind: Literal["engine"]
    schema_: Literal["netstudy/record/1"] = Field(alias="schema")
    version: str
    testbed: str


class _Connections(_Old):
    bytes_received: tuple[int, ...]
    receiving_ns: tuple[int, ...]
    retransmissions: tuple[int, ...]
    timeouts: tuple[int, ...]


class _Measure(_Old):
    start_ns: int
    end_ns: int


class _Record(_Old):
    kind: Literal["run"] = "run"
    run: str
    treatment: wire.Treatment
    replicate: int
    seed: str
    status: Literal["ok", "invalid", "failed"]
    mode: Literal["closed-form", "per-hop"] | None = None
    error: str | None = None
    checks: tuple[wire.Check, ...] = ()
    measure: _Measure | None = None
    bytes_received: int | None = None
    iterations: IterationSamples | None = None
    connections: _Connections | None = None
    counters: dict[str, dict[str, int]] = {}
    limits: tuple[wire.TestbedLimit, ...] = ()
    reconciliation: tuple[wire.Reconciliation, ...] = ()
    environment: dict[str, str] = {}
    scaled_by: str | None = None


def lifted_plan(text: bytes) -> wire.Plan:
    """The equivalent plan of version 2. Raises ValidationError."""
    old = _Plan.model_validate_json(text)
    return wire.Plan(
        schema=wire.PLAN_SCHEMA, study=old.study, seed=old.seed, runs=tuple(map(_run, old.runs))
    )


def _run(old: _Run) -> wire.Run:
    work, network = old.workload, old.network
    counts = [("warm-up", work.warmup_iterations), ("measure", work.iterations)]
    return wire.Run(
        id=old.id,
        cases=old.cases,
        treatment=old.treatment,
        replicate=old.replicate,
        seed=old.seed,
        network=_network(network),
        workload=wire.Incast(
            roles=wire.Roles(
                client=network.group(work.client).members(),
                server=network.group(work.servers).members(),
            ),
            block_bytes=work.block_bytes,
            striped=work.striped,
            request_bytes=work.request_bytes,
            request_spacing_ns=work.request_spacing_ns,
            start_jitter=work.start_jitter,
        ),
        phases=tuple(
            wire.Phase.model_validate({"kind": kind, "until": {"kind": "count", "count": count}})
            for kind, count in counts
            if count or kind == "measure"
        ),
    )


def _network(old: _Network) -> wire.Network:
    groups = {group.name: group for group in old.hosts}
    hosts = [
        wire.Host(name=name, group=group.name) for group in old.hosts for name in group.members()
    ]
    return wire.Network(
        groups=tuple(
            wire.Group.model_validate(group.model_dump(exclude={"count"})) for group in old.hosts
        ),
        nodes=(*hosts, wire.Switch.model_validate({"name": SWITCH, **old.switch})),
        links=tuple(
            _link(link, host)
            for link in old.links
            for end in link.between
            if end in groups
            for host in groups[end].members()
        ),
        shared_clock=old.shared_clock,
    )


def _link(old: _Link, host: str) -> wire.Link:
    return wire.Link(
        a=wire.Port(node=host, name="eth0", rate_bps=old.rate_bps),
        b=wire.Port(node=SWITCH, name=host, rate_bps=old.rate_bps),
        delay_ns=old.delay_ns,
        mtu_bytes=old.mtu_bytes,
    )


def lifted_engine(text: bytes) -> wire.EngineRecord:
    """The engine that wrote the records. Raises ValidationError."""
    old = _Engine.model_validate_json(text)
    return wire.EngineRecord(schema=wire.RECORD_SCHEMA, version=old.version, testbed=old.testbed)


def lifted_record(text: bytes, run: wire.Run) -> wire.RunRecord:
    """The equivalent record of version 2 for a run of a converted plan.

    Counters of a group become those of a node with the group's name; a growth becomes the readings
    0 and the growth at the edges of the measuring phase. Raises ValidationError.
    """
    old = _Record.model_validate_json(text)
    measured = old.measure is not None
    return wire.RunRecord(
        run=old.run,
        treatment=old.treatment,
        replicate=old.replicate,
        seed=old.seed,
        status=old.status,
        mode=old.mode,
        error=old.error,
        checks=old.checks,
        nodes=dict(_nodes(old, run)) if measured else {},
        phases=tuple(_phases(old)),
        samples=Samples(iteration=old.iterations, connection=_connections(old, run)),
        edges=tuple(_edges(old)),
        counters={
            node: _readings(grown) for node, grown in old.counters.items() if not _port(node)
        },
        ports=_ports(old.counters),
        limits=old.limits,
        reconciliation=old.reconciliation,
        environment=old.environment,
        scaled_by=old.scaled_by,
    )


def _nodes(old: _Record, run: wire.Run) -> Iterator[tuple[str, RecordNode]]:
    """The groups and the switch: a whole group counted as one."""
    clock = "machine" if old.mode is None else "simulation"
    for group in run.network.groups:
        yield group.name, RecordNode(kind="host", group=group.name, clock=clock)
    for switch in run.network.switches:
        yield switch.name, RecordNode(kind="switch", group=switch.name, clock=clock)


def _phases(old: _Record) -> Iterator[PhaseTimes]:
    if old.measure is not None:
        yield PhaseTimes(kind="measure", start_ns=old.measure.start_ns, end_ns=old.measure.end_ns)


def _edges(old: _Record) -> Iterator[Edge]:
    if old.measure is not None:
        yield Edge(name=MEASURE_START, at_ns=old.measure.start_ns)
        yield Edge(name=MEASURE_END, at_ns=old.measure.end_ns)


def _readings(grown: Mapping[str, int]) -> Readings:
    return {name: (0, value) for name, value in grown.items()}


def _port(node: str) -> str | None:
    """The port that a name of version 1 means; None: it means a group of hosts."""
    head, dot, port = node.partition(".")
    return port if head == SWITCH and dot else None


def _ports(counters: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, Readings]]:
    found = {port: _readings(grown) for node, grown in counters.items() if (port := _port(node))}
    return {SWITCH: found} if found else {}


def _connections(old: _Record, run: wire.Run) -> ConnectionSamples | None:
    """One row for each server, in the order of the plan."""
    client, servers = run.workload.roles.client[0], run.workload.roles.server
    if old.connections is not None and len(old.connections.bytes_received) == len(servers):
        counted = old.connections
        return ConnectionSamples(
            client=(client,) * len(servers),
            server=servers,
            bytes_received=counted.bytes_received,
            bytes_sent=(_requested(old, run),) * len(servers),
            busy_ns=counted.receiving_ns,
            retransmissions=counted.retransmissions,
            timeouts=counted.timeouts,
        )
    return _all_connections(old, run) if old.bytes_received is not None else None


def _all_connections(old: _Record, run: wire.Run) -> ConnectionSamples:
    """One row for the whole group of servers, if connections were not recorded separately. The busy
    time of each is unknown then, written as 0."""
    servers = run.workload.roles.server
    whole = next(host.group for host in run.network.hosts if host.name == servers[0])
    retransmissions = old.iterations.retransmissions if old.iterations else ()
    timeouts = old.iterations.timeouts if old.iterations else ()
    return ConnectionSamples(
        client=run.workload.roles.client[:1],
        server=(whole,),
        bytes_received=(old.bytes_received or 0,),
        bytes_sent=(_requested(old, run) * len(servers),),
        busy_ns=(0,),
        retransmissions=(sum(retransmissions),),
        timeouts=(sum(timeouts),),
    )


def _requested(old: _Record, run: wire.Run) -> int:
    """Bytes of the requests to one server: one request in each iteration."""
    assert isinstance(run.workload, wire.Incast), "version 1 had no other workload"
    done: Sequence[int] = old.iterations.completion_ns if old.iterations else ()
    return len(done) * run.workload.request_bytes
