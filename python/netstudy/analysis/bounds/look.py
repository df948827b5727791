"""Looks at one cell: its resources, the cycle of its requests, and why its senders wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from netstudy.analysis.bounds.buffers import behind_drops, buffers
from netstudy.analysis.bounds.candidates import Candidate, LimitKind, Resource
from netstudy.analysis.bounds.clocks import share_of_waits
from netstudy.analysis.bounds.cycle import Cycle, cycle_of, parts_of
from netstudy.analysis.bounds.measure import Measure
from netstudy.analysis.bounds.parts import Part
from netstudy.analysis.bounds.published import published_resources
from netstudy.analysis.bounds.resources import Listing
from netstudy.analysis.bounds.time_parts import TimeShares, shares_of_time
from netstudy.analysis.bounds.verdict import Seen
from netstudy.analysis.cells import CellRow
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.machines import are_machines_in, is_simulated_in
from netstudy.analysis.metrics import Metric
from netstudy.wire import Level

_MEASURED_ONLY: tuple[LimitKind, ...] = ("disk", "bus")
"""Kinds that count only where they are measured: real hosts share the disk of their machine, and
have no counters of buses."""


@dataclass(frozen=True, eq=False)
class Look:
    """Looks at the cells of a conclusion."""

    own: Sequence[Resource]
    """The study's own candidates."""
    near_pct: float
    """Percentage of a bound from which it counts as reached."""
    cells: Cells
    load: str | None
    loads: Mapping[Level, float]

    def seen(self, row: CellRow, throughput: Metric) -> Seen:
        """The measurements of a cell."""
        candidates = tuple(self._candidates(row))
        workload = self.cells.table.workload
        cycle = cycle_of(workload, row) if row.runs else None
        time = shares_of_time(row, candidates, 0.0 if cycle is None else cycle.think_s)
        planned = row.planned[0]
        return Seen(
            row=row,
            throughput=row.value(throughput) or 0.0,
            load=None if self.load is None else self.loads.get(row.treatment[self.load]),
            candidates=candidates,
            cycle=cycle,
            parts=self._parts(row, candidates, cycle, time),
            time=time,
            not_modelled=self._not_modelled(row),
            offered=workload.offered_per_s(planned) if planned.network.nodes else None,
        )

    def _parts(
        self,
        row: CellRow,
        candidates: tuple[Candidate, ...],
        cycle: Cycle | None,
        time: TimeShares | None,
    ) -> tuple[Part, ...]:
        if time is not None and time.is_exact:
            return time.cause if cycle is None else time.journey
        if cycle is not None:
            return parts_of(self.cells.table.workload, row, cycle, candidates)
        waits = behind_drops(share_of_waits(row), candidates)
        return tuple(sorted(waits, key=lambda part: -part.share_pct))

    # ---- candidates

    def _candidates(self, row: CellRow) -> Iterator[Candidate]:
        measure = Measure(
            self.cells.study, self.cells.rows, row, self.cells.table.vocabulary, self.near_pct
        )
        every = [measure.of(resource) for resource in self.resources(row)]
        found = [
            one
            for one in every
            if one.state != "not measured" or self._could_be_measured(one.resource, row)
        ]
        yield from found
        yield from buffers(row, found)

    def _could_be_measured(self, resource: Resource, row: CellRow) -> bool:
        """True if a resource without a value may limit throughput nevertheless. In the simulator,
        a capacity that is not modelled limits nothing."""
        is_simulated = is_simulated_in(row.runs)
        return not is_simulated and resource.kind not in _MEASURED_ONLY

    def resources(self, row: CellRow) -> list[Resource]:
        """The resources of a cell's network, and the candidates of the study. A candidate
        of the study for a resource that is in the network gives it its name and its limit."""
        found = list(self._of_network(row))
        for own in self.own:
            place = next((i for i, each in enumerate(found) if _is_same(each, own)), None)
            if place is None:
                found.append(own)
            else:
                known = found[place]
                limit = own.limit if own.limit is not None else known.limit
                found[place] = replace(known, name=own.name, limit=limit)
        return found

    def _of_network(self, row: CellRow) -> Iterator[Resource]:
        if not row.planned[0].network.nodes:
            return published_resources(self.cells.study, row, self.load)
        return self._listing(row).all()

    def _listing(self, row: CellRow) -> Listing:
        group = None if self.load is None else self.cells.grown_group
        run = row.planned[0]
        return Listing(
            run,
            self.cells.table.workload,
            group,
            is_simulated=is_simulated_in(row.runs),
            are_machines=are_machines_in(row.runs),
        )

    def _not_modelled(self, row: CellRow) -> tuple[str, ...]:
        if not row.planned[0].network.nodes or not row.runs:
            return ()
        return tuple(self._listing(row).not_modelled(row.runs[0].record))


def _is_same(known: Resource, own: Resource) -> bool:
    """True if a candidate of the study (`own`) reads the metric of a resource of the network."""
    wanted = {metric for _, metrics in own.reads for metric in metrics}
    if any(metric in wanted for _, metrics in known.reads for metric in metrics):
        return True
    return own.kind == known.kind == "cpu" and own.node == known.node
