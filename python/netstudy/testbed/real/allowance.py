"""The activity of others that a run tolerates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Allowance:
    """Activity of others that does not spoil a run."""

    traffic_pct: float
    """Percent of the rate of a link, in each direction."""
    cpu_pct: float
    """Percent of the CPUs of a machine."""
