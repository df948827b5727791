"""Runs that do not show how much runs vary: too few, all alike, or dependent on each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netstudy.analysis.autocorrelation import Autocorrelation, autocorrelation
from netstudy.analysis.caveats.base import COMPARISONS, Analysed, Caveat, Planned, reads
from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.claims import Claim
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.repetition import shows_nothing
from netstudy.analysis.verdict import RUNS_RECOMMENDED
from netstudy.wire import Level


@dataclass(frozen=True)
class FewRuns(Caveat):
    """Cells with fewer runs than recommended."""

    cells: tuple[CellRow, ...]
    table: CellTable
    is_published: bool

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[FewRuns]:
        """One caveat for all of them."""
        few = tuple(row for row in analysed.cells.rows if len(row.runs) < RUNS_RECOMMENDED)
        if few:
            yield cls(few, analysed.cells, analysed.testbed.published)

    def forbids(self, claim: Claim) -> bool:
        """Comparisons with a level that has single runs only: the variation between runs is not
        known. Published values are compared by their printed digits."""
        most: dict[Level | None, int] = {}
        for cell in self.table.rows:
            if reads(claim, cell.treatment):
                level = cell.treatment.get(claim.factor or "")
                most[level] = max(most.get(level, 0), len(cell.runs))
        is_single = not self.is_published and min(most.values(), default=0) < 2
        return claim.kind in COMPARISONS and is_single


@dataclass(frozen=True)
class SingleRuns(Caveat):
    """A comparison of settings with one run each."""

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[SingleRuns]:
        """Found before the runs only; afterwards the cells have few runs."""
        study = planned.study
        is_comparing = study.compare is not None or any(one.compares for one in study.conclude)
        if planned.design.runs and is_comparing and study.replicates < 2:
            yield cls()

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[SingleRuns]:  # noqa: ARG003  # the base's
        """None."""
        return iter(())


@dataclass(frozen=True)
class IdenticalRuns(Caveat):
    """Cells whose repetitions all gave the same value."""

    cells: tuple[CellRow, ...]
    table: CellTable
    metric: Metric

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[IdenticalRuns]:
        """One caveat for all of them, in the deciding metric."""
        metric = analysed.deciding
        alike = tuple(row for row in analysed.cells.rows if shows_nothing(row, metric))
        if alike:
            yield cls(alike, analysed.cells, metric)


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
    """The metrics in `compare.on` of the study, else the compared metrics of its workload."""
    study, cells = analysed.planned.study, analysed.cells
    names = study.compare.on if study.compare else ()
    known = [metric_named(name, cells.vocabulary) for name in names]
    return tuple(one for one in known if one is not None) or cells.workload.compared_on
