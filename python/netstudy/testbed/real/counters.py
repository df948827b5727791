"""Growth of counters over the measuring phase: of a host, and of the machine that hosts share.

Processors, memory, disks and backlog queues belong to the machine: every host of namespaces reads
the same files, and their sum would be nobody's.
"""

from __future__ import annotations

from netstudy.testbed.real.evidence import HostEvidence

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


def growth(host: HostEvidence) -> dict[str, int]:
    """What each counter of a host itself grew by. Raises LookupError as `machine_growth`."""
    return {name: value for name, value in _grown(host).items() if not _is_shared(name)}


def machine_growth(host: HostEvidence) -> dict[str, int]:
    """What each counter of the machine below a host grew by.

    Wraps of the kernel's counters are the agent's affair. Raises LookupError for one that began
    anew in between: what it counted is not known.
    """
    return {name: value for name, value in _grown(host).items() if _is_shared(name)}


def _is_shared(name: str) -> bool:
    return name.startswith(_OF_THE_MACHINE)


def _grown(host: HostEvidence) -> dict[str, int]:
    before, after = host.before.counters, host.after.counters
    grown = {name: value - before[name] for name, value in after.items() if name in before}
    restarted = sorted(name for name, value in grown.items() if value < 0)
    if restarted:
        raise LookupError(f"{host.node}: counters began anew during the run: {restarted}")
    return grown
