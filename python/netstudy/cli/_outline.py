"""An outline of a plan, with one line for each item: hosts, switches, links, phases, samplers.

A line describes all runs of the plan. If a property differs between runs, the line has its range if
it is a number, and otherwise all its values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netstudy import wire

_SHOWN_MAX = 4
"""A line shows at most this number of values of an item."""

Line = tuple[str, str]
"""Subject and text."""


def outline(runs: Sequence[wire.Run]) -> list[Line]:
    """Lines on networks, workload, phases, probe and samplers of some runs."""
    distinct = list({id(run.network): run for run in runs}.values())
    networks = [run.network for run in distinct]
    lines = [*_hosts(networks), *_zones(networks), *_switches(networks), *_links(networks)]
    lines += _workload(distinct, runs)
    lines += _varying("probe", (_probe(run) for run in distinct if run.probe))
    return lines + [("sample", said) for said in _samplers(distinct)]


def _hosts(networks: list[wire.Network]) -> Iterator[Line]:
    for name in _names(group.name for network in networks for group in network.groups):
        counts, profiles = [], []
        for network in networks:
            counts.append(sum(host.group == name for host in network.hosts))
            profiles += [group.profile for group in network.groups if group.name == name]
        yield "hosts", f"{_span(counts)} {name}: {_either(profiles)}"


def _zones(networks: list[wire.Network]) -> Iterator[Line]:
    for stack, said in (("shared", "in their host's stack"), ("own", "a stack each")):
        zones = (zone for one in networks for zone in one.zones if zone.stack == stack)
        names = _names(f"{zone.name}@{zone.interface}" for zone in zones)
        if names:
            yield "zones", f"{_some(names)}; {said}"


def _switches(networks: list[wire.Network]) -> Iterator[Line]:
    from netstudy.plan.graph import WIRE_SPEED

    for name in _names(switch.name for network in networks for switch in network.switches):
        found = [one for network in networks for one in network.switches if one.name == name]
        if found[0].profile == WIRE_SPEED:
            joined = name.removeprefix("wire-")
            yield "switch", f"{name}: put in for the one interface of {joined}, at wire speed"
        else:
            yield "switch", f"{name}: {_either(one.profile for one in found)}"


def _links(networks: list[wire.Network]) -> Iterator[Line]:
    """One line for all links between the same two groups of hosts, or between a group and a
    switch."""
    found: dict[str, list[str]] = {}
    counts: dict[str, list[int]] = {}
    for network in networks:
        here: Counter[str] = Counter()
        for link in network.links:
            ends = " – ".join(_end(network, port) for port in link.ports)
            here[ends] += 1
            found.setdefault(ends, []).append(_properties(link))
        for ends, count in here.items():
            counts.setdefault(ends, []).append(count)
    for ends, properties in found.items():
        times = f"{_span(counts[ends])} × " if max(counts[ends]) > 1 else ""
        yield "links", f"{times}{ends}: {_either(properties)}"


def _end(network: wire.Network, port: wire.Port) -> str:
    """One end of a link: the host's group, or the switch. The interface is added if it has a name
    of its own."""
    node = network.node(port.node)
    group = getattr(node, "group", node.name)
    named = node.kind == "host" and not port.name.startswith("eth")
    return f"{group}@{port.name}" if named else group


def _properties(link: wire.Link) -> str:
    from netstudy.plan.path_words import link_words
    from netstudy.units import format_rate

    up, down = (format_rate(port.rate_bps) for port in link.ports)
    rate = up if up == down else f"{up} out, {down} back"
    return f"{rate}, {link_words(link)}, MTU {link.mtu_bytes}"


def _workload(distinct: Sequence[wire.Run], runs: Sequence[wire.Run]) -> Iterator[Line]:
    from netstudy.plan.workloads import planned_of

    for planned in {run.workload.kind: planned_of(run.workload) for run in distinct}.values():
        yield from _varying("workload", map(planned.summary, distinct))
        yield from planned.details(runs)
        phased = [run for run in distinct if run.phases]
        yield from _varying("phases", (_phases(run, planned.unit) for run in phased))


def _phases(run: wire.Run, unit: str) -> str:
    return ", ".join(_phase(phase, unit) for phase in run.phases)


def _phase(phase: wire.Phase, unit: str) -> str:
    from netstudy.units import format_duration

    if phase.until is None:
        return phase.kind
    if phase.until.kind == "time":
        return f"{phase.kind} {format_duration(phase.until.ns)}"
    one = unit.removesuffix("s") if phase.until.count == 1 else unit
    return f"{phase.kind} {phase.until.count:,} {one}"


def _probe(run: wire.Run) -> str:
    from netstudy.units import format_duration, format_size

    probe = run.probe
    assert probe is not None, "only runs with a probe are asked"
    sizes = (format_size(size) for size in (probe.request_bytes, probe.response_bytes))
    return f"every {format_duration(probe.every_ns)}, {' for '.join(sizes)}"


def _samplers(runs: list[wire.Run]) -> list[str]:
    from netstudy.units import format_duration

    said = []
    for run in runs:
        for one in run.instruments:
            node = run.network.node(one.node)
            at = f", port {one.port}" if one.port else ""
            group = getattr(node, "group", node.name)
            said.append(f"{one.kind} of {group}{at} every {format_duration(one.every_ns)}")
    return _names(said)


def _varying(name: str, values: Iterable[str]) -> Iterator[Line]:
    found = _names(values)
    if found:
        yield name, _either(found)


def _names(values: Iterable[str]) -> list[str]:
    """Each value once, in the order of first appearance."""
    return list(dict.fromkeys(values))


def _either(values: Iterable[str]) -> str:
    return _some(_names(values), " or ")


def _some(values: list[str], between: str = ", ") -> str:
    more = len(values) - _SHOWN_MAX
    return between.join(values[:_SHOWN_MAX]) + (f"{between}{more} more" if more > 0 else "")


def _span(counts: list[int]) -> str:
    least, most = min(counts), max(counts)
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"
