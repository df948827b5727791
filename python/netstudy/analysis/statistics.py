"""Percentiles and extremes of sampled quantities, which a study names by a suffix of a metric."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from netstudy.analysis.distribution import Histogram, pooled, quantile
from netstudy.analysis.metrics import Metric, Pooled
from netstudy.analysis.samples import NS_PER_US, Floats, RunSample


@dataclass(frozen=True)
class Statistic:
    """One number of many samples."""

    ending: str
    """The suffix in the name of a metric."""
    word: str
    """Text before the name of the quantity."""
    q: float
    """Its quantile: 0 for the lowest value, 1 for the highest."""

    @property
    def is_extreme(self) -> bool:
        """Whether it is a single sample, so that the values of runs do not scatter about it."""
        return self.q in (0, 1)

    def of(self, values: Floats) -> float | None:
        """The statistic of raw samples; None with too few of them."""
        if not values.size:
            return None
        if self.is_extreme:
            return float(values.min() if self.q == 0 else values.max())
        return quantile(values, self.q)

    def of_histogram(self, found: Histogram) -> float | None:
        """The statistic of a histogram, in its unit; None with too few values."""
        if not found.count:
            return None
        if self.is_extreme:
            return float(found.min_ns if self.q == 0 else found.max_ns)
        return found.quantile_ns(self.q)


STATISTICS: Final[Mapping[str, Statistic]] = {
    one.ending: one
    for one in (
        Statistic("min", "smallest", 0.0),
        Statistic("p50", "median", 0.5),
        Statistic("p90", "90th percentile of the", 0.9),
        Statistic("p99", "99th percentile of the", 0.99),
        Statistic("p999", "99.9th percentile of the", 0.999),
        Statistic("max", "largest", 1.0),
    )
}


def further(
    like: Metric, values: Callable[[RunSample], Floats | None], but: Container[str] = ()
) -> Iterator[Metric]:
    """The statistics of raw samples, except `but`, which are metrics of their own; `like` is the
    mean of the same samples."""
    for one in STATISTICS.values():

        def of(runs: Sequence[RunSample], one: Statistic = one) -> float | None:
            found = [sampled for run in runs if (sampled := values(run)) is not None]
            return one.of(pooled(found))

        if one.ending not in but:
            yield _metric(like, one, Pooled(of, repeats=not one.is_extreme))


def further_latencies(
    like: Metric,
    latencies: Callable[[Sequence[RunSample]], Histogram | None],
    but: Container[str] = (),
) -> Iterator[Metric]:
    """The same for merged histograms, in microseconds."""
    for one in STATISTICS.values():

        def of(runs: Sequence[RunSample], one: Statistic = one) -> float | None:
            found = latencies(runs)
            value = None if found is None else one.of_histogram(found)
            return None if value is None else value / NS_PER_US

        if one.ending not in but:
            yield _metric(like, one, Pooled(of, repeats=not one.is_extreme))


def base_of(metric: Metric) -> str:
    """A metric's name without its statistic."""
    base, _, ending = metric.name.rpartition("_")
    return base if ending in (*STATISTICS, "mean") else metric.name


def _metric(like: Metric, one: Statistic, reading: Pooled) -> Metric:
    label = f"{one.word} {like.label}"
    return replace(
        like,
        name=f"{base_of(like)}_{one.ending}",
        label=label,
        title=f"{label[:1].upper()}{label[1:]}",
        formula=f"{one.word.removesuffix(' of the')} of all samples of the measuring phase",
        figure=f"{like.figure}_{one.ending}",
        reading=reading,
        exported=False,
    )
