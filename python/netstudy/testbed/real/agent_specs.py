"""The agents of a run on real hosts, and the connections between them.

An agent is a process for one endpoint of a role: a host, a zone, or one interface of a host. An
endpoint that is both client and server has two agents. An interface without traffic has an
observer: an agent that only reads its counters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from netstudy.wire import Role

AgentRole = Literal["client", "server", "observer"]


@dataclass(frozen=True)
class Connection:
    """A connection of the workload or of the probe."""

    client: str
    """The endpoint that opens the connection, by its name in the workload's roles."""
    server: str
    """The endpoint that listens."""
    is_probe: bool = False

    def node(self, role: Role) -> str:
        """The host or zone at one end of the connection."""
        return (self.client if role == "client" else self.server).partition("@")[0]


@dataclass(frozen=True)
class AgentSpec:
    """One agent and its connections. The connections are given as rows of `AgentSpecs.connections`;
    the agent itself numbers its connections from 0."""

    endpoint: str
    role: AgentRole
    own: tuple[int, ...] = ()
    """Rows of the workload's connections."""
    probes: tuple[int, ...] = ()
    """Rows of the probe's connections; the agent numbers them after the workload's connections."""

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows of all connections of the agent, in the order in which the agent numbers
        them."""
        return (*self.own, *self.probes)

    @property
    def node(self) -> str:
        """The host or zone."""
        return self.endpoint.partition("@")[0]


@dataclass(frozen=True)
class AgentSpecs:
    """All agents and connections of a run."""

    connections: tuple[Connection, ...]
    """The workload's connections in the order of the plan, then the probe's."""
    clients: tuple[AgentSpec, ...]
    servers: tuple[AgentSpec, ...]
    observers: tuple[AgentSpec, ...] = ()

    @property
    def all(self) -> tuple[AgentSpec, ...]:
        """The clients, then the servers, then the observers."""
        return (*self.clients, *self.servers, *self.observers)

    @property
    def workload(self) -> range:
        """The rows of the workload's connections."""
        return range(sum(not one.is_probe for one in self.connections))

    def end(self, row: int, role: Role) -> tuple[AgentSpec, int]:
        """The agent at one end of a connection, and the number that this agent gives the
        connection."""
        specs = self.clients if role == "client" else self.servers
        spec = next(spec for spec in specs if row in spec.rows)
        return spec, spec.rows.index(row)


def agent_specs(pairs: Iterable[tuple[str, str]], *, probed: bool) -> AgentSpecs:
    """The agents for the workload's connections, which are given as pairs (client, server). With
    `probed`, each different pair also gets a connection for the probe."""
    own = [Connection(client, server) for client, server in pairs]
    talking = dict.fromkeys((one.client, one.server) for one in own)
    probes = [Connection(*pair, is_probe=True) for pair in talking] if probed else []
    connections = (*own, *probes)
    return AgentSpecs(
        connections,
        clients=tuple(_specs("client", connections)),
        servers=tuple(_specs("server", connections)),
    )


def _specs(role: Role, connections: tuple[Connection, ...]) -> Iterable[AgentSpec]:
    for endpoint in dict.fromkeys(getattr(one, role) for one in connections):
        rows = [row for row, one in enumerate(connections) if getattr(one, role) == endpoint]
        yield AgentSpec(
            endpoint,
            role,
            own=tuple(row for row in rows if not connections[row].is_probe),
            probes=tuple(row for row in rows if connections[row].is_probe),
        )
