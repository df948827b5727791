"""Where the time of an iteration goes, from evidence made by hand: server-1 answers in 5 ms, and
server-2 after a timeout, so that the iteration takes 215 ms."""

from __future__ import annotations

import pytest

from netstudy import wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.accounts.account import time_bounds
from netstudy.testbed.real.evidence import Evidence
from netstudy.testbed.workloads import traffic_of
from tests.testbed.accounts.made import MS, US, bounds_ms, over_a_switch, readings
from tests.testbed.carried_out import a_run, counts, roles
from tests.testbed.networks import star


def served(asked_us: int, begun_us: int, written_us: int) -> agent_wire.ServedRecord:
    times = (asked_us, begun_us, written_us)
    asked, begun, written = ((US * at,) for at in times)
    return agent_wire.ServedRecord(requested_ns=asked, begun_ns=begun, answered_ns=written)


def request(connection: int, sent_us: int, done_us: int) -> agent_wire.RequestsRecord:
    sent = (US * sent_us,)
    return agent_wire.RequestsRecord(
        connection=connection,
        intended_ns=sent,
        sent_ns=sent,
        first_byte_ns=(US * (sent_us + 200),),
        done_ns=(US * done_us,),
    )


WAIT = agent_wire.WaitsRecord(
    connection=0,
    before_ns=(5 * MS,),
    from_ns=(10 * MS,),
    to_ns=(205 * MS,),
    until_ns=(210 * MS,),
    round_trip_ns=(600 * US,),
    ended=("timeout",),
)
LOST = {"retransmissions": 1, "timeouts": 1}
RECORDS: dict[str, list[agent_wire.AgentRecord]] = {
    "client": [
        agent_wire.IterationsRecord(started_ns=(0,), ended_ns=(215 * MS,)),
        request(0, 10, 5_000),
        request(1, 15, 215_000),
        *(
            readings("at-last-bytes", {done: {}}, connection=number)
            for number, done in enumerate((5_000, 215_000))
        ),
        agent_wire.PhaseRecord(
            name="measure",
            from_ns=0,
            to_ns=215 * MS,
            quiet_ns=215 * MS,
            bytes_received=(0, 0),
            bytes_sent=(0, 0),
            in_time=None,
        ),
    ],
    "server-1": [
        served(110, 130, 200),
        readings("before-responses", {130: {}, 300_000: {}}),
    ],
    "server-2": [
        served(120, 140, 210),
        readings("before-responses", {140: {}, 300_000: LOST}),
        readings("at-intervals", {5_000: {}, 210_000: LOST, 214_000: LOST}, (3, 3, 2)),
        WAIT,
    ],
}


def told(records: dict[str, list[agent_wire.AgentRecord]]) -> Evidence:
    """Evidence of one iteration of 32 kB from each server over 500 Mbit/s."""
    work = wire.Incast(roles=roles("client", ["server-1", "server-2"]), block_bytes=32_000)
    return over_a_switch(a_run(star(2), work, counts(1, 0)), records, (0, 215 * MS))


def accounts(found: Evidence) -> dict[str, wire.TimeAccount]:
    return {one.group: one for one in traffic_of(found.run.workload).samples(found).time}


def test_the_iteration_is_that_of_the_connection_with_the_last_byte() -> None:
    found = told(RECORDS)
    samples = traffic_of(found.run.workload).samples(found)
    table, rows = samples.connection, samples.iteration
    assert table is not None
    assert rows is not None
    assert table.last == (0, 1)
    assert rows.timeouts == (1,)
    worst = accounts(found)["worst"]
    assert (worst.number, worst.connection, worst.whole_ps) == (1, 1, 215 * 10**9)


def test_its_parts_are_known_within_their_bounds() -> None:
    """The generator sent after 15 us, and the server began 20 us after it had been asked. Looks saw
    a wait of 195 to 205 ms, and the timer takes at least 200 ms."""
    account = accounts(told(RECORDS))["all"]
    parts = bounds_ms(account)
    assert (
        parts.items()
        >= {
            ("own", "generator", "client"): (0.015, 0.015),
            ("own", "application", "server-2"): (0.02, 0.02),
            ("recovery", "retransmission-timer", "server-2"): (200, 205),
        }.items()
    )
    # Of the other 9.86 ms, a round trip takes 1.8 ms at least. Without a queue it takes 0.1 ms, and
    # 0.2863 ms more for two full frames in place of the smallest ones.
    queue = sum(low for (_, place, _), (low, _) in parts.items() if place == "queue")
    assert queue == pytest.approx(9.86 * (1 - 0.3863 / 1.8), rel=1e-3)
    (check,) = time_bounds([account])
    assert check.holds, check.detail


def test_the_median_member_did_not_wait_for_the_timer() -> None:
    account = accounts(told(RECORDS))["median-member"]
    assert account.whole_ps == 5 * 10**9
    assert "retransmission-timer" not in account.place


def test_more_timeouts_than_the_iteration_has_room_for_break_the_law() -> None:
    """Two timeouts take 400 ms at least."""
    twice = {**LOST, "timeouts": 2}
    server: list[agent_wire.AgentRecord] = [
        served(120, 140, 210),
        readings("before-responses", {140: {}, 300_000: twice}),
        readings("at-intervals", {1_000: {}, 214_000: twice}, (3, 2)),
    ]
    found = told({**RECORDS, "server-2": server})
    (check,) = time_bounds(traffic_of(found.run.workload).samples(found).time)
    assert not check.holds
    assert "retransmission-timer is at least 400.000 ms" in check.detail


def test_a_kernel_that_does_not_count_waits_leaves_more_unknown() -> None:
    def less(one: agent_wire.AgentRecord) -> agent_wire.AgentRecord:
        is_reading = isinstance(one, agent_wire.ReadingsRecord)
        return one.model_copy(update={"waited_ns": None}) if is_reading else one

    records = {node: [less(one) for one in each] for node, each in RECORDS.items()}
    known, unknown = (accounts(told(each))["all"] for each in (RECORDS, records))
    assert sum(unknown.low_ps) < sum(known.low_ps)
