"""Incast: one client asks several servers at once and waits for all answers before the next
request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from netstudy import wire
from netstudy.documents.fields import (
    Count,
    Count0,
    Ref,
    Size,
    Switched,
    Typed,
)
from netstudy.knobs import knobs
from netstudy.study.jitter import Delay, Jitter, JitterOrNone
from netstudy.study.places import Place, PlaceValue
from netstudy.study.workloads.base import STATISTICS, MetricWords, Spec, WorkloadMetric

RequestSize = Annotated[int | Ref, Typed(knobs(wire.Incast)["request"].scalar)]
"""bytes."""


class Incast(Spec):
    """One client asks all servers at once for a block, waits for all of it, and repeats."""

    words: ClassVar[MetricWords] = MetricWords(
        metrics={
            "completion_ms": WorkloadMetric(
                "time from the first request to the last byte of one iteration",
                STATISTICS,
                samples="each",
            ),
            "goodput_mbps": WorkloadMetric("application bytes received, as a rate"),
            "drops_per_iteration": WorkloadMetric("frames that the switch dropped"),
            "retransmissions_per_iteration": WorkloadMetric("segments sent again"),
            "timeouts_per_iteration": WorkloadMetric("retransmission timers that fired"),
            "timeout_iterations_pct": WorkloadMetric(
                "share of iterations with at least one timeout"
            ),
            "fairness_index": WorkloadMetric(
                "equality of the goodputs of the connections (Jain's index)"
            ),
        },
        figures={
            "completion": "mean completion time",
            "completion_p50": "median completion time",
            "completion_p99": "99th percentile of the completion time",
            "goodput": "goodput",
            "drops": "dropped packets an iteration",
            "retransmissions": "retransmissions an iteration",
            "timeouts": "timeouts an iteration",
            "timeout_iterations": "share of iterations with a timeout",
            "fairness": "fairness index of the connections",
        },
    )
    counted: ClassVar[str] = "iterations"
    timed: ClassVar[bool] = False
    one_client: ClassVar[bool] = True

    client: PlaceValue = Place("client")
    """The host that asks."""
    servers: PlaceValue = Place("server")
    """The hosts that answer."""
    block: Size
    """Size of the response of each server; if striped, the size of all responses together."""
    striped: Switched = False
    """Whether the block is divided over the servers."""
    iterations: Count
    """Number of iterations that are measured."""
    warmup: Count0 = 0
    """Number of warm-up iterations, which are not measured. Use at least 10: congestion windows
    carry over from one iteration to the next."""
    request: RequestSize = 64
    """Size of the request to a server."""
    spacing: Delay = 0
    """Time between the request to one server and the request to the next."""
    jitter: JitterOrNone = Jitter(none=True)
    """Delay between the arrival of a request at a server and the first byte of the response."""

    @property
    def places(self) -> Mapping[str, Place]:
        """The client and the servers."""
        return {"client": self.client, "servers": self.servers}
