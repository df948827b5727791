"""The interface that each workload provides to analysis and report; each workload has one file in
this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from netstudy.analysis.distribution import Histogram
from netstudy.analysis.gathering import Block, Demands
from netstudy.analysis.metrics import Metric
from netstudy.analysis.samples import Floats, RunSample
from netstudy.analysis.workloads.closed_loop import ClosedLoop, Starved
from netstudy.study.vocabulary import MetricName
from netstudy.study.workloads.base import Spec
from netstudy.wire import Run, RunRecord


@dataclass(frozen=True)
class Counted:
    """The countable unit of a run: iterations, transfers, requests."""

    noun: str
    """The noun for one unit."""
    of: Callable[[RunSample], int]
    """How many of these units a run measured."""


@dataclass(frozen=True)
class Bound:
    """The highest goodput that the network allows."""

    line_rate_bps: int
    """The rate of the bottleneck of the network, through which all bytes must pass."""
    goodput_mbps: float
    """`line_rate_bps` without headers."""


@dataclass(frozen=True)
class Identity:
    """Two metrics whose product is fixed: both are the same observation, and a published row with a
    different product is wrong."""

    first: Metric
    second: Metric
    product: Callable[[Run], float]
    """The required product, in the units of both metrics."""
    text: str
    """The product as a formula."""
    result: str
    """The name of the product, in one word."""


@dataclass(frozen=True)
class Step:
    """A cause and its effect: a link of the causal chain, before it is tested."""

    cause: Metric
    effect: Metric
    rises: bool | None = None
    """Whether more of the cause means more of the effect. None: yes, if both metrics are better in
    the same direction; else no."""

    @property
    def expects_rise(self) -> bool:
        """The expected sign of the correlation: True if positive."""
        return self.cause.direction == self.effect.direction if self.rises is None else self.rises


@dataclass(frozen=True)
class Relative:
    """A metric in percent of the value that another metric has in a base row. The base row is set
    by a table of the study, so it depends on the test case."""

    metric: Metric
    of: Metric
    scaling: Metric | None = None
    """The same ratio as a factor instead of a percentage."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the percentage and of the factor."""
        return tuple(one.name for one in (self.metric, self.scaling) if one is not None)


@dataclass(frozen=True, eq=False)
class Course:
    """A value over the time of a run: one value per sample, in order of time."""

    values: Floats
    noun: str
    """The noun for a sample: iteration, second."""


@dataclass(frozen=True)
class WorkloadAnalysis:
    """The metrics of a workload and the rules to interpret them."""

    kind: str
    metrics: tuple[Metric, ...]
    """All metrics, in the order of exports and tables."""
    headline: tuple[Metric, ...]
    """The columns of the main table if the study names none."""
    figures: tuple[Metric, ...]
    """The figures if the study names none."""
    observed: tuple[Metric, ...]
    """The metrics that are reported first if the study compares nothing."""
    compared_on: tuple[Metric, ...]
    """Metrics compared if a study names none, the deciding one first."""
    throughput: Metric
    """The metric that decides on growth if a study names none."""
    chain: tuple[Step, ...]
    """Causes and their effects, one after the other."""
    counted: Counted
    is_sampled: Callable[[RunRecord], bool]
    """Whether a record contains the samples from which the metrics are computed."""
    drops: Metric
    retransmissions: Metric
    timeouts: Metric
    """The metrics of losses that observations use: drops, retransmissions and timeouts."""
    dropped: Callable[[RunRecord], int | None]
    """Total of frames that the switches dropped in the measuring phase of a run."""
    sent_again: Callable[[RunSample], float | None]
    """Total of segments that a run retransmitted."""
    course: Callable[[RunSample], Course | None]
    """The series that shows whether the measuring phase still contains warm-up."""
    bound: Callable[[Run], Bound | None]
    """Upper bound of metrics in Mbit/s; None: not known."""
    published_rate: Callable[[Mapping[MetricName, float], Spec], float | None] | None = None
    """Throughput per second, computed from the published values of a row and the workload at the
    levels of the row; None if they do not determine it."""
    met: Metric | None = None
    """Share of the offered load that was served."""
    delay: Metric | None = None
    """The delay that grows when more is offered than served."""
    closed_loop: Callable[[RunSample], ClosedLoop | None] | None = None
    """The response times of a run's closed loop; None: the run has none, or they are unknown."""
    response: Metric | None = None
    """The mean response time of a closed loop."""
    starved: Callable[[RunSample], Starved | None] | None = None
    """The users or connections of a run that got nothing; None: not counted."""
    timed: Metric | None = None
    """The mean time of a sample; only for workloads whose samples can have a fixed size."""
    further: tuple[Metric, ...] = ()
    """Other statistics of the sampled quantities, for a study that names them."""
    latencies: Callable[[Sequence[RunSample]], Histogram | None] | None = None
    """Latencies of the workload's requests in the measuring phase, over all runs; None: there are
    no requests."""
    timeout_share: Metric | None = None
    """Share of samples with a timeout, if samples have timeout counts."""
    tail: tuple[Metric, Metric] | None = None
    """Median and 99th percentile of the time of a sample."""
    bounded: Metric | None = None
    """The metric that `bound` limits."""
    identity: Identity | None = None
    timeout_cost_ms: Callable[[Sequence[RunSample]], float | None] | None = None
    """For the runs of one cell: the mean time of samples with a timeout minus the mean time of
    samples without; None: timeouts are not counted for each sample."""
    demands: Demands = field(default_factory=dict)
    """The parts that `latencies` and `timeout_cost_ms` need from the runs of a cell."""
    waiting_samples: Callable[[RunSample], tuple[Floats, Floats, Floats] | None] | None = None
    """For each sample of a run: time in ms, timeouts, retransmitted segments; None: not counted for
    each sample."""
    waiting_rows: Callable[[Block], tuple[Floats, Floats, Floats] | None] | None = None
    """`waiting_samples` of a block, as matrices with a row for each run, or NotAlikeError."""
    offered: Callable[[Run], Sequence[int | None]] | None = None
    """The most bytes that each connection of a plan has to send at any one time; None: there is
    always more to send."""
    relatives: tuple[Relative, ...] = ()
    """Metrics in percent of a base row, with the metrics that they are derived from."""
    signals: tuple[Step, ...] = ()
    """Links that are tested only if their cause occurs: marks, PAUSE, ring drops, loss probes."""

    @property
    def deciding(self) -> Metric:
        """The main measure of a run's outcome."""
        return self.compared_on[0]

    def decided_by_time(self) -> WorkloadAnalysis:
        """The same workload, decided by the mean time of its samples of fixed size; unchanged if
        its samples have none. For runs that measure a fixed number of samples: a reader then asks
        how long one takes."""
        if self.timed is None:
            return self
        metrics = dict.fromkeys((self.timed, *self.compared_on))
        return replace(self, compared_on=tuple(metrics))

    def says_again(self, metric: Metric) -> bool:
        """Whether a metric only restates the deciding metric, because the product of the two is
        fixed."""
        law = self.identity
        pair = () if law is None else (law.first, law.second)
        return metric in pair and metric != self.deciding

    over_time: Callable[[RunSample, Metric], tuple[Floats, Floats] | None] = lambda *_: None
    """For runs that were measured elsewhere: the ends of the intervals of a metric in s, and its
    values; None: the file has no intervals of it."""
    offered_per_s: Callable[[Run], float | None] = lambda _: None
    """Units of work that an open load submits in a second; None: the load is a closed one."""
    trips: Callable[[Run], Sequence[tuple[str, str]]] = lambda _: ()
    """The exchanges that a unit of work waits for, one after the other: pairs of endpoints, of
    which the first asks and the second answers."""
    idle_wait_s: Callable[[Run], float] = lambda _: 0.0
    """Time in which a unit of work waits inside the application without using anything."""
    is_load_outside: bool = False
    """Whether the clients only make the load, and are not under test."""
    application: Callable[[Run], str | None] | None = None
    """The profile with the costs of the application in a simulated run; None: there is none."""


def lengths_part(workload: WorkloadAnalysis) -> Callable[[Block], int]:
    """Gathers the length of the shortest series of a block; 0 if a run has none."""

    def part(block: Block) -> int:
        courses = [workload.course(run) for run in block]
        return min((0 if one is None else one.values.size for one in courses), default=0)

    return part
