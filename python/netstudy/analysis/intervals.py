"""Estimates with their uncertainty. The unit of statistics is the run: every run starts everything
anew, so runs are independent.

Inside a run the samples are autocorrelated; an interval from a single run therefore comes from
batch means (Law & Kelton, Simulation Modeling and Analysis, 9.5.3), and is valid for that run only.
The variance of a ratio of sums is the linearised variance of a ratio estimator (Cochran, Sampling
Techniques, 6.3). If all denominators are equal, the interval is the textbook Student interval of
the mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from netstudy.analysis.samples import Floats, Terms

CONFIDENCE = 0.95
BATCH_COUNTS = (32, 16, 8)
"""Numbers of batches to try: more batches give more degrees of freedom, fewer (longer) batches are
less correlated."""
BATCH_MIN_SIZE = 5
ROUNDING = 1e-12
"""Bound of the relative rounding error: sums of the same values in a different order differ by
less."""
LAG_ONE_QUANTILE = 1.645
"""One-sided 5 % point of the normal distribution, to test whether neighbouring batches are
correlated. If they are, batches are made longer."""

Unit = Literal["run", "batch", "sample", "rounding", "none"]


@dataclass(frozen=True)
class Interval:
    """A confidence interval; both ends in the unit of the estimate."""

    low: float
    high: float

    def inside(self, low: float, high: float) -> bool:
        """Whether the whole interval lies between the two bounds."""
        return low <= self.low and self.high <= high

    def holds(self, value: float) -> bool:
        """Whether the interval contains the value."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Estimate:
    """A value, its variance, and the degrees of freedom of the variance.

    `unit` says what was repeated: independent runs, batches of one run, samples assumed
    independent, or nothing ("none"). "rounding": only the rounding of a published value is known.
    """

    value: float
    variance: float | None
    df: float
    n: int
    unit: Unit
    rounding: float | None = None
    """One unit of the last digit, if the value is not known more exactly."""
    bounds: Interval | None = None
    """The 95 % interval, if it is not Student's: for a percentile or a share."""
    from_samples: bool = False
    """Whether `bounds` come from all samples, assumed independent, instead of the runs."""
    floor: float = -math.inf
    """The value cannot be below this: 0 for the mean of times, counts or rates."""
    ceiling: float = math.inf
    """The value cannot be above this: 1 for an index of fairness."""

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval: `bounds`, else Student's, cut at floor and ceiling; None without
        repetitions."""
        if self.bounds is not None:
            return self.bounds
        found = student_interval(self.value, self.variance, self.df)
        if found is None:
            return None
        return Interval(max(self.floor, found.low), min(self.ceiling, found.high))


def decimals_of(rounding: float) -> int:
    """Number of decimals of a value whose last digit has this unit: 0.01 -> 2, 10 -> 0."""
    exponent = Decimal(repr(rounding)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def student_quantile(p: float, df: float) -> float:
    """Quantile of Student's t."""
    return float(stdtrit(df, p))


def normal_quantile(p: float) -> float:
    """Quantile of the normal distribution."""
    return float(ndtri(p))


def student_interval(
    value: float, variance: float | None, df: float, confidence: float = CONFIDENCE
) -> Interval | None:
    """Value ± t × standard error."""
    if variance is None:
        return None
    half = student_quantile(0.5 + confidence / 2, df) * math.sqrt(variance)
    return Interval(value - half, value + half)


def ratio_of_sums(numerators: Floats, denominators: Floats, unit: Unit) -> Estimate | None:
    """The sum of numerators ÷ the sum of denominators, and the variance of this ratio over the n
    units.

    None if the denominator is 0 or missing. With one unit the variance is unknown.
    """
    total = float(denominators.sum())
    if denominators.size == 0 or total == 0:
        return None
    n = int(denominators.size)
    value = float(numerators.sum()) / total
    if n < 2:
        return Estimate(value, None, 0, n, "none")
    residuals = numerators - value * denominators
    residuals[np.abs(residuals) <= ROUNDING * np.abs(numerators)] = 0.0
    variance = float(residuals @ residuals) / (n - 1) * n / total**2
    none_below_zero = numerators.min() >= 0 and denominators.min() >= 0
    floor = 0.0 if none_below_zero else -math.inf
    return Estimate(value, variance, n - 1, n, unit, floor=floor)


def variance_of_mean(values: Sequence[float]) -> float:
    """The variance of the mean of two or more independent values; 0 if they are equal."""
    if max(values) - min(values) <= ROUNDING * max(map(abs, values)):
        return 0.0
    return float(np.var(values, ddof=1)) / len(values)


def packed(values: Floats) -> Floats:
    """The same values in little memory if all are equal: many counts are 0 in every run."""
    if values.size < 2 or not _are_same(values):
        return values
    return np.broadcast_to(values[0].copy(), values.shape)


def _are_same(values: Floats) -> bool:
    if values[0] != values[0]:  # NaN, for runs without a value
        return bool(np.isnan(values).all())
    return bool(values[0] == values[-1] and (values == values[0]).all())


class Sums:
    """The sums of the numerators and denominators of each run that has terms."""

    __slots__ = ("_above", "_below", "_places", "_terms", "count")

    def __init__(
        self,
        above: Floats,
        below: Floats,
        count: int,
        places: NDArray[np.intp] | None = None,
        terms: Terms | None = None,
    ) -> None:
        """One entry for each run that has terms. `count`: the number of all runs. `places`: the
        places of these runs among all runs; None: each run has terms. `terms`: the terms
        themselves, if only one run has any."""
        self._above = packed(above)
        self._below = packed(below)
        self._places = places
        self._terms = terms
        self.count = count
        """Number of all runs."""

    @classmethod
    def of(cls, found: Sequence[Terms | None]) -> Sums:
        """The sums of these runs; None: a run has no terms."""
        known = [pair for pair in found if pair is not None]
        places = [place for place, pair in enumerate(found) if pair is not None]
        return cls(
            np.array([top.sum() for top, _ in known], dtype=np.float64),
            np.array([bottom.sum() for _, bottom in known], dtype=np.float64),
            len(found),
            None if len(known) == len(found) else np.array(places),
            known[0] if len(known) == 1 else None,
        )

    @classmethod
    def of_rows(cls, above: Floats, below: Floats) -> Sums:
        """The sums of runs whose terms are the rows of two matrices."""
        terms = (above[0], below[0]) if len(above) == 1 else None
        return cls(above.sum(axis=1), below.sum(axis=1), len(above), None, terms)

    @classmethod
    def joined(cls, parts: Sequence[Sums]) -> Sums:
        """The sums of several blocks of runs."""
        before = accumulate((part.count for part in parts), initial=0)
        places = [start + part.places for start, part in zip(before, parts, strict=False)]
        count = sum(part.count for part in parts)
        at = np.concatenate(places) if places else np.empty(0, np.intp)
        single = next((part._terms for part in parts if part._above.size), None)
        return cls(
            np.concatenate([part.above for part in parts]) if parts else np.empty(0),
            np.concatenate([part.below for part in parts]) if parts else np.empty(0),
            count,
            None if at.size == count else at,
            single if at.size == 1 else None,
        )

    @property
    def above(self) -> Floats:
        """The sum of the numerators of each run that has terms."""
        return np.array(self._above)

    @property
    def below(self) -> Floats:
        """The sum of the denominators of each run that has terms."""
        return np.array(self._below)

    @property
    def places(self) -> NDArray[np.intp]:
        """The places of the runs that have terms, among all runs."""
        return np.arange(self.count) if self._places is None else self._places

    def estimate(self) -> Estimate | None:
        """The estimate over independent runs; batch means if there is only one run."""
        if not self._above.size:
            return None
        if self._above.size == 1:
            assert self._terms is not None, "a single run keeps its terms"
            return batch_means(*self._terms)
        return ratio_of_sums(self.above, self.below, "run")

    def ratios(self) -> list[float | None]:
        """The ratio of each run; None for a run without terms."""
        found: list[float | None] = [None] * self.count
        with np.errstate(divide="ignore", invalid="ignore"):
            values = (self.above / self.below).tolist()
        for place, value in zip(self.places.tolist(), values, strict=True):
            found[place] = value
        return found


def batch_means(numerator: Floats, denominator: Floats) -> Estimate | None:
    """The estimate from one run, by batch means.

    Many short batches are tried first, then longer ones while neighbouring batches are still
    correlated. A run too short for eight batches of five samples has a value but no interval.
    """
    estimate = ratio_of_sums(numerator.sum(keepdims=True), denominator.sum(keepdims=True), "none")
    for count in BATCH_COUNTS:
        if numerator.size < count * BATCH_MIN_SIZE:
            continue
        tops, bottoms = _batch_sums(numerator, count), _batch_sums(denominator, count)
        batched = ratio_of_sums(tops, bottoms, "batch")
        if batched is None or estimate is None:
            return None
        estimate = Estimate(estimate.value, batched.variance, batched.df, count, "batch")
        residuals = tops - batched.value * bottoms
        if lag_one(residuals) <= LAG_ONE_QUANTILE / math.sqrt(count):
            break
    return estimate


def _batch_sums(values: Floats, count: int) -> Floats:
    """Sums of `count` batches of equal size; leaves out the first few samples that do not fit."""
    size = values.size // count
    return np.asarray(values[values.size - size * count :].reshape(count, size).sum(axis=1))


def lag_one(values: Floats) -> float:
    """Autocorrelation at lag one; 0 for a constant series."""
    centred = values - values.mean()
    power = float(centred @ centred)
    return float(centred[:-1] @ centred[1:]) / power if power > 0 else 0.0
