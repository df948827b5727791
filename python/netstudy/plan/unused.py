"""Hosts and interfaces that no traffic uses: they are refused, since a study that has them usually
means something that no run does, such as one flow over two links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from netstudy import wire
from netstudy.documents.problems import Path, fail
from netstudy.plan.lower import Lowered
from netstudy.plan.paths import Interface, Routes
from netstudy.study import Study
from netstudy.study.topology import Link


def check_all_are_used(study: Study, treatments: Iterable[Lowered]) -> None:
    """Refuses a host group or an interface that carries no traffic in any of the treatments, unless
    the study allows it by `unused: true`. `treatments` are taken one by one, until all interfaces
    are used. Raises StudyError with the place of the first one that is not."""
    left: dict[Interface, int] | None = None
    for one in treatments:
        idle = dict(_idle(one))
        left = idle if left is None else {key: left[key] for key in left if key in idle}
        if not left:
            return
    _refuse(study, left or {})


def _idle(lowered: Lowered) -> Iterator[tuple[Interface, int]]:
    """Each host group's interface that carries no traffic at any host of the group, and its number
    among the interfaces of the host, which are in the order of the study's links."""
    routes = Routes(lowered.network)
    groups = {host.name: host.group for host in lowered.network.hosts}
    used = {(groups[node], name) for node, name in _used(lowered, routes) if node in groups}
    for host, names in routes.interfaces.items():
        for number, name in enumerate(names):
            if (groups[host], name) not in used:
                yield (groups[host], name), number


def _used(lowered: Lowered, routes: Routes) -> Iterator[Interface]:
    """The ports that the workload, its probe and polls of switches use."""
    roles = lowered.workload.roles
    pairs = [*roles.pairs]
    if isinstance(roles, wire.TierRoles):
        # The server's host reaches the database by an interface of its own choice.
        hosts = (server.partition("@")[0] for server in roles.server)
        pairs += zip(hosts, roles.database, strict=False)
    for source, target in pairs:
        for host, names in (routes.of(source), routes.of(target)):
            if len(names) == 1:  # also where the data stay inside the host
                yield host, names[0]
        for _, link in routes.route(source, target).hops:
            yield from ((one.node, one.name) for one in link.ports)
    for instrument in lowered.instruments:
        if instrument.from_ is not None:
            yield instrument.from_, routes.interfaces[instrument.from_][0]


def _refuse(study: Study, idle: Mapping[Interface, int]) -> None:
    """Refuses the first unused host that the study does not allow, or else the first unused
    interface: an unused host makes the interfaces on the way to it unused."""
    counts = Counter(group for group, _ in idle)
    whole = {group for group, count in counts.items() if count == len(_links(study, group))}
    for (group, interface), number in sorted(idle.items(), key=lambda one: one[0][0] not in whole):
        links = _links(study, group)
        path, link = links[number]
        if study.topology.groups[group].unused or link.unused:
            continue
        if group in whole:
            message = "no traffic uses this host: give it a part in the workload, leave it out"
            place = study.topology.host_path(group)
            fail(study.document.problem(place, f"{message}, or set unused: true", of_key=True))
        what = f"no traffic uses interface {interface} of {group}, which this link joins"
        ends = {end.group for end in link.between}
        if len([one for _, one in links if {end.group for end in one.between} == ends]) > 1:
            (peer,) = ends - {group}
            what += f" to {peer} like another link (bonds are not supported)"
        message = f"{what}: place an end of the workload there, leave the link out"
        fail(study.document.problem(("topology", *path), f"{message}, or set unused: true"))


def _links(study: Study, group: str) -> list[tuple[Path, Link]]:
    """The links of a host group."""
    placed = study.topology.placed_links
    return [one for one in placed if group in {end.group for end in one[1].between}]
