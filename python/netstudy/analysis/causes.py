"""The causal chain drops -> retransmissions and timeouts -> completion time, tested.

A correlation along x alone proves little: more servers drop more and take longer, whatever the
cause. Each link is therefore looked at three ways, from weak to strong:

- along x, within one level of the compared factor: x itself is a common cause;
- between the levels at the same x: x is held, and the level is what differs;
- between the iterations of one cell: all levels are held, chance alone differs.

Besides, the time is accounted for: how much of what an iteration takes beyond the wire's own time
is one minimum RTO in each iteration that has a timeout. Goodput is no link: goodput x completion
time = bytes, so the two are one observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import bdtrc

from netstudy.analysis.cells import CellRow
from netstudy.analysis.ideal import ideal_of
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import (
    COMPLETION,
    DROPS,
    RETRANSMISSIONS,
    TIMEOUT_SHARE,
    TIMEOUTS,
    Metric,
)
from netstudy.analysis.rank import RankCorrelation, rank_correlation, rho
from netstudy.analysis.ratio import holm
from netstudy.analysis.samples import NS_PER_MS, Floats, RunSample, terms
from netstudy.analysis.verdict import ALPHA
from netstudy.wire import Level

Scope = Literal["along x", "between levels", "between iterations"]

CHAIN: tuple[tuple[Metric, Metric], ...] = (
    (DROPS, RETRANSMISSIONS),
    (DROPS, TIMEOUTS),
    (RETRANSMISSIONS, COMPLETION),
    (TIMEOUTS, COMPLETION),
)
MIN_GROUP = 5
"""Iterations with and without a timeout that a cell must have for their means to be compared."""


@dataclass(frozen=True)
class Link:
    """One link of the chain, looked at in one way."""

    cause: Metric
    effect: Metric
    scope: Scope
    level: Level | None
    """Along x the level looked at, between levels the one held against the base, else None."""
    n: int
    """Pairs: cells along x, pairs of cells between levels, cells between iterations."""
    rho: float | None
    """Spearman's rho; between iterations the median over the cells."""
    low: float | None
    high: float | None
    p: float | None
    """Two-sided p after Holm over all links."""

    @property
    def holds(self) -> bool | None:
        """Whether more of the cause goes with more of the effect; None when not testable."""
        if self.rho is None or self.p is None:
            return None
        return self.rho > 0 and self.p < ALPHA


@dataclass(frozen=True)
class TimeAccount:
    """Where the mean time of an iteration goes, for one cell."""

    x: Level | None
    level: Level | None
    completion_ms: float
    wire_ms: float
    """The bound of the wire: every byte once over the client's link."""
    timeout_share_pct: float | None
    waiting_ms: float | None
    """Share of iterations with a timeout x minimum RTO."""

    @property
    def excess_ms(self) -> float:
        """Time beyond the wire's own."""
        return self.completion_ms - self.wire_ms

    @property
    def accounted_pct(self) -> float | None:
        """Part of the excess that the waiting makes up; None without an excess."""
        if self.waiting_ms is None or self.excess_ms <= 0:
            return None
        return 100 * self.waiting_ms / self.excess_ms


@dataclass(frozen=True)
class Causes:
    """The evidence for the chain in one panel."""

    links: tuple[Link, ...]
    accounts: tuple[TimeAccount, ...]
    timeout_cost_ms: float | None
    """Iterations with a timeout minus those without, in one cell; the median over the cells."""
    timeout_cost_cells: int
    min_rto_ms: float | None
    """The servers' minimum RTO where all cells share it."""
    retransmissions_per_drop: float | None
    """Ratio of the sums over all cells."""

    def testable(self) -> tuple[Link, ...]:
        """The links that the data can test."""
        return tuple(link for link in self.links if link.holds is not None)


def causes(panel: Panel, base: Level | None) -> Causes:
    """Tests the chain on the cells of a panel; levels are held against `base`."""
    cells = tuple(panel.cells.values())
    links = [*_along_x(panel), *_between_levels(panel, base), *_between_iterations(cells)]
    adjusted = holm([link.p for link in links])
    costs = [cost for cell in cells if (cost := _timeout_cost(cell)) is not None]
    return Causes(
        links=tuple(replace(link, p=p) for link, p in zip(links, adjusted, strict=True)),
        accounts=_accounts(panel),
        timeout_cost_ms=float(np.median(costs)) if costs else None,
        timeout_cost_cells=len(costs),
        min_rto_ms=_min_rto_ms(cells),
        retransmissions_per_drop=_retransmissions_per_drop(cells),
    )


def _link(
    cause: Metric, effect: Metric, scope: Scope, level: Level | None, found: RankCorrelation
) -> Link:
    low, high = (found.interval.low, found.interval.high) if found.interval else (None, None)
    return Link(cause, effect, scope, level, found.n, found.rho, low, high, found.p)


def _along_x(panel: Panel) -> list[Link]:
    if not panel.x_numeric:
        return []
    return [
        _link(cause, effect, "along x", level, _correlate(panel.along_x(level), cause, effect))
        for cause, effect in CHAIN
        for level in panel.series_levels
    ]


def _correlate(cells: Sequence[CellRow], cause: Metric, effect: Metric) -> RankCorrelation:
    return rank_correlation([c.value(cause) for c in cells], [c.value(effect) for c in cells])


def _between_levels(panel: Panel, base: Level | None) -> list[Link]:
    """Relative differences of each level against the base, at each x."""
    return [
        _level_link(panel, level, base, cause, effect)
        for cause, effect in CHAIN
        for level in panel.series_levels
        if level != base and base in panel.series_levels
    ]


def _level_link(
    panel: Panel, level: Level | None, base: Level | None, cause: Metric, effect: Metric
) -> Link:
    pairs = [(panel.cell(x, level), panel.cell(x, base)) for x in panel.x_levels]
    found = rank_correlation(
        [_relative_difference(a, b, cause) for a, b in pairs],
        [_relative_difference(a, b, effect) for a, b in pairs],
    )
    return _link(cause, effect, "between levels", level, found)


def _relative_difference(a: CellRow | None, b: CellRow | None, metric: Metric) -> float | None:
    """(a - b) / (a + b): ranks as the ratio a/b does, and is defined where one of them is 0."""
    left, right = a.value(metric) if a else None, b.value(metric) if b else None
    if left is None or right is None or left + right == 0:
        return None
    return (left - right) / (left + right)


def _between_iterations(cells: Sequence[CellRow]) -> list[Link]:
    """The median rho within a cell; the sign test over the cells, which are independent."""
    return [_iteration_link(cause, effect, cells) for cause, effect in CHAIN]


def _iteration_link(cause: Metric, effect: Metric, cells: Sequence[CellRow]) -> Link:
    found = [value for cell in cells if (value := _rho_within(cell, cause, effect)) is not None]
    if not found:
        return Link(cause, effect, "between iterations", None, 0, None, None, None, None)
    low, high = (float(q) for q in np.quantile(found, (0.25, 0.75)))
    middle = float(np.median(found))
    p = sign_test(found)
    return Link(cause, effect, "between iterations", None, len(found), middle, low, high, p)


def _rho_within(cell: CellRow, cause: Metric, effect: Metric) -> float | None:
    """Mean over the runs of rho between the iterations of a run."""
    each = [
        value
        for run in cell.runs
        if (x := _per_iteration(cause, run)) is not None
        and (y := _per_iteration(effect, run)) is not None
        and (value := rho(x, y)) is not None
    ]
    return float(np.mean(each)) if each else None


def _per_iteration(metric: Metric, run: RunSample) -> Floats | None:
    pair = terms(metric, run)
    return None if pair is None or pair[0].size != run.iterations else pair[0] / pair[1]


def sign_test(values: Sequence[float]) -> float:
    """Two-sided p that positive and negative values are equally likely."""
    signs = [value > 0 for value in values if value != 0]
    more = max(sum(signs), len(signs) - sum(signs))
    return min(1.0, 2 * float(bdtrc(more - 1, len(signs), 0.5))) if signs else 1.0


def _accounts(panel: Panel) -> tuple[TimeAccount, ...]:
    return tuple(
        account
        for x in panel.x_levels
        for level in panel.series_levels
        if (account := _account(panel.cell(x, level), x, level)) is not None
    )


def _account(cell: CellRow | None, x: Level | None, level: Level | None) -> TimeAccount | None:
    completion = cell.value(COMPLETION) if cell else None
    if cell is None or completion is None:
        return None
    ideal, share = ideal_of(cell.planned[0]), cell.value(TIMEOUT_SHARE)
    waiting = None if share is None else share / 100 * ideal.min_rto_ns / NS_PER_MS
    return TimeAccount(x, level, completion, ideal.time_ms, share, waiting)


def _timeout_cost(cell: CellRow) -> float | None:
    """Mean time of the iterations with a timeout minus that of those without, in ms."""
    runs = [run for run in cell.runs if run.timeouts is not None]
    if not runs:
        return None
    times = np.concatenate([run.completion_ns for run in runs]) / NS_PER_MS
    late = np.concatenate([run.timeouts for run in runs if run.timeouts is not None]) > 0
    if min(int(late.sum()), int((~late).sum())) < MIN_GROUP:
        return None
    return float(times[late].mean() - times[~late].mean())


def _min_rto_ms(cells: Sequence[CellRow]) -> float | None:
    found = {ideal_of(cell.planned[0]).min_rto_ns for cell in cells}
    return found.pop() / NS_PER_MS if len(found) == 1 else None


def _retransmissions_per_drop(cells: Sequence[CellRow]) -> float | None:
    both = [
        (float(run.retransmissions.sum()), float(run.dropped_in_all))
        for cell in cells
        for run in cell.runs
        if run.retransmissions is not None and run.dropped_in_all is not None
    ]
    lost = sum(drops for _, drops in both)
    return sum(sent for sent, _ in both) / lost if lost else None
