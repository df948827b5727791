"""Who plays which part in a run: agents, and the connections between them.

An agent is one process for each endpoint of a role: a host, a zone, or one interface of a host. One
that is client and server has two. Where a host or one of its interfaces has no part in the traffic,
an observer reads its counters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from netstudy.wire import Role

PartRole = Literal["client", "server", "observer"]


@dataclass(frozen=True)
class Connection:
    """A connection of the workload or of the probe."""

    client: str
    """The endpoint that opens it, as roles name it."""
    server: str
    """The endpoint that listens."""
    is_probe: bool = False

    def node(self, role: Role) -> str:
        """The host or zone at an end."""
        return (self.client if role == "client" else self.server).partition("@")[0]


@dataclass(frozen=True)
class Part:
    """An agent, and its connections as rows of the cast: an agent numbers its own from 0."""

    endpoint: str
    role: PartRole
    own: tuple[int, ...] = ()
    """The workload's."""
    probes: tuple[int, ...] = ()
    """The probe's, which an agent numbers behind the others."""

    @property
    def rows(self) -> tuple[int, ...]:
        """All of them, in the order of their numbers."""
        return (*self.own, *self.probes)

    @property
    def node(self) -> str:
        """The host or zone."""
        return self.endpoint.partition("@")[0]


@dataclass(frozen=True)
class Cast:
    """All parts of a run."""

    connections: tuple[Connection, ...]
    """Those of the workload in the order of the plan, then those of the probe."""
    clients: tuple[Part, ...]
    servers: tuple[Part, ...]
    observers: tuple[Part, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """The clients, then the servers, then the observers."""
        return (*self.clients, *self.servers, *self.observers)

    @property
    def workload(self) -> range:
        """The rows of the workload's connections."""
        return range(sum(not one.is_probe for one in self.connections))

    def end(self, row: int, role: Role) -> tuple[Part, int]:
        """The part at an end of a connection, and the connection's number there."""
        parts = self.clients if role == "client" else self.servers
        part = next(part for part in parts if row in part.rows)
        return part, part.rows.index(row)


def cast_of(pairs: Iterable[tuple[str, str]], *, probed: bool) -> Cast:
    """The cast for the workload's connections, a client and a server each; with a probe, one more
    for each two that talk."""
    own = [Connection(client, server) for client, server in pairs]
    talking = dict.fromkeys((one.client, one.server) for one in own)
    probes = [Connection(*pair, is_probe=True) for pair in talking] if probed else []
    connections = (*own, *probes)
    return Cast(
        connections,
        clients=tuple(_parts("client", connections)),
        servers=tuple(_parts("server", connections)),
    )


def _parts(role: Role, connections: tuple[Connection, ...]) -> Iterable[Part]:
    for endpoint in dict.fromkeys(getattr(one, role) for one in connections):
        rows = [row for row, one in enumerate(connections) if getattr(one, role) == endpoint]
        yield Part(
            endpoint,
            role,
            own=tuple(row for row in rows if not connections[row].is_probe),
            probes=tuple(row for row in rows if connections[row].is_probe),
        )
