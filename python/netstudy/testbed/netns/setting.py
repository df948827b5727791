"""What the processes of a run are made with."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from netstudy import wire
from netstudy.testbed.netns.layout import Layout
from netstudy.testbed.real.cast import Cast, Part, cast_of
from netstudy.testbed.real.progress import TimeLimits

SILENCE_S = 20.0
"""The kernel repeats what is lost after 0.2 s, 0.4 s, …: seven losses in a row do not happen."""


@dataclass(frozen=True)
class Processors:
    """Where processes stay: all hosts on one, so that no frame overtakes another, and the switch on
    another one, so that its clock does not wait for them."""

    hosts: int | None
    switch: int | None


def processors(allowed: Iterable[int]) -> Processors:
    """The first two of those that may be used; with one only, nothing is pinned."""
    first, *rest = sorted(allowed)
    return Processors(first, rest[0]) if rest else Processors(None, None)


@dataclass(frozen=True)
class Setting:
    """What a run's processes are made with."""

    run: wire.Run
    layout: Layout
    engine: Path
    processors: Processors
    silence_s: float = SILENCE_S
    """How long nothing may come of any server, beside the delays that the study asks for."""

    @cached_property
    def cast(self) -> Cast:
        """Who plays which part."""
        pairs = self.run.workload.connected
        named = ((self.layout.routes.reached(*pair) or pair) for pair in pairs)
        cast = cast_of(named, probed=self.run.probe is not None)
        return replace(cast, observers=tuple(self._observers(cast)))

    def _observers(self, cast: Cast) -> Iterator[Part]:
        """One for each interface that no other part reads, and so for each host without a part."""
        used = (self.layout.address(part.endpoint).interface for part in cast.parts)
        read = {(one.host, one.port) for one in used}
        for host in self.layout.hosts:
            for one in host.interfaces:
                if (one.host, one.port) not in read:
                    several = len(host.interfaces) > 1
                    name = f"{host.node}@{one.port}" if several else host.node
                    yield Part(name, "observer")

    @cached_property
    def time_limits(self) -> TimeLimits:
        """Time limits of the run and of silences in it."""
        return TimeLimits(self.run, self.silence_s)

    @property
    def quotas(self) -> dict[str, float]:
        """Host -> percent of one processor for all its processes, those of its zones included."""
        shares = {host.node: host.group.cpu_quota_pct for host in self.layout.hosts}
        return {node: share for node, share in shares.items() if share is not None}

    @property
    def cpus(self) -> dict[str, float]:
        """Host -> processors that its processes may use: those that they are kept on, less where a
        quota limits them."""
        kept_on = 1 if self.processors.hosts is not None else len(os.sched_getaffinity(0))
        shares = {host.node: self.quotas.get(host.node) for host in self.layout.hosts}
        return {
            node: kept_on if share is None else min(kept_on, share / 100)
            for node, share in shares.items()
        }

    def process_name(self, part: Part) -> str:
        """How records and errors call an agent: by its endpoint, and by its part where another one
        has the same."""
        twins = [one for one in self.cast.parts if one.endpoint == part.endpoint]
        return part.endpoint if len(twins) == 1 else f"{part.endpoint} ({part.role})"
