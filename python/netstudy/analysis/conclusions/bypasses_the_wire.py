"""Checks whether data cross the wire, by comparing goodput with the line rate, and by interface
counters.

Both checks are made at every placement of the endpoints, and neither decides by itself. Payload
that was faster than the line did not cross it; slower payload may or may not have crossed it. If
the interfaces counted fewer bytes than the payload has, the payload bypassed them. Published runs
have no counters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.conclusions.base import Drawn
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.ideal import access_links, framing, host_of
from netstudy.analysis.samples import BITS_PER_MEGABIT, RunSample
from netstudy.plan.graph import MTU_DEFAULT
from netstudy.plan.workloads import lowering_of_spec
from netstudy.study.conclusions.bypasses_the_wire import BypassesTheWire
from netstudy.study.references import concrete, resolve
from netstudy.study.topology import EachWay
from netstudy.units import FRAMING_BYTES, payload_bytes
from netstudy.wire import Network, Port, Treatment

if TYPE_CHECKING:
    from netstudy.study import Study
    from netstudy.study.places import Place
    from netstudy.study.topology import Link, Topology

Verdict = Literal["bypasses", "touches", "faster, not counted", "slower, not counted", "disagree"]


@dataclass(frozen=True, eq=False)
class Crossing:
    """Payload rates and counters for one placement of the endpoints, over all its cells."""

    held: Treatment
    """The levels that all cells of this placement have in common, without levels that every cell of
    the test case has."""
    line_mbps: float
    """The highest payload rate that the line between the two ends can carry."""
    fastest: CellRow
    """The cell whose slowest repetition is faster than the slowest of any other cell."""
    slowest_mbps: float
    """Payload rate of the slowest repetition of `fastest`."""
    largest_mbps: float
    """Payload rate of the fastest repetition of all cells."""
    carried: tuple[float, ...]
    """For each run: bytes at the interfaces of the busier end ÷ payload bytes; empty if some run
    lacks counters."""

    @property
    def is_faster(self) -> bool:
        """Whether in some cell every repetition was faster than the line."""
        return self.slowest_mbps > self.line_mbps

    @property
    def is_steady(self) -> bool:
        """Whether the payload rates are consistent, and the counters as well. Rates: either no
        repetition was faster than the line, or every repetition of some cell was. Counters: the
        interfaces carried the payload of all runs, or of none."""
        one_way = self.is_faster or self.largest_mbps <= self.line_mbps
        return one_way and len({share < 1 for share in self.carried}) < 2

    @property
    def verdict(self) -> Verdict:
        """The combined verdict of payload and counters."""
        if not self.is_steady:
            return "disagree"
        if not self.carried:
            return "faster, not counted" if self.is_faster else "slower, not counted"
        if (self.carried[0] < 1) != self.is_faster:
            return "disagree"
        return "bypasses" if self.is_faster else "touches"


@dataclass(frozen=True, eq=False)
class Crossings(Drawn[BypassesTheWire]):
    """The payload and interface counters of each placement of the endpoints."""

    kind = BypassesTheWire
    of: tuple[Crossing, ...]
    unmeasured: tuple[Treatment, ...] = ()
    """Placements without a known payload or line rate, by their levels."""

    @classmethod
    def draw(
        cls,
        asked: BypassesTheWire,  # noqa: ARG003  # of the base
        cells: Cells,
    ) -> Crossings | None:
        """Examine each placement of the endpoints."""
        found = crossings(cells.study, cells.table, cells.rows)
        return found if found.of else None


def crossings(study: Study, table: CellTable, rows: Sequence[CellRow]) -> Crossings:
    """Examines each placement of the endpoints: the cells grouped by topology and places."""
    groups: dict[str, list[CellRow]] = {}
    for row in rows:
        groups.setdefault(_placement(study, row), []).append(row)
    looked_at = [
        (held := _common(own, rows), _crossing(study, table, own, held)) for own in groups.values()
    ]
    return Crossings(
        tuple(found for _, found in looked_at if found is not None),
        tuple(held for held, found in looked_at if found is None),
    )


def _placement(study: Study, row: CellRow) -> str:
    """The topology of a cell and the places of its endpoints, as a key."""
    topology, places = _places(study, row)
    return repr((topology, places))


def _places(study: Study, row: CellRow) -> tuple[Topology, tuple[Place, ...]]:
    levels = study.levels_of(row.treatment)
    topology, workload = resolve(study.topology, levels), resolve(study.workload, levels)
    lowering = lowering_of_spec(workload.spec)
    if lowering is None:
        return topology, ()
    roles = lowering.roles(workload.spec, topology, ("workload", workload.kind))
    return topology, (roles.client, roles.server)


def _common(rows: Sequence[CellRow], every: Sequence[CellRow]) -> Treatment:
    """Levels that all of the cells `rows` have in common, without levels that every cell has."""
    first = rows[0].treatment
    return {
        name: level
        for name, level in first.items()
        if all(row.treatment.get(name) == level for row in rows)
        and any(row.treatment.get(name) != level for row in every)
    }


def _crossing(
    study: Study, table: CellTable, rows: Sequence[CellRow], held: Treatment
) -> Crossing | None:
    line = _line_mbps(study, rows[0])
    speeds = [(row, [_payload_mbps(study, table, row, run) for run in row.runs]) for row in rows]
    known = [(row, [one for one in found if one is not None]) for row, found in speeds]
    known = [(row, found) for row, found in known if found]
    if line is None or not known:
        return None
    fastest, values = max(known, key=lambda one: min(one[1]))
    carried = [_carried(table, run) for row in rows for run in row.runs]
    counted = [share for share in carried if share is not None]
    return Crossing(
        held=held,
        line_mbps=line,
        fastest=fastest,
        slowest_mbps=min(values),
        largest_mbps=max(value for _, found in known for value in found),
        carried=tuple(counted) if len(counted) == len(carried) else (),
    )


def _payload_mbps(study: Study, table: CellTable, row: CellRow, run: RunSample) -> float | None:
    """Goodput of a run; if only a time was published, the size of a sample divided by that time."""
    workload = table.workload
    measured = None if workload.bounded is None else workload.bounded.reading.of_run(run)
    if measured is not None or workload.timed is None:
        return measured
    spec = resolve(study.workload, study.levels_of(row.treatment)).spec
    seconds = workload.timed.reading.of_run(run)
    size = spec.sample_bytes
    return None if not seconds or size is None else size * 8 / BITS_PER_MEGABIT / seconds


def _line_mbps(study: Study, row: CellRow) -> float | None:
    network = row.planned[0].network
    return _of_network(row) if network.nodes else _of_topology(study, row)


def _of_network(row: CellRow) -> float:
    """Highest payload rate through the interfaces of the slower end, with full-size frames."""
    run = row.planned[0]
    network, roles = run.network, run.workload.roles
    ends = [
        sum(min(end.rate_bps for end in link) for link in _links(network, members))
        for members in (roles.client, roles.server)
    ]
    share = framing(network, (*roles.client, *roles.server), roles.server[0]).share
    return min(ends) * share / BITS_PER_MEGABIT


def _links(network: Network, members: Sequence[str]) -> list[tuple[Port, Port]]:
    """The links of these members, each once, as two ports: the port of the host, and the port at
    the other end."""
    found = {
        (end.node, end.name): (end, far)
        for member in members
        for link in access_links(network, member)
        for end, far in (link.ports, link.ports[::-1])
        if end.node == host_of(network, member)[0]
    }
    return list(found.values())


def _of_topology(study: Study, row: CellRow) -> float | None:
    """Like `_of_network`, but for a published study: uses the links of its topology. None if a rate
    is given only by a profile."""
    topology, places = _places(study, row)
    found = [_link_mbps(topology, place) for place in places]
    known = [one for one in found if one is not None]
    return min(known) if known and len(known) == len(found) else None


def _link_mbps(topology: Topology, place: Place) -> float | None:
    host = topology.groups[place.group]
    zone = (host.zones or {}).get(place.zone or "")
    interface = place.interface or (zone.interface if zone else None)
    own = [link for link in topology.all_links if _is_at(link, place.group, interface)]
    rate = own[0].rate if own else None
    if rate is None:
        return None
    mtu = concrete(own[0].mtu)
    size = MTU_DEFAULT if mtu is None else mtu
    way = (rate.up, rate.down) if isinstance(rate, EachWay) else (rate,)
    rate_bps = max(concrete(one) for one in way)
    return rate_bps * payload_bytes(size, timestamps=True) / (size + FRAMING_BYTES) / 1e6


def _is_at(link: Link, group: str, interface: str | None) -> bool:
    return any(end.group == group and interface in (None, end.interface) for end in link.between)


def _carried(table: CellTable, run: RunSample) -> float | None:
    """Bytes at the interfaces of the clients or of the servers, whichever is larger, divided by the
    payload bytes. None if counters of either end are missing."""
    metric = table.workload.bounded
    goodput = None if metric is None else metric.reading.of_run(run)
    if not goodput or not run.measure_s or not run.planned.network.nodes:
        return None
    payload = goodput * run.measure_s * BITS_PER_MEGABIT / 8
    roles, sending = run.planned.workload.roles, run.planned.workload.sending
    counted = [
        _octets(run, members, sends=role in sending, receives=sending != (role,))
        for role, members in (("client", roles.client), ("server", roles.server))
    ]
    known = [one for one in counted if one is not None]
    return max(known) / payload if len(known) == len(counted) else None


def _octets(run: RunSample, members: Sequence[str], *, sends: bool, receives: bool) -> float | None:
    """Bytes of the measuring phase that the interfaces of these members sent, received, or both."""
    asked = (("interface_bytes_sent", sends), ("interface_bytes_received", receives))
    names = [name for name, is_asked in asked if is_asked]
    total = 0
    for port, _ in _links(run.planned.network, members):
        readings = run.record.ports.get(port.node, {}).get(port.name, {})
        grown = run.record.growth({name: readings[name] for name in names if name in readings})
        if len(grown) < len(names):
            return None
        total += sum(grown.values())
    return float(total)
