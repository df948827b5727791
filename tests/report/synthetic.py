"""Plans and records made up for tests of analysis and report: shaped like incast, not simulated.

More servers drop more packets, drops cause retransmissions, some of them wait for a timeout, and
each iteration with a timeout takes one minimum RTO longer. Everything follows from the seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from netstudy.analysis.cells import CellTable, pool
from netstudy.wire import (
    Check,
    HostGroup,
    Incast,
    IngressQueued,
    IterationSamples,
    Level,
    Link,
    Network,
    Nic,
    Phase,
    Plan,
    Run,
    RunRecord,
    SharedMemory,
    Switch,
    Tcp,
    Treatment,
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


def network(switch: str, servers: int) -> Network:
    """A star of 10 Gbit/s links around one of the two kinds of switch."""
    buffer: SharedMemory | IngressQueued = SharedMemory(
        pool_bytes=435_000, ingress_guarantee_frames=1
    )
    if switch == "nexus-5010":
        buffer = IngressQueued(ingress_buffer_bytes=88_000, random_arbitration_pct=75)
    tcp, nic = Tcp(profile="linux-2.6.18"), Nic()
    return Network(
        hosts=(
            HostGroup(name="client", count=1, profile="ucs-c200", tcp=tcp, nic=nic),
            HostGroup(name="server", count=servers, profile="ucs-c200", tcp=tcp, nic=nic),
        ),
        switch=Switch(profile=switch, ports=24, buffer=buffer),
        links=(
            Link(between=("client", "switch"), rate_bps=RATE, delay_ns=1000, mtu_bytes=MTU),
            Link(between=("server", "switch"), rate_bps=RATE, delay_ns=1000, mtu_bytes=MTU),
        ),
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
    text = f"{sorted(treatment.items())}/{replicate}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    count = servers if servers is not None else int(treatment.get("servers", 4))
    name = switch if switch is not None else str(treatment.get("switch", "arista-7124s"))
    return Run(
        id=digest[:12],
        cases=tuple(cases),
        treatment=treatment,
        replicate=replicate,
        seed=digest[-16:],
        network=network(name, count),
        workload=Incast(
            client="client",
            servers="server",
            block_bytes=BLOCK,
            iterations=iterations,
            warmup_iterations=10,
        ),
    )


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
    return Plan(schema="netstudy/plan/1", study="incast", seed=1, runs=runs)


def record(planned: Run) -> RunRecord:
    """A made-up outcome of a run."""
    rng = np.random.default_rng(int(planned.seed, 16))
    iterations = planned.workload.iterations
    servers = planned.network.hosts[1].count
    switch = planned.network.switch.profile
    burden = max(0, servers - 1)
    drops = rng.poisson(DROPS_A_SERVER.get(switch, 3.0) * burden, iterations)
    timeouts = rng.poisson(WAITS_A_SERVER.get(switch, 0.005) * burden, iterations)
    wire = servers * BLOCK * 8 / RATE * 1e3 * 1.02
    spread = rng.gamma(4.0, 0.02, iterations) * wire
    completion_ms = wire + spread + RTO_MS * (timeouts > 0) + 0.01 * drops
    return from_samples(planned, completion_ms, drops, drops, timeouts)


def from_samples(
    planned: Run,
    completion_ms: Iterable[float],
    drops: Iterable[int],
    retransmissions: Iterable[int],
    timeouts: Iterable[int],
) -> RunRecord:
    """A record that holds exactly these samples."""
    completion = tuple(round(float(ms) * 1e6) for ms in completion_ms)
    total = planned.network.hosts[1].count * BLOCK * len(completion)
    return RunRecord(
        run=planned.id,
        treatment=planned.treatment,
        replicate=planned.replicate,
        seed=planned.seed,
        status="ok",
        checks=(Check(law="bytes in = bytes out", holds=True, detail=f"{total} B"),),
        measure=Phase(start_ns=0, end_ns=sum(completion)),
        bytes_received=total,
        iterations=IterationSamples(
            completion_ns=completion,
            dropped_packets=tuple(int(v) for v in drops),
            retransmissions=tuple(int(v) for v in retransmissions),
            timeouts=tuple(int(v) for v in timeouts),
        ),
        counters={"switch.client": {"frames_dropped": sum(int(v) for v in drops)}},
    )


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
