"""Percentiles and extremes of sampled quantities. A study names them by the suffix of a metric's
name."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from netstudy.analysis.distribution import SampledQuantity
from netstudy.analysis.metrics import Metric, Percentile, Pooled, Share
from netstudy.analysis.samples import RunSample, Terms, each
from netstudy.analysis.samples import one as one_of
from netstudy.study.vocabulary import Limit, MetricName


@dataclass(frozen=True)
class Statistic:
    """A percentile or an extreme of many samples."""

    ending: str
    """The suffix in the name of a metric."""
    word: str
    """Text before the name of the quantity."""
    q: float
    """The quantile: 0 is the lowest value, 1 the highest."""

    @property
    def is_extreme(self) -> bool:
        """Whether the statistic is a single sample: then the values of single runs do not scatter
        about it."""
        return self.q in (0, 1)


STATISTICS: Final[Mapping[str, Statistic]] = {
    one.ending: one
    for one in (
        Statistic("min", "smallest", 0.0),
        Statistic("p50", "median", 0.5),
        Statistic("p90", "90th percentile of the", 0.9),
        Statistic("p95", "95th percentile of the", 0.95),
        Statistic("p99", "99th percentile of the", 0.99),
        Statistic("p999", "99.9th percentile of the", 0.999),
        Statistic("max", "largest", 1.0),
    )
}


def reading_of(one: Statistic, quantity: SampledQuantity) -> Pooled | Percentile:
    """The reading that computes a statistic of a sampled quantity."""
    if not one.is_extreme:
        return Percentile(one.q, quantity)

    def of(runs: Sequence[RunSample]) -> float | None:
        found = quantity.over(runs)
        return None if found is None else found.quantile(one.q)

    return Pooled(of, repeats=False)


def further(like: Metric, but: Container[str] = ()) -> Iterator[Metric]:
    """Metrics of the samples whose mean is `like`: one for each statistic, except the statistics
    `but`, which are already metrics of their own."""
    quantity = like.sampled
    assert quantity is not None, f"{like.name} is the mean of samples"
    for one in STATISTICS.values():
        if one.ending not in but:
            yield _metric(like, one, reading_of(one, quantity))


def share_above(like: Metric, limit: Limit) -> Metric:
    """The share of the samples of a quantity that are above a limit, in percent."""
    quantity = like.sampled
    assert quantity is not None, f"{like.name} is the mean of samples"
    value = limit.in_unit(like.unit)

    def terms(run: RunSample) -> Terms | None:
        # One term per sample if samples are known, so that even a single run has an interval.
        if quantity.values is not None:
            found = quantity.values(run)
            return None if found is None else each(np.where(found > value, 100.0, 0.0))
        histogram = quantity.of([run])
        return (
            None if histogram is None else one_of(100.0 * histogram.above(value), histogram.count)
        )

    text = f"{limit.number} {limit.unit.replace('us', 'µs')}"
    nouns, named = f"{quantity.noun}s", MetricName(None, base_of(like), limit=limit)
    return replace(
        like,
        name=str(named),
        label=f"share of {nouns} above {text}",
        unit="%",
        formula=f"{nouns} with a {like.label} above {text} ÷ {nouns} × 100",
        title=f"{nouns[:1].upper()}{nouns[1:]} above {text}",
        figure=f"{like.figure}_{limit.ending}",
        decimals=1,
        reading=Share(terms),
        exported=False,
        named=named,
        sampled=None,
        is_of_work=False,
    )


def base_of(metric: Metric) -> str:
    """The name of a metric without the statistic at the end."""
    base, _, ending = metric.name.rpartition("_")
    return base if ending in (*STATISTICS, "mean") else metric.name


def _metric(like: Metric, one: Statistic, reading: Pooled | Percentile) -> Metric:
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
        sampled=None,
        is_of_work=False,
    )
