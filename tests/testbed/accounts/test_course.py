"""Readings of a connection over time."""

from __future__ import annotations

import pytest

from netstudy.testbed.real.accounts.course import Course, RoundTrip
from netstudy.testbed.real.wire import ReadingsRecord

MS = 1_000_000


def readings(
    at_ms: tuple[int, ...], *, waited_ns: tuple[int, ...] | None = None, **values: tuple[int, ...]
) -> ReadingsRecord:
    """Readings at these times."""
    return ReadingsRecord(
        connection=0,
        taken="at-intervals",
        at_ns=tuple(MS * at for at in at_ms),
        cpu_ns=tuple(1_000 * at for at in at_ms),
        waited_ns=waited_ns,
        values=values,
    )


COURSE = Course.of([readings((30, 40), timeouts=(2, 7)), readings((10, 20), timeouts=(0, 1))])
"""Timeouts 0, 1, 2, 7 at 10, 20, 30, 40 ms."""


@pytest.mark.parametrize(
    ("start_ms", "end_ms", "growth"),
    [
        (10, 40, (7, 7)),  # readings at both ends
        (15, 35, (1, 7)),  # 1 to 2 inside, 0 to 7 around
        (22, 28, (0, 1)),  # no reading inside
        (5, 20, (1, 1)),  # 0 when the connection opened
        (35, 90, (0, 5)),  # nothing grows after the last reading
    ],
)
def test_a_counter_grows_by_what_readings_inside_and_around_a_span_tell(
    start_ms: int, end_ms: int, growth: tuple[int, int]
) -> None:
    assert COURSE.growth("timeouts", MS * start_ms, MS * end_ms) == growth


def test_what_was_not_read_is_not_known() -> None:
    assert COURSE.growth("waited_ns", 0, MS) is None
    assert Course.of([]).growth("timeouts", 0, MS) is None
    with_waits = Course.of([readings((1, 2), waited_ns=(3, 5), timeouts=(0, 0))])
    assert with_waits.growth("waited_ns", MS, 2 * MS) == (2, 2)


def test_samples_of_round_trips_are_those_with_data_outstanding_and_the_next_one() -> None:
    course = Course.of(
        [
            readings(
                (0, 10, 20, 30, 40),
                srtt_us=(1, 2, 3, 4, 5),
                rttvar_us=(0, 0, 0, 1, 0),
                unacked_segments=(9, 0, 9, 0, 0),
            )
        ]
    )
    assert course.round_trips(5 * MS, 25 * MS) == [RoundTrip(3_000, 0), RoundTrip(4_000, 1_000)]
    assert Course.of([]).round_trips(0, MS) == []


def test_a_single_segment_may_have_arrived_without_an_acknowledgment() -> None:
    course = Course.of([readings((0, 10, 20, 30), unacked_segments=(7, 2, 1, 5))])
    assert course.last_under_way_ns(0, 25 * MS) == 10 * MS
    assert course.last_under_way_ns(15 * MS, 25 * MS) == 15 * MS


def test_the_least_round_trip_is_that_of_any_reading() -> None:
    course = Course.of([readings((0, 10, 20), min_rtt_us=(2**32 - 1, 80, 70))])
    assert course.least_round_trip_ns == 70_000
    assert Course.of([readings((0,), min_rtt_us=(2**32 - 1,))]).least_round_trip_ns is None


def test_the_largest_value_is_one_in_a_span_or_next_to_it() -> None:
    course = Course.of([readings((0, 10, 20, 30), rto_us=(900, 400, 200, 300))])
    assert course.largest("rto_us", 15 * MS, 22 * MS) == 400
    assert course.latest("rto_us", 15 * MS) == 400
    assert course.latest("rto_us", -1) is None
