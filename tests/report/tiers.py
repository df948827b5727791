"""Runs of transactions whose records are planted by hand: users, an application and its database.

Generators `load-1` and `load-2`, the application on `app` with 2 CPUs, the database on `db` with 4;
a measuring phase of 10 s with a block of statistics each second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from netstudy.wire import (
    Brokerage,
    ClosedLoad,
    Group,
    Host,
    Link,
    Network,
    Nic,
    OpenLoad,
    Operation,
    Phase,
    PhaseTimes,
    Port,
    Readings,
    RecordNode,
    RequestHistogram,
    Run,
    RunRecord,
    Samples,
    StatisticsSamples,
    Tcp,
    TierRoles,
    TransactionErrors,
    Transactions,
    TransactionSamples,
    Treatment,
    UntilTime,
)
from tests.report.synthetic import edges, planned
from tests.report.workloads import histogram

SECONDS = 10
NS = 1_000_000_000
GENERATORS = ("load-1", "load-2")
CPUS = {"app": 2.0, "db": 4.0}
MS = 1_000_000


def network(rate_bps: int = 1_000_000_000) -> Network:
    """Each generator and the database have a link of their own to the application's host."""
    hosts = (("load-1", "load"), ("load-2", "load"), ("app", "app"), ("db", "db"))
    far = ("load-1", "load-2", "db")
    return Network(
        groups=tuple(
            Group(name=name, profile="host-1g", tcp=Tcp(profile="linux-6"), nic=Nic())
            for name in ("load", "app", "db")
        ),
        nodes=tuple(Host(name=name, group=group) for name, group in hosts),
        links=tuple(
            Link(
                a=Port(node=name, name="eth0", rate_bps=rate_bps),
                b=Port(node="app", name=f"eth{index}", rate_bps=rate_bps),
                delay_ns=0,
                mtu_bytes=1500,
            )
            for index, name in enumerate(far)
        ),
    )


def work(load: ClosedLoad | OpenLoad | None = None, **application: Any) -> Transactions:
    """The brokerage under a closed load of 20 users, unless said otherwise."""
    return Transactions(
        roles=TierRoles(client=GENERATORS, server=("app",), database=("db",)),
        application=Brokerage(**application),
        mix=(
            Operation(name="home", share_ppm=750_000, elements_ppm=1_000_000),
            Operation(name="buy", share_ppm=250_000, elements_ppm=2_000_000),
        ),
        load=load or ClosedLoad(users=20),
    )


def run(treatment: Treatment, replicate: int = 1, **what: Any) -> Run:
    """A planned run of it."""
    until = UntilTime(ns=SECONDS * NS)
    given = {
        "network": network(),
        "workload": work(),
        "phases": (Phase(kind="measure", until=until),),
        **what,
    }
    return planned(treatment, replicate, **given)


@dataclass(frozen=True)
class Planted:
    """What a run did; each half by either generator."""

    home: int = 1500
    """Transactions of one page element."""
    buy: int = 500
    """Transactions of two."""
    response_ms: float = 8.0
    app_cpu_pct: float = 50.0
    db_cpu_pct: float = 25.0
    network_errors: int = 0
    server_errors: int = 0
    not_met: int = 0
    carried: int = 0
    """Under way when the phase began; as many are when it ends."""
    starved: int = 0
    """Users of each generator without any answer in the phase."""
    drops: int = 0
    """By the queue of the application's interface to the generators."""
    packets: int = 0
    """By that interface, in each direction."""
    counters: Mapping[str, int] | None = None
    """Counter of the application's host -> its growth."""

    @property
    def elements(self) -> int:
        return self.home + 2 * self.buy


def record(made: Run, one: Planted, *, nodes: bool = True) -> RunRecord:
    """The record of a run."""
    start, end = 2 * NS, (2 + SECONDS) * NS
    return RunRecord(
        run=made.id,
        treatment=made.treatment,
        replicate=made.replicate,
        seed=made.seed,
        status="ok",
        nodes={
            host.name: RecordNode(
                kind="host", group=host.group, clock="simulation", cpus=CPUS.get(host.name)
            )
            for host in made.network.hosts
            if nodes
        },
        phases=(PhaseTimes(kind="measure", start_ns=start, end_ns=end),),
        samples=Samples(
            request=tuple(_histograms(one)),
            transaction=_transactions(one),
            statistics=_statistics(one),
            error=_errors(one),
        ),
        edges=edges(start, end),
        counters=_counters(made, one),
        ports=_ports(made, one),
    )


def _histograms(one: Planted) -> list[RequestHistogram]:
    """Half of the times a quarter below the mean, half of them a quarter above."""

    def of(operation: str, latency: str, count: int, mean_ms: float) -> RequestHistogram:
        low, high = (np.full(count // 2, round(mean_ms * f * MS)) for f in (0.75, 1.25))
        made = histogram(
            np.concatenate((low, high)), operation=operation, client="load-1", server="app"
        )
        return made.model_copy(update={"latency": latency})

    every, done = one.elements, one.home + one.buy
    return [
        of("page element", "response", every, one.response_ms),
        of("page element", "service", every, one.response_ms / 2),
        of("page element", "first-byte", every, one.response_ms / 4),
        of("transaction", "response", done, one.response_ms * every / done),
        of("home", "response", one.home, one.response_ms),
        of("buy", "response", one.buy, 2 * one.response_ms),
    ]


def _transactions(one: Planted) -> TransactionSamples:
    rows = [
        (client, name, count // 2, elements * count // 2)
        for client in GENERATORS
        for name, count, elements in (("home", one.home, 1), ("buy", one.buy, 2))
    ]
    bad = [(i == 0, one.network_errors, one.server_errors, one.not_met) for i in range(len(rows))]
    return TransactionSamples(
        client=tuple(row[0] for row in rows),
        operation=tuple(row[1] for row in rows),
        offered=tuple(
            row[2] + first * (network_ + server + missed + one.carried)
            for row, (first, network_, server, missed) in zip(rows, bad, strict=True)
        ),
        carried=tuple(first * one.carried for first, *_ in bad),
        not_met=tuple(first * missed for first, _, _, missed in bad),
        completed=tuple(row[2] for row in rows),
        unfinished=tuple(first * one.carried for first, *_ in bad),
        page_elements=tuple(row[3] for row in rows),
        network_errors=tuple(first * count for first, count, _, _ in bad),
        server_errors=tuple(first * count for first, _, count, _ in bad),
        bytes_read=tuple(row[3] * 9_000 for row in rows),
        bytes_written=tuple(row[3] * 400 for row in rows),
    )


def _statistics(one: Planted) -> StatisticsSamples:
    """A block a second, all seconds alike."""
    rows = [(client, second) for client in GENERATORS for second in range(1, SECONDS + 1)]
    mean = round(one.response_ms * MS)

    def share(total: int) -> tuple[int, ...]:
        return tuple(total // 2 * second // SECONDS for _, second in rows)

    elements, done = share(one.elements), share(one.home + one.buy)
    return StatisticsSamples(
        client=tuple(client for client, _ in rows),
        at_ns=tuple(second * NS for _, second in rows),
        users=(10,) * len(rows),
        page_elements=elements,
        transactions=done,
        network_errors=(0,) * len(rows),
        server_errors=(0,) * len(rows),
        bytes_read=tuple(count * 9_000 for count in elements),
        bytes_written=tuple(count * 400 for count in elements),
        response_sum_ns=tuple(count * mean for count in elements),
        not_met=(0,) * len(rows),
        starved_users=(one.starved,) * len(rows),
    )


def _errors(one: Planted) -> TransactionErrors | None:
    found = [("connection reset", one.network_errors), ("503", one.server_errors)]
    there = [(reason, count) for reason, count in found if count]
    if not there:
        return None
    return TransactionErrors(
        client=("load-1",) * len(there),
        operation=("home",) * len(there),
        reason=tuple(reason for reason, _ in there),
        count=tuple(count for _, count in there),
    )


def _counters(made: Run, one: Planted) -> dict[str, Readings]:
    busy = {"app": one.app_cpu_pct, "db": one.db_cpu_pct}
    found: dict[str, Readings] = {}
    for host in made.network.hosts:
        grown = {"segments_retransmitted": 0, "timeouts": 0, "nic_queue_drops": 0}
        if host.name in busy:
            grown["host_cpu_ns"] = round(busy[host.name] / 100 * SECONDS * NS * CPUS[host.name])
        if host.name == "app":
            grown |= one.counters or {}
        found[host.name] = {name: (7, 7 + value) for name, value in grown.items()}
    return found


def _ports(made: Run, one: Planted) -> dict[str, dict[str, Readings]]:
    """The first interface of each host; switches drop nothing."""
    found: dict[str, dict[str, Readings]] = {}
    for switch in made.network.switches:
        ports = [port for link in made.network.links for port in link.ports]
        found[switch.name] = {
            port.name: {"frames_dropped": (0, 0)} for port in ports if port.node == switch.name
        }
    read = {
        "interface_packets_sent": one.packets,
        "interface_packets_received": one.packets,
        "nic_queue_drops": one.drops,
    }
    found["app"] = {"eth0": {name: (0, value) for name, value in read.items()}}
    return found
