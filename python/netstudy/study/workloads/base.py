"""The interface that each kind of workload offers to the rest of a study."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, Protocol

from netstudy.documents.fields import Ref
from netstudy.documents.problems import Path, Problem
from netstudy.documents.source import Document
from netstudy.documents.validation import Model
from netstudy.study.places import Place
from netstudy.study.procedure import Procedure
from netstudy.study.topology import Topology
from netstudy.wire import Level

STATISTICS: Final = ("mean", "p50", "p90", "p95", "p99", "p999", "min", "max")
"""Statistics that may end the name of a metric with many samples in a run."""


SamplesKept = Literal["each", "histogram"]


@dataclass(frozen=True)
class WorkloadMetric:
    """A metric of a workload, its probe or its TCP sampler."""

    text: str
    statistics: tuple[str, ...] = ()
    """Statistics with which the metric's name may end; the mean is always allowed."""
    samples: SamplesKept | None = None
    """How records keep the samples, from which the distribution is computed; None: records keep no
    samples."""
    by_second: bool = False
    """Whether records have the metric for each second, so that a time series can be drawn."""


@dataclass(frozen=True)
class MetricWords:
    """The metrics and the standard figures of one source: a workload, the probe or the TCP
    sampler."""

    metrics: Mapping[str, WorkloadMetric]
    """Name without a statistic -> metric."""
    figures: Mapping[str, str]
    """Name -> description of the figure, in the order of the metrics."""


LOSSES_PER_RUN: Final[Mapping[str, WorkloadMetric]] = {
    "drops_per_run": WorkloadMetric("frames that switches dropped"),
    "retransmissions_per_run": WorkloadMetric("segments sent again"),
    "timeouts_per_run": WorkloadMetric("retransmission timers that fired"),
}
"""Metrics about losses in a whole run."""


class Surroundings(Protocol):
    """The parts of a study that the checks of its workload use."""

    @property
    def document(self) -> Document:
        """The study's file."""

    @property
    def topology(self) -> Topology:
        """The study's hosts, links and switches."""

    @property
    def procedure(self) -> Procedure:
        """The phases of the study's runs."""

    @property
    def was_carried_out(self) -> bool:
        """Whether the study comes from a results folder."""

    def levels_at(self, path: Path, value: Level | Ref | None) -> Iterator[tuple[Path, Level]]:
        """The values that a reference has at any level, each with the place that gives the
        value."""


class Spec(Model):
    """A workload as a study writes it."""

    words: ClassVar[MetricWords]
    """The workload's metrics, and the figures that show them."""
    counted: ClassVar[str | None] = None
    """The key for the number of measured iterations, transfers or requests; None: there is no such
    key."""
    timed: ClassVar[bool]
    """Whether warm-up and measuring phase may have a fixed duration."""
    spreads: ClassVar[bool] = False
    """Whether `procedure.start` can spread the starts of its flows."""
    one_client: ClassVar[bool] = False
    """Whether the workload has a single client."""
    has_application: ClassVar[bool] = False
    """Whether the workload has an application, with data that are loaded and reset."""

    @property
    def places(self) -> Mapping[str, Place]:
        """Key of the workload -> the hosts that this key gives."""
        return {}

    @property
    def applications(self) -> Mapping[str, str | Ref | None]:
        """Key of the workload -> the application profile that this key gives."""
        return {}

    @property
    def own_costs(self) -> Collection[str]:
        """Names of the costs that the study gives itself, in place of the application's
        profile."""
        return ()

    @property
    def starts(self) -> tuple[str, ...]:
        """The program, given in the study, that real testbeds start in each run, with its
        arguments; empty: none."""
        return ()

    @property
    def loads(self) -> tuple[object, ...]:
        """The settings of the load per host, such as a number of users; empty: the load depends
        only on the number of hosts."""
        return ()

    @property
    def sample_bytes(self) -> int | None:
        """Payload of one sample. All references must have been resolved. None: samples have no
        fixed size."""
        return None

    def problems(self, study: Surroundings, path: Path) -> Iterator[Problem]:
        """Problems of the workload in this study; `path` is the workload's place in the file."""
        for key, place in self.places.items():
            if wrong := study.topology.no_place(place):
                yield study.document.problem((*path, key), wrong)
        named: dict[Place, str] = {}
        for key, place in self.places.items():
            if (other := named.setdefault(place, key)) != key:
                message = f"is also the {other.rstrip('s')}; the two must be different places"
                yield study.document.problem((*path, key), message)
