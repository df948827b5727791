"""The samplers' time series, in the form that the record has: by node, port or connection."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterator, Sequence

from netstudy import wire
from netstudy.testbed.real.counters import (
    HOST_CPU,
    NAMESPACE_CPU,
    PROCESS_CPU,
    QUEUE_DROPS,
    WAITED,
    Owner,
    owner,
)
from netstudy.testbed.real.evidence import AgentEvidence, Evidence
from netstudy.testbed.real.wire import ConnectionSeriesRecord, SamplesRecord


def series(evidence: Evidence) -> tuple[wire.Series, ...]:
    """All series, from the start of the run to its end."""
    return (
        *_of_hosts(evidence),
        *_of_connections(evidence),
        *_of_ports(evidence),
        *_of_polls(evidence),
    )


def _of_hosts(evidence: Evidence) -> Iterator[wire.Series]:
    """Counters of hosts and of their interfaces; a machine's counters are taken from the first
    sampler on it."""
    machines: set[str] = set()
    for agent in evidence.agents.values():
        for record in agent.all_of(SamplesRecord):
            machine = evidence.machines[agent.host]
            of_machine = _host_series(record, "machine", machine, None)
            if machine not in machines and machine != agent.host:
                machines.add(machine)
                yield of_machine
            if evidence.hosts[agent.host] is agent:
                own = _own_series(record, evidence.agents_of(agent.host))
                # A host that has the name of its machine has one series for both.
                more = of_machine.values if machine == agent.host else {}
                yield own.model_copy(update={"values": {**more, **own.values}})
            yield _host_series(record, "interface", agent.host, agent.interface)


def _host_series(record: SamplesRecord, whose: Owner, node: str, port: str | None) -> wire.Series:
    values = {
        name: column
        for name, column in record.values.items()
        if owner(name) == whose or (whose == "interface" and name == QUEUE_DROPS)
    }
    return wire.Series(node=node, port=port, instrument="host", at_ns=record.at_ns, values=values)


def _own_series(record: SamplesRecord, agents: list[AgentEvidence]) -> wire.Series:
    """Counters of a host as read by its first agent, and the CPU time of all its agents."""
    series = _host_series(record, "host", agents[0].host, None)
    left_out = (PROCESS_CPU, *WAITED)
    values = {name: column for name, column in series.values.items() if name not in left_out}
    if (of_all := values.pop(NAMESPACE_CPU, None)) is not None:
        return series.model_copy(update={"values": values | {HOST_CPU: of_all}})
    sampled = [agent.all_of(SamplesRecord) for agent in agents]
    if all(sampled):
        each = [_nearest(record.at_ns, one[0]) for one in sampled]
        values[HOST_CPU] = tuple(_sum(parts) for parts in zip(*each, strict=True))
    return series.model_copy(update={"values": values})


def _nearest(at_ns: Sequence[int], record: SamplesRecord) -> list[int | None]:
    """The CPU time of an agent at each instant, taken from the nearest sample; None if no sample is
    within half an interval. Agents start one after the other, so they do not sample at the same
    instants."""
    own = record.at_ns
    column = record.values.get(PROCESS_CPU, ())
    if not column:
        return [None] * len(at_ns)
    several = len(at_ns) > 1
    half_ns = (at_ns[-1] - at_ns[0]) / (len(at_ns) - 1) / 2 if several else math.inf
    found: list[int | None] = []
    for instant in at_ns:
        after = bisect(own, instant)
        places = [place for place in (after - 1, after) if 0 <= place < len(own)]
        place = min(places, key=lambda place: abs(own[place] - instant))
        found.append(column[place] if abs(own[place] - instant) <= half_ns else None)
    return found


def _sum(parts: Sequence[int | None]) -> int | None:
    return None if None in parts else sum(part for part in parts if part is not None)


def _of_connections(evidence: Evidence) -> Iterator[wire.Series]:
    """Series of the workload's connections, from each end that samples them. The probe's
    connections are left out."""
    for agent in evidence.agents.values():
        for record in agent.all_of(ConnectionSeriesRecord):
            row = _row(agent, record)
            if row in evidence.specs.workload:
                values: dict[str, tuple[int | None, ...]] = dict(record.values)
                yield wire.Series(
                    node=agent.spec.node,
                    connection=row,
                    instrument="tcp",
                    at_ns=record.at_ns,
                    values=values,
                )


def _row(agent: AgentEvidence, record: ConnectionSeriesRecord) -> int:
    return agent.spec.rows[record.connection]


def _of_ports(evidence: Evidence) -> Iterator[wire.Series]:
    for record in evidence.switch.samples:
        values: dict[str, tuple[int | None, ...]] = dict(record.values)
        yield wire.Series(
            node=record.switch,
            port=record.port,
            instrument="ports",
            at_ns=record.at_ns,
            values=values,
        )


def _of_polls(evidence: Evidence) -> Iterator[wire.Series]:
    """Series of the ports that the plan polls. Polls by another clock than that of the switch's
    other times are left out. A poll without an answer has no values. If
    `discontinuities` grows between two polls, the growth of the other counters between them is not
    known."""
    asked = {(one.node, one.port) for one in evidence.run.instruments if one.kind == "snmp"}
    for polls in evidence.polls:
        for one in polls.samples:
            if (polls.switch, one.port) in asked and evidence.is_by_its_clock(polls):
                course = polls.course(one.port)
                yield wire.Series(
                    node=polls.switch,
                    port=one.port,
                    instrument="snmp",
                    at_ns=course.at_ns,
                    values=dict(course.values),
                )
