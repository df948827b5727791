"""Growth of a host's counters over the measuring phase."""

from __future__ import annotations

from netstudy.testbed.real.evidence import HostEvidence


def growth(host: HostEvidence) -> dict[str, int]:
    """What each counter grew by between the two snapshots that enclose the measuring phase."""
    before, after = host.before.counters, host.after.counters
    return {name: value - before[name] for name, value in after.items() if name in before}
