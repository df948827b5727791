"""Published data that cannot be used, or that the study contradicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netstudy.analysis.agreement import OrderAgreement
from netstudy.analysis.caveats.base import Analysed, Caveat
from netstudy.analysis.cells import CellTable
from netstudy.analysis.metrics import Metric
from netstudy.analysis.reference import uncompared_totals
from netstudy.study.published_values import Contradictory, contradictory_values


@dataclass(frozen=True)
class UnreadReference(Caveat):
    """A problem of the reference data; the affected values are left out."""

    problem: str

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[UnreadReference]:
        """One caveat for each problem."""
        return map(cls, analysed.unread)


@dataclass(frozen=True)
class ContradictedOrder(Caveat):
    """Two levels whose order in the study is the reverse of the published order in most rows."""

    order: OrderAgreement

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[ContradictedOrder]:
        """One caveat for each pair of levels and metric. If a metric only restates the deciding
        one, the same contradiction would be reported twice."""
        panels = (panel for case in analysed.cases for panel in case.panels)
        orders = (one for panel in panels if panel.reference for one in panel.reference.orders)
        workload = analysed.cells.workload
        return (
            cls(one) for one in orders if one.contradicted and not workload.says_again(one.metric)
        )


@dataclass(frozen=True, eq=False)
class ContradictoryValue(Caveat):
    """A published loss count that contradicts its own row; it is left out."""

    found: Contradictory
    table: CellTable

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[ContradictoryValue]:
        """One caveat for each such count of the run's own cells."""
        for one in contradictory_values(analysed.planned.study):
            if any(one.value.is_of(row.treatment) for row in analysed.cells.rows):
                yield cls(one, analysed.cells)


@dataclass(frozen=True)
class UncomparedTotal(Caveat):
    """A metric whose published values are totals of runs of unknown length; they are not
    compared."""

    metric: Metric

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[UncomparedTotal]:
        """One caveat for each metric."""
        if not analysed.testbed.published:
            yield from map(cls, uncompared_totals(analysed.planned.study, analysed.cells))
