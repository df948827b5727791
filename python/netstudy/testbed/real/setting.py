"""A run in its place: its agents, their names, and its time limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from netstudy import wire
from netstudy.plan.paths import Routes
from netstudy.testbed.real.agent_specs import AgentSpec, AgentSpecs, agent_specs
from netstudy.testbed.real.application import Served
from netstudy.testbed.real.place import Place
from netstudy.testbed.real.progress import TimeLimits
from netstudy.testbed.workloads import served_by

SILENCE_S = 20.0
"""How long a server may be silent, by default. The kernel retransmits after 0.2 s, 0.4 s, …, so a
longer silence would mean seven losses in a row, which do not happen."""


@dataclass(frozen=True)
class Setting:
    """A run, and everything that is needed to start its processes."""

    run: wire.Run
    place: Place
    silence_s: float = SILENCE_S
    """How long a server may be silent, in addition to the delays that the study asks for."""

    @cached_property
    def specs(self) -> AgentSpecs:
        """The run's agents and connections."""
        if self.served is not None:
            asking = dict.fromkeys(self.run.workload.roles.client)
            specs = AgentSpecs(
                (), clients=tuple(AgentSpec(one, "client") for one in asking), servers=()
            )
            return replace(specs, observers=tuple(self._observers(specs)))
        pairs = self.run.workload.connected
        named = ((self.routes.reached(*pair) or pair) for pair in pairs)
        specs = agent_specs(named, probed=self.run.probe is not None)
        return replace(specs, observers=tuple(self._observers(specs)))

    @cached_property
    def served(self) -> Served | None:
        """The application of the run and its hosts; None: only agents run."""
        return served_by(self.run)

    @cached_property
    def routes(self) -> Routes:
        """The paths through the network."""
        return Routes(self.run.network)

    def _observers(self, specs: AgentSpecs) -> Iterator[AgentSpec]:
        """An observer for each interface of a host that no other agent reads. Such an interface has
        no traffic, or only traffic of zones, whose agents read the zones' virtual interfaces."""
        used = (self.place.address(spec.endpoint) for spec in specs.all)
        read = {(one.stack, one.port) for one in used}
        hosts = [host for host, _ in self.place.interfaces]
        for host, port in self.place.interfaces:
            if (host, port) not in read:
                name = f"{host}@{port}" if hosts.count(host) > 1 else host
                yield AgentSpec(name, "observer")

    @cached_property
    def time_limits(self) -> TimeLimits:
        """Time limits for the run as a whole and for silences in it."""
        return TimeLimits(self.run, self.silence_s)

    def process_name(self, spec: AgentSpec) -> str:
        """An agent's name in records and errors: its endpoint, and its role if another agent has
        the same endpoint."""
        twins = [one for one in self.specs.all if one.endpoint == spec.endpoint]
        return spec.endpoint if len(twins) == 1 else f"{spec.endpoint} ({spec.role})"
