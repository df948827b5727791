"""From what the processes of a run said to its record: the same one that the simulator writes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from netstudy.testbed.real.counters import growth, machine_growth
from netstudy.testbed.real.evidence import Evidence, summed
from netstudy.testbed.real.incast import response_bytes
from netstudy.testbed.real.judge import limits
from netstudy.testbed.real.reconcile import reconciliation
from netstudy.testbed.real.switch_wire import SwitchClock
from netstudy.wire import (
    Check,
    ConnectionSamples,
    IterationSamples,
    Phase,
    Run,
    RunRecord,
    TestbedLimit,
)

_MAXIMA = ("queue_bytes_max",)
_KEEPS_TIME = "the switch keeps to its times"
_NONE_VANISHES = "no frame vanishes between two interfaces of the machine"


def run_record(run: Run, evidence: Evidence, environment: dict[str, str]) -> RunRecord:
    """The record of a run that came to its end. Raises LookupError when something is missing.

    It is invalid where it breaks a law.
    """
    checks = tuple(_checks(run, evidence))
    asked = sum(response_bytes(run.workload, len(evidence.servers)))
    times = evidence.iterations
    return RunRecord(
        run=run.id,
        treatment=run.treatment,
        replicate=run.replicate,
        seed=run.seed,
        status="ok" if all(check.holds for check in checks) else "invalid",
        checks=checks,
        measure=Phase(start_ns=times.started_ns[0], end_ns=times.ended_ns[-1]),
        bytes_received=asked * len(times.started_ns),
        iterations=_iterations(run, evidence),
        connections=_connections(run, evidence),
        counters=_counters(run, evidence),
        limits=_limits(evidence, checks),
        reconciliation=reconciliation(run, evidence),
        environment=environment,
    )


def disturbance(record: RunRecord) -> str | None:
    """Why a run is invalid for which the machine alone is to blame; None: it is not such a one.

    The machine was busy with something else: the same run may go well another time.
    """
    broken = _broken(record.checks)
    if not broken or not _are_the_machines(broken):
        return None
    return "; ".join(check.detail for check in broken)


def failed_record(run: Run, error: str) -> RunRecord:
    """The record of a run that did not come to its end."""
    return RunRecord(
        run=run.id,
        treatment=run.treatment,
        replicate=run.replicate,
        seed=run.seed,
        status="failed",
        error=error,
    )


def _broken(checks: Sequence[Check]) -> list[Check]:
    return [check for check in checks if not check.holds]


def _are_the_machines(broken: Sequence[Check]) -> bool:
    return all(check.law in (_KEEPS_TIME, _NONE_VANISHES) for check in broken)


def _limits(evidence: Evidence, checks: Sequence[Check]) -> tuple[TestbedLimit, ...]:
    """Where other laws are broken as well, no limit alone explains why the run is invalid."""
    found = limits(evidence)
    if _are_the_machines(_broken(checks)):
        return found
    return tuple(limit.model_copy(update={"invalidates": False}) for limit in found)


def _iterations(run: Run, evidence: Evidence) -> IterationSamples:
    times, drops = evidence.iterations, evidence.switch.drops
    spans = zip(times.started_ns, times.ended_ns, strict=True)
    return IterationSamples(
        completion_ns=tuple(ended - started for started, ended in spans),
        dropped_packets=None
        if drops is None
        else tuple(_per_iteration(drops.at_ns, times.started_ns)),
        retransmissions=tuple(
            _sums(_measured(run, one.retransmissions) for one in evidence.served)
        ),
        timeouts=tuple(_sums(_measured(run, one.timeouts) for one in evidence.served)),
    )


def _per_iteration(at_ns: Sequence[int], started_ns: Sequence[int]) -> list[int]:
    """Events by the iteration that they are in; what is between two belongs to the first."""
    counts = [0] * len(started_ns)
    for at in at_ns:
        index = bisect_right(started_ns, at) - 1
        if index >= 0:
            counts[index] += 1
    return counts


def _measured(run: Run, totals: Sequence[int]) -> list[int]:
    """The growth of a total over each iteration of the measuring phase."""
    steps = [after - before for before, after in pairwise(totals)]
    return steps[run.workload.warmup_iterations :]


def _sums(parts: Iterator[list[int]]) -> list[int]:
    return [sum(values) for values in zip(*parts, strict=True)]


def _connections(run: Run, evidence: Evidence) -> ConnectionSamples:
    started = evidence.iterations.started_ns
    asked = response_bytes(run.workload, len(evidence.servers))
    return ConnectionSamples(
        bytes_received=tuple(part * len(started) for part in asked),
        receiving_ns=tuple(sum(one.done_ns) - sum(started) for one in evidence.requests),
        retransmissions=tuple(sum(_measured(run, one.retransmissions)) for one in evidence.served),
        timeouts=tuple(sum(_measured(run, one.timeouts)) for one in evidence.served),
    )


def _counters(run: Run, evidence: Evidence) -> dict[str, dict[str, int]]:
    """Of the machine, and as the simulator has them: client, all servers together, their ports."""
    client, servers = run.workload.client, run.workload.servers
    ports = [evidence.switch.growth(server.node) for server in evidence.servers]
    return {
        "machine": machine_growth(evidence.client),
        client: growth(evidence.client),
        servers: summed(growth(server) for server in evidence.servers),
        f"switch.{client}": evidence.switch.growth(evidence.client.node),
        f"switch.{servers}": summed(ports, _MAXIMA),
    }


def _checks(run: Run, evidence: Evidence) -> Iterator[Check]:
    """Conservation laws, as the simulator holds its own runs against them."""
    yield _all_arrived(run, evidence)
    yield _below_line_rate(run, evidence)
    if evidence.switch.clock is not None:
        yield _kept_up(evidence.switch.clock)
    dropped = machine_growth(evidence.client).get("softnet_dropped")
    if dropped is not None:
        yield _none_vanished(dropped)


def _all_arrived(run: Run, evidence: Evidence) -> Check:
    work = run.workload
    iterations = work.warmup_iterations + work.iterations
    asked = iterations * sum(response_bytes(work, len(evidence.servers)))
    received = evidence.verified_bytes
    return Check(
        law="every byte that was asked for arrives once, and is the one that was sent",
        holds=received == asked,
        detail=f"verified {received} B of {asked} B",
    )


def _below_line_rate(run: Run, evidence: Evidence) -> Check:
    """Payload alone, and each iteration by itself: nothing of another one is in its time.

    A token bucket that has filled up while nothing was sent lets its depth go at once.
    """
    work, times = run.workload, evidence.iterations
    rate = next(link.rate_bps for link in run.network.links if work.client in link.between)
    payload = sum(response_bytes(work, len(evidence.servers)))
    least_ns = max(payload - evidence.switch.burst_bytes, 0) * 8 * 1_000_000_000 // rate
    spans = zip(times.started_ns, times.ended_ns, strict=True)
    fastest = min(ended - started for started, ended in spans)
    return Check(
        law="goodput stays below what the client's link can carry",
        holds=fastest >= least_ns,
        detail=f"{payload} B in {fastest} ns at the fastest, at least {least_ns} ns on the wire",
    )


def _kept_up(clock: SwitchClock) -> Check:
    late = f"{clock.departures} frames, late by {clock.late_ns_p50} ns (median)"
    detail = f"{late}, {clock.late_ns_p99} ns (p99), {clock.late_ns_max} ns (most)"
    return Check(
        law=_KEEPS_TIME,
        holds=clock.kept_up,
        detail=detail if clock.why is None else f"{clock.why}; {detail}",
    )


def _none_vanished(dropped: int) -> Check:
    return Check(
        law=_NONE_VANISHES,
        holds=dropped == 0,
        detail=f"{dropped} dropped by processors' backlog queues (/proc/net/softnet_stat)",
    )
