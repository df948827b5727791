"""What samplers read, as the record has it: by node, port or connection."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy import wire
from netstudy.testbed.real.counters import Owner, owner
from netstudy.testbed.real.evidence import AgentEvidence, Evidence
from netstudy.testbed.real.wire import ConnectionSeriesRecord, SamplesRecord


def series(evidence: Evidence) -> tuple[wire.Series, ...]:
    """Everything that was sampled, from the start of the run to its end."""
    return (*_of_hosts(evidence), *_of_connections(evidence), *_of_ports(evidence))


def _of_hosts(evidence: Evidence) -> Iterator[wire.Series]:
    """A host's own counters and those of its interface; the machine's as the first sampler has
    them."""
    machines: set[str] = set()
    for agent in evidence.agents.values():
        for record in agent.all_of(SamplesRecord):
            if evidence.machine not in machines:
                machines.add(evidence.machine)
                yield _host_series(record, "machine", evidence.machine, None)
            if evidence.hosts[agent.host] is agent:
                yield _host_series(record, "host", agent.host, None)
            yield _host_series(record, "interface", agent.host, agent.interface)


def _host_series(record: SamplesRecord, whose: Owner, node: str, port: str | None) -> wire.Series:
    values = {name: column for name, column in record.values.items() if owner(name) == whose}
    return wire.Series(node=node, port=port, instrument="host", at_ns=record.at_ns, values=values)


def _of_connections(evidence: Evidence) -> Iterator[wire.Series]:
    """Those of the workload and of no probe, at each end that samples its own."""
    for agent in evidence.agents.values():
        for record in agent.all_of(ConnectionSeriesRecord):
            row = _row(agent, record)
            if row in evidence.cast.workload:
                values: dict[str, tuple[int | None, ...]] = dict(record.values)
                yield wire.Series(
                    node=agent.part.node,
                    connection=row,
                    instrument="tcp",
                    at_ns=record.at_ns,
                    values=values,
                )


def _row(agent: AgentEvidence, record: ConnectionSeriesRecord) -> int:
    return agent.part.rows[record.connection]


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
