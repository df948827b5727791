"""Compares published measurements with the study's own: reads them, matches them to cells, and
checks the law of their workload.

A published value matches the cells that have its levels; a factor that the published table does not
name may have any level. Several values for the same cell are averaged. A workload may fix the
product of two metrics, as in goodput x completion time = bytes; published rows that violate this
law by more than rounding are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from netstudy.analysis.agreement import (
    Agreement,
    Beside,
    OrderAgreement,
    RatioAgreement,
    agreement,
    order_agreement,
    ratio_agreement,
)
from netstudy.analysis.bootstrap import resampled
from netstudy.analysis.cells import CellTable
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.testbed import Here
from netstudy.analysis.totals import compared
from netstudy.analysis.workloads.base import Counted, Identity
from netstudy.study.levels import has_levels
from netstudy.study.published_values import published_values
from netstudy.study.reference_files import PublishedValue
from netstudy.wire import Level, Treatment

if TYPE_CHECKING:
    from netstudy.study import Study


@dataclass(frozen=True)
class Published:
    """One published value with its metric, levels and rounding."""

    metric: Metric
    levels: Mapping[str, Level]
    given: PublishedValue
    """The value as the file has it."""
    value: float
    rounding: float
    """One unit of the last printed digit: the source may have rounded or truncated the value."""
    case: str | None = None
    """The test case that it belongs to; None: every test case that has its levels."""
    fitted: bool = False
    """Whether a profile was fitted to this value."""
    because: str | None = None
    """The reason that the study gives for a difference between the published value and its own
    value."""

    def is_of(self, treatment: Treatment) -> bool:
        """Whether it was measured at the levels of a treatment."""
        return has_levels(treatment, self.levels)


@dataclass(frozen=True)
class BrokenLaw:
    """A published row that breaks a law of its workload."""

    x: Level | None
    level: Level | None
    ratio: float
    """The product of the row's two values, divided by the product that the law requires."""


@dataclass(frozen=True)
class PanelReference:
    """The published values of one panel, compared with its cells."""

    agreements: tuple[Agreement, ...]
    ratios: tuple[RatioAgreement, ...]
    orders: tuple[OrderAgreement, ...]
    law: Identity | None
    """The law against which rows with both of its metrics were checked."""
    broken: tuple[BrokenLaw, ...]
    checked: int
    """Number of rows that were checked against the law."""
    here: Here
    """Label of the study's own values, to distinguish them from published ones."""

    def of(self, metric: Metric) -> tuple[Agreement, ...]:
        """The agreement with published values in one metric, for each level."""
        return tuple(one for one in self.agreements if one.metric == metric)


def read_reference(study: Study, metrics: Sequence[Metric]) -> tuple[Published, ...]:
    """The published values of these metrics in the study's reference data.

    The reference data were validated when the study was read.
    """
    found = ((metric_named(one.metric, metrics), one) for one in published_values(study))
    return tuple(
        Published(
            metric,
            one.levels,
            one,
            one.value,
            one.rounding,
            one.case,
            one.fitted,
            one.because,
        )
        for metric, one in found
        if metric is not None
    )


def beside(
    panel: Panel,
    published: Sequence[Published],
    base: Level | None,
    margin_pct: float | None,
    here: Here = "simulated",
    *,
    metrics: Sequence[Metric],
    counted: Counted,
    law: Identity | None = None,
) -> PanelReference:
    """Compares the cells of a panel with published values; totals of a run per second or per unit
    of work if they were not taken over the same phase."""
    # Filter out values of other panels once instead of for every cell.
    own = [one for one in published if one.is_of({**one.levels, **panel.fixed})]
    brought = [found for metric in metrics for found in _brought(panel, metric, own, counted)]
    agreements = [
        found
        for metric, values in brought
        for level in panel.series_levels
        if (found := _agreement(panel, level, metric, values)).rows
    ]
    by_key = {(found.metric.name, found.level): found for found in agreements}
    pairs = [
        (found, by_key[found.metric.name, base])
        for found in agreements
        if found.level != base and (found.metric.name, base) in by_key
    ]
    ratios = (ratio_agreement(*pair) for pair in pairs)
    orders = (order_agreement(*pair, margin_pct) for pair in pairs)
    laws = [] if law is None else list(_laws(panel, own, law))
    return PanelReference(
        agreements=tuple(agreements),
        ratios=tuple(one for one in ratios if one is not None),
        orders=tuple(one for one in orders if one is not None),
        law=law,
        broken=tuple(row for row, holds in laws if not holds),
        checked=len(laws),
        here=here,
    )


def _brought(
    panel: Panel, metric: Metric, published: Sequence[Published], counted: Counted
) -> Iterator[tuple[Metric, list[Published]]]:
    """The metric as it is compared, with its published values; nothing if it cannot be compared."""
    values = _of_metric(published, metric)
    cells = [cell.runs for cell in panel.cells.values()]
    how = compared(metric, [one.given for one in values], cells, counted)
    if how is not None:
        yield (
            how.metric,
            [
                replace(
                    one,
                    metric=how.metric,
                    value=one.value / divisor,
                    rounding=one.rounding / divisor,
                )
                for one, divisor in zip(values, how.divisors, strict=True)
            ],
        )


def uncompared_totals(study: Study, cells: CellTable) -> tuple[Metric, ...]:
    """The metrics that have published values for these cells which are totals over an unknown time
    and an unknown amount of work."""
    totals = (
        one
        for one in read_reference(study, cells.vocabulary)
        if one.given.metric.is_total and not one.given.has_amount
    )
    return tuple(
        dict.fromkeys(
            one.metric for one in totals if any(one.is_of(row.treatment) for row in cells.rows)
        )
    )


def _agreement(
    panel: Panel, level: Level | None, metric: Metric, of_metric: Sequence[Published]
) -> Agreement:
    rows = []
    for x in panel.x_levels:
        cell = panel.cell(x, level)
        value = None if cell is None else _find(of_metric, cell.treatment)
        if cell is not None and value is not None:
            rows.append(
                Beside(
                    x,
                    value.value,
                    cell.estimate(metric),
                    resampled(cell, metric),
                    value.fitted,
                    value.because,
                )
            )
    return agreement(metric, level, rows)


def _of_metric(published: Sequence[Published], metric: Metric) -> list[Published]:
    return [one for one in published if one.metric.name == metric.name]


def _find(of_metric: Sequence[Published], treatment: Treatment) -> Published | None:
    """The published value for a cell; if there are several at the same levels, their mean; None if
    there is none."""
    found = [one for one in of_metric if one.is_of(treatment)]
    if not found:
        return None
    same = [one for one in found if one.levels == found[0].levels]
    mean = sum(one.value for one in same) / len(same)
    return replace(found[0], value=mean, rounding=max(one.rounding for one in same))


def _laws(
    panel: Panel, published: Sequence[Published], law: Identity
) -> Iterator[tuple[BrokenLaw, bool]]:
    """Each published row with both values, and whether their product follows the law."""
    firsts, seconds = _of_metric(published, law.first), _of_metric(published, law.second)
    for (x, level), cell in panel.cells.items():
        first = _find(firsts, cell.treatment)
        second = _find(seconds, cell.treatment)
        if first is None or second is None or not first.value or not second.value:
            continue
        ratio = first.value * second.value / law.product(cell.planned[0])
        slack = first.rounding / first.value + second.rounding / second.value
        yield BrokenLaw(x, level, ratio), abs(ratio - 1) <= slack * (1 + slack)
