"""Candidates for the limit of throughput: resources and other bounds, with their shares.

A resource with utilisation U bounds throughput X at X / U (the utilisation law; Denning and Buzen,
The Operational Analysis of Queueing Network Models, 1978): U is the share of its bound that
throughput reaches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from netstudy.analysis.intervals import Interval
from netstudy.analysis.metrics import Metric
from netstudy.study.vocabulary import MetricName

LimitKind = Literal[
    "link",
    "port",
    "packet_rate",
    "cpu",
    "disk",
    "bus",
    "slots",
    "window",
    "send_buffer",
    "congestion_window",
    "timeouts",
    "delayed_ack",
    "round_trip",
    "think_time",
    "wait",
    "generator",
    "machine",
    "resource",
    "none",
]
"""`link`: a wire in one direction. `port`: the buffer of a switch. `slots`: threads, a pool of
connections, slots of a database. `window`: the receive window of the peer. `wait`: a wait inside
the application that uses no resource. `generator`: the host of the load, where the load is no part
of the system under test. `machine`: the machine below all hosts. `resource`: a candidate that only
the study knows. `none`: nothing, because all of the load is served."""

State = Literal[
    "limit",
    "reached",
    "may be reached",
    "not reached",
    "full, but not in proportion",
    "full of waits",
    "bounds one client",
    "limit not known",
    "not measured",
]
"""`limit`: throughput reaches this bound, and no bound is lower; several in this state bound it
together. `reached`: throughput reaches this bound, but another one is lower. `full, but not in
proportion`: it is as full at a level with another throughput. `full of waits`: it is held by work
that waits for another resource, which is full too. `bounds one client`: its number grows with the
load."""

NO_BOUND: Final[tuple[State, ...]] = (
    "full, but not in proportion",
    "full of waits",
    "bounds one client",
)
"""States of candidates whose bound is none."""

Key = tuple[LimitKind, str, str]
"""Kind, node, and the neighbour or part of the node."""


@dataclass(frozen=True)
class Resource:
    """Something with a capacity, in the network of a run or of a publication."""

    kind: LimitKind
    node: str
    """A group of hosts, a switch, or the machine."""
    name: str
    """In a sentence, after "the"."""
    reads: tuple[tuple[str | None, tuple[MetricName, ...]], ...] = ()
    """For each host or link: its name (None if there is only one), and the metrics that tell how
    much of it is in use; the first one with a value counts. Empty: nothing counts it."""
    part: str = ""
    """The neighbour of a link or an interface; the part of a host."""
    limit: float | None = None
    """In the unit of the metric; None: 100 of a percentage, or the line rate."""
    is_unknown: bool = False
    """True if the study says that nobody knows the limit of the resource."""
    comes_with_load: bool = False
    """True if each further client has such a resource of its own. A full one then bounds this
    client, and not the total throughput."""
    waits_for: frozenset[Key] = frozenset()
    """The resources that its holders wait for while they hold it."""
    is_cpus: bool = False
    """True if the resource is the CPUs of a host, which then has a server for each CPU."""
    servers: float = 1.0
    """How many of it each host has, which work at the same time."""

    @property
    def key(self) -> Key:
        """Identifies it in all cells of a study."""
        return self.kind, self.node, self.part


@dataclass(frozen=True)
class Candidate:
    """A resource or another bound, as measured in one cell."""

    resource: Resource
    state: State = "not measured"
    metric: Metric | None = None
    """The metric that was read; with several hosts or links, at the one nearest to its limit."""
    where: str | None = None
    """The host or link with this value, if there are several."""
    value: float | None = None
    """In the metric's unit."""
    limit: float | None = None
    """In the same unit."""
    share_pct: float | None = None
    """The share of its bound that throughput reaches, in percent; None: not known."""
    interval: Interval | None = None
    """The 95 % interval of that share."""
    servers: float = 1.0
    """How many of it each host has, which work at the same time: CPUs, slots."""
    mean_pct: float | None = None
    """The share that is in use, in the mean over its servers; None: the same as `share_pct`."""
    at_most_pct: float | None = None
    """Upper bound of the share, where the value itself is not known."""
    others_pct: float | None = None
    """The part of the share that other programs of the host may have taken, where without it the
    bound would not be reached."""
    bound: float | None = None
    """The highest throughput that it allows, in the unit of throughput."""
    note: str = ""
    """A remark: why there is no measurement, or how to read the value."""

    @property
    def name(self) -> str:
        """The name of the resource."""
        return self.resource.name

    @property
    def is_measured(self) -> bool:
        """True if the share of the bound is known."""
        return self.share_pct is not None

    @property
    def is_reached(self) -> bool:
        """True if throughput reaches the bound of this candidate, whatever the other bounds are."""
        return self.state in _REACHED


_REACHED: Final = ("limit", "reached", "full, but not in proportion", "full of waits")


def fullest_first(one: Candidate) -> tuple[int, float]:
    """Order of candidates: by their share, then by its upper bound; unmeasured ones last."""
    if one.share_pct is not None:
        return 0, -one.share_pct
    return (1, -one.at_most_pct) if one.at_most_pct is not None else (2, 0.0)
