"""TCP factors that could have no effect, because the event that they act on never occurred."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from netstudy.analysis.caveats.base import Analysed, Caveat, compares_within
from netstudy.analysis.cells import CellRow
from netstudy.analysis.claims import Claim
from netstudy.analysis.design import FactorKind
from netstudy.analysis.samples import dropped_at_ports
from netstudy.analysis.workloads.signals import marks, ring_drops
from netstudy.wire import Level, RunRecord


@dataclass(frozen=True)
class NoTimeout(Caveat):
    """A minimum RTO, in runs without a timeout."""

    factor: str
    levels: tuple[Level, ...]

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[NoTimeout]:
        """One caveat for each factor."""
        timeouts = analysed.cells.workload.timeouts
        if _never(analysed, lambda row: row.value(timeouts)):
            yield from (cls(*one) for one in _of_kind(analysed, "min rto"))

    def forbids(self, claim: Claim) -> bool:
        """Comparisons of its levels, which never acted."""
        return compares_within(claim, self.factor, self.levels)


@dataclass(frozen=True)
class NoLoss(Caveat):
    """A loss recovery, in runs without a loss."""

    factor: str
    levels: tuple[Level, ...]

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[NoLoss]:
        """One caveat for each factor."""
        if _lost_nothing(analysed):
            yield from (cls(*one) for one in _of_kind(analysed, "recovery"))

    def forbids(self, claim: Claim) -> bool:
        """Comparisons of its levels, which never acted."""
        return compares_within(claim, self.factor, self.levels)


@dataclass(frozen=True)
class NoSignal(Caveat):
    """A congestion control, in runs without a loss or a mark."""

    factor: str
    levels: tuple[Level, ...]

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[NoSignal]:
        """One caveat for each factor."""
        if _lost_nothing(analysed) and _none(analysed, marks) and _none(analysed, ring_drops):
            yield from (cls(*one) for one in _of_kind(analysed, "control"))

    def forbids(self, claim: Claim) -> bool:
        """That its levels are equal: they were hardly tested."""
        return claim.kind == "equal" and compares_within(claim, self.factor, self.levels)


def _of_kind(analysed: Analysed, kind: FactorKind) -> Iterator[tuple[str, tuple[Level, ...]]]:
    factors = analysed.cells.factors
    kinds = analysed.planned.design.kinds
    return ((factor, factors[factor]) for factor, one in kinds.items() if one == kind)


def _lost_nothing(analysed: Analysed) -> bool:
    again = analysed.cells.workload.retransmissions
    resent_nothing = _never(analysed, lambda row: row.value(again))
    return resent_nothing and _none(analysed, dropped_at_ports)


def _none(analysed: Analysed, count: Callable[[RunRecord], int | None]) -> bool:
    return _never(analysed, lambda row: row.total(count))


def _never(analysed: Analysed, found: Callable[[CellRow], float | None]) -> bool:
    return all(found(row) == 0 for row in analysed.rows)
