"""Converts requests and responses to the wire: see netstudy.study.workloads.request."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy import wire
from netstudy.documents.problems import Path
from netstudy.plan.paths import Routes
from netstudy.plan.workloads.base import Context, Counts, Load, Lowering, Roles, pair_count
from netstudy.study.references import concrete
from netstudy.study.topology import Topology
from netstudy.study.workloads.request import Request

_BUCKET_BYTES = 18
"""Size of a histogram bucket in a record."""
_BUCKETS_MAX = 2_000
"""The most buckets that latencies over a few orders of magnitude fill."""


class RequestLowering(Lowering[Request, wire.Request]):
    """Requests of each connection."""

    spec = Request
    wired = wire.Request
    unit = "requests"

    def roles(self, spec: Request, topology: Topology, path: Path) -> Roles:  # noqa: ARG002
        """Clients and servers."""
        return Roles(spec.clients, spec.servers, (*path, "clients"), (*path, "servers"))

    def lower(
        self,
        spec: Request,
        roles: wire.Roles,
        context: Context,
    ) -> wire.Request:
        """Copies the study's values, which need no conversion."""
        writes, response_bytes = concrete(spec.writes), concrete(spec.response)
        if writes > response_bytes:
            message = f"a response of {response_bytes} bytes has no {writes} parts"
            context.refuse((*context.path, "writes"), message)
        return wire.Request(
            roles=roles,
            request_bytes=concrete(spec.request),
            response_bytes=response_bytes,
            writes=writes,
            connections=concrete(spec.connections),
            outstanding=concrete(spec.outstanding),
            think_ns=concrete(spec.think),
            every_ns=concrete(spec.every),
        )

    def counts(self, spec: Request) -> Counts:
        """The requests of each connection."""
        return Counts(concrete(spec.warmup), concrete(spec.requests))

    def connections(self, work: wire.Request) -> int:
        """The connections of all pairs."""
        return pair_count(work) * work.connections

    def think(self, work: wire.Request) -> tuple[str, int] | None:
        """Connections think between an answer and the next request."""
        return ("think", work.think_ns) if work.every_ns is None else None

    def loads(self, work: wire.Request) -> Iterator[Load]:
        """A request and a response of each connection."""
        for client, server in work.roles.pairs:
            yield Load(client, server, work.request_bytes, work.connections)
            yield Load(server, client, work.response_bytes, work.connections)

    def waiting_ns(self, work: wire.Request, routes: Routes) -> float:
        """In a closed loop, the round trip and the think time, divided by the number of requests in
        flight; in an open loop, the interval."""
        if work.every_ns is not None:
            return float(work.every_ns)
        trips = [
            routes.time_ns(client, server, work.request_bytes)
            + routes.time_ns(server, client, work.response_bytes)
            for client, server in work.roles.pairs
        ]
        return (max(trips) + work.think_ns) / work.outstanding

    def samples_per_count(self, work: wire.Request) -> int:
        """A request of each connection."""
        return self.connections(work)

    def sample_bytes(self, work: wire.Request, count: float, seconds: float) -> float:  # noqa: ARG002
        """A histogram for each pair."""
        return pair_count(work) * min(_BUCKETS_MAX, count * work.connections) * _BUCKET_BYTES
