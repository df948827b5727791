"""Waits for timers, by counts and by looks each 5 ms."""

from __future__ import annotations

from dataclasses import replace

from netstudy.testbed.real.accounts.bounds import NOTHING, UNKNOWN, exactly
from netstudy.testbed.real.accounts.timers import (
    Timers,
    Wait,
    delayed_ack,
    parts,
    probe,
    retransmission,
    waits,
)
from netstudy.testbed.real.wire import WaitEnd, WaitsRecord

MS = 1_000_000
SPAN = (0, 1_000 * MS)
QUIET = Timers(
    seen=(),
    timeouts=NOTHING,
    retransmissions=NOTHING,
    probes=0,
    delayed_acks=0,
    min_rto_ns=200 * MS,
    rto_ns=204 * MS,
    unseen_ns=10 * MS,
    tick_ns=4 * MS,
)


def wait(from_ms: int, to_ms: int, ended: WaitEnd, round_trip_ms: int = 3) -> Wait:
    """A wait that looks 5 ms before and after it saw moves."""
    times = (MS * (from_ms - 5), MS * from_ms, MS * to_ms, MS * (to_ms + 5), MS * round_trip_ms)
    return Wait(*times, ended)


def test_a_record_has_a_wait_in_each_row() -> None:
    record = WaitsRecord(
        connection=0,
        before_ns=(1,),
        from_ns=(2,),
        to_ns=(8,),
        until_ns=(9,),
        round_trip_ns=(3,),
        ended=("timeout",),
    )
    assert list(waits([record])) == [Wait(1, 2, 8, 9, 3, "timeout")]


def test_only_the_part_of_a_wait_in_the_span_counts() -> None:
    one = wait(100, 300, "timeout")
    assert one.within(0, 1_000 * MS) == (200 * MS, 210 * MS)
    assert one.within(150 * MS, 250 * MS) == (100 * MS, 100 * MS)
    assert one.within(400 * MS, 500 * MS) == (0, 0)


def test_a_wait_within_a_round_trip_may_be_one_for_an_acknowledgment() -> None:
    assert wait(100, 110, "retransmission", round_trip_ms=12).within(*SPAN).low == 0
    assert wait(100, 110, "retransmission", round_trip_ms=9).within(*SPAN).low == 10 * MS
    assert wait(100, 110, "timeout", round_trip_ms=12).within(*SPAN).low == 10 * MS


def test_a_timeout_takes_the_minimum_or_what_looks_saw_of_it() -> None:
    """One seen wait of 195 to 205 ms, and one that looks missed: 204 ms and two ticks at most."""
    timers = replace(QUIET, seen=(wait(100, 295, "timeout"),), timeouts=exactly(2))
    assert retransmission(timers, *SPAN) == (2 * 200 * MS, (205 + 204 + 8) * MS)
    longer = replace(QUIET, seen=(wait(100, 500, "timeout"),), timeouts=exactly(1))
    assert retransmission(longer, *SPAN) == (400 * MS, 410 * MS)
    assert retransmission(replace(longer, timeouts=NOTHING), *SPAN) == NOTHING


def test_a_probe_takes_what_looks_saw_and_may_be_missed_if_it_is_short() -> None:
    """Three probes and two retransmissions: one of these was seen, one missed."""
    seen = (wait(100, 130, "retransmission"), wait(200, 400, "timeout"))
    timers = replace(QUIET, seen=seen, retransmissions=exactly(2), probes=3)
    assert probe(timers, *SPAN) == (30 * MS, (40 + 10) * MS)
    assert probe(replace(timers, probes=0), *SPAN) == NOTHING
    assert probe(replace(timers, retransmissions=NOTHING), *SPAN) == NOTHING


def test_a_delayed_acknowledgment_ends_a_long_wait() -> None:
    """Of waits of 50, 30 and 45 ms at most, the second is too short, and the host delayed one."""
    seen = tuple(
        wait(100 * place, 100 * place + ms, "progress") for place, ms in enumerate((40, 20, 35), 1)
    )
    assert delayed_ack(replace(QUIET, seen=seen, delayed_acks=1), *SPAN) == (0, 50 * MS)
    assert delayed_ack(replace(QUIET, seen=seen, delayed_acks=9), *SPAN) == (0, 95 * MS)
    assert delayed_ack(replace(QUIET, seen=seen), *SPAN) == NOTHING


def test_waits_that_the_kernel_does_not_show_are_unknown() -> None:
    blind = replace(QUIET, seen=None)
    assert parts(blind, "server", "client", *SPAN) == {}
    assert retransmission(replace(blind, timeouts=UNKNOWN), *SPAN) == UNKNOWN
    assert probe(replace(blind, probes=1, retransmissions=exactly(1)), *SPAN) == UNKNOWN
    assert delayed_ack(replace(blind, delayed_acks=1), *SPAN) == UNKNOWN


def test_a_timer_without_time_is_no_part() -> None:
    assert parts(QUIET, "server", "client", *SPAN) == {}
    found = parts(replace(QUIET, timeouts=exactly(1)), "server", "client", *SPAN)
    assert {(part.reason, part.place, part.node) for part in found} == {
        ("recovery", "retransmission-timer", "server")
    }
