"""Quantities over time without samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.caveats.base import Caveat, Planned
from netstudy.analysis.nodes import GOODPUT, is_sampled
from netstudy.study.vocabulary import LINK, MACHINE, MetricName
from netstudy.wire import UntilTime

_KEYS: Final = {"host": "sar"}
"""Kind of instrument in a plan -> the instrument's key in a study, if the two differ."""


@dataclass(frozen=True)
class NotSampled(Caveat):
    """A metric of a time-series figure that no instrument samples."""

    metric: MetricName

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[NotSampled]:
        """One caveat for each metric."""
        runs = planned.design.runs
        figures = (one for _, one in planned.study.figures if one.name is None)
        courses = (one for one in figures if one.kind == "time series")
        for name in dict.fromkeys(metric for one in courses for metric in one.metrics):
            at_node = name.scope is not None and name.scope.node not in (LINK, MACHINE)
            if not at_node or name.base == GOODPUT or not runs:
                continue
            if not any(is_sampled(run, name) for run in runs):
                yield cls(name)


@dataclass(frozen=True)
class TooSeldom(Caveat):
    """A probe or sampler whose period is longer than the measuring phase."""

    sampler: str
    """Its key in a study."""
    every_ns: int
    """Time between two samples."""
    phase_ns: int
    """Length of the measuring phase."""

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[TooSeldom]:
        """One caveat for each probe or sampler."""
        found: dict[str, TooSeldom] = {}
        for run in planned.design.runs:
            until = next(phase.until for phase in run.phases if phase.kind == "measure")
            if not isinstance(until, UntilTime):
                continue
            asked = [(_KEYS.get(one.kind, one.kind), one.every_ns) for one in run.instruments]
            if run.probe is not None:
                asked.append(("probe", run.probe.every_ns))
            for who, every_ns in asked:
                if every_ns > until.ns:
                    found.setdefault(who, cls(who, every_ns, until.ns))
        yield from found.values()
