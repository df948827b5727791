"""Transactions on real hosts: load generators send requests to an application over HTTP."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeVar

from netstudy import wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.accounts.account import Unit, together
from netstudy.testbed.real.accounts.bounds import UNKNOWN, Bounds, Part, at_most, exactly
from netstudy.testbed.real.accounts.round_trips import LATENCY, QUEUE
from netstudy.testbed.real.agent_specs import AgentSpec
from netstudy.testbed.real.application import Served
from netstudy.testbed.real.counters import growth
from netstudy.testbed.real.evidence import AgentEvidence, Evidence
from netstudy.testbed.workloads.base import (
    DISK_FOLDER,
    RAM_FOLDER,
    ApplicationTraffic,
    until,
)
from netstudy.units import ETHERNET_HEADER_BYTES, IP_TCP_HEADER_BYTES, TIMESTAMPS_BYTES
from netstudy.wire_model import Wire

_TIMEOUT_NS: Final = 15_000_000_000
"""A request that is not answered within this time is an error; shorter than the time that a server
may be silent."""
_ELEMENTS: Final = "page element"
_TRANSACTIONS: Final = "transaction"
_THINK_MAX: Final = 10
"""The longest think time, as a multiple of the mean: one in 22,000 exponentially distributed times
is longer."""
_PAGE_MAX_BYTES: Final = 262_144
"""The most bytes that a page element of the brokerage can have."""
_LOSS_SHARE: Final = 0.02
"""Share of the bytes allowed for segments that arrive twice, and for TCP options that most segments
do not have."""
_CPU_MAX_PCT: Final = 80.0
"""Above this share of one CPU, a generator may be late because it is too busy."""

RecordT = TypeVar("RecordT")


class TransactionsTraffic(ApplicationTraffic[wire.Transactions]):
    """One generator for each client; each user has a connection."""

    wired = wire.Transactions

    def served(self, run: wire.Run) -> Served:
        """See ApplicationTraffic.served."""
        work = _work(run)
        (server,) = work.roles.server
        database = work.roles.database[0] if work.roles.database else None
        connections = work.load.users
        if isinstance(work.application, wire.Brokerage):
            connections += work.application.pool_connections
        return Served(work.application, _host(server), database and _host(database), connections)

    def generator(
        self, run: wire.Run, spec: AgentSpec, local: agent_wire.Address, target: agent_wire.Endpoint
    ) -> agent_wire.TransactionClient:
        """See ApplicationTraffic.generator. Generators divide the users or the rate among
        themselves. Registered users are dealt to them in turn, so that no two generators have the
        same user."""
        work = _work(run)
        generators = list(dict.fromkeys(work.roles.client))
        number = generators.index(spec.endpoint)
        app = work.application
        registered, quotes, images = 0, 0, 0
        if isinstance(app, wire.Brokerage):
            registered, quotes, images = app.users, app.quotes, app.page_images
        return agent_wire.TransactionClient(
            target=target,
            local=local,
            host=f"{target.address}:{target.port}",
            script="brokerage" if isinstance(app, wire.Brokerage) else "plain",
            mix=work.mix,
            load=_share_of(work.load, number, len(generators)),
            # Dealt like cards: generator k has the users k, k + n, k + 2 n, …
            deck=agent_wire.Deck(
                first=number,
                step=len(generators),
                users=_part(registered, number, len(generators)),
            ),
            quotes=quotes,
            page_images=images,
            statistics_every_ns=work.statistics_every_ns,
            request_timeout_ns=_TIMEOUT_NS,
            seed=run.seed,
            number=number,
            warmup=until(run, "warm-up"),
            measure=until(run, "measure"),
        )

    def application_phases(self, work: wire.Transactions) -> Collection[wire.PhaseKind]:
        """See ApplicationTraffic.application_phases: a user's own program has no such phases."""
        return wire.APPLICATION_PHASES if isinstance(work.application, wire.Brokerage) else ()

    def unsupported(self, run: wire.Run) -> Iterator[str]:
        """See Traffic.unsupported."""
        work = _work(run)
        generators = len(set(work.roles.client))
        if work.load.users < generators:
            yield (
                f"{work.load.users} users are fewer than the {generators} hosts that generate "
                "load, of which each needs one: ask for more users, or fewer hosts."
            )
        app = work.application
        if isinstance(app, wire.Brokerage) and app.users < work.load.users:
            yield (
                f"{work.load.users} users at once need as many registered ones, and the population "
                f"has {app.users}."
            )
        if not isinstance(run.until("measure"), wire.UntilTime) or run.count("warm-up"):
            yield "Users submit for a time: give the warm-up and the measuring phase times."

    def folders(self, work: wire.Transactions) -> frozenset[str]:
        """See Traffic.folders."""
        app = work.application
        on_disk = isinstance(app, wire.Brokerage) and app.data == "disk" and not app.existing
        return frozenset({DISK_FOLDER if on_disk else RAM_FOLDER})

    def counted(self, work: wire.Transactions) -> int:  # noqa: ARG002
        """See Traffic.counted: phases end after a time, not after a count."""
        return 1

    def resized(self, work: wire.Transactions, share: float) -> wire.Transfer:
        """See Traffic.resized: files sent from the application's host to the clients' hosts fill
        the same links, and do not depend on how fast an application is."""
        size = (
            work.costs.response_bytes
            if work.costs
            else wire.Costs.model_fields["response_bytes"].default
        )
        return wire.Transfer(
            roles=wire.Roles(client=work.roles.client, server=work.roles.server),
            size_bytes=max(round(size * share), 1),
        )

    def longest_wait_ns(self, work: wire.Transactions) -> int:
        """See Traffic.longest_wait_ns."""
        if isinstance(work.load, wire.OpenLoad):
            return _THINK_MAX * work.load.interval_ps // 1_000
        return work.load.think_ns * (_THINK_MAX if work.load.think == "exponential" else 1)

    def usual_ns(self, evidence: Evidence) -> float | None:
        """See Traffic.usual_ns: the mean response time of a page element."""
        found = [one for _, one in _times(evidence) if _is_usual(one)]
        count = sum(one.count for one in found)
        return sum(one.sum_ns for one in found) / count if count else None

    def samples(self, evidence: Evidence) -> wire.Samples:
        """See Traffic.samples."""
        found = _Found(evidence)
        return wire.Samples(
            time=together("transaction", _unit(found)),
            request=tuple(_histogram(evidence, client, one) for client, one in _times(evidence)),
            transaction=found.transactions,
            error=_joined(
                wire.TransactionErrors, agent_wire.TransactionErrorsRecord, evidence, "operation"
            ),
            statistics=found.statistics,
        )

    def checks(self, evidence: Evidence) -> Iterator[wire.Check]:
        """See Traffic.checks."""
        found = _Found(evidence)
        yield _accounted(found.transactions)
        yield _summed_up(found.transactions, found.statistics)
        yield _read(found)
        application = evidence.application
        if application is not None and application.snapshots:
            yield _answered(found)
        if application is not None and application.books is not None:
            books = application.books
            yield wire.Check(
                law="the books of the application balance",
                holds=books.balanced,
                detail="; ".join(books.detail) or _figures(books.figures),
            )

    def limits(self, evidence: Evidence) -> Iterator[wire.TestbedLimit]:
        """See Traffic.limits: whether generators are too busy to submit in time."""
        phase_ns = evidence.measure.end_ns - evidence.measure.start_ns
        shares = {
            client.spec.node: 100 * growth(client, "host")["process_cpu_ns"] / phase_ns
            for client in evidence.clients
        }
        node, share = max(shares.items(), key=lambda found: found[1])
        yield wire.TestbedLimit(
            name="CPU time of the busiest generator of load",
            value=share,
            allowed=_CPU_MAX_PCT,
            unit="%",
            exceeded=share > _CPU_MAX_PCT,
            evidence=f"{node}, of one CPU, whatever else was on it",
        )


def _work(run: wire.Run) -> wire.Transactions:
    assert isinstance(run.workload, wire.Transactions)
    return run.workload


def _host(endpoint: str) -> str:
    return endpoint.partition("@")[0]


def _part(total: int, number: int, of: int) -> int:
    """One generator's share of a number. If the number cannot be divided evenly, the first
    generators have one more."""
    return total // of + (number < total % of)


def _share_of(
    load: wire.ClosedLoad | wire.OpenLoad, number: int, of: int
) -> wire.ClosedLoad | wire.OpenLoad:
    users = _part(load.users, number, of)
    if isinstance(load, wire.ClosedLoad):
        return load.model_copy(update={"users": users})
    return load.model_copy(update={"users": users, "interval_ps": load.interval_ps * of})


def _times(evidence: Evidence) -> Iterator[tuple[AgentEvidence, agent_wire.ResponseTimesRecord]]:
    for client in evidence.clients:
        for one in client.all_of(agent_wire.ResponseTimesRecord):
            if one.operation is not None and one.count + one.unanswered:
                yield client, one


def _is_usual(record: agent_wire.ResponseTimesRecord) -> bool:
    return (record.operation, record.latency, record.phase) == (_ELEMENTS, "response", "measure")


def _histogram(
    evidence: Evidence, client: AgentEvidence, record: agent_wire.ResponseTimesRecord
) -> wire.RequestHistogram:
    assert record.operation is not None, "response times of transactions have an operation"
    return wire.RequestHistogram(
        operation=record.operation,
        latency=record.latency,
        phase=record.phase,
        client=client.spec.node,
        server=_host(_work(evidence.run).roles.server[0]),
        count=record.count,
        unanswered=record.unanswered,
        min_ns=record.min_ns or 0,
        max_ns=record.max_ns or 0,
        sum_ns=record.sum_ns,
        significant_digits=3,
        value_ns=tuple(value for value, _ in record.histogram),
        requests=tuple(count for _, count in record.histogram),
    )


TableT = TypeVar("TableT", wire.TransactionSamples, wire.TransactionErrors, wire.StatisticsSamples)


def _joined(table: type[TableT], kind: type[Wire], evidence: Evidence, rows: str) -> TableT:
    """Joins the tables of all generators; `rows` names a column that every table has."""
    columns: dict[str, tuple[object, ...]] = dict.fromkeys(table.model_fields, ())
    for client in evidence.clients:
        record = client.one(kind)
        for name in columns:
            own = getattr(record, name, None)
            if own is None:
                own = (client.spec.node,) * len(getattr(record, rows))
            columns[name] += tuple(own)
    return table.model_validate(columns)


@dataclass(frozen=True)
class _Found:
    """The tables in the evidence of a run, and their totals."""

    evidence: Evidence

    @cached_property
    def transactions(self) -> wire.TransactionSamples:
        return _joined(
            wire.TransactionSamples, agent_wire.TransactionsRecord, self.evidence, "operation"
        )

    @cached_property
    def statistics(self) -> wire.StatisticsSamples:
        return _joined(wire.StatisticsSamples, agent_wire.StatisticsRecord, self.evidence, "at_ns")

    @property
    def uncounted(self) -> int:
        """Number of failed operations, and of operations in flight at the end of the phase: the
        hosts' counters include their bytes and answers, but the tables may not."""
        table = self.transactions
        parts = (table.network_errors, table.server_errors, table.unfinished)
        return sum(sum(column) for column in parts)

    def uncounted_requests(self) -> int:
        """The most requests of these operations."""
        work = _work(self.evidence.run)
        images = 0
        if isinstance(work.application, wire.Brokerage):
            images = work.application.page_images
        longest = max((len(one.requests) for one in work.mix), default=0)
        return self.uncounted * max(longest, _REQUESTS_MAX) * (1 + images)


def _unit(found: _Found) -> Unit:
    """The time of all transactions, and bounds of its parts."""
    evidence, ended = found.evidence, sum(found.transactions.completed)
    # Counters grow with submissions too that failed or were under way at the end.
    share = ended / max(ended + found.uncounted, 1)
    known = {**_of_generators(evidence, share), **_of_application(evidence, share)}
    unknown = (Part("own", "application", _application_host(evidence)), LATENCY, QUEUE)
    return Unit(
        whole_ns=sum(one.sum_ns for one in _measured(evidence, "response").values()),
        parts={**known, **dict.fromkeys(unknown, UNKNOWN)},
        count=sum(one.count for one in _measured(evidence, "response").values()),
    )


def _measured(evidence: Evidence, latency: str) -> dict[str, agent_wire.ResponseTimesRecord]:
    """Generator -> the times of its transactions in the measuring phase."""
    wanted = (_TRANSACTIONS, latency, "measure")
    return {
        client.spec.node: one
        for client, one in _times(evidence)
        if wanted == (one.operation, one.latency, one.phase)
    }


def _application_host(evidence: Evidence) -> str:
    return _host(_work(evidence.run).roles.server[0])


def _of_generators(evidence: Evidence, share: float) -> dict[Part, Bounds]:
    """The time until requests were sent, and the CPU time of the generators. While the thread of a
    generator works or waits for a CPU, the answers to all its users may wait. It waits because an
    answer has come, or a request is due: the latter is in the time until it was sent."""
    users = _work(evidence.run).load.users
    found = {}
    responses, services = (_measured(evidence, latency) for latency in ("response", "service"))
    for client in evidence.clients:
        node, grown = client.spec.node, growth(client, "host")
        unsent_ns = responses[node].sum_ns - services[node].sum_ns if node in services else 0
        cpu_ns, waited_ns = grown["process_cpu_ns"], grown.get("process_waited_ns", math.inf)
        waited = _counted(waited_ns, share, unsent_ns)
        found[Part("own", "generator", node)] = exactly(unsent_ns)
        found[Part("own", "cpu", node)] = at_most(cpu_ns)
        found[Part("own", "cpu-queue", node)] = waited._replace(high=users * (cpu_ns + waited_ns))
    return found


def _counted(time_ns: float, share: float, elsewhere_ns: float = 0.0) -> Bounds:
    """Bounds of a time of which transactions that count had this share, and of which another part
    may have some already. An unknown time is infinite."""
    low = 0.0 if math.isinf(time_ns) else max(share * time_ns - elsewhere_ns, 0.0)
    return Bounds(low, time_ns)


def _of_application(evidence: Evidence, share: float) -> dict[Part, Bounds]:
    """The parts at the application server and its database, as far as they count. Both work for
    transactions only, and for each of them in one place at a time, so that their times add up."""
    application, work = evidence.application, _work(evidence.run)
    if application is None or not application.snapshots:
        return {}
    edges = (application.snapshots[edge] for edge in (wire.MEASURE_START, wire.MEASURE_END))
    first, last = (one.counters for one in edges)
    host = _application_host(evidence)
    data_host = _host(work.roles.database[0]) if work.roles.database else host
    pool_ns = last.pool_wait_ns - first.pool_wait_ns
    parts = {
        Part("own", "pool", host): exactly(share * pool_ns),
        Part("own", "thread", host): UNKNOWN,
    }
    for node in (data_host, host):
        cpu_ns, waited_ns = _spent(evidence, node)
        # A thread of the server may wait for a CPU to let a transaction have its connection.
        elsewhere_ns = pool_ns if node == host else 0
        parts[Part("own", "cpu", node)] = _counted(cpu_ns, share)
        parts[Part("own", "cpu-queue", node)] = _counted(waited_ns, share, elsewhere_ns)
    worked_ns = last.pool_busy_ns - first.pool_busy_ns
    held = at_most(worked_ns)
    if data_host == host:
        held = _counted(worked_ns, share, sum(_spent(evidence, host)))
    return {**parts, Part("own", "database-hold", data_host): held}


def _spent(evidence: Evidence, node: str) -> tuple[float, float]:
    """CPU time of all processes of a host in the measuring phase, and the time in which they waited
    for a CPU."""
    grown = growth(evidence.hosts[node], "host")
    cpu_ns, waited_ns = (grown.get(f"namespace_{name}_ns", math.inf) for name in ("cpu", "waited"))
    return cpu_ns, waited_ns


_REQUESTS_MAX: Final = 5
"""The most requests in an operation of the brokerage, including a log-in before it."""


def _accounted(table: wire.TransactionSamples) -> wire.Check:
    ended = (
        table.completed,
        table.network_errors,
        table.server_errors,
        table.not_met,
        table.unfinished,
    )
    rows = zip(table.client, table.operation, table.offered, *ended, strict=True)
    wrong = [
        f"{client} {operation}: {offered} were due and {sum(others)} accounted for"
        for client, operation, offered, *others in rows
        if offered != sum(others)
    ]
    whole = f"{sum(table.offered)} were due, {sum(table.completed)} completed, "
    whole += f"{sum(table.network_errors) + sum(table.server_errors)} failed, "
    whole += f"{sum(table.not_met)} not met, {sum(table.unfinished)} under way at the end"
    return wire.Check(
        law="every submission that was due is completed, failed, not met or under way at the end",
        holds=not wrong,
        detail="; ".join([whole, *wrong]),
    )


def _summed_up(table: wire.TransactionSamples, blocks: wire.StatisticsSamples) -> wire.Check:
    """Compares the last block of statistics of each generator with its operations."""
    last = {client: row for row, client in enumerate(blocks.client)}
    told = [
        sum(column[row] for row in last.values())
        for column in (blocks.page_elements, blocks.transactions, blocks.bytes_read)
    ]
    counted = [sum(table.page_elements), sum(table.completed), sum(table.bytes_read)]
    names = ("page elements", "transactions", "bytes read")
    return wire.Check(
        law="the statistics of the whole phase are the sums of its operations",
        holds=told == counted,
        detail=", ".join(
            f"{name}: {one} and {other}"
            for name, one, other in zip(names, told, counted, strict=True)
        ),
    )


def _read(found: _Found) -> wire.Check:
    """Compares the bytes counted by the generators with the bytes received by their interfaces,
    without headers."""
    header = ETHERNET_HEADER_BYTES + IP_TCP_HEADER_BYTES + TIMESTAMPS_BYTES
    came = 0
    for (host, _), agent in found.evidence.interfaces.items():
        if host in {client.host for client in found.evidence.clients}:
            own = growth(agent, "interface")
            came += own["interface_bytes_received"] - header * own["interface_packets_received"]
    read = sum(found.transactions.bytes_read)
    allowed = round(_LOSS_SHARE * read) + _PAGE_MAX_BYTES * (1 + found.uncounted_requests())
    return wire.Check(
        law="generators read what came to their hosts",
        holds=read * (1 - _LOSS_SHARE) <= came <= read + allowed,
        detail=f"read {read} B; {came} B came, headers left out; {found.uncounted} submissions of "
        "which bytes are not counted",
    )


def _answered(found: _Found) -> wire.Check:
    """Compares the application's answers with the generators' counts."""
    assert found.evidence.application is not None, "asked for an application that tells"
    snapshots = found.evidence.application.snapshots
    first, last = snapshots[wire.MEASURE_START].counters, snapshots[wire.MEASURE_END].counters
    answers = sum(last.responses[kind] - first.responses[kind] for kind in ("2xx", "3xx"))
    sent = last.bytes_out - first.bytes_out
    counted, read = sum(found.transactions.page_elements), sum(found.transactions.bytes_read)
    more = found.uncounted_requests()
    holds = counted <= answers <= counted + more
    holds &= read <= sent <= read + more * _PAGE_MAX_BYTES
    return wire.Check(
        law="generators count the answers and bytes that the application sent",
        holds=holds,
        detail=f"{counted} page elements of {answers} answers with success, {read} B of {sent} B; "
        f"{found.uncounted} submissions of which answers are not counted",
    )


def _figures(figures: dict[str, int]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(figures.items()))
