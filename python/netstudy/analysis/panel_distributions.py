"""The distributions of a panel: for each cell, its percentiles and its two humps (modes).

Figures and tables show only the cells at a few levels of x, chosen where the compared levels differ
most. A sample belongs to the hump of timeouts only if its timeout was counted: the shape of the
distribution is not used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from netstudy.analysis.cells import CellRow
from netstudy.analysis.distribution import Distribution, Marks, SampledQuantity, Values, raw
from netstudy.analysis.gathering import Block, Demands
from netstudy.analysis.intervals import Estimate
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric, Percentile, Share
from netstudy.analysis.order_statistics import Lacking, carries, fewest
from netstudy.analysis.samples import Floats, NotAlikeError, RunSample, Terms, each
from netstudy.analysis.verdict import VerdictTable
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.wire import Level

PERCENTILES = (0.5, 0.9, 0.95, 0.99, 0.999)
LEVELS_SHOWN = 3
"""Largest number of levels of x that are shown."""


@dataclass(frozen=True, eq=False)
class Hump:
    """One hump of a cell: the samples with a timeout, or the samples without."""

    samples: Values
    median: Estimate | None
    """None: too few samples."""


@dataclass(frozen=True, eq=False)
class Humps:
    """The samples of a cell, split by their timeout marks; either part may be empty."""

    waited: Hump | None
    other: Hump | None
    share: Estimate
    """Share of samples with a timeout, in percent."""


@dataclass(frozen=True, eq=False)
class CellSamples:
    """All samples of a cell."""

    x: Level | None
    level: Level | None
    cell: CellRow
    found: Distribution
    percentiles: Mapping[float, Estimate | Lacking]
    """Quantile -> its estimate; if there are too few samples, how many there are and how many are
    needed."""
    humps: Humps | None
    """None: the samples have no marks."""

    @property
    def runs(self) -> int:
        """Number of runs with these samples."""
        return len(self.cell.runs)

    @property
    def waits(self) -> bool:
        """Whether some sample waited for a timeout."""
        return self.humps is not None and self.humps.waited is not None


@dataclass(frozen=True, eq=False)
class PanelDistribution:
    """The samples of one quantity in the cells of a panel."""

    panel: Panel
    mean: Metric
    quantity: SampledQuantity
    cells: tuple[CellSamples, ...]
    """The cells at the shown levels, in the order of x and then of the series."""
    shown: tuple[Level | None, ...]
    """Levels of x that are shown, ascending."""
    focus: Level | None
    """The most informative shown level: the first in the order of `_ranked`."""

    def all_cells(self) -> Iterator[tuple[Level | None, Level | None, Distribution]]:
        """The samples at every level: x, level of the series, samples."""
        for x in self.panel.x_levels:
            for level in self.panel.series_levels:
                cell = self.panel.cell(x, level)
                found = self.quantity.over(cell.runs) if cell else None
                if found is not None:
                    yield x, level, found

    def at_focus(self) -> tuple[CellSamples, ...]:
        """The cells at the most informative level."""
        return tuple(one for one in self.cells if one.x == self.focus)

    @property
    def has_humps(self) -> bool:
        """Whether some shown cell has samples that waited for a timeout."""
        return any(one.waits for one in self.cells)


def distributions_of(
    panel: Panel, workload: WorkloadAnalysis, verdicts: Sequence[VerdictTable]
) -> tuple[PanelDistribution, ...]:
    """The distribution of each sampled quantity of the workload."""
    return tuple(
        found
        for metric in workload.metrics
        if metric.sampled is not None
        and (found := _distribution(panel, metric, metric.sampled, verdicts)).cells
    )


def _distribution(
    panel: Panel, metric: Metric, quantity: SampledQuantity, verdicts: Sequence[VerdictTable]
) -> PanelDistribution:
    ranked = tuple(_ranked(panel, metric, verdicts))
    chosen = ranked[:LEVELS_SHOWN] if len(panel.x_levels) > LEVELS_SHOWN else panel.x_levels
    shown = tuple(x for x in panel.x_levels if x in chosen)
    cells = tuple(
        samples
        for x in shown
        for level in panel.series_levels
        if (samples := _samples(panel, x, level, quantity)) is not None
    )
    return PanelDistribution(panel, metric, quantity, cells, shown, ranked[0])


def _ranked(
    panel: Panel, metric: Metric, verdicts: Sequence[VerdictTable]
) -> Iterator[Level | None]:
    """Levels of x, each once, the most informative first. The order is: the level with the largest
    difference by the deciding verdicts (without a verdict, by the means); levels at which the lead
    changes; the last level; the first level; all others."""
    decided = [row for row in (verdicts[0].rows if verdicts else ()) if row.outcome == "different"]
    crossings = verdicts[0].crossovers if verdicts else ()
    largest = max(decided, key=lambda row: _distance(row.value, row.base_value), default=None)
    order = [
        *([largest.x] if largest is not None else _by_spread(panel, metric)[:1]),
        *(one.before for one in crossings),
        panel.x_levels[-1],
        panel.x_levels[0],
        *panel.x_levels,
    ]
    yield from dict.fromkeys(order)


def _distance(a: float | None, b: float | None) -> float:
    if not a or not b:
        return math.inf if a != b else 0.0
    return abs(math.log(abs(a / b)))


def _by_spread(panel: Panel, metric: Metric) -> list[Level | None]:
    """Levels of x, sorted by the ratio between the largest and the smallest cell at the level,
    largest ratio first; if a level has only one cell, only the last level."""
    if len(panel.series_levels) < 2:
        return [panel.x_levels[-1]]

    def spread(x: Level | None) -> float:
        cells = [panel.cell(x, level) for level in panel.series_levels]
        values = [value for cell in cells if cell and (value := cell.value(metric)) is not None]
        return _distance(max(values), min(values)) if values else 0.0

    return sorted(panel.x_levels, key=spread, reverse=True)


def spread_of(panel: Panel, metric: Metric) -> float:
    """The largest ratio between any two cells of a panel, as a logarithm."""
    values = [value for cell in panel.cells.values() if (value := cell.value(metric)) is not None]
    return _distance(max(values), min(values)) if values else 0.0


def _samples(
    panel: Panel, x: Level | None, level: Level | None, quantity: SampledQuantity
) -> CellSamples | None:
    cell = panel.cell(x, level)
    found = quantity.over(cell.runs) if cell else None
    if cell is None or found is None:
        return None
    percentiles: dict[float, Estimate | Lacking] = {}
    for q in PERCENTILES:
        estimate = Percentile(q, quantity).estimate(cell.runs)
        percentiles[q] = estimate or Lacking(found.count, fewest(q), quantity.noun)
    return CellSamples(x, level, cell, found, percentiles, _humps(cell.runs, quantity))


def _humps(runs: Sequence[RunSample], quantity: SampledQuantity) -> Humps | None:
    if quantity.timeouts is None:
        return None
    share = _share_of_marks(quantity).estimate(runs)
    if share is None:
        return None
    return Humps(_hump(runs, quantity, waited=True), _hump(runs, quantity, waited=False), share)


@cache  # so that the same function is the same key of what was gathered
def _share_of_marks(quantity: SampledQuantity) -> Share:
    def terms(marked: Marks | None) -> Terms | None:
        return None if marked is None else each(np.where(marked, 100.0, 0.0))

    marks, rows = quantity.timeouts, quantity.marked_rows
    return Share(
        lambda run: None if marks is None else terms(marks(run)),
        of_rows=None if rows is None else lambda block: terms(rows(block)),
    )


def _hump(runs: Sequence[RunSample], quantity: SampledQuantity, *, waited: bool) -> Hump | None:
    part = _part(quantity, waited=waited)
    samples = part.over(runs)
    if samples is None:
        return None
    assert isinstance(samples, Values), "the samples of a part are raw"
    median = Percentile(0.5, part).estimate(runs) if carries(0.5, samples.count) else None
    return Hump(samples, median)


@cache
def _part(quantity: SampledQuantity, *, waited: bool) -> SampledQuantity:
    """The samples that waited for a timeout, or that did not."""

    def rows(block: Block) -> Floats | None:
        # Most blocks have no timeout: then one part is empty, and the other is the whole.
        marks = None if quantity.marked_rows is None else quantity.marked_rows(block)
        whole = quantity.rows_of(block)
        if whole is None or marks is None or marks.any():
            raise NotAlikeError
        return whole[:, :0] if waited else whole

    return raw(
        quantity.noun,
        lambda run: part_of(run, quantity, waited=waited),
        rows=None if quantity.rows is None else rows,
    )


def humps_demands(quantity: SampledQuantity) -> Demands:
    """The parts that `distributions_of` needs from the runs of a cell."""
    found = dict(Percentile(0.5, quantity).demands())
    for q in PERCENTILES:
        found |= Percentile(q, quantity).demands()
    if quantity.timeouts is None:
        return found
    found |= _share_of_marks(quantity).demands()
    for waited in (True, False):
        found |= Percentile(0.5, _part(quantity, waited=waited)).demands()
    return found


def part_of(run: RunSample, quantity: SampledQuantity, *, waited: bool) -> Floats | None:
    """The samples of a run that waited for a timeout, or that did not; None without marks."""
    values = None if quantity.values is None else quantity.values(run)
    marks = None if quantity.timeouts is None else quantity.timeouts(run)
    if values is None or marks is None:
        return None
    return np.asarray(values[marks == waited])
