"""The words that tables, figures, conclusions and forms of a study may use.

A metric is written `name`, `name_statistic` or `host.name`: `completion_ms_p99`, `app.cpu_pct`.
Its unit ends the name. How each is computed belongs to the analysis; what a study may ask for is
decided here, so that a misspelt metric is found before anything runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, get_args

from netstudy.documents.fields import Scalar, Text, Typed
from netstudy.documents.nearest import did_you_mean

TestbedName = Literal["sim", "netns", "netns-kernel", "published"]
TESTBEDS: Final[tuple[TestbedName, ...]] = get_args(TestbedName)
"""Where this version carries studies out, as `--testbed` and `testbeds` of a study name them."""

STATISTICS = ("mean", "p50", "p90", "p99", "p999", "min", "max")

WORKLOAD_METRICS = {
    "completion_ms": "time from the first request to the last byte of one iteration",
    "goodput_mbps": "application bytes received, as a rate",
    "drops_per_iteration": "frames that the switch dropped",
    "retransmissions_per_iteration": "segments sent again",
    "timeouts_per_iteration": "retransmission timers that fired",
    "timeout_iterations_pct": "share of iterations with at least one timeout",
    "fairness_index": "equality of the goodputs of the connections (Jain's index)",
    "transfer_s": "time of one transfer",
    "goodput_get_mbps": "application bytes from the servers, as a rate, where bytes go both ways",
    "goodput_put_mbps": "application bytes to the servers, as a rate, where bytes go both ways",
    "moved_mb_per_run": "application bytes of a run",
    "drops_per_gb": "frames that switches dropped, by the bytes moved",
    "retransmissions_per_gb": "segments sent again, by the bytes moved",
    "timeouts_per_gb": "retransmission timers that fired, by the bytes moved",
    "drops_per_run": "frames that switches dropped",
    "retransmissions_per_run": "segments sent again",
    "timeouts_per_run": "retransmission timers that fired",
    "requests_per_s": "answered requests, as a rate",
    "latency_us": "time from when a request was due to its answer",
    "unanswered_pct": "share of requests without an answer",
    "probe_idle_us": "latency of the probe before the workload began",
    "probe_loaded_us": "latency of the probe beside the workload",
    "probe_increase_us": "what the workload adds to the latency of the probe",
    "probe_unanswered_pct": "share of probes without an answer",
    "srtt_us": "smoothed round-trip time of the connections, as sampled",
    "min_rtt_us": "smallest round-trip time of the connections, as sampled",
    "throughput_mbps": "bytes of all transfers over the measuring phase",
    "response_ms": "time from a submission to its answer",
    "etr_per_s": "external throughput rate: page elements a second",
    "itr_per_s": "internal throughput rate: ETR at 100 % of the application's CPU",
    "etr_pct": "ETR relative to a base row",
    "itr_pct": "ITR relative to a base row",
    "errors": "requests that failed",
}

HOST_METRICS = {
    "network_mbps": "bits received and sent by the interfaces, together",
    "receive_mbps": "bits received by the interfaces",
    "send_mbps": "bits sent by the interfaces",
    "goodput_mbps": "application bytes received by this host, as a rate",
    "packets_per_s": "packets received and sent",
    "segments_retransmitted": "TCP segments sent again",
    "txdrop_per_s": "packets that the interface dropped when sending",
    "cpu_pct": "busy share of all processors",
    "cpu_ns_per_byte": "processor time for each byte sent",
    "disk_mb_per_s": "bytes read and written",
    "swap_pages_per_s": "pages swapped in and out",
}

SWITCH_METRICS = {
    "port_mbps": "bits that left by the port under observation",
    "port_in_mbps": "bits that came in by the port",
    "port_drops": "frames that the port dropped",
}

STANDARD_FIGURES = {
    "completion": "mean completion time",
    "completion_p50": "median completion time",
    "completion_p99": "99th percentile of the completion time",
    "goodput": "goodput",
    "drops": "dropped packets an iteration, a GB or a run, as the workload counts",
    "retransmissions": "retransmissions, likewise",
    "timeouts": "timeouts, likewise",
    "timeout_iterations": "share of iterations with a timeout",
    "fairness": "fairness index of the connections",
    "goodput_get": "goodput from the servers",
    "goodput_put": "goodput to the servers",
    "transfer": "mean transfer time",
    "transfer_p50": "median transfer time",
    "transfer_p99": "99th percentile of the transfer time",
    "moved": "bytes moved in a run",
    "drops_per_run": "dropped packets in a run",
    "retransmissions_per_run": "retransmissions in a run",
    "timeouts_per_run": "timeouts in a run",
    "requests": "requests a second",
    "latency": "mean latency",
    "latency_p50": "median latency",
    "latency_p90": "90th percentile of the latency",
    "latency_p99": "99th percentile of the latency",
    "latency_p999": "99.9th percentile of the latency",
    "latency_max": "largest latency",
    "unanswered": "share of requests without an answer",
    "probe_idle_p50": "median latency of the probe, idle",
    "probe_idle_p99": "99th percentile of the latency of the probe, idle",
    "probe_loaded_p50": "median latency of the probe, loaded",
    "probe_loaded_p99": "99th percentile of the latency of the probe, loaded",
    "probe_increase_p50": "increase of the median latency of the probe",
    "probe_increase_p99": "increase of the 99th percentile of the latency of the probe",
    "probe_unanswered": "share of probes without an answer",
    "srtt_mean": "smoothed round-trip time",
    "min_rtt_min": "smallest round-trip time",
}
"""Figures with a name of their own, each against the numeric factor of the study."""

_METRIC = re.compile(r"(?:(?P<scope>[A-Za-z][\w-]*)(?:@[A-Za-z][\w-]*)?\.)?(?P<name>\w+)")
_STATISTIC = re.compile(rf"(?P<base>\w+)_(?:{'|'.join(STATISTICS)})")


@dataclass(frozen=True)
class MetricName:
    """A metric as a study names it."""

    text: str
    scope: str | None
    """The host group or `switch` that it is measured at; None for the workload's own."""
    base: str
    """The metric without its statistic."""


def split_metric(text: str) -> MetricName:
    """Take a metric's name apart. Raises ValueError for a metric that does not exist."""
    match = _METRIC.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is not the name of a metric, such as completion_ms_mean')
    scope, name = match["scope"], match["name"]
    known = _known_in(scope)
    statistic = _STATISTIC.fullmatch(name)
    for base in (name, statistic["base"] if statistic else name):
        if base in known:
            return MetricName(text, scope, base)
    raise ValueError(_unknown(text, scope, name))


def _known_in(scope: str | None) -> dict[str, str]:
    if scope is None:
        return WORKLOAD_METRICS
    return SWITCH_METRICS if scope == "switch" else HOST_METRICS


def _unknown(text: str, scope: str | None, name: str) -> str:
    if scope is None and name in HOST_METRICS:
        return f'"{text}" is measured at a host; name it, as in server.{name}'
    hint = did_you_mean(name, _known_in(scope))
    return f'"{text}" is an unknown metric{hint}'


@dataclass(frozen=True)
class Metric(Scalar):
    """The name of a metric."""

    def parse(self, value: object) -> str:
        """Read the name of a metric that exists."""
        return split_metric(Text().parse(value)).text

    def json_schema(self) -> dict[str, Any]:
        """A string with the shape of a metric."""
        return {"type": "string", "pattern": r"^([A-Za-z][\w@-]*\.)?\w+$"}


Measured = Annotated[str, Typed(Metric(), refs=False)]
"""The name of a metric."""
