"""Users and connections without an answer, from records with a planted number of them."""

from __future__ import annotations

from typing import Any

import pytest

from netstudy.analysis.cells import CellTable
from netstudy.analysis.starving import starving
from netstudy.analysis.workloads.closed_loop import Starved
from netstudy.analysis.workloads.request import LATENCY
from netstudy.analysis.workloads.transactions import RESPONSE
from netstudy.wire import (
    ClosedLoad,
    ConnectionSamples,
    Phase,
    PhaseTimes,
    Request,
    Roles,
    Run,
    RunRecord,
    Samples,
    UntilTime,
)
from tests.report.synthetic import FakeFolder, network, nodes, plan_of, planned, pooled
from tests.report.tiers import Planted, record, run, work
from tests.report.workloads import histogram

SECOND = 1_000_000_000


def application(one: Planted, load: ClosedLoad | None = None) -> CellTable:
    """Two runs with these transactions: 2,500 page elements in 10 s."""
    given: dict[str, Any] = {} if load is None else {"workload": work(load)}
    runs = [run({"users": 20}, n, **given) for n in (1, 2)]
    return pooled(FakeFolder(plan_of(runs), [record(made, one) for made in runs]))


def test_the_mean_of_a_closed_loop_is_that_of_all_users() -> None:
    # 20 users without think time: 20 ÷ 250 a second = 80 ms. 12 of them are answered, in 48 ms.
    cells = application(Planted(response_ms=48, carried=20, starved=4))
    (found,) = starving(cells)
    assert cells.rows[0].value(RESPONSE) == pytest.approx(80)
    assert found.answered == pytest.approx(48)
    assert found.starved == Starved("user", 16, 40)  # four users of each generator, in two runs


def test_the_think_time_is_no_response_time() -> None:
    # 20 users ÷ 250 a second − 30 ms x 0.8 transactions a page element = 56 ms.
    load = ClosedLoad(users=20, think_ns=30_000_000)
    cells = application(Planted(response_ms=40, carried=14, starved=2), load)
    assert cells.rows[0].value(RESPONSE) == pytest.approx(56)


def test_a_mean_that_agrees_with_the_law_is_kept() -> None:
    cells = application(Planted(response_ms=79, carried=20))
    assert cells.rows[0].value(RESPONSE) == pytest.approx(79)
    assert starving(cells) == ()


def test_a_law_that_differs_though_no_request_waits_is_not_taken() -> None:
    # Few requests are in progress: the rest of the users' time is something else.
    cells = application(Planted(response_ms=8, carried=2))
    assert cells.rows[0].value(RESPONSE) == pytest.approx(8)
    assert starving(cells) == ()


def test_the_time_of_failed_submissions_is_not_credited_to_answers() -> None:
    cells = application(Planted(response_ms=48, carried=20, starved=4, server_errors=100))
    assert cells.rows[0].value(RESPONSE) == pytest.approx(48)


def requests(every_ns: int | None) -> Run:
    roles = Roles(client=("client",), server=("server-1",))
    return planned(
        {},
        1,
        network=network("arista-7124s", 1),
        workload=Request(roles=roles, connections=4, every_ns=every_ns),
        phases=(Phase(kind="measure", until=UntilTime(ns=2 * SECOND)),),
    )


def answered(made: Run) -> CellTable:
    """Three of four connections are answered 99 times each, in 20 ms; four requests are not."""
    part = histogram([20_000_000] * 297, client="client", server="server-1", unanswered=4)
    bytes_received = (99 * 64,) * 3 + (0,)
    connection = ConnectionSamples(
        client=("client",) * 4,
        server=("server-1",) * 4,
        bytes_received=bytes_received,
        bytes_sent=bytes_received,
        busy_ns=(2 * SECOND,) * 4,
        retransmissions=(0,) * 4,
        timeouts=(0,) * 4,
    )
    made_record = RunRecord(
        run=made.id,
        treatment=made.treatment,
        replicate=made.replicate,
        seed=made.seed,
        status="ok",
        nodes=nodes(made),
        phases=(PhaseTimes(kind="measure", start_ns=SECOND, end_ns=3 * SECOND),),
        samples=Samples(request=(part,), connection=connection),
    )
    return pooled(FakeFolder(plan_of([made]), [made_record]))


def test_starved_connections_of_a_closed_loop_are_in_its_mean() -> None:
    cells = answered(requests(None))
    # 4 connections x 2 s ÷ 301 requests.
    assert cells.rows[0].value(LATENCY) == pytest.approx(8e6 / 301)
    (found,) = starving(cells)
    assert found.answered == pytest.approx(20_000)
    assert found.starved == Starved("connection", 1, 4)


def test_an_open_loop_has_no_such_law() -> None:
    cells = answered(requests(20_000_000))
    assert cells.rows[0].value(LATENCY) == pytest.approx(20_000)
    (found,) = starving(cells)
    assert (found.answered, found.starved) == (None, Starved("connection", 1, 4))
