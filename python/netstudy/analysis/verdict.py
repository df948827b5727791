"""Compares two levels, treatment by treatment: the ratio of means, the verdict, and the winner.

A pair of cells differs only in the level of the compared factor. "same" means that the ratio is
shown to lie inside the study's noise band, "different" that it is shown to lie outside, both after
Holm's correction. All other pairs are undecided; for them, the interval that remains and the number
of runs that would probably decide them are computed. With only one replicate per cell, run-to-run
variation is unknown, so there is no verdict. For published values without repetitions, only the
rounding is known: their difference is compared directly with the noise band, and they count as
different if rounding cannot explain it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from netstudy.analysis.intervals import (
    CONFIDENCE,
    ROUNDING,
    Estimate,
    Interval,
    student_interval,
    student_quantile,
)
from netstudy.analysis.metrics import Metric
from netstudy.analysis.order_statistics import Lacking
from netstudy.analysis.ratio import fieller, holm, p_different, p_same, welch_df
from netstudy.analysis.samples import Floats
from netstudy.analysis.stationarity import CellMetric, Unsettled, too_short
from netstudy.wire import Level

if TYPE_CHECKING:
    from netstudy.analysis.cells import CellRow

ALPHA = 0.05
POWER = 0.80
RUNS_RECOMMENDED = 5
"""In a permutation test, three runs against three can never reach p < 0.05; five against five
can."""
RUNS_SEARCHED = 1000

Outcome = Literal["different", "same", "undecided", "missing"]


@dataclass(frozen=True)
class Known:
    """The range in which the difference of an undecided pair lies.

    The intervals hold for all undecided pairs of the table together and agree with Holm's
    procedure: they are Bonferroni intervals over the pairs that are not different (Guilbaud 2008,
    Biometrical Journal 50). So none of them lies wholly outside the noise band.
    """

    ratio: Interval | None
    """value ÷ base_value; None if the base may be 0."""
    difference: Interval
    """value − base_value."""
    margin_pct: float
    """The study's equivalence margin; 0 without one."""

    @property
    def is_larger(self) -> bool | None:
        """Whether the value is shown to be larger than the base's, True, or smaller, False; None:
        the direction is not known."""
        if self.difference.holds(0.0):
            return None
        return self.difference.low > 0


@dataclass(frozen=True)
class Comparison:
    """One pair of cells and its verdict."""

    x: Level | None
    """Level of the factor along x of the table; None if there is none."""
    value: float | None
    base_value: float | None
    ratio: float | None
    """value ÷ base_value, from unrounded values."""
    interval: Interval | None
    """95 % Fieller interval of the ratio."""
    p_different: float | None
    """p of "the ratio is inside the noise band", Holm-adjusted over the rows of the table; without
    a noise band, p of "both means are equal"."""
    p_same: float | None
    """p of "the ratio is outside the noise band", Holm-adjusted over the rows of the table."""
    noise_pct: float | None
    """Likely difference between two series of identical runs (A/A noise), computed from the
    replicates of each cell; the larger of the two values."""
    outcome: Outcome
    winner: Level | None
    """The better level if the two differ."""
    more_runs: int | None
    """Runs to add to each cell of an undecided pair. None if the pair is decided, if more than a
    thousand runs are needed, or if single runs have too few samples."""
    within_one_run: bool
    """Whether the uncertainty was estimated from batches of a single run, which does not include
    run-to-run variation."""
    too_few_samples: bool
    """Whether the metric has no value for single runs, such as a high percentile of few samples:
    then its run-to-run variation remains unknown, however many runs there are."""
    by_rounding: bool
    """Whether only the rounding is known for one or both values."""
    difference_interval: Interval | None = None
    """95 % interval of value − base_value, with Welch's degrees of freedom."""
    lacking: Lacking | None = None
    """If a cell has too few samples for a percentile: how many it has, and how many are needed."""
    known: Known | None = None
    """For an undecided pair of repeated cells: the range that remains."""
    unsettled: Unsettled | None = None
    """If the measuring phase of a cell is too short for the metric: by how much. More runs of the
    same phase would not help, so the pair is undecided."""

    @property
    def difference(self) -> float | None:
        """value − base_value; for shares, in percentage points."""
        if self.value is None or self.base_value is None:
            return None
        return self.value - self.base_value

    @property
    def change_pct(self) -> float | None:
        """Relative change from the base, in percent."""
        return None if self.ratio is None else (self.ratio - 1) * 100


@dataclass(frozen=True)
class Crossover:
    """A point where the lead changes from one level to the other, between the values `after` and
    `before` of x."""

    after: Level
    before: Level
    from_level: Level
    to_level: Level


@dataclass(frozen=True)
class VerdictTable:
    """The comparisons of one metric along x, for one level against the base."""

    metric: Metric
    factor: str
    level: Level
    base: Level
    x: str | None
    margin_pct: float | None
    """The study's equivalence margin (`noise`)."""
    rows: tuple[Comparison, ...]
    crossovers: tuple[Crossover, ...]

    def with_outcome(self, outcome: Outcome) -> tuple[Comparison, ...]:
        """The rows with a given outcome."""
        return tuple(row for row in self.rows if row.outcome == outcome)

    def ahead(self, row: Comparison) -> Level | None:
        """The level with the better value, whether or not the difference is significant. For
        metrics without a better direction, this is the level with the larger value. None for equal
        or missing values."""
        if not row.difference:
            return None
        is_first = (row.difference > 0) != (self.metric.direction == "lower")
        return self.level if is_first else self.base

    @property
    def worse(self) -> Level | None:
        """The level that loses wherever a difference is shown; None: neither does everywhere."""
        winners = {row.winner for row in self.with_outcome("different")}
        if winners == {self.level}:
            return self.base
        return self.level if winners == {self.base} else None

    def won_by(self, level: Level) -> tuple[Comparison, ...]:
        """The rows that a level wins."""
        return tuple(row for row in self.rows if row.winner == level)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two cells that differ only in the compared factor; None for a missing cell."""

    x: Level | None
    a: CellRow | None
    base: CellRow | None


@dataclass(frozen=True, eq=False)
class Candidate:
    """One metric of two cells, for one verdict."""

    metric: Metric
    a: CellMetric | None
    """None: the cell is missing, or its runs do not have the metric."""
    base: CellMetric | None
    x: Level | None = None
    """Level of the factor along x of the table; None if there is none."""


def verdict_table(
    pairs: Sequence[Pair],
    *,
    metric: Metric,
    factor: str,
    level: Level,
    base: Level,
    x: str | None,
    margin_pct: float | None,
) -> VerdictTable:
    """Compares every pair; the p values are adjusted over the rows of this table."""
    candidates = [
        Candidate(
            metric,
            None if pair.a is None else (pair.a, metric),
            None if pair.base is None else (pair.base, metric),
            pair.x,
        )
        for pair in pairs
    ]
    rows = comparisons(candidates, (level, base), margin_pct)
    return VerdictTable(metric, factor, level, base, x, margin_pct, rows, _crossovers(rows))


def comparisons(
    candidates: Sequence[Candidate], levels: tuple[Level, Level], margin_pct: float | None
) -> tuple[Comparison, ...]:
    """A verdict on each candidate; the p values are adjusted over all of them. `levels`: the names
    of the first cell and of the base, one of which is the winner."""
    margin = None if margin_pct is None else margin_pct / 100
    tests = [_Test.of(candidate, margin) for candidate in candidates]
    differ = holm([test.p_different for test in tests])
    same = holm([test.p_same for test in tests])
    compared = max(1, sum(p is not None for p in differ))
    left = max(1, sum(p is not None and p >= ALPHA for p in differ))
    return tuple(
        _judge(test, d, s, levels, margin, compared, left)
        for test, d, s in zip(tests, differ, same, strict=True)
    )


@dataclass(frozen=True)
class _Test:
    """The estimates of a candidate and its raw p values."""

    of_candidate: Candidate
    a: Estimate | None
    b: Estimate | None
    p_different: float | None
    p_same: float | None
    lacking: Lacking | None = None
    unsettled: Unsettled | None = None

    @classmethod
    def of(cls, candidate: Candidate, margin: float | None) -> _Test:
        readings = [one for one in (candidate.a, candidate.base) if one is not None]
        a, b = (
            None if one is None else one[0].estimate(one[1])
            for one in (candidate.a, candidate.base)
        )
        if a is None or b is None:
            found = [lack for cell, own in readings if (lack := cell.lacking(own)) is not None]
            fewest = min(found, key=lambda lack: lack.samples, default=None)
            return cls(candidate, a, b, None, None, fewest)
        if (short := too_short(readings, margin)) is not None:
            return cls(candidate, a, b, None, None, unsettled=short)
        same = None if margin is None else p_same(a, b, margin)
        return cls(candidate, a, b, p_different(a, b, margin or 0.0), same)


def _judge(
    test: _Test,
    differ: float | None,
    same: float | None,
    levels: tuple[Level, Level],
    margin: float | None,
    compared: int,
    left: int,
) -> Comparison:
    """The verdict on one of `compared` pairs, of which `left` are not shown to be different."""
    a, b, metric = test.a, test.b, test.of_candidate.metric
    rounded = any(e is not None and e.unit == "rounding" for e in (a, b))
    within = not rounded and any(e is not None and e.unit != "run" for e in (a, b))
    # Tests need run-to-run variation, so values with only their rounding and single runs are
    # decided without tests.
    if test.unsettled is not None:
        outcome: Outcome = "undecided"
    elif rounded and a and b:
        outcome = _by_rounding(a, b, margin)
    else:
        outcome = "undecided" if within and a and b else _outcome(a, b, differ, same)
    undecided = outcome == "undecided" and a is not None and b is not None
    return Comparison(
        x=test.of_candidate.x,
        value=a.value if a else None,
        base_value=b.value if b else None,
        ratio=_ratio(a, b),
        interval=fieller(a, b) if a and b else None,
        p_different=differ,
        p_same=same,
        noise_pct=_largest(aa_noise_pct(e) for e in (a, b)),
        outcome=outcome,
        winner=_winner(a, b, metric, levels) if outcome == "different" else None,
        more_runs=_more_runs(a, b, margin, compared)
        if undecided and not rounded and test.unsettled is None and a and b
        else None,
        within_one_run=within,
        too_few_samples=any(map(_not_of_single_runs, (a, b))),
        by_rounding=rounded,
        difference_interval=_difference(a, b),
        lacking=test.lacking,
        known=_known(a, b, 1 - ALPHA / left, margin)
        if undecided and not within and not rounded
        else None,
        unsettled=test.unsettled,
    )


def _known(
    a: Estimate | None, b: Estimate | None, confidence: float, margin: float | None
) -> Known | None:
    difference = _difference(a, b, confidence)
    if a is None or b is None or difference is None:
        return None
    return Known(fieller(a, b, confidence), difference, 100 * (margin or 0.0))


def _difference(
    a: Estimate | None, b: Estimate | None, confidence: float = CONFIDENCE
) -> Interval | None:
    if a is None or b is None or a.variance is None or b.variance is None:
        return None
    return student_interval(a.value - b.value, a.variance + b.variance, welch_df(a, b), confidence)


def _not_of_single_runs(estimate: Estimate | None) -> bool:
    return estimate is not None and estimate.unit in ("none", "sample") and estimate.n > 1


def _ratio(a: Estimate | None, b: Estimate | None) -> float | None:
    return None if a is None or b is None or b.value == 0 else a.value / b.value


def _outcome(
    a: Estimate | None,
    b: Estimate | None,
    differ: float | None,
    same: float | None,
) -> Outcome:
    if a is None or b is None:
        return "missing"
    if same is not None and same < ALPHA:
        return "same"
    if a.variance == b.variance == 0 and math.isclose(a.value, b.value, rel_tol=ROUNDING):
        return "same"
    if a.value == b.value == 0 and not a.variance and not b.variance:
        return "same"
    return "different" if differ is not None and differ < ALPHA else "undecided"


def _by_rounding(a: Estimate, b: Estimate, margin: float | None) -> Outcome:
    """The true values may lie anywhere within their rounding and intervals. "different" if they
    always differ by more than the noise band, "same" if always by less; else undecided."""
    gap, band = abs(a.value - b.value), (margin or 0.0) * abs(b.value)
    slack = _known_within(a) + (1 + (margin or 0.0)) * _known_within(b)
    if gap - slack > band:
        return "different"
    is_same = gap + slack <= band or a.value == b.value == 0
    return "same" if is_same else "undecided"


def _known_within(estimate: Estimate) -> float:
    """How far the true value may be from the given value."""
    interval = estimate.interval
    half = 0.0 if interval is None else (interval.high - interval.low) / 2
    return max(half, estimate.rounding or 0.0)


def _winner(
    a: Estimate | None, b: Estimate | None, metric: Metric, levels: tuple[Level, Level]
) -> Level | None:
    if a is None or b is None or metric.direction == "neutral":
        return None
    a_better = a.value < b.value if metric.direction == "lower" else a.value > b.value
    return levels[0] if a_better else levels[1]


def aa_noise_pct(estimate: Estimate | None) -> float | None:
    """The A/A noise in % of the mean."""
    noise = aa_noise(estimate)
    if noise is None or estimate is None or not estimate.value:
        return None
    return 100 * noise / abs(estimate.value)


def aa_noise(estimate: Estimate | None) -> float | None:
    """The 95 % limit of the difference between the means of two series of n identical runs: t(.975)
    s √(2/n), in the unit of the mean. None if runs were not repeated."""
    if estimate is None or estimate.unit != "run":
        return None
    spread = math.sqrt(2 * (estimate.variance or 0.0))
    return student_quantile(1 - ALPHA / 2, estimate.df) * spread


def _largest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _more_runs(a: Estimate, b: Estimate, margin: float | None, compared: int) -> int | None:
    """Runs to add to each cell so that whichever verdict is nearer is reached with 80 % power; None
    if a thousand runs are not enough.

    Assumes that the variances remain as seen so far; the level of the test is Bonferroni's for the
    compared rows.
    """
    if _not_of_single_runs(a) or _not_of_single_runs(b):
        return None
    have = min(a.n, b.n)
    if a.unit != "run" or b.unit != "run":
        return RUNS_RECOMMENDED - 1
    gap = abs(a.value - b.value)
    band = (margin or 0.0) * abs(b.value)
    one_run = (a.variance or 0.0) * a.n + (b.variance or 0.0) * b.n
    n, reach = _reach(have, ALPHA / compared / (2 if gap > band else 1))
    distance = abs(gap - band)
    if distance == 0:
        return None
    enough = n[reach * np.sqrt(one_run / n) <= distance]
    return int(enough[0]) - have if enough.size else None


@cache
def _reach(have: int, level: float) -> tuple[NDArray[np.int64], Floats]:
    """Numbers of runs larger than `have`; and for each number, the distance from a bound, in
    standard errors, that a test at this level detects with 80 % power."""
    n = np.arange(have + 1, RUNS_SEARCHED + 1)
    return n, stdtrit(2 * (n - 1), 1 - level) + stdtrit(2 * (n - 1), POWER)


def _crossovers(rows: Sequence[Comparison]) -> tuple[Crossover, ...]:
    """The places along x where the lead changes between decided rows; x must be numeric, and the
    rows in ascending order of x."""
    led = [row for row in rows if row.winner is not None and isinstance(row.x, int | float)]
    return tuple(
        Crossover(_given(before.x), _given(after.x), _given(before.winner), _given(after.winner))
        for before, after in pairwise(led)
        if before.winner != after.winner
    )


def _given(level: Level | None) -> Level:
    assert level is not None, "crossovers are sought between rows with an x and a winner"
    return level
