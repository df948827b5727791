"""Counters of hosts at the edges of phases, and whose they are.

CPUs, memory, disks and backlog queues belong to the machine: every host of namespaces reads
the same files, and their sum would be nobody's. What is counted of an interface belongs to that
port, and all else to the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
"""Names, or what they begin with, of counters that do not belong to a namespace."""
PROCESS_CPU: Final = "process_cpu_ns"
"""What an agent counts of its own process: of a host, all of them make up `host_cpu_ns`."""
HOST_CPU: Final = "host_cpu_ns"
"""CPU time of all processes of a host: agents, which carry the traffic and read the counters.
What the kernel does in soft interrupts is not among it as far as it has a time of its own
(`cpu_softirq_ms` of the machine); what it does on behalf of a process is."""
_OF_AN_INTERFACE = ("interface_", "qdisc_")


def owner(name: str) -> Owner:
    """Whose a counter is."""
    if name.startswith(_OF_THE_MACHINE):
        return "machine"
    return "interface" if name.startswith(_OF_AN_INTERFACE) else "host"


def growth(agent: AgentEvidence, whose: Owner) -> dict[str, int]:
    """What counters of an owner grew by in the measuring phase.

    Wraps of the kernel's counters are the agent's affair. Raises LookupError for one that began
    anew in between: what it counted is not known.
    """
    before = agent.snapshots[wire.MEASURE_START].counters
    after = agent.snapshots[wire.MEASURE_END].counters
    grown = {
        name: value - before[name]
        for name, value in after.items()
        if name in before and owner(name) == whose
    }
    restarted = sorted(name for name, value in grown.items() if value < 0)
    if restarted:
        raise LookupError(f"{agent.host}: counters began anew during the run: {restarted}")
    return grown


def machine_growth(evidence: Evidence) -> dict[str, int]:
    """What counters of the machine below all hosts grew by: any of them reads the same."""
    return growth(next(iter(evidence.hosts.values())), "machine")


def summed(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Counters of several as those of one."""
    total: dict[str, int] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, 0) + value
    return total


def readings(evidence: Evidence) -> dict[str, wire.Readings]:
    """Host, or the machine that all share -> what it had counted at each edge."""
    found = {host: _of_host(host, evidence) for host in evidence.hosts}
    first = next(iter(evidence.hosts.values()))
    return {evidence.machine: _at_edges(first, "machine", evidence), **found}


def _of_host(host: str, evidence: Evidence) -> wire.Readings:
    """What the first agent of a host reads of it, and the CPU time of all of them."""
    own = dict(_at_edges(evidence.hosts[host], "host", evidence))
    own.pop(PROCESS_CPU, None)
    agents = evidence.agents_of(host)
    spent = [_spent(agents, edge) for edge in evidence.edges]
    return own if None in spent else own | {HOST_CPU: tuple(spent)}


def _spent(agents: Iterable[AgentEvidence], edge: str) -> int | None:
    """CPU time of all of these until an edge; None: one did not tell it."""
    each = [agent.snapshots[edge].counters.get(PROCESS_CPU) for agent in agents]
    return None if None in each else sum(one for one in each if one is not None)


def port_readings(evidence: Evidence) -> dict[str, dict[str, wire.Readings]]:
    """Node -> port or interface -> what it had counted at each edge."""
    found: dict[str, dict[str, wire.Readings]] = {}
    for (host, port), agent in evidence.interfaces.items():
        found.setdefault(host, {})[port] = _at_edges(agent, "interface", evidence)
    taken = [evidence.switch.readings(edge) for edge in evidence.edges]
    for switch in dict.fromkeys(name for one in taken if one for name in one.ports):
        each = [one.ports.get(switch, {}) if one else {} for one in taken]
        for port in dict.fromkeys(name for ports in each for name in ports):
            found.setdefault(switch, {})[port] = _columns([ports.get(port, {}) for ports in each])
    return found


def _at_edges(agent: AgentEvidence, whose: Owner, evidence: Evidence) -> wire.Readings:
    return _columns(
        [
            {
                name: value
                for name, value in agent.snapshots[edge].counters.items()
                if owner(name) == whose
            }
            for edge in evidence.edges
        ]
    )


def _columns(rows: list[Mapping[str, int]]) -> wire.Readings:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: tuple(row.get(name) for row in rows) for name in names}
