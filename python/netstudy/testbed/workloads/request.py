"""Requests and responses on real hosts, closed or open loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from netstudy import wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.accounts.account import Unit, together
from netstudy.testbed.real.accounts.bounds import Bounds, Part, either, summed
from netstudy.testbed.real.accounts.sending import Network
from netstudy.testbed.real.agent_specs import AgentSpec
from netstudy.testbed.real.evidence import AgentEvidence, Evidence
from netstudy.testbed.workloads.base import (
    Traffic,
    connection_samples,
    histograms,
    phase_ns,
    seconds,
    until,
)


class RequestTraffic(Traffic[wire.Request]):
    """As many connections for each pair as the plan says."""

    wired = wire.Request

    def client(self, run: wire.Run, spec: AgentSpec) -> agent_wire.RequestClient:  # noqa: ARG002
        """See Traffic.client."""
        work = _work(run)
        schedule: agent_wire.RequestSchedule = (
            agent_wire.ClosedLoop(outstanding=work.outstanding, think_ns=work.think_ns)
            if work.every_ns is None
            else agent_wire.OpenLoop(interval_ns=work.every_ns)
        )
        return agent_wire.RequestClient(
            request_bytes=work.request_bytes,
            response_bytes=work.response_bytes,
            schedule=schedule,
            warmup=until(run, "warm-up"),
            measure=until(run, "measure"),
        )

    def server(self, run: wire.Run, spec: AgentSpec) -> agent_wire.RequestServer:  # noqa: ARG002
        """See Traffic.server."""
        work = _work(run)
        return agent_wire.RequestServer(
            request_bytes=work.request_bytes,
            response_bytes=work.response_bytes,
            writes=work.writes,
        )

    def counted(self, work: wire.Request) -> int:
        """See Traffic.counted: one request on each connection."""
        return sum(1 for _ in work.connected)

    def resized(self, work: wire.Request, share: float) -> wire.Request:
        """See Traffic.resized. Small messages are not made larger, since they do not fill a
        link."""
        sizes = {
            name: max(round(getattr(work, name) * min(share, 1.0)), 1)
            for name in ("request_bytes", "response_bytes")
        }
        return work.model_copy(update={**sizes, "think_ns": 0})

    def longest_wait_ns(self, work: wire.Request) -> int:
        """See Traffic.longest_wait_ns."""
        return max(work.think_ns, work.every_ns or 0)

    def usual_ns(self, evidence: Evidence) -> float | None:
        """See Traffic.usual_ns: the mean response time."""
        found = list(_measured(evidence))
        count = sum(one.count for one in found)
        return sum(one.sum_ns for one in found) / count if count else None

    def samples(self, evidence: Evidence) -> wire.Samples:
        """See Traffic.samples. A connection counts as busy for the whole phase of its client."""
        return wire.Samples(
            time=together("request", _unit(evidence)),
            connection=connection_samples(evidence, phase_ns(evidence)),
            request=histograms(evidence),
            second=seconds(evidence),
        )

    def checks(self, evidence: Evidence) -> Iterator[wire.Check]:
        """See Traffic.checks."""
        yield _all_answered(evidence)


def _work(run: wire.Run) -> wire.Request:
    assert isinstance(run.workload, wire.Request)
    return run.workload


def _unit(evidence: Evidence) -> Unit:
    """The time of all requests, and bounds of its parts."""
    network = Network(evidence)
    each = [_of_client(network, client) for client in evidence.clients]
    return Unit(
        sum(one.whole_ns for one in each),
        summed(one.parts for one in each),
        count=sum(one.count for one in each),
    )


def _of_client(network: Network, client: AgentEvidence) -> Unit:
    """The time of a client's requests. Each takes at least the least round trip."""
    (found,) = (one for one in client.all_of(agent_wire.ResponseTimesRecord) if _is_measured(one))
    phase = client.phase("measure")
    late_ns = sum(
        pacing.one_of * late_ns
        for pacing in client.all_of(agent_wire.PacingRecord)
        for due_ns, late_ns in zip(pacing.due_ns, pacing.late_ns, strict=True)
        if phase.from_ns <= due_ns <= phase.to_ns
    )
    answered = found.count / max(found.count + found.unanswered, 1)
    generator = {Part("own", "generator", client.spec.node): Bounds(answered * late_ns, late_ns)}
    ways = [network.sending(row, "client").round_trip() for row in client.spec.own]
    trip = reduce(either, ways)
    parts = {part: Bounds(found.count * one.low, one.high) for part, one in trip.items()}
    return Unit(found.sum_ns, {**generator, **parts}, count=found.count)


def _is_measured(record: agent_wire.ResponseTimesRecord) -> bool:
    return (record.of, record.phase) == ("workload", "measure")


def _measured(evidence: Evidence) -> Iterator[agent_wire.ResponseTimesRecord]:
    for client in evidence.clients:
        for one in client.all_of(agent_wire.ResponseTimesRecord):
            if _is_measured(one):
                yield one


def _all_answered(evidence: Evidence) -> wire.Check:
    """Makes two checks. The bytes that both applications verified, until nothing was in flight,
    must equal the bytes of the requests that were due in the measuring phase. If the plan gives a
    number of requests, this number must have been due."""
    work = _work(evidence.run)
    count = sum(one.count + one.unanswered for one in _measured(evidence))
    growth = [
        (evidence.connection_growth(row, "client")[0], evidence.connection_growth(row, "server")[0])
        for row in evidence.specs.workload
    ]
    responses, requests = (sum(column) for column in zip(*growth, strict=True))
    planned = evidence.run.count("measure") * len(evidence.specs.workload) or count
    return wire.Check(
        law="every request is answered once, and every byte is the one that was sent",
        holds=count == planned
        and (requests, responses) == (count * work.request_bytes, count * work.response_bytes),
        detail=f"{count} of {planned} requests; verified {requests} B of them, {responses} B of "
        "responses",
    )
