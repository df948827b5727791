"""Converts the messages of a run's processes to its record, in the same form as the simulator's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from netstudy import wire
from netstudy.testbed.real.accounts.account import time_bounds
from netstudy.testbed.real.clocks import NoBoundError
from netstudy.testbed.real.counters import each_machine, port_readings, readings
from netstudy.testbed.real.evidence import Evidence
from netstudy.testbed.real.health import LAW as _UNCHANGED
from netstudy.testbed.real.health import faults, unchanged
from netstudy.testbed.real.judge import limits
from netstudy.testbed.real.laws import below_line_rate, conserved
from netstudy.testbed.real.others import LAW as _ALONE
from netstudy.testbed.real.others import activity, undisturbed
from netstudy.testbed.real.queues import queues
from netstudy.testbed.real.reconcile import reconciliation
from netstudy.testbed.real.series import series
from netstudy.testbed.real.switch_wire import SwitchClock
from netstudy.testbed.workloads import traffic_of
from netstudy.wire import Check, RunRecord, TestbedLimit

_KEEPS_TIME = "the switch keeps to its times"
_NONE_VANISHES = "no frame vanishes between two interfaces of the machine"


def run_record(evidence: Evidence, environment: dict[str, str]) -> RunRecord:
    """The record of a completed run. Raises LookupError when something is missing.

    The run is invalid if it breaks a law.
    """
    run, traffic = evidence.run, traffic_of(evidence.run.workload)
    samples = traffic.samples(evidence).model_copy(update={"queue": queues(evidence)})
    others, found = activity(evidence), faults(evidence)
    checks = (
        *traffic.checks(evidence),
        *_checks(evidence),
        *([undisturbed(others)] if others else ()),
        *([unchanged(found)] if found else ()),
        *time_bounds(samples.time),
    )
    return RunRecord(
        run=run.id,
        treatment=run.treatment,
        replicate=run.replicate,
        seed=run.seed,
        status="ok" if all(check.holds for check in checks) else "invalid",
        checks=checks,
        nodes=_nodes(evidence),
        phases=evidence.phases,
        samples=samples,
        edges=tuple(_edges(evidence)),
        counters=readings(evidence),
        ports=port_readings(evidence),
        series=series(evidence),
        limits=_limits(evidence, checks, (*others, *found)),
        reconciliation=reconciliation(evidence),
        environment=environment,
        clocks=_clock_bounds(evidence),
    )


def interference(record: RunRecord) -> str | None:
    """The reason why a run is invalid, if the only reason is interference on the machine; else
    None. Interference means that the machine was busy with something else, so the same run may
    succeed another time."""
    broken = _broken(record.checks)
    if not broken or not _are_the_machines(broken):
        return None
    return "; ".join(check.detail for check in broken)


def _broken(checks: Sequence[Check]) -> list[Check]:
    return [check for check in checks if not check.holds]


def _are_the_machines(broken: Sequence[Check]) -> bool:
    laws = {check.law for check in broken}
    # A link that was down breaks laws on times, too.
    return _UNCHANGED in laws or laws <= {_KEEPS_TIME, _NONE_VANISHES, _ALONE}


def _limits(
    evidence: Evidence, checks: Sequence[Check], of_hosts: Sequence[TestbedLimit]
) -> tuple[TestbedLimit, ...]:
    """The limits of the testbed. If the run also breaks a law, exceeding a limit is not the only
    reason why it is invalid, and is not marked so."""
    found = (*limits(evidence), *of_hosts)
    if _are_the_machines(_broken(checks)):
        return found
    return tuple(limit.model_copy(update={"invalidates": False}) for limit in found)


def _nodes(evidence: Evidence) -> dict[str, wire.RecordNode]:
    """Every node with its clock."""
    of_switches = [evidence.switch.readings(edge) for edge in evidence.edges]
    found = {}
    for node in evidence.run.network.nodes:
        agent = evidence.hosts.get(node.name)
        read_at_ns: tuple[int, ...] | None = None
        if agent is not None:
            read_at_ns = tuple(agent.snapshots[edge].at_ns for edge in evidence.edges)
        elif isinstance(node, wire.Switch):
            read_at_ns = tuple(one.at_ns for one in of_switches if one) or _polled_at(
                node.name, evidence
            )
        found[node.name] = wire.RecordNode(
            kind=node.kind,
            group=node.name if isinstance(node, wire.Switch) else node.group,
            clock=evidence.clocks.domains[node.name],
            cpus=evidence.cpus.get(node.name),
            read_at_ns=read_at_ns,
        )
    return found


def _clock_bounds(evidence: Evidence) -> dict[str, wire.ClockBounds]:
    """The bounds of each clock that was compared with that of the first client."""
    first = evidence.domain(evidence.clients[0])
    span_ns = (evidence.measure.start_ns, evidence.measure.end_ns)
    found = {}
    for domain in dict.fromkeys(evidence.clocks.domains.values()):
        if domain != first:
            with suppress(NoBoundError):
                found[domain] = evidence.clocks.bounds(domain, first, span_ns)
    return found


def _polled_at(switch: str, evidence: Evidence) -> tuple[int, ...] | None:
    """When a switch that only SNMP reads was polled at the starts and ends of phases."""
    for polls in evidence.polls:
        if polls.switch == switch and evidence.is_by_its_clock(polls):
            return tuple(polls.edges[edge] for edge in evidence.edges)
    return None


def _edges(evidence: Evidence) -> Iterator[wire.Edge]:
    first = evidence.clients[0]
    for name in evidence.edges:
        quiet_ns = evidence.quiet_ns if name == wire.MEASURE_END else None
        yield wire.Edge(name=name, at_ns=first.snapshots[name].at_ns, quiet_ns=quiet_ns)


def _checks(evidence: Evidence) -> Iterator[Check]:
    """The conservation laws that hold for any workload; the simulator checks the same laws."""
    yield from below_line_rate(evidence)
    yield from conserved(evidence)
    yield from evidence.switch.checks
    if evidence.switch.clock is not None:
        yield _kept_up(evidence.switch.clock)
    dropped = {
        machine: grown["softnet_dropped"]
        for machine, grown in each_machine(evidence)
        if "softnet_dropped" in grown
    }
    if dropped:
        yield _none_vanished(dropped)


def _kept_up(clock: SwitchClock) -> Check:
    late = f"{clock.departures} frames, late by {clock.late_ns_p50} ns (median)"
    detail = f"{late}, {clock.late_ns_p99} ns (p99), {clock.late_ns_max} ns (most)"
    return Check(
        law=_KEEPS_TIME,
        holds=clock.kept_up,
        detail=detail if clock.why is None else f"{clock.why}; {detail}",
    )


def _none_vanished(dropped: Mapping[str, int]) -> Check:
    total = sum(dropped.values())
    where = [f"{count} at {machine}" for machine, count in dropped.items() if count]
    each = f": {', '.join(where)}" if where and len(dropped) > 1 else ""
    return Check(
        law=_NONE_VANISHES,
        holds=total == 0,
        detail=f"{total} dropped by CPUs' backlog queues (/proc/net/softnet_stat){each}",
    )
