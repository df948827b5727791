"""Additions to any workload: a latency probe and a TCP sampler."""

from __future__ import annotations

from typing import Final

from netstudy.documents.fields import Interval, PositiveSize
from netstudy.documents.validation import Model
from netstudy.study.workloads.base import STATISTICS, MetricWords, WorkloadMetric


class Probe(Model):
    """Small requests at a fixed interval: the latency that other traffic sees under this load."""

    every: Interval
    """Time from one request to the next, whether or not the first is answered."""
    request: PositiveSize = 64
    """Size of a request."""
    response: PositiveSize = 64
    """Size of a response."""


PROBE_WORDS: Final = MetricWords(
    metrics={
        "probe_idle_us": WorkloadMetric(
            "latency of the probe before the workload began", STATISTICS, samples="histogram"
        ),
        "probe_loaded_us": WorkloadMetric(
            "latency of the probe during the workload", STATISTICS, samples="histogram"
        ),
        "probe_increase_us": WorkloadMetric(
            "increase of the probe's latency by the workload", ("p50", "p99")
        ),
        "probe_unanswered_pct": WorkloadMetric("share of probes without an answer"),
    },
    figures={
        "probe_idle_p50": "median latency of the probe, idle",
        "probe_idle_p99": "99th percentile of the latency of the probe, idle",
        "probe_loaded_p50": "median latency of the probe, loaded",
        "probe_loaded_p99": "99th percentile of the latency of the probe, loaded",
        "probe_increase_p50": "increase of the median latency of the probe",
        "probe_increase_p99": "increase of the 99th percentile of the latency of the probe",
        "probe_unanswered": "share of probes without an answer",
    },
)
"""Metrics of a probe."""
TCP_WORDS: Final = MetricWords(
    metrics={
        "srtt_us": WorkloadMetric(
            "smoothed round-trip time of the connections, as sampled", STATISTICS, samples="each"
        ),
        "min_rtt_us": WorkloadMetric(
            "smallest round-trip time of the connections, as sampled", ("min",)
        ),
    },
    figures={
        "srtt_mean": "smoothed round-trip time",
        "min_rtt_min": "smallest round-trip time",
    },
)
"""Metrics of a TCP sampler."""
