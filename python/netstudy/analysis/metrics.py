"""The type of a metric: its name, its meaning, and its formula over runs.

A name ends in its unit and its statistic. The metrics are defined with their workload, in
`workloads`; tables, figures, prose, exports and thresholds use them only through this type.

A metric that is a ratio of sums (a mean over iterations, a goodput, a share) is written as two
arrays, its terms. The same code then sums them over a run, over a batch of its samples or over all
replicates of a cell, and never takes a mean of ratios. Any other value (a percentile, a maximum) is
computed from the samples of some runs, pooled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np

from netstudy.analysis.distribution import (
    Distribution,
    SampledQuantity,
    order_interval,
    quantiles,
)
from netstudy.analysis.gathering import Block, Demands, NotAlike, cell_runs
from netstudy.analysis.intervals import (
    Estimate,
    Interval,
    Sums,
    packed,
    student_interval,
    variance_of_mean,
)
from netstudy.analysis.order_statistics import Lacking, carries, fewest, has_beyond, wider, wilson
from netstudy.analysis.samples import Columns, Floats, NotAlikeError, RunSample, Terms
from netstudy.study.vocabulary import MetricName, Scope
from netstudy.wire import Run

Direction = Literal["lower", "higher", "neutral"]


class Reading(Protocol):
    """Computes the value of a metric from runs."""

    def estimate(self, runs: Sequence[RunSample]) -> Estimate | None:
        """The value over the runs of a cell; None when none of them measured it."""

    def of_run(self, run: RunSample) -> float | None:
        """The value of one run."""

    def of_each(self, runs: Sequence[RunSample]) -> list[float | None]:
        """The value of each run."""

    def terms(self, run: RunSample) -> Terms | None:
        """Numerators and denominators of a run; None if the metric is not a ratio of sums."""

    def demands(self) -> Demands:
        """The parts that `estimate` needs from the runs of a cell."""


@dataclass(frozen=True)
class RatioOfSums:
    """A ratio whose terms are known: each run has one entry for each sample, or a single entry."""

    of: Callable[[RunSample], Terms | None]
    ceiling: float = field(default=math.inf, kw_only=True)
    """The largest possible value, at which intervals are cut."""
    over_time: bool = field(default=False, kw_only=True)
    """Whether the entries of a run, if there are several, are consecutive intervals of its
    measuring phase."""
    of_rows: Callable[[Block], Terms | None] | None = field(default=None, kw_only=True)
    """The terms of all runs of a block, as matrices with a row for each run, or NotAlikeError;
    None: the terms can only be read run by run."""

    def estimate(self, runs: Sequence[RunSample]) -> Estimate | None:
        """The sum of all numerators ÷ the sum of all denominators."""
        estimate = self.sums(runs).estimate()
        return None if estimate is None else replace(estimate, ceiling=self.ceiling)

    def of_run(self, run: RunSample) -> float | None:
        """The ratio of one run."""
        pair = self.of(run)
        return None if pair is None else float(pair[0].sum() / pair[1].sum())

    def of_each(self, runs: Sequence[RunSample]) -> list[float | None]:
        """See Reading.of_each."""
        return self.sums(runs).ratios()

    def terms(self, run: RunSample) -> Terms | None:
        """See Reading.terms."""
        return self.of(run)

    def sums(self, runs: Sequence[RunSample]) -> Sums:
        """The sums of each run."""
        return cell_runs(runs).joined(self._key, self.of_block, Sums.joined)

    def of_block(self, block: Block) -> Sums:
        """The sums of each run of a block."""
        if self.of_rows is not None:
            try:
                rows = self.rows_of(block)
            except NotAlikeError:
                pass
            else:
                return Sums.of([None] * len(block)) if rows is None else Sums.of_rows(*rows)
        return Sums.of([self.of(run) for run in block])

    def rows_of(self, block: Block) -> Terms | None:
        """The terms of all runs of a block as matrices, None if no run has any; cached with the
        block. Raises NotAlikeError if the runs must be read one by one."""

        def find() -> Terms | NotAlike | None:
            try:
                return NotAlike() if self.of_rows is None else self.of_rows(block)
            except NotAlikeError:
                return NotAlike()

        found = block.kept((self, "rows"), find)
        if isinstance(found, NotAlike):
            raise NotAlikeError
        return found

    def demands(self) -> Demands:
        """See Reading.demands."""
        return {self._key: self.of_block}

    @property
    def _key(self) -> tuple[object, str]:
        return self, "sums"


def by_rows(of: Callable[[Columns], Terms | None]) -> RatioOfSums:
    """A ratio of sums whose terms treat the rows of a matrix alike, so that one formula serves a
    run and a block of runs."""
    return RatioOfSums(of, of_rows=of)


@dataclass(frozen=True)
class Pooled:
    """A value that is computed from pooled samples. Its interval is Student's, from the values of
    the single runs."""

    of: Callable[[Sequence[RunSample]], float | None]
    repeats: bool = True
    """Whether the values of single runs scatter about the pooled value. For a maximum they do not,
    because the pooled maximum is the largest of them."""

    def estimate(self, runs: Sequence[RunSample]) -> Estimate | None:
        """The value of all samples. Its variance is that of the mean of the single runs' values."""
        value = self.of(runs) if runs else None
        if value is None:
            return None
        single = [found for found in self.of_each(runs) if found is not None]
        n = len(single)
        if not self.repeats or n < 2 or n < len(runs):
            return Estimate(value, None, 0, len(runs), "none")
        return Estimate(value, variance_of_mean(single), n - 1, n, "run")

    def of_run(self, run: RunSample) -> float | None:
        """The value of one run."""
        return self.of([run])

    def of_each(self, runs: Sequence[RunSample]) -> list[float | None]:
        """See Reading.of_each."""
        return cell_runs(runs).each((self, "each"), self.of_run)

    def demands(self) -> Demands:
        """See Reading.demands: which samples `of` pools is not known."""
        return {}

    def terms(self, run: RunSample) -> Terms | None:  # noqa: ARG002  # part of Reading
        """None: it is no ratio of sums."""
        return None


@dataclass(frozen=True)
class Share(RatioOfSums):
    """A share in percent: numerators are 100 × the matching count, denominators the total count.

    The interval is either Wilson's, from the total count, or Student's over the runs, whichever is
    wider: this includes run-to-run variation that counting statistics do not show. Tests between
    cells are the same as for any ratio of sums.
    """

    def estimate(self, runs: Sequence[RunSample]) -> Estimate | None:
        """The ratio of sums, with an interval inside 0 to 100."""
        found = super().estimate(runs)
        if found is None:
            return None
        counted = _percent(wilson(found.value / 100, sum(self.sums(runs).below.tolist())))
        bounds = wider(counted, within_percents(found.interval))
        return replace(found, bounds=bounds, from_samples=bounds is counted)


def _percent(found: Interval | None) -> Interval | None:
    return None if found is None else Interval(100 * found.low, 100 * found.high)


def _not_below(floor: float, found: Interval | None, of: Distribution) -> Interval | None:
    """The interval, cut at a floor if no sample is below the floor: times and rates have a floor of
    0."""
    if found is None or of.at_rank(1) < floor:
        return found
    return Interval(max(floor, found.low), found.high)


def within_percents(found: Interval | None) -> Interval | None:
    """An interval of a share in percent, cut at 0 and 100."""
    return None if found is None else Interval(max(0.0, found.low), min(100.0, found.high))


@dataclass(frozen=True)
class Percentile:
    """A percentile of all samples of the runs; missing if there are too few samples.

    Two intervals are computed, and the wider one is used: one from order statistics, which assume
    independent samples; and Student's over the percentiles of single runs, which includes
    run-to-run variation. Tests between cells use only the variance over the runs, as for means. A
    single run has a value only if it has so many samples that at least one is expected beyond the
    percentile.
    """

    q: float
    quantity: SampledQuantity

    def estimate(self, runs: Sequence[RunSample]) -> Estimate | None:
        """The percentile of all samples. Its variance is that of the mean of the single runs'
        percentiles."""
        found = self.quantity.over(runs)
        if found is None or not carries(self.q, found.count):
            return None
        value, ordered = found.quantile(self.q), order_interval(found, self.q)
        single = [own for own in self.of_each(runs) if own is not None]
        n = len(single)
        if n < 2 or n < len(runs):
            return Estimate(value, None, 0, len(runs), "sample", bounds=ordered, from_samples=True)
        variance = variance_of_mean(single)
        bounds = wider(ordered, _not_below(0.0, student_interval(value, variance, n - 1), found))
        return Estimate(
            value, variance, n - 1, n, "run", bounds=bounds, from_samples=bounds is ordered
        )

    @property
    def noun(self) -> str:
        """The noun for one of its samples."""
        return self.quantity.noun

    def expected_samples(self, run: Run) -> float:
        """The number of samples that a planned run has if there are no losses."""
        return self.quantity.expected(run)

    def lacking(self, runs: Sequence[RunSample]) -> Lacking | None:
        """If there are too few samples, their number and the number needed; None if they suffice,
        or if there are none at all."""
        found = self.quantity.over(runs)
        if found is None or carries(self.q, found.count):
            return None
        return Lacking(found.count, fewest(self.q), self.quantity.noun)

    def of_run(self, run: RunSample) -> float | None:
        """The percentile of a single run."""
        found = self.quantity.of([run])
        enough = found is not None and has_beyond(self.q, found.count)
        return found.quantile(self.q) if found is not None and enough else None

    def of_each(self, runs: Sequence[RunSample]) -> list[float | None]:
        """See Reading.of_each."""
        return [
            None if math.isnan(value) else value
            for part in cell_runs(runs).gathered(self._key, self.of_block)
            for value in part.tolist()
        ]

    def of_block(self, block: Block) -> Floats:
        """The percentile of each run of a block; NaN if it has none."""
        found = self._of_rows(block)
        if found is not None:
            return packed(found)
        each = (math.nan if (own := self.of_run(run)) is None else own for run in block)
        return packed(np.fromiter(each, dtype=np.float64, count=len(block)))

    def _of_rows(self, block: Block) -> Floats | None:
        """The percentiles of all runs at once; None: they must be read one by one."""
        rows = self.quantity.rows_of(block)
        if rows is None:
            return None
        if not rows.shape[1] or not has_beyond(self.q, rows.shape[1]):
            return np.full(len(block), math.nan)
        ascending = block.kept((self.quantity, "sorted"), lambda: np.sort(rows))
        return np.asarray(quantiles(ascending, self.q), dtype=np.float64)

    def demands(self) -> Demands:
        """See Reading.demands."""
        return {self._key: self.of_block, **self.quantity.demands()}

    @property
    def _key(self) -> tuple[object, str]:
        return self, "each"

    def terms(self, run: RunSample) -> Terms | None:  # noqa: ARG002  # part of Reading
        """None: it is no ratio of sums."""
        return None


@dataclass(frozen=True)
class Metric:
    """A named quantity with its unit, its formula and the direction that is better."""

    name: str
    """Column name: quantity, unit and statistic."""
    label: str
    """Its name in the middle of a sentence."""
    unit: str
    """Unit of the values; empty for a plain count."""
    formula: str
    """How the value is computed from the records, in words and symbols."""
    direction: Direction
    instruments: tuple[str, ...]
    """The origin of the raw counts."""
    decimals: int
    """Decimals that tables and prose print."""
    title: str
    """Title of its figure and heading of its column."""
    figure: str
    """Name under which a study asks for its figure."""
    reading: Reading = field(repr=False, compare=False)
    per: str = ""
    """The amount of work that a value refers to, printed after the unit: an iteration, a GB."""
    exported: bool = True
    """Whether the metric has a column in the CSV export, and a table in a comparison."""
    is_relative: bool = False
    """Whether the metric is in percent of a base row: then differences are reported as ratios, not
    in percentage points."""
    named: MetricName | None = field(default=None, repr=False, compare=False)
    """The parsed name, if the metric was created from a name: a metric of a node, or a share above
    a limit. None: it comes from a workload's list."""
    sampled: SampledQuantity | None = field(default=None, repr=False, compare=False)
    """The sampled quantity whose mean is this metric; None: no distribution is known."""
    is_of_work: bool = False
    """True for the mean time of the workload's own operation; a lower value is called faster."""

    @property
    def scope(self) -> Scope | None:
        """The place where the metric is read; None: it is a metric of the workload."""
        return None if self.named is None else self.named.scope

    @property
    def is_share(self) -> bool:
        """Whether it is a percentage whose differences are reported in percentage points."""
        return self.unit == "%" and not self.is_relative

    @property
    def better(self) -> str:
        """The better direction, for figures and tables."""
        return {"lower": "lower is better", "higher": "higher is better"}.get(self.direction, "")


def of_work(metric: Metric) -> Metric:
    """Marks a metric as the mean time of the workload's own operation."""
    return replace(metric, is_of_work=True)


CLIENT_CLOCK = "clock of the client"
CLIENT_SOCKETS = "sockets of the client"
SOCKETS = "sockets of clients and servers"
SWITCH_PORTS = "drop counters of the switch ports"
SERVER_TCP = "TCP counters of the servers"
SENDER_TCP = "TCP counters of the ends that send data"
HOSTS = "counters of the hosts"
PROBE_CLOCK = "clock of the client, over connections of the probe's own"
TCP_INFO = "TCP_INFO of the connections"
