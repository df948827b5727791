"""Plans and records made up for tests of analysis and report: shaped like incast, not simulated.

More servers drop more packets, drops cause retransmissions, some of them wait for a timeout, and
each iteration with a timeout takes one minimum RTO longer. Everything follows from the seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from netstudy.analysis.cells import CellTable, pool
from netstudy.buffers import IngressQueued, SharedMemory
from netstudy.wire import (
    Check,
    ConnectionSamples,
    Edge,
    Group,
    Host,
    Incast,
    IterationSamples,
    Level,
    Link,
    Network,
    Nic,
    Phase,
    PhaseTimes,
    Plan,
    Port,
    RecordNode,
    Roles,
    Run,
    RunRecord,
    Samples,
    Switch,
    Tcp,
    Treatment,
    UntilCount,
)

BLOCK = 4_000_000
MTU = 9000
RATE = 10_000_000_000
RTO_MS = 200.0
SWITCHES = ("arista-7124s", "nexus-5010")
DROPS_A_SERVER = {"arista-7124s": 24.0, "nexus-5010": 7.0}
WAITS_A_SERVER = {"arista-7124s": 0.06, "nexus-5010": 0.015}


@dataclass
class FakeFolder:
    """What analysis needs of a results folder, in memory."""

    made_plan: Plan
    made_records: list[RunRecord] = field(default_factory=list)

    def plan(self) -> Plan:
        return self.made_plan

    def records(self) -> list[RunRecord]:
        return self.made_records

    def record(self, run: str) -> RunRecord | None:
        return next((one for one in self.made_records if one.run == run), None)


def members(group: str, count: int) -> tuple[str, ...]:
    """A single host bears the group's name, several have numbers."""
    return (group,) if count == 1 else tuple(f"{group}-{n}" for n in range(1, count + 1))


def link(host: str, switch: str = "switch", rate_bps: int = RATE, mtu_bytes: int = MTU) -> Link:
    """A link between a host, or a switch, and a switch; ports bear the peer's name there."""
    return Link(
        a=Port(node=host, name="eth0" if "switch" not in host else switch, rate_bps=rate_bps),
        b=Port(node=switch, name=host, rate_bps=rate_bps),
        delay_ns=1000,
        mtu_bytes=mtu_bytes,
    )


def network(switch: str, servers: int) -> Network:
    """A star of 10 Gbit/s links around one of the two kinds of switch."""
    buffer: SharedMemory | IngressQueued = SharedMemory(
        pool_bytes=435_000, ingress_guarantee_frames=1
    )
    if switch == "nexus-5010":
        buffer = IngressQueued(ingress_buffer_bytes=88_000, random_arbitration_pct=75)
    tcp, nic = Tcp(profile="linux-2.6.18"), Nic()
    hosts = [("client", "client"), *(("server", name) for name in members("server", servers))]
    return Network(
        groups=tuple(
            Group(name=name, profile="ucs-c200", tcp=tcp, nic=nic) for name in ("client", "server")
        ),
        nodes=(
            *(Host(name=name, group=group) for group, name in hosts),
            Switch(name="switch", profile=switch, ports=24, buffer=buffer),
        ),
        links=tuple(link(name) for _, name in hosts),
    )


def phases(warm_up: int, measure: int) -> tuple[Phase, ...]:
    """A warm-up and a measuring phase by counts."""
    return (
        Phase(kind="warm-up", until=UntilCount(count=warm_up)),
        Phase(kind="measure", until=UntilCount(count=measure)),
    )


def run(
    treatment: Treatment,
    replicate: int = 1,
    *,
    iterations: int = 200,
    cases: Sequence[str] = ("main",),
    switch: str | None = None,
    servers: int | None = None,
) -> Run:
    """A planned run; switch and servers follow from the treatment unless given."""
    count = servers if servers is not None else int(treatment.get("servers", 4))
    name = switch if switch is not None else str(treatment.get("switch", "arista-7124s"))
    roles = Roles(client=("client",), server=members("server", count))
    return planned(
        treatment,
        replicate,
        network=network(name, count),
        workload=Incast(roles=roles, block_bytes=BLOCK),
        phases=phases(10, iterations),
        cases=tuple(cases),
    )


def planned(treatment: Treatment, replicate: int, **what: Any) -> Run:
    """A planned run whose id and seed follow from treatment and replicate."""
    text = f"{sorted(treatment.items())}/{replicate}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    found = {"id": digest[:12], "seed": digest[-16:], "cases": ("main",), **what}
    return Run(treatment=treatment, replicate=replicate, **found)


def plan_of(runs: Iterable[Run], study: str = "s") -> Plan:
    """A plan of these runs."""
    return Plan(study, 1, tuple(runs))


def incast_plan(
    servers: Sequence[int] = range(1, 24),
    *,
    switches: Sequence[str] = SWITCHES,
    replicates: int = 5,
    iterations: int = 200,
) -> Plan:
    """Two switches against a range of servers, as the incast study has it."""
    runs = tuple(
        run(
            {"switch": switch, "configuration": "4 MB", "servers": n},
            replicate,
            iterations=iterations,
        )
        for replicate in range(1, replicates + 1)
        for switch in switches
        for n in servers
    )
    return plan_of(runs, "incast")


def record(planned: Run) -> RunRecord:
    """A made-up outcome of a run."""
    rng = np.random.default_rng(int(planned.seed, 16))
    iterations = planned.count("measure")
    servers = server_count(planned)
    switch = planned.network.switches[0].profile
    burden = max(0, servers - 1)
    drops = rng.poisson(DROPS_A_SERVER.get(switch, 3.0) * burden, iterations)
    timeouts = rng.poisson(WAITS_A_SERVER.get(switch, 0.005) * burden, iterations)
    wire = servers * BLOCK * 8 / RATE * 1e3 * 1.02
    spread = rng.gamma(4.0, 0.02, iterations) * wire
    completion_ms = wire + spread + RTO_MS * (timeouts > 0) + 0.01 * drops
    return from_samples(planned, completion_ms, drops, drops, timeouts)


def server_count(planned: Run) -> int:
    """Servers of a run."""
    return len(planned.workload.roles.server)


def from_samples(
    planned: Run,
    completion_ms: Iterable[float],
    drops: Iterable[int],
    retransmissions: Iterable[int],
    timeouts: Iterable[int],
) -> RunRecord:
    """A record that holds exactly these samples."""
    completion = tuple(round(float(ms) * 1e6) for ms in completion_ms)
    again, late = (tuple(int(v) for v in values) for values in (retransmissions, timeouts))
    dropped = tuple(int(v) for v in drops)
    each = BLOCK * len(completion)
    roles = planned.workload.roles
    n = len(roles.server)
    return RunRecord(
        run=planned.id,
        treatment=planned.treatment,
        replicate=planned.replicate,
        seed=planned.seed,
        status="ok",
        checks=(Check(law="bytes in = bytes out", holds=True, detail=f"{n * each} B"),),
        nodes=nodes(planned),
        phases=(PhaseTimes(kind="measure", start_ns=0, end_ns=sum(completion)),),
        samples=Samples(
            iteration=IterationSamples(
                completion_ns=completion,
                dropped_packets=dropped,
                retransmissions=again,
                timeouts=late,
            ),
            connection=ConnectionSamples(
                client=roles.client * n,
                server=roles.server,
                bytes_received=(each,) * n,
                bytes_sent=(64 * len(completion),) * n,
                busy_ns=(0,) * n,  # not made up: an index of fairness is missing
                retransmissions=split(sum(again), n),
                timeouts=split(sum(late), n),
            ),
        ),
        edges=edges(0, sum(completion)),
        ports={"switch": {"client": {"frames_dropped": (0, sum(dropped))}}},
    )


def split(total: int, parts: int) -> tuple[int, ...]:
    """A total in whole parts that differ by at most one."""
    return tuple(total // parts + (n < total % parts) for n in range(parts))


def edges(start_ns: int, end_ns: int) -> tuple[Edge, ...]:
    """The edges of the measuring phase."""
    return (
        Edge(name="measure-start", at_ns=start_ns),
        Edge(name="measure-end", at_ns=end_ns),
    )


def nodes(planned: Run, clock: str = "simulation") -> dict[str, RecordNode]:
    """The nodes of a run, all by one clock."""
    return {
        node.name: RecordNode(kind=node.kind, group=getattr(node, "group", node.name), clock=clock)
        for node in planned.network.nodes
    }


def failed(planned: Run, error: str = "the engine ran out of memory") -> RunRecord:
    return RunRecord(
        run=planned.id,
        treatment=planned.treatment,
        replicate=planned.replicate,
        seed=planned.seed,
        status="failed",
        error=error,
    )


def invalid(planned: Run) -> RunRecord:
    """A run with all its samples that lost a byte on the way."""
    broken = (Check(law="bytes in = bytes out", holds=False, detail="one byte is missing"),)
    return record(planned).model_copy(update={"status": "invalid", "checks": broken})


def folder(
    plan: Plan,
    change: Mapping[str, Callable[[Run], RunRecord | None]] | None = None,
) -> FakeFolder:
    """Records for every run of a plan; `change` replaces or leaves out those of some run ids."""
    makers = change or {}
    made = [makers.get(planned.id, record)(planned) for planned in plan.runs]
    return FakeFolder(plan, [one for one in made if one is not None])


def pooled(made: FakeFolder, levels: Mapping[str, Sequence[Level]] | None = None) -> CellTable:
    """The cells of a folder in memory."""
    return pool(made.plan(), made.records(), levels)
