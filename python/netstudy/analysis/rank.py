"""Spearman's rank correlation with an interval and a permutation test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from netstudy.analysis.intervals import CONFIDENCE, Interval
from netstudy.analysis.samples import Floats

PERMUTATIONS = 9_999
SEED = 20_260_101
"""Fixed, so that the same records give the same report."""
MIN_PAIRS = 4
MIN_TESTED = 5
"""Fewest pairs for a test: with four, 2 of the 24 orders are the most extreme, so p >= 0.083."""


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho over n pairs; all None if a variable is constant or pairs are too few."""

    n: int
    rho: float | None
    interval: Interval | None
    p: float | None
    """Two-sided, by permutation; None with too few pairs for a test."""


def ranks(values: Floats) -> Floats:
    """Ranks from 1; ties share their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], dtype=np.float64)


def rho(x: Floats, y: Floats) -> float | None:
    """Spearman's rho; None if a variable is constant."""
    a, b = standard_ranks(x), standard_ranks(y)
    return None if a is None or b is None else rho_of(a, b)


def rho_of(a: Floats, b: Floats) -> float:
    """Spearman's rho from the standard ranks of both variables."""
    return float(np.clip(a @ b, -1.0, 1.0))


def standard_ranks(values: Floats) -> Floats | None:
    """Ranks centred at zero and scaled to unit length; None for constant values."""
    ranked = ranks(values)
    centred = ranked - ranked.mean()
    length = math.sqrt(float(centred @ centred))
    return centred / length if length > 0 else None


def rank_correlation(
    x: Sequence[float | None], y: Sequence[float | None], *, test: bool = True
) -> RankCorrelation:
    """Rho over the pairs with both values measured; without `test` there is no p."""
    both = [(a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None]
    if len(both) < MIN_PAIRS:
        return RankCorrelation(len(both), None, None, None)
    left, right = np.array(both, dtype=np.float64).T
    a, b = standard_ranks(left), standard_ranks(right)
    if a is None or b is None:
        return RankCorrelation(len(both), None, None, None)
    value = rho_of(a, b)
    tested = test and len(both) >= MIN_TESTED
    p = _permutation_p(a, b, value) if tested else None
    return RankCorrelation(len(both), value, _interval(value, len(both)), p)


def _interval(value: float, n: int) -> Interval | None:
    """Fisher's z with the variance of Bonett & Wright (2000); None if rho is 1 or -1."""
    if abs(value) > 1 - 1e-12:
        return None
    half = float(ndtri(0.5 + CONFIDENCE / 2)) * math.sqrt((1 + value**2 / 2) / (n - 3))
    z = math.atanh(value)
    return Interval(math.tanh(z - half), math.tanh(z + half))


def _permutation_p(a: Floats, b: Floats, value: float) -> float:
    """Share of pairings that correlate at least as strongly as the observed one, among random
    pairings and the observed one."""
    reached = np.abs(b[_orders(len(b))] @ a) >= abs(value) - 1e-12
    return float(1 + reached.sum()) / (PERMUTATIONS + 1)


@lru_cache(maxsize=16)
def _orders(n: int) -> NDArray[np.intp]:
    """Random orders of n places, one in each row."""
    return np.random.default_rng(SEED).permuted(np.tile(np.arange(n), (PERMUTATIONS, 1)), axis=1)
