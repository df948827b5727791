"""The settings of a run: its layout, agents, CPU pinning, quotas and time limits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from netstudy import wire
from netstudy.testbed.netns.layout import Layout
from netstudy.testbed.real.agent_specs import AgentSpec, AgentSpecs, agent_specs
from netstudy.testbed.real.progress import TimeLimits

SILENCE_S = 20.0
"""The kernel repeats what is lost after 0.2 s, 0.4 s, …: seven losses in a row do not happen."""


@dataclass(frozen=True)
class CpuPinning:
    """The CPUs of a run's processes: all hosts share one, so that frames stay in order, and the
    switch has another, so that its clock does not wait for them. None: not pinned."""

    hosts: int | None
    switch: int | None


def cpu_pinning(allowed: Iterable[int]) -> CpuPinning:
    """Pins to the first two of the allowed CPUs; a single one is not pinned to."""
    first, *rest = sorted(allowed)
    return CpuPinning(first, rest[0]) if rest else CpuPinning(None, None)


@dataclass(frozen=True)
class Setting:
    """A run and everything that its processes are started with."""

    run: wire.Run
    layout: Layout
    engine: Path
    pinning: CpuPinning
    silence_s: float = SILENCE_S
    """Longest silence of a server, beyond the delays that the study asks for."""

    @cached_property
    def specs(self) -> AgentSpecs:
        """The run's agents and connections."""
        pairs = self.run.workload.connected
        named = ((self.layout.routes.reached(*pair) or pair) for pair in pairs)
        specs = agent_specs(named, probed=self.run.probe is not None)
        return replace(specs, observers=tuple(self._observers(specs)))

    def _observers(self, specs: AgentSpecs) -> Iterator[AgentSpec]:
        """An observer for each interface of a host that no other agent reads: without traffic, or
        with traffic of zones that read virtual interfaces of their own."""
        used = (self.layout.address(spec.endpoint) for spec in specs.all)
        read = {(one.stack, one.interface.port) for one in used}
        for host in self.layout.hosts:
            for one in host.interfaces:
                if (one.host, one.port) not in read:
                    several = len(host.interfaces) > 1
                    name = f"{host.node}@{one.port}" if several else host.node
                    yield AgentSpec(name, "observer")

    @cached_property
    def time_limits(self) -> TimeLimits:
        """Time limits of the run and of silences in it."""
        return TimeLimits(self.run, self.silence_s)

    @property
    def quotas(self) -> dict[str, float]:
        """Host -> percent of one CPU for all its processes, zones included."""
        shares = {host.machine: host.group.cpu_quota_pct for host in self.layout.hosts}
        return {node: share for node, share in shares.items() if share is not None}

    @property
    def cpus(self) -> dict[str, float]:
        """Host or zone -> number of CPUs that its processes may use, by pinning and quota."""
        pinned = 1 if self.pinning.hosts is not None else len(os.sched_getaffinity(0))
        shares = {host.node: self.quotas.get(host.machine) for host in self.layout.hosts}
        return {
            node: pinned if share is None else min(pinned, share / 100)
            for node, share in shares.items()
        }

    def process_name(self, spec: AgentSpec) -> str:
        """An agent's name in records and errors: its endpoint, with its role where another agent
        has the same endpoint."""
        twins = [one for one in self.specs.all if one.endpoint == spec.endpoint]
        return spec.endpoint if len(twins) == 1 else f"{spec.endpoint} ({spec.role})"
