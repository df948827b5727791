"""Replicates that depend on the replicates before them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netstudy.analysis.autocorrelation import Autocorrelation, autocorrelation
from netstudy.analysis.caveats.base import COMPARISONS, Analysed, Caveat
from netstudy.analysis.claims import Claim
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named


@dataclass(frozen=True)
class DependentRuns(Caveat):
    """Runs that depend on the runs before them, so that error rates do not hold."""

    found: Autocorrelation

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[DependentRuns]:
        """One caveat for all cells. Simulated runs share nothing but the study: each has random
        numbers of its own."""
        if not analysed.testbed.simulated:
            shown = autocorrelation(analysed.cells.rows, _compared(analysed))
            if shown is not None:
                yield cls(shown)

    def forbids(self, claim: Claim) -> bool:
        """Comparisons, whose tests assume independent runs."""
        return claim.kind in COMPARISONS


def _compared(analysed: Analysed) -> tuple[Metric, ...]:
    """The metrics in `compare.on` of the study, else those that its workload compares."""
    study, cells = analysed.planned.study, analysed.cells
    names = study.compare.on if study.compare else ()
    known = [metric_named(name, cells.vocabulary) for name in names]
    return tuple(one for one in known if one is not None) or cells.workload.compared_on
