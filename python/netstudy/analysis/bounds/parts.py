"""A part of the time of a unit of work, or of the time of a connection."""

from __future__ import annotations

from dataclasses import dataclass

from netstudy.analysis.bounds.candidates import LimitKind


@dataclass(frozen=True)
class Part:
    """A part of a time."""

    kind: LimitKind
    node: str
    """The group of hosts, or the switch; empty: none."""
    name: str
    share_pct: float
    """In percent of the whole."""
