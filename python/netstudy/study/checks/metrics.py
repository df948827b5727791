"""Checks that the study measures the metrics that it names, at nodes that it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from netstudy.documents.nearest import did_you_mean
from netstudy.documents.problems import Path, Problem, listed
from netstudy.study.model import Study
from netstudy.study.procedure import PortSampler, SarSampler, SnmpPoll
from netstudy.study.vocabulary import (
    LINK,
    MACHINE,
    SWITCH,
    MetricName,
    Scope,
    measured_by,
    quantities_of,
)
from netstudy.wire import APPLICATION_PHASES

_MEASURED_BY: Final = {
    "probe": "a probe next to it (workload.probe)",
    "tcp": "a sampler of its connections (tcp in instruments)",
}
"""Source of metrics other than the workload -> description of the source in messages."""


def metric_problems(study: Study, path: Path, name: MetricName) -> Iterator[Problem]:
    """Problems of a metric's name in this study."""
    wrong = _at_node(study, name, name.scope) if name.scope else _of_workload(study, name)
    if wrong:
        yield study.document.problem(path, wrong)


def _of_workload(study: Study, name: MetricName) -> str | None:
    measured, kind = study.metrics, study.workload.kind
    if name.base not in measured:
        others = listed([_MEASURED_BY.get(one, one) for one in measured_by(name.base)])
        return (
            f'"{name}" is not measured by the workload {kind} of this study, '
            f"but by {others}; this study measures {listed(list(measured))}"
        )
    if name.limit is not None and measured[name.base].samples is None:
        sampled = [base for base, one in measured.items() if one.samples]
        have = (
            f"{listed(sampled)} {'has' if len(sampled) == 1 else 'have'}"
            if sampled
            else "no metric of this study has"
        )
        return f'"{name}": {name.base} has no samples to count above a limit; {have}'
    known = measured[name.base].statistics
    if name.statistic not in (None, "mean", *known):
        has = f"; it has {listed(list(known))}" if known else "; it is a single number per run"
        return f'"{name}": {name.base} has no {name.statistic}{has}'
    return None


def _at_node(study: Study, name: MetricName, scope: Scope) -> str | None:
    if scope.node in (LINK, MACHINE):
        wrong = f"{scope.node} has no ports" if scope.towards else None
        return wrong and f'"{name}": {wrong}'
    topology = study.topology
    is_switch = scope.node in topology.all_switches
    if not is_switch and not _is_endpoint(study, scope.node):
        if scope.node == SWITCH:
            return f'"{name}": the topology has no switch of that name'
        hint = did_you_mean(scope.node, [*topology.groups, *topology.all_switches])
        return f'"{name}": no host "{scope.node}"{hint}'
    known = quantities_of(scope.node, is_switch=is_switch)
    if name.base not in known:
        what = "switch" if is_switch else "host"
        hint = did_you_mean(name.base, known)
        return f'"{name}": {name.base} is not read at a {what}{hint}'
    return (
        _towards(study, name, scope, is_switch=is_switch)
        or _sampled(study, name, scope)
        or _in_phase(study, name)
    )


def _is_endpoint(study: Study, node: str) -> bool:
    """Whether the node is a host group, a host of a group such as client-3, or a zone such as
    a.zone1."""
    groups = study.topology.groups
    host, _, zone = node.partition(".")
    group, _, number = host.rpartition("-")
    has_host = host in groups or (group in groups and number.isdecimal() and int(number) > 0)
    owner = groups.get(host) or groups.get(group)
    return has_host and (not zone or (owner is not None and zone in (owner.zones or {})))


def _towards(study: Study, name: MetricName, scope: Scope, *, is_switch: bool) -> str | None:
    """The error message about the port in a metric's name, if any. A port has the name of the host
    group or switch that it leads to; the port of a host may also have the name of its interface."""
    if scope.towards is None:
        if name.base == "port_mbps" and not _watches_port(study, scope):
            return f'"{name}": say which port, as in {scope.node}@server.port_out_mbps'
        return None
    topology = study.topology
    known = [*topology.groups, *topology.all_switches]
    if not is_switch:
        known += _interfaces(study, scope.node)
    if scope.towards in known or _is_endpoint(study, scope.towards):
        return None
    return f'"{name}": no host, switch or interface "{scope.towards}"' + did_you_mean(
        scope.towards, known
    )


def _interfaces(study: Study, node: str) -> Iterable[str]:
    host = study.topology.groups.get(node)
    return () if host is None else host.interfaces or ()


def _watches_port(study: Study, scope: Scope) -> bool:
    """Whether instruments read exactly one port of a switch; it is then the default."""
    ports = {
        one.port
        for one in study.instruments
        if (isinstance(one, PortSampler) and one.ports == scope.node)
        or (isinstance(one, SnmpPoll) and one.snmp == scope.node)
    }
    return len(ports - {None}) == 1


def _sampled(study: Study, name: MetricName, scope: Scope) -> str | None:
    """The error message if no instrument samples the time series that a statistic needs. Goodput
    needs none: the workload itself records it."""
    if not name.needs_samples or name.base == "goodput_mbps":
        return None
    wanted: Mapping[str, bool] = {
        "ports": any(
            (isinstance(one, PortSampler) and one.ports == scope.node)
            or (isinstance(one, SnmpPoll) and one.snmp == scope.node and not name.is_state)
            for one in study.instruments
        ),
        "sar": any(
            isinstance(one, SarSampler) and scope.node in (one.sar, *_members(one.sar, scope.node))
            for one in study.instruments
        ),
    }
    key = "ports" if scope.node in study.topology.all_switches else "sar"
    if wanted[key]:
        return None
    group = scope.node.partition(".")[0]
    what = f"the {name.statistic or 'mean'} of a state" if name.is_state else name.statistic
    return (
        f'"{name}": {what} needs samples, and no instrument takes them; write '
        f"instruments: [{{{key}: {group}, every: 1 s}}]"
    )


def _in_phase(study: Study, name: MetricName) -> str | None:
    """The error message if the metric's phase has neither counters at its boundaries nor samples.

    Counters are read at the end of the idle phase, at the beginning and the end of the measuring
    phase, and at the end of the cool-down; not at the beginning of the run, nor between warm-up and
    stop.
    """
    procedure, phase = study.procedure, name.phase
    if phase == "measure" or phase in APPLICATION_PHASES:
        return None
    if name.base == "goodput_mbps":
        return f'"{name}": goodput is counted only in the measuring phase'
    asked = {
        "idle": procedure.idle,
        "warm-up": procedure.warmup or getattr(study.workload.spec, "warmup", None),
        "stop": procedure.stop,
        "cool-down": procedure.cooldown,
    }
    if not asked[phase]:
        return f'"{name}": the study has no phase "{phase}"'
    if name.needs_samples or phase == "cool-down":
        return None
    if phase == "warm-up" and procedure.idle and not procedure.stop:
        return None
    without = {"warm-up": "without an idle phase before it, or with a stop after it, "}
    return (
        f'"{name}": {without.get(phase, "")}counters are not read at both edges of this phase; '
        "ask for a percentile of samples, such as _p50"
    )


def _members(group: str, node: str) -> tuple[str, ...]:
    host = node.partition(".")[0]
    return (node,) if host == group or host.rpartition("-")[0] == group else ()
