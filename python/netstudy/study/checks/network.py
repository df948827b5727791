"""Checks of hosts, links, placements, profiles, and of what the workload does with them."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.documents.fields import Ref
from netstudy.documents.nearest import did_you_mean
from netstudy.documents.problems import Path, Problem
from netstudy.hardware import HardwareLibrary, Kind
from netstudy.study.model import Study
from netstudy.study.procedure import CounterSnapshot, SarSampler, SnmpPoll
from netstudy.study.topology import Host, LinkProperties, Nic

SWITCH = "switch"
"""The name of the switch in links and instruments."""


def network_problems(study: Study, hardware: HardwareLibrary) -> Iterator[Problem]:
    """What is wrong with the test bed."""
    yield from _link_problems(study)
    yield from _placement_problems(study)
    yield from _workload_problems(study)
    yield from _instrument_problems(study)
    yield from _profile_problems(study, hardware)


def levels_at(study: Study, path: Path, value: str | Ref | None) -> Iterator[tuple[Path, str]]:
    """What a text of the file stands for, over all levels, each with its place."""
    if isinstance(value, str):
        yield path, value
    if not isinstance(value, Ref):
        return
    name, _, key = value.name.partition(".")
    for case in study.cases:
        for factor in case.factors:
            for level in factor.levels:
                place = factor.path_of(level)
                if factor.name == name and not key:
                    yield place, str(level.name)
                elif value.name in level.fields or (factor.name == name and key in level.fields):
                    field = key or value.name
                    yield (*place, field), str(level.fields[field])


def _no_host(study: Study, name: str, *others: str) -> str:
    return f'no host "{name}"{did_you_mean(name, [*study.topology.groups, *others])}'


def _link_problems(study: Study) -> Iterator[Problem]:
    groups = study.topology.groups
    if SWITCH in groups:
        yield study.document.problem(
            ("topology", "hosts", SWITCH), "is the name of the switch in links", of_key=True
        )
    for index, link in enumerate(study.topology.links):
        path = ("topology", "links", index, "between")
        for end, name in enumerate(link.between):
            if name == SWITCH and study.topology.switch is None:
                yield study.document.problem((*path, end), "the topology has no switch")
            elif name != SWITCH and name not in groups:
                others = [SWITCH] if study.topology.switch else []
                yield study.document.problem((*path, end), _no_host(study, name, *others))
        if link.between[0] == link.between[1]:
            yield study.document.problem(path, "joins a host to itself")


def _placement_problems(study: Study) -> Iterator[Problem]:
    for name, placement in study.topology.placement.items():
        for end in ("sender", "receiver"):
            wrong = _endpoint_problem(study, getattr(placement, end))
            if wrong:
                yield study.document.problem(("topology", "placement", name, end), wrong)


def _endpoint_problem(study: Study, text: str) -> str | None:
    place, _, interface = text.partition("@")
    name, _, zone = place.partition(".")
    host = study.topology.groups.get(name)
    if host is None:
        return _no_host(study, name)
    if zone and zone not in (host.zones or {}):
        return f'host {name} has no zone "{zone}"{did_you_mean(zone, host.zones or {})}'
    if interface and interface not in (host.interfaces or ()):
        hint = did_you_mean(interface, host.interfaces or ())
        return f'host {name} has no interface "{interface}"{hint}'
    return None


def _workload_problems(study: Study) -> Iterator[Problem]:
    workload = study.workload
    if workload.incast:
        for end in ("client", "servers"):
            name = getattr(workload.incast, end)
            if name not in study.topology.groups:
                path = ("workload", "incast", end)
                yield study.document.problem(path, _no_host(study, name))
        if workload.incast.client == workload.incast.servers:
            message = "is the client too; the two must be different hosts"
            yield study.document.problem(("workload", "incast", "servers"), message)
    if workload.transfer:
        path = ("workload", "transfer", "placement")
        known = study.topology.placement
        for place, name in levels_at(study, path, workload.transfer.placement):
            if name not in known:
                hint = did_you_mean(name, known)
                yield study.document.problem(place, f'no placement "{name}"{hint}')


def _instrument_problems(study: Study) -> Iterator[Problem]:
    for index, instrument in enumerate(study.instruments):
        path = ("instruments", index)
        for key, name in _watched(instrument):
            if name not in study.topology.groups:
                yield study.document.problem((*path, key), _no_host(study, name))
        if isinstance(instrument, SnmpPoll):
            yield from _snmp_problems(study, (*path, "snmp"), instrument.snmp)


def _watched(instrument: SnmpPoll | SarSampler | CounterSnapshot) -> list[tuple[str, str]]:
    match instrument:
        case SnmpPoll():
            polls_from = [("from", instrument.from_)] if instrument.from_ else []
            return [("port", instrument.port), *polls_from]
        case SarSampler():
            return [("sar", instrument.sar)]
        case CounterSnapshot():
            return [("netstat", instrument.netstat)]


def _snmp_problems(study: Study, path: Path, name: str) -> Iterator[Problem]:
    switch = study.topology.switch
    if name != SWITCH or switch is None:
        yield study.document.problem(path, "polls the switch of the topology: write `snmp: switch`")
    elif switch.snmp is False:
        message = "the switch cannot be polled; set topology.switch.snmp to true"
        yield study.document.problem(path, message)


def _profile_problems(study: Study, hardware: HardwareLibrary) -> Iterator[Problem]:
    for kind, path, value in _profiles(study):
        for place, name in levels_at(study, path, value):
            if wrong := hardware.missing(kind, name):
                yield study.document.problem(place, wrong)


def _profiles(study: Study) -> Iterator[tuple[Kind, Path, str | Ref | None]]:
    topology = study.topology
    if topology.switch:
        yield "switch", ("topology", "switch", "profile"), topology.switch.profile
    for name, host in topology.groups.items():
        path = _host_path(study, name)
        yield "host", (*path, "profile"), host.profile
        yield "tcp", (*path, "tcp", "profile"), host.tcp.profile
        yield from _nic(path, host)
    for index, link in enumerate(topology.links):
        yield from _nic(("topology", "links", index), link)
    if topology.link:
        yield from _nic(("topology", "link"), topology.link)


def _nic(path: Path, owner: Host | LinkProperties) -> Iterator[tuple[Kind, Path, str | Ref | None]]:
    if isinstance(owner.nic, Nic):
        yield "nic", (*path, "nic", "profile"), owner.nic.profile


def _host_path(study: Study, name: str) -> Path:
    return ("topology", "hosts", name) if name in study.topology.hosts else ("topology", name)
