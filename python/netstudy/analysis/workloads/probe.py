"""Latency metrics that any workload can have: latencies of a probe's small requests, idle and under
load, and the round-trip times in TCP_INFO."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import numpy as np

from netstudy.analysis.clocks import inside
from netstudy.analysis.distribution import Histogram, SampledQuantity, raw
from netstudy.analysis.distribution import latencies as latency_samples
from netstudy.analysis.gathering import Demands
from netstudy.analysis.metrics import (
    PROBE_CLOCK,
    TCP_INFO,
    Metric,
    Percentile,
    Pooled,
    RatioOfSums,
    Share,
)
from netstudy.analysis.order_statistics import carries, has_beyond
from netstudy.analysis.samples import NS_PER_US, Floats, RunSample, Sampled, Terms, one
from netstudy.analysis.statistics import further
from netstudy.analysis.workloads.request import latencies, latencies_demand
from netstudy.plan.estimate import connection_samples, probe_samples
from netstudy.wire import Plan, Run

PROBE = "probe"
SRTT, MIN_RTT = "srtt_us", "min_rtt_us"
"""Columns of a series of TCP_INFO."""

Of = Callable[[Sequence[RunSample]], Histogram | None]


def idle(runs: Sequence[RunSample]) -> Histogram | None:
    """Latencies of the probe before the workload began."""
    return latencies(runs, PROBE, "idle")


def loaded(runs: Sequence[RunSample]) -> Histogram | None:
    """Latencies of the probe while the workload runs."""
    return latencies(runs, PROBE, "measure")


PROBE_DEMANDS: Final[Demands] = dict(
    [latencies_demand(PROBE, "idle"), latencies_demand(PROBE, "measure")]
)
"""The parts that `idle` and `loaded` need from the runs of a cell."""
IDLE = latency_samples(PROBE, idle, NS_PER_US, expected=partial(probe_samples, phase="idle"))
LOADED = latency_samples(PROBE, loaded, NS_PER_US, expected=partial(probe_samples, phase="measure"))


@dataclass(frozen=True)
class _Increase(Pooled):
    """A percentile under load minus the same percentile while idle; a single run has a value if it
    has both percentiles."""

    q: float = 0.5
    noun: str = PROBE
    """The noun for one of its samples."""

    def expected_samples(self, run: Run) -> float:
        """The number of samples idle or under load, whichever is smaller."""
        return min(IDLE.expected(run), LOADED.expected(run))

    def of_run(self, run: RunSample) -> float | None:
        """See Reading.of_run."""
        return _increase(self.q, [run], has_beyond)


def _increase(
    q: float, runs: Sequence[RunSample], enough: Callable[[float, int], bool]
) -> float | None:
    before, under = IDLE.of(runs), LOADED.of(runs)
    if before is None or under is None or not enough(q, min(before.count, under.count)):
        return None
    return under.quantile(q) - before.quantile(q)


def _unanswered(run: RunSample) -> Terms | None:
    found = loaded([run])
    if found is None or not found.count + found.unanswered:
        return None
    return one(100.0 * found.unanswered, found.count + found.unanswered)


def _metric(
    name: str,
    label: str,
    formula: str,
    reading: RatioOfSums | Percentile | Pooled,
    instrument: str,
    sampled: SampledQuantity | None = None,
) -> Metric:
    unit = "%" if name.endswith("_pct") else "µs"
    return Metric(
        name=name,
        label=label,
        unit=unit,
        formula=formula,
        direction="lower",
        instruments=(instrument,),
        decimals=2 if unit == "%" else 1,
        title=f"{label[:1].upper()}{label[1:]}",
        figure=name.replace("_us", "").replace("_pct", ""),
        reading=reading,
        sampled=sampled,
    )


def _percentiles(
    state: Literal["idle", "loaded"], quantity: SampledQuantity, when: str
) -> Iterator[Metric]:
    for ending, q, name in (("p50", 0.5, "median"), ("p99", 0.99, "99th percentile of the")):
        yield _metric(
            f"probe_{state}_us_{ending}",
            f"{name} {state} probe latency",
            f"{100 * q:g}th percentile of the times from when a probe was due to its answer, "
            f"{when}",
            Percentile(q, quantity),
            PROBE_CLOCK,
        )


def _mean(state: Literal["idle", "loaded"], of: Of, quantity: SampledQuantity) -> Metric:
    def terms(run: RunSample) -> Terms | None:
        found = of([run])
        known = found is not None and found.count
        return one(found.sum_ns / NS_PER_US, found.count) if found and known else None

    return _metric(
        f"probe_{state}_us_mean",
        f"mean {state} probe latency",
        "sum of the times from when each probe was due to its answer ÷ answered probes",
        RatioOfSums(terms),
        PROBE_CLOCK,
        quantity,
    )


IDLE_P50, IDLE_P99 = _percentiles("idle", IDLE, "before the workload began")
LOADED_P50, LOADED_P99 = _percentiles("loaded", LOADED, "in the measuring phase")
INCREASE_P50, INCREASE_P99 = (
    _metric(
        f"probe_increase_us_{ending}",
        f"increase of the {name} probe latency under load",
        f"probe_loaded_us_{ending} − probe_idle_us_{ending}",
        _Increase(partial(_increase, q, enough=carries), q=q),
        PROBE_CLOCK,
    )
    for ending, q, name in (("p50", 0.5, "median"), ("p99", 0.99, "99th percentile of the"))
)
UNANSWERED = _metric(
    "probe_unanswered_pct",
    "share of probes without an answer",
    "probes that had no answer when the measuring phase was over ÷ all that were due in it × 100",
    Share(_unanswered),
    PROBE_CLOCK,
)


def tcp_series(run: RunSample, column: str) -> Iterator[tuple[Sampled, Floats, Floats]]:
    """The TCP_INFO series that have samples of a column in the measuring phase. With each: the
    times of the samples, in s from the start of the phase, and their values."""
    if not any(instrument.kind == "tcp" for instrument in run.planned.instruments):
        return
    for series in run.sampled("tcp"):
        found = inside(run, series, column)
        if found is not None and found[0].size:
            yield series, *found


def _srtt_values(run: RunSample) -> Floats | None:
    values = [column for _, _, column in tcp_series(run, SRTT)]
    return np.concatenate(values) if values else None


def _srtt(run: RunSample) -> Terms | None:
    values = _srtt_values(run)
    return None if values is None else one(float(values.sum()), values.size)


def _min_rtt(runs: Sequence[RunSample]) -> float | None:
    values = [float(c.min()) for run in runs for _, _, c in tcp_series(run, MIN_RTT)]
    return min(values, default=None)


SMOOTHED = _metric(
    "srtt_us_mean",
    "smoothed round-trip time",
    "mean of the smoothed round-trip times of all samples of all connections",
    RatioOfSums(_srtt),
    TCP_INFO,
    raw("sample", _srtt_values, expected=connection_samples),
)
MINIMUM = _metric(
    "min_rtt_us_min",
    "smallest round-trip time",
    "the smallest of the minimum round-trip times of all connections",
    Pooled(_min_rtt, repeats=False),
    TCP_INFO,
)

PROBE_METRICS = (
    IDLE_P50,
    IDLE_P99,
    LOADED_P50,
    LOADED_P99,
    INCREASE_P50,
    INCREASE_P99,
    UNANSWERED,
)
TCP_METRICS = (SMOOTHED, MINIMUM)
_IDLE, _LOADED = _mean("idle", idle, IDLE), _mean("loaded", loaded, LOADED)
FURTHER = (
    _IDLE,
    *further(_IDLE, ("p50", "p99")),
    _LOADED,
    *further(_LOADED, ("p50", "p99")),
    *further(SMOOTHED),
)
"""Other statistics of the same samples, for a study that names them."""


def idle_of(metric: Metric) -> Metric | None:
    """For a metric of the probe's latency under load: the same statistic of the idle latency. None
    for all other metrics."""
    if not metric.name.startswith("probe_loaded_us_"):
        return None
    name = metric.name.replace("loaded", "idle")
    return next((one for one in (*PROBE_METRICS, *FURTHER) if one.name == name), None)


def shown_beside(plan: Plan) -> tuple[Metric, ...]:
    """The metrics of the probe that the main table also shows, because throughput has to be judged
    together with latency."""
    return (IDLE_P50, LOADED_P50, LOADED_P99) if _is_probed(plan) else ()


def _is_probed(plan: Plan) -> bool:
    return any(run.probe is not None for run in plan.runs)


def further_beside(plan: Plan) -> tuple[Metric, ...]:
    """Other statistics of probes and samplers, for a study that names them."""
    return FURTHER if beside(plan) else ()


def beside(plan: Plan) -> tuple[Metric, ...]:
    """The metrics that probes and samplers of a plan add to the metrics of the workload."""
    sampled = any(one.kind == "tcp" for run in plan.runs for one in run.instruments)
    return (*(PROBE_METRICS if _is_probed(plan) else ()), *(TCP_METRICS if sampled else ()))
