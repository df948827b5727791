"""Parts of a time between bounds, by numbers worked by hand."""

from __future__ import annotations

from math import inf

from netstudy.testbed.real.accounts.bounds import (
    UNKNOWN,
    Bounds,
    Part,
    at_most,
    either,
    exactly,
    rest,
    summed,
    tightened,
)

QUEUE, CPU, TIMER = (
    Part("own", "queue"),
    Part("own", "cpu", "server"),
    Part("recovery", "retransmission-timer", "server"),
)


def test_equal_parts_add_up() -> None:
    found = summed(({QUEUE: Bounds(1, 4), CPU: exactly(2)}, {QUEUE: Bounds(10, 20)}))
    assert found == {QUEUE: (11, 24), CPU: (2, 2)}


def test_the_rest_is_what_bounds_leave() -> None:
    assert rest(100, {QUEUE: Bounds(10, 30), CPU: at_most(20)}) == (50, 90)
    assert rest(100, {QUEUE: UNKNOWN}) == (0, 100)


def test_a_part_takes_what_the_others_must_leave() -> None:
    """Of 100, the CPU takes at most 20 and the timer 30 to 40: the queue gets 40 to 70."""
    found = tightened(100, {QUEUE: UNKNOWN, CPU: at_most(20), TIMER: Bounds(30, 40)})
    assert found == {QUEUE: (40, 70), CPU: (0, 20), TIMER: (30, 40)}


def test_nothing_follows_from_two_unknown_parts() -> None:
    found = tightened(100, {QUEUE: UNKNOWN, CPU: at_most(inf)})
    assert found == {QUEUE: (0, 100), CPU: (0, 100)}


def test_nothing_follows_from_parts_that_cannot_make_up_the_whole() -> None:
    found = tightened(100, {QUEUE: Bounds(10, 50), CPU: at_most(20)})
    assert found == {QUEUE: (10, 50), CPU: (0, 20)}


def test_lower_bounds_above_the_whole_contradict_the_upper_ones() -> None:
    found = tightened(100, {TIMER: exactly(200), CPU: at_most(20)})
    assert found[TIMER].low > found[TIMER].high


def test_bounds_of_either_division_hold_both() -> None:
    one, other = {QUEUE: Bounds(10, 20), CPU: exactly(5)}, {QUEUE: Bounds(15, 30)}
    assert either(one, other) == {QUEUE: (10, 30), CPU: (0, 5)}
