"""The ratio of two means: Fieller, Welch, equivalence and Holm, each against a known answer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from netstudy.analysis.intervals import Estimate, Interval, ratio_of_sums, student_quantile
from netstudy.analysis.ratio import fieller, holm, p_different, p_same, welch_df


def runs(*values: float) -> Estimate:
    estimate = ratio_of_sums(np.array(values), np.ones(len(values)), "run")
    assert estimate is not None
    return estimate


def exact(value: float) -> Estimate:
    return Estimate(value, 0.0, 4, 5, "run")


A = runs(10.0, 12.0, 11.0, 13.0, 9.0)
B = runs(5.0, 5.5, 4.5, 5.2, 4.8)


def test_fieller_with_an_exact_base_is_the_student_interval_divided_by_it() -> None:
    interval = fieller(A, exact(5.0))
    assert interval is not None
    assert A.interval is not None
    assert (interval.low, interval.high) == pytest.approx((A.interval.low / 5, A.interval.high / 5))


def test_the_ends_of_fieller_solve_its_equation() -> None:
    interval = fieller(A, B)
    assert interval is not None
    t = student_quantile(0.975, welch_df(A, B))
    assert A.variance is not None
    assert B.variance is not None
    for rho in (interval.low, interval.high):
        distance = abs(A.value - rho * B.value)
        assert distance == pytest.approx(t * math.sqrt(A.variance + rho**2 * B.variance))


def test_a_ratio_is_never_below_zero() -> None:
    few, base = runs(0.0, 0.0, 3.0), runs(10.0, 11.0, 12.0)
    assert few.interval is not None
    assert few.interval.low == 0, "the mean of a few drops is less certain than it is large"
    interval = fieller(few, base)
    assert interval is not None
    assert interval.low == 0
    assert interval.high > few.value / base.value


def test_a_base_that_may_be_zero_has_no_ratio_interval() -> None:
    assert fieller(A, runs(-1.0, 1.0, 0.5)) is None
    assert fieller(A, exact(0.0)) is None
    assert fieller(A, Estimate(5.0, None, 0, 1, "none")) is None


def test_welch_agrees_with_scipy() -> None:
    expected = stats.ttest_ind(
        [10.0, 12.0, 11.0, 13.0, 9.0], [5.0, 5.5, 4.5, 5.2, 4.8], equal_var=False
    )
    assert p_different(A, B, 0.0) == pytest.approx(expected.pvalue)
    assert welch_df(A, B) == pytest.approx(expected.df)


def test_identical_exact_values_are_the_same_and_unequal_ones_different() -> None:
    assert p_different(exact(3.5), exact(3.5), 0.02) == 1
    assert p_same(exact(3.5), exact(3.5), 0.02) == 0
    assert p_different(exact(3.5), exact(3.6), 0.02) == 0
    assert p_same(exact(3.5), exact(3.6), 0.02) == 1


def test_without_a_spread_nothing_can_be_tested() -> None:
    unknown = Estimate(5.0, None, 0, 1, "none")
    assert p_different(A, unknown, 0.02) is None
    assert p_same(A, unknown, 0.02) is None


def ends_at(interval: Interval, *bounds: float) -> bool:
    """Whether an end of the interval is one of the bounds, but for rounding."""
    ends = (interval.low, interval.high)
    return any(abs(end - bound) < 1e-9 for end in ends for bound in bounds)


def test_exact_values_at_the_edge_of_the_band_are_neither_the_same_nor_different() -> None:
    assert p_same(exact(90.0), exact(100.0), 0.1) == 0.5
    assert p_different(exact(90.0), exact(100.0), 0.1) == 1


@given(
    a=st.lists(st.floats(90, 110), min_size=3, max_size=6),
    b=st.lists(st.floats(90, 110), min_size=3, max_size=6),
)
@example(a=[90.0] * 3, b=[100.0] * 3)
def test_the_tests_and_the_intervals_always_agree(a: list[float], b: list[float]) -> None:
    left, right = runs(*a), runs(*b)
    wide, narrow = fieller(left, right), fieller(left, right, confidence=0.90)
    differ, same = p_different(left, right, 0.02), p_same(left, right, 0.1)
    if wide is None or narrow is None or differ is None or same is None:
        return
    # An end on the bound itself decides neither way; without a spread p is ½ there, not 0.05.
    if abs(differ - 0.05) > 1e-9 and not ends_at(wide, 0.98, 1.02):
        assert (differ < 0.05) == (wide.high < 0.98 or wide.low > 1.02)
    if abs(same - 0.05) > 1e-9 and not ends_at(narrow, 0.9, 1.1):
        assert (same < 0.05) == narrow.inside(0.9, 1.1)


def test_holm_worked_by_hand() -> None:
    # sorted .01 .02 .03 .04 -> .04 .06 .06 .06 (each at least the one before)
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, None, 0.9]) == [1.0, None, 1.0]
    assert holm([]) == []


def test_fieller_covers_the_true_ratio() -> None:
    seed, trials = 20_260_104, 2000
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    covered = 0
    for _ in range(trials):
        interval = fieller(runs(*rng.normal(150, 9, 5)), runs(*rng.normal(100, 4, 5)))
        covered += interval is not None and interval.holds(1.5)
    assert covered / trials == pytest.approx(0.95, abs=0.02)
