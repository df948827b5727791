"""Intervals of percentiles and shares, against tables worked by hand and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from netstudy.analysis.distribution import Values, order_interval
from netstudy.analysis.intervals import Interval
from netstudy.analysis.order_statistics import carries, fewest, has_beyond, ranks, wider, wilson


@pytest.mark.parametrize(
    ("q", "samples", "pair"),
    [
        # Conover, Practical Nonparametric Statistics: ranks of the median at 95 %
        (0.5, 6, (1, 6)),
        (0.5, 10, (2, 9)),
        (0.5, 20, (6, 15)),
        (0.9, 28, None),
        (0.99, 298, None),
        (0.999, 2994, None),
    ],
)
def test_the_ranks_that_hold_a_percentile_are_those_of_the_tables(
    q: float, samples: int, pair: tuple[int, int] | None
) -> None:
    assert ranks(q, samples) == pair


@pytest.mark.parametrize("q", [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999])
def test_every_pair_of_ranks_covers_95_percent_and_no_narrower_one_at_its_end_does(
    q: float,
) -> None:
    for samples in (fewest(q), fewest(q) + 1, 2 * fewest(q), 500, 1000, 5000, 100_000):
        pair = ranks(q, samples)
        if samples < fewest(q):
            assert pair is None
            continue
        assert pair is not None
        low, high = pair
        assert 1 <= low < high <= samples
        covered = binom.cdf(high - 1, samples, q) - binom.cdf(low - 1, samples, q)
        assert covered >= 0.95 - 1e-9
        nearer = (low + 1, high) if q >= 0.5 else (low, high - 1)
        missed = binom.cdf(nearer[1] - 1, samples, q) - binom.cdf(nearer[0] - 1, samples, q)
        assert missed < 0.95


def test_a_percentile_is_carried_from_the_number_of_samples_on_that_holds_it() -> None:
    # 1 − q^n − (1 − q)^n ≥ 0.95: n ≥ ln 0.05 ÷ ln q far from the middle
    assert [fewest(q) for q in (0.5, 0.9, 0.95, 0.99, 0.999)] == [6, 29, 59, 299, 2995]
    for q in (0.5, 0.9, 0.95, 0.99, 0.999, 0.1):
        assert carries(q, fewest(q))
        assert not carries(q, fewest(q) - 1)
    assert not carries(0.5, 0)


def test_a_run_among_others_needs_one_sample_beyond_its_percentile() -> None:
    assert [has_beyond(0.99, n) for n in (99, 100)] == [False, True]
    assert [has_beyond(0.5, n) for n in (0, 1, 2)] == [False, False, True]


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
def test_the_interval_covers_the_percentile_of_independent_samples(q: float) -> None:
    """Of a skewed distribution, whose percentile is −ln(1 − q)."""
    seed, trials, samples = 20_261_123, 2000, 600
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    true, covered = -math.log(1 - q), 0
    for _ in range(trials):
        found = order_interval(Values(np.sort(rng.exponential(size=samples))), q)
        assert found is not None
        covered += found.holds(true)
    assert 0.94 <= covered / trials <= 0.98


@pytest.mark.parametrize(("k", "n"), [(0, 40), (1, 500), (7, 20), (250, 1000), (40, 40)])
def test_the_interval_of_a_share_is_wilsons(k: int, n: int) -> None:
    oracle = binomtest(k, n).proportion_ci(method="wilson")
    found = wilson(k / n, n)
    assert found is not None
    assert [found.low, found.high] == pytest.approx([oracle.low, oracle.high])


def test_nothing_is_known_of_a_share_without_samples() -> None:
    assert wilson(0.0, 0) is None


def test_the_wider_of_two_intervals_counts() -> None:
    narrow, wide = Interval(1, 2), Interval(0, 4)
    assert wider(narrow, wide) == wider(wide, narrow) == wide
    assert wider(None, narrow) == wider(narrow, None) == narrow
    assert wider(None, None) is None


def test_a_quantile_lies_between_two_samples_as_numpy_puts_it() -> None:
    seed = 20_261_127
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    for size in (1, 2, 3, 10, 99, 1000):
        values = Values(np.sort(rng.exponential(size=size)))
        for q in (0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.999, 1, *rng.random(50)):
            assert values.quantile(q) == np.quantile(values.ascending, q)
