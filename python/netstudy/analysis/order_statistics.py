"""Intervals of percentiles and of shares that assume no distribution.

The number of samples below the q-quantile is distributed as Binomial(n, q). This gives the
probability that the quantile lies between two given samples of the n ordered ones (David &
Nagaraja, Order Statistics, 7.1). n samples suffice for a percentile if for some pair of samples the
probability is at least 95 %. The interval of a share is Wilson's (1927). Both assume independent
samples; `metrics.Percentile` adds run-to-run variation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from scipy.special import bdtr, bdtrik

from netstudy.analysis.intervals import CONFIDENCE, Interval, normal_quantile

_TAIL = (1 - CONFIDENCE) / 2
_ROUNDING = 1e-12
"""Rounding error of a sum of probabilities."""


def carries(q: float, samples: int) -> bool:
    """Whether n samples suffice for a 95 % interval of the q-quantile: the widest interval, from
    the smallest to the largest sample, must have at least this confidence."""
    return samples > 0 and 1 - q**samples - (1 - q) ** samples >= CONFIDENCE


@dataclass(frozen=True)
class Lacking:
    """How many samples were found, and how many a percentile needs, if there are too few."""

    samples: int
    needed: int
    noun: str
    """The noun for a sample: iteration, transfer, request."""


@lru_cache(maxsize=256)
def fewest(q: float) -> int:
    """The smallest number of samples that suffices for the q-quantile: 6 for the median, 299 for
    the 99th percentile."""
    far = max(q, 1 - q)
    samples = max(1, math.floor(math.log(1 - CONFIDENCE) / math.log(far)))
    while not carries(q, samples):
        samples += 1
    return samples


def has_beyond(q: float, samples: int) -> bool:
    """Whether at least one of n samples is expected on either side of the q-quantile. The
    percentile of a single run requires this."""
    return samples * min(q, 1 - q) >= 1 - 1e-9


def fewest_beyond(q: float) -> int:
    """The smallest number of samples for which `has_beyond` is true: 2 for the median, 100 for the
    99th percentile."""
    return math.ceil(1 / min(q, 1 - q) - 1e-9)


@lru_cache(maxsize=65536)
def ranks(q: float, samples: int) -> tuple[int, int] | None:
    """Ranks, from 1, of the two ordered samples that enclose the q-quantile at 95 %; None with too
    few samples.

    Both tails have the same probability as far as ranks allow; for a quantile near an end of the
    range, the tail at that end is larger.
    """
    if not carries(q, samples):
        return None
    if q < 0.5:  # by symmetry, from the other end of the samples
        mirrored = ranks(1 - q, samples)
        assert mirrored is not None, "q and 1 - q need equally many samples"
        return samples + 1 - mirrored[1], samples + 1 - mirrored[0]
    upper = min(samples, _least(1 - _TAIL, samples, q) + 1)
    below = float(bdtr(upper - 1, samples, q)) - CONFIDENCE
    return max(1, _least(below, samples, q, strictly=True)), upper


def _least(probability: float, samples: int, q: float, *, strictly: bool = False) -> int:
    """The smallest k with P(Binomial(n, q) <= k) >= `probability`; with `strictly`, > instead of
    >=."""
    k = 0 if probability <= 0 else max(0, math.floor(float(bdtrik(probability, samples, q))) - 1)

    def enough(k: int) -> bool:
        found = float(bdtr(k, samples, q))
        return found > probability + _ROUNDING if strictly else found >= probability - _ROUNDING

    while k > 0 and enough(k - 1):
        k -= 1
    while not enough(k):
        k += 1
    return k


def wilson(share: float, samples: float) -> Interval | None:
    """Wilson's 95 % interval of a share of n samples; share and interval are from 0 to 1. None
    without samples."""
    if samples <= 0:
        return None
    z = normal_quantile(1 - _TAIL)
    middle = (share + z**2 / (2 * samples)) / (1 + z**2 / samples)
    half = z * math.sqrt(share * (1 - share) / samples + (z / (2 * samples)) ** 2)
    half /= 1 + z**2 / samples
    low = max(0.0, middle - half) if share > 0 else 0.0  # exact, whatever the rounding
    return Interval(low, min(1.0, middle + half) if share < 1 else 1.0)


def wider(a: Interval | None, b: Interval | None) -> Interval | None:
    """The wider of two intervals; if one is None, the other."""
    if a is None or b is None:
        return a or b
    return b if b.high - b.low > a.high - a.low else a
