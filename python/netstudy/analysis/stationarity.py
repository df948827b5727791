"""Is the measuring phase long enough for the mean of a metric?

TCP's throughput rises and falls between two losses. Replicates that start alike lose at the same
moments, so the spread between them is small, however far the mean of a short phase is from that of
a long one. Two rules find such cells, from the values of a metric over the phase:

- The phase holds fewer than three loss periods of a flow, and the means of its quarters differ by
  more than the noise.
- The means of its halves differ by more than the noise and in the same way in all replicates
  (paired t test), as in a trend.

Both need a phase with a time. Transfers and iterations of a given size are measured as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import stdtr

from netstudy.analysis.intervals import ROUNDING
from netstudy.analysis.metrics import Metric, RatioOfSums
from netstudy.analysis.samples import Floats, RunSample
from netstudy.analysis.workloads.signals import counted, of_hosts
from netstudy.wire import UntilTime

if TYPE_CHECKING:
    from netstudy.analysis.cells import CellRow

LOSS_PERIODS: Final = 3
"""Fewest loss periods of a flow in a phase that is long enough."""
QUARTERS: Final = 4
FEWEST_PER_QUARTER: Final = 2
"""Fewest values in a quarter: a shorter series shows no trend."""
ALPHA: Final = 0.01
"""Probability of a false alarm in a cell with a stationary series; small because a study has many
cells."""
USUAL_NOISE_PCT: Final = 2.0
"""The noise band if the study declares none."""


CellMetric = tuple["CellRow", Metric]
"""A cell, and a metric as the cell's own folder defines it."""


@dataclass(frozen=True)
class Unsettled:
    """A cell whose measuring phase is too short for a metric."""

    phase_s: float
    loss_periods: float | None
    """Loss periods of a flow that the phase holds, in the mean; None: not counted, or no losses."""
    low: float
    """The lowest mean of a quarter of the phase, in the unit of the metric."""
    high: float
    """The highest mean of a quarter of the phase."""
    needed_s: float
    """Shortest phase that may be long enough."""


@dataclass(frozen=True, eq=False)
class UnsettledMetric:
    """The cells whose phase is too short for a metric."""

    metric: Metric
    cells: tuple[tuple[CellRow, Unsettled], ...]


def unsettled_metrics(
    metrics: Iterable[Metric], rows: Iterable[CellRow], margin_pct: float | None
) -> Iterator[UnsettledMetric]:
    """The metrics that are not settled in some cell."""
    rows = tuple(rows)
    for metric in metrics:
        found = ((row, unsettled(row, metric, margin_pct)) for row in rows)
        cells = tuple((row, one) for row, one in found if one is not None)
        if cells:
            yield UnsettledMetric(metric, cells)


def too_short(readings: Sequence[CellMetric], margin: float | None) -> Unsettled | None:
    """The cell that needs the longer phase, if a phase is too short to tell cells apart: means of
    parts of the phase are as high in one as in the other. `margin`: the noise band, a ratio."""
    margin_pct = None if margin is None else 100 * margin
    found = [unsettled(cell, metric, margin_pct) for cell, metric in readings]
    short = [one for one in found if one is not None]
    if not short:
        return None
    settled = [
        cell.value(metric)
        for (cell, metric), one in zip(readings, found, strict=True)
        if one is None
    ]
    lows = [*(one.low for one in short), *(value for value in settled if value is not None)]
    highs = [*(one.high for one in short), *(value for value in settled if value is not None)]
    return max(short, key=lambda one: one.needed_s) if max(lows) <= min(highs) else None


def unsettled(cell: CellRow, metric: Metric, margin_pct: float | None) -> Unsettled | None:
    """Whether the phase of a cell is too short for a metric; None: it is long enough, or the
    metric has no values over time. `margin_pct`: the noise band of the study."""
    reading = metric.reading
    if not isinstance(reading, RatioOfSums) or not reading.over_time or not cell.runs:
        return None
    phase_s = cell.runs.kept("phase", lambda: cell.runs[0].measure_s)
    if phase_s is None or not isinstance(cell.planned[0].until("measure"), UntilTime):
        return None
    key = "quarters", metric.name
    quarters = cell.runs.each(key, lambda run: _quarters(run, metric.name, reading))
    known = np.array([one for one in quarters if one is not None])
    if len(known) < len(quarters) or known.mean() == 0:
        return None
    return _judged(known, _loss_periods(cell.runs), phase_s, margin_pct or USUAL_NOISE_PCT)


def _judged(
    quarters: Floats, periods: float | None, phase_s: float, margin_pct: float
) -> Unsettled | None:
    """`quarters`: one row a run, with the mean of each quarter of its phase."""
    means = quarters.mean(axis=0)
    low, high = float(means.min()), float(means.max())
    varies = 100 * (high - low) > margin_pct * float(means.mean())
    is_short = periods is not None and periods < LOSS_PERIODS and varies
    is_moving = _halves_differ(quarters, margin_pct)
    if not is_short and not is_moving:
        return None
    needed = [LOSS_PERIODS * phase_s / periods] if periods is not None else []
    # A trend has no period that could be counted: three of the present phases show whether it ends.
    needed += [LOSS_PERIODS * phase_s] if is_moving else []
    return Unsettled(phase_s, periods, low, high, max(needed))


def _halves_differ(quarters: Floats, margin_pct: float) -> bool:
    """Whether the second half differs from the first by more than the noise, in all runs alike."""
    gaps_pct = 50 * (quarters @ np.array([-1.0, -1.0, 1.0, 1.0])) / quarters.mean()
    gap_pct, n = float(gaps_pct.mean()), gaps_pct.size
    if n < 2 or abs(gap_pct) <= margin_pct:
        return False
    error_pct = float(gaps_pct.std(ddof=1)) / math.sqrt(n)
    if error_pct <= ROUNDING * abs(gap_pct):
        return True
    return bool(2 * stdtr(n - 1, -abs(gap_pct) / error_pct) < ALPHA)


def _quarters(run: RunSample, name: str, reading: RatioOfSums) -> Floats | None:
    """The mean of each quarter of the phase; None if there are too few values."""

    def find() -> Floats | None:
        terms = reading.terms(run)
        if terms is None or terms[0].size < QUARTERS * FEWEST_PER_QUARTER:
            return None
        pairs = zip(*(np.array_split(one, QUARTERS) for one in terms), strict=True)
        return np.array([above.sum() / below.sum() for above, below in pairs])

    return run.kept(("quarters", name), find)


_losses = of_hosts("fast_recoveries", "timeouts")
"""Times that TCP reduced its window because of losses. Segments lost together count once."""


def _loss_periods(runs: Iterable[RunSample]) -> float | None:
    """Losses of a flow in the phase of a run, in the mean; None if there are none, or if some host
    did not count them."""
    losses = flows = 0
    for run in runs:
        lost, table = counted(_losses, run), run.record.samples.connection
        if lost is None or table is None:
            return None
        losses, flows = losses + lost, flows + len(table.client)
    return losses / flows if losses and flows else None
