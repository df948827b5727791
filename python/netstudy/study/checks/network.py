"""Checks of hosts, switches, links, placements and profiles, and of the nodes that instruments
read."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.documents.fields import Ref
from netstudy.documents.nearest import did_you_mean
from netstudy.documents.problems import Path, Problem
from netstudy.hardware import HardwareLibrary, Kind
from netstudy.study.levels import level_text
from netstudy.study.model import Study
from netstudy.study.places import Place
from netstudy.study.procedure import (
    CounterSnapshot,
    Instrument,
    PortSampler,
    SarSampler,
    SnmpPoll,
    TcpSampler,
)
from netstudy.study.topology import EachWay, Host, LinkProperties, Nic, wire_name


def network_problems(study: Study, hardware: HardwareLibrary) -> Iterator[Problem]:
    """Problems of hosts, links, switches and instruments."""
    yield from _name_problems(study)
    yield from _link_problems(study)
    yield from _zone_problems(study)
    yield from _placement_problems(study)
    yield from _instrument_problems(study)
    yield from _profile_problems(study, hardware)


def _name_problems(study: Study) -> Iterator[Problem]:
    for name in study.topology.groups:
        if name in study.topology.all_switches:
            path = study.topology.host_path(name)
            yield study.document.problem(path, "is also the name of a switch", of_key=True)


def _link_problems(study: Study) -> Iterator[Problem]:
    for index, link in enumerate(study.topology.links):
        path = ("topology", "links", index)
        for end, place in enumerate(link.between):
            if wrong := _end_problem(study, place):
                yield study.document.problem((*path, "between", end), wrong)
        one, other = link.between
        if one.group == other.group:
            what = "a switch" if one.group in study.topology.all_switches else "a host"
            yield study.document.problem((*path, "between"), f"joins {what} to itself")
        if link.nic and {one.group, other.group} <= study.topology.all_switches.keys():
            message = "belongs to a host, but this link joins two switches"
            yield study.document.problem((*path, "nic"), message)
        if isinstance(link.rate, EachWay) and link.nic and link.nic.rate is not None:
            message = "the link already has a rate for each direction; keep one of the two rates"
            yield study.document.problem((*path, "nic", "rate"), message)


def _end_problem(study: Study, end: Place) -> str | None:
    switches = study.topology.all_switches
    if end.group in switches:
        return f"a switch has no named interfaces; write {end.group}" if end.interface else None
    if end.group == "switch" and not switches:
        return "the topology has no switch"
    return study.topology.no_group(end.group, *switches) or study.topology.no_place(end)


def _zone_problems(study: Study) -> Iterator[Problem]:
    for name, host in study.topology.groups.items():
        if host.stack is not None and not host.zones:
            path = (*study.topology.host_path(name), "stack")
            yield study.document.problem(path, f"is a setting for zones, but host {name} has none")
        known = host.interfaces or ()
        for zone, said in (host.zones or {}).items():
            if said.interface is not None and said.interface not in known:
                hint = did_you_mean(said.interface, known)
                message = f'host {name} has no interface "{said.interface}"{hint}'
                path = (*study.topology.host_path(name), "zones", zone, "interface")
                yield study.document.problem(path, message)


def _placement_problems(study: Study) -> Iterator[Problem]:
    for name, placement in study.topology.placement.items():
        for end in ("sender", "receiver"):
            if wrong := study.topology.no_place(getattr(placement, end)):
                yield study.document.problem(("topology", "placement", name, end), wrong)
        if placement.sender == placement.receiver:
            message = "is also the sender; the two must be different places"
            yield study.document.problem(("topology", "placement", name, "receiver"), message)


def _instrument_problems(study: Study) -> Iterator[Problem]:
    for index, instrument in enumerate(study.instruments):
        path = ("instruments", index)
        for key, name in _watched_hosts(instrument):
            if wrong := study.topology.no_group(name):
                yield study.document.problem((*path, key), wrong)
        if isinstance(instrument, SnmpPoll):
            yield from _snmp_problems(study, (*path, "snmp"), instrument.snmp)
        if isinstance(instrument, PortSampler):
            yield from _ports_problems(study, path, instrument)


def _watched_hosts(instrument: Instrument) -> list[tuple[str, str]]:
    match instrument:
        case SnmpPoll():
            polls_from = [("from", instrument.from_)] if instrument.from_ else []
            return [("port", instrument.port), *polls_from]
        case SarSampler():
            return [("sar", instrument.sar)]
        case CounterSnapshot():
            return [("netstat", instrument.netstat)]
        case TcpSampler():
            return [("tcp", instrument.tcp)]
        case PortSampler():
            return []  # a port may lead to another switch


def _snmp_problems(study: Study, path: Path, name: str) -> Iterator[Problem]:
    switch = study.topology.all_switches.get(name)
    if switch is None:
        known = ", ".join(study.topology.all_switches) or "the topology has none"
        yield study.document.problem(path, f"must be a switch of the topology: {known}")
    elif switch.snmp is False:
        where = "switch" if study.topology.switch else f"switches.{name}"
        message = f"the switch cannot be polled; set topology.{where}.snmp to true"
        yield study.document.problem(path, message)


def _ports_problems(study: Study, path: Path, sampler: PortSampler) -> Iterator[Problem]:
    linked = _linked(study)
    behind = linked.get(sampler.ports)
    if behind is None:
        hint = did_you_mean(sampler.ports, linked)
        yield study.document.problem((*path, "ports"), f'no switch "{sampler.ports}"{hint}')
    elif sampler.port is not None and sampler.port not in behind:
        hint = did_you_mean(sampler.port, behind)
        message = f'no host or switch "{sampler.port}" is linked to {sampler.ports}{hint}'
        yield study.document.problem((*path, "port"), message)


def _linked(study: Study) -> dict[str, list[str]]:
    """Switch -> the host groups and switches that it is linked to in any treatment. This includes a
    switch that the plan adds where a single interface of a host has several links.
    """
    switches = study.topology.all_switches
    found: dict[str, list[str]] = {name: [] for name in switches}
    for _, link in study.topology.placed_links:
        one, other = (end.group for end in link.between)
        if one not in switches and other not in switches:
            for single, several in ((one, other), (other, one)):
                if _counts(study, several) - {1} and 1 in _counts(study, single):
                    found[wire_name(single, found)] = [several, single]
        for switch, peer in ((one, other), (other, one)):
            if switch in switches:
                found[switch].append(peer)
    return found


def _counts(study: Study, group: str) -> set[object]:
    """The numbers of hosts that a group has in any treatment."""
    host = study.topology.groups.get(group)
    if host is None:
        return set()
    return {
        count
        for _, count in study.levels_at((*study.topology.host_path(group), "count"), host.count)
    }


def _profile_problems(study: Study, hardware: HardwareLibrary) -> Iterator[Problem]:
    for kind, place, name in profiles_named(study):
        if wrong := hardware.missing(kind, name):
            yield study.document.problem(place, wrong)


def profiles_named(study: Study) -> Iterator[tuple[Kind, Path, str]]:
    """Every profile that the study names at any level: the profile's kind, the place in the study,
    and the name."""
    for kind, path, value in _profiles(study):
        for place, name in study.levels_at(path, value):
            yield kind, place, level_text(name)


def _profiles(study: Study) -> Iterator[tuple[Kind, Path, str | Ref | None]]:
    topology = study.topology
    if topology.switch:
        yield "switch", ("topology", "switch", "profile"), topology.switch.profile
    for name, switch in topology.switches.items():
        yield "switch", ("topology", "switches", name, "profile"), switch.profile
    for name, host in topology.groups.items():
        path = study.topology.host_path(name)
        yield "host", (*path, "profile"), host.profile
        yield "tcp", (*path, "tcp", "profile"), host.tcp.profile
        yield from _nic(path, host)
    for index, link in enumerate(topology.links):
        yield from _nic(("topology", "links", index), link)
    if topology.link:
        yield from _nic(("topology", "link"), topology.link)
    for key, value in study.workload.spec.applications.items():
        yield "application", ("workload", study.workload.kind, key), value


def _nic(path: Path, owner: Host | LinkProperties) -> Iterator[tuple[Kind, Path, str | Ref | None]]:
    if isinstance(owner.nic, Nic):
        yield "nic", (*path, "nic", "profile"), owner.nic.profile
