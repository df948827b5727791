"""ECN that could not act: nothing marks, nobody listens, or no queue reaches the threshold."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from netstudy.analysis.caveats.base import COMPARISONS, Analysed, Caveat, Planned
from netstudy.analysis.claims import Claim
from netstudy.analysis.design import groups_of_nodes
from netstudy.analysis.ideal import split
from netstudy.analysis.workloads.signals import marks
from netstudy.wire import Group, Network, Run


@dataclass(frozen=True)
class NoMarking(Caveat):
    """ECN that could not act."""

    factors: tuple[str, ...]
    """Factors that change ECN only."""

    def forbids(self, claim: Claim) -> bool:
        """Comparisons of settings of ECN, which never acted."""
        return claim.kind in COMPARISONS and claim.factor in self.factors


@dataclass(frozen=True)
class NothingMarks(NoMarking):
    """Hosts with ECN, but no marking switch on their paths."""

    hosts: tuple[str, ...]
    """Groups of hosts."""
    dctcp: bool
    """Whether DCTCP uses ECN."""

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[NothingMarks]:
        """One caveat for all of them."""
        runs = planned.design.runs
        if _meet(runs):
            return
        hosts = dict.fromkeys(name for run in runs for name in _listening(run))
        if not _all_marking(runs):
            hosts |= dict.fromkeys(name for run in runs for name in _dctcp_senders(run))
        groups = [one for run in runs for one in run.network.groups if one.name in hosts]
        if hosts:
            yield cls(
                planned.design.of_kind("marking"), tuple(hosts), dctcp=any(map(_is_dctcp, groups))
            )


@dataclass(frozen=True)
class NobodyListens(NoMarking):
    """Switches with a marking threshold, but no connection with ECN at both ends."""

    switches: tuple[str, ...]

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[NobodyListens]:
        """One caveat for all of them, only if the study itself sets a threshold: profiles always
        set one."""
        runs = planned.design.runs
        switches = planned.study.topology.all_switches.values()
        wants_marks = any(switch.ecn_threshold is not None for switch in switches)
        if wants_marks and not _meet(runs) and (marking := _all_marking(runs)):
            yield cls(planned.design.of_kind("marking"), marking)


@dataclass(frozen=True)
class NeverMarks(NoMarking):
    """Switches with marking thresholds that no queue can reach."""

    switches: tuple[str, ...]

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[NeverMarks]:
        """One caveat for all of them."""
        runs = planned.design.runs
        if not _meet(runs):
            return
        high = tuple(name for name in _all_marking(runs) if _is_never_reached(name, runs))
        if high:
            yield cls(planned.design.of_kind("marking"), high)


@dataclass(frozen=True)
class NoMark(NoMarking):
    """Switches that would mark frames of hosts with ECN, but whose queues never reached the
    threshold."""

    switches: tuple[str, ...]
    dctcp: bool
    """Whether DCTCP uses ECN."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[NoMark]:
        """One caveat for all of them."""
        able = [row for row in analysed.rows if _meet([row.planned[0]])]
        if able and all(row.total(marks) == 0 for row in able):
            groups = (group for row in able for group in row.planned[0].network.groups)
            switches = _all_marking([row.planned[0] for row in able])
            factors = analysed.planned.design.of_kind("marking")
            yield cls(factors, switches, dctcp=any(map(_is_dctcp, groups)))


def _meet(runs: Iterable[Run]) -> bool:
    """Whether some run has hosts with ECN and a switch that marks."""
    return any(_listening(run) and _marking_switches(run) for run in runs)


def _all_marking(runs: Iterable[Run]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for run in runs for name in _marking_switches(run)))


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
    groups, found = groups_of_nodes(run.network), dict[str, None]()
    for client, server in run.workload.connected:
        ends = {"client": groups[split(client)[0]], "server": groups[split(server)[0]]}
        if all(group.tcp.ecn or _is_dctcp(group) for group in ends.values()):
            found.update((ends[role].name, None) for role in run.workload.sending)
    return tuple(found)


def _dctcp_senders(run: Run) -> Iterator[str]:
    """Groups of senders with DCTCP, even if the other end of the connection does not have ECN."""
    groups = groups_of_nodes(run.network)
    for client, server in run.workload.connected:
        ends = {"client": groups[split(client)[0]], "server": groups[split(server)[0]]}
        yield from (ends[role].name for role in run.workload.sending if _is_dctcp(ends[role]))


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
