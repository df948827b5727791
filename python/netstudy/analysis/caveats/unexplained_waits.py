"""Waits of about one minimum RTO that no counter explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netstudy.analysis.case_result import PanelResult
from netstudy.analysis.caveats.base import Analysed, Caveat
from netstudy.analysis.signals import LongWaits, by_cause, unexplained


@dataclass(frozen=True)
class UnexplainedWaits(Caveat):
    """The waits of a panel at one level."""

    panel: PanelResult
    waits: Sequence[LongWaits]

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[UnexplainedWaits]:
        """One caveat for each level of a panel."""
        for case in analysed.cases:
            for panel in case.panels:
                for _, same in by_cause(list(unexplained(panel.causes.long_waits))):
                    yield cls(panel, same)
