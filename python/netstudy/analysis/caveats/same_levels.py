"""Levels of a factor that run the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.caveats.base import Analysed, Caveat, Planned, compares_within
from netstudy.analysis.claims import Claim
from netstudy.analysis.design import Design
from netstudy.analysis.effects import pair_effects
from netstudy.analysis.metrics import Metric
from netstudy.analysis.settings import settings_of
from netstudy.wire import Level

_VARIANT: Final = "workload.application.variant"


@dataclass(frozen=True)
class SameLevels(Caveat):
    """Levels that set the same values."""

    factor: str
    levels: tuple[Level, ...]

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[SameLevels]:
        """One caveat for each set of equal levels."""
        return (
            cls(factor, levels)
            for factor, levels in _equal(planned.design)
            if not _are_variants(planned.design, factor)
        )

    def forbids(self, claim: Claim) -> bool:
        """Comparisons of these levels with each other: nothing differs."""
        return compares_within(claim, self.factor, self.levels)


@dataclass(frozen=True)
class SameProgram(Caveat):
    """Levels that stand for builds of an application, but run the same program."""

    factor: str
    levels: tuple[Level, ...]

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[SameProgram]:
        """One caveat for each set of equal levels."""
        return (
            cls(factor, levels)
            for factor, levels in _equal(planned.design)
            if _are_variants(planned.design, factor)
        )

    def forbids(self, claim: Claim) -> bool:
        """Comparisons of these levels with each other: they were not tested."""
        return compares_within(claim, self.factor, self.levels)


@dataclass(frozen=True)
class SameProgramDiffers(Caveat):
    """Two levels that run the same program, but whose results differ by more than the noise."""

    factor: str
    levels: tuple[Level, ...]
    metric: Metric

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[SameProgramDiffers]:
        """One caveat for each pair of such levels."""
        cells, planned = analysed.cells, analysed.planned
        metric = cells.workload.throughput
        for same in SameProgram.in_plan(planned) if analysed.rows else ():
            found = pair_effects(
                cells.rows, planned.design.levels, metric, planned.study.margin_pct
            ).get(same.factor, ())
            for pair in found:
                if pair.is_shown and {pair.level, pair.base} <= set(same.levels):
                    yield cls(same.factor, (pair.level, pair.base), metric)

    def forbids(self, claim: Claim) -> bool:
        """A difference of these levels, which something else made."""
        return claim.kind == "different" and compares_within(claim, self.factor, self.levels)


def _equal(design: Design) -> Iterator[tuple[str, tuple[Level, ...]]]:
    """Each set of equal levels with its factor."""
    for factor in design.levels:
        for levels in design.equal_levels(factor):
            yield factor, levels


def _are_variants(design: Design, factor: str) -> bool:
    """Whether the levels name different variants of an application."""
    group = next(design.groups(factor), {})
    return len({str(settings_of(run).get(_VARIANT)) for run in group.values()}) > 1
