"""Rank correlation beside scipy's, and what it does with ties, constants and gaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from netstudy.analysis.rank import PERMUTATIONS, rank_correlation, ranks


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_ranks_agree_with_scipy(values: list[int]) -> None:
    found = ranks(np.array(values, dtype=np.float64))
    assert found == pytest.approx(stats.rankdata(values))


def test_rho_and_p_agree_with_scipy() -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=20)
    y = x + rng.normal(size=20) * 2
    found = rank_correlation(list(x), list(y))
    expected = stats.spearmanr(x, y)
    assert found.rho == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue, abs=0.02)


def test_a_perfect_order_has_the_smallest_p_there_is() -> None:
    found = rank_correlation(list(range(20)), list(range(20)))
    assert found.rho == pytest.approx(1)
    assert found.p == 1 / (PERMUTATIONS + 1)
    assert found.interval is None


def test_four_pairs_are_not_tested_since_they_can_never_be_significant() -> None:
    found = rank_correlation([1, 2, 3, 4], [1, 2, 3, 4])
    assert found.rho == pytest.approx(1)
    assert found.p is None  # 2 of 24 orders are as extreme
    five = rank_correlation([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])
    assert five.p is not None
    assert five.p < 0.05  # 2 of 120


def test_missing_and_constant_values_leave_no_correlation() -> None:
    assert rank_correlation([1, None, 3, 4], [1, 2, 3, None]).n == 2
    assert rank_correlation([1, None, 3, 4], [1, 2, 3, None]).rho is None
    assert rank_correlation([5, 5, 5, 5], [1, 2, 3, 4]).rho is None
    assert rank_correlation([], []).rho is None


def test_the_interval_covers_the_correlation_of_the_population() -> None:
    seed, trials = 20_260_105, 400
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    rho_s = 6 / np.pi * np.arcsin(0.6 / 2)  # of a bivariate normal with correlation 0.6
    covered = 0
    for _ in range(trials):
        x = rng.normal(size=40)
        y = 0.6 * x + 0.8 * rng.normal(size=40)
        found = rank_correlation(list(x), list(y), test=False)
        covered += found.interval is not None and found.interval.holds(rho_s)
    assert covered / trials == pytest.approx(0.95, abs=0.03)
