"""The workloads that analysis knows, one file each, and all their metrics."""

from __future__ import annotations

from typing import Final

from netstudy.analysis.metrics import Metric
from netstudy.analysis.workloads.base import WorkloadAnalysis
from netstudy.analysis.workloads.incast import INCAST
from netstudy.analysis.workloads.measured import measured
from netstudy.analysis.workloads.probe import (
    FURTHER,
    PROBE_METRICS,
    TCP_METRICS,
    beside,
    further_beside,
    shown_beside,
)
from netstudy.analysis.workloads.request import REQUESTS
from netstudy.analysis.workloads.transactions import TRANSACTIONS
from netstudy.analysis.workloads.transfer import TRANSFERS
from netstudy.wire import Measured, Plan

__all__ = [
    "METRICS",
    "RELATIVE",
    "VOCABULARY",
    "WORKLOADS",
    "WorkloadAnalysis",
    "figures_of",
    "further_of",
    "headline_of",
    "metrics_of",
    "workload_of",
]

WORKLOADS: Final[dict[str, WorkloadAnalysis]] = {
    one.kind: one for one in (INCAST, TRANSFERS, REQUESTS, TRANSACTIONS)
}
"""Kind of workload -> its metrics and the rules to interpret them, for workloads that some testbed
can run."""

VOCABULARY: Final[dict[str, tuple[Metric, ...]]] = {
    **{kind: one.metrics for kind, one in WORKLOADS.items()},
    "probe": PROBE_METRICS,
    "tcp": TCP_METRICS,
}
"""Source of metrics (a kind of workload, the probe, or sampled TCP connections) -> its metrics."""

METRICS: Final[tuple[Metric, ...]] = tuple(
    metric for metrics in VOCABULARY.values() for metric in metrics
)
RELATIVE: Final[frozenset[str]] = frozenset(
    one.metric.name for workload in WORKLOADS.values() for one in workload.relatives
)
"""Metrics in percent of a base row."""
NAMED: Final[tuple[Metric, ...]] = (
    *METRICS,
    *(metric for one in WORKLOADS.values() for metric in one.further),
    *FURTHER,
)
"""All metrics that are listed by name, including the other statistics of sampled quantities."""


def workload_of(plan: Plan) -> WorkloadAnalysis:
    """The workload of a plan, which all of its runs share."""
    work = plan.runs[0].workload
    if isinstance(work, Measured):
        return measured(plan, WORKLOADS, NAMED)
    found = WORKLOADS[work.kind]
    return found.decided_by_time() if all(run.count("measure") for run in plan.runs) else found


def headline_of(plan: Plan) -> tuple[Metric, ...]:
    """The columns of the main table if the study names none."""
    return (*workload_of(plan).headline, *shown_beside(plan))


def figures_of(plan: Plan) -> tuple[Metric, ...]:
    """The figures if the study names none."""
    return (*workload_of(plan).figures, *shown_beside(plan)[1:])


def further_of(plan: Plan) -> tuple[Metric, ...]:
    """Other statistics of the quantities that a plan's runs sample, for a study that names them."""
    return (*workload_of(plan).further, *further_beside(plan))


def metrics_of(plan: Plan) -> tuple[Metric, ...]:
    """The metrics that the runs of a plan measure, beginning with the metrics of the workload."""
    return (*workload_of(plan).metrics, *beside(plan))
