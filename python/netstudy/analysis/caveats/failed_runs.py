"""Runs without numbers, and runs that the machine disturbed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.caveats.base import OF_EVERY_CELL, Analysed, Caveat, reads
from netstudy.analysis.cells import CellRow, CellTable, ProblemKind
from netstudy.analysis.claims import Claim

_KINDS: Final[tuple[ProblemKind, ...]] = ("failed", "invalid", "limited", "missing")


@dataclass(frozen=True)
class FailedRuns(Caveat):
    """Runs of the plan without valid results, for one reason."""

    reason: ProblemKind
    runs: int
    planned: int
    """Number of runs of the plan."""
    smaller_scale: str | None
    """A scale of link rates at which the machine has more time; None: the links are real."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[FailedRuns]:
        """One caveat for each reason."""
        kinds = Counter(problem.kind for _, problem in analysed.cells.problems)
        planned, scale = len(analysed.planned.plan.runs), analysed.testbed.smaller_scale
        return (cls(kind, kinds[kind], planned, scale) for kind in _KINDS if kinds[kind])


@dataclass(frozen=True)
class RepeatedRuns(Caveat):
    """Runs that count, but were made again because the testbed was disturbed."""

    runs: int
    planned: int
    """Number of runs of the plan."""
    attempts: int
    """Number of attempts that do not count."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[RepeatedRuns]:
        """One caveat for all of them."""
        again = analysed.testbed.made_again
        attempts = sum(int(one.limit.value or 0) for one in again)
        if again:
            yield cls(len(again), len(analysed.planned.plan.runs), attempts)


@dataclass(frozen=True)
class RunsSetAside(Caveat):
    """Attempts that the machine disturbed, which were set aside and repeated."""

    runs: int

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[RunsSetAside]:
        """One caveat for all of them."""
        if analysed.testbed.set_aside:
            yield cls(analysed.testbed.set_aside)


@dataclass(frozen=True)
class EmptyCells(Caveat):
    """Cells without a valid run."""

    cells: tuple[CellRow, ...]
    table: CellTable

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[EmptyCells]:
        """One caveat for all of them."""
        empty = tuple(row for row in analysed.cells.rows if not row.runs)
        if empty:
            yield cls(empty, analysed.cells)

    def forbids(self, claim: Claim) -> bool:
        """Claims of every cell, and those for which no cell is left."""
        missing = [reads(claim, cell.treatment) for cell in self.cells]
        if claim.kind in OF_EVERY_CELL:
            return any(missing)
        return sum(missing) == sum(reads(claim, cell.treatment) for cell in self.table.rows)
