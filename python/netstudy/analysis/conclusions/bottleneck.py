"""Finds the bottleneck of throughput: the utilisation of each candidate compared with its limit.

A candidate counts as at its limit if it uses at least the share `near` of that limit (`near` is set
by the study). If exactly one measured candidate is at its limit, it is the bottleneck; with several
or none, the question stays open. A candidate that was not measured is not ruled out. A candidate
without a known limit is ruled out only if its value was larger in another cell that uses the same
links.

One of several CPUs may be saturated while the others idle. If CPUs are not counted one by one, only
bounds are known for the busiest CPU: it is at least as busy as the mean of all CPUs, and at most it
spent all of the CPU time alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from netstudy.analysis.cells import CellRow
from netstudy.analysis.claims import Claim
from netstudy.analysis.conclusions.base import Drawn
from netstudy.analysis.conclusions.cells import Cells, Growth
from netstudy.analysis.intervals import Interval
from netstudy.analysis.line_rates import line_bps, links_of
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.nodes import node_metric
from netstudy.documents.problems import listed
from netstudy.study.conclusions.bottleneck import Bottleneck
from netstudy.study.conclusions.bottleneck import Candidate as Asked
from netstudy.study.levels import level_text
from netstudy.study.vocabulary import MACHINE, MetricName, Scope
from netstudy.wire import Host, Network, Switch, Treatment

if TYPE_CHECKING:
    from netstudy.study import Study

State = Literal[
    "at its limit", "may be at its limit", "not at its limit", "limit not known", "not measured"
]


@dataclass(frozen=True)
class Candidate:
    """A resource that may limit throughput, as measured in one cell."""

    name: str
    metric: Metric | None = None
    """The metric that was read; with several hosts, on the one nearest to its limit. None: not
    measured."""
    where: str | None = None
    """The host or link with this value, if there are several."""
    value: float | None = None
    """In the metric's unit."""
    limit: float | None = None
    """In the same unit."""
    share_pct: float | None = None
    """The value in percent of the limit; None if only an upper bound is known."""
    interval: Interval | None = None
    """The 95 % interval of that share."""
    at_most_pct: float | None = None
    """Upper bound of the share, where the value itself is not known."""
    state: State = "not measured"
    note: str = ""
    """A remark for the report: why there is no measurement, or how to read the value."""


@dataclass(frozen=True, eq=False)
class Limits:
    """The candidates at one setting, in the cell where throughput has stopped growing."""

    metric: Metric
    """The throughput metric."""
    row: CellRow
    held: Treatment
    factor: str | None
    """The factor along which throughput grows; None: there is none."""
    grows: bool
    """Whether no end of growth is shown: then perhaps no candidate has reached its limit."""
    near_pct: float
    candidates: tuple[Candidate, ...]
    """Ordered by their share of the limit, the highest first; unmeasured candidates last."""

    @property
    def reached(self) -> tuple[Candidate, ...]:
        """The candidates that are at their limits, or may be."""
        return tuple(
            one for one in self.candidates if one.state in ("at its limit", "may be at its limit")
        )

    @property
    def limit(self) -> Candidate | None:
        """The bottleneck: the only candidate in the state "at its limit"; others may be in the
        state "may be at its limit". None: undecided, or throughput still grows."""
        full = self.in_state("at its limit")
        return full[0] if len(full) == 1 and not self.grows else None

    @property
    def claim(self) -> Claim | None:
        """The claim that something limits throughput here."""
        if self.limit is None:
            return None
        levels = () if self.factor is None else (self.row.treatment[self.factor],)
        return Claim("limits", self.factor, levels, self.metric)

    def in_state(self, *states: State) -> tuple[Candidate, ...]:
        """The candidates in one of these states."""
        return tuple(one for one in self.candidates if one.state in states)


@dataclass(frozen=True, eq=False)
class Bottlenecks(Drawn[Bottleneck]):
    """The bottleneck of throughput."""

    kind = Bottleneck
    limits: tuple[Limits, ...]
    """One for each setting of the factors other than the load; without a load factor, one
    for each cell."""

    @classmethod
    def draw(cls, asked: Bottleneck, cells: Cells) -> Bottlenecks | None:
        """Examine the candidates at each setting."""
        found = tuple(_each_setting(asked, cells))
        return cls(found) if found else None

    @property
    def is_open(self) -> bool:
        """Whether it is decided at no setting."""
        return not self.claims()

    def claims(self) -> tuple[Claim, ...]:
        """That something limits throughput, at each setting where it is decided."""
        return tuple(claim for one in self.limits if (claim := one.claim) is not None)


def _each_setting(asked: Bottleneck, cells: Cells) -> Iterator[Limits]:
    found = list(cells.growths(cells.load))
    for growth in found:
        yield _of_growth(asked, cells, growth)
    metric = cells.throughput
    if not found and metric is not None:
        for row in cells.rows:
            if row.value(metric) is not None:
                yield _limits(asked, cells, row, None)


def _of_growth(asked: Bottleneck, cells: Cells, growth: Growth) -> Limits:
    """The limits at the best level of the plateau. If several candidates are at their limits there,
    looks for another level of the plateau that has the same throughput, within the noise, and only
    one of these candidates at its limit: the others have spare capacity there, so they are not the
    bottleneck."""
    metric, plateau = growth.metric, (growth.last_gain, *growth.beyond)
    best = _best(plateau, metric) or growth.last_gain
    first = _limits(asked, cells, best, growth)
    several = {one.name for one in first.in_state("at its limit")}
    if len(several) < 2:
        return first
    alike = [row for row in growth.beyond if row is not best and _is_alike(row, best, cells)]
    others = (_limits(asked, cells, row, growth) for row in alike)
    alone = (one for one in others if one.limit is not None and one.limit.name in several)
    return next(alone, first)


def _is_alike(row: CellRow, best: CellRow, cells: Cells) -> bool:
    """True if two cells have the same throughput, within the study's noise."""
    metric = cells.throughput
    value, most = (None, None) if metric is None else (row.value(metric), best.value(metric))
    if value is None or most is None:
        return False
    return abs(value - most) <= abs(most) * (cells.study.margin_pct or 0.0) / 100


def _best(rows: Sequence[CellRow], metric: Metric) -> CellRow | None:
    """The row with the best value of the metric; the first of equal ones."""
    known = [(value, row) for row in rows if (value := row.value(metric)) is not None]
    most = min if metric.direction == "lower" else max
    return most(known, key=lambda one: one[0])[1] if known else None


def _limits(asked: Bottleneck, cells: Cells, row: CellRow, growth: Growth | None) -> Limits:
    metric = cells.throughput
    assert metric is not None, "without a throughput metric, no cell is examined"
    return Limits(
        metric=metric,
        row=row,
        held=growth.held if growth else cells.setting(row),
        factor=growth.factor if growth else None,
        grows=growth is not None and not growth.has_ended and not _is_short(cells, row),
        near_pct=asked.near,
        candidates=_candidates(asked, cells, row),
    )


def candidates_at(cells: Cells, row: CellRow) -> tuple[Candidate, ...]:
    """The candidates in one cell: the ones that the study's `bottleneck` names, else the usual
    ones."""
    own = (one for one in cells.study.conclude if isinstance(one, Bottleneck))
    return _candidates(next(own, Bottleneck(bottleneck=True)), cells, row)


def _candidates(asked: Bottleneck, cells: Cells, row: CellRow) -> tuple[Candidate, ...]:
    look = _Look(cells, row, asked.near)
    own = asked.candidates.items()
    found = look.asked(own) if own else look.standard()
    return tuple(sorted(found, key=_fullest_first))


def _is_short(cells: Cells, row: CellRow) -> bool:
    """Whether less was served than offered, by more than the noise: then growth has ended, even if
    this level still gained."""
    met = cells.table.workload.met
    share = None if met is None else row.value(met)
    return share is not None and share < 100.0 - max(cells.study.margin_pct or 0.0, _MET_MARGIN_PCT)


_MET_MARGIN_PCT: Final = 1.0
"""Margin for requests still in flight at the end of a phase: offered, but not yet served."""


def _fullest_first(one: Candidate) -> tuple[int, float]:
    if one.share_pct is not None:
        return 0, -one.share_pct
    return (1, -one.at_most_pct) if one.at_most_pct is not None else (2, 0.0)


Member = tuple[str | None, MetricName]
"""A host, and the metric to read there; the host is None if there is only one."""
_OF_HOSTS: Final = (
    ("disk of {name}", "disk_busy_pct"),
    ("memory bus of {name}", "memory_bus_busy_pct"),
    ("I/O bus of {name}", "io_bus_busy_pct"),
    ("receive window of those that {name} sends to", "receiver_limited_pct"),
    ("send buffers of {name}", "sender_limited_pct"),
)
"""Candidates of a host that are listed only where they are measured."""
_OF_MACHINES: Final = (
    ("CPUs of the machine below all hosts", "cpu_pct"),
    ("disk of the machine below all hosts", "disk_busy_pct"),
)


@dataclass(frozen=True, eq=False)
class _Look:
    """Looks at the candidates in one cell."""

    cells: Cells
    row: CellRow
    near_pct: float

    @property
    def network(self) -> Network:
        return self.row.planned[0].network

    @property
    def study(self) -> Study:
        return self.cells.study

    # ---- candidates that the study names

    def asked(self, candidates: Iterable[tuple[str, Asked]]) -> Iterator[Candidate]:
        for name, one in candidates:
            members = self._members(one.metric)
            found = self._fullest(name, members, one.limit)
            yield self._without_limit(name, members) if found.metric is None else found

    def _without_limit(self, name: str, members: Sequence[Member]) -> Candidate:
        """Checks a candidate without a known limit: it is ruled out if its value was larger in
        another cell."""
        read = [(who, metric_named(one, self.cells.table.vocabulary)) for who, one in members]
        known = [
            (value, who, metric)
            for who, metric in read
            if metric is not None and (value := self.row.value(metric)) is not None
        ]
        if not known or len(known) < len(members):
            return Candidate(name, note="not measured")
        value, who, metric = max(known, key=lambda one: one[0])
        elsewhere = self._most_elsewhere(metric)
        noise = 1 + (self.study.margin_pct or 0.0) / 100
        is_more = elsewhere is not None and elsewhere[0] > value * noise
        note = f"the most over these links was at {elsewhere[1]}" if is_more and elsewhere else ""
        return Candidate(
            name=name,
            metric=metric,
            where=who if len(members) > 1 else None,
            value=value,
            state="not at its limit" if is_more else "limit not known",
            note=note,
        )

    def _most_elsewhere(self, metric: Metric) -> tuple[float, str] | None:
        """The largest value of the metric in other cells that use the same links, and the levels of
        that cell."""
        links = self.network.links
        found = [
            (value, row)
            for row in self.cells.rows
            if row is not self.row
            and links
            and row.planned[0].network.links == links
            and (value := row.value(metric)) is not None
        ]
        if not found:
            return None
        value, row = max(found, key=lambda one: one[0])
        return value, ", ".join(f"{name} {level_text(v)}" for name, v in row.treatment.items())

    def _members(self, name: MetricName) -> list[Member]:
        """The hosts that the scope of a metric covers, and the name of the metric at each host."""
        if name.scope is None or not self.network.nodes:
            return [(None, name)]
        node, towards = name.scope.node, name.scope.towards
        hosts, others = self._hosts(node), self._hosts(towards) if towards else []
        if len(hosts) > 1:
            return [(one, replace(name, scope=Scope(one, towards))) for one in hosts]
        if len(others) > 1:
            return [(one, replace(name, scope=Scope(node, one))) for one in others]
        return [(None, name)]

    def _hosts(self, group: str) -> list[str]:
        return [host.name for host in self.network.hosts if host.group == group]

    # ---- candidates of any study

    def standard(self) -> Iterator[Candidate]:
        """The candidates of any study: CPUs, disks, buses and windows of hosts; links; switches;
        and the machine that they all run on."""
        if not self.network.nodes:
            yield from self._of_published()
            return
        groups = self._groups()
        for group in groups:
            yield from self._cpus(group)
        links = list(self._links(groups))
        yield from links
        full = [one.name for one in links if one.state in ("at its limit", "may be at its limit")]
        for switch in self.network.switches:
            yield self._switch(switch, [name for name in full if name.startswith(_from(switch))])
        for group in groups:
            for title, base in _OF_HOSTS:
                name = title.format(name=group)
                found = self._fullest(name, self._members(_at(group, base)), None)
                if found.state != "not measured":
                    yield found
        for name, base in _OF_MACHINES:
            found = self._fullest(name, [(None, _at(MACHINE, base))], None)
            if found.state != "not measured":
                yield found

    def _groups(self) -> list[str]:
        """Groups of the hosts that take part in the workload."""
        roles = self.row.planned[0].workload.roles
        members = (*roles.server, *getattr(roles, "database", ()), *roles.client)
        nodes = [self.network.node(one.partition("@")[0]) for one in members]
        hosts = [one if isinstance(one, Host) else self._host_of(one.name) for one in nodes]
        return list(dict.fromkeys(host.group for host in hosts))

    def _host_of(self, zone: str) -> Host:
        host = next(one.host for one in self.network.zones if one.name == zone)
        found = self.network.node(host)
        assert isinstance(found, Host), "a zone is in a host"
        return found

    def _cpus(self, group: str) -> Iterator[Candidate]:
        found = self._fullest(f"CPUs of {group}", self._members(_at(group, "cpu_pct")), None)
        yield found
        several = [count for count in map(self._cpu_count, self._hosts(group)) if count]
        if found.share_pct is None or not several or max(several) <= 1:
            return
        yield self._one_cpu(group, found.share_pct, max(several))

    def _cpu_count(self, host: str) -> float | None:
        known = [run.record.nodes[host].cpus for run in self.row.runs if host in run.record.nodes]
        return next((one for one in known if one is not None), None)

    def _one_cpu(self, group: str, mean_pct: float, cpus: float) -> Candidate:
        """A candidate for the busiest CPU of a host that counted only the total of all CPUs."""
        most = min(100.0, mean_pct * cpus)
        is_open = most >= self.near_pct
        return Candidate(
            name=f"one CPU of {group}",
            limit=100.0,
            at_most_pct=most,
            state="may be at its limit" if is_open else "not at its limit",
            note="CPUs were not counted one by one; the busiest carries at most the time of all",
        )

    def _links(self, groups: Sequence[str]) -> Iterator[Candidate]:
        """For each pair of groups or switches, in each direction: the link with the highest
        utilisation."""
        found: dict[str, list[tuple[str | None, MetricName, MetricName]]] = {}
        for link in self.network.links:
            for near, far in (link.ports, link.ports[::-1]):
                ends = [self._end(node) for node in (near.node, far.node)]
                if all(name in groups or is_switch for name, is_switch in ends):
                    title = f"link from {ends[0][0]} to {ends[1][0]}"
                    read = self._read_at(near.node, far.node)
                    found.setdefault(title, []).append((f"{near.node} to {far.node}", *read))
        for title, links in found.items():
            first = self._fullest(title, [(who, name) for who, name, _ in links], None, links)
            if first.state == "not measured":
                first = self._fullest(title, [(who, name) for who, _, name in links], None, links)
            yield first

    def _end(self, node: str) -> tuple[str, bool]:
        found = self.network.node(node)
        if isinstance(found, Host):
            return found.group, False
        return found.name, isinstance(found, Switch)

    def _read_at(self, near: str, far: str) -> tuple[MetricName, MetricName]:
        """Two metrics of the utilisation from near to far: as counted at the switch port
        (preferred), and as counted by the host at the other end."""
        if isinstance(self.network.node(far), Switch):
            of_switch = MetricName(Scope(far, near), "port_in_utilisation_pct")
            return of_switch, MetricName(Scope(near, far), "send_utilisation_pct")
        of_switch = MetricName(Scope(near, far), "port_utilisation_pct")
        return of_switch, MetricName(Scope(far, near), "receive_utilisation_pct")

    def _switch(self, switch: Switch, full: Sequence[str]) -> Candidate:
        """A switch has no utilisation: it forwards every frame or drops it. Drops at the port of a
        link that is at its limit are attributed to the link."""
        metric = node_metric(_at(switch.name, "port_drops"))
        dropped = self.row.value(metric)
        name = _switch_title(switch.name)
        if dropped is None:
            return Candidate(name, note="its drops were not counted")
        return Candidate(
            name=name,
            metric=metric,
            value=dropped,
            state="may be at its limit" if dropped and not full else "not at its limit",
            note=_of_drops(dropped, full),
        )

    # ---- candidates of published runs, which have no network

    def _of_published(self) -> Iterator[Candidate]:
        """Hosts, links and switches of the study's topology, as far as values were published."""
        groups = {
            name: host
            for name, host in self.study.topology.groups.items()
            if host.profile is not None
        }
        for group in groups:
            yield self._published(f"CPUs of {group}", (_at(group, "cpu_pct"),))
        switches = self.study.topology.all_switches
        for link in links_of(self.study, self.row):
            ends = [place.group for place in link.between]
            if all(end in groups or end in switches for end in ends):
                for near, far in (ends, ends[::-1]):
                    names = _published_names(near, far, is_switch=far in switches)
                    yield self._published(f"link from {near} to {far}", names)
        for name in switches:
            yield self._published(_switch_title(name), (_at(name, "port_drops"),))
        for group in groups:
            yield self._published(f"disk of {group}", (_at(group, "disk_busy_pct"),))

    def _published(self, name: str, metrics: Sequence[MetricName]) -> Candidate:
        for metric in metrics:
            found = self._one(name, None, metric, None)
            if found is not None:
                return found
        return Candidate(name, note="not published")

    # ---- one value against its limit

    def _fullest(
        self,
        name: str,
        members: Sequence[Member],
        limit: float | None,
        several: Sequence[object] | None = None,
    ) -> Candidate:
        """The candidate as measured at the host or link with the highest share of the limit; counts
        as not measured if some host or link has no value."""
        found = [self._one(name, who, metric, limit) for who, metric in members]
        known = [one for one in found if one is not None]
        if not known or len(known) < len(found):
            return Candidate(name, note="not measured")
        fullest = max(known, key=lambda one: one.share_pct or 0.0)
        return fullest if len(several or members) > 1 else _nowhere(fullest)

    def _one(
        self, name: str, who: str | None, read: MetricName, limit: float | None
    ) -> Candidate | None:
        metric = metric_named(read, self.cells.table.vocabulary)
        estimate = None if metric is None else self.row.estimate(metric)
        most = self._limit(read) if limit is None else limit
        if metric is None or estimate is None or not most:
            return None
        interval = estimate.interval
        shares = None if interval is None else _scaled(interval, 100 / most)
        share = 100 * estimate.value / most
        return Candidate(
            name=name,
            metric=metric,
            where=who,
            value=estimate.value,
            limit=most,
            share_pct=share,
            interval=shares,
            state=self._state(share, shares),
        )

    def _limit(self, name: MetricName) -> float | None:
        """100 for a percentage, else the line rate in Mbit/s."""
        if name.base.endswith("_pct"):
            return 100.0
        rate = line_bps(self.study, self.row, name)
        return None if rate is None else rate / 1e6

    def _state(self, share_pct: float, interval: Interval | None) -> State:
        if share_pct >= self.near_pct:
            return "at its limit"
        if interval is not None and interval.high >= self.near_pct:
            return "may be at its limit"
        return "not at its limit"


def _switch_title(name: str) -> str:
    return name if "switch" in name else f"switch {name}"


def _from(switch: Switch) -> str:
    return f"link from {switch.name} to "


def _of_drops(dropped: float, full: Sequence[str]) -> str:
    if not dropped:
        return "it dropped no frame"
    return f"it dropped frames in front of the {listed(full)}" if full else "it dropped frames"


def _published_names(near: str, far: str, *, is_switch: bool) -> tuple[MetricName, ...]:
    """The metrics that a publication may give for one direction of a link."""
    if is_switch:
        of_switch = MetricName(Scope(far, near), "port_in_mbps")
        return of_switch, MetricName(Scope(near, far), "send_mbps"), _at(near, "send_mbps")
    of_switch = MetricName(Scope(near, far), "port_out_mbps")
    return of_switch, MetricName(Scope(far, near), "receive_mbps"), _at(far, "receive_mbps")


def _at(node: str, base: str) -> MetricName:
    return MetricName(Scope(node), base)


def _nowhere(one: Candidate) -> Candidate:
    """The candidate without `where`: the host or link needs no name if there is only one."""
    return Candidate(**{**one.__dict__, "where": None})


def _scaled(interval: Interval, factor: float) -> Interval:
    return Interval(interval.low * factor, interval.high * factor)
