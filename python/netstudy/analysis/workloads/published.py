"""Published values: metrics that are read as their source gives them.

They belong to a workload, whose order of metrics, chain of causes and choice of figures hold for
them as far as they go. What needs samples, such as a distribution or a warm-up, they do not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from netstudy.analysis.intervals import Estimate, decimals_of
from netstudy.analysis.metrics import Direction, Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.samples import RunSample, Terms
from netstudy.analysis.workloads.base import Counted, WorkloadAnalysis
from netstudy.study.vocabulary import split_metric
from netstudy.wire import Plan, Published

_UNITS = {
    "mb_per_s": "MB/s",
    "ns_per_byte": "ns/B",
    "per_s": "1/s",
    "ms": "ms",
    "us": "µs",
    "s": "s",
    "mbps": "Mbit/s",
    "pct": "%",
    "bytes": "B",
}
"""End of a metric's name -> its unit; the longest end first."""
_LOWER = ("response", "errors", "drop", "retransmi", "timeout")
_HIGHER = ("etr_", "itr_", "throughput", "goodput")
"""Parts of the names of metrics of which less, or more, is better."""
_FORMULA = "as its source gives it"
_INSTRUMENT = "published data"


@dataclass(frozen=True)
class AsPublished:
    """Reads what the records say was published; replicates scatter as runs do."""

    name: str
    """The metric as the reference data name it."""

    def estimate(self, runs: Sequence[RunSample]) -> Estimate | None:
        """The mean over the runs that were published."""
        values = [value for run in runs if (value := self.of_run(run)) is not None]
        if not values:
            return None
        rounding = max(run.record.published_rounding.get(self.name, 0.0) for run in runs)
        n, mean = len(values), float(np.mean(values))
        if n < 2:
            return Estimate(mean, None, 0, n, "rounding", rounding)
        # What is rounded to the same digit may still differ: by the variance of rounding.
        spread = max(float(np.var(values, ddof=1)), rounding**2 / 12)
        return Estimate(mean, spread / n, n - 1, n, "run", rounding)

    def of_run(self, run: RunSample) -> float | None:
        """What was published of the run."""
        return run.record.published.get(self.name)

    def terms(self, run: RunSample) -> Terms | None:  # noqa: ARG002  # as every reading has it
        """None: what a published value was divided by is not known."""
        return None


def published(
    plan: Plan, bases: Mapping[str, WorkloadAnalysis], known: Sequence[Metric]
) -> WorkloadAnalysis:
    """What is known of the workload of published runs, with the metrics that they give.

    `bases` are the workloads that analysis knows, `known` its metrics in all.
    """
    work = plan.runs[0].workload
    assert isinstance(work, Published), "only such a plan comes here"
    base = bases.get(work.of)
    metrics = _metrics(plan, (*(base.metrics if base else ()), *known))
    given = {metric.name: metric for metric in metrics}

    def of(wanted: Sequence[Metric]) -> tuple[Metric, ...]:
        return tuple(given[metric.name] for metric in wanted if metric.name in given)

    drops, again, timeouts = (
        (base.drops, base.retransmissions, base.timeouts) if base else map(described, _LOSSES)
    )
    return WorkloadAnalysis(
        kind=work.kind,
        metrics=metrics,
        headline=(of(base.headline) if base else ()) or metrics,
        figures=(of(base.figures) if base else ()) or metrics,
        observed=(of(base.observed) if base else ()) or metrics,
        compared_on=(of(base.compared_on) if base else ()) or metrics[:1],
        throughput=((of((base.throughput,)) if base else ()) or metrics)[0],
        chain=tuple(
            (given[cause.name], given[effect.name])
            for cause, effect in (base.chain if base else ())
            if cause.name in given and effect.name in given
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


def _not_given(metric: Metric) -> Metric:
    """A metric of the workload that nobody published: it has no value anywhere."""
    return replace(metric, reading=AsPublished(metric.name))


_LOSSES = ("drops_per_run", "retransmissions_per_run", "timeouts_per_run")


def _metrics(plan: Plan, known: Sequence[Metric]) -> tuple[Metric, ...]:
    """What the runs give, in the order of its first appearance, each with the digits it has."""
    roundings: dict[str, float] = {}
    for run in plan.runs:
        if isinstance(run.workload, Published):
            for one in run.workload.given:
                finest = roundings.get(one.metric, one.rounding)
                roundings[one.metric] = min(finest, one.rounding)
    return tuple(
        replace(
            metric_named(name, known) or described(name),
            formula=_FORMULA,
            instruments=(_INSTRUMENT,),
            decimals=decimals_of(rounding),
            reading=AsPublished(name),
            exported=True,
        )
        for name, rounding in roundings.items()
    )


def described(name: str) -> Metric:
    """A metric that no workload of this version computes, from its name alone."""
    base = split_metric(name).base
    return Metric(
        name=name,
        label=name,
        unit=next((unit for end, unit in _UNITS.items() if base.endswith(f"_{end}")), ""),
        formula=_FORMULA,
        direction=_direction(base),
        instruments=(_INSTRUMENT,),
        decimals=2,
        title=name,
        figure=name,
        reading=AsPublished(name),
    )


def _direction(base: str) -> Direction:
    if any(part in base for part in _LOWER):
        return "lower"
    return "higher" if any(part in base for part in _HIGHER) else "neutral"
