"""What analysis and report must know of a workload; one file here says it of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from netstudy.analysis.distribution import Histogram
from netstudy.analysis.metrics import Metric
from netstudy.analysis.samples import Floats, RunSample
from netstudy.study.workloads.base import Spec
from netstudy.wire import Run, RunRecord


@dataclass(frozen=True)
class Counted:
    """What a run has many of: iterations, transfers, requests."""

    noun: str
    """One of them."""
    of: Callable[[RunSample], int]
    """How many a run measured."""


@dataclass(frozen=True)
class Bound:
    """The most goodput that the network allows."""

    line_rate_bps: int
    """Of the narrowest place that all bytes share."""
    goodput_mbps: float
    """What headers leave of it."""


@dataclass(frozen=True)
class Identity:
    """Two metrics whose product is fixed: they are one observation, and a published row in which
    they disagree is wrong."""

    first: Metric
    second: Metric
    product: Callable[[Run], float]
    """What the product of the two is, in their units."""
    text: str
    """The product in signs."""
    result: str
    """What it is, in a word."""


@dataclass(frozen=True)
class Step:
    """A cause and its effect: a link of the causal chain, before it is tested."""

    cause: Metric
    effect: Metric
    rises: bool | None = None
    """Whether more of the cause means more of the effect; None: it does if both are better in the
    same direction."""

    @property
    def expects_rise(self) -> bool:
        """The sign that the evidence must have."""
        return self.cause.direction == self.effect.direction if self.rises is None else self.rises


@dataclass(frozen=True)
class Relative:
    """A metric that is another one in percent of a base row: which row that is depends on the table
    of the study, and so on the test case."""

    metric: Metric
    of: Metric
    scaling: Metric | None = None
    """The same ratio as a factor instead of a percentage."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of both metrics."""
        return tuple(one.name for one in (self.metric, self.scaling) if one is not None)


@dataclass(frozen=True, eq=False)
class Course:
    """How a run went on: a value a sample, in order of time."""

    values: Floats
    noun: str
    """What a sample is of: iteration, second."""


@dataclass(frozen=True)
class Account:
    """Where the time of a cell goes."""

    value_ms: float
    wire_ms: float
    """The bound of the wire: every byte once over the narrowest link."""
    timeout_share_pct: float | None
    waiting_ms: float | None
    """Share of samples with a timeout x minimum RTO."""

    @property
    def excess_ms(self) -> float:
        """Time beyond the wire's own."""
        return self.value_ms - self.wire_ms

    @property
    def accounted_pct(self) -> float | None:
        """Part of the excess that the waiting explains; None without an excess, and where waits
        overlap: more than all of the time explains nothing."""
        if self.waiting_ms is None or self.excess_ms <= 0 or self.overlaps:
            return None
        return 100 * self.waiting_ms / self.excess_ms

    @property
    def overlaps(self) -> bool:
        """Whether the waits add up to more than the excess, so that they go on at once with each
        other or with sending."""
        return bool(self.waiting_ms) and (self.waiting_ms or 0.0) > self.excess_ms


@dataclass(frozen=True)
class Waiting:
    """What waiting for timeouts costs, as far as the samples of a workload tell."""

    time: Metric
    """What is accounted for."""
    share: Metric
    """Share of samples that wait."""
    account: Callable[[Run, Callable[[Metric], float | None]], Account | None]
    """Of a cell, from its plan and the values of its metrics."""
    cost_ms: Callable[[Sequence[RunSample]], float | None]
    """Samples with a timeout minus those without, in one cell."""
    each: Callable[[RunSample], tuple[Floats, Floats, Floats] | None]
    """Of each sample of a run: its time in ms, its timeouts, and the segments sent again."""


@dataclass(frozen=True)
class WorkloadAnalysis:
    """The metrics of a workload and the laws of reading them."""

    kind: str
    metrics: tuple[Metric, ...]
    """In the order of exports and tables."""
    headline: tuple[Metric, ...]
    """The columns of the main table of a study that names none."""
    figures: tuple[Metric, ...]
    """The figures of a study that names none."""
    observed: tuple[Metric, ...]
    """Told of first where nothing is compared."""
    compared_on: tuple[Metric, ...]
    """Compared where a study names none, the deciding one first."""
    throughput: Metric
    """What a growing factor must gain where a study names no metric."""
    chain: tuple[Step, ...]
    """Causes and their effects, one after the other."""
    counted: Counted
    is_sampled: Callable[[RunRecord], bool]
    """Whether a record has what the metrics are computed from."""
    drops: Metric
    retransmissions: Metric
    timeouts: Metric
    """What the observations tell of losses."""
    dropped: Callable[[RunRecord], int | None]
    """Frames that the switches dropped in the measuring phase of a run, in all."""
    sent_again: Callable[[RunSample], float | None]
    """Segments that a run sent again, in all."""
    course: Callable[[RunSample], Course | None]
    """What shows whether the measuring phase still holds a warm-up."""
    bound: Callable[[Run], Bound | None]
    """The most that metrics in Mbit/s can be; None: it is not known."""
    published_rate: Callable[[Mapping[str, float], Spec], float | None] | None = None
    """What is served a second, from the published values of a row and the workload at its levels;
    None where they do not tell."""
    met: Metric | None = None
    """Share of what was asked for that was served."""
    delay: Metric | None = None
    """What grows where more is asked for than is served."""
    timed: Metric | None = None
    """The mean time of a sample of a fixed size."""
    further: tuple[Metric, ...] = ()
    """Other statistics of what is sampled, for a study that names them."""
    latencies: Callable[[Sequence[RunSample]], Histogram | None] | None = None
    """Of its own requests in the measuring phase, all runs together; None: it has none."""
    timeout_share: Metric | None = None
    """Share of samples with a timeout, where they tell."""
    tail: tuple[Metric, Metric] | None = None
    """Median and 99th percentile of what a sample takes."""
    bounded: Metric | None = None
    """The metric that the bound is of."""
    identity: Identity | None = None
    waiting: Waiting | None = None
    offered: Callable[[Run], Sequence[int | None]] | None = None
    """Bytes that each connection of a plan has to send at once, at most; None for one that always
    has more."""
    relatives: tuple[Relative, ...] = ()
    """Metrics in percent of a base row, and what they are of."""
    signals: tuple[Step, ...] = ()
    """Links that are looked at only where their cause occurs: marks, PAUSE, ring drops, probes."""

    @property
    def deciding(self) -> Metric:
        """The metric that says best how a run went."""
        return self.compared_on[0]

    def says_again(self, metric: Metric) -> bool:
        """Whether a metric is only the deciding one, seen the other way."""
        law = self.identity
        pair = () if law is None else (law.first, law.second)
        return metric in pair and metric != self.deciding
