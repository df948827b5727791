"""A test of dependence between successive replicates, from their order.

Verdicts and intervals assume independent runs. If a cell's runs are alike because they follow each
other (a cache that fills, a machine that warms up, neighbours on a shared host), its replicates
scatter less than its mean is uncertain, and false differences become frequent. Drift that all
cells share does no such harm, since each block runs every cell; the mean of each block is therefore
subtracted first.

The statistic is the lag-one autocorrelation, summed over cells and metrics. Its distribution comes
from the orders of the blocks (permutation test): if blocks are independent, every order is equally
likely, whatever the distribution of the values and the correlation inside a block. Four replicates
have too few orders to reach 5 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from netstudy.analysis.cells import CellRow
from netstudy.analysis.intervals import ROUNDING
from netstudy.analysis.metrics import Metric
from netstudy.analysis.samples import Floats

ALPHA = 0.05
"""Level of the test: one study of twenty with independent runs has the caveat all the same."""
REPLICATES_MIN = 5
"""Of the orders of five replicates, two of 120 (the order and its reverse) are the most extreme."""
ALL_ORDERS_MAX = 6
"""With more replicates, random orders are drawn instead of all."""
ORDERS = 2_000
SEED = 20_261_128
"""Fixed, so that the same records give the same report."""


@dataclass(frozen=True)
class Autocorrelation:
    """Replicates that depend on the replicates before them."""

    replicates: int
    """Replicates in order."""
    p: float
    """Share of the orders of the blocks in which neighbours are as alike."""


def autocorrelation(rows: Sequence[CellRow], metrics: Sequence[Metric]) -> Autocorrelation | None:
    """The dependence between successive replicates, if it is shown; None if it is not, or with
    fewer than two cells or five replicates."""
    likeness = _likeness(rows, metrics)
    if likeness is None or len(likeness) < REPLICATES_MIN:
        return None
    orders = _orders(len(likeness))
    sums = likeness[orders[:, :-1], orders[:, 1:]].sum(axis=1)
    # The first order is the one that was run. Equal sums differ by rounding.
    p = float(np.mean(sums >= sums[0] - ROUNDING * np.abs(sums).max()))
    return Autocorrelation(len(likeness), p) if p < ALPHA else None


def _likeness(rows: Sequence[CellRow], metrics: Sequence[Metric]) -> Floats | None:
    """Replicate by replicate: the sum over cells and metrics of the products of two replicates'
    deviations."""
    order = _common_replicates(rows)
    whole = [row for row in rows if {*row.runs.replicates} >= set(order)]
    found = [one for metric in metrics for one in _deviations(whole, metric, order)]
    if not found:
        return None
    stacked = np.array(found)
    return np.asarray(stacked.T @ stacked)


def _common_replicates(rows: Sequence[CellRow]) -> list[int]:
    """The numbers of the replicates that most cells have, in order."""
    sets = Counter(frozenset(row.runs.replicates) for row in rows if row.runs)
    return sorted(sets.most_common(1)[0][0]) if sets else []


def _deviations(rows: Sequence[CellRow], metric: Metric, order: Sequence[int]) -> Iterator[Floats]:
    """Each cell's relative deviations from its mean and from the mean of their block, scaled so
    that all cells have equal weight."""
    series = []
    for row in rows:
        values = metric.reading.of_each(row.runs)
        by_replicate = dict(zip(row.runs.replicates, values, strict=True))
        values = [by_replicate[number] for number in order]
        known = np.array([value for value in values if value is not None])
        if known.size and known.size == len(order) and (mean := float(known.mean())):
            series.append(known / mean - 1)
    if len(series) < 2:
        return
    relative = np.array(series)
    for one in relative - relative.mean(axis=0):
        size = float(np.linalg.norm(one))
        if size > ROUNDING:
            yield one / size


def _orders(n: int) -> NDArray[np.int64]:
    """Orders of n blocks; the first is the ascending one."""
    if n <= ALL_ORDERS_MAX:
        return np.array(list(permutations(range(n))))
    rng = np.random.default_rng(SEED)
    drawn = rng.permuted(np.tile(np.arange(n), (ORDERS, 1)), axis=1)
    drawn[0] = np.arange(n)
    return drawn
