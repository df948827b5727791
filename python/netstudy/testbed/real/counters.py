"""Growth of a host's counters over the measuring phase."""

from __future__ import annotations

from netstudy.testbed.real.evidence import HostEvidence


def growth(host: HostEvidence) -> dict[str, int]:
    """What each counter grew by between the two snapshots that enclose the measuring phase.

    Wraps of the kernel's counters are the agent's affair. Raises LookupError for one that began
    anew in between: what it counted is not known.
    """
    before, after = host.before.counters, host.after.counters
    grown = {name: value - before[name] for name, value in after.items() if name in before}
    restarted = sorted(name for name, value in grown.items() if value < 0)
    if restarted:
        raise LookupError(f"{host.node}: counters began anew during the run: {restarted}")
    return grown
