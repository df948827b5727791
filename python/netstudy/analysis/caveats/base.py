"""A caveat: a reason for caution before a result is trusted. Each kind has one file here.

A kind is found in the plan, in the results, or in both. It holds the findings; its sentence is in
the file of the same name in the report.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Self

from netstudy.analysis.claims import Claim, ClaimKind
from netstudy.analysis.design import Design

if TYPE_CHECKING:
    from netstudy.analysis.case_result import CaseResult
    from netstudy.analysis.cells import CellRow, CellTable
    from netstudy.analysis.metrics import Metric
    from netstudy.analysis.testbed import TestbedResult
    from netstudy.analysis.workloads import WorkloadAnalysis
    from netstudy.hardware import HardwareLibrary
    from netstudy.study import Study
    from netstudy.wire import Level, Plan


@dataclass(frozen=True, eq=False)
class Planned:
    """A study and its plan."""

    study: Study
    plan: Plan
    workload: WorkloadAnalysis
    repetitions: int | None = None
    """Number of repetitions of each setting, if the plan has only one run of each; None: the plan
    has all of them."""

    @cached_property
    def design(self) -> Design:
        """The changes that its factors make."""
        levels = {name: factor.names for name, factor in self.study.factors.items()}
        return Design.of(self.plan, levels)


@dataclass(frozen=True, eq=False)
class Analysed:
    """A study after its runs."""

    planned: Planned
    cells: CellTable
    cases: Sequence[CaseResult]
    testbed: TestbedResult
    hardware: HardwareLibrary
    """The profiles that the study may name."""
    deciding: Metric
    unread: Sequence[str]
    """Problems of the reference data; the affected values are left out."""
    not_shown: Sequence[str]
    """Paths of parts of the study that this version cannot show in the report."""
    left_out: Sequence[str]
    """Parts of the study that the user excluded from the run by their names."""
    left_out_by_variant: Sequence[str]
    """Parts of the study that the variant for the testbed leaves out."""

    @property
    def rows(self) -> list[CellRow]:
        """The cells with valid runs."""
        return [row for row in self.cells.rows if row.runs]


class Caveat:
    """A reason for caution before a result is trusted."""

    is_in_answer: ClassVar[bool] = False
    """True for a caveat that the answer's box always shows, whatever the answer claims."""

    def forbids(self, claim: Claim) -> bool:  # noqa: ARG002  # for kinds that need it
        """True if this caveat rules out the claim."""
        return False

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[Self]:  # noqa: ARG003  # for kinds that need it
        """The caveats of this kind that a plan shows, whatever the results."""
        return iter(())

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[Self]:
        """The caveats of this kind after the runs; unless a kind says more, the plan's caveats."""
        return cls.in_plan(analysed.planned)


COMPARISONS: Final[Collection[ClaimKind]] = ("different", "equal")
"""Claims that compare levels."""
OF_EVERY_CELL: Final[Collection[ClaimKind]] = ("equal", "growth ends", "still grows", "holds")
"""Claims that one cell can refute; levels may differ although one cell shows no difference."""


def compares_within(claim: Claim, factor: str, levels: Iterable[Level]) -> bool:
    """True if the claim compares levels of this factor, and all of them are in `levels`."""
    is_of_these = claim.factor == factor and set(claim.levels) <= set(levels)
    return claim.kind in COMPARISONS and is_of_these


def reads(claim: Claim, treatment: Mapping[str, Level]) -> bool:
    """True if the claim depends on the cell of a treatment. A claim about growth depends on
    the cells of all levels."""
    if claim.factor is None:
        return True
    level = treatment.get(claim.factor)
    every = claim.kind in ("growth ends", "still grows") or not claim.levels
    return level is not None and (every or level in claim.levels)
