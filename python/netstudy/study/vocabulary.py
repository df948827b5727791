"""The names that tables, figures, conclusions and variants of a study may use.

A metric of the workload is written `name`, such as `completion_ms_p99`. A metric that is read at a
host or a switch is written `node.name`, such as `app.cpu_pct`; at an interface or a port,
`node@towards.name`, such as `app@client.send_mbps` or `switch@server.port_in_mbps`. The name ends
in the unit and the statistic. If a phase other than the measuring phase is meant, ` in warm-up` or
the like follows. For a metric with samples, `completion_ms_above_150ms_pct` is the share above a
limit. The analysis computes the metrics; this module lists the names that a study may use, so that
a misspelt metric is found before anything runs.

The metrics of each workload are declared in the workload's file in `workloads`; this module makes a
table of all of them. Therefore, these files and what they import must not import this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, cast, get_args

from netstudy.documents.fields import Choice, Scalar, Text, Typed
from netstudy.documents.nearest import did_you_mean
from netstudy.documents.problems import listed
from netstudy.study.workloads import WORDS
from netstudy.study.workloads.base import STATISTICS, MetricWords, WorkloadMetric
from netstudy.units import quantity
from netstudy.wire import PhaseKind

TestbedName = Literal["sim", "netns", "netns-kernel", "hosts", "published", "measured"]
TESTBEDS: Final[tuple[TestbedName, ...]] = get_args(TestbedName)
"""The testbeds of this version, as written under `testbeds` in a study and after `--testbed`, where
the file of an inventory stands for `hosts`."""

SIMULATOR: Final = "sim"
"""The testbed in virtual time."""
HOSTS: Final = "hosts"
"""The testbed of the user's hosts, which an inventory lists."""
PUBLISHED: Final = "published"
"""The testbed of published runs: the values of a study's reference data."""
MEASURED: Final = "measured"
"""The testbed of runs whose files the user has already."""
NOTHING_RUNS: Final = frozenset({PUBLISHED, MEASURED})
"""The testbeds of runs that were measured elsewhere."""

WORKLOAD_METRICS: Final[Mapping[str, WorkloadMetric]] = {
    name: metric for words in WORDS.values() for name, metric in words.metrics.items()
}
"""Every metric that a workload, a probe or a TCP sampler measures."""


@dataclass(frozen=True)
class Quantity:
    """A quantity that is read at a node."""

    text: str
    at_port: bool = False
    """Whether it belongs to interfaces or ports, so that a metric can select one of them, as in
    `app@client`."""
    is_rate: bool = True
    """Whether samples of it form a time series, so that it has percentiles and extremes."""
    is_state: bool = False
    """Whether it is a level, such as the length of a queue, and not a counter: even its mean then
    needs samples."""


HOST_METRICS = {
    "network_mbps": Quantity("bits received and sent by the interfaces", at_port=True),
    "receive_mbps": Quantity("bits received by the interfaces", at_port=True),
    "send_mbps": Quantity("bits sent by the interfaces", at_port=True),
    "goodput_mbps": Quantity("application bytes received by this host, as a rate"),
    "packets_per_s": Quantity("packets received and sent", at_port=True),
    "receive_packets_per_s": Quantity("packets received", at_port=True),
    "send_packets_per_s": Quantity("packets sent", at_port=True),
    "packet_bytes_mean": Quantity(
        "bytes per packet, received and sent", at_port=True, is_rate=False
    ),
    "utilisation_pct": Quantity("share of the line rate, in the fuller direction", at_port=True),
    "receive_utilisation_pct": Quantity("share of the line rate, receiving", at_port=True),
    "send_utilisation_pct": Quantity("share of the line rate, sending", at_port=True),
    "segments_retransmitted": Quantity("TCP segments sent again", is_rate=False),
    "timeouts": Quantity("retransmission timers that fired", is_rate=False),
    "txdrop_per_s": Quantity("packets dropped before they were sent", at_port=True),
    "rxdrop_per_s": Quantity("packets dropped when they came in", at_port=True),
    "cpu_pct": Quantity("CPU time as a share of the CPU time that the host may use"),
    "busiest_cpu_pct": Quantity("busy share of the CPU that is busy for longest"),
    "cpu_ns_per_byte": Quantity(
        "CPU time per byte that the interfaces received or sent", is_rate=False
    ),
    "cycles_per_instruction": Quantity(
        "CPU cycles per instruction, if the machine counts them", is_rate=False
    ),
    "disk_mb_per_s": Quantity("bytes read and written"),
    "disk_busy_pct": Quantity("share of the time with a request under way"),
    "swap_pages_per_s": Quantity("pages swapped in and out"),
    "threads_busy_pct": Quantity("share of the application's threads that are in use"),
    "threads_waiting": Quantity("mean number of page elements that wait for a thread"),
    "pool_busy_pct": Quantity("share of the application's database connections that are in use"),
    "pool_waiting": Quantity("mean number of calls that wait for a connection to the database"),
    "database_slots_busy_pct": Quantity("share of the database's slots that are in use"),
    "database_slots_waiting": Quantity("mean number of requests that wait for a database's slot"),
    "memory_bus_busy_pct": Quantity("share of the time in which memory moved bytes"),
    "io_bus_busy_pct": Quantity("share of the time in which the I/O bus moved bytes"),
    "receiver_limited_pct": Quantity(
        "share of the sending time in which the receive window was the limit", is_rate=False
    ),
    "sender_limited_pct": Quantity(
        "share of the sending time in which the send buffer was the limit", is_rate=False
    ),
}

SWITCH_METRICS = {
    "port_mbps": Quantity("bits that left by the port", at_port=True),
    "port_out_mbps": Quantity("bits that left by the port, the same as port_mbps", at_port=True),
    "port_in_mbps": Quantity("bits that came in by the port", at_port=True),
    "port_out_packets_per_s": Quantity("frames that left by the port", at_port=True),
    "port_in_packets_per_s": Quantity("frames that came in by the port", at_port=True),
    "port_out_frame_bytes_mean": Quantity(
        "bytes per frame that left by the port", at_port=True, is_rate=False
    ),
    "port_in_frame_bytes_mean": Quantity(
        "bytes per frame that came in by the port", at_port=True, is_rate=False
    ),
    "port_in_short_frames_pct": Quantity(
        "share of frames of up to 127 bytes, such as acknowledgments, among incoming frames",
        at_port=True,
    ),
    "port_utilisation_pct": Quantity("share of the line rate, leaving", at_port=True),
    "port_in_utilisation_pct": Quantity("share of the line rate, coming in", at_port=True),
    "port_drops": Quantity("frames that the port dropped", at_port=True, is_rate=False),
    "port_marks": Quantity("frames that the port marked (ECN)", at_port=True, is_rate=False),
    "port_queue_bytes": Quantity(
        "bytes that wait in the port's queue, when a sampler reads it (ports in instruments)",
        at_port=True,
        is_state=True,
    ),
    "port_queue_bytes_max": Quantity(
        "the longest queue of the port, since the run began", at_port=True, is_rate=False
    ),
    "port_sojourn_ms": Quantity(
        "mean time in the port's queue, if it has a queue discipline", at_port=True, is_rate=False
    ),
    "port_sojourn_p50_ms": Quantity(
        "median time in the port's queue, if it has a queue discipline",
        at_port=True,
        is_rate=False,
    ),
    "port_sojourn_p99_ms": Quantity(
        "99th percentile of the time in the port's queue, if it has a queue discipline",
        at_port=True,
        is_rate=False,
    ),
    "port_departure_drops": Quantity(
        "frames that a queue discipline dropped when it took them out", at_port=True, is_rate=False
    ),
    "port_lost": Quantity(
        "frames that the port sent and its link lost", at_port=True, is_rate=False
    ),
}

LINK_METRICS = {
    "utilisation_pct": Quantity(
        "share of the line rate, of the fullest link and direction", is_rate=False
    ),
}

MACHINE_METRICS = {
    "cpu_pct": Quantity("busy share of all CPUs"),
    "busiest_cpu_pct": Quantity("busy share of the CPU that is busy for longest"),
    "softirq_pct": Quantity("share of all CPUs in soft interrupts, charged to no process"),
    "steal_pct": Quantity("share of all CPUs that the hypervisor gave to other machines"),
    "disk_mb_per_s": Quantity("bytes read and written"),
    "disk_busy_pct": Quantity("share of the time with a request under way"),
    "swap_pages_per_s": Quantity("pages swapped in and out"),
}

_MEASURING: ContextVar[Collection[str] | None] = ContextVar("measuring", default=None)
"""Kinds of workload and instruments in the study that is being read, as keys of `WORDS`; None: not
known."""


@dataclass(frozen=True)
class OfFiles:
    """The metrics of a study whose runs were measured elsewhere, other than workloads' metrics."""

    metrics: Mapping[str, WorkloadMetric]
    """Metrics of runs: of formats of files, and metrics that the study declares."""
    hosts: Mapping[str, Quantity]
    """Metrics of hosts."""


_OF_FILES: ContextVar[OfFiles | None] = ContextVar("of files", default=None)
"""The further metrics of the study that is being read; None: its runs are made."""


@contextmanager
def measuring(kinds: Collection[str] | None, files: OfFiles | None = None) -> Iterator[None]:
    """While the block runs, messages list only the metrics and figures that a study of these kinds
    can have, and the metrics of `files` are known. The kinds must be given in advance, since names
    are checked before the whole study has been read."""
    tokens = _MEASURING.set(kinds), _OF_FILES.set(files)
    try:
        yield
    finally:
        _MEASURING.reset(tokens[0])
        _OF_FILES.reset(tokens[1])


def metrics_in_study(names: Iterable[str]) -> list[str]:
    """The metrics among `names` that the study being read can have; all if its kinds are not
    known."""
    return _in_study(names, lambda words: words.metrics)


def figures_in_study(names: Iterable[str]) -> list[str]:
    """The standard figures among `names` that the study being read can have; all if its kinds are
    not known."""
    return _in_study(names, lambda words: words.figures)


def _in_study(names: Iterable[str], part: Callable[[MetricWords], Iterable[str]]) -> list[str]:
    kinds, files = _MEASURING.get(), _OF_FILES.get()
    if files is not None:
        return list(part(MetricWords(files.metrics, {})))
    if kinds is None:
        return list(names)
    known = set(names)
    own = dict.fromkeys(name for kind in kinds for name in part(WORDS[kind]))
    return [name for name in own if name in known]


SWITCH, LINK, MACHINE = "switch", "link", "machine"
"""Scopes other than host groups: the switch, all links, and the machine on which all hosts run."""

STANDARD_FIGURES: Final[Mapping[str, str]] = {
    name: text for words in WORDS.values() for name, text in words.figures.items()
}
"""Name -> description of each standard figure; all are drawn against the numeric factor of the
study."""

_METRIC = re.compile(
    r"(?:(?P<node>[A-Za-z][\w-]*(?:\.[\w-]+)?)(?:@(?P<towards>[A-Za-z][\w-]*))?\.)?"
    r"(?P<name>\w+)(?: in (?P<phase>[a-z-]+))?"
)
_STATISTIC = re.compile(rf"(?P<base>\w+)_(?P<statistic>{'|'.join(STATISTICS)})")


_LIMIT = re.compile(r"(?P<base>\w+?)_above_(?P<number>0|[1-9]\d*)(?P<unit>ns|us|ms|s)_pct")
_LIMIT_TRIED = re.compile(r"[\w.]+_(above|over|below|under)_[\w.]+")


@dataclass(frozen=True)
class Limit:
    """A time limit for samples, in the name of a metric."""

    number: int
    unit: str
    """ns, us, ms or s."""

    @property
    def ending(self) -> str:
        """The end of a metric's name, in place of a statistic, such as above_150ms_pct."""
        return f"above_{self.number}{self.unit}_pct"

    def in_unit(self, unit: str) -> float:
        """The limit in another unit of time."""
        own, wanted = quantity(f"1 {self.unit}"), quantity(f"1 {unit}")
        assert own is not None, "the pattern allows only units of time"
        assert wanted is not None, "a limit in time belongs to a metric in time"
        return self.number * float(own[1] / wanted[1])


def split_limit(name: str) -> tuple[str, Limit | None]:
    """The quantity and the limit in a name such as `completion_ms_above_150ms_pct`. Any other name
    is returned unchanged, with None."""
    match = _LIMIT.fullmatch(name)
    if match is None:
        return name, None
    return match["base"], Limit(int(match["number"]), match["unit"])


@dataclass(frozen=True)
class Scope:
    """Where a metric is measured."""

    node: str
    """A host group or one of its hosts, a zone, a switch, `link` or `machine`."""
    towards: str | None = None
    """The node that the interface or port leads to, or the interface's name; None: all of them."""

    def __str__(self) -> str:
        """The text in a study."""
        return self.node if self.towards is None else f"{self.node}@{self.towards}"


_TOTALS: Final = (
    "_per_run",
    "errors",
    "segments_retransmitted",
    "timeouts",
    "port_drops",
    "port_marks",
)
"""Endings of the names of totals."""


@dataclass(frozen=True)
class MetricName:
    """A metric's name, split into its parts."""

    scope: Scope | None
    """None: a metric of the workload itself."""
    base: str
    """The metric without its statistic."""
    statistic: str | None = None
    """None: the mean, or the total of a count."""
    limit: Limit | None = None
    """For a share of samples above a limit: this limit, which replaces the statistic."""
    named_phase: PhaseKind | None = None
    """The phase at the end of the name; None: the name has no phase."""

    def __str__(self) -> str:
        """The text in a study."""
        scope = "" if self.scope is None else f"{self.scope}."
        ending = self.statistic if self.limit is None else self.limit.ending
        phase = "" if self.named_phase is None else f" in {self.named_phase}"
        return f"{scope}{self.base}{'' if ending is None else f'_{ending}'}{phase}"

    @property
    def spellings(self) -> tuple[str, ...]:
        """All ways to write the name: a mean may be written with or without `_mean`."""
        if self.limit is not None or self.statistic not in (None, "mean"):
            return (str(self),)
        other = None if self.statistic else "mean"
        return str(self), str(replace(self, statistic=other))

    @property
    def phase(self) -> PhaseKind:
        """The phase in which the metric is measured."""
        return self.named_phase or "measure"

    @property
    def is_total(self) -> bool:
        """Whether it counts over a whole phase, so that it grows with the length of the phase."""
        return self.base.endswith(_TOTALS)

    @property
    def needs_samples(self) -> bool:
        """Whether computing the metric needs more than the counters at the boundaries of a
        phase."""
        if self.scope is None:
            return False
        return self.is_state or self.statistic not in (None, "mean")

    @property
    def is_state(self) -> bool:
        """Whether it is a level at a node, such as the length of a queue, and not a counter."""
        known = {} if self.scope is None else quantities_of(self.scope.node)
        return self.base in known and known[self.base].is_state


def split_metric(text: str) -> MetricName:
    """Split a metric's name into its parts. Raises ValueError for a metric that does not exist.

    Whether the study has this host, switch or sampler is checked later (`checks.metrics`).
    """
    base, limit = split_limit(text)
    if limit is not None and base in WORKLOAD_METRICS:
        return MetricName(None, base, limit=limit)
    match = _METRIC.fullmatch(text)
    if _LIMIT_TRIED.fullmatch(text) and (match is None or match["name"] not in WORKLOAD_METRICS):
        raise ValueError(_not_a_share(text, base, limit))
    if match is None:
        raise ValueError(f'"{text}" is not the name of a metric, such as completion_ms_mean')
    scope = None if match["node"] is None else Scope(match["node"], match["towards"])
    known = _known_in(scope)
    known_base, statistic = _parted(match["name"], known)
    if known_base is None:
        raise ValueError(_unknown(text, scope, match["name"]))
    phase = _phase(text, match["phase"], scope)
    found = MetricName(scope, known_base, statistic, named_phase=phase)
    if scope is not None:
        _check_quantity(found, scope)
    return found


def _not_a_share(text: str, base: str, limit: Limit | None) -> str:
    form = "such as completion_ms_above_150ms_pct, with a whole number of ns, us, ms or s"
    if limit is None:
        return f'"{text}" is not a share of samples above a limit, {form}'
    sampled = metrics_in_study(SAMPLED) or SAMPLED
    hint = did_you_mean(base, sampled)
    have = f"only {listed(sampled)} have"
    return f'"{text}": "{base}" has no samples to count above a limit{hint}; {have}'


def _parted(name: str, known: Iterable[str]) -> tuple[str | None, str | None]:
    """A metric and its statistic; None for an unknown metric."""
    if name in known:
        return name, None
    match = _STATISTIC.fullmatch(name)
    if match and match["base"] in known:
        return match["base"], match["statistic"]
    return None, None


def _check_quantity(found: MetricName, scope: Scope) -> None:
    quantity = quantities_of(scope.node)[found.base]
    if scope.towards is not None and not quantity.at_port:
        raise ValueError(f'"{found}" is not counted by interface; write {scope.node}.{found.base}')
    if found.needs_samples and not quantity.is_rate:
        raise ValueError(
            f'"{found}": {found.base} is a single number per phase and has no {found.statistic}'
        )


def _phase(text: str, phase: str | None, scope: Scope | None) -> PhaseKind | None:
    if phase is None:
        return None
    if scope is None:
        raise ValueError(f'"{text}": a workload measures only in the measuring phase')
    if phase not in get_args(PhaseKind):
        hint = did_you_mean(phase, get_args(PhaseKind))
        raise ValueError(f'"{text}": no phase "{phase}"{hint}')
    return cast("PhaseKind", phase)


def quantities_of(node: str, *, is_switch: bool | None = None) -> Mapping[str, Quantity]:
    """The quantities that are read at a node with this name. Only the study knows which names are
    switches. If `is_switch` is None, the quantities of hosts and of switches are returned; no name
    is in both."""
    if node == LINK:
        return LINK_METRICS
    if node == MACHINE:
        return MACHINE_METRICS
    if is_switch or node == SWITCH:
        return SWITCH_METRICS
    files = _OF_FILES.get()
    of_hosts = HOST_METRICS if files is None else {**files.hosts, **HOST_METRICS}
    return of_hosts if is_switch is False else {**of_hosts, **SWITCH_METRICS}


_AT_A_LINE: Final = {
    "send_mbps": "out",
    "receive_mbps": "in",
    "port_mbps": "out",
    "port_out_mbps": "out",
    "port_in_mbps": "in",
}
"""Rates of a link in one direction -> this direction, seen from the node."""


def line_direction(metric: MetricName) -> Literal["out", "in"] | None:
    """The direction of a rate on a link, seen from the node; None: the metric is not a rate in one
    direction."""
    return cast("Literal['out', 'in'] | None", _AT_A_LINE.get(metric.base))


def is_line_rate(metric: MetricName) -> bool:
    """Whether the line rate of a link is the upper bound of a metric."""
    return line_direction(metric) is not None


def measured_by(base: str) -> tuple[str, ...]:
    """The sources of a metric that does not belong to a node: kinds of workloads, `probe`,
    `tcp`."""
    return tuple(name for name, words in WORDS.items() if base in words.metrics)


def _known_in(scope: Scope | None) -> Mapping[str, object]:
    files = _OF_FILES.get()
    if scope is None:
        return WORKLOAD_METRICS if files is None else {**WORKLOAD_METRICS, **files.metrics}
    return quantities_of(scope.node)


_LISTED = 24
"""The most metrics that a message lists: enough for all metrics of a workload."""


def _unknown(text: str, scope: Scope | None, name: str) -> str:
    if scope is None and _parted(name, HOST_METRICS)[0]:
        return f'"{text}" is measured at a host; name the host, as in server.{name}'
    if scope is None and _parted(name, SWITCH_METRICS)[0]:
        return f'"{text}" is measured at a switch; name its port, as in switch@server.{name}'
    if name in STATISTICS:
        return (
            f'"{text}" is a statistic; write it at the end of a metric, as in completion_ms_{name}'
        )
    known = metrics_in_study(WORKLOAD_METRICS) if scope is None else list(_known_in(scope))
    hint = did_you_mean(name, known, limit=_LISTED)
    return f'"{text}" is an unknown metric{hint}'


WORKLOADS_OWN: Final[Mapping[str, WorkloadMetric]] = {
    base: metric
    for kind, words in WORDS.items()
    if kind not in ("probe", "tcp")
    for base, metric in words.metrics.items()
}
"""Metrics of the workloads; metrics of probes and samplers are not included."""


def sampled_metrics() -> Mapping[str, WorkloadMetric]:
    """The metrics that the study being read can have and whose samples are kept."""
    files = _OF_FILES.get()
    own = WORKLOADS_OWN if files is None else files.metrics
    return {base: metric for base, metric in own.items() if metric.samples}


SAMPLED: Final = tuple(name for name, one in WORKLOAD_METRICS.items() if one.samples)
"""The metrics with samples; for these, a study can ask for the share of samples above a limit."""

_UNITS: Final = {
    "ns": "ns", "us": "us", "ms": "ms", "s": "s", "bps": "bit/s", "mbps": "Mbit/s", "pct": "%",
    "bytes": "B",
}  # fmt: skip
"""Suffix of a metric's name -> the metric's unit, as studies write it."""


def in_unit_of(metric: MetricName, number: str, unit: str) -> str:
    """Convert a number with a unit to the metric's unit. Raises ValueError if the metric has
    another kind of unit, or none."""
    given = f"{number} {unit}"
    own = _UNITS.get("pct" if metric.limit else metric.base.rpartition("_")[2])
    if own is None:
        raise ValueError(f'"{given}": {metric} has no unit; write only {number}')
    wanted, found = quantity(f"1 {own}"), quantity(given)
    assert wanted is not None, "units of metrics are known"
    if found is None or found[0] != wanted[0]:
        raise ValueError(f'"{given}": {metric} is in {own}')
    return f"{float(found[1] / wanted[1]):.12f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Metric(Scalar):
    """The name of a metric."""

    def parse(self, value: object) -> MetricName:
        """Read the name of a metric that exists."""
        return split_metric(Text().parse(value))

    def json_schema(self) -> dict[str, Any]:
        """A string with the pattern of a metric's name."""
        return {"type": "string", "pattern": r"^([A-Za-z][\w.@-]*\.)?\w+( in [a-z-]+)?$"}

    @property
    def definition(self) -> str:
        """The definition's name."""
        return "Metric"


class StandardFigure(Choice):
    """The name of a standard figure."""

    def listed(self) -> Sequence[str]:
        """The figures that the study being read can have."""
        return figures_in_study(self.options)


Measured = Annotated[MetricName, Typed(Metric(), refs=False)]
"""The name of a metric, split into its parts when the file is read."""
