"""Where the time of units of work went: the accounts of time of a cell's records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal

from netstudy.analysis.cells import CellRow
from netstudy.analysis.gathering import Block
from netstudy.plan.paths import directions
from netstudy.queues import kinds_of
from netstudy.wire import Network, Place, Reason, TimeAccount

PS_PER_S: Final = 1e12
SLOWEST_PCT: Final = 2
"""Share of the units in the group `slowest`."""

TimeView = Literal["journey", "cause"]
TimeGroup = Literal["all", "middle", "slowest", "worst", "median-member"]
Family = Literal["work", "wire", "queue", "window", "timer", "slot", "think", "not known"]
"""A family of parts, as drawn: work in hosts; the way along links and through devices; queues;
round trips until a window had room; timers and the repetition of lost segments; waits for one of a
limited number of threads or connections; the load itself."""

_OF_PLACES: Final[dict[Place, Family]] = {
    "application": "work",
    "cpu": "work",
    "memory-bus": "work",
    "io-bus": "work",
    "disk": "work",
    "database-hold": "work",
    "cpu-queue": "queue",
    "memory-bus-queue": "queue",
    "io-bus-queue": "queue",
    "disk-queue": "queue",
    "queue": "queue",
    "pause": "queue",
    "thread": "slot",
    "pool": "slot",
    "database-slot": "slot",
    "connection": "slot",
    "host-latency": "wire",
    "interrupt": "wire",
    "packet-rate-sending": "wire",
    "packet-rate-receiving": "wire",
    "serialization": "wire",
    "switch-latency": "wire",
    "propagation": "wire",
    "retransmission-timer": "timer",
    "probe-timer": "timer",
    "reordering-timer": "timer",
    "window-probe-timer": "timer",
    "delayed-ack-timer": "timer",
    "think": "think",
    "generator": "think",
    "not-known": "not known",
}
WINDOWS: Final[tuple[Reason, ...]] = ("peer-window", "own-buffer", "congestion-window")


@dataclass(frozen=True)
class PartKey:
    """Identifies a part of a time in all cells of a study."""

    reason: Reason
    place: Place
    node: str
    """The group of hosts, or the switch; of a link or port, the sending end. Empty: none."""
    to: str
    """The group of hosts, or the switch, at the other end of a link or port. Empty: none."""
    disciplines: tuple[str, ...] = ()
    """Of a queue: the kinds of its disciplines, a shaper or policer before the one under it. Empty:
    it has none."""

    @property
    def family(self) -> Family:
        """How the part is drawn. A window stands for the way and the latencies of the round trip
        that had to pass before it had room."""
        family = _OF_PLACES[self.place]
        has_no_wait = family in ("wire", "not known")
        if has_no_wait and self.reason in WINDOWS:
            return "window"
        if has_no_wait and self.reason == "recovery":
            return "timer"
        return family


@dataclass(frozen=True)
class TimePart:
    """A part of the mean time of a unit of work."""

    key: PartKey
    low_s: float
    high_s: float
    """Equal to `low_s` in the simulator."""


@dataclass(frozen=True)
class UnitTime:
    """The mean time of the units in a group, and its parts."""

    view: TimeView
    group: TimeGroup
    unit: str
    units: int
    whole_s: float
    parts: tuple[TimePart, ...]
    """The largest first, by lower bounds."""
    is_exact: bool
    """True if the parts have equal bounds, and so add up to the whole."""
    number: int | None = None
    """Group `worst`: the number of the unit in the measuring phase of its run."""
    connection: int | None = None
    """Group `worst`: the row of the table of connections whose last byte ended the unit."""
    run: str | None = None
    """Group `worst`: the run of the unit."""

    @property
    def families(self) -> tuple[Family, ...]:
        """The families of the parts, the largest first, by lower bounds. The time that is not known
        comes after all families of which something is known."""
        sums = {
            family: self.family_s(family) for family in {part.key.family for part in self.parts}
        }

        def order(family: Family) -> tuple[int, float, str]:
            known_first = 1 if family == "not known" else 0 if sums[family] > 0 else 2
            return known_first, -sums[family], family

        return tuple(sorted(sums, key=order))

    def family_s(self, family: Family) -> float:
        """The lower bound of the time of a family."""
        return sum(part.low_s for part in self.parts if part.key.family == family)

    def share_pct(self, chosen: Callable[[PartKey], bool]) -> float:
        """The lower bound of the share of the parts that `chosen` accepts."""
        if self.whole_s <= 0:
            return 0.0
        return 100 * sum(part.low_s for part in self.parts if chosen(part.key)) / self.whole_s


def unit_time(row: CellRow, view: TimeView, group: TimeGroup) -> UnitTime | None:
    """The mean time of the units of a cell, over all of its runs with accounts; None: there are
    none. Hosts of one group count together. Of the worst units, the slowest one counts."""
    found = [
        (run, account)
        for run, account in accounts_of(row)
        if account.view == view and account.group == group and account.units
    ]
    if not found:
        return None
    if group == "worst":
        found = [max(found, key=lambda each: each[1].whole_ps)]
    run, first = found[0]
    accounts = [account for _, account in found]
    units = sum(one.units for one in accounts)
    is_worst = group == "worst"
    return UnitTime(
        view=view,
        group=group,
        unit=first.unit,
        units=units,
        whole_s=sum(one.whole_ps for one in accounts) / units / PS_PER_S,
        parts=_parts(row.planned[0].network, accounts, units),
        is_exact=all(one.high_ps is None for one in accounts),
        number=first.number,
        connection=first.connection,
        run=run if is_worst else None,
    )


def accounts_of(row: CellRow) -> Iterator[tuple[str, TimeAccount]]:
    """All accounts of the runs of a cell, each with the id of its run."""
    return chain.from_iterable(row.runs.gathered("accounts", accounts_part))


def accounts_part(block: Block) -> list[tuple[str, TimeAccount]]:
    """Gathers the accounts of a block; most runs of the simulator have none."""
    return [(run.run, account) for run in block for account in run.record.samples.time]


def _parts(network: Network, accounts: list[TimeAccount], units: int) -> tuple[TimePart, ...]:
    names, disciplines = _groups(network), _disciplines(network)
    sums: defaultdict[PartKey, list[int]] = defaultdict(lambda: [0, 0])
    for one in accounts:
        for reason, place, node, to, low, high in one.rows():
            at_port = disciplines.get((node, to), ()) if place == "queue" else ()
            key = PartKey(reason, place, names.get(node, node), names.get(to, to), at_port)
            sums[key][0] += low
            sums[key][1] += high
    parts = (
        TimePart(key, low / units / PS_PER_S, high / units / PS_PER_S)
        for key, (low, high) in sums.items()
    )
    return tuple(sorted(parts, key=lambda part: (-part.low_s, -part.high_s)))


def _groups(network: Network) -> Mapping[str, str]:
    """Node -> the name of its group; a zone has that of its host."""
    own = {node.name: getattr(node, "group", node.name) for node in network.nodes}
    return {node.name: own.get(getattr(node, "host", ""), own[node.name]) for node in network.nodes}


def _disciplines(network: Network) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """The sending end and the other end of a link -> the kinds of the sending end's disciplines."""
    return {(near.node, far.node): tuple(kinds_of(near.queue)) for near, far in directions(network)}
