"""How to raise a bound: the keys of a study that give more of a resource, or shorten a wait.

A resource or a window becomes twice as large, or twice as fast; a delay or a think time becomes
half as long; a minimum RTO a tenth.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, cast

from netstudy.analysis.bounds.candidates import Key, LimitKind
from netstudy.analysis.bounds.cycle import trips_s
from netstudy.analysis.cells import CellRow
from netstudy.analysis.machines import is_simulated_in
from netstudy.analysis.workloads.base import WorkloadAnalysis
from netstudy.documents.fields import Ref
from netstudy.documents.problems import dotted
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary
from netstudy.plan import make_plan
from netstudy.plan.workloads import planned_of
from netstudy.study.loader import load_text
from netstudy.study.one_cell import one_cell
from netstudy.study.references import concrete, references, resolve
from netstudy.study.topology import DelayEachWay, EachWay
from netstudy.units import format_duration, format_rate, format_size
from netstudy.wire import Disk, Group, Host, Level, Run

if TYPE_CHECKING:
    from netstudy.plan import PlannedStudy
    from netstudy.plan.workloads.base import Permit
    from netstudy.study import Study

_FASTER: Final = 0.5
"""The share of a time that is left with twice the speed."""
_SHORTER_RTO: Final = 10
_BUFFER: Final = 4


class CannotRaiseError(Exception):
    """No key of the study raises this bound; the message says why."""


@dataclass(frozen=True)
class Bound:
    """A bound to be raised: a resource, or a wait."""

    kind: LimitKind
    node: str
    part: str
    name: str

    @property
    def key(self) -> Key:
        """As of the resource."""
        return self.kind, self.node, self.part


@dataclass(frozen=True)
class Raise:
    """Values of a study that raise some bounds."""

    values: Mapping[str, str]
    """Path -> value, written as for `--set`."""
    bounds: tuple[Bound, ...]
    left: float
    """The share of the time of a unit of work at this resource, or in this wait, that is left."""
    moved: frozenset[Key]
    """The resources that the values raise, including resources that only share a value with the
    bounds."""
    speeds_up: bool = True
    """True if each unit of work becomes faster; False if only more units run at the same time."""

    @property
    def factor(self) -> float:
        """How many times as high the bound becomes."""
        return 1 / self.left

    def touches(self, other: Raise) -> bool:
        """True if both raises change the same value of the study."""
        return bool(self.values.keys() & other.values.keys())

    def with_(self, other: Raise) -> Raise:
        """Both at once; the one that raises less counts."""
        return Raise(
            {**self.values, **other.values},
            (*self.bounds, *other.bounds),
            max(self.left, other.left),
            self.moved | other.moved,
            self.speeds_up and other.speeds_up,
        )


def _raise(
    bound: Bound,
    values: Mapping[str, str],
    *,
    left: float = _FASTER,
    moved: frozenset[Key] = frozenset(),
    speeds_up: bool = True,
) -> Raise:
    return Raise(values, (bound,), left, moved | {bound.key}, speeds_up)


@dataclass(frozen=True, eq=False)
class Raiser:
    """Finds the keys that raise a bound in one cell."""

    study: Study
    row: CellRow
    workload: WorkloadAnalysis
    load: str | None
    """The factor that sets the load."""
    scale: Fraction
    """The factor by which the runs multiplied all link rates."""

    def of(self, bound: Bound) -> Raise:
        """The values that raise a bound, which the study accepts. Raises CannotRaiseError."""
        if not self._run.network.nodes:
            raise CannotRaiseError("published values cannot be measured again")
        make = _RAISES.get(bound.kind)
        if make is None:
            raise CannotRaiseError(f"no key of the study raises the {bound.name}")
        found = make(self, bound)
        return self._checked(found)

    def planned(self, values: Mapping[str, str]) -> PlannedStudy:
        """The plan of this cell with some values changed. Raises StudyError."""
        folder = self.study.folder
        text = one_cell(self.study, self.row.treatment, values, self.study.study)
        changed = load_text(text, folder / "study.yaml")
        library = HardwareLibrary.default(folder)
        return make_plan(changed, scale=self.scale, hardware=library)

    @property
    def _run(self) -> Run:
        return self.row.planned[0]

    def _checked(self, found: Raise) -> Raise:
        """The first of two sets of values that the study accepts: as they are, or with interfaces
        as fast as their links."""
        if not found.values:
            raise CannotRaiseError(f"no key of the study raises the {found.bounds[0].name}")
        faster = {
            path.replace(".rate", ".nic.rate").replace(".nic.rate.up", ".nic.rate"): value
            for path, value in found.values.items()
            if ".link" in path and ".rate" in path
        }
        refused = None
        for more in ({}, faster):
            values = {**found.values, **more}
            try:
                self.planned(values)
            except StudyError as error:
                refused = refused or error
            else:
                return replace(found, values=self._with_factors(values))
        raise CannotRaiseError(f"the {found.bounds[0].name} cannot be raised: {refused}")

    def _with_factors(self, values: Mapping[str, str]) -> dict[str, str]:
        """The values and, for each factor that only they replace, its one level: a study may not
        vary a factor that nothing refers to."""
        parts = ("topology", "workload", "procedure")
        found = [
            (dotted(path), ref.name.partition(".")[0])
            for part in parts
            for path, ref in references(getattr(self.study, part), (part,))
        ]
        replaced = {name for path, name in found if path in values}
        kept = {name for path, name in found if path not in values}
        more: dict[str, str] = {}
        for case in self.study.cases:
            for factor in case.factors:
                if factor.name in replaced - kept and len(factor.levels) > 1:
                    level = self.row.treatment[factor.name]
                    more[dotted(factor.path)] = json.dumps([level], ensure_ascii=False)
        return {**values, **more}

    # ---- the kinds

    def link(self, bound: Bound) -> Raise:
        """Twice the rate, in both directions or, if the study gives each, in this one."""
        ends = {
            end.removeprefix("wire-") if self._is_inserted(end) else end
            for end in (bound.node, bound.part)
        }
        values: dict[str, str] = {}
        own_ends: set[str] = set()
        for path, link in resolve(self.study.topology, self._levels).placed_links:
            between = {end.group for end in link.between}
            if path == ("link",):
                own_ends |= between  # one value for all links
            if not ends <= between:
                continue
            own_ends |= between
            at = dotted(("topology", *path, "rate"))
            rate = link.rate
            if isinstance(rate, EachWay):
                is_up = bound.node == link.between[0].group
                way, own = ("up", rate.up) if is_up else ("down", rate.down)
                values[f"{at}.{way}"] = format_rate(2 * concrete(own))
            else:
                own = concrete(rate) if rate is not None else self._planned_bps(bound)
                values[at] = format_rate(2 * own)
        return _raise(bound, values, moved=self._between(own_ends))

    def _between(self, ends: Container[str]) -> frozenset[Key]:
        """The links between some groups and switches, in both directions."""
        pairs = (
            (self._end(near.node), self._end(far.node))
            for link in self._run.network.links
            for near, far in (link.ports, link.ports[::-1])
        )
        return frozenset(
            ("link", near, far)
            for near, far in pairs
            if all(end in ends or self._is_inserted(end) for end in (near, far))
        )

    def _is_inserted(self, end: str) -> bool:
        topology = self.study.topology
        return end not in topology.groups and end not in topology.all_switches

    def _planned_bps(self, bound: Bound) -> int:
        """The planned rate between two groups, as the study means it."""
        rates = (
            near.rate_bps
            for link in self._run.network.links
            for near, far in (link.ports, link.ports[::-1])
            if (self._end(near.node), self._end(far.node)) == (bound.node, bound.part)
        )
        return int(next(rates) / self.scale)

    def _end(self, name: str) -> str:
        node = self._run.network.node(name)
        return node.group if isinstance(node, Host) else node.name

    def packet_rate(self, bound: Bound) -> Raise:
        """Twice the packets, in both directions."""
        group, far = bound.node, bound.part.partition(",")[0]
        of_link = self._nic_of_link(group, far)
        port = next(
            port
            for link in self._run.network.links
            for port, other in (link.ports, link.ports[::-1])
            if (self._end(port.node), self._end(other.node)) == (group, far)
        )
        rate = (port.nic or self._group(group).nic).packet_rate_pps
        assert rate is not None, "a packet rate that was a candidate"
        at = of_link or self._host(group)
        both: list[Key] = [("packet_rate", group, f"{far}, {way}") for way in ("send", "receive")]
        values = {f"{at}.nic.packet_rate": f"{2 * rate} packets/s"}
        return _raise(bound, values, moved=frozenset(both))

    def _nic_of_link(self, group: str, far: str) -> str | None:
        """The path of the link whose own interface has the packet rate."""
        for path, link in self.study.topology.placed_links:
            own = getattr(link.nic, "packet_rate", None)
            if own is not None and {group, far} <= {end.group for end in link.between}:
                return dotted(("topology", *path))
        return None

    def cpu(self, bound: Bound) -> Raise:
        """CPUs of twice the speed or, where the study limits CPU time, twice the quota."""
        group = self._group(bound.node)
        quota = group.cpu_quota_pct
        if not self._is_simulated and quota is not None:
            return _raise(bound, {f"{self._host(bound.node)}.cpu_quota": f"{2 * quota:g} %"})
        self._need_simulator(bound)
        speed = 100 if group.cpu is None else group.cpu.speed_pct
        return _raise(bound, {f"{self._host(bound.node)}.cpu.speed": f"{2 * speed} %"})

    def disk(self, bound: Bound) -> Raise:
        """A disk of twice the rate and half the access time."""
        self._need_simulator(bound)
        own, at = self._group(bound.node).disk or Disk(), f"{self._host(bound.node)}.disk"
        values = {f"{at}.rate": format_rate(2 * own.disk_rate_bps)}
        if own.access_ns:
            values[f"{at}.access_time"] = format_duration(own.access_ns // 2)
        return _raise(bound, values)

    def bus(self, bound: Bound) -> Raise:
        """Channels of twice the rate."""
        self._need_simulator(bound)
        name = "memory_channel" if "memory" in bound.part else "io_channel"
        rate = getattr(self._group(bound.node).bus, f"{name}_bps")
        path = f"{self._host(bound.node)}.bus.{name}_rate"
        return _raise(bound, {path: format_rate(2 * rate)})

    def slots(self, bound: Bound) -> Raise:
        """Twice the number of threads, connections or slots."""
        work, part = self._run.workload, cast("Permit", bound.part)
        key = planned_of(work).permit_key(part)
        hosts = (host for host in self._run.network.hosts if host.group == bound.node)
        numbers = (
            planned_of(work).permits(work, host.name, is_simulated=self._is_simulated).get(part)
            for host in hosts
        )
        number = next((one for one in numbers if one is not None), None)
        if key is None or number is None:
            raise CannotRaiseError(f"no key of the study raises the {bound.name}")
        variant = getattr(self.study.workload.spec, "variant", None)
        above = f"variants.{self._level_of(variant)}." if variant and "." not in key else ""
        path = f"workload.{work.kind}.{above}{key}"
        return _raise(bound, {path: f"{2 * number}"}, speeds_up=False)

    def _level_of(self, value: object) -> object:
        return self._levels[value.name] if isinstance(value, Ref) else value

    def window(self, bound: Bound) -> Raise:
        """A window of twice the size."""
        key = "receive_buffer" if bound.kind == "window" else "send_buffer"
        size = getattr(self._group(bound.node).tcp, f"{key}_bytes")
        path = f"{self._host(bound.node)}.tcp.{key}"
        return _raise(bound, {path: format_size(2 * size)})

    def timeouts(self, bound: Bound) -> Raise:
        """A tenth of the minimum RTO at all senders."""
        run, values, left = self._run, dict[str, str](), 0.0
        for role in run.workload.sending:
            for member in getattr(run.workload.roles, role):
                group = self._end(member.partition("@")[0])
                before = self._group(group).tcp.min_rto_ns
                after = max(before // _SHORTER_RTO, 1)
                left = max(left, after / before)
                values[f"{self._host(group)}.tcp.min_rto"] = format_duration(after)
        return _raise(bound, values, left=left)

    def delayed_ack(self, bound: Bound) -> Raise:
        """Half of the time for which the receiver delays acknowledgments."""
        self._need_simulator(bound)
        delay_ns = self._group(bound.node).tcp.delayed_ack_ns
        path = f"{self._host(bound.node)}.tcp.delayed_ack"
        return _raise(bound, {path: format_duration(delay_ns // 2)})

    def port(self, bound: Bound) -> Raise:
        """Four times the buffer of each port."""
        switch = next(one for one in self._run.network.switches if one.name == bound.node)
        size = getattr(switch.buffer, "port_buffer_bytes", None)
        if size is None:
            raise CannotRaiseError(f"the buffer of {bound.node} is not set by port")
        short = self.study.topology.switch is not None
        path = "topology.switch" if short else f"topology.switches.{bound.node}"
        values = {f"{path}.port_buffer": format_size(_BUFFER * size)}
        return _raise(bound, values, left=1 / _BUFFER)

    def round_trip(self, bound: Bound) -> Raise:
        """Half the delay of all links. Other parts of the round trip stay as they are."""
        values: dict[str, str] = {}
        for path, link in resolve(self.study.topology, self._levels).placed_links:
            at = ("topology", *path, "delay")
            each = link.delay
            parts = {"up": each.up, "down": each.down} if isinstance(each, DelayEachWay) else {}
            for key, delay in parts.items():
                values[dotted((*at, key))] = format_duration(concrete(delay) // 2)
            if each and not isinstance(each, DelayEachWay):
                values[dotted(at)] = format_duration(concrete(each) // 2)
        if not values:
            raise CannotRaiseError("no link has a delay that could be shortened")
        return _raise(bound, values, left=self._left_of_trips())

    def _left_of_trips(self) -> float:
        network = self._run.network
        halved = tuple(one.halved() for one in network.links)
        shorter = replace(self._run, network=network.model_copy(update={"links": halved}))
        return trips_s(self.workload, shorter) / trips_s(self.workload, self._run)

    def think_time(self, bound: Bound) -> Raise:
        """Half the think time."""
        work = self._run.workload
        found = planned_of(work).think(work)
        assert found is not None, "a workload with think times"
        key, think_ns = found
        return _raise(bound, {f"workload.{work.kind}.{key}": format_duration(think_ns // 2)})

    def more_load(self, bound: Bound) -> Raise:
        """Twice the level of the factor that sets the load, wherever the study refers to it."""
        if self.load is None:
            raise CannotRaiseError("no factor of the study sets the load")
        level = self.row.treatment[self.load]
        if isinstance(level, bool) or not isinstance(level, int | float):
            raise CannotRaiseError(f"the levels of {self.load} are no numbers")
        values = {
            dotted(path): f"{2 * level:g}"
            for part in ("topology", "workload")
            for path, ref in references(getattr(self.study, part), (part,))
            if ref.name == self.load
        }
        return _raise(bound, values)

    # ---- the cell

    @property
    def _levels(self) -> Mapping[str, Level]:
        return self.study.levels_of(self.row.treatment)

    @property
    def _is_simulated(self) -> bool:
        return is_simulated_in(self.row.runs)

    def _need_simulator(self, bound: Bound) -> None:
        if not self._is_simulated:
            raise CannotRaiseError(f"no key of the study raises the {bound.name}: it is real")

    def _group(self, name: str) -> Group:
        return self._run.network.group(name)

    def _host(self, group: str) -> str:
        return dotted(self.study.topology.host_path(group))


_RAISES: Final[Mapping[LimitKind, Callable[[Raiser, Bound], Raise]]] = {
    "link": Raiser.link,
    "port": Raiser.port,
    "packet_rate": Raiser.packet_rate,
    "cpu": Raiser.cpu,
    "generator": Raiser.cpu,
    "disk": Raiser.disk,
    "bus": Raiser.bus,
    "slots": Raiser.slots,
    "window": Raiser.window,
    "send_buffer": Raiser.window,
    "timeouts": Raiser.timeouts,
    "delayed_ack": Raiser.delayed_ack,
    "round_trip": Raiser.round_trip,
    "think_time": Raiser.think_time,
    "none": Raiser.more_load,
}
