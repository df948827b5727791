"""Counters of hosts at the start and end of phases, and which port, host or machine each counter
belongs to.

Counters of CPUs, memory, disks and backlog queues belong to the machine: all namespaces on it read
the same files, so these counters must not be added up over hosts. Counters of an interface belong
to its port, all others to the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal

from netstudy import wire
from netstudy.testbed.real.evidence import AgentEvidence, Evidence

Owner = Literal["machine", "interface", "host"]

_OF_THE_MACHINE = (
    "context_switches",
    "cpu_",
    "disk_",
    "interrupts",
    "major_page_faults",
    "memory_",
    "oom_kills",
    "page_faults",
    "paged_",
    "processes_",
    "soft_interrupts",
    "softnet_",
    "swap",
)
"""Names, or beginnings of names, of the machine's counters, which are the same in all
namespaces."""
PROCESS_CPU: Final = "process_cpu_ns"
"""An agent's counter of its own CPU time; the sum over all agents of a host is `host_cpu_ns`."""
NAMESPACE_CPU: Final = "namespace_cpu_ns"
"""CPU time of all processes of a host, agents included. On a host with an application,
`host_cpu_ns` is this counter."""
HOST_CPU: Final = "host_cpu_ns"
"""CPU time of all processes of a host: the agents, which carry the traffic and read the counters,
the application, and its database. Kernel time on behalf of a process is included; the time of soft
interrupts is not: the kernel accounts it separately (`cpu_softirq_ms` of the machine)."""
WAITED: Final = ("process_waited_ns", "namespace_waited_ns")
"""Time in which threads waited for a CPU: of an agent's threads that carry traffic, and of all
processes of a host. Only accounts of time use these counters; records do not have them."""
_OF_AN_INTERFACE = ("interface_", "qdisc_")
_OF_OPEN_CONNECTIONS: Final = (
    "acks_sent",
    "bytes_acked",
    "bytes_received",
    "bytes_retransmitted",
    "bytes_sent",
    "flow_",
    "segments_received",
    "segments_sent",
)
"""Names, or beginnings of names, of sums over all connections that a host has open, also of those
that are not the run's. A sum that has shrunk lost a connection, and its growth is not known."""
QUEUE_DROPS: Final = "nic_queue_drops"
"""Frames that the queue of an interface dropped. The interface has this counter, and its host has
the sum."""


def owner(name: str) -> Owner:
    """To whom a counter belongs, derived from its name."""
    if name.startswith(_OF_THE_MACHINE):
        return "machine"
    return "interface" if name.startswith(_OF_AN_INTERFACE) else "host"


def growth(agent: AgentEvidence, whose: Owner) -> dict[str, int]:
    """Growth over the measuring phase of the counters that belong to one port, host or machine.

    Agents already correct the wraparound of kernel counters. Without sums over open connections
    that have shrunk. Raises LookupError if another counter restarted during the phase, so that its
    growth is unknown.
    """
    before = agent.snapshots[wire.MEASURE_START].counters
    after = agent.snapshots[wire.MEASURE_END].counters
    grown = {
        name: value - before[name]
        for name, value in after.items()
        if name in before and owner(name) == whose and not _has_shrunk(name, before[name], value)
    }
    restarted = sorted(name for name, value in grown.items() if value < 0)
    if restarted:
        raise LookupError(f"{agent.host}: counters began anew during the run: {restarted}")
    return grown


def _has_shrunk(name: str, before: int, after: int) -> bool:
    """True if a sum over open connections has lost one of them."""
    return after < before and name.startswith(_OF_OPEN_CONNECTIONS)


def machine_growth(evidence: Evidence, node: str) -> dict[str, int]:
    """Growth of the counters of the machine that a host or zone runs on."""
    return growth(evidence.read_machines[evidence.machines[node]], "machine")


def each_machine(evidence: Evidence) -> Iterator[tuple[str, dict[str, int]]]:
    """Machine, and the growth of its counters."""
    for machine, agent in evidence.read_machines.items():
        yield machine, growth(agent, "machine")


def summed(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Sums of counters by name."""
    total: dict[str, int] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, 0) + value
    return total


def readings(evidence: Evidence) -> dict[str, wire.Readings]:
    """Host or machine -> values of its counters at the start and end of each phase. A host that
    has the name of its machine has its counters too."""
    found = {
        host: _of_host(host, evidence)
        | _of_hardware(host, evidence)
        | _of_application(host, evidence)
        for host in evidence.hosts
    }
    machines = {
        machine: _at_edges(agent, "machine", evidence)
        for machine, agent in evidence.read_machines.items()
    }
    names = dict.fromkeys((*machines, *found))
    return {name: {**machines.get(name, {}), **found.get(name, {})} for name in names}


def _of_host(host: str, evidence: Evidence) -> wire.Readings:
    """The host's counters as read by its first agent, and the CPU time of all its agents."""
    own = dict(_at_edges(evidence.hosts[host], "host", evidence))
    for name in (PROCESS_CPU, *WAITED):
        own.pop(name, None)
    each = [agent for (name, _), agent in evidence.interfaces.items() if name == host]
    drops = [column for agent in each if (column := _queue_drops(agent, evidence)) is not None]
    if drops and len(drops) == len(each):
        own[QUEUE_DROPS] = tuple(_whole(parts) for parts in zip(*drops, strict=True))
    if (of_all := own.pop(NAMESPACE_CPU, None)) is not None:
        return own | {HOST_CPU: of_all}
    agents = evidence.agents_of(host)
    spent = [_spent(agents, edge) for edge in evidence.edges]
    return own if None in spent else own | {HOST_CPU: tuple(spent)}


def _of_hardware(host: str, evidence: Evidence) -> wire.Readings:
    """Counters that are read only for the measuring phase."""
    grown = evidence.hardware.get(host, {})
    return {
        name: tuple({wire.MEASURE_START: 0, wire.MEASURE_END: count}.get(e) for e in evidence.edges)
        for name, count in grown.items()
    }


def _of_application(host: str, evidence: Evidence) -> wire.Readings:
    """Times of the brokerage's threads and of its pool of database connections, at the host of its
    server. An operation counts when it ends its use of a connection, or its wait for one."""
    application = evidence.application
    if application is None or application.host != host:
        return {}
    taken = [application.snapshots.get(edge) for edge in evidence.edges]
    return _columns(
        [
            {
                "threads_busy_ns": one.counters.threads_busy_ns,
                "pool_busy_ns": one.counters.pool_busy_ns,
                "pool_waiting_ns": one.counters.pool_wait_ns,
            }
            if one
            else {}
            for one in taken
        ]
    )


def _queue_drops(agent: AgentEvidence, evidence: Evidence) -> tuple[int | None, ...] | None:
    """Frames dropped by the queue of an agent's interface, at the start and end of each phase; None
    if the agent did not report them."""
    found = [agent.snapshots[edge].counters.get(QUEUE_DROPS) for edge in evidence.edges]
    return None if all(one is None for one in found) else tuple(found)


def _whole(parts: Sequence[int | None]) -> int | None:
    return None if None in parts else sum(one for one in parts if one is not None)


def _spent(agents: Iterable[AgentEvidence], edge: str) -> int | None:
    """Total CPU time of these agents up to the start or end of a phase; None if an agent did not
    report it."""
    return _whole([agent.snapshots[edge].counters.get(PROCESS_CPU) for agent in agents])


def port_readings(evidence: Evidence) -> dict[str, dict[str, wire.Readings]]:
    """Node -> port or interface -> values of its counters at the start and end of each phase."""
    found: dict[str, dict[str, wire.Readings]] = {}
    for (host, port), agent in evidence.interfaces.items():
        own = dict(_at_edges(agent, "interface", evidence))
        if (drops := _queue_drops(agent, evidence)) is not None:
            own[QUEUE_DROPS] = drops
        found.setdefault(host, {})[port] = own
    taken = [evidence.switch.readings(edge) for edge in evidence.edges]
    for switch in dict.fromkeys(name for one in taken if one for name in one.ports):
        each = [one.ports.get(switch, {}) if one else {} for one in taken]
        for port in dict.fromkeys(name for ports in each for name in ports):
            found.setdefault(switch, {})[port] = _columns([ports.get(port, {}) for ports in each])
    for (node, port), counted in _of_paths(evidence).items():
        found.setdefault(node, {}).setdefault(port, {}).update(counted)
    return found


def _of_paths(evidence: Evidence) -> dict[tuple[str, str], wire.Readings]:
    """Sending end -> counters of its link, at the start and end of each phase."""
    each = [
        {(one.node, one.port): one.by_name for one in evidence.switch.paths(edge)}
        for edge in evidence.edges
    ]
    ends = dict.fromkeys(end for paths in each for end in paths)
    return {end: _columns([paths.get(end, {}) for paths in each]) for end in ends}


def _at_edges(agent: AgentEvidence, whose: Owner, evidence: Evidence) -> wire.Readings:
    columns = _columns(
        [
            {
                name: value
                for name, value in agent.snapshots[edge].counters.items()
                if owner(name) == whose
            }
            for edge in evidence.edges
        ]
    )
    return {name: values for name, values in columns.items() if not _shrinks(name, values)}


def _shrinks(name: str, values: Sequence[int | None]) -> bool:
    known = [value for value in values if value is not None]
    return any(_has_shrunk(name, before, after) for before, after in pairwise(known))


def _columns(rows: list[Mapping[str, int]]) -> wire.Readings:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: tuple(row.get(name) for row in rows) for name in names}
