"""The causal chain of a workload, such as drops -> retransmissions -> completion time, tested.

A correlation along x proves little: more servers drop more and take longer, whatever the cause.
Each link is therefore tested in three scopes, from weak to strong:

- along x, within one level of the compared factor: x itself may cause both;
- between the levels at the same x: x is constant, only the level differs;
- inside one cell: all levels are constant, only chance differs. The comparison is between the
  iterations of a run if the workload has any, else between the runs.

Where runs have accounts of time, they tell which parts the time consists of. A metric whose product
with the effect is constant is not tested as a cause: the two are the same observation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import bdtrc

from netstudy.analysis.beyond_wire import BeyondWire, Grown, beyond_wire, grown
from netstudy.analysis.cells import CellRow
from netstudy.analysis.gathering import Block, Demands, Part
from netstudy.analysis.intervals import Interval
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric, RatioOfSums
from netstudy.analysis.rank import (
    MIN_PAIRS,
    RankCorrelation,
    rank_correlation,
    rho,
    rho_of,
    standard_ranks,
)
from netstudy.analysis.ratio import holm
from netstudy.analysis.samples import Floats, NotAlikeError, RunSample
from netstudy.analysis.signals import LongWaits, Signals, least_rto_ms, long_waits, signals
from netstudy.analysis.verdict import ALPHA
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.analysis.workloads.base import Step
from netstudy.wire import Level

Scope = Literal["along x", "between levels", "inside cells"]
SIGNS_MIN = 6
"""Fewest values for a sign test: with fewer, even equal signs may be chance."""


@dataclass(frozen=True)
class Link:
    """One link of the chain, tested in one scope."""

    cause: Metric
    effect: Metric
    scope: Scope
    level: Level | None
    """Scope "along x": the level tested; scope "between levels": the level compared with the base;
    else None."""
    n: int
    """Number of cells (along x), pairs of cells (between levels) or cells with a test (inside
    cells)."""
    rho: float | None
    """Spearman's rho; for the scope "inside cells", the median of rho over the cells."""
    low: float | None
    high: float | None
    p: float | None
    """Two-sided p, Holm-adjusted over all links; None: too few pairs or cells for a test."""
    expects_rise: bool
    """Whether more of the cause should mean more of the effect."""

    @property
    def holds(self) -> bool | None:
        """Whether rho is significant and has the expected sign; None if the link cannot be
        tested."""
        if self.rho is None or self.p is None:
            return None
        return (self.rho > 0 if self.expects_rise else self.rho < 0) and self.p < ALPHA


@dataclass(frozen=True)
class Causes:
    """The evidence for the chain in one panel."""

    chain: tuple[Step, ...]
    """The workload's links, then the links from congestion signals that occur here."""
    links: tuple[Link, ...]
    samples: str
    """What is compared inside cells: iterations or runs."""
    beyond_wire: tuple[BeyondWire, ...]
    grown: tuple[Grown, ...]
    timeout_costs_ms: tuple[float, ...]
    """For each cell with both kinds of samples: the mean time of samples with a timeout minus the
    mean time of samples without; ascending."""
    min_rto_ms: float | None
    """The minimum RTO, if all senders of all cells share it."""
    retransmissions_per_drop: float | None
    """Ratio of the sums over all cells."""
    signals: tuple[Signals, ...]
    """Counts of congestion signals at each level of the series."""
    long_waits: tuple[LongWaits, ...]
    """Cells with waits of about one minimum RTO that are not timeouts."""

    @property
    def timeout_cost_ms(self) -> float | None:
        """Median of `timeout_costs_ms`; None without cells that have both kinds of samples."""
        return float(np.median(self.timeout_costs_ms)) if self.timeout_costs_ms else None

    def testable(self) -> tuple[Link, ...]:
        """The links that the data can test."""
        return tuple(link for link in self.links if link.holds is not None)


def causes(panel: Panel, base: Level | None, workload: WorkloadAnalysis) -> Causes:
    """Tests the chain on the cells of a panel; levels are compared with `base`."""
    cells = tuple(panel.cells.values())
    chain = (*workload.chain, *_occurring(workload.signals, cells))
    single = _has_samples(cells, chain)
    links = [
        *_along_x(panel, chain),
        *_between_levels(panel, base, chain),
        *(_inside_cells(step, cells, single=single) for step in chain),
    ]
    adjusted = holm([link.p for link in links])
    costs = [timeout_cost_ms(cell, workload) for cell in cells]
    return Causes(
        chain=chain,
        links=tuple(replace(link, p=p) for link, p in zip(links, adjusted, strict=True)),
        samples=f"{workload.counted.noun}s" if single else "runs",
        beyond_wire=tuple(beyond_wire(panel)),
        grown=tuple(grown(panel, base)),
        timeout_costs_ms=tuple(sorted(cost for cost in costs if cost is not None)),
        min_rto_ms=_min_rto_ms(cells),
        retransmissions_per_drop=_retransmissions_per_drop(cells, workload),
        signals=signals(panel),
        long_waits=long_waits(panel, workload),
    )


def timeout_cost_ms(cell: CellRow, workload: WorkloadAnalysis) -> float | None:
    """The mean time of the samples of a cell with a timeout minus the mean of those without; None:
    not counted, or too few of them."""
    cost_ms = workload.timeout_cost_ms
    if cost_ms is None:
        return None
    return cell.runs.kept("timeout cost", lambda: cost_ms(cell.runs))


def _occurring(steps: Sequence[Step], cells: Sequence[CellRow]) -> Iterator[Step]:
    """The links whose cause occurs in some cell."""
    return (step for step in steps if any(cell.value(step.cause) for cell in cells))


def _link(step: Step, scope: Scope, level: Level | None, found: RankCorrelation) -> Link:
    low, high = (found.interval.low, found.interval.high) if found.interval else (None, None)
    rise = step.expects_rise
    return Link(step.cause, step.effect, scope, level, found.n, found.rho, low, high, found.p, rise)


Chain = Sequence[Step]


def _along_x(panel: Panel, chain: Chain) -> list[Link]:
    if not panel.x_numeric:
        return []
    return [
        _link(step, "along x", level, _correlate(panel.along_x(level), step.cause, step.effect))
        for step in chain
        for level in panel.series_levels
    ]


def _correlate(cells: Sequence[CellRow], cause: Metric, effect: Metric) -> RankCorrelation:
    return rank_correlation([c.value(cause) for c in cells], [c.value(effect) for c in cells])


def _between_levels(panel: Panel, base: Level | None, chain: Chain) -> list[Link]:
    """Tests each link between levels: correlates the relative differences between a level and the
    base, one for each x."""
    return [
        _level_link(panel, level, base, step)
        for step in chain
        for level in panel.series_levels
        if level != base and base in panel.series_levels
    ]


def _level_link(panel: Panel, level: Level | None, base: Level | None, step: Step) -> Link:
    pairs = [(panel.cell(x, level), panel.cell(x, base)) for x in panel.x_levels]
    found = rank_correlation(
        [_relative_difference(a, b, step.cause) for a, b in pairs],
        [_relative_difference(a, b, step.effect) for a, b in pairs],
    )
    return _link(step, "between levels", level, found)


def _relative_difference(a: CellRow | None, b: CellRow | None, metric: Metric) -> float | None:
    """(a - b) / (a + b): it ranks cells in the same order as the ratio a/b, and is defined even if
    one value is 0."""
    left, right = a.value(metric) if a else None, b.value(metric) if b else None
    if left is None or right is None or left + right == 0:
        return None
    return (left - right) / (left + right)


def _has_samples(cells: Sequence[CellRow], chain: Chain) -> bool:
    """Whether any link can be tested between the samples of a run."""
    return any(
        any(cell.runs.gathered(("has samples", step), _has_entries(step)))
        for step in chain
        for cell in cells
    )


def _has_entries(step: Step) -> Callable[[Block], bool]:
    """True if at least one run of the block has samples of both the cause and the effect."""

    def part(block: Block) -> bool:
        with suppress(NotAlikeError):
            both = (_entries_by_rows(step.cause, block), _entries_by_rows(step.effect, block))
            return all(one is not None for one in both)
        return any(
            _entries(step.cause, run) is not None and _entries(step.effect, run) is not None
            for run in block
        )

    return part


def _inside_cells(step: Step, cells: Sequence[CellRow], *, single: bool) -> Link:
    """Computes rho within each cell, and returns the median over the cells. p is from the sign test
    over the cells, which are independent."""
    within = _between_samples if single else _between_runs
    found = [
        value for cell in cells if (value := within(cell, step.cause, step.effect)) is not None
    ]
    if not found:
        return _link(step, "inside cells", None, RankCorrelation(0, None, None, None))
    low, high = (float(q) for q in np.quantile(found, (0.25, 0.75)))
    spread = Interval(low, high)
    held = RankCorrelation(len(found), float(np.median(found)), spread, sign_test(found))
    return _link(step, "inside cells", None, held)


def _between_samples(cell: CellRow, cause: Metric, effect: Metric) -> float | None:
    """Rho between the samples of a run, averaged over the runs."""
    parts = cell.runs.gathered(("rho", cause, effect), _rhos(cause, effect))
    each = np.concatenate(parts) if parts else np.empty(0)
    return float(np.mean(each)) if each.size else None


def _rhos(cause: Metric, effect: Metric) -> Callable[[Block], Floats]:
    """Rho between the samples of each run of a block that has some."""

    def part(block: Block) -> Floats:
        each = [
            rho_of(x, y)
            for run in _varying(block, cause, effect)
            if (x := _ranked(cause, run)) is not None
            and (y := _ranked(effect, run)) is not None
            and x.size == y.size
        ]
        return np.array(each, dtype=np.float64)

    return part


def _varying(block: Block, cause: Metric, effect: Metric) -> Iterable[RunSample]:
    """The runs of a block in which neither metric is constant, as far as that is seen at once."""
    try:
        both = (_entries_by_rows(cause, block), _entries_by_rows(effect, block))
    except NotAlikeError:
        return block
    varies = np.ones(len(block), dtype=np.bool_)
    for one in both:
        if one is None:
            return ()
        varies &= (one != one[:, :1]).any(axis=1)
    return [block[int(place)] for place in np.flatnonzero(varies)]


def demands_of(workload: WorkloadAnalysis) -> Demands:
    """The parts that `causes` needs from the runs of a cell, in addition to estimates."""
    found: dict[Hashable, Part] = {}
    for step in (*workload.chain, *workload.signals):
        found["has samples", step] = _has_entries(step)
        found["rho", step.cause, step.effect] = _rhos(step.cause, step.effect)
        found |= step.cause.reading.demands()
    found["lost", workload.kind] = _losses(workload)
    return found


def _ranked(metric: Metric, run: RunSample) -> Floats | None:
    """The standard ranks of single samples, cached because several links use them; None if all are
    equal, or only the run's total is known."""

    def find() -> Floats | None:
        found = _entries(metric, run)
        return None if found is None else standard_ranks(found)

    return run.kept(("standard ranks", metric.name), find)


def _between_runs(cell: CellRow, cause: Metric, effect: Metric) -> float | None:
    """Rho between the runs of a cell; None with too few of them."""
    pairs = zip(cause.reading.of_each(cell.runs), effect.reading.of_each(cell.runs), strict=True)
    both = [(x, y) for x, y in pairs if x is not None and y is not None]
    if len(both) < MIN_PAIRS:
        return None
    left, right = np.array(both, dtype=np.float64).T
    return rho(left, right)


def _entries_by_rows(metric: Metric, block: Block) -> Floats | None:
    """`_entries` of all runs of a block, as a matrix with a row for each."""

    if not isinstance(metric.reading, RatioOfSums):
        raise NotAlikeError
    pair = metric.reading.rows_of(block)
    return None if pair is None or pair[0].shape[1] < 2 else pair[0] / pair[1]


def _entries(metric: Metric, run: RunSample) -> Floats | None:
    """The values of single samples; None if only the run's total is known."""
    pair = metric.reading.terms(run)
    return None if pair is None or pair[0].size < 2 else pair[0] / pair[1]


def sign_test(values: Sequence[float]) -> float | None:
    """Two-sided p of "positive and negative values are equally likely". None for fewer than six
    values: even five values of the same sign give only p = 0.0625."""
    signs = [value > 0 for value in values if value != 0]
    if len(signs) < SIGNS_MIN:
        return None
    more = max(sum(signs), len(signs) - sum(signs))
    return min(1.0, 2 * float(bdtrc(more - 1, len(signs), 0.5)))


def _min_rto_ms(cells: Sequence[CellRow]) -> float | None:
    """The minimum RTO of the hosts that send data, if all of them share it in all cells."""
    found = {least_rto_ms(run) for cell in cells for run in cell.planned[:1]}
    return found.pop() if len(found) == 1 else None


def _retransmissions_per_drop(cells: Sequence[CellRow], workload: WorkloadAnalysis) -> float | None:
    key = "lost", workload.kind
    both = [part for cell in cells for part in cell.runs.gathered(key, _losses(workload))]
    lost_in_all = sum(drops for _, drops in both)
    return sum(again for again, _ in both) / lost_in_all if lost_in_all else None


def _losses(workload: WorkloadAnalysis) -> Callable[[Block], tuple[float, float]]:
    """The retransmitted segments and the drops of the runs of a block that counted both."""

    def part(block: Block) -> tuple[float, float]:
        both = [
            (retransmitted, float(lost))
            for run in block
            if (retransmitted := workload.sent_again(run)) is not None
            and (lost := workload.dropped(run.record)) is not None
        ]
        return sum(again for again, _ in both), sum(drops for _, drops in both)

    return part
