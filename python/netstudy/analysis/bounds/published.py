"""The resources of a study whose runs were measured elsewhere, from its topology or its hosts: such
runs have no network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from netstudy.analysis.bounds.candidates import LimitKind, Resource
from netstudy.analysis.cells import CellRow
from netstudy.analysis.line_rates import links_of
from netstudy.documents.fields import Ref
from netstudy.study.vocabulary import MetricName, Scope

if TYPE_CHECKING:
    from netstudy.study import Study


def published_resources(study: Study, row: CellRow, load: str | None) -> Iterator[Resource]:
    """The CPUs and disks of hosts, and the links, of the topology at the levels of a cell. `load`
    is the factor that sets the load."""
    groups = {
        name: host
        for name, host in study.topology.groups.items()
        if host.profile is not None or study.is_measured
    }
    grown = {
        name
        for name, host in groups.items()
        if isinstance(host.count, Ref) and host.count.name == load
    }
    for name in groups:
        cpus = _of_host("cpu", "CPUs", name, "cpu_pct", comes_with_load=name in grown)
        yield replace(cpus, is_cpus=study.is_measured)
    switches = study.topology.all_switches
    for link in links_of(study, row):
        ends = [place.group for place in link.between]
        if all(end in groups or end in switches for end in ends):
            for near, far in (ends, ends[::-1]):
                yield Resource(
                    kind="link",
                    node=near,
                    part=far,
                    name=f"link from {near} to {far}",
                    reads=((None, _published_names(near, far, is_switch=far in switches)),),
                    comes_with_load=bool({near, far} & grown),
                )
    for name in groups:
        yield _of_host("disk", "disk", name, "disk_busy_pct", comes_with_load=name in grown)
        if study.is_measured:
            yield _of_host(
                "window",
                "receive window of peers",
                name,
                "receiver_limited_pct",
                comes_with_load=False,
            )
            yield _of_host(
                "send_buffer", "send buffer", name, "sender_limited_pct", comes_with_load=False
            )


def _of_host(
    kind: LimitKind, title: str, group: str, base: str, *, comes_with_load: bool
) -> Resource:
    return Resource(
        kind=kind,
        node=group,
        name=f"{title} of {group}",
        reads=((None, (MetricName(Scope(group), base),)),),
        comes_with_load=comes_with_load,
    )


def _published_names(near: str, far: str, *, is_switch: bool) -> tuple[MetricName, ...]:
    """The metrics that a publication may give for one direction of a link."""
    if is_switch:
        of_switch = MetricName(Scope(far, near), "port_in_mbps")
        to_far, of_near = MetricName(Scope(near, far), "send_mbps"), "send_mbps"
        return of_switch, to_far, MetricName(Scope(near), of_near)
    of_switch = MetricName(Scope(near, far), "port_out_mbps")
    to_far, of_near = MetricName(Scope(far, near), "receive_mbps"), "receive_mbps"
    return of_switch, to_far, MetricName(Scope(far), of_near)
