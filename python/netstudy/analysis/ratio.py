"""Compares two estimates: the interval of their ratio, and tests of difference and equivalence.

All three use the same t statistic with the same degrees of freedom, so that the interval and the
tests agree: Fieller's 95 % interval lies wholly outside the noise band exactly when the
minimum-effect test (Murphy & Myors 1999) rejects at 5 %; with a band of width 0, this is Welch's
test of equality. Fieller's 90 % interval lies in the noise band exactly when both of the two
one-sided tests (Schuirmann 1987) reject at 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import stdtr

from netstudy.analysis.intervals import (
    CONFIDENCE,
    ROUNDING,
    Estimate,
    Interval,
    student_quantile,
)


def welch_df(a: Estimate, b: Estimate) -> float:
    """Welch-Satterthwaite degrees of freedom of a - b."""
    va, vb = a.variance or 0.0, b.variance or 0.0
    spread = (va**2 / a.df if a.df else 0.0) + (vb**2 / b.df if b.df else 0.0)
    return (va + vb) ** 2 / spread if spread > 0 else a.df + b.df


def fieller(a: Estimate, b: Estimate, confidence: float = CONFIDENCE) -> Interval | None:
    """Fieller's (1954) interval of a/b; None if b is too uncertain to divide by.

    The ends solve (a - ρ b)² = t² (var a + ρ² var b). No metric is ever negative, so the interval
    is cut at zero.
    """
    if a.variance is None or b.variance is None or b.value == 0:
        return None
    t2 = student_quantile(0.5 + confidence / 2, welch_df(a, b)) ** 2
    square = b.value**2 - t2 * b.variance
    if square <= 0:
        return None
    middle = a.value * b.value
    root = math.sqrt(max(0.0, middle**2 - square * (a.value**2 - t2 * a.variance)))
    low, high = sorted(((middle - root) / square, (middle + root) / square))
    return Interval(max(0.0, low), max(0.0, high))


def p_different(a: Estimate, b: Estimate, margin: float) -> float | None:
    """p of "the ratio lies inside 1 ± noise": twice the smaller p of the two one-sided tests of its
    ends. With a margin of 0, the two-sided p of "both means are equal" (Welch 1947)."""
    if a.variance is None or b.variance is None:
        return None
    above = _tail(a.value - (1 + margin) * b.value, a, b, 1 + margin)
    below = _tail((1 - margin) * b.value - a.value, a, b, 1 - margin)
    return min(1.0, 2 * min(above, below))


def p_same(a: Estimate, b: Estimate, margin: float) -> float | None:
    """p of "the ratio lies outside 1 ± noise": the larger p of the two one-sided tests (TOST)."""
    if a.variance is None or b.variance is None:
        return None
    below = _tail((1 + margin) * b.value - a.value, a, b, 1 + margin)
    above = _tail(a.value - (1 - margin) * b.value, a, b, 1 - margin)
    return max(below, above)


def p_at_least(a: Estimate, b: Estimate, rho: float) -> float | None:
    """One-sided p of "a is at least ρ b": small if a is shown to be below."""
    if a.variance is None or b.variance is None:
        return None
    return _tail(rho * b.value - a.value, a, b, rho)


def _tail(distance: float, a: Estimate, b: Estimate, rho: float) -> float:
    """Upper tail probability of t for this distance between a and ρ b; if both variances are 0, it
    is 0, ½ or 1."""
    variance = (a.variance or 0.0) + rho**2 * (b.variance or 0.0)
    if variance == 0:
        is_rounding = abs(distance) <= ROUNDING * max(abs(a.value), abs(b.value))
        return 0.5 if is_rounding else float(distance < 0)
    return float(stdtr(welch_df(a, b), -distance / math.sqrt(variance)))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """The p values, adjusted for their number by Holm's method (1979); missing p values remain
    missing."""
    order = sorted((p, i) for i, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    worst = 0.0
    for rank, (p, i) in enumerate(order):
        worst = max(worst, min(1.0, p * (len(order) - rank)))
        adjusted[i] = worst
    return adjusted
