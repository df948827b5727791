"""Incast on real hosts: a client requests a block from every server at once, waits for all blocks,
and repeats this."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

from netstudy import wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.accounts.account import Unit, members, single
from netstudy.testbed.real.accounts.bounds import Part, exactly, summed
from netstudy.testbed.real.accounts.sending import Network
from netstudy.testbed.real.agent_specs import AgentSpec
from netstudy.testbed.real.evidence import AgentEvidence, Evidence
from netstudy.testbed.workloads.base import Traffic, connection_samples, histograms, if_comparable

_LONGEST_WAIT_MEANS = 50
"""The longest exponentially distributed wait, as a multiple of the mean: the probability of a
longer one is 2e-22."""


class IncastTraffic(Traffic[wire.Incast]):
    """One connection to each server."""

    wired = wire.Incast

    def client(self, run: wire.Run, spec: AgentSpec) -> agent_wire.IncastClient:  # noqa: ARG002
        """See Traffic.client."""
        work = _work(run)
        return agent_wire.IncastClient(
            request_bytes=work.request_bytes,
            response_bytes=work.response_bytes,
            iterations=run.count("measure"),
            warmup_iterations=run.count("warm-up"),
            request_spacing_ns=work.request_spacing_ns,
        )

    def server(self, run: wire.Run, spec: AgentSpec) -> agent_wire.IncastServer:
        """See Traffic.server."""
        work = _work(run)
        (row,) = spec.own
        return agent_wire.IncastServer(
            request_bytes=work.request_bytes,
            response_bytes=work.response_bytes[row],
            start_jitter=work.start_jitter,
            number=row + 1,
            seed=run.seed,
        )

    def unsupported(self, run: wire.Run) -> Iterator[str]:
        """See Traffic.unsupported."""
        work = _work(run)
        if len(work.roles.client) != 1:
            yield f"An incast has one client, not {len(work.roles.client)}."
        if any(isinstance(phase.until, wire.UntilTime) for phase in run.phases if _runs(phase)):
            yield "Agents count the iterations of an incast: give its phases counts, not times."

    def counted(self, work: wire.Incast) -> int:  # noqa: ARG002
        """See Traffic.counted: an iteration."""
        return 1

    def resized(self, work: wire.Incast, share: float) -> wire.Incast:
        """See Traffic.resized."""
        block_bytes = max(round(work.block_bytes * share), len(work.roles.server))
        plain = {"request_spacing_ns": 0, "start_jitter": wire.NoJitter()}
        return work.model_copy(update={"block_bytes": block_bytes, **plain})

    def is_looked_at(self, role: wire.Role) -> bool:
        """See Traffic.is_looked_at: both ends read their connections at each message. Looks at the
        servers' connections find waits for timers too."""
        return role == "server"

    def longest_wait_ns(self, work: wire.Incast) -> int:
        """See Traffic.longest_wait_ns: the servers' delay before they answer."""
        match work.start_jitter:
            case wire.UniformJitter(max_ns=longest_ns):
                return longest_ns
            case wire.ExponentialJitter(mean_ns=mean_ns):
                return _LONGEST_WAIT_MEANS * mean_ns
            case wire.NoJitter():
                return 0

    def usual_ns(self, evidence: Evidence) -> float | None:
        """See Traffic.usual_ns."""
        return median(_completion_ns(_iterations(evidence)))

    def samples(self, evidence: Evidence) -> wire.Samples:
        """See Traffic.samples."""
        times, requests = _iterations(evidence), _requests(evidence)
        return wire.Samples(
            time=if_comparable(lambda: _time(evidence, requests)),
            iteration=wire.IterationSamples(
                completion_ns=tuple(_completion_ns(times)),
                dropped_packets=_dropped(evidence, times.started_ns),
                retransmissions=_measured(evidence, "retransmissions"),
                timeouts=_measured(evidence, "timeouts"),
            ),
            connection=connection_samples(evidence, _busy_ns(evidence)).model_copy(
                update={"last": _last(evidence, requests)}
            ),
            request=histograms(evidence),
        )

    def checks(self, evidence: Evidence) -> Iterator[wire.Check]:
        """See Traffic.checks."""
        yield _all_arrived(evidence)
        yield _below_line_rate(evidence)


def _work(run: wire.Run) -> wire.Incast:
    assert isinstance(run.workload, wire.Incast)
    return run.workload


def _runs(phase: wire.Phase) -> bool:
    return phase.kind in ("warm-up", "measure")


def _iterations(evidence: Evidence) -> agent_wire.IterationsRecord:
    return evidence.clients[0].one(agent_wire.IterationsRecord)


def _completion_ns(times: agent_wire.IterationsRecord) -> list[int]:
    return [end - start for start, end in zip(times.started_ns, times.ended_ns, strict=True)]


def _dropped(evidence: Evidence, started_ns: Sequence[int]) -> tuple[int, ...] | None:
    """Drops of all switches by iteration; None: they are not known, or are by another clock than
    the client's. A drop between two iterations counts for the earlier one."""
    if evidence.switch.drops is None:
        return None
    own = evidence.domain(evidence.clients[0])
    if any(evidence.clocks.domains[one.switch] != own for one in evidence.switch.drops):
        return None
    counts = [0] * len(started_ns)
    last_ns = evidence.measure.end_ns
    for switch in evidence.switch.drops:
        for at_ns in switch.at_ns:
            index = bisect_right(started_ns, at_ns) - 1
            if index >= 0 and at_ns <= last_ns:
                counts[index] += 1
    return tuple(counts)


def _measured(evidence: Evidence, name: str) -> tuple[int, ...] | None:
    """The growth of a value of TCP_INFO over each iteration of the measuring phase, summed over all
    servers; None: the system of one of them does not report it."""
    totals = [_before_responses(server).values.get(name) for server in evidence.servers]
    known = [one for one in totals if one is not None]
    if len(known) < len(totals):
        return None
    grown = ([after - before for before, after in pairwise(one)] for one in known)
    return tuple(map(sum, zip(*grown, strict=True)))[evidence.run.count("warm-up") :]


def _before_responses(server: AgentEvidence) -> agent_wire.ReadingsRecord:
    """A server's readings of its connection before each response, and at the end."""
    (found,) = (one for one in server.readings(0) if one.taken == "before-responses")
    return found


def _requests(evidence: Evidence) -> dict[int, agent_wire.RequestsRecord]:
    """Connection's row -> the times of its requests in the measuring phase."""
    client = evidence.clients[0]
    each = client.all_of(agent_wire.RequestsRecord)
    return {client.spec.rows[one.connection]: one for one in each}


def _busy_ns(evidence: Evidence) -> dict[int, int]:
    """Connection's row -> time from the start of an iteration to the last byte from that server,
    summed over all iterations."""
    started_ns = sum(_iterations(evidence).started_ns)
    return {row: sum(one.done_ns) - started_ns for row, one in _requests(evidence).items()}


def _order(requests: Mapping[int, agent_wire.RequestsRecord], iteration: int) -> list[int]:
    """The rows of connections in the order in which their responses to an iteration ended."""
    return sorted(requests, key=lambda row: requests[row].done_ns[iteration])


def _last(evidence: Evidence, requests: Mapping[int, agent_wire.RequestsRecord]) -> tuple[int, ...]:
    """For each connection, of how many iterations it had the last byte."""
    count = len(_iterations(evidence).started_ns)
    lasts = Counter(_order(requests, iteration)[-1] for iteration in range(count))
    return tuple(lasts[row] for row in evidence.specs.workload)


def _time(
    evidence: Evidence, requests: Mapping[int, agent_wire.RequestsRecord]
) -> tuple[wire.TimeAccount, ...]:
    network, started_ns = Network(evidence), _iterations(evidence).started_ns
    orders = [_order(requests, iteration) for iteration in range(len(started_ns))]

    def unit(iteration: int, row: int) -> Unit:
        return _unit(network, requests[row], row, iteration, started_ns[iteration])

    iterations = [unit(iteration, order[-1]) for iteration, order in enumerate(orders)]
    # The member that is complete when half of the others are.
    medians = [unit(number, order[(len(order) - 1) // 2]) for number, order in enumerate(orders)]
    return (*single("iteration", iterations), *members("iteration", medians))


def _unit(
    network: Network,
    request: agent_wire.RequestsRecord,
    row: int,
    iteration: int,
    started_ns: int,
) -> Unit:
    """The time from the start of an iteration to the last byte on one of its connections."""
    evidence = network.evidence
    spec, _ = evidence.specs.end(row, "server")
    client, server = evidence.clients[0], evidence.agents[spec]
    served = server.one(agent_wire.ServedRecord)
    number = iteration + evidence.run.count("warm-up")
    sent_ns, done_ns = request.sent_ns[iteration], request.done_ns[iteration]
    # The server reads its connection when it begins to answer.
    asked_ns, begun_ns = served.requested_ns[number], _before_responses(server).at_ns[number]
    size_bytes = _work(evidence.run).response_bytes[row]
    asking, answering = network.sending(row, "client"), network.sending(row, "server")
    parts = summed(
        (
            {Part("own", "generator", client.spec.node): exactly(sent_ns - started_ns)},
            asking.trip(evidence.instant(client, sent_ns), evidence.instant(server, asked_ns)),
            {Part("own", "application", spec.node): exactly(begun_ns - asked_ns)},
            answering.parts(
                evidence.instant(server, begun_ns),
                evidence.instant(client, done_ns),
                size_bytes,
                served.answered_ns[number],
            ),
        )
    )
    return Unit(done_ns - started_ns, parts, connection=row)


def _all_arrived(evidence: Evidence) -> wire.Check:
    """Checks, over all phases, that the client's application verified the bytes that the plan asks
    for."""
    run = evidence.run
    each = _work(run).response_bytes
    iterations = run.count("warm-up") + run.count("measure")
    asked = [iterations * size for size in each]
    client = evidence.clients[0]
    phases = [
        one for one in client.all_of(agent_wire.PhaseRecord) if one.name in ("warm-up", "measure")
    ]
    received = [sum(one.bytes_received[row] for one in phases) for row in range(len(each))]
    return wire.Check(
        law="every byte that was asked for arrives once, and is the one that was sent",
        holds=received == asked,
        detail=f"verified {sum(received)} B of {sum(asked)} B",
    )


def _below_line_rate(evidence: Evidence) -> wire.Check:
    """Counts only the payload, for each iteration by itself, since iterations do not overlap.

    A token bucket fills up while nothing is sent, and then lets a burst as large as the bucket pass
    at once.
    """
    work = _work(evidence.run)
    (client,) = work.roles.client
    routes = [evidence.routes.route(server, client) for server in work.roles.server]
    wired = [
        (route.hops[-1][0].rate_bps, size)
        for route, size in zip(routes, work.response_bytes, strict=True)
        if route.hops
    ]
    payload = sum(size for _, size in wired)
    slowest_bps = max((rate_bps for rate_bps, _ in wired), default=1)
    least_ns = max(payload - evidence.burst_bytes, 0) * 8 * 1_000_000_000 // slowest_bps
    fastest_ns = min(_completion_ns(_iterations(evidence)))
    return wire.Check(
        law="goodput stays below what the client's link can carry",
        holds=fastest_ns >= least_ns,
        detail=f"{payload} B in {fastest_ns} ns at the fastest, at least {least_ns} ns on the wire",
    )
