"""Records pooled into cells: one row for each treatment, with all its replicates.

Failed, invalid and missing runs do not enter the numbers; they are counted and listed by name. A
value that was not measured is None, never 0.
"""

from __future__ import annotations

import gc
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from netstudy.analysis.gathering import (
    Block,
    BlockCache,
    CellRuns,
    Demands,
    Gathering,
    ReadRecord,
)
from netstudy.analysis.intervals import Estimate
from netstudy.analysis.metrics import Metric, Percentile
from netstudy.analysis.named import metric_named
from netstudy.analysis.nodes import node_metrics
from netstudy.analysis.order_statistics import Lacking
from netstudy.analysis.reasons import reasons
from netstudy.analysis.samples import RunSample, SeriesReader
from netstudy.analysis.workloads import WorkloadAnalysis, further_of, metrics_of, workload_of
from netstudy.analysis.workloads.base import Counted
from netstudy.analysis.workloads.signals import Count, total_of
from netstudy.study.levels import is_numeric
from netstudy.study.vocabulary import MetricName
from netstudy.wire import Level, Plan, Run, RunRecord, Treatment

ProblemKind = Literal["failed", "invalid", "limited", "missing"]
"""limited: invalid because the testbed itself was the limit."""


@dataclass(frozen=True)
class Problem:
    """A planned run without valid results, with the reason."""

    run: str
    replicate: int
    kind: ProblemKind
    reason: str


@dataclass(frozen=True, eq=False)
class CellRow:
    """One treatment: its valid runs, and the problems of the others."""

    treatment: Treatment
    cases: tuple[str, ...]
    planned: tuple[Run, ...]
    runs: CellRuns
    problems: tuple[Problem, ...]
    counted: Counted
    """The unit of its samples, such as an iteration."""
    _known: dict[str, Estimate | None] = field(default_factory=dict, repr=False)

    def estimate(self, metric: Metric) -> Estimate | None:
        """The estimate of a metric, computed on first use; None when it was not measured."""
        if metric.name not in self._known:
            self._known[metric.name] = metric.reading.estimate(self.runs)
        return self._known[metric.name]

    def lacking(self, metric: Metric) -> Lacking | None:
        """For a percentile with too few samples: the number that it has and the number that it
        needs; else None."""
        reading = metric.reading
        return reading.lacking(self.runs) if isinstance(reading, Percentile) else None

    def total(self, count: Count) -> int | None:
        """The sum of a count over all runs, or None when a run did not count."""
        return total_of(self.runs, count)

    @property
    def samples(self) -> int:
        """The number of samples of all runs."""
        return sum(self.runs.gathered("samples", samples_part(self.counted)))

    def value(self, metric: Metric) -> float | None:
        """The value of a metric, or None when it was not measured."""
        estimate = self.estimate(metric)
        return None if estimate is None else estimate.value


def samples_part(counted: Counted) -> Callable[[Block], int]:
    """Counts the samples of a block of runs."""
    return lambda block: sum(counted.of(run) for run in block)


def have_one_base(a: CellRow, b: CellRow, metric: Metric) -> bool:
    """Whether two cells may be compared in a metric. Values relative to different base rows may
    not: two base rows are both 100 %, whatever was measured."""
    bases = {row.runs.bases.get(metric.name) for row in (a, b) if row.runs}
    return len(bases) <= 1


@dataclass(frozen=True, eq=False)
class CellTable:
    """All cells of a results folder in the order of their levels."""

    study: str
    factors: Mapping[str, tuple[Level, ...]]
    """Factor -> its levels: numbers ascending, names in the order of the study."""
    cases: tuple[str, ...]
    workload: WorkloadAnalysis
    """The workload, which is the same for all runs."""
    metrics: tuple[Metric, ...]
    """Metrics of the workload, then of the probe and of sampled connections."""
    further: tuple[Metric, ...]
    """Other statistics of the sampled quantities, computed only for a study that names them."""
    asked: tuple[Metric, ...]
    """Metrics that the study names in addition to `metrics`: metrics of nodes, and other
    statistics."""
    of_nodes: tuple[Metric, ...]
    """Metrics of hosts, switches, links and the machine, except names already in `metrics`."""
    rows: tuple[CellRow, ...]

    @property
    def vocabulary(self) -> tuple[Metric, ...]:
        """Metrics that a study may name without a node."""
        return (*self.metrics, *self.further)

    def measured(self, metrics: Iterable[Metric]) -> tuple[Metric, ...]:
        """The metrics that have a value in some cell."""
        return tuple(m for m in metrics if any(row.estimate(m) is not None for row in self.rows))

    def of_case(self, case: str) -> tuple[CellRow, ...]:
        """The cells that a test case uses."""
        return tuple(row for row in self.rows if case in row.cases)

    @property
    def problems(self) -> tuple[tuple[CellRow, Problem], ...]:
        """Every planned run without valid results, with its cell."""
        return tuple((row, problem) for row in self.rows for problem in row.problems)


@dataclass(frozen=True)
class Measures:
    """The metrics that are computed in every cell."""

    workload: WorkloadAnalysis
    metrics: tuple[Metric, ...]
    """Metrics of the workload, and others that the study names."""
    of_nodes: tuple[Metric, ...]


Visit = Callable[[int, RunRecord], None]
"""Takes the place of a run in the plan, and its record."""


@dataclass(frozen=True)
class Reader:
    """Reads records one by one, and says what is gathered from them."""

    read: ReadRecord
    demands: Callable[[Measures, Run], Demands] = lambda *_: {}
    """The parts to gather from the runs of a cell while they are read for the first time; one of
    the runs is given."""
    settle: Callable[[CellRow, Measures], None] = lambda *_: None
    """Called with each cell once all of its runs were read."""
    visit: Visit = lambda *_: None
    """Called with each record when it is read first."""
    cache: BlockCache = field(default_factory=BlockCache)
    """Holds the records that were used last."""
    are_kept: bool = False
    """True if all records are in memory already, and stay there."""


def pool(
    plan: Plan,
    records: Sequence[RunRecord] | Reader,
    levels: Mapping[str, Sequence[Level]] | None = None,
    series: SeriesReader | None = None,
    asked: Iterable[MetricName] = (),
) -> CellTable:
    """Pools records into cells. Without `levels`, named levels are in the order of the plan.
    `series` reads the samples of a run if the records do not contain them. `asked` names metrics
    that a study wants in addition to its workload's.

    A `Reader` reads each record once, cell by cell, for everything that it gathers, and again only
    for other analyses.
    """
    groups = _groups(plan)
    first = [plan.runs[places[0]] for places in groups]
    factors = _factors(first, levels or {})
    workload = workload_of(plan)
    metrics, further = metrics_of(plan), further_of(plan)
    named = {metric.name for metric in metrics}
    own = tuple(_asked(asked, metrics, further))
    # A source may publish a metric that is otherwise read from counters, such as machine.cpu_pct.
    of_nodes = tuple(metric for metric in node_metrics(first) if metric.name not in named)
    measures = Measures(workload, (*metrics, *own), of_nodes)
    pooling = _Pooling(plan, _reader(records), series, measures)
    with collected_by_count():
        rows = [pooling.row(places) for places in groups]
    rows.sort(key=lambda row: _position(row.treatment, factors))
    return CellTable(
        study=plan.study,
        factors=factors,
        cases=tuple(dict.fromkeys(case for run in first for case in run.cases)),
        workload=workload,
        metrics=metrics,
        further=further,
        asked=own,
        of_nodes=of_nodes,
        rows=tuple(rows),
    )


def _groups(plan: Plan) -> list[array[int]]:
    """The places of the runs of each cell in the plan, in the order of their first runs."""
    groups: dict[tuple[object, ...], array[int]] = {}
    # Runs share their treatments, so that most keys are known already.
    keys: dict[tuple[int, int], tuple[object, ...]] = {}
    for place, run in enumerate(plan.runs):
        shared = id(run.cases), id(run.treatment)
        key = keys.get(shared)
        if key is None:
            key = keys[shared] = (run.cases, _key(run.treatment))
        groups.setdefault(key, array("L")).append(place)
    return list(groups.values())


def _asked(
    names: Iterable[MetricName], metrics: Sequence[Metric], further: Sequence[Metric]
) -> Iterator[Metric]:
    for name in dict.fromkeys(names):
        metric = metric_named(name, (*metrics, *further))
        if metric is not None and metric not in metrics:
            yield metric


def _key(treatment: Treatment) -> tuple[tuple[str, Level], ...]:
    return tuple(sorted(treatment.items(), key=lambda item: item[0]))


def _factors(
    runs: Iterable[Run], order: Mapping[str, Sequence[Level]]
) -> dict[str, tuple[Level, ...]]:
    seen: dict[str, dict[Level, None]] = {}
    for run in runs:
        for factor, level in run.treatment.items():
            seen.setdefault(factor, {})[level] = None
    return {name: _ordered(list(levels), order.get(name, ())) for name, levels in seen.items()}


def _ordered(levels: list[Level], order: Sequence[Level]) -> tuple[Level, ...]:
    if is_numeric(levels):
        return tuple(sorted(levels, key=lambda level: float(level)))
    known = [level for level in order if level in levels]
    return tuple(known + [level for level in levels if level not in known])


def _position(treatment: Treatment, factors: Mapping[str, tuple[Level, ...]]) -> tuple[int, ...]:
    """Position of a treatment in the order of levels; a missing factor sorts first."""
    return tuple(
        levels.index(treatment[name]) if name in treatment else -1
        for name, levels in factors.items()
    )


@contextmanager
def collected_by_count() -> Iterator[None]:
    """Stops the search for cycles among objects. Parsed records have none, but there are so many of
    their objects that the search would take longer than parsing them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _reader(records: Sequence[RunRecord] | Reader) -> Reader:
    if isinstance(records, Reader):
        return records
    by_run = {record.run: record for record in records}
    return Reader(lambda run: by_run.get(run.id), are_kept=True)


class _Pooling:
    """Makes cells of records."""

    def __init__(
        self, plan: Plan, reader: Reader, series: SeriesReader | None, measures: Measures
    ) -> None:
        """Cells of the runs of a plan."""
        self._plan = plan
        self._reader = reader
        self._series = series
        self._measures = measures

    def row(self, places: Sequence[int]) -> CellRow:
        """The cell of the runs at these places of the plan."""
        planned = tuple(self._plan.runs[place] for place in places)
        problems: list[Problem] = []
        demands = self._reader.demands(self._measures, planned[0])
        gathering = Gathering(demands, self._reader.cache, self._again)
        kept: list[RunSample] = []
        add = kept.append if self._reader.are_kept else gathering.add
        for place, run in zip(places, planned, strict=True):
            record = self._reader.read(run)
            if record is not None:
                self._reader.visit(place, record)
            problem = _problem(run, record, self._measures.workload)
            if problem is not None:
                problems.append(problem)
            elif record is not None:
                add(RunSample(run, record, self._series))
        row = CellRow(
            treatment=planned[0].treatment,
            cases=planned[0].cases,
            planned=planned,
            runs=CellRuns(kept) if self._reader.are_kept else gathering.runs(),
            problems=tuple(problems),
            counted=self._measures.workload.counted,
        )
        self._reader.settle(row, self._measures)
        return row

    def _again(self, run: Run) -> RunSample:
        record = self._reader.read(run)
        assert record is not None, f"run {run.id} had a record"
        return RunSample(run, record, self._series)


def _problem(run: Run, record: RunRecord | None, workload: WorkloadAnalysis) -> Problem | None:
    """Why a run has no valid results; None: it has."""
    if record is None:
        return Problem(run.id, run.replicate, "missing", "no record")
    if record.status == "failed":
        return Problem(run.id, run.replicate, "failed", reasons(record))
    if record.status == "invalid":
        kind: ProblemKind = "limited" if is_limited(record) else "invalid"
        return Problem(run.id, run.replicate, kind, reasons(record))
    if not workload.is_sampled(record):
        nothing = f"the record holds no {workload.counted.noun}s"
        return Problem(run.id, run.replicate, "failed", nothing)
    return None


def is_limited(record: RunRecord) -> bool:
    """Whether a run is invalid because of its testbed's limits, not because a check failed."""
    if any(limit.exceeded and limit.invalidates for limit in record.limits):
        return True
    return bool(record.limits) and all(check.holds for check in record.checks)
