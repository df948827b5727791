"""Transactions: throughput of an application, its response times, and their CPU cost.

A transaction is one operation; a page element is one HTTP response. Response times count from the
time at which a request was due, service times from when it was sent. Both the external throughput
rate (ETR) and the response time refer to page elements, so in a closed loop users = rate × response
time (the interactive response time law; Jain, The Art of Computer Systems Performance Analysis,
33.5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from netstudy.analysis.distribution import Histogram, SampledQuantity, latencies, merged
from netstudy.analysis.metrics import (
    CLIENT_CLOCK,
    CLIENT_SOCKETS,
    HOSTS,
    Direction,
    Metric,
    Percentile,
    RatioOfSums,
    Share,
    of_work,
)
from netstudy.analysis.nodes.growth import over_phase
from netstudy.analysis.nodes.places import Place
from netstudy.analysis.nodes.readings import PhaseReadings
from netstudy.analysis.samples import (
    NS_PER_MS,
    NS_PER_S,
    Floats,
    RunSample,
    Terms,
    dropped_at_ports,
    one,
)
from netstudy.analysis.statistics import further
from netstudy.analysis.workloads.base import Counted, Course, Relative, Step, WorkloadAnalysis
from netstudy.analysis.workloads.closed_loop import ClosedLoop, Starved
from netstudy.analysis.workloads.losses import Counts, LossCounts, losses_per_run
from netstudy.analysis.workloads.signals import of_hosts, signals_of
from netstudy.plan.workloads.transactions import elements_of
from netstudy.study.references import concrete
from netstudy.study.vocabulary import MetricName
from netstudy.study.workloads.base import Spec
from netstudy.study.workloads.transactions import OPERATIONS
from netstudy.study.workloads.transactions import Transactions as TransactionsSpec
from netstudy.wire import ClosedLoad, Run, RunRecord, Transactions

PAGE_ELEMENT: Final = "page element"
TRANSACTION: Final = "transaction"
Latency = Literal["response", "service", "first-byte"]
BYTES_PER_MB: Final = 1e6
PS_PER_S: Final = 1e12
CPU_TIME: Final = "CPU time of the host"


def work_of(run: Run) -> Transactions:
    """The workload of a run of transactions."""
    assert isinstance(run.workload, Transactions), "these are metrics of transactions"
    return run.workload


def operations_of(run: RunSample) -> tuple[str, ...]:
    """The operations that a run submitted: first in the order of its mix, then operations outside
    the mix, such as a login after a logout."""
    table = run.record.samples.transaction
    found = () if table is None else table.operation
    mix = [operation.name for operation in work_of(run.planned).mix]
    return tuple(dict.fromkeys([*(name for name in mix if name in found), *found]))


# ---- samples


def latency_histogram(
    runs: Sequence[RunSample], operation: str, latency: Latency
) -> Histogram | None:
    """The latencies of operations due in the measuring phase, over all generators and runs."""
    return merged(
        part
        for run in runs
        for part in run.record.samples.request
        if (part.operation, part.latency, part.phase) == (operation, latency, "measure")
    )


def total(run: RunSample, column: str, operation: str | None = None) -> float | None:
    """Sum of a column in the table of transactions, over all generators; with `operation`, only for
    that operation."""
    values = run.column("transaction", column)
    table = run.record.samples.transaction
    if values is None or table is None:
        return None
    if operation is None:
        return float(values.sum())
    return float(values[np.array([name == operation for name in table.operation])].sum())


@dataclass(frozen=True, eq=False)
class Intervals:
    """Totals of all generators for each interval between two blocks of statistics."""

    seconds: Floats
    elements: Floats
    response_ns: Floats
    """Sum of the response times of the page elements in each interval."""


def intervals_of(run: RunSample) -> Intervals | None:
    """The blocks of all generators added up; None if generators have different numbers of blocks,
    or if the blocks do not add up to the totals of the run."""
    table = run.record.samples.statistics
    at, elements = run.column("statistics", "at_ns"), run.column("statistics", "page_elements")
    response = run.column("statistics", "response_sum_ns")
    if table is None or at is None or elements is None or response is None:
        return None
    clients = list(dict.fromkeys(table.client))
    rows = [np.flatnonzero(np.array(table.client) == client) for client in clients]
    if len({row.size for row in rows}) != 1:
        return None
    ends = np.mean([at[row] for row in rows], axis=0)
    counted = np.sum([elements[row] for row in rows], axis=0)
    times = np.sum([response[row] for row in rows], axis=0)
    seconds = np.diff(ends, prepend=0.0) / NS_PER_S
    if (seconds <= 0).any() or counted[-1] != total(run, "page_elements"):
        return None
    return Intervals(seconds, np.diff(counted, prepend=0.0), np.diff(times, prepend=0.0))


# ---- formulas


def _etr(run: RunSample) -> Terms | None:
    """Page elements and seconds. If the blocks of statistics add up to the total, there is one term
    per block, so that even a single run has an interval; else only the totals."""
    elements, window = total(run, "page_elements"), run.measure_s
    if elements is None or not window:
        return None
    found = intervals_of(run)
    whole = found is not None and abs(float(found.seconds.sum()) - window) <= 0.01 * window
    return (found.elements, found.seconds) if found and whole else one(elements, window)


def _per_second(column: str) -> Callable[[RunSample], Terms | None]:
    def of(run: RunSample) -> Terms | None:
        count, window = total(run, column), run.measure_s
        return None if count is None or not window else one(count, window)

    return of


def _count(*columns: str, scale: float = 1.0) -> Callable[[RunSample], Terms | None]:
    def of(run: RunSample) -> Terms | None:
        counts = [total(run, column) for column in columns]
        known = [count for count in counts if count is not None]
        return one(sum(known) * scale) if len(known) == len(counts) else None

    return of


def _ratio(above: str, below: str) -> Callable[[RunSample], Terms | None]:
    def of(run: RunSample) -> Terms | None:
        numerator, denominator = total(run, above), total(run, below)
        return None if numerator is None or not denominator else one(numerator, denominator)

    return of


def _response(run: RunSample) -> Terms | None:
    """Response times and page elements of all users, answered or not."""
    loop = closed_loop(run)
    return _answered(run) if loop is None else loop.mean


def _answered(run: RunSample) -> Terms | None:
    """Response times and page elements. If the blocks of statistics cover exactly the page elements
    of the histogram, there is one term per block; else only the totals."""
    found = latency_histogram([run], PAGE_ELEMENT, "response")
    if found is None or not found.count:
        return None
    parts = intervals_of(run)
    if (
        parts is not None
        and (parts.elements > 0).all()
        and parts.elements.sum() == found.count
        and parts.response_ns.sum() == found.sum_ns
    ):
        return parts.response_ns / NS_PER_MS, parts.elements
    return one(found.sum_ns / NS_PER_MS, found.count)


def _mean(operation: str, latency: Latency) -> Callable[[RunSample], Terms | None]:
    def of(run: RunSample) -> Terms | None:
        found = latency_histogram([run], operation, latency)
        if found is None or not found.count:
            return None
        return one(found.sum_ns / NS_PER_MS, found.count)

    return of


def _response_law(run: RunSample) -> Terms | None:
    """The response time by the interactive response time law: users ÷ page elements per second,
    minus the mean think time per page element."""
    load = work_of(run.planned).load
    elements, transactions = total(run, "page_elements"), total(run, "completed")
    if not isinstance(load, ClosedLoad) or not elements or transactions is None:
        return None
    window = run.measure_s
    if not window:
        return None
    thinking = transactions * load.think_ns / NS_PER_MS
    return one(load.users * window * 1e3 - thinking, elements)


def closed_loop(run: RunSample) -> ClosedLoop | None:
    """The response times of a closed loop. None if submissions failed: the time of these is neither
    a response time nor a think time."""
    return run.kept("closed loop", lambda: _closed_loop(run))


def _closed_loop(run: RunSample) -> ClosedLoop | None:
    answered, law, window = _answered(run), _response_law(run), run.measure_s
    failed = [total(run, column) for column in ("network_errors", "server_errors")]
    edges = [total(run, column) for column in ("carried", "unfinished")]
    known = [count for count in edges if count is not None]
    if answered is None or law is None or not window or any(failed) or len(known) < len(edges):
        return None
    load = work_of(run.planned).load
    elements, completed = total(run, "page_elements"), total(run, "completed")
    if not isinstance(load, ClosedLoad) or not elements or completed is None:
        return None
    return ClosedLoop(
        answered=answered,
        law=law,
        expected=float(answered[0].sum()) / (window * 1e3),
        in_progress=sum(known) / len(known),
        starved=starved_users(run),
        noun="users",
        users=load.users,
        think_s=load.think_ns / NS_PER_S * completed / elements,
        per_s=elements / window,
    )


def starved_users(run: RunSample) -> Starved | None:
    """The users that had no answer in the whole phase, by the last block of each generator."""
    table = run.record.samples.statistics
    if table is None or not table.starved_users:
        return None
    last = {client: row for row, client in enumerate(table.client)}.values()
    users = sum(table.users[row] for row in last)
    return Starved("user", sum(table.starved_users[row] for row in last), users)


@dataclass(frozen=True)
class TierCpu:
    """CPU time of the host of a tier (application or database) in the measuring phase."""

    busy_s: float
    share: float | None
    """The CPU time as a share of what the host may use; None: not known."""


def tier_cpu(run: RunSample, tier: Literal["server", "database"]) -> TierCpu | None:
    """The CPU time of the host of the application or of the database; None: not measured, or there
    is no such host."""
    hosts = getattr(work_of(run.planned).roles, tier)
    if not hosts:
        return None
    place = Place(hosts[0].partition("@")[0], (), are_all=True)
    grown = over_phase(PhaseReadings([run], "measure"), place, "measure")
    busy = None if grown is None else grown.node("host_cpu_ns")
    if grown is None or busy is None:
        return None
    busy_s = float(busy[0]) / NS_PER_S
    usable = None if grown.cpus is None else float(grown.seconds[0]) * grown.cpus
    return TierCpu(busy_s, busy_s / usable if usable else None)


def _itr(run: RunSample) -> Terms | None:
    elements, window, cpu = total(run, "page_elements"), run.measure_s, tier_cpu(run, "server")
    if elements is None or not window or cpu is None or not cpu.share:
        return None
    return one(elements, window * cpu.share)


def _cpu_by(
    tier: Literal["server", "database"], column: str
) -> Callable[[RunSample], Terms | None]:
    def of(run: RunSample) -> Terms | None:
        cpu, count = tier_cpu(run, tier), total(run, column)
        return None if cpu is None or not count else one(cpu.busy_s * 1e3, count)

    return of


def _due(run: RunSample) -> float | None:
    """Submissions that were due in the measuring phase."""
    offered = total(run, "offered")
    return None if offered is None else offered - (total(run, "carried") or 0.0)


def _due_per_second(run: RunSample) -> Terms | None:
    count, window = _due(run), run.measure_s
    return None if count is None or not window else one(count, window)


def _met(run: RunSample) -> Terms | None:
    """Completed transactions in percent of the offered load; only for an open loop, because a
    closed loop has no fixed load."""
    offered, done = _due(run), total(run, "completed")
    if isinstance(work_of(run.planned).load, ClosedLoad):
        return None
    return one(100.0 * min(done, offered), offered) if offered and done is not None else None


def _not_met(run: RunSample) -> Terms | None:
    offered, missed = _due(run), total(run, "not_met")
    return one(100.0 * missed, offered) if offered and missed is not None else None


def published_rate(values: Mapping[MetricName, float], spec: Spec) -> float | None:
    """Page elements per second of a published row: the published ETR, or for a closed loop without
    think time, users ÷ response time."""
    assert isinstance(spec, TransactionsSpec), "only called for transactions"
    etr = values.get(MetricName(None, "etr_per_s"))
    if etr is not None:
        return etr
    users = None if spec.closed is None or spec.closed.think else concrete(spec.closed.users)
    response = values.get(MetricName(None, "response_ms", "mean"))
    return 1e3 * users / response if users and response else None


# ---- metrics


def _metric(  # one argument for each field that differs
    name: str,
    label: str,
    unit: str,
    formula: str,
    figure: str,
    reading: RatioOfSums | Percentile,
    direction: Direction = "higher",
    instruments: tuple[str, ...] = (CLIENT_SOCKETS,),
    decimals: int = 1,
    sampled: SampledQuantity | None = None,
    *,
    exported: bool = True,
    is_relative: bool = False,
) -> Metric:
    return Metric(
        name=name,
        label=label,
        unit=unit,
        formula=formula,
        direction=direction,
        instruments=instruments,
        decimals=decimals,
        title=f"{label[:1].upper()}{label[1:]}",
        figure=figure,
        reading=reading,
        exported=exported,
        is_relative=is_relative,
        sampled=sampled,
    )


def _sampled(operation: str, latency: Latency) -> SampledQuantity:
    return latencies(operation, lambda runs: latency_histogram(runs, operation, latency), NS_PER_MS)


def _time(  # one argument for each field that differs
    name: str,
    label: str,
    what: str,
    operation: str,
    latency: Latency,
    figure: str,
    of: Callable[[RunSample], Terms | None] | None = None,
    *,
    exported: bool = True,
) -> Metric:
    """A metric for the mean of these times, in ms; `further` creates metrics for their other
    statistics."""
    return _metric(
        f"{name}_ms_mean",
        label,
        "ms",
        f"sum of the times {what} ÷ their number",
        figure,
        RatioOfSums(of or _mean(operation, latency)),
        "lower",
        (CLIENT_CLOCK,),
        2,
        _sampled(operation, latency),
        exported=exported,
    )


RESPONSE = of_work(
    _time(
        "response",
        "response time",
        "from when each page element was due to its last byte; by N/X where users without an "
        "answer make this mean too low",
        PAGE_ELEMENT,
        "response",
        "response",
        _response,
    )
)
RESPONSE_P50, RESPONSE_P99 = (
    _metric(
        f"response_ms_{ending}",
        f"{word} response time",
        "ms",
        f"{100 * q:g}th percentile of the merged histograms of all generators and runs, where "
        "there are enough page elements to show it",
        f"response_{ending}",
        Percentile(q, _sampled(PAGE_ELEMENT, "response")),
        "lower",
        (CLIENT_CLOCK,),
        2,
    )
    for ending, q, word in (("p50", 0.5, "median"), ("p99", 0.99, "99th percentile of the"))
)
RESPONSE_LAW = _metric(
    "response_law_ms",
    "response time by N/X",
    "ms",
    "users ÷ page elements a second − think time × transactions ÷ page elements, of a closed loop "
    "(interactive response time law)",
    "response_law",
    RatioOfSums(_response_law),
    "lower",
    (CLIENT_SOCKETS, CLIENT_CLOCK),
    2,
)
SERVICE = _time(
    "service",
    "service time",
    "from when the request for each page element was sent to its last byte",
    PAGE_ELEMENT,
    "service",
    "service",
)
FIRST_BYTE = _time(
    "first_byte",
    "time to the first byte",
    "from when the request for each page element was sent to its first byte",
    PAGE_ELEMENT,
    "first-byte",
    "first_byte",
)
TRANSACTION_TIME = _time(
    "transaction",
    "transaction time",
    "from when each transaction was due to the last byte of its last page element",
    TRANSACTION,
    "response",
    "transaction",
)
ETR = _metric(
    "etr_per_s",
    "page elements a second (ETR)",
    "1/s",
    "page elements of the measuring phase ÷ its length",
    "etr",
    RatioOfSums(_etr, over_time=True),
    instruments=(CLIENT_SOCKETS, CLIENT_CLOCK),
)
ITR = _metric(
    "itr_per_s",
    "page elements a second of full CPUs (ITR)",
    "1/s",
    "ETR ÷ CPU of the application in % × 100, both over the measuring phase: the rate at which its "
    "CPUs would be full",
    "itr",
    RatioOfSums(_itr),
    instruments=(CLIENT_SOCKETS, CLIENT_CLOCK, CPU_TIME),
)


def _relative(name: str, of: Metric, short: str, *, scaling: bool = False) -> Metric:
    """A metric ÷ its value in a base row (`RunSample.bases`)."""
    scale = 1.0 if scaling else 100.0

    def terms(run: RunSample) -> Terms | None:
        base = run.bases.get(f"{short.lower()}_pct")
        found = of.reading.terms(run)
        return None if found is None or not base else (found[0] * scale, found[1] * base)

    ending = "" if scaling else " × 100"
    return _metric(
        f"{name}_{'scaling' if scaling else 'pct'}",
        f"scaling factor of the {short}" if scaling else f"relative {short}",
        "" if scaling else "%",
        f"{short} ÷ that of the base row of its table"
        f"{'' if short == 'ETR' else ', or ÷ its ETR where the table compares the two'}{ending}; "
        "the base row is taken as exact",
        f"{name}_{'scaling' if scaling else 'relative'}",
        RatioOfSums(terms),
        instruments=of.instruments,
        decimals=2,
        is_relative=True,
    )


ETR_RELATIVE = _relative("etr", ETR, "ETR")
ETR_SCALING = _relative("etr", ETR, "ETR", scaling=True)
ITR_RELATIVE = _relative("itr", ITR, "ITR")
ITR_SCALING = _relative("itr", ITR, "ITR", scaling=True)
TRANSACTIONS_RATE = _metric(
    "transactions_per_s",
    "transactions a second",
    "1/s",
    "transactions of the measuring phase that ended without an error ÷ its length",
    "transactions",
    RatioOfSums(_per_second("completed")),
    instruments=(CLIENT_SOCKETS, CLIENT_CLOCK),
)
ELEMENTS = _metric(
    "elements_per_transaction",
    "page elements a transaction",
    "",
    "page elements ÷ transactions that ended without an error",
    "elements",
    RatioOfSums(_ratio("page_elements", "completed")),
    "neutral",
    decimals=3,
)
OFFERED = _metric(
    "offered_per_s",
    "offered rate",
    "1/s",
    "submissions that were due in the measuring phase ÷ its length",
    "offered",
    RatioOfSums(_due_per_second),
    "neutral",
    (CLIENT_CLOCK,),
)
MET = _metric(
    "met_pct",
    "share of submissions that were met",
    "%",
    "transactions that ended without an error ÷ submissions that were due × 100",
    "met",
    Share(_met),
    "neutral",
    (CLIENT_SOCKETS, CLIENT_CLOCK),
    2,
)
NOT_MET = _metric(
    "not_met_pct",
    "share of submissions that were not met",
    "%",
    "submissions that were due and not begun, since too many were under way or the phase was over "
    "÷ all that were due × 100",
    "not_met",
    Share(_not_met),
    "lower",
    (CLIENT_CLOCK,),
    2,
)


def _errors(name: str, label: str, formula: str, *columns: str) -> Metric:
    reading = RatioOfSums(_count(*columns))
    text = f"{formula}; mean over the runs"
    return _metric(name, label, "", text, name, reading, "lower", decimals=0)


ERRORS = _errors(
    "errors",
    "failed submissions",
    "submissions that failed in the measuring phase",
    "network_errors",
    "server_errors",
)
NETWORK_ERRORS = _errors(
    "network_errors",
    "network errors",
    "submissions that failed on their connection: refused, cut, timed out",
    "network_errors",
)
SERVER_ERRORS = _errors(
    "server_errors",
    "server errors",
    "submissions that the application refused or failed at: 4xx, 5xx, or another page",
    "server_errors",
)


def _megabytes(name: str, label: str, what: str, column: str, figure: str) -> Metric:
    return _metric(
        name,
        label,
        "MB",
        f"{what}, headers of HTTP included; mean over the runs",
        figure,
        RatioOfSums(_count(column, scale=1 / BYTES_PER_MB)),
        "neutral",
    )


READ = _megabytes(
    "read_mb_per_run", "data read a run", "bytes that generators received", "bytes_read", "read"
)
WRITTEN = _megabytes(
    "written_mb_per_run", "data written a run", "bytes that generators sent", "bytes_written",
    "written",
)  # fmt: skip
ELEMENT_BYTES = _metric(
    "element_bytes_mean",
    "size of a page element",
    "B",
    "bytes that generators received, headers of HTTP included ÷ page elements",
    "element_bytes",
    RatioOfSums(_ratio("bytes_read", "page_elements")),
    "neutral",
    decimals=0,
)


def _cpu(name: str, label: str, formula: str, figure: str, reading: RatioOfSums) -> Metric:
    return _metric(name, label, "ms", formula, figure, reading, "lower", (CPU_TIME,), 3)


APP_CPU = _cpu(
    "app_cpu_ms_per_transaction",
    "CPU of the application a transaction",
    "CPU time of the application's host ÷ transactions that ended without an error",
    "app_cpu",
    RatioOfSums(_cpu_by("server", "completed")),
)
DB_CPU = _cpu(
    "db_cpu_ms_per_transaction",
    "CPU of the database a transaction",
    "CPU time of the database's host ÷ transactions that ended without an error",
    "db_cpu",
    RatioOfSums(_cpu_by("database", "completed")),
)
DB_CPU_ELEMENT = _cpu(
    "db_cpu_ms_per_element",
    "CPU of the database a page element",
    "CPU time of the database's host ÷ page elements",
    "db_cpu_element",
    RatioOfSums(_cpu_by("database", "page_elements")),
)


def _dropped(run: RunSample) -> float | None:
    """Frames dropped from the queues of switch ports and of hosts."""
    queued = of_hosts("nic_queue_drops")(run.record)
    if not run.planned.network.switches:
        return queued
    ports = dropped_at_ports(run.record)
    return None if queued is None or ports is None else queued + ports


def _of_hosts(counter: str) -> Counts:
    count = of_hosts(counter)
    return lambda run: count(run.record)


DROPS, RETRANSMISSIONS, TIMEOUTS = losses_per_run(
    figures=False,
    by=LossCounts(
        _dropped,
        "packets dropped at switches and by the queues of hosts",
        _of_hosts("segments_retransmitted"),
        _of_hosts("timeouts"),
        HOSTS,
    ),
)
SIGNALS = signals_of(
    "per_run", "a run", lambda _: 1.0, "in the measuring phase; mean over the runs"
)

BY_OPERATION = tuple(
    _time(
        f"response_{name}",
        f"response time of {name}",
        f"from when each operation {name} was due to the last byte of its last page element",
        name,
        "response",
        f"response_{name}",
        exported=False,
    )
    for name in OPERATIONS
)
"""Response times of each operation of the brokerage, for a study that names them."""

TRANSACTION_METRICS = (
    RESPONSE,
    RESPONSE_P50,
    RESPONSE_P99,
    RESPONSE_LAW,
    SERVICE,
    FIRST_BYTE,
    TRANSACTION_TIME,
    ETR,
    ETR_RELATIVE,
    ETR_SCALING,
    ITR,
    ITR_RELATIVE,
    ITR_SCALING,
    TRANSACTIONS_RATE,
    ELEMENTS,
    OFFERED,
    MET,
    NOT_MET,
    ERRORS,
    NETWORK_ERRORS,
    SERVER_ERRORS,
    READ,
    WRITTEN,
    ELEMENT_BYTES,
    APP_CPU,
    DB_CPU,
    DB_CPU_ELEMENT,
    DROPS,
    RETRANSMISSIONS,
    TIMEOUTS,
)
FURTHER_STATISTICS = (
    *further(RESPONSE, ("p50", "p99")),
    *(metric for like in (SERVICE, FIRST_BYTE, TRANSACTION_TIME) for metric in further(like)),
    *(metric for like in BY_OPERATION for metric in (like, *further(like))),
)
"""Other statistics of the times, for a study that names them."""


def _is_sampled(record: RunRecord) -> bool:
    return record.samples.transaction is not None and record.measure is not None


def _transactions(run: RunSample) -> int:
    return int(total(run, "completed") or 0)


def _course(run: RunSample) -> Course | None:
    """The rate of page elements in each interval between two blocks of statistics."""
    found = intervals_of(run)
    if found is None or found.seconds.size < 2:
        return None
    return Course(found.elements / found.seconds, "interval")


def _application(run: Run) -> str | None:
    costs = work_of(run).costs
    return None if costs is None else costs.profile


def _offered_per_s(run: Run) -> float | None:
    """Page elements that an open load submits in a second."""
    work = work_of(run)
    if isinstance(work.load, ClosedLoad):
        return None
    return PS_PER_S / work.load.interval_ps * elements_of(work.mix)


def _trips(run: Run) -> list[tuple[str, str]]:
    """From the load to the application, and for each call from there to the database. Without
    costs, which only the simulator has, one call is assumed."""
    work = work_of(run)
    calls = 1 if work.costs is None else work.costs.database_calls
    server = work.roles.server[0].partition("@")[0]
    to_database = [(server, database) for database in work.roles.database]
    return [next(work.roles.pairs), *to_database * calls]


def _idle_wait_s(run: Run) -> float:
    costs = work_of(run).costs
    return 0.0 if costs is None else costs.delay_ns / NS_PER_S


TRANSACTIONS = WorkloadAnalysis(
    kind="transactions",
    metrics=TRANSACTION_METRICS,
    headline=(ETR, RESPONSE, RESPONSE_P99, ITR, ERRORS),
    figures=(ETR, RESPONSE, ITR),
    observed=(ETR, RESPONSE, ITR, RETRANSMISSIONS),
    compared_on=(ETR, RESPONSE, ITR),
    throughput=ETR,
    chain=(
        Step(DROPS, RETRANSMISSIONS),
        Step(RETRANSMISSIONS, RESPONSE),
        Step(TIMEOUTS, RESPONSE),
        Step(RETRANSMISSIONS, ETR),
    ),
    counted=Counted("transaction", _transactions),
    is_sampled=_is_sampled,
    drops=DROPS,
    retransmissions=RETRANSMISSIONS,
    timeouts=TIMEOUTS,
    dropped=dropped_at_ports,
    sent_again=_of_hosts("segments_retransmitted"),
    course=_course,
    bound=lambda _: None,
    further=FURTHER_STATISTICS,
    latencies=lambda runs: latency_histogram(runs, PAGE_ELEMENT, "response"),
    tail=(RESPONSE_P50, RESPONSE_P99),
    delay=RESPONSE,
    closed_loop=closed_loop,
    response=RESPONSE,
    starved=starved_users,
    met=MET,
    application=_application,
    offered_per_s=_offered_per_s,
    trips=_trips,
    idle_wait_s=_idle_wait_s,
    is_load_outside=True,
    published_rate=published_rate,
    signals=SIGNALS.steps(RESPONSE, DROPS, RETRANSMISSIONS),
    relatives=(
        Relative(ETR_RELATIVE, ETR, ETR_SCALING),
        Relative(ITR_RELATIVE, ITR, ITR_SCALING),
    ),
)
