"""Whether the testbed itself was the limit of a run: its switch, its CPUs, its generators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from netstudy.testbed.real.counters import each_machine
from netstudy.testbed.real.evidence import AgentEvidence, Evidence
from netstudy.testbed.real.laws import port_growth
from netstudy.testbed.real.snmp import SLOWER, Polls, discontinuities, unanswered
from netstudy.testbed.real.switch_wire import SwitchClock
from netstudy.testbed.real.wire import SamplesRecord
from netstudy.testbed.workloads import traffic_of
from netstudy.units import rough_duration
from netstudy.wire import TestbedLimit

_STEAL_PCT = 2.0
"""If other virtual machines on the same hardware take more than this share of the CPU time, they
may decide the result."""
_PROBING_PCT = 1.0
_LATE_FRAMES_PCT = 1.0
"""Largest allowed share of late frames; the switch itself uses the same limit."""
_LATE_SHARE = 0.05
"""Largest allowed lateness of a generator, as a share of the duration of a sample. Greater lateness
would change the result by more than this share."""


def limits(evidence: Evidence) -> tuple[TestbedLimit, ...]:
    """All limits that were checked, each with its evidence.

    A run that exceeds a limit is reported. It is invalid only if a law is broken (see `assemble`):
    the switch did not keep to its times, or frames vanished in the machine.
    """
    return (
        *path_limits(evidence),
        *_steal(evidence),
        *_generators(evidence),
        *traffic_of(evidence.run.workload).limits(evidence),
        *_probing(evidence),
        *chain.from_iterable(_polls(evidence, one) for one in evidence.polls),
    )


def path_limits(evidence: Evidence) -> tuple[TestbedLimit, ...]:
    """The limits that concern the path of frames; the capacity probe checks only these."""
    clock = evidence.switch.clock
    return (*(switch_limits(clock) if clock else ()), *_backlog(evidence))


def switch_limits(clock: SwitchClock) -> Iterator[TestbedLimit]:
    """Whether the switch lost frames, and whether it kept to its times."""
    lost, sent = clock.frames_lost, clock.departures
    yield TestbedLimit(
        name="frames that the switch could not take or deliver",
        value=lost,
        allowed=0,
        exceeded=lost > 0,
        invalidates=lost > 0,
        evidence=clock.why if lost and clock.why else f"{sent} departures",
    )
    late = 100 * clock.departures_late / sent if sent else 0.0
    median, p99, most = map(
        rough_duration, (clock.late_ns_p50, clock.late_ns_p99, clock.late_ns_max)
    )
    yield TestbedLimit(
        name="frames that left the switch later than a full frame, or 50 µs",
        value=late,
        allowed=_LATE_FRAMES_PCT,
        unit="%",
        exceeded=late > _LATE_FRAMES_PCT,
        invalidates=late > _LATE_FRAMES_PCT,
        evidence=f"{clock.departures_late:,} of {sent:,} departures; late by {median} in the "
        f"median, {p99} at p99, {most} at most",
    )


def _backlog(evidence: Evidence) -> Iterator[TestbedLimit]:
    """Frames dropped by the backlog queues of each machine."""
    for machine, own in each_machine(evidence):
        dropped = own.get("softnet_dropped")
        yield TestbedLimit(
            name=f"packets dropped because a CPU's backlog was full{_at(machine, evidence)}",
            value=dropped,
            allowed=0,
            exceeded=bool(dropped),
            invalidates=bool(dropped),
            evidence="/proc/net/softnet_stat, second column, of the whole machine",
        )


def _at(machine: str, evidence: Evidence) -> str:
    """The end of a sentence on one of several machines."""
    return f" ({machine})" if len(evidence.read_machines) > 1 else ""


def _polls(evidence: Evidence, polls: Polls) -> Iterator[TestbedLimit]:
    """Checks that a switch answered each poll, that its counters did not restart, and that no other
    traffic used the poller's port."""
    phase_ns = evidence.measured_by(evidence.hosts[polls.from_])
    silent = unanswered(polls, *phase_ns)
    yield TestbedLimit(
        name=f"SNMP polls of {polls.switch} without an answer",
        value=len(silent),
        allowed=0,
        exceeded=bool(silent),
        evidence=f"{silent[0]}; each is a gap"
        if silent
        else f"polls each {polls.every_ns / 1e9:g} s",
    )
    broken = discontinuities(polls, *phase_ns)
    yield TestbedLimit(
        name=f"moments at which counters of {polls.switch} began anew, by SNMP",
        value=len(broken),
        allowed=0,
        exceeded=bool(broken),
        evidence=f"{broken[0]}; each is a gap" if broken else "sysUpTime, discontinuity, counters",
    )
    yield _refresh(polls)
    yield from _beside_polls(evidence, polls)


def _refresh(polls: Polls) -> TestbedLimit:
    """Checks that the SNMP agent refreshes its counters at least as often as it is polled: if so,
    each poll shows new values."""
    found_ns = polls.refresh_ns
    evidence = "too few polls showed new counters to tell"
    every = f"polls each {polls.every_ns / 1e9:g} s"
    if polls.is_slow and found_ns is not None:
        evidence = (
            f"{every} showed new counters each {found_ns / 1e9:.2f} s; those between are left out, "
            "so rates are means over that time"
        )
    elif found_ns is not None:
        evidence = f"{every} showed new counters each time, so they are refreshed as often or more"
    return TestbedLimit(
        name=f"time between refreshes of the counters that {polls.switch} shows by SNMP",
        value=None if found_ns is None else round(found_ns / 1e9, 3),
        allowed=round(SLOWER * polls.every_ns / 1e9, 3),
        unit="s",
        exceeded=polls.is_slow,
        evidence=evidence,
    )


def _beside_polls(evidence: Evidence, polls: Polls) -> Iterator[TestbedLimit]:
    ports = port_growth(evidence).get(polls.switch, {})
    own = None if polls.own_port is None else ports.get(polls.own_port)
    if own is None or "frames_consumed" not in own:
        return
    others = own["frames_received"] - own["frames_consumed"]
    others += own["frames_forwarded"] - own["frames_originated"]
    yield TestbedLimit(
        name=f"frames at the port of {polls.from_} that are no polls",
        value=others,
        allowed=0,
        exceeded=others != 0,
        evidence=f"{own['frames_consumed']} requests, {own['frames_originated']} answers",
    )


def _steal(evidence: Evidence) -> Iterator[TestbedLimit]:
    for machine, own in each_machine(evidence):
        stolen_ms = own.get("cpu_steal_ms")
        names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
        total_ms = sum(own.get(f"cpu_{name}_ms", 0) for name in names)
        share = None if stolen_ms is None or not total_ms else 100 * stolen_ms / total_ms
        yield TestbedLimit(
            name=f"CPU time taken by other machines of this host{_at(machine, evidence)}",
            value=share,
            allowed=_STEAL_PCT,
            unit="%",
            exceeded=share is not None and share > _STEAL_PCT,
            evidence=f"/proc/stat: {stolen_ms} ms stolen of {total_ms} ms",
        )


def _generators(evidence: Evidence) -> Iterator[TestbedLimit]:
    """Lateness of the generators. Messages of all hosts are taken together, since a single host has
    so few that one message would decide the 99th percentile."""
    late_ns = {
        spec.endpoint: agent.late_ns(*evidence.measured_by(agent))
        for spec, agent in evidence.agents.items()
    }
    found = {node: values for node, values in late_ns.items() if values}
    usual_ns = traffic_of(evidence.run.workload).usual_ns(evidence)
    if not found or usual_ns is None:
        return
    together = list(chain.from_iterable(found.values()))
    late_us = _p99(together) / 1_000
    allowed_us = _LATE_SHARE * usual_ns / 1_000
    hosts = "1 host" if len(found) == 1 else f"{len(found)} hosts"
    yield TestbedLimit(
        name="lateness of requests and responses (p99)",
        value=late_us,
        allowed=allowed_us,
        unit="us",
        exceeded=late_us > allowed_us,
        evidence=f"{len(together):,} instants of {hosts}; {_latest(found)}; allowed is a "
        f"twentieth of {usual_ns / 1_000:,.1f} us, the usual duration of a sample",
    )


def _latest(late_ns: Mapping[str, Sequence[int]]) -> str:
    """Describes the host with the greatest lateness, so that it can be compared with the value for
    all hosts."""
    node, own_ns = max(late_ns.items(), key=lambda item: _p99(item[1]))
    figures = f"p99 {_p99(own_ns) / 1_000:,.1f} us, most {max(own_ns) / 1_000:,.1f} us"
    return f"latest was {node}: {len(own_ns):,} instants, {figures}"


def _p99(values: Sequence[int]) -> int:
    """The 99th percentile: the smallest value that at most one value in a hundred exceeds."""
    return sorted(values)[-(-99 * len(values) // 100) - 1]


def _probing(evidence: Evidence) -> Iterator[TestbedLimit]:
    """The share of the time in which the samplers of a machine read counters. Readings at the start
    and end of phases are left out, since nothing is in flight then."""
    for machine in evidence.read_machines:
        costs_ns = [
            cost_ns
            for agent in evidence.agents.values()
            if evidence.machines[agent.host] == machine
            for cost_ns in _sampling_ns(agent, *evidence.measured_by(agent))
        ]
        span_ns = evidence.measure.end_ns - evidence.measure.start_ns
        share = 100 * sum(costs_ns) / span_ns
        yield TestbedLimit(
            name=f"time that reading counters takes{_at(machine, evidence)}",
            value=share,
            allowed=_PROBING_PCT,
            unit="%",
            exceeded=share > _PROBING_PCT,
            evidence=f"{len(costs_ns)} samples in {span_ns / 1e6:.0f} ms",
        )


def _sampling_ns(agent: AgentEvidence, first_ns: int, last_ns: int) -> Iterator[int]:
    """The time that each sample between two instants took."""
    for samples in agent.all_of(SamplesRecord):
        for at_ns, cost_ns in zip(samples.at_ns, samples.cost_ns, strict=True):
            if first_ns <= at_ns <= last_ns:
                yield cost_ns
