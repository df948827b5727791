"""Distributions of a quantity, pooled over runs: raw values, or histograms of latencies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netstudy.analysis.samples import Floats
from netstudy.wire import RequestHistogram


def can_show(q: float, samples: int) -> bool:
    """Whether n samples can show a quantile: none beyond 1/(10 n) from either end."""
    return samples > 0 and min(q, 1 - q) >= 1 / (10 * samples)


def quantile(values: Floats, q: float) -> float | None:
    """The q-quantile (linear interpolation); None with too few values for it."""
    return float(np.quantile(values, q)) if can_show(q, values.size) else None


@dataclass(frozen=True, eq=False)
class Histogram:
    """Latencies of requests, as merged histograms. Percentiles are the highest value of their
    bucket, as in HdrHistogram, but never above the largest latency."""

    value_ns: NDArray[np.int64]
    """Highest latency of each bucket, ascending."""
    requests: NDArray[np.int64]
    min_ns: int
    max_ns: int
    sum_ns: int
    unanswered: int

    @property
    def count(self) -> int:
        """Requests that were answered."""
        return int(self.requests.sum())

    def quantile_ns(self, q: float) -> float | None:
        """The q-quantile; None with too few requests for it."""
        if not can_show(q, self.count):
            return None
        rank = max(1, int(np.ceil(q * self.count - 1e-9)))
        bucket = int(np.searchsorted(np.cumsum(self.requests), rank))
        return float(min(int(self.value_ns[bucket]), self.max_ns))

    def curve(self) -> tuple[Floats, Floats]:
        """The cumulative distribution: latencies in ns, and the share of requests up to each."""
        share = np.cumsum(self.requests) / max(1, self.count)
        return np.minimum(self.value_ns, self.max_ns).astype(np.float64), share


def merged(parts: Iterable[RequestHistogram]) -> Histogram | None:
    """All requests of some histograms together; None without histograms."""
    found = list(parts)
    if not found:
        return None
    values: NDArray[np.int64] = np.array([v for part in found for v in part.value_ns], np.int64)
    counts: NDArray[np.int64] = np.array([n for part in found for n in part.requests], np.int64)
    buckets, place = np.unique(values, return_inverse=True)
    requests = np.zeros(buckets.size, np.int64)
    np.add.at(requests, place, counts)
    answered = [part for part in found if part.count]
    return Histogram(
        value_ns=buckets,
        requests=requests,
        min_ns=min((part.min_ns for part in answered), default=0),
        max_ns=max((part.max_ns for part in answered), default=0),
        sum_ns=sum(part.sum_ns for part in found),
        unanswered=sum(part.unanswered for part in found),
    )


def pooled(arrays: Sequence[Floats]) -> Floats:
    """The values of several runs as one array."""
    return np.concatenate(arrays) if arrays else np.empty(0)
