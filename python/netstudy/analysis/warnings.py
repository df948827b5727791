"""Reasons for caution before a result is trusted, gathered for the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netstudy.analysis.agreement import OrderAgreement
from netstudy.analysis.cells import CellRow, CellTable, Problem
from netstudy.analysis.demand import OffDemand, off_demands
from netstudy.analysis.metrics import Metric
from netstudy.analysis.not_given import TooFew, not_measured, too_few
from netstudy.analysis.reference import PanelReference
from netstudy.analysis.size_law import OffLaw, off_laws
from netstudy.analysis.stationarity import UnsettledMetric, unsettled_metrics
from netstudy.analysis.testbed import CheckFound, LimitFound, TestbedResult
from netstudy.analysis.truncated import Starving, Truncated, starving, truncated
from netstudy.analysis.untested import Untested, of_plan, of_records
from netstudy.analysis.verdict import RUNS_RECOMMENDED
from netstudy.analysis.warmup import WarmUp, alarms
from netstudy.wire import Plan

if TYPE_CHECKING:
    from netstudy.study import Study


@dataclass(frozen=True, eq=False)
class Warnings:
    """Reasons for caution before the result is trusted; a field is empty if there are none of its
    kind."""

    problems: tuple[tuple[CellRow, Problem], ...]
    """Failed, invalid and missing runs with their cells."""
    empty_cells: tuple[CellRow, ...]
    """Cells without a valid run."""
    few_runs: tuple[CellRow, ...]
    """Cells with fewer runs than recommended."""
    warm_up: tuple[tuple[CellRow, WarmUp], ...]
    reference: tuple[str, ...]
    """Problems of the reference data; the affected values are left out."""
    contradicted: tuple[OrderAgreement, ...]
    """Pairs of levels whose order in the study is the reverse of the published order in most
    rows."""
    exceeded: tuple[LimitFound, ...]
    """Limits of the testbed that some run exceeded."""
    disagreeing: tuple[CheckFound, ...]
    """Instruments that disagree in some run."""
    not_shown: tuple[str, ...]
    """Paths of parts of the study that this version cannot show in the report: comparisons, tables,
    figures, conclusions."""
    left_out: tuple[str, ...]
    """Parts of the study that the user excluded from the run by their names."""
    left_out_by_variant: tuple[str, ...] = ()
    """Parts of the study that the variant for the testbed leaves out."""
    untested: tuple[Untested, ...] = ()
    """Questions of the study that its runs cannot answer."""
    not_measured: Mapping[str, Metric] = field(default_factory=dict)
    """Path of the study -> the metric named there that no run measured."""
    too_few: tuple[TooFew, ...] = ()
    """Percentiles that the study names, but for which some cells have too few samples."""
    truncated: tuple[Truncated, ...] = ()
    """Cells whose latencies are too low because they exclude many unanswered requests."""
    starving: tuple[Starving, ...] = ()
    """Cells with users or connections that got nothing in the measuring phase."""
    unsettled: tuple[UnsettledMetric, ...] = ()
    """Metrics for which the measuring phase of some cells is too short."""
    off_law: tuple[OffLaw, ...] = ()
    """Sizes whose times do not follow the law of the other sizes."""
    off_demand: tuple[OffDemand, ...] = ()
    """Published rows with an outlying CPU time per unit served."""

    def any(self) -> bool:
        """Whether there is any warning."""
        return any(
            (
                self.problems,
                self.empty_cells,
                self.few_runs,
                self.warm_up,
                self.reference,
                self.contradicted,
                self.exceeded,
                self.disagreeing,
                self.not_shown,
                self.left_out,
                self.left_out_by_variant,
                self.untested,
                self.not_measured,
                self.too_few,
                self.truncated,
                self.starving,
                self.unsettled,
                self.off_law,
                self.off_demand,
            )
        )


def warnings_of(
    study: Study,
    plan: Plan,
    cells: CellTable,
    testbed: TestbedResult,
    unread: Sequence[str],
    not_shown: tuple[str, ...],
    left_out: tuple[str, ...],
    left_out_by_variant: tuple[str, ...],
    references: Iterable[PanelReference],
) -> Warnings:
    """The warnings about the runs of a study; `references`: its comparisons with published
    values."""
    return Warnings(
        problems=cells.problems,
        empty_cells=tuple(row for row in cells.rows if not row.runs),
        few_runs=tuple(row for row in cells.rows if len(row.runs) < RUNS_RECOMMENDED),
        warm_up=alarms(cells),
        reference=tuple(unread),
        # If a metric only restates the deciding one, the same contradiction would be reported
        # twice.
        contradicted=tuple(
            one
            for reference in references
            for one in reference.orders
            if one.contradicted and not cells.workload.says_again(one.metric)
        ),
        exceeded=testbed.exceeded,
        disagreeing=testbed.disagreeing,
        not_shown=not_shown,
        left_out=left_out,
        left_out_by_variant=left_out_by_variant,
        untested=_untested(study, plan, cells),
        not_measured=not_measured(study, cells),
        too_few=too_few(study, cells),
        truncated=tuple(truncated(cells)),
        starving=starving(cells),
        unsettled=tuple(unsettled_metrics(cells.metrics, cells.rows, study.margin_pct)),
        off_law=off_laws(study, cells),
        off_demand=off_demands(study, cells.workload),
    )


def _untested(study: Study, plan: Plan, cells: CellTable) -> tuple[Untested, ...]:
    """Questions that the plan cannot test, or that the runs did not test. A buffer that never
    filled is reported only once, with the numbers from the runs."""
    seen = of_records(plan, cells, study.margin_pct)
    filled = {one.factor for one in seen if one.kind == "never filled"}
    planned = of_plan(study, plan, cells.workload)
    return (
        *(one for one in planned if one.kind != "cannot fill" or one.factor not in filled),
        *seen,
    )
