"""Checks for settings of a study that would have no effect.

They apply only to studies that are still to be run: results of an earlier version that accepted
such settings can still be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from netstudy.documents.fields import Ref
from netstudy.documents.problems import Path, Problem
from netstudy.study.levels import FactorLevel, level_text
from netstudy.study.model import Case, Study
from netstudy.study.places import Place
from netstudy.study.procedure import (
    CounterSnapshot,
    Instrument,
    PortSampler,
    SarSampler,
    SnmpPoll,
    TcpSampler,
)
from netstudy.study.treatments import hole_matches


def ignored_problems(study: Study) -> Iterator[Problem]:
    """Parts of a study that would be ignored."""
    yield from _namesake_problems(study)
    yield from _buffer_problems(study)
    yield from _zone_problems(study)
    yield from _poll_problems(study)
    yield from _instrument_problems(study)


def _namesake_problems(study: Study) -> Iterator[Problem]:
    """Levels with the same name but different fields in two cases. A level with only a name is
    fine: it takes its fields from the other case."""
    said: dict[tuple[str, str], tuple[Case, FactorLevel]] = {}
    for case in study.cases:
        for factor in case.factors:
            for level in (level for level in factor.levels if level.says_more):
                name = level_text(level.name)
                other, first = said.setdefault((factor.name, name), (case, level))
                if (first.fields, first.bundle) != (level.fields, level.bundle):
                    message = (
                        f"level {name} of {factor.name} has other fields in case {other.name}; "
                        "give the two levels different names"
                    )
                    yield study.document.problem(factor.path_of(level), message)


def _buffer_problems(study: Study) -> Iterator[Problem]:
    """Driver buffers given for links between two switches, which have no driver."""
    switches = study.topology.all_switches.keys()
    for index, link in enumerate(study.topology.links):
        if link.buffers is not None and {end.group for end in link.between} <= switches:
            message = "belongs to a host, but this link joins two switches"
            yield study.document.problem(("topology", "links", index, "buffers"), message)


def _zone_problems(study: Study) -> Iterator[Problem]:
    """The same zone in two roles with different interfaces: a zone has only one interface."""
    spec, kind = study.workload.spec, study.workload.kind
    groups: list[tuple[Path, Mapping[str, Place]]] = [(("workload", kind), spec.places)]
    for name, placed in study.topology.placement.items():
        ends = {"sender": placed.sender, "receiver": placed.receiver}
        groups.append((("topology", "placement", name), ends))
    for path, places in groups:
        for (other, one), (key, place) in combinations(places.items(), 2):
            if place.zone and (place.group, place.zone) == (one.group, one.zone) and place != one:
                message = (
                    f"is the same zone as the {other.rstrip('s')}; a zone has only one interface"
                )
                yield study.document.problem((*path, key), message)


def _poll_problems(study: Study) -> Iterator[Problem]:
    """SNMP authentication without a user, and polls of a switch whose SNMP is off at some level."""
    for index, poll in enumerate(study.instruments):
        if not isinstance(poll, SnmpPoll):
            continue
        if poll.user is None and "authentication" in poll.model_fields_set:
            path = ("instruments", index, "authentication")
            yield study.document.problem(path, "is a setting of SNMPv3; name its user")
        switch = study.topology.all_switches.get(poll.snmp)
        for place, level in _levels_of(study, None if switch is None else switch.snmp):
            if level is False:
                message = f"instruments.{index} polls this switch, so its snmp must be true"
                yield study.document.problem(place, message)


def _instrument_problems(study: Study) -> Iterator[Problem]:
    """Instruments that read the same counters as another instrument: a report can draw only one of
    the two time series. A single port of a switch may be read in addition to the whole switch."""
    for (first, one), (index, other) in combinations(enumerate(study.instruments), 2):
        key, *_ = read = _read_by(other)
        if _read_by(one) == read:
            message = f"instruments.{first} reads it already; keep one of them"
            yield study.document.problem(("instruments", index, key), message)


def _read_by(instrument: Instrument) -> tuple[str, str, str | None]:
    """The key of an instrument, the host or switch that it reads, and the port if it reads only
    one."""
    match instrument:
        case SnmpPoll():
            return "snmp", instrument.snmp, instrument.port
        case PortSampler():
            return "ports", instrument.ports, instrument.port
        case SarSampler():
            return "sar", instrument.sar, None
        case TcpSampler():
            return "tcp", instrument.tcp, None
        case CounterSnapshot():
            return "netstat", instrument.netstat, None


def _levels_of(study: Study, value: object) -> Iterator[tuple[Path, object]]:
    """The levels that a reference stands for, each with its place; none for a plain value."""
    if isinstance(value, Ref):
        yield from study.levels_at((), value)


def unmatched_hole_problems(study: Study) -> Iterator[Problem]:
    """Holes in a study file that exclude no treatment, for example levels that zipped factors never
    have together."""
    for case in study.cases:
        for index in range(len(case.holes)):
            if not hole_matches(case, index):
                message = "leaves out nothing: no treatment has all these levels"
                yield study.document.problem((*case.path, "holes", index), message)


def varying_fixed_problems(study: Study) -> Iterator[Problem]:
    """Factors that a study file without cases both varies and fixes; with cases, another case could
    use the fixed level. If a variant or an option varies the factor, the fixed level is replaced,
    which is fine."""
    for name in study.file.fixed if not study.file.cases else ():
        if name in study.file.factors:
            message = "is also in factors; keep one of the two"
            yield study.document.problem(("fixed", name), message, of_key=True)
