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
"""Fewest pairs for a test. With four pairs there are 24 orders; 2 of them are the most extreme, so
p would be at least 0.083."""


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho over n pairs, with its interval and p; all three are None if a variable is
    constant or if there are too few pairs."""

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
    """Rho over the pairs whose two values were both measured; without `test`, p is None."""
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
    """The interval of rho by Fisher's z, with the variance of Bonett & Wright (2000); None if rho
    is 1 or -1."""
    if abs(value) > 1 - 1e-12:
        return None
    half = float(ndtri(0.5 + CONFIDENCE / 2)) * math.sqrt((1 + value**2 / 2) / (n - 3))
    z = math.atanh(value)
    return Interval(math.tanh(z - half), math.tanh(z + half))


def _permutation_p(a: Floats, b: Floats, value: float) -> float:
    """Among the random pairings and the observed pairing: the share that correlates at least as
    strongly as the observed pairing."""
    reached = np.abs(b[_orders(len(b))] @ a) >= abs(value) - 1e-12
    return float(1 + reached.sum()) / (PERMUTATIONS + 1)


@lru_cache(maxsize=16)
def _orders(n: int) -> NDArray[np.intp]:
    """Random permutations of 0 to n - 1, one in each row."""
    return np.random.default_rng(SEED).permuted(np.tile(np.arange(n), (PERMUTATIONS, 1)), axis=1)
