"""The cycle of a closed loop: a response, and a think time.

With N requests under way, throughput is at most N / (R + Z), R being the response time at the
least load and Z the think time (Lazowska and others, Quantitative System Performance, 1984, 5.2).
The parts of a cycle tell what that response time consists of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.bounds.candidates import Candidate
from netstudy.analysis.bounds.clocks import share_of_waits
from netstudy.analysis.bounds.parts import Part
from netstudy.analysis.cells import CellRow
from netstudy.analysis.workloads.base import WorkloadAnalysis
from netstudy.plan.paths import Routes
from netstudy.wire import Run

_NS_PER_S: Final = 1e9


@dataclass(frozen=True)
class Cycle:
    """The cycle of the requests of a cell, in the mean over its runs."""

    noun: str
    users: int
    per_s: float
    """Cycles of all users in a second."""
    think_s: float

    @property
    def length_s(self) -> float:
        """Response and think time (Little's law)."""
        return self.users / self.per_s


def cycle_of(workload: WorkloadAnalysis, row: CellRow) -> Cycle | None:
    """The cycle of a cell; None: its load is no closed loop, or not known, or got no answer."""
    if workload.closed_loop is None:
        return None
    loops = [workload.closed_loop(run) for run in row.runs]
    known = [one for one in loops if one is not None]
    if not known or len(known) < len(loops):
        return None
    count = len(known)
    if not all(one.per_s for one in known):
        return None
    return Cycle(
        noun=known[0].noun,
        users=known[0].users,
        per_s=sum(one.per_s for one in known) / count,
        think_s=sum(one.think_s for one in known) / count,
    )


def parts_of(
    workload: WorkloadAnalysis, row: CellRow, cycle: Cycle, candidates: Sequence[Candidate]
) -> tuple[Part, ...]:
    """The known parts of a cycle, the largest first: think time, the service of each resource
    without its queue, round trips without any load, waits inside the application, and waits of
    senders."""
    found = [
        *_services(cycle, candidates),
        *_waits(workload, row, cycle),
        *share_of_waits(row),
    ]
    return tuple(sorted(found, key=lambda part: -part.share_pct))


def _services(cycle: Cycle, candidates: Sequence[Candidate]) -> Iterator[Part]:
    """The service demand of each resource, which is its utilisation × its servers ÷ throughput."""
    demands = {one: demand for one in candidates if (demand := _demand_s(one, cycle)) is not None}
    known = {one.resource.key for one in demands}
    for one, demand_s in demands.items():
        resource = one.resource
        if any(kind == "slots" for kind, *_ in resource.waits_for & known):
            continue  # it is mostly held by work that waits for the slots inside
        inside = sum(
            other_s
            for other, other_s in demands.items()
            if other.resource.key in resource.waits_for
        )
        # Whoever holds a slot uses other resources meanwhile: their service is not the slot's.
        own_s = demand_s - inside if resource.kind == "slots" else demand_s
        if own_s > 0:
            share = 100 * own_s / cycle.length_s
            yield Part(resource.kind, resource.node, f"the {resource.name}", share)


def _demand_s(one: Candidate, cycle: Cycle) -> float | None:
    if one.share_pct is None or one.resource.kind in ("machine", "resource", "none"):
        return None
    in_use = one.mean_pct if one.mean_pct is not None else one.share_pct
    servers = one.servers * max(1, len(one.resource.reads))
    return in_use / 100 * servers / cycle.per_s


def trips_s(workload: WorkloadAnalysis, run: Run) -> float:
    """The time of the round trips that a unit of work waits for, without queues."""
    routes = Routes(run.network)
    times_ns = (
        routes.time_ns(here, there, 0) + routes.time_ns(there, here, 0)
        for here, there in workload.trips(run)
    )
    return sum(times_ns) / _NS_PER_S


def _waits(workload: WorkloadAnalysis, row: CellRow, cycle: Cycle) -> Iterator[Part]:
    run = row.planned[0]
    idle_s = workload.idle_wait_s(run)
    for kind, name, seconds in (
        ("round_trip", "round trips without queues", trips_s(workload, run)),
        ("think_time", "thinking", cycle.think_s),
        ("wait", "waits inside the application", idle_s),
    ):
        if seconds > 0:
            yield Part(kind, "", name, 100 * seconds / cycle.length_s)  # type: ignore[arg-type]
