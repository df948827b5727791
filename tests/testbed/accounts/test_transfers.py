"""Where the time of transfers, streams and requests goes, from evidence made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from netstudy import wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.evidence import Evidence
from netstudy.testbed.workloads import traffic_of
from tests.testbed.accounts.made import MS, US, bounds_ms, over_a_switch, readings
from tests.testbed.carried_out import a_run, counts, roles, times
from tests.testbed.networks import placements, star

SECOND = 1_000 * MS
LOOKS_US = range(0, 1_100_000, 100_000)
IDLE: dict[int, dict[str, int]] = {at: {} for at in LOOKS_US}
FULL_US, ACK_US = 9_038 * 8 / 500, 90 * 8 / 500
"""Frames of a link of 500 Mbit/s."""
NO_SECONDS = agent_wire.SecondsRecord(connection=(), start_ns=(), bytes_received=(), bytes_sent=())


def phase(to_ns: int) -> agent_wire.PhaseRecord:
    return agent_wire.PhaseRecord(
        name="measure",
        from_ns=0,
        to_ns=to_ns,
        quiet_ns=to_ns,
        bytes_received=(0,),
        bytes_sent=(0,),
        in_time=agent_wire.InTime(bytes_received=(0,), bytes_acknowledged=(0,)),
    )


def transfers(
    start_ns: int, end_ns: int, first_ns: int | None = None
) -> list[agent_wire.AgentRecord]:
    """The records of a client that got 40 MB in one transfer."""
    return [
        agent_wire.TransfersRecord(
            connection=(0,),
            bytes_received=(40_000_000,),
            bytes_sent=(0,),
            started_ns=(start_ns,),
            ended_ns=(end_ns,),
            first_byte_ns=None if first_ns is None else (first_ns,),
        ),
        agent_wire.SessionsRecord(connection=(0,), connect_ns=(1,), login_ns=(1,)),
        NO_SECONDS,
        phase(end_ns),
    ]


def account(told: Evidence) -> wire.TimeAccount:
    return traffic_of(told.run.workload).samples(told).time[0]


def sender(**last: int) -> agent_wire.ReadingsRecord:
    """Looks of a sender with data outstanding, after the last of which counters have grown."""
    rows = {at: last if at == LOOKS_US[-1] else {} for at in LOOKS_US}
    return readings("at-intervals", rows, [9] * len(LOOKS_US))


def stream(
    records: Sequence[agent_wire.AgentRecord],
) -> dict[tuple[str, str, str], tuple[float, float]]:
    """The parts of one second of a stream to a client."""
    work = wire.Transfer(roles=roles("client", "server"))
    run = a_run(star(1), work, times(1.0))
    client: list[agent_wire.AgentRecord] = [*transfers(0, SECOND), readings("at-intervals", IDLE)]
    told = over_a_switch(run, {"client": client, "server": records}, (0, SECOND))
    found = account(told)
    assert (found.unit, found.units, found.whole_ps) == ("interval", 10, 1_000 * SECOND)
    return bounds_ms(found)


def test_round_trips_of_a_stream_are_spent_in_queues() -> None:
    """A round trip takes 1.8 ms at least, and without a queue 0.3863 ms for full frames."""
    parts = stream([sender()])
    idle_us = 100 + 2 * (FULL_US - ACK_US)
    queue = sum(low for (_, place, _), (low, _) in parts.items() if place == "queue")
    assert queue == pytest.approx(1_000 * (1 - idle_us / 1_800), rel=1e-3)
    # Of 2.2 ms at most, the frame takes its time on each of the two links.
    low, high = parts["own", "serialization", "switch"]
    # The first link of acknowledgments leads from the switch to the server.
    assert low == pytest.approx(1_000 * (FULL_US + ACK_US) / 2_200, rel=1e-2)
    assert high == pytest.approx(1_000 * (FULL_US + ACK_US) / 1_800, rel=1e-2)


def test_a_window_takes_what_its_clock_counted() -> None:
    """400 ms are 100 ticks of 4 ms: 80 to 121 of them."""
    parts = stream([sender(peer_window_us=400_000)])
    assert parts["peer-window", "not-known", ""] == pytest.approx((320, 484))


def test_the_clock_of_a_window_counts_once_what_passes_during_a_timeout() -> None:
    """Looks saw 300 ms at most of a timeout in it."""
    waits = agent_wire.WaitsRecord(
        connection=0,
        before_ns=(100 * MS,),
        from_ns=(150 * MS,),
        to_ns=(380 * MS,),
        until_ns=(400 * MS,),
        round_trip_ns=(3 * MS,),
        ended=("timeout",),
    )
    parts = stream([sender(peer_window_us=400_000, timeouts=1, retransmissions=1), waits])
    assert parts["recovery", "retransmission-timer", "server"] == pytest.approx((230, 300))
    assert parts["peer-window", "not-known", ""] == pytest.approx((320 - 300, 484))


def test_before_the_first_byte_of_a_file_messages_are_exchanged() -> None:
    """They take 10 ms, of which a round trip over four links with 0.5 ms of delay takes 2 ms."""
    files = wire.Transfer(roles=roles("client", "server"), size_bytes=40_000_000, ftp=wire.Ftp())
    run = a_run(star(1, delay_ns=500 * US), files, counts(1, 0))
    client: list[agent_wire.AgentRecord] = [
        *transfers(0, SECOND, 10 * MS),
        readings("at-intervals", IDLE),
    ]
    grown = {
        node: {"process_bytes_read": 0, "process_bytes_written": 0} for node in ("client", "server")
    }
    told = over_a_switch(run, {"client": client, "server": [sender()]}, (0, SECOND), grown)
    found = account(told)
    assert (found.unit, found.units, found.group) == ("transfer", 1, "all")
    parts = bounds_ms(found)
    trips = [parts["own", "propagation", node] for node in ("client", "server", "switch")]
    # Over the other 990 ms, there are 1 / 2.2 ms to 1 / 2 ms round trips: the plan's 2 ms are more
    # than the sampled 1.8 ms.
    low, high = (sum(column) for column in zip(*trips, strict=True))
    assert low > 2 + 990 * 2 / 2.2 - 3
    assert high < 10 * 4 + 991


def test_between_zones_of_a_host_all_time_is_that_of_its_cpus() -> None:
    """Of a second, the sender waited 50 ms for a CPU."""
    work = wire.Transfer(roles=roles("a.x", "a.z"), size_bytes=40_000_000)
    run = a_run(placements("shared"), work, counts(1, 0))
    waited = {at: {"waited_ns": 50 * MS * (at == LOOKS_US[-1])} for at in LOOKS_US}
    records: dict[str, list[agent_wire.AgentRecord]] = {
        "a.z": [readings("at-intervals", waited, [9] * len(LOOKS_US))],
        "a.x": [
            *transfers(0, SECOND),
            readings("at-intervals", IDLE),
        ],
    }
    parts = bounds_ms(account(over_a_switch(run, records, (0, SECOND))))
    assert parts["own", "cpu", "a"] == pytest.approx((950, 1_000))
    assert parts["own", "cpu-queue", "a.z"] == pytest.approx((0, 50))


def test_each_request_takes_a_round_trip_at_least() -> None:
    """100 requests in 300 ms, of which one was sent 7 ms late: four links of 0.5 ms take 2 ms of
    each."""
    work = wire.Request(roles=roles("client", "server"), every_ns=10 * MS)
    run = a_run(star(1, delay_ns=500 * US), work, times(1.0))
    client: list[agent_wire.AgentRecord] = [
        agent_wire.ResponseTimesRecord(
            of="workload",
            phase="measure",
            count=100,
            unanswered=0,
            min_ns=1,
            max_ns=1,
            sum_ns=300 * MS,
            histogram=((1, 100),),
        ),
        agent_wire.PacingRecord(due_ns=(0, 10 * MS), late_ns=(0, 7 * MS)),
        NO_SECONDS,
        phase(SECOND),
        readings("at-intervals", IDLE),
    ]
    found = account(over_a_switch(run, {"client": client, "server": [sender()]}, (0, SECOND)))
    assert (found.unit, found.units, found.whole_ps) == ("request", 100, 300 * 10**9)
    parts = bounds_ms(found)
    assert parts.items() >= {("own", "generator", "client"): (7, 7)}.items()
    low = sum(low for (_, place, _), (low, _) in parts.items() if place == "propagation")
    assert low == 100 * 2
