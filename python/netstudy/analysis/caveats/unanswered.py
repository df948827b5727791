"""Cells in which many requests were still unanswered at the end of the phase, or in which users or
connections got nothing at all. Their percentiles are too low, because unanswered requests have no
latency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.caveats.base import Analysed, Caveat, reads
from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.claims import Claim
from netstudy.analysis.metrics import Metric, Percentile
from netstudy.analysis.starving import Starving, starving
from netstudy.analysis.workloads import WorkloadAnalysis

SEEN_PCT: Final = 1.0
"""Smallest share of unanswered requests that is reported: they may be exactly the slowest 1 %."""


@dataclass(frozen=True)
class Unanswered(Caveat):
    """The cells with too high a share of unanswered requests, of the workload or of the probe."""

    share: Metric
    cells: tuple[CellRow, ...]
    of: int
    """Number of cells of the plan."""
    times: tuple[Metric, ...]
    """The means and percentiles that lack the unanswered requests."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[Unanswered]:
        """One caveat for the workload's own requests, and one for the probe's."""
        table = analysed.cells
        for metric in table.vocabulary:
            if metric.is_share and "unanswered" in metric.name:
                cells = [row for row in table.rows if (row.value(metric) or 0.0) >= SEEN_PCT]
                if cells:
                    times = tuple(_times(metric, table.vocabulary, table.workload))
                    yield cls(metric, tuple(cells), len(table.rows), times)

    def forbids(self, claim: Claim) -> bool:
        """Claims about these means at these cells, and about percentiles beyond the answered
        requests: with 5 % unanswered, the median is known and the 99th percentile is not. Not the
        claim that such a cell is slower: its unanswered requests could only make it slower yet."""
        metric = claim.metric
        if metric not in self.times:
            return False
        beyond = 1 - metric.reading.q if isinstance(metric.reading, Percentile) else 0.0
        cells = [one for one in self.cells if (one.value(self.share) or 0.0) > 100 * beyond]
        return any(reads(claim, one.treatment) and not _is_slower(claim, one) for one in cells)


@dataclass(frozen=True, eq=False)
class StarvedUsers(Caveat):
    """Cells with users or connections that got nothing in the measuring phase."""

    found: tuple[Starving, ...]
    table: CellTable

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[StarvedUsers]:
        """One caveat for all of them."""
        found = [one for one in starving(analysed.cells) if one.starved and one.starved.number]
        if found:
            yield cls(tuple(found), analysed.cells)


@dataclass(frozen=True, eq=False)
class MeanOfAllUsers(Caveat):
    """Cells whose mean response time is that of all users, since the mean of the answered requests
    is too low."""

    found: tuple[Starving, ...]
    table: CellTable
    response: Metric

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[MeanOfAllUsers]:
        """One caveat for all of them."""
        response = analysed.cells.workload.response
        found = [one for one in starving(analysed.cells) if one.answered is not None]
        if found and response is not None:
            yield cls(tuple(found), analysed.cells, response)


def _is_slower(claim: Claim, cell: CellRow) -> bool:
    """True if the claim says that a cell is slower than others."""
    if claim.factor is None or claim.worse is None:
        return False
    return cell.treatment[claim.factor] == claim.worse


def _times(share: Metric, among: Sequence[Metric], workload: WorkloadAnalysis) -> Iterator[Metric]:
    """Means and percentiles of the same requests: the workload's, or the probe's. The mean
    response time of a closed loop is that of all users."""
    own = (*workload.metrics, *workload.further)
    for metric in among:
        is_of_samples = metric.sampled is not None or isinstance(metric.reading, Percentile)
        is_of_all = metric == workload.response and workload.closed_loop is not None
        if is_of_samples and not is_of_all and (metric in own) == (share in own):
            yield metric
