"""Runs that were measured elsewhere: metrics are read as a table or a file gives them.

If the workload that was run is known, its order of metrics, chain of causes and choice of figures
are applied to the metrics that were measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from netstudy.analysis.distribution import Histogram, SampledQuantity, latencies, raw
from netstudy.analysis.gathering import Demands, cell_runs, each_of
from netstudy.analysis.intervals import Estimate, decimals_of
from netstudy.analysis.metrics import Metric, RatioOfSums
from netstudy.analysis.named import metric_named
from netstudy.analysis.samples import Floats, RunSample, Terms, each
from netstudy.analysis.samples import one as one_of
from netstudy.analysis.statistics import further
from netstudy.analysis.workloads.base import Counted, Course, Step, WorkloadAnalysis
from netstudy.study.vocabulary import HOST_METRICS, MetricName, Scope, split_metric
from netstudy.units import quantity
from netstudy.wire import Measured, MeasuredMetric, MeasuredRun, MeasuredSeries, Plan

_AS_PRINTED = "as its source gives it"
INSTRUMENT = "published data"
"""The instrument that is given for values of a table, since no more is known."""
_DIGITS = 2
"""Significant digits of the coarsest usual histograms of files."""
_HEADLINE = 6
"""Most columns of the main table if the study names none."""


@dataclass(frozen=True)
class AsPrinted:
    """Reads values of a table; its repetitions are treated as runs."""

    name: str
    """The name of the metric."""

    def estimate(self, runs: Sequence[RunSample]) -> Estimate | None:
        """The mean over the runs."""
        values = [value for value in self.of_each(runs) if value is not None]
        if not values:
            return None
        rounding = max(cell_runs(runs).each((self, "rounding"), self._rounding))
        n, mean = len(values), float(np.mean(values))
        if n < 2:
            return Estimate(mean, None, 0, n, "rounding", rounding)
        # Values that are equal after rounding may differ, so the variance is at least that of
        # rounding.
        spread = max(float(np.var(values, ddof=1)), rounding**2 / 12)
        return Estimate(mean, spread / n, n - 1, n, "run", rounding)

    def of_run(self, run: RunSample) -> float | None:
        """The value of the run."""
        return _of(run).values.get(self.name)

    def of_each(self, runs: Sequence[RunSample]) -> list[float | None]:
        """The value of each run."""
        return cell_runs(runs).each((self, "each"), self.of_run)

    def demands(self) -> Demands:
        """See Reading.demands."""
        return {
            (self, "each"): each_of(self.of_run),
            (self, "rounding"): each_of(self._rounding),
        }

    def _rounding(self, run: RunSample) -> float:
        return _of(run).rounding.get(self.name, 0.0)

    def terms(self, run: RunSample) -> Terms | None:  # noqa: ARG002  # part of Reading
        """None: the denominator of a printed value is not known."""
        return None


def measured(
    plan: Plan, bases: Mapping[str, WorkloadAnalysis], known: Sequence[Metric]
) -> WorkloadAnalysis:
    """The workload of runs that were measured elsewhere, with the metrics that they have.

    `bases` are the workloads that analysis computes, `known` all metrics that have a name.
    """
    base = bases.get(_work(plan).of or "")
    own = (*base.metrics, *base.further) if base else ()
    metrics = (*_of_tables(plan, (*own, *known)), *_of_files(plan, known))
    if base is None:  # unknown workload, so unknown priorities: node metrics come last
        metrics = tuple(sorted(metrics, key=_is_of_node))
    given = {metric.name: metric for metric in metrics}
    instead = {} if base is None else {one.of.name: one.metric.name for one in base.relatives}
    shown = tuple(metric for metric in metrics if metric.exported)

    def of(wanted: Sequence[Metric]) -> tuple[Metric, ...]:
        """The metrics of these that were measured; a metric that was not is replaced by its
        relative metric, if there is one."""
        names = (name if (name := one.name) in given else instead.get(name) for one in wanted)
        return tuple(given[name] for name in names if name in given)

    rising = tuple(metric for metric in metrics if metric.direction == "higher")
    drops, again, timeouts = (
        (base.drops, base.retransmissions, base.timeouts)
        if base
        else (_named(name, known) for name in _LOSSES)
    )
    first = _first_of_each(plan, given) or metrics[:1]
    return WorkloadAnalysis(
        kind=_work(plan).kind,
        metrics=metrics,
        headline=(of(base.headline) if base else ()) or shown[:_HEADLINE],
        figures=(of(base.figures) if base else ()) or (first if _has_files(plan) else metrics),
        observed=(of(base.observed) if base else ()) or shown,
        compared_on=(of(base.compared_on) if base else ()) or first,
        throughput=((of((base.throughput,)) if base else ()) or rising or metrics)[0],
        timed=_one_of(base.timed, given) if base else None,
        delay=_one_of(base.delay, given) if base else None,
        met=_one_of(base.met, given) if base else None,
        published_rate=base.published_rate if base else None,
        relatives=base.relatives if base else (),
        bounded=_one_of(base.bounded, given) if base else None,
        chain=tuple(
            Step(given[step.cause.name], given[step.effect.name], step.expects_rise)
            for step in (base.chain if base else ())
            if step.cause.name in given and step.effect.name in given
        ),
        counted=Counted("value", lambda run: len(_of(run).values)),
        is_sampled=lambda record: record.measured is not None,
        drops=given.get(drops.name, _not_given(drops)),
        retransmissions=given.get(again.name, _not_given(again)),
        timeouts=given.get(timeouts.name, _not_given(timeouts)),
        dropped=lambda _: None,
        sent_again=lambda _: None,
        course=lambda run: _course(first, run),
        over_time=_intervals,
        bound=lambda _: None,
        further=tuple(_further(metrics)),
    )


def _work(plan: Plan) -> Measured:
    work = plan.runs[0].workload
    assert isinstance(work, Measured), "`workload_of` calls this only for measured runs"
    return work


def _works(plan: Plan) -> Iterator[Measured]:
    for run in plan.runs:
        if isinstance(run.workload, Measured):
            yield run.workload


def _of(run: RunSample) -> MeasuredRun:
    assert run.record.measured is not None, "runs without values are problems of their cell"
    return run.record.measured


def _has_files(plan: Plan) -> bool:
    return any(work.files for work in _works(plan))


def _is_of_node(metric: Metric) -> bool:
    return "." in metric.name


def _one_of(metric: Metric | None, given: Mapping[str, Metric]) -> Metric | None:
    return None if metric is None else given.get(metric.name)


def _not_given(metric: Metric) -> Metric:
    """Stands for a metric of the workload that was not measured: it has no value in any run."""
    return replace(metric, reading=AsPrinted(metric.name))


_LOSSES = ("drops_per_run", "retransmissions_per_run", "timeouts_per_run")
"""Names of the loss metrics if the workload is not known."""


def _first_of_each(plan: Plan, given: Mapping[str, Metric]) -> tuple[Metric, ...]:
    """The first metric of each format of runs: the most important one."""
    found: dict[str, str] = {}
    for work in _works(plan):
        for one in work.metrics:
            if "." not in one.name:
                found.setdefault(one.instrument, _name(one))
    return tuple(given[name] for name in dict.fromkeys(found.values()))


def _further(metrics: Sequence[Metric]) -> Iterator[Metric]:
    """Percentiles and extremes of the metrics with samples."""
    names = {metric.name for metric in metrics}
    for metric in metrics:
        if metric.sampled is not None:
            yield from (found for found in further(metric) if found.name not in names)


# --- tables ---


def _of_tables(plan: Plan, known: Sequence[Metric]) -> Iterator[Metric]:
    """The metrics of tables in order of first appearance, with the decimals of their source."""
    roundings: dict[str, float] = {}
    declared = {one.name: one for work in _works(plan) if work.given for one in work.metrics}
    for work in _works(plan):
        for one in work.given:
            finest = roundings.get(one.metric, one.rounding)
            roundings[one.metric] = min(finest, one.rounding)
    for name, rounding in roundings.items():
        yield replace(
            _declared(declared[name]) if name in declared else _named(name, known),
            formula=_AS_PRINTED,
            instruments=(INSTRUMENT,),
            decimals=decimals_of(rounding),
            reading=AsPrinted(name),
            exported=True,
            sampled=None,
        )


def _named(name: str, known: Sequence[Metric]) -> Metric:
    found = metric_named(split_metric(name), known)
    assert found is not None, f"a study may name {name}, but no metric of this name is defined"
    return found


# --- files ---


def _of_files(plan: Plan, known: Sequence[Metric]) -> Iterator[Metric]:
    """The metrics of files in order of first appearance."""
    found: dict[str, MeasuredMetric] = {}
    for work in _works(plan):
        for one in work.metrics if work.files else ():
            known_before = found.setdefault(_name(one), one)
            if one.samples == "histogram":  # single samples of other runs can be counted, too
                found[_name(one)] = known_before.model_copy(update={"samples": "histogram"})
    for name, one in found.items():
        like = _like(one, known)
        quantity = _sampled(one) if one.samples else None
        yield replace(
            like,
            name=name,
            formula=one.formula,
            instruments=(one.instrument,),
            decimals=one.decimals,
            direction=one.direction,
            reading=_reading(one, quantity),
            exported=_is_shown(one),
            sampled=quantity,
        )


def _name(one: MeasuredMetric) -> str:
    return f"{one.name}_mean" if one.samples else one.name


def _is_shown(one: MeasuredMetric) -> bool:
    """True for metrics of runs and the usual ones of hosts; a host has hundreds of counters, which
    are shown if the study names them."""
    return "." not in one.name or one.name.rpartition(".")[2] in HOST_METRICS


def _like(one: MeasuredMetric, known: Sequence[Metric]) -> Metric:
    """The metric of the vocabulary with this name, or a new one."""
    try:
        return metric_named(split_metric(one.name), known) or _declared(one)
    except ValueError:  # the name is not of the vocabulary
        return _declared(one)


def _declared(one: MeasuredMetric) -> Metric:
    place, _, base = one.name.rpartition(".")
    node, _, towards = place.partition("@")
    scope = Scope(node, towards or None) if place else None
    return Metric(
        name=one.name,
        label=one.label,
        unit=one.unit,
        formula=one.formula,
        direction=one.direction,
        instruments=(one.instrument,),
        decimals=one.decimals,
        title=f"{one.label[:1].upper()}{one.label[1:]}",
        figure=one.name,
        reading=AsPrinted(one.name),
        named=None if scope is None else MetricName(scope, base),
    )


def _reading(one: MeasuredMetric, quantity: SampledQuantity | None) -> RatioOfSums:
    if quantity is None:
        return RatioOfSums(lambda run: _over_time(one.name, run), over_time=True)
    return RatioOfSums(lambda run: _of_samples(one, quantity, run))


def _of_samples(metric: MeasuredMetric, quantity: SampledQuantity, run: RunSample) -> Terms | None:
    if quantity.values is not None:
        values = quantity.values(run)
        return None if values is None else each(values)
    histogram = _histogram(metric, [run])
    if histogram is None:
        return None
    return one_of(histogram.sum_ns / _ns_per(metric.unit), histogram.count)


def _over_time(name: str, run: RunSample) -> Terms | None:
    """The value of a run; if its intervals are known, one entry for each. The entries are scaled to
    the value that the tool itself gives for the whole: it is more exact than the sum of rounded
    intervals."""
    value = _of(run).values.get(name)
    if value is None:
        return None
    series = _series(name, run)
    if series is None or value <= 0:
        return one_of(value)
    lengths_s = np.array(series.ends_s) - np.array(series.starts_s)
    amounts = np.array(series.values, dtype=np.float64) * lengths_s
    total = float(amounts.sum())
    if not np.isfinite(total) or total <= 0:
        return one_of(value)
    return amounts * (value * float(lengths_s.sum()) / total), lengths_s


def _series(name: str, run: RunSample) -> MeasuredSeries | None:
    """The intervals of a metric over the measuring phase; None if the file has none of a rate."""
    found = (each for each in _of(run).series if each.metric == name)
    series = next(found, None)
    return series if series is not None and len(series.values) > 1 else None


def _intervals(run: RunSample, metric: Metric) -> tuple[Floats, Floats] | None:
    series = _series(metric.name, run)
    if series is None:
        return None
    return np.array(series.ends_s), np.array(series.values, dtype=np.float64)


def _course(metrics: Sequence[Metric], run: RunSample) -> Course | None:
    """The intervals of the first metric that has them."""
    for metric in metrics:
        series = _series(metric.name, run)
        if series is not None and None not in series.values:
            return Course(np.array(series.values, dtype=np.float64), "interval")
    return None


def _sampled(metric: MeasuredMetric) -> SampledQuantity:
    if metric.samples == "histogram":
        return latencies(
            "sample",
            lambda runs: _histogram(metric, runs),
            _ns_per(metric.unit),
            expected=lambda _: float("inf"),
        )
    return raw("sample", lambda run: _values(metric, run), expected=lambda _: float("inf"))


def _values(metric: MeasuredMetric, run: RunSample) -> Floats | None:
    """The single samples of a run."""
    found = (each for each in _of(run).samples if each.metric == metric.name and not each.counts)
    return next((np.array(each.values) for each in found), None)


def _ns_per(unit: str) -> float:
    """The factor to whole numbers that a histogram counts: ns of a time, else the unit itself."""
    found, ns = quantity(f"1 {unit}"), quantity("1 ns")
    assert ns is not None, "a nanosecond is a time"
    return 1.0 if found is None or found[0] != ns[0] else float(found[1] / ns[1])


def _histogram(metric: MeasuredMetric, runs: Sequence[RunSample]) -> Histogram | None:
    """The samples of some runs together; None without any."""
    found = [
        (each.values, each.counts or [1] * len(each.values))
        for run in runs
        for each in _of(run).samples
        if each.metric == metric.name and each.values
    ]
    if not found:
        return None
    values = np.rint(np.concatenate([values for values, _ in found]) * _ns_per(metric.unit))
    highest, place = np.unique(values.astype(np.int64), return_inverse=True)
    requests: NDArray[np.int64] = np.zeros(highest.size, np.int64)
    np.add.at(requests, place, np.concatenate([counts for _, counts in found]))
    return Histogram(
        value_ns=highest,
        requests=requests,
        min_ns=int(highest[0]),
        max_ns=int(highest[-1]),
        sum_ns=int((highest * requests).sum()),
        unanswered=0,
        significant_digits=_DIGITS,
    )
