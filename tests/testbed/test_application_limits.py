"""What an application of a run may have of this machine, and who of the generators does what."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.cli._prepare import Asked, prepare
from netstudy.testbed.netns.application_limits import application_notes, database_engine
from netstudy.testbed.netns.control_groups import DiskLimit
from netstudy.testbed.netns.kernel import Kernel
from netstudy.testbed.netns.layout import make_layout
from netstudy.testbed.netns.resources import CpuPinning, Resources, disk_limit
from netstudy.testbed.netns.unsupported import unsupported
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.agent_specs import AgentSpec
from netstudy.testbed.workloads.transactions import TransactionsTraffic
from tests.testbed.networks import MODERN
from tests.testbed.served import (
    SECOND_NS,
    a_served_run,
    brokerage,
    pages,
    tiers,
    transactions,
)

LITTLE = replace(MODERN, control_groups=frozenset(), other_users=False)
"""A kernel that gives an ordinary user no control groups, and no other user."""
THERE = len(os.sched_getaffinity(0))
PROGRAM = wire.Program(start=("sh", "-c", "exit"), port=8080)
USERS = wire.ClosedLoad(users=4)
STUDIES = Path(__file__).parents[2] / "studies"


def refused(run: wire.Run, kernel: Kernel = MODERN) -> list[str]:
    return unsupported(wire.Plan(study="by hand", seed=1, runs=(run,)), "user-space", kernel)


def sqlite_run(app: Mapping[str, object] | None = None) -> wire.Run:
    work = transactions(brokerage(database="sqlite", data="disk"), USERS)
    return a_served_run(work, tiers(groups={"app": app or {}}))


def test_a_run_of_all_phases_is_not_refused() -> None:
    assert refused(sqlite_run()) == []


@pytest.mark.parametrize("name", ["ethernet", "trade"])
def test_studies_of_transactions_are_not_refused(name: str) -> None:
    planned = prepare(Asked(STUDIES / name, testbed="netns", quick=True)).planned
    assert unsupported(planned.plan, "user-space", MODERN) == []


@pytest.mark.parametrize(
    ("settings", "kernel", "said"),
    [
        pytest.param(
            {"cpu": wire.Cpu(cpus=THERE + 1)},
            MODERN,
            f"Host app asks for {THERE + 1} CPUs, and this machine has {THERE}",
            id="too many CPUs",
        ),
        pytest.param(
            {"cpu_quota_pct": 50.0}, LITTLE, "The quota of app limits CPU time", id="quota"
        ),
        pytest.param(
            {"memory_bytes": 10**9}, LITTLE, "The memory of host app is limited", id="memory"
        ),
        pytest.param({"disk": wire.Disk()}, LITTLE, "The disk of app is throttled", id="disk"),
    ],
)
def test_what_this_machine_cannot_impose_is_refused_by_name(
    settings: dict[str, object], kernel: Kernel, said: str
) -> None:
    (line,) = refused(sqlite_run(settings), kernel)
    assert line.startswith(said)


def test_a_program_that_is_not_there_and_data_that_a_program_has_not_are_refused() -> None:
    asked = wire.Program(start=("no-such-program",), port=80)
    run = a_served_run(transactions(asked, USERS))
    run = replace(run, phases=(wire.Phase(kind="reset"), *run.phases))
    assert refused(run) == [
        "The workload has no data of its own: it has no phase 'reset'.",
        "There is no program 'no-such-program' here, which the application starts.",
    ]


def test_more_hosts_than_users_and_more_users_than_registered_are_refused() -> None:
    few = a_served_run(transactions(PROGRAM, wire.ClosedLoad(users=1), clients=2))
    assert [line[:32] for line in refused(few)] == ["1 users are fewer than the 2 hos"]
    many = transactions(brokerage(database="sqlite", users=3), USERS)
    assert [line[:40] for line in refused(a_served_run(many))] == [
        "4 users at once need as many registered "[:40]
    ]


def test_without_another_user_the_data_are_in_sqlite_and_the_run_says_so() -> None:
    run = a_served_run(transactions(brokerage(), USERS))
    served = TransactionsTraffic().served(run)
    assert database_engine(run, MODERN) == "postgresql"
    assert list(application_notes(run, served, MODERN)) == []
    assert database_engine(run, LITTLE) == "sqlite"
    (said,) = application_notes(run, served, LITTLE)
    assert said.startswith("The data are in SQLite")


@pytest.mark.parametrize(
    ("app", "db", "expected"),
    [
        pytest.param(None, None, ({0, 1, 2, 3}, {0, 1, 2, 3}), id="not said"),
        pytest.param(1, 1, ({3}, {2}), id="one each"),
        pytest.param(3, 1, ({1, 2, 3}, {0}), id="all"),
        pytest.param(3, 2, ({1, 2, 3}, {0, 3}), id="one shared"),
    ],
)
def test_whole_cpus_are_given_from_the_last_one_down(
    app: int | None, db: int | None, expected: tuple[set[int], set[int]]
) -> None:
    asked = {"app": app, "db": db}
    graph = tiers(groups={name: {"cpu": wire.Cpu(cpus=n)} for name, n in asked.items() if n})
    found = resources(a_served_run(transactions(brokerage(), USERS), graph))
    assert [set(found.cpus_of(name)) for name in ("app", "db")] == list(expected)
    assert set(found.cpus_of("client")) == {0}
    assert found.cpus["app"] == len(expected[0])


def test_a_share_of_a_cpu_counts_as_that_many() -> None:
    graph = tiers(groups={"app": {"cpu_quota_pct": 150.0, "cpu": wire.Cpu(cpus=8)}})
    found = resources(a_served_run(transactions(brokerage(), USERS), graph))
    assert found.cpus["app"] == 1.5
    assert found.limits["app"].cpu_pct == 150.0
    assert found.limits["client"].controllers == []


def resources(run: wire.Run) -> Resources:
    layout = make_layout(run.network, MODERN)
    return Resources(
        run, layout, Path(), CpuPinning(0, 1), allowed=frozenset(range(4)), database_engine=None
    )


def test_a_disk_is_as_fast_as_its_rate_and_its_positioning() -> None:
    disk = wire.Disk(disk_rate_bps=80_000_000, access_ns=5_000_000)
    assert disk_limit("8:0", disk) == DiskLimit("8:0", 80_000_000, 200)
    assert disk_limit("8:0", wire.Disk()).operations_per_s is None


def tasks(load: wire.ClosedLoad | wire.OpenLoad) -> list[agent_wire.TransactionClient]:
    """What three generators do."""
    run = a_served_run(transactions(brokerage(users=10), load, clients=3))
    local, target = (
        IPv4Address("10.0.0.1"),
        agent_wire.Endpoint(address=IPv4Address("10.0.0.9"), port=80),
    )
    return [
        TransactionsTraffic().generator(run, AgentSpec(name, "client"), local, target)
        for name in run.workload.roles.client
    ]


def test_generators_share_users_and_deal_the_registered_ones_in_turn() -> None:
    found = tasks(wire.ClosedLoad(users=8, think_ns=5))
    assert [one.load.users for one in found] == [3, 3, 2]
    decks = [(one.deck.first, one.deck.step, one.deck.users) for one in found]
    assert decks == [(0, 3, 4), (1, 3, 3), (2, 3, 3)]
    dealt = sorted(first + step * n for first, step, count in decks for n in range(count))
    assert dealt == list(range(10))
    assert {one.load.think_ns for one in found if isinstance(one.load, wire.ClosedLoad)} == {5}


def test_generators_share_the_rate() -> None:
    found = [one.load for one in tasks(wire.OpenLoad(interval_ps=SECOND_NS, users=7))]
    assert [one.interval_ps for one in found if isinstance(one, wire.OpenLoad)] == [
        3 * SECOND_NS
    ] * 3
    assert [one.users for one in found] == [3, 2, 2]


def test_a_plain_program_is_asked_by_the_plan() -> None:
    run = a_served_run(transactions(PROGRAM, USERS, mix=pages("/x")))
    local = IPv4Address("10.0.0.1")
    target = agent_wire.Endpoint(address=IPv4Address("10.0.0.9"), port=80)
    asked = TransactionsTraffic().generator(run, AgentSpec("client", "client"), local, target)
    assert (asked.script, asked.host) == ("plain", "10.0.0.9:80")
    assert asked.mix[0].requests[0].path == "/x"
