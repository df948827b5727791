"""PAUSE that never stopped anybody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netstudy.analysis.caveats.base import COMPARISONS, Analysed, Caveat
from netstudy.analysis.claims import Claim
from netstudy.analysis.workloads.signals import pauses
from netstudy.wire import Run


@dataclass(frozen=True)
class NoPause(Caveat):
    """Switches and hosts that may send PAUSE, but never reached their threshold."""

    nodes: tuple[str, ...]
    """Switches and groups of hosts."""
    factors: tuple[str, ...]
    """Factors that change PAUSE only."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[NoPause]:
        """One caveat for all of them."""
        asking = [(row, names) for row in analysed.rows if (names := _asking(row.planned[0]))]
        if asking and all(row.total(pauses) == 0 for row, _ in asking):
            nodes = dict.fromkeys(name for _, names in asking for name in names)
            yield cls(tuple(nodes), analysed.planned.design.of_kind("pause"))

    def forbids(self, claim: Claim) -> bool:
        """Comparisons of settings of PAUSE, which never acted."""
        return claim.kind in COMPARISONS and claim.factor in self.factors


def _asking(run: Run) -> tuple[str, ...]:
    """Switches and groups of hosts that can send PAUSE, because they have an XOFF threshold."""
    switches = [s.name for s in run.network.switches if s.pause_high_bytes is not None]
    hosts = [g.name for g in run.network.groups if g.nic.pause_high_frames is not None]
    return (*switches, *hosts)
