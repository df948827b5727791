"""Published data that cannot be used, or that the study contradicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netstudy.analysis.agreement import OrderAgreement
from netstudy.analysis.caveats.base import Analysed, Caveat


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
