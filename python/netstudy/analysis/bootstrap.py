"""What a figure made of many cells would be with other runs: a bootstrap over replicates.

Each cell is a stratum whose runs are drawn with replacement. With n runs the plain bootstrap shows
only (n - 1)/n of the variance, a fifth too little with five, so every draw's distance from the
cell's own value is stretched by √(n/(n - 1)) (Rao & Wu 1988, Resampling inference with complex
survey data).
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import numpy as np

from netstudy.analysis.intervals import CONFIDENCE, Interval
from netstudy.analysis.metrics import Metric
from netstudy.analysis.samples import Floats

if TYPE_CHECKING:
    from netstudy.analysis.cells import CellRow

RESAMPLES = 2_000
SEED = 20_260_102
"""Fixed, so that the same records give the same report."""


def resampled(cell: CellRow, metric: Metric) -> Floats | None:
    """The metric's value in `RESAMPLES` redrawn sets of the cell's runs.

    All metrics of a cell meet the same draws; other cells have draws of their own. None with
    fewer than two runs, for what is no ratio of sums, as a percentile, and for what was not
    measured.
    """
    value = cell.value(metric)
    if value is None:
        return None
    terms = (metric.reading.terms(sample) for sample in cell.runs)
    runs = [found for found in terms if found is not None]
    if len(runs) < 2:
        return None
    tops = np.array([top.sum() for top, _ in runs])
    bottoms = np.array([bottom.sum() for _, bottom in runs])
    drawn = _stream(cell).integers(len(runs), size=(RESAMPLES, len(runs)))
    redrawn = tops[drawn].sum(axis=1) / bottoms[drawn].sum(axis=1)
    stretch = math.sqrt(len(runs) / (len(runs) - 1))
    return np.asarray(value + stretch * (redrawn - value), dtype=np.float64)


def _stream(cell: CellRow) -> np.random.Generator:
    """Random numbers of a cell, from its levels: adding a cell changes no other."""
    address = repr(sorted(cell.treatment.items())).encode()
    return np.random.default_rng([SEED, *hashlib.sha256(address).digest()])


def bootstrap_interval(value: float, redrawn: Floats) -> Interval:
    """What the percentile and the basic interval hold between them (Davison & Hinkley 1997, 5.2).

    An absolute error only grows with noise, so redrawn medians of absolute errors lie above the
    one that they surround. The basic interval takes that bias out, and may miss the value; the
    percentile interval has it twice. Both together are wide enough and hold the value.
    """
    tail = (1 - CONFIDENCE) / 2
    low, high = (float(end) for end in np.quantile(redrawn, [tail, 1 - tail]))
    return Interval(min(low, 2 * value - high), max(high, 2 * value - low))
