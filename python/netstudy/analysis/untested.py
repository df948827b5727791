"""Finds questions that a study asks but cannot test: in its plan before it runs, and in its records
afterwards.

The kind of a factor is determined by the settings that its levels change: only buffers of switches,
only the minimum RTO, only loss recovery, or only congestion control.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.effects import pair_effects
from netstudy.analysis.ideal import split
from netstudy.analysis.nodes import GOODPUT, is_sampled
from netstudy.analysis.samples import RunSample, dropped_at_ports
from netstudy.analysis.settings import settings_of
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.analysis.workloads.signals import marks, pauses, ring_drops
from netstudy.plan.identity import canonical
from netstudy.study.vocabulary import LINK, MACHINE, MetricName
from netstudy.units import CHECK_SEQUENCE_BYTES, ETHERNET_HEADER_BYTES, header_bytes
from netstudy.wire import (
    Group,
    Level,
    Network,
    Plan,
    Run,
    Switch,
    UntilTime,
)

if TYPE_CHECKING:
    from netstudy.study import Study

Kind = Literal[
    "same levels",
    "same program",
    "same program differs",
    "nothing marks",
    "nobody listens",
    "never marks",
    "cannot fill",
    "never filled",
    "no timeout",
    "no loss",
    "no signal",
    "no mark",
    "no PAUSE",
    "not sampled",
    "too seldom",
    "few repetitions",
]


@dataclass(frozen=True)
class Depth:
    """The size of a buffer at one level, and the largest number of bytes that were, or could be, in
    the buffer."""

    level: Level
    size_bytes: int
    most_bytes: int | None
    """After the runs, the longest queue of any run; before, the most data that senders can have in
    flight. None: not known."""


@dataclass(frozen=True)
class Untested:
    """A question that the study cannot answer as it is."""

    kind: Kind
    factor: str | None = None
    levels: tuple[Level, ...] = ()
    nodes: tuple[str, ...] = ()
    """The groups of hosts or the switches concerned."""
    dctcp: bool = False
    """For questions about ECN: whether DCTCP uses it."""
    depths: tuple[Depth, ...] = ()
    metric: str = ""
    """The metric in which equal levels differ; for the kind "too seldom", the name of the probe or
    sampler."""
    unsampled: MetricName | None = None
    """The metric of a node that no instrument samples."""
    every_ns: int = 0
    """Time between two samples of the probe or sampler."""
    phase_ns: int = 0
    """Length of the measuring phase, which is shorter than `every_ns`."""
    repetitions: int = 0
    """Largest number of repetitions of any setting, if there are too few."""
    repetitions_min: int = 0
    """Number of repetitions that a conclusion of the study needs, if there are too few."""


_KINDS: Final[Mapping[str, re.Pattern[str]]] = {
    "buffer": re.compile(r"\.buffer\.[a-z_]+$"),
    "min rto": re.compile(r"\.tcp\.min_rto_ns$"),
    "recovery": re.compile(r"\.tcp\.(recovery|rack|tail_loss_probe|sack)$"),
    "control": re.compile(r"\.tcp\.congestion_control$"),
}
"""Kind of a factor -> pattern of settings; a factor is of this kind if its levels change only such
settings."""
_VARIANT: Final = "workload.application.variant"
_NAMES: Final = re.compile(r"(^|\.)(profile|application\.variant)$")
"""Settings without an effect of their own: the name of a profile, or the name of a build of the
application."""


@dataclass(frozen=True, eq=False)
class _Design:
    """The treatments of a plan, and what each factor changes."""

    runs: tuple[Run, ...]
    """One run of each treatment."""
    order: Mapping[str, Sequence[Level]]
    """Factor -> its levels, in the study's order."""

    @classmethod
    def of(cls, plan: Plan, order: Mapping[str, Sequence[Level]]) -> _Design:
        first: dict[object, Run] = {}
        for run in plan.runs:
            if run.network.nodes:
                first.setdefault(tuple(sorted(run.treatment.items(), key=lambda i: i[0])), run)
        return cls(tuple(first.values()), order)

    @cached_property
    def levels(self) -> dict[str, tuple[Level, ...]]:
        """Factor -> its levels, for factors with several."""
        found: dict[str, set[Level]] = {}
        for run in self.runs:
            for factor, level in run.treatment.items():
                found.setdefault(factor, set()).add(level)
        return {
            factor: tuple(level for level in levels if level in found.get(factor, ()))
            for factor, levels in self.order.items()
            if len(found.get(factor, ())) > 1
        }

    def groups(self, factor: str) -> Iterator[dict[Level, Run]]:
        """Groups of runs that differ only in this factor; each group maps the levels to their
        runs."""
        found: dict[object, dict[Level, Run]] = {}
        for run in self.runs:
            rest = tuple(
                sorted((i for i in run.treatment.items() if i[0] != factor), key=lambda i: i[0])
            )
            if factor in run.treatment:
                found.setdefault(rest, {})[run.treatment[factor]] = run
        return (group for group in found.values() if len(group) > 1)

    def about(self, factor: str) -> str | None:
        """The kind of a factor, determined by the settings that its levels change in the first of
        its groups."""
        group = next(self.groups(factor), None)
        if group is None:
            return None
        first, *others = group.values()
        base, kinds = _settings(first), dict(_KINDS)
        for other in others:
            settings = _settings(other)
            changed = [
                key for key in base.keys() | settings.keys() if base.get(key) != settings.get(key)
            ]
            kinds = {
                kind: of for kind, of in kinds.items() if changed and all(map(of.search, changed))
            }
            if not kinds:
                return None
        return next(iter(kinds))

    def equal_levels(self, factor: str) -> Iterator[tuple[Level, ...]]:
        """Sets of levels that have equal settings in every group that contains several of these
        levels."""
        classes: list[set[Level]] = [set(self.levels[factor])]
        groups = list(self.groups(factor))
        for group in groups:
            classes = list(_refined(classes, group))
            if not classes:
                return
        for one in classes:
            together = [met for group in groups if len(met := one & group.keys()) > 1]
            seen = set[Level]().union(*together)
            if seen:
                yield tuple(level for level in self.levels[factor] if level in seen)


def _settings(run: Run) -> dict[str, object]:
    return {key: value for key, value in settings_of(run).items() if not _NAMES.search(key)}


def _refined(classes: Iterable[set[Level]], group: Mapping[Level, Run]) -> Iterator[set[Level]]:
    """Splits each class of levels where settings differ between levels in the group; drops classes
    with a single level."""
    for one in classes:
        parts: dict[object, set[Level]] = {}
        sizes: dict[object, list[Level]] = {}
        for level in one & group.keys():
            run = group[level]
            key = (len(run.network.nodes), len(run.network.links), run.workload.roles)
            sizes.setdefault(repr(key), []).append(level)
        for same in sizes.values():
            for level in same:
                # If no other level has the same network size, the level differs from all others
                # anyway.
                told = repr(sorted(_settings(group[level]).items())) if len(same) > 1 else level
                parts.setdefault(told, set()).add(level)
        absent = one - group.keys()
        yield from (part | absent for part in parts.values() if len(part | absent) > 1)


def of_plan(
    study: Study, plan: Plan, workload: WorkloadAnalysis, repetitions: int | None = None
) -> tuple[Untested, ...]:
    """Questions that a plan cannot test, whatever the results. If switches mark frames but no host
    reacts, this is reported only if the study itself sets a threshold, because profiles always set
    one.

    `repetitions`: the number of repetitions per setting, if the plan contains only one run of each
    setting.
    """
    design = _Design.of(plan, {name: factor.names for name, factor in study.factors.items()})
    switches = study.topology.all_switches.values()
    wants_marks = any(switch.ecn_threshold is not None for switch in switches)
    return (
        *_equal(design),
        *(one for one in _marking(design) if wants_marks or one.kind != "nobody listens"),
        *_unfillable(design, workload),
        *_unsampled(study, design),
        *_too_seldom(design),
        *_too_few_repetitions(study, plan, repetitions),
    )


def _too_few_repetitions(study: Study, plan: Plan, repetitions: int | None) -> Iterator[Untested]:
    needed = max((asked.repetitions_min for asked in study.conclude), default=1)
    counts = Counter(canonical(run.treatment) for run in plan.runs)
    most = repetitions or max(counts.values(), default=0)
    if most < needed:
        yield Untested("few repetitions", repetitions=most, repetitions_min=needed)


_KEYS: Final = {"host": "sar"}
"""Kind of instrument in a plan -> the instrument's key in a study, if the two differ."""


def _too_seldom(design: _Design) -> Iterator[Untested]:
    """Probes and samplers whose period is longer than the measuring phase."""
    found: dict[str, Untested] = {}
    for run in design.runs:
        until = next(phase.until for phase in run.phases if phase.kind == "measure")
        if not isinstance(until, UntilTime):
            continue
        asked = [(_KEYS.get(one.kind, one.kind), one.every_ns) for one in run.instruments]
        if run.probe is not None:
            asked.append(("probe", run.probe.every_ns))
        for who, every_ns in asked:
            if every_ns > until.ns:
                one = Untested("too seldom", metric=who, every_ns=every_ns, phase_ns=until.ns)
                found.setdefault(who, one)
    yield from found.values()


def _unsampled(study: Study, design: _Design) -> Iterator[Untested]:
    """Metrics of time-series figures that no instrument samples."""
    courses = (one for _, one in study.figures if one.name is None and one.kind == "time series")
    for name in dict.fromkeys(metric for one in courses for metric in one.metrics):
        at_node = name.scope is not None and name.scope.node not in (LINK, MACHINE)
        if not at_node or name.base == GOODPUT or not design.runs:
            continue
        if not any(is_sampled(run, name) for run in design.runs):
            yield Untested("not sampled", unsampled=name)


def _equal(design: _Design) -> Iterator[Untested]:
    for factor in design.levels:
        for levels in design.equal_levels(factor):
            kind: Kind = "same program" if _are_variants(design, factor) else "same levels"
            yield Untested(kind, factor, levels)


def _are_variants(design: _Design, factor: str) -> bool:
    """Whether the levels name different variants of an application."""
    group = next(design.groups(factor), {})
    return len({str(settings_of(run).get(_VARIANT)) for run in group.values()}) > 1


def _marking(design: _Design) -> Iterator[Untested]:
    """ECN on one side only: hosts with ECN but no marking switch on their paths, or marking
    switches but no hosts with ECN. Also marking thresholds that no queue can reach."""
    of_hosts = {run.id: _listening(run) for run in design.runs}
    of_switches = {run.id: _marking_switches(run) for run in design.runs}
    hosts = dict.fromkeys(name for names in of_hosts.values() for name in names)
    switches = dict.fromkeys(name for names in of_switches.values() for name in names)
    if any(of_hosts[run.id] and of_switches[run.id] for run in design.runs):
        high = [name for name in switches if _is_never_reached(name, design.runs)]
        if high:
            yield Untested("never marks", nodes=tuple(high))
        return
    if not switches:
        alone = (name for run in design.runs for name in _dctcp_senders(run))
        hosts |= dict.fromkeys(alone)
    if hosts:
        dctcp = any(
            _is_dctcp(group)
            for run in design.runs
            for group in run.network.groups
            if group.name in hosts
        )
        yield Untested("nothing marks", nodes=tuple(hosts), dctcp=dctcp)
    if switches:
        yield Untested("nobody listens", nodes=tuple(switches))


def _is_never_reached(name: str, runs: Iterable[Run]) -> bool:
    """True if in every run the ECN threshold of the switch is not below the longest queue that its
    buffer allows."""
    marking = [
        switch
        for run in runs
        for switch in run.network.switches
        if switch.name == name and switch.ecn_threshold_bytes is not None
    ]
    return all(
        (one.ecn_threshold_bytes or 0) >= one.buffer.longest_queue_bytes(one.ports)
        for one in marking
    )


def _listening(run: Run) -> tuple[str, ...]:
    """Groups of senders that negotiate ECN with the other end of their connections."""
    groups, found = _groups(run.network), dict[str, None]()
    for client, server in run.workload.connected:
        ends = {"client": groups[split(client)[0]], "server": groups[split(server)[0]]}
        if all(group.tcp.ecn or _is_dctcp(group) for group in ends.values()):
            found.update((ends[role].name, None) for role in run.workload.sending)
    return tuple(found)


def _dctcp_senders(run: Run) -> Iterator[str]:
    """Groups of senders with DCTCP, even if the other end of the connection does not have ECN."""
    groups = _groups(run.network)
    for client, server in run.workload.connected:
        ends = {"client": groups[split(client)[0]], "server": groups[split(server)[0]]}
        yield from (ends[role].name for role in run.workload.sending if _is_dctcp(ends[role]))


def _groups(network: Network) -> dict[str, Group]:
    """Node -> its group, as a mapping for fast look-up."""
    by_name = {group.name: group for group in network.groups}
    return {
        node.name: by_name[node.group] for node in network.nodes if not isinstance(node, Switch)
    }


def _is_dctcp(group: Group) -> bool:
    return group.tcp.congestion_control == "dctcp"


def _marking_switches(run: Run) -> tuple[str, ...]:
    """Switches with an ECN threshold on a shortest path between the ends of a connection."""
    marking = {s.name for s in run.network.switches if s.ecn_threshold_bytes is not None}
    if not marking:
        return ()
    hosts = {node.name: node.host for node in run.network.zones}
    partners: dict[str, set[str]] = {}
    for ends in run.workload.connected:
        here, there = (hosts.get(name, name) for name in (split(member)[0] for member in ends))
        partners.setdefault(here, set()).add(there)
    near = _neighbours(run.network)
    on_path = {name for here, there in partners.items() for name in _between(near, here, there)}
    return tuple(sorted(marking & on_path))


def _neighbours(network: Network) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {node.name: [] for node in network.nodes}
    for link in network.links:
        found[link.a.node].append(link.b.node)
        found[link.b.node].append(link.a.node)
    return found


def _between(near: Mapping[str, Sequence[str]], start: str, ends: Iterable[str]) -> set[str]:
    """Every node on a shortest path from `start` to one of `ends`."""
    distance, before, queue = {start: 0}, dict[str, list[str]](), deque([start])
    while queue:
        node = queue.popleft()
        for after in near[node]:
            if after not in distance:
                distance[after] = distance[node] + 1
                queue.append(after)
            if distance[after] == distance[node] + 1:
                before.setdefault(after, []).append(node)
    found: set[str] = set()
    left = [end for end in ends if end in distance]
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += before.get(node, [])
    return found


def _unfillable(design: _Design, workload: WorkloadAnalysis) -> Iterator[Untested]:
    """Levels of a buffer that all senders together cannot fill, so that these levels make no
    difference."""
    for factor in design.levels:
        if design.about(factor) != "buffer":
            continue
        depths = []
        for level in design.levels[factor]:
            each = [
                Depth(level, _smallest_buffer(run), _at_once(run, workload))
                for run in design.runs
                if run.treatment.get(factor) == level
            ]
            if all(one.most_bytes is not None and one.most_bytes <= one.size_bytes for one in each):
                depths.append(max(each, key=lambda one: one.most_bytes or 0))
        if len(depths) > 1:
            levels = tuple(one.level for one in depths)
            yield Untested("cannot fill", factor, levels, depths=tuple(depths))


def _smallest_buffer(run: Run) -> int:
    return min(switch.buffer.queue_bytes() for switch in run.network.switches)


def _at_once(run: Run, workload: WorkloadAnalysis) -> int | None:
    """Most bytes of frames that all senders together can have in flight; None: not known."""
    if workload.offered is None:
        return None
    total = 0.0
    groups = _groups(run.network)
    mtu = min(link.mtu_bytes for link in run.network.links)  # most headers, for an upper bound
    for (client, server), offered in zip(
        run.workload.connected, workload.offered(run), strict=True
    ):
        ends = {"client": groups[split(client)[0]], "server": groups[split(server)[0]]}
        for role in run.workload.sending:
            sender = ends[role].tcp
            receiver = ends["server" if role == "client" else "client"].tcp
            window = min(sender.send_buffer_bytes, receiver.receive_buffer_bytes)
            payload = window if offered is None else min(window, offered)
            full = mtu - header_bytes(timestamps=sender.timestamps)
            total += payload * (mtu + ETHERNET_HEADER_BYTES + CHECK_SEQUENCE_BYTES) / full
    return int(total)


def of_records(
    plan: Plan, cells: CellTable, margin_pct: float | None = None
) -> tuple[Untested, ...]:
    """Questions that were not tested because a condition, such as a full buffer, a timeout or a
    loss, did not occur in any run. Also levels that run the same program, but whose results differ
    by more than the noise."""
    design = _Design.of(plan, cells.factors)
    rows = [row for row in cells.rows if row.runs]
    if not rows or not design.runs:
        return ()
    about = {factor: design.about(factor) for factor in design.levels}
    return (
        *_differing(design, cells, margin_pct),
        *_unfilled(rows, about, cells.factors),
        *_unhurt(rows, about, cells),
        *_unmarked(rows),
        *_unpaused(rows),
    )


def _differing(design: _Design, cells: CellTable, margin_pct: float | None) -> Iterator[Untested]:
    for one in _equal(design):
        if one.kind != "same program" or one.factor is None:
            continue
        metric = cells.workload.throughput
        found = pair_effects(cells.rows, design.levels, metric, margin_pct).get(one.factor, ())
        for pair in found:
            if pair.is_shown and {pair.level, pair.base} <= set(one.levels):
                levels = (pair.level, pair.base)
                yield Untested("same program differs", one.factor, levels, metric=metric.label)


def _unfilled(
    rows: Sequence[CellRow],
    about: Mapping[str, str | None],
    factors: Mapping[str, Sequence[Level]],
) -> Iterator[Untested]:
    """Levels of a buffer that was never full: no run had drops or PAUSE frames."""
    for factor, kind in about.items():
        if kind != "buffer":
            continue
        depths = []
        for level in factors[factor]:
            runs = [run for row in rows if row.treatment.get(factor) == level for run in row.runs]
            if not runs or not all(dropped_at_ports(run.record) == 0 for run in runs):
                continue
            if any(pauses(run.record) for run in runs):
                continue
            depths.append(_deepest(level, runs))
        if len(depths) > 1:
            levels = tuple(one.level for one in depths)
            yield Untested("never filled", factor, levels, depths=tuple(depths))


def _deepest(level: Level, runs: Sequence[RunSample]) -> Depth:
    found = [value for run in runs if (value := _longest_queue(run)) is not None]
    most = max(found) if found and len(found) == len(runs) else None
    return Depth(level, _smallest_buffer(runs[0].planned), most)


_LONGEST = "queue_bytes_max"


def _longest_queue(run: RunSample) -> int | None:
    grown = [
        run.record.growth({name: read for name, read in readings.items() if name == _LONGEST})
        for switch in run.planned.network.switches
        for readings in run.record.ports.get(switch.name, {}).values()
    ]
    known = [longest for one in grown for longest in one.values()]
    return max(known) if known else None


def _unhurt(
    rows: Sequence[CellRow], about: Mapping[str, str | None], cells: CellTable
) -> Iterator[Untested]:
    """TCP factors that could have no effect because no event triggered them: no timeout, no loss or
    no congestion signal occurred."""

    def never(found: Callable[[CellRow], float | None]) -> bool:
        return all(found(row) == 0 for row in rows)

    workload = cells.workload
    lost = [
        never(lambda row: row.value(workload.retransmissions)),
        never(lambda row: _total(row, dropped_at_ports)),
    ]
    unmarked = never(lambda row: _total(row, marks)) and never(lambda row: _total(row, ring_drops))
    for factor, kind in about.items():
        levels = tuple(cells.factors[factor])
        if kind == "min rto" and never(lambda row: row.value(workload.timeouts)):
            yield Untested("no timeout", factor, levels)
        elif kind == "recovery" and all(lost):
            yield Untested("no loss", factor, levels)
        elif kind == "control" and all(lost) and unmarked:
            yield Untested("no signal", factor, levels)


def _total(row: CellRow, count: Callable[..., int | None]) -> int | None:
    found = [count(run.record) for run in row.runs]
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None


def _unmarked(rows: Sequence[CellRow]) -> Iterator[Untested]:
    """Switches that would mark frames of hosts with ECN, but whose queues never reached the
    threshold."""
    able = [row for row in rows if _listening(row.planned[0]) and _marking_switches(row.planned[0])]
    if able and all(_total(row, marks) == 0 for row in able):
        switches = dict.fromkeys(name for row in able for name in _marking_switches(row.planned[0]))
        dctcp = any(_is_dctcp(group) for row in able for group in row.planned[0].network.groups)
        yield Untested("no mark", nodes=tuple(switches), dctcp=dctcp)


def _unpaused(rows: Sequence[CellRow]) -> Iterator[Untested]:
    """Switches and hosts that may send PAUSE, but never reached their threshold."""
    asking = [(row, names) for row in rows if (names := _asking(row.planned[0]))]
    if asking and all(_total(row, pauses) == 0 for row, _ in asking):
        nodes = dict.fromkeys(name for _, names in asking for name in names)
        yield Untested("no PAUSE", nodes=tuple(nodes))


def _asking(run: Run) -> tuple[str, ...]:
    """Switches and groups of hosts that can send PAUSE, because they have an XOFF threshold."""
    switches = [s.name for s in run.network.switches if _asks(s)]
    hosts = [g.name for g in run.network.groups if g.nic.pause_high_frames is not None]
    return (*switches, *hosts)


def _asks(switch: Switch) -> bool:
    return switch.pause_high_bytes is not None
