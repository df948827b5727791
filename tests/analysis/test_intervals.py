"""Intervals hold what they promise: worked by hand, beside scipy, and in the long run."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from netstudy.analysis.intervals import (
    Estimate,
    Interval,
    Sums,
    batch_means,
    lag_one,
    ratio_of_sums,
    variance_of_mean,
)

ONE_RUN_A_VALUE = np.array([2.0, 4.0, 9.0])


def mean_of(values: NDArray[np.float64]) -> Estimate:
    estimate = ratio_of_sums(values, np.ones(values.size), "run")
    assert estimate is not None
    return estimate


def test_three_runs_worked_by_hand() -> None:
    # mean 5; squares 9 + 1 + 16 = 26; s² = 13; s²/n = 13/3; t(.975; 2) = 4.302653
    estimate = mean_of(ONE_RUN_A_VALUE)
    assert estimate.value == 5
    assert estimate.variance == pytest.approx(13 / 3)
    assert estimate.interval is not None
    assert estimate.interval.high == pytest.approx(5 + 4.302653 * np.sqrt(13 / 3), rel=1e-6)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 4.7e9])
def test_equal_runs_do_not_scatter_by_what_rounding_leaves(value: float) -> None:
    assert mean_of(np.full(7, value)).variance == 0
    assert variance_of_mean([value, value * 3 / 3, value]) == 0


def test_the_mean_agrees_with_scipy() -> None:
    values = ONE_RUN_A_VALUE + 10
    estimate = mean_of(values)
    expected = stats.t.interval(0.95, 2, loc=15, scale=stats.sem(values))
    assert estimate.interval is not None
    assert (estimate.interval.low, estimate.interval.high) == pytest.approx(expected)


def test_goodput_is_a_ratio_of_sums_and_not_a_mean_of_ratios() -> None:
    # 100 Mbit in 1 s and 100 Mbit in 3 s are 200 Mbit in 4 s: 50; the mean of ratios is 66.7
    estimate = ratio_of_sums(np.array([100.0, 100.0]), np.array([1.0, 3.0]), "run")
    assert estimate is not None
    assert estimate.value == 50
    # residuals 100 - 50 = 50 and 100 - 150 = -50: s² = 5000, times n over 4² = 625
    assert estimate.variance == pytest.approx(625)


def test_an_interval_of_values_never_below_zero_ends_at_zero() -> None:
    drops = np.array([0.0, 0.0, 9.0])
    low, high = stats.t.interval(0.95, 2, loc=3, scale=stats.sem(drops))
    assert low < 0
    estimate = mean_of(drops)
    assert estimate.interval is not None
    assert (estimate.interval.low, estimate.interval.high) == pytest.approx((0, high))


def test_an_interval_of_values_of_either_sign_goes_below_zero() -> None:
    estimate = mean_of(np.array([-1.0, 0.0, 9.0]))
    assert estimate.interval is not None
    assert estimate.interval.low < 0


def test_one_run_alone_has_no_interval_over_runs() -> None:
    estimate = mean_of(np.array([7.0]))
    assert estimate.interval is None
    assert estimate.unit == "none"


def test_nothing_to_divide_by_is_missing_and_not_zero() -> None:
    assert ratio_of_sums(np.array([]), np.array([]), "run") is None
    assert ratio_of_sums(np.array([1.0]), np.array([0.0]), "run") is None


def test_replicates_make_the_run_the_unit() -> None:
    runs = [(np.array([1.0, 3.0]), np.ones(2)), (np.array([5.0, 7.0]), np.ones(2))]
    estimate = Sums.of(runs).estimate()
    assert estimate is not None
    assert (estimate.value, estimate.n, estimate.unit) == (4, 2, "run")
    assert estimate.variance == pytest.approx(4)  # run means 2 and 6: s² = 8, over 2


def test_a_single_run_falls_back_to_batches_of_its_iterations() -> None:
    values = np.arange(64.0) % 2
    estimate = Sums.of([(values, np.ones(64))]).estimate()
    assert estimate is not None
    assert (estimate.value, estimate.unit) == (0.5, "batch")


def test_a_run_too_short_for_batches_has_a_value_and_no_interval() -> None:
    estimate = batch_means(np.arange(39.0), np.ones(39))
    assert estimate is not None
    assert estimate.value == 19
    assert estimate.interval is None


def test_lag_one_of_an_alternating_and_of_a_constant_series() -> None:
    # +1 -1 +1 -1: products -1 -1 -1 over 4
    assert lag_one(np.array([1.0, -1.0, 1.0, -1.0])) == pytest.approx(-0.75)
    assert lag_one(np.ones(5)) == 0


def autoregressive(
    rng: np.random.Generator, phi: float, length: int, mean: float
) -> NDArray[np.float64]:
    """x_t = phi x_(t-1) + noise, started in its stationary state."""
    noise = rng.normal(size=length)
    series = np.empty(length)
    series[0] = noise[0] / np.sqrt(1 - phi**2)
    for t in range(1, length):
        series[t] = phi * series[t - 1] + noise[t]
    return mean + series


@pytest.mark.parametrize("phi", [0.0, 0.6, 0.9])
def test_batch_means_cover_the_mean_of_an_autocorrelated_run(phi: float) -> None:
    seed, trials = 20_260_101, 400
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    covered = 0
    for _ in range(trials):
        series = autoregressive(rng, phi, 1000, mean=100)
        estimate = batch_means(series, np.ones(1000))
        assert estimate is not None
        assert estimate.interval is not None
        covered += estimate.interval.holds(100)
    assert 0.90 <= covered / trials <= 0.985


def test_taking_the_iterations_as_independent_would_cover_far_less() -> None:
    seed, trials = 20_260_102, 200
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    naive = [mean_of(autoregressive(rng, 0.9, 1000, mean=100)).interval for _ in range(trials)]
    assert sum(interval is not None and interval.holds(100) for interval in naive) / trials < 0.5


def test_five_runs_cover_their_mean() -> None:
    seed, trials = 20_260_103, 2000
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    intervals = [mean_of(rng.normal(50, 4, 5)).interval for _ in range(trials)]
    covered = sum(interval is not None and interval.holds(50) for interval in intervals) / trials
    assert covered == pytest.approx(0.95, abs=0.015)


def test_an_interval_knows_what_it_holds() -> None:
    interval = Interval(0.98, 1.01)
    assert interval.holds(1)
    assert not interval.holds(0.97)
    assert interval.inside(0.98, 1.02)
    assert not interval.inside(0.99, 1.02)
