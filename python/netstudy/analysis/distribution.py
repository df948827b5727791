"""Distributions of a quantity, pooled over runs: raw values, or histograms of latencies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netstudy.analysis.gathering import Block, Demands, cell_runs
from netstudy.analysis.intervals import Interval
from netstudy.analysis.order_statistics import ranks
from netstudy.analysis.samples import Floats, NotAlikeError, RunSample
from netstudy.plan.estimate import measured_samples
from netstudy.wire import RequestHistogram, Run

Marks = NDArray[np.bool_]


class Distribution(Protocol):
    """Many samples of one quantity, in its unit."""

    @property
    def count(self) -> int:
        """Number of samples."""

    def quantile(self, q: float) -> float:
        """The q-quantile, however many samples there are; 0 for the lowest, 1 for the highest."""

    def at_rank(self, rank: int) -> float:
        """The sample with this rank; the smallest sample has rank 1."""

    def above(self, limit: float) -> int:
        """Number of samples above a limit."""

    def curve(self) -> tuple[Floats, Floats]:
        """The cumulative distribution: values, ascending, and the share of samples up to each."""


@dataclass(frozen=True, eq=False)
class Values:
    """Raw samples."""

    ascending: Floats

    @classmethod
    def of(cls, arrays: Sequence[Floats]) -> Values | None:
        """The values of several runs together; None without any."""
        together = pooled(arrays)
        return cls(np.sort(together)) if together.size else None

    @property
    def count(self) -> int:
        """See Distribution."""
        return int(self.ascending.size)

    def quantile(self, q: float) -> float:
        """See Distribution; interpolates linearly like `numpy.quantile`, without sorting again."""
        return float(quantiles(self.ascending, q))

    def at_rank(self, rank: int) -> float:
        """See Distribution."""
        return float(self.ascending[rank - 1])

    def above(self, limit: float) -> int:
        """See Distribution."""
        return self.count - int(np.searchsorted(self.ascending, limit, side="right"))

    def curve(self) -> tuple[Floats, Floats]:
        """See Distribution."""
        return self.ascending, np.arange(1, self.count + 1) / self.count


def quantiles(ascending: Floats, q: float) -> Any:
    """The q-quantile of an ascending array, or of each row of a matrix of these."""
    count = ascending.shape[-1]
    share, below = math.modf(q * (count - 1))
    low, high = ascending[..., int(below)], ascending[..., min(int(below) + 1, count - 1)]
    step = high - low
    return low + step * share if share < 0.5 else high - step * (1 - share)


@dataclass(frozen=True, eq=False)
class Histogram:
    """Latencies of requests as a merged histogram. As in HdrHistogram, a percentile is the highest
    value of the bucket in which it lies, but at most the largest latency."""

    value_ns: NDArray[np.int64]
    """Highest latency of each bucket, ascending."""
    requests: NDArray[np.int64]
    min_ns: int
    max_ns: int
    sum_ns: int
    unanswered: int
    significant_digits: int
    """Decimal digits to which latencies are recorded: with n digits, the relative error is at most
    10^-n."""

    @property
    def count(self) -> int:
        """Number of answered requests."""
        return int(self.requests.sum())

    def quantile_ns(self, q: float) -> float:
        """The q-quantile; needs at least one request."""
        if q in (0, 1):
            return float(self.max_ns if q else self.min_ns)
        return self.at_rank_ns(max(1, int(np.ceil(q * self.count - 1e-9))))

    def at_rank_ns(self, rank: int) -> float:
        """The latency of the request with this rank; the fastest request has rank 1."""
        bucket = int(np.searchsorted(np.cumsum(self.requests), rank))
        return float(min(int(self.value_ns[bucket]), self.max_ns))

    def above_ns(self, limit: float) -> int:
        """Number of requests above a limit. The whole bucket that contains the limit counts as
        above it, unless the limit is the bucket's upper end."""
        highest = np.minimum(self.value_ns, self.max_ns)
        return int(self.requests[highest > limit].sum())

    def curve(self) -> tuple[Floats, Floats]:
        """The cumulative distribution: latencies in ns, and the share of requests up to each."""
        share = np.cumsum(self.requests) / max(1, self.count)
        return np.minimum(self.value_ns, self.max_ns).astype(np.float64), share


@dataclass(frozen=True, eq=False)
class Latencies:
    """A histogram in another unit than ns."""

    histogram: Histogram
    ns_per_unit: float

    @property
    def count(self) -> int:
        """See Distribution."""
        return self.histogram.count

    def quantile(self, q: float) -> float:
        """See Distribution."""
        return self.histogram.quantile_ns(q) / self.ns_per_unit

    def at_rank(self, rank: int) -> float:
        """See Distribution."""
        return self.histogram.at_rank_ns(rank) / self.ns_per_unit

    def above(self, limit: float) -> int:
        """See Distribution and Histogram.above_ns."""
        return self.histogram.above_ns(limit * self.ns_per_unit)

    def curve(self) -> tuple[Floats, Floats]:
        """See Distribution."""
        values, share = self.histogram.curve()
        return values / self.ns_per_unit, share


@dataclass(frozen=True, eq=False)
class SampledQuantity:
    """A quantity with many samples per run. Samples are in the unit of the metric that is their
    mean."""

    noun: str
    """The noun for a sample, such as iteration, transfer or request."""
    of: Callable[[Sequence[RunSample]], Distribution | None]
    """All samples of some runs; None without any."""
    values: Callable[[RunSample], Floats | None] | None = None
    """The samples of a run in the order of time; None: only their histogram is known."""
    timeouts: Callable[[RunSample], Marks | None] | None = None
    """Marks the samples that waited for a retransmission timeout; None: there are no marks."""
    expected: Callable[[Run], float] = measured_samples
    """Number of samples that a planned run has if there are no losses; infinite if it cannot be
    known."""
    together: Callable[[Sequence[Distribution]], Distribution] | None = None
    """Joins the samples of several blocks of runs; None: they are raw, and their arrays are
    joined."""

    rows: Callable[[Block], Floats | None] | None = None
    """The samples of a block as a matrix with a row for each run, or NotAlikeError; None: they can
    only be read run by run."""
    marked_rows: Callable[[Block], Marks | None] | None = None
    """`timeouts` of a block as such a matrix; None: they can only be read run by run."""

    def rows_of(self, block: Block) -> Floats | None:
        """The samples of a block as a matrix; None: its runs have none, or are not alike."""

        def find() -> Floats | None:
            try:
                return None if self.rows is None else self.rows(block)
            except NotAlikeError:
                return None

        return block.kept((self, "rows"), find)

    def over(self, runs: Sequence[RunSample]) -> Distribution | None:
        """All samples of the runs of a cell, as `of` gives them; None without any."""
        cell = cell_runs(runs)

        def find() -> Distribution | None:
            parts = [part for part in cell.gathered(self._key, self.of_block) if part is not None]
            cell.forget([self._key])  # the joined samples are kept
            if self.together is None:
                return Values.of(parts)
            return self.together(parts) if parts else None

        return cell.kept((self, "all"), find)

    def of_block(self, block: Block) -> Any:
        """The samples of a block of runs."""
        if self.together is not None:
            return self.of(block)
        assert self.values is not None, "samples that are not joined otherwise are raw"
        rows = self.rows_of(block)
        if rows is not None:
            return rows.ravel()
        found = [own for run in block if (own := self.values(run)) is not None]
        return pooled(found) if found else None

    def demands(self) -> Demands:
        """The parts that `over` needs from the runs of a cell."""
        return {self._key: self.of_block}

    @property
    def _key(self) -> tuple[object, str]:
        return self, "samples"


def raw(
    noun: str,
    values: Callable[[RunSample], Floats | None],
    timeouts: Callable[[RunSample], Marks | None] | None = None,
    expected: Callable[[Run], float] = measured_samples,
    rows: Callable[[Block], Floats | None] | None = None,
    marked_rows: Callable[[Block], Marks | None] | None = None,
) -> SampledQuantity:
    """A quantity with every sample recorded."""

    def of(runs: Sequence[RunSample]) -> Values | None:
        return Values.of([found for run in runs if (found := values(run)) is not None])

    return SampledQuantity(noun, of, values, timeouts, expected, rows=rows, marked_rows=marked_rows)


def latencies(
    noun: str,
    of: Callable[[Sequence[RunSample]], Histogram | None],
    ns_per_unit: float,
    expected: Callable[[Run], float] = measured_samples,
) -> SampledQuantity:
    """A quantity recorded as histograms."""

    def found(runs: Sequence[RunSample]) -> Latencies | None:
        histogram = of(runs)
        return Latencies(histogram, ns_per_unit) if histogram and histogram.count else None

    def together(parts: Sequence[Distribution]) -> Distribution:
        histograms = [one.histogram for one in parts if isinstance(one, Latencies)]
        whole = merged(histograms)
        assert whole is not None, "some part has latencies"
        return Latencies(whole, ns_per_unit)

    return SampledQuantity(noun, found, expected=expected, together=together)


def order_interval(found: Distribution, q: float) -> Interval | None:
    """The 95 % interval of a quantile; its ends are two of the ordered samples. None with too few
    samples."""
    pair = ranks(q, found.count)
    return None if pair is None else Interval(*map(found.at_rank, pair))


def merged(parts: Iterable[RequestHistogram | Histogram]) -> Histogram | None:
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
        significant_digits=min(part.significant_digits for part in found),
    )


def pooled(arrays: Sequence[Floats]) -> Floats:
    """The values of several runs as one array."""
    return np.concatenate(arrays) if arrays else np.empty(0)
