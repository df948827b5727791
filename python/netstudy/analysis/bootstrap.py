"""The uncertainty of a number that combines many cells: a bootstrap over replicates.

Each cell is a stratum whose runs are drawn with replacement. With n runs the plain bootstrap gives
only (n - 1)/n of the variance, for example four fifths with 5 runs. The distance of every draw from
the cell's own value is therefore multiplied by √(n/(n - 1)) (Rao & Wu 1988, Resampling inference
with complex survey data).
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import numpy as np

from netstudy.analysis.intervals import CONFIDENCE, Interval
from netstudy.analysis.metrics import Metric, RatioOfSums
from netstudy.analysis.samples import Floats

if TYPE_CHECKING:
    from netstudy.analysis.cells import CellRow

RESAMPLES = 2_000
SEED = 20_260_102
"""Fixed, so that the same records give the same report."""


def resampled(cell: CellRow, metric: Metric) -> Floats | None:
    """The metric's value in `RESAMPLES` resampled sets of the cell's runs.

    All metrics of a cell share the same draws; different cells have different draws. None with
    fewer than two runs, if the metric was not measured, or if it is not a ratio of sums (a
    percentile, for example).
    """
    value = cell.value(metric)
    if value is None:
        return None
    if not isinstance(metric.reading, RatioOfSums):
        return None
    sums = metric.reading.sums(cell.runs)
    tops, bottoms = sums.above, sums.below
    if tops.size < 2:
        return None
    drawn = _stream(cell).integers(tops.size, size=(RESAMPLES, tops.size))
    redrawn = tops[drawn].sum(axis=1) / bottoms[drawn].sum(axis=1)
    stretch = math.sqrt(tops.size / (tops.size - 1))
    return np.asarray(value + stretch * (redrawn - value), dtype=np.float64)


def _stream(cell: CellRow) -> np.random.Generator:
    """The random generator of a cell, seeded from its levels, so that an added cell does not change
    the draws of other cells."""
    address = repr(sorted(cell.treatment.items())).encode()
    return np.random.default_rng([SEED, *hashlib.sha256(address).digest()])


def bootstrap_interval(value: float, redrawn: Floats) -> Interval:
    """The union of the percentile and the basic interval (Davison & Hinkley 1997, 5.2).

    Noise tends to increase absolute errors, so resampled medians of absolute errors lie above the
    actual median. The basic interval corrects this bias but may miss the value; the percentile
    interval contains the bias twice. The union of both is wide enough and contains the value.
    """
    tail = (1 - CONFIDENCE) / 2
    low, high = (float(end) for end in np.quantile(redrawn, [tail, 1 - tail]))
    return Interval(min(low, 2 * value - high), max(high, 2 * value - low))
