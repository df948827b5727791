"""Phases of only a few round trips, and measuring phases that are too short for a mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from netstudy.analysis.caveats.base import Analysed, Caveat, Planned, reads
from netstudy.analysis.cells import CellTable
from netstudy.analysis.claims import Claim
from netstudy.analysis.stationarity import UnsettledMetric, unsettled_metrics
from netstudy.plan.paths import Routes
from netstudy.wire import Run, Treatment, UntilTime

TRIPS_MIN: Final = 10
"""Fewest round trips of a phase: a shorter phase shows hardly more than TCP's first windows."""


@dataclass(frozen=True)
class ShortPhase(Caveat):
    """A phase of only a few round trips."""

    phase: Literal["warm-up", "measure"]
    length_ns: int
    trip_ns: float
    treatment: Treatment
    """The setting with the longest round trip."""

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[ShortPhase]:
        """One caveat for each phase; before the runs only."""
        worst: dict[str, ShortPhase] = {}
        for run in planned.design.runs:
            trip_ns = _trip_ns(run)
            for phase in run.phases:
                kind, until = phase.kind, phase.until
                if kind not in ("warm-up", "measure") or not isinstance(until, UntilTime):
                    continue
                if until.ns < TRIPS_MIN * trip_ns:
                    found = cls(kind, until.ns, trip_ns, run.treatment)
                    worst[kind] = max(found, worst.get(kind, found), key=lambda one: one.trip_ns)
        yield from worst.values()

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[ShortPhase]:  # noqa: ARG003  # the base's
        """None: the records show a warm-up that is too short."""
        return iter(())


@dataclass(frozen=True, eq=False)
class UnsettledMean(Caveat):
    """A metric for which the measuring phase of some cells is too short."""

    found: UnsettledMetric
    table: CellTable

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[UnsettledMean]:
        """One caveat for each metric."""
        cells, margin_pct = analysed.cells, analysed.planned.study.margin_pct
        for one in unsettled_metrics(cells.metrics, cells.rows, margin_pct):
            yield cls(one, cells)

    def forbids(self, claim: Claim) -> bool:
        """Comparisons of the metric in these cells, as far as they are open: differences larger
        than the changes within the phase are decided all the same, and so are equal pairs of other
        cells."""
        if claim.is_settled:
            return False
        touched = any(reads(claim, cell.treatment) for cell, _ in self.found.cells)
        return claim.kind == "equal" and claim.metric == self.found.metric and touched


def _trip_ns(run: Run) -> float:
    """The longest time between two endpoints for an empty message and its answer, without
    queues."""
    routes = Routes(run.network)
    return max(
        routes.time_ns(client, server, 0) + routes.time_ns(server, client, 0)
        for client, server in set(run.workload.roles.pairs)
    )
