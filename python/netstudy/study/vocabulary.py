"""The words that tables, figures, conclusions and forms of a study may use.

A metric is written `name` where it is the workload's own, `node.name` or `node@towards.name` where
it is read at a host, an interface, a switch or a port: `completion_ms_p99`, `app.cpu_pct`,
`app@client.send_mbps`, `switch@server.port_in_mbps`. Its unit and its statistic end the name, and
` in warm-up` behind it names another phase than the measuring one. How each is computed belongs to
the analysis; what a study may ask for is decided here, so that a misspelt metric is found before
anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, cast, get_args

from netstudy.documents.fields import Scalar, Text, Typed
from netstudy.documents.nearest import did_you_mean
from netstudy.wire import PhaseKind

TestbedName = Literal["sim", "netns", "netns-kernel", "published"]
TESTBEDS: Final[tuple[TestbedName, ...]] = get_args(TestbedName)
"""Where this version carries studies out, as `--testbed` and `testbeds` of a study name them."""

PUBLISHED: Final = "published"
"""The testbed whose runs were carried out elsewhere."""

STATISTICS = ("mean", "p50", "p90", "p99", "p999", "min", "max")

PROBE_METRICS: Mapping[str, tuple[str, ...]] = {
    "probe_idle_us": STATISTICS,
    "probe_loaded_us": STATISTICS,
    "probe_increase_us": ("p50", "p99"),
    "probe_unanswered_pct": (),
}
"""What a probe beside the workload measures, with the statistics of each."""
TCP_METRICS: Mapping[str, tuple[str, ...]] = {"srtt_us": STATISTICS, "min_rtt_us": ("min",)}
"""What a sampler of connections measures."""
PROBE_FIGURES = (
    "probe_idle_p50",
    "probe_idle_p99",
    "probe_loaded_p50",
    "probe_loaded_p99",
    "probe_increase_p50",
    "probe_increase_p99",
    "probe_unanswered",
)
TCP_FIGURES = ("srtt_mean", "min_rtt_min")
"""The standard figures of these."""

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
    "response_ms": "time from a submission to its answer",
    "etr_per_s": "external throughput rate: page elements a second",
    "itr_per_s": "internal throughput rate: ETR at 100 % of the application's CPU",
    "etr_pct": "ETR relative to a base row",
    "itr_pct": "ITR relative to a base row",
    "errors": "requests that failed",
}


@dataclass(frozen=True)
class Quantity:
    """Something that is read at a node."""

    text: str
    at_port: bool = False
    """Whether it belongs to interfaces or ports, so that `app@client` may name one of them."""
    is_rate: bool = True
    """Whether samples show its course, so that percentiles and extremes have a meaning."""


HOST_METRICS = {
    "network_mbps": Quantity("bits received and sent by the interfaces, together", at_port=True),
    "receive_mbps": Quantity("bits received by the interfaces", at_port=True),
    "send_mbps": Quantity("bits sent by the interfaces", at_port=True),
    "goodput_mbps": Quantity("application bytes received by this host, as a rate"),
    "packets_per_s": Quantity("packets received and sent", at_port=True),
    "receive_packets_per_s": Quantity("packets received", at_port=True),
    "send_packets_per_s": Quantity("packets sent", at_port=True),
    "packet_bytes_mean": Quantity(
        "bytes by packets, received and sent", at_port=True, is_rate=False
    ),
    "utilisation_pct": Quantity("share of the line rate, in the fuller direction", at_port=True),
    "receive_utilisation_pct": Quantity("share of the line rate, receiving", at_port=True),
    "send_utilisation_pct": Quantity("share of the line rate, sending", at_port=True),
    "segments_retransmitted": Quantity("TCP segments sent again", is_rate=False),
    "timeouts": Quantity("retransmission timers that fired", is_rate=False),
    "txdrop_per_s": Quantity("packets that were dropped before they were sent", at_port=True),
    "rxdrop_per_s": Quantity("packets that were dropped when they came in", at_port=True),
    "cpu_pct": Quantity("processor time by what the host may use"),
    "cpu_ns_per_byte": Quantity(
        "processor time by bytes received and sent by the interfaces", is_rate=False
    ),
    "disk_mb_per_s": Quantity("bytes read and written"),
    "swap_pages_per_s": Quantity("pages swapped in and out"),
}

SWITCH_METRICS = {
    "port_mbps": Quantity("bits that left by the port", at_port=True),
    "port_out_mbps": Quantity("bits that left by the port, the same as port_mbps", at_port=True),
    "port_in_mbps": Quantity("bits that came in by the port", at_port=True),
    "port_out_packets_per_s": Quantity("frames that left by the port", at_port=True),
    "port_in_packets_per_s": Quantity("frames that came in by the port", at_port=True),
    "port_utilisation_pct": Quantity("share of the line rate, leaving", at_port=True),
    "port_drops": Quantity("frames that the port dropped", at_port=True, is_rate=False),
    "port_marks": Quantity("frames that the port marked (ECN)", at_port=True, is_rate=False),
    "port_queue_bytes_max": Quantity(
        "the longest queue of the port, since the run began", at_port=True, is_rate=False
    ),
}

LINK_METRICS = {
    "utilisation_pct": Quantity(
        "share of the line rate, of the fullest link and direction", is_rate=False
    ),
}

MACHINE_METRICS = {
    "cpu_pct": Quantity("busy share of all processors"),
    "softirq_pct": Quantity("share of all processors in soft interrupts, of nobody's process"),
    "steal_pct": Quantity("share of all processors that the hypervisor gave to others"),
    "disk_mb_per_s": Quantity("bytes read and written"),
    "swap_pages_per_s": Quantity("pages swapped in and out"),
}

SWITCH, LINK, MACHINE = "switch", "link", "machine"
"""Scopes that are no host group: the switch, all links, and the machine below all hosts."""

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

_METRIC = re.compile(
    r"(?:(?P<node>[A-Za-z][\w-]*(?:\.[\w-]+)?)(?:@(?P<towards>[A-Za-z][\w-]*))?\.)?"
    r"(?P<name>\w+)(?: in (?P<phase>[a-z-]+))?"
)
_STATISTIC = re.compile(rf"(?P<base>\w+)_(?P<statistic>{'|'.join(STATISTICS)})")


@dataclass(frozen=True)
class Scope:
    """Where a metric is measured."""

    node: str
    """A host group or one of its hosts, a zone, a switch, `link` or `machine`."""
    towards: str | None = None
    """What the interface or port leads to, or the name of the interface; None: all of them."""

    def __str__(self) -> str:
        """As a study writes it."""
        return self.node if self.towards is None else f"{self.node}@{self.towards}"


@dataclass(frozen=True)
class MetricName:
    """A metric as a study names it."""

    text: str
    scope: Scope | None
    """None: it is the workload's own."""
    base: str
    """The metric without its statistic."""
    statistic: str | None = None
    """None: the mean, or the whole of what is counted."""
    phase: PhaseKind = "measure"

    @property
    def needs_samples(self) -> bool:
        """Whether counters at the edges of a phase do not tell it."""
        return self.scope is not None and self.statistic not in (None, "mean")


def split_metric(text: str) -> MetricName:
    """Take a metric's name apart. Raises ValueError for a metric that does not exist.

    Whether the study has such a host, switch or sampler is another question (`checks.outcome`).
    """
    match = _METRIC.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is not the name of a metric, such as completion_ms_mean')
    scope = None if match["node"] is None else Scope(match["node"], match["towards"])
    known = _known_in(scope)
    base, statistic = _parted(match["name"], known)
    if base is None:
        raise ValueError(_unknown(text, scope, match["name"]))
    phase = _phase(text, match["phase"], scope)
    found = MetricName(text, scope, base, statistic, phase)
    if scope is not None:
        _check_quantity(found, scope)
    return found


def _parted(name: str, known: Iterable[str]) -> tuple[str | None, str | None]:
    """A metric and its statistic; None for the metric where it is not known."""
    if name in known:
        return name, None
    match = _STATISTIC.fullmatch(name)
    if match and match["base"] in known:
        return match["base"], match["statistic"]
    return None, None


def _check_quantity(found: MetricName, scope: Scope) -> None:
    quantity = quantities_of(scope.node)[found.base]
    if scope.towards is not None and not quantity.at_port:
        raise ValueError(
            f'"{found.text}" is not counted by interface; write {scope.node}.{found.base}'
        )
    if found.needs_samples and not quantity.is_rate:
        raise ValueError(
            f'"{found.text}": {found.base} is one number a phase and has no {found.statistic}'
        )


def _phase(text: str, phase: str | None, scope: Scope | None) -> PhaseKind:
    if phase is None:
        return "measure"
    if scope is None:
        raise ValueError(f'"{text}": what a workload measures, it measures in the measuring phase')
    if phase not in get_args(PhaseKind):
        hint = did_you_mean(phase, get_args(PhaseKind))
        raise ValueError(f'"{text}": no phase "{phase}"{hint}')
    return cast("PhaseKind", phase)


def quantities_of(node: str, *, is_switch: bool | None = None) -> Mapping[str, Quantity]:
    """What is read at a node of that name. Names of switches are known to the study alone; a host
    and a switch have no metric in common, so that both are given where nothing is said."""
    if node == LINK:
        return LINK_METRICS
    if node == MACHINE:
        return MACHINE_METRICS
    if is_switch or node == SWITCH:
        return SWITCH_METRICS
    return HOST_METRICS if is_switch is False else {**HOST_METRICS, **SWITCH_METRICS}


def _known_in(scope: Scope | None) -> Mapping[str, object]:
    return WORKLOAD_METRICS if scope is None else quantities_of(scope.node)


def _unknown(text: str, scope: Scope | None, name: str) -> str:
    if scope is None and _parted(name, HOST_METRICS)[0]:
        return f'"{text}" is measured at a host; name it, as in server.{name}'
    if scope is None and _parted(name, SWITCH_METRICS)[0]:
        return f'"{text}" is measured at a switch; name its port, as in switch@server.{name}'
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
        return {"type": "string", "pattern": r"^([A-Za-z][\w.@-]*\.)?\w+( in [a-z-]+)?$"}


Measured = Annotated[str, Typed(Metric(), refs=False)]
"""The name of a metric."""
