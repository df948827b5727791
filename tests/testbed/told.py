"""What processes of a run would say, made by hand: evidence for what is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from netstudy import wire
from netstudy.testbed.real.agent_specs import AgentSpec, agent_specs
from netstudy.testbed.real.clocks import Clocks
from netstudy.testbed.real.evidence import (
    AgentEvidence,
    Evidence,
    KernelSwitch,
    Readings,
    SwitchEvidence,
)
from netstudy.testbed.real.wire import AgentRecord, ConnectionCounters, SnapshotRecord

EDGES = (wire.MEASURE_START, wire.MEASURE_END)
NO_SWITCH = KernelSwitch({})


def evidence(
    run: wire.Run,
    records: Mapping[str, Sequence[AgentRecord]],
    grown: Mapping[str, Mapping[str, int]] | None = None,
    *,
    delivered: Mapping[str, int] | None = None,
    tcp: Mapping[str, Mapping[str, int]] | None = None,
    switch: SwitchEvidence = NO_SWITCH,
    measure: tuple[int, int] = (0, 1_000_000_000),
    observers: Sequence[str] = (),
    unreported: Sequence[str] = (),
) -> Evidence:
    """Evidence of a run whose agents wrote such records; `grown` and `delivered` say, by endpoint,
    what counters of the host grew by in the measuring phase, and what each of its connections
    received; `tcp`, what further counters of TCP_INFO grew by. `observers` are hosts without
    traffic whose counters are read. No kernel reports the `unreported` counters of TCP_INFO."""
    specs = replace(
        agent_specs(run.workload.connected, probed=run.probe is not None),
        observers=tuple(AgentSpec(host, "observer") for host in observers),
    )
    phase = wire.PhaseTimes(kind="measure", start_ns=measure[0], end_ns=measure[1])
    return Evidence(
        run=run,
        specs=specs,
        agents={
            spec: AgentEvidence(
                spec,
                host=spec.node,
                interface="eth0",
                device="eth0",
                snapshots={
                    edge: _snapshot(
                        edge,
                        spec,
                        (grown or {}).get(spec.endpoint, {}),
                        (delivered or {}).get(spec.endpoint, 0),
                        (tcp or {}).get(spec.endpoint, {}),
                        unreported,
                    )
                    for edge in EDGES
                },
                records=tuple(records.get(spec.endpoint, ())),
            )
            for spec in specs.all
        },
        switch=switch,
        edges=EDGES,
        phases=(phase,),
        tick_ns=4_000_000,
        clocks=Clocks({node.name: "machine" for node in run.network.nodes}),
        machines={node.name: "machine" for node in run.network.nodes},
    )


def _snapshot(
    edge: str,
    spec: AgentSpec,
    grown: Mapping[str, int],
    delivered: int,
    tcp: Mapping[str, int],
    unreported: Sequence[str],
) -> SnapshotRecord:
    ended = edge == wire.MEASURE_END
    tcp = {"tcp_bytes_received": delivered, "retransmissions": 0, "timeouts": 0, **tcp}
    return SnapshotRecord(
        name=edge,
        at_ns=0,
        counters={name: value * ended for name, value in grown.items()},
        gauges={},
        missing={},
        connections=tuple(
            ConnectionCounters(
                connection=number,
                bytes_received=delivered * ended,
                bytes_sent=0,
                tcp={n: value * ended for n, value in tcp.items() if n not in unreported},
            )
            for number in range(len(spec.rows))
        ),
        cost_ns=0,
        raw={},
    )


def queues(counted: Mapping[str, Mapping[str, int]], switch: str = "switch") -> KernelSwitch:
    """A switch whose ports counted that much in the measuring phase."""
    nothing = {port: dict.fromkeys(values, 0) for port, values in counted.items()}
    return KernelSwitch(
        {
            wire.MEASURE_START: Readings(0, {switch: nothing}),
            wire.MEASURE_END: Readings(1, {switch: counted}),
        }
    )
