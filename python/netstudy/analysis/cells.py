"""Records pooled into cells: one row for each treatment, with all its replicates.

Failed, invalid and missing runs do not enter the numbers; they are counted and listed by name. A
value that was not measured is None, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from netstudy.analysis.intervals import Estimate
from netstudy.analysis.metrics import Metric, Percentile
from netstudy.analysis.named import metric_named
from netstudy.analysis.nodes import node_metrics
from netstudy.analysis.order_statistics import Lacking
from netstudy.analysis.reasons import reasons
from netstudy.analysis.samples import RunSample, SeriesReader
from netstudy.analysis.workloads import WorkloadAnalysis, further_of, metrics_of, workload_of
from netstudy.analysis.workloads.base import Counted
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
    runs: tuple[RunSample, ...]
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

    def total(self, count: Callable[[RunRecord], int | None]) -> int | None:
        """The sum of a count over all runs, or None when a run did not count."""
        found = [count(run.record) for run in self.runs]
        known = [value for value in found if value is not None]
        return sum(known) if len(known) == len(found) else None

    def value(self, metric: Metric) -> float | None:
        """The value of a metric, or None when it was not measured."""
        estimate = self.estimate(metric)
        return None if estimate is None else estimate.value


def have_one_base(a: CellRow, b: CellRow, metric: Metric) -> bool:
    """Whether two cells may be compared in a metric. Values relative to different base rows may
    not: two base rows are both 100 %, whatever was measured."""
    bases = {run.bases.get(metric.name) for row in (a, b) for run in row.runs}
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


def pool(
    plan: Plan,
    records: Sequence[RunRecord],
    levels: Mapping[str, Sequence[Level]] | None = None,
    series: SeriesReader | None = None,
    asked: Iterable[MetricName] = (),
) -> CellTable:
    """Pools records into cells. Without `levels`, named levels are in the order of the plan.
    `series` reads the samples of a run if the records do not contain them. `asked` names metrics
    that a study wants in addition to its workload's."""
    by_run = {record.run: record for record in records}
    factors = _factors(plan, levels or {})
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in plan.runs:
        groups.setdefault((run.cases, _key(run.treatment)), []).append(run)
    workload = workload_of(plan)
    rows = [_row(runs, by_run, workload, series) for runs in groups.values()]
    rows.sort(key=lambda row: _position(row.treatment, factors))
    cases = dict.fromkeys(case for run in plan.runs for case in run.cases)
    metrics, further = metrics_of(plan), further_of(plan)
    named = {metric.name for metric in metrics}
    of_nodes = node_metrics([runs[0] for runs in groups.values()])
    return CellTable(
        study=plan.study,
        factors=factors,
        cases=tuple(cases),
        workload=workload,
        metrics=metrics,
        further=further,
        asked=tuple(_asked(asked, metrics, further)),
        # A source may publish a metric that is otherwise read from counters, such as
        # machine.cpu_pct.
        of_nodes=tuple(metric for metric in of_nodes if metric.name not in named),
        rows=tuple(rows),
    )


def _asked(
    names: Iterable[MetricName], metrics: Sequence[Metric], further: Sequence[Metric]
) -> Iterator[Metric]:
    for name in dict.fromkeys(names):
        metric = metric_named(name, (*metrics, *further))
        if metric is not None and metric not in metrics:
            yield metric


def _key(treatment: Treatment) -> tuple[tuple[str, Level], ...]:
    return tuple(sorted(treatment.items(), key=lambda item: item[0]))


def _factors(plan: Plan, order: Mapping[str, Sequence[Level]]) -> dict[str, tuple[Level, ...]]:
    seen: dict[str, dict[Level, None]] = {}
    for run in plan.runs:
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


def _row(
    planned: list[Run],
    records: Mapping[str, RunRecord],
    workload: WorkloadAnalysis,
    series: SeriesReader | None,
) -> CellRow:
    samples: list[RunSample] = []
    problems: list[Problem] = []
    for run in planned:
        outcome = _outcome(run, records.get(run.id), workload, series)
        if isinstance(outcome, Problem):
            problems.append(outcome)
        else:
            samples.append(outcome)
    cases = dict.fromkeys(case for run in planned for case in run.cases)
    return CellRow(
        treatment=planned[0].treatment,
        cases=tuple(cases),
        planned=tuple(planned),
        runs=tuple(samples),
        problems=tuple(problems),
        counted=workload.counted,
    )


def _outcome(
    run: Run,
    record: RunRecord | None,
    workload: WorkloadAnalysis,
    series: SeriesReader | None,
) -> RunSample | Problem:
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
    return RunSample(run, record, series)


def is_limited(record: RunRecord) -> bool:
    """Whether a run is invalid because of its testbed's limits, not because a check failed."""
    if any(limit.exceeded and limit.invalidates for limit in record.limits):
        return True
    return bool(record.limits) and all(check.holds for check in record.checks)
