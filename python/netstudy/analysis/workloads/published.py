"""Published values: metrics that are read as their source gives them.

They belong to a workload; its order of metrics, chain of causes and choice of figures are applied
to the metrics that were published. Published values have no samples, so there are no distributions
and no warm-up check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from netstudy.analysis.intervals import Estimate, decimals_of
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.samples import RunSample, Terms
from netstudy.analysis.workloads.base import Counted, Step, WorkloadAnalysis
from netstudy.study.vocabulary import split_metric
from netstudy.wire import Plan, Published

_FORMULA = "as its source gives it"
INSTRUMENT = "published data"
"""The instrument that is given for published values, since no more is known."""


@dataclass(frozen=True)
class AsPublished:
    """Reads published values from the records; published replicates are treated as runs."""

    name: str
    """The name of the metric in the reference data."""

    def estimate(self, runs: Sequence[RunSample]) -> Estimate | None:
        """The mean over the published runs."""
        values = [value for run in runs if (value := self.of_run(run)) is not None]
        if not values:
            return None
        rounding = max(run.record.published_rounding.get(self.name, 0.0) for run in runs)
        n, mean = len(values), float(np.mean(values))
        if n < 2:
            return Estimate(mean, None, 0, n, "rounding", rounding)
        # Values that are equal after rounding may differ, so the variance is at least that of
        # rounding.
        spread = max(float(np.var(values, ddof=1)), rounding**2 / 12)
        return Estimate(mean, spread / n, n - 1, n, "run", rounding)

    def of_run(self, run: RunSample) -> float | None:
        """The published value of the run."""
        return run.record.published.get(self.name)

    def terms(self, run: RunSample) -> Terms | None:  # noqa: ARG002  # part of Reading
        """None: the denominator of a published value is not known."""
        return None


def published(
    plan: Plan, bases: Mapping[str, WorkloadAnalysis], known: Sequence[Metric]
) -> WorkloadAnalysis:
    """The workload of published runs, with the metrics that they contain.

    `bases` are the workloads that analysis computes, `known` all metrics that have a name.
    """
    work = plan.runs[0].workload
    assert isinstance(work, Published), "`workload_of` calls this only for published runs"
    base = bases.get(work.of)
    own = (*base.metrics, *base.further) if base else ()
    metrics = _metrics(plan, (*own, *known))
    if base is None:  # unknown workload, so unknown priorities: node metrics come last
        metrics = tuple(sorted(metrics, key=lambda one: "." in one.name))
    given = {metric.name: metric for metric in metrics}

    instead = {} if base is None else {one.of.name: one.metric.name for one in base.relatives}

    def of(wanted: Sequence[Metric]) -> tuple[Metric, ...]:
        """Those of these metrics that were published; a metric that was not is replaced by its
        relative metric, if there is one."""
        names = (name if (name := one.name) in given else instead.get(name) for one in wanted)
        return tuple(given[name] for name in names if name in given)

    rising = tuple(metric for metric in metrics if metric.direction == "higher")
    drops, again, timeouts = (
        (base.drops, base.retransmissions, base.timeouts)
        if base
        else (_named(name, known) for name in _LOSSES)
    )
    return WorkloadAnalysis(
        kind=work.kind,
        metrics=metrics,
        headline=(of(base.headline) if base else ()) or metrics,
        figures=(of(base.figures) if base else ()) or metrics,
        observed=(of(base.observed) if base else ()) or metrics,
        compared_on=(of(base.compared_on) if base else ()) or metrics[:1],
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
        counted=Counted("published value", lambda run: len(run.record.published)),
        is_sampled=lambda record: bool(record.published),
        drops=given.get(drops.name, _not_given(drops)),
        retransmissions=given.get(again.name, _not_given(again)),
        timeouts=given.get(timeouts.name, _not_given(timeouts)),
        dropped=lambda _: None,
        sent_again=lambda _: None,
        course=lambda _: None,
        bound=lambda _: None,
    )


def _one_of(metric: Metric | None, given: Mapping[str, Metric]) -> Metric | None:
    return None if metric is None else given.get(metric.name)


def _not_given(metric: Metric) -> Metric:
    """Stands for a metric of the workload that the source does not publish: it has no value in any
    run."""
    return replace(metric, reading=AsPublished(metric.name))


_LOSSES = ("drops_per_run", "retransmissions_per_run", "timeouts_per_run")
"""Names of the loss metrics for a workload that this version cannot run."""


def _metrics(plan: Plan, known: Sequence[Metric]) -> tuple[Metric, ...]:
    """The published metrics in order of first appearance, with the decimals of their source."""
    roundings: dict[str, float] = {}
    for run in plan.runs:
        if isinstance(run.workload, Published):
            for one in run.workload.given:
                finest = roundings.get(one.metric, one.rounding)
                roundings[one.metric] = min(finest, one.rounding)
    return tuple(
        replace(
            _named(name, known),
            formula=_FORMULA,
            instruments=(INSTRUMENT,),
            decimals=decimals_of(rounding),
            reading=AsPublished(name),
            exported=True,
            sampled=None,
        )
        for name, rounding in roundings.items()
    )


def _named(name: str, known: Sequence[Metric]) -> Metric:
    found = metric_named(split_metric(name), known)
    assert found is not None, f"a study may name {name}, but no metric of this name is defined"
    return found
