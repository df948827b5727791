"""Converts incast to the wire: see netstudy.study.workloads.incast."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy import wire
from netstudy.documents.problems import Path
from netstudy.plan.jitter import wire_jitter
from netstudy.plan.workloads.base import Context, Counts, Load, Lowering, Roles
from netstudy.study.references import concrete
from netstudy.study.topology import Topology
from netstudy.study.workloads.incast import Incast

_ITERATION_BYTES = 22
"""The most bytes of one iteration in a record: four numbers and their commas, rounded up."""


class IncastLowering(Lowering[Incast, wire.Incast]):
    """In each iteration, the client asks all servers for a block."""

    spec = Incast
    wired = wire.Incast
    unit = "iterations"

    def roles(self, spec: Incast, topology: Topology, path: Path) -> Roles:  # noqa: ARG002
        """One client, some servers."""
        return Roles(spec.client, spec.servers, (*path, "client"), (*path, "servers"))

    def lower(self, spec: Incast, roles: wire.Roles, context: Context) -> wire.Incast:
        """Refuses blocks that leave servers nothing to send."""
        block, striped = concrete(spec.block), concrete(spec.striped)
        servers = len(roles.server)
        if block < (servers if striped else 1):
            message = f"{block} bytes leave less than one byte for each of {servers} servers"
            context.refuse((*context.path, "block"), message)
        return wire.Incast(
            roles=roles,
            block_bytes=block,
            striped=striped,
            request_bytes=concrete(spec.request),
            request_spacing_ns=concrete(spec.spacing),
            start_jitter=wire_jitter(spec.jitter),
        )

    def counts(self, spec: Incast) -> Counts:
        """Numbers of iterations."""
        return Counts(concrete(spec.warmup), concrete(spec.iterations))

    def loads(self, work: wire.Incast) -> Iterator[Load]:
        """A block from each server, or the server's part of a striped block."""
        for (client, server), size_bytes in zip(work.connected, work.response_bytes, strict=True):
            yield Load(server, client, size_bytes)

    def sample_bytes(self, work: wire.Incast, count: float, seconds: float) -> float:  # noqa: ARG002
        """A row for each iteration."""
        return count * _ITERATION_BYTES
