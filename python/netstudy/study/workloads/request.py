"""Request and response: netperf's TCP_RR and TCP_CRR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from netstudy.documents.fields import (
    Count,
    Count0,
    Interval,
    Pause,
    PositiveSize,
)
from netstudy.documents.problems import Path, Problem
from netstudy.study.places import Place, PlaceValue
from netstudy.study.workloads.base import (
    LOSSES_PER_RUN,
    STATISTICS,
    MetricWords,
    Spec,
    Surroundings,
    WorkloadMetric,
)


class Request(Spec):
    """Each pair of client and server exchanges requests and responses."""

    words: ClassVar[MetricWords] = MetricWords(
        metrics={
            "requests_per_s": WorkloadMetric("answered requests, as a rate"),
            "latency_us": WorkloadMetric(
                "time from when a request was due to its answer", STATISTICS, samples="histogram"
            ),
            "unanswered_pct": WorkloadMetric("share of requests without an answer"),
            **LOSSES_PER_RUN,
        },
        figures={
            "requests": "requests a second",
            "latency": "mean latency",
            "latency_p50": "median latency",
            "latency_p90": "90th percentile of the latency",
            "latency_p99": "99th percentile of the latency",
            "latency_p999": "99.9th percentile of the latency",
            "latency_max": "largest latency",
            "unanswered": "share of requests without an answer",
            "drops": "dropped packets in a run",
            "retransmissions": "retransmissions in a run",
            "timeouts": "timeouts in a run",
        },
    )
    counted: ClassVar[str] = "requests"
    timed: ClassVar[bool] = True

    clients: PlaceValue = Place("client")
    """The hosts that ask."""
    servers: PlaceValue = Place("server")
    """The hosts that answer. The first client asks the first server, the second client the second
    server, and so on; the smaller group is used again in turn."""
    request: PositiveSize = 64
    """Size of a request."""
    response: PositiveSize = 64
    """Size of a response."""
    writes: Count = 1
    """Number of writes in which the server hands a response to its connection, in parts as equal as
    possible. More: with `tcp: {nodelay: false}` at the server, a short last part may wait for a
    delayed acknowledgment."""
    connections: Count = 1
    """Connections of each pair."""
    outstanding: Count = 1
    """Number of requests on a connection that may wait for responses at the same time."""
    think: Pause = 0
    """Time between a response and the next request."""
    every: Interval | None = None
    """Makes an open loop: the interval between requests on each connection, whether or not they are
    answered. By default, the loop is closed: the next request waits for a response, so that slow
    responses reduce the load and are partly hidden."""
    requests: Count | None = None
    """Number of measured requests of each connection; by default, `procedure.measure` gives the
    duration."""
    warmup: Count0 | None = None
    """Number of warm-up requests of each connection, which are not measured."""

    @property
    def loads(self) -> tuple[object, ...]:
        """The connections of each pair, and the requests under way on each connection."""
        return (self.connections, self.outstanding)

    @property
    def places(self) -> Mapping[str, Place]:
        """The clients and the servers."""
        return {"clients": self.clients, "servers": self.servers}

    def problems(self, study: Surroundings, path: Path) -> Iterator[Problem]:
        """Hosts that do not exist, requests without an end, and settings without effect."""
        yield from super().problems(study, path)
        problem = study.document.problem
        if self.requests is None and study.procedure.measure is None:
            message = (
                "needs requests (their number) or procedure.measure (how long they are measured)"
            )
            yield problem(path, message, of_key=True)
        if self.every is not None:
            for key in sorted({"think", "outstanding"} & self.model_fields_set):
                message = "is for a closed loop; with every, requests do not wait for responses"
                yield problem((*path, key), message)
