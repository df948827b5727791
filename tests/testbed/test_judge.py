"""What the switch says of its clock, as limits of the testbed."""

from __future__ import annotations

from netstudy.testbed.real.judge import switch_limits
from netstudy.testbed.real.switch_wire import SwitchClock
from netstudy.wire import TestbedLimit

CLOCK = SwitchClock(
    departures=1_000,
    departures_late=10,
    late_ns_p50=9_000,
    late_ns_p99=80_000,
    late_ns_max=200_000,
    frames_lost=0,
    kept_up=True,
    why=None,
    cpu_ns=1_000_000,
)


def judged(**changes: object) -> tuple[TestbedLimit, TestbedLimit]:
    lost, late = switch_limits(CLOCK.model_copy(update=changes))
    return lost, late


def test_one_late_frame_of_a_hundred_is_no_limit() -> None:
    lost, late = judged()

    assert (late.value, late.exceeded, late.invalidates) == (1.0, False, False)
    assert (lost.value, lost.exceeded, lost.invalidates) == (0, False, False)


def test_a_late_switch_is_a_limit_though_it_lost_nothing() -> None:
    lost, late = judged(departures_late=11, kept_up=False, why="11 of 1000 frames left later")

    assert (late.exceeded, late.invalidates, lost.exceeded) == (True, True, False)
    assert late.evidence == (
        "11 of 1,000 departures; late by 9 µs in the median, 80 µs at p99, 200 µs at most"
    )


def test_a_lost_frame_is_a_limit_though_none_was_late() -> None:
    lost, late = judged(frames_lost=3, kept_up=False, why="3 frames could not be read")

    assert (lost.exceeded, lost.invalidates, late.exceeded) == (True, True, False)
    assert lost.evidence == "3 frames could not be read"


def test_a_switch_that_sent_nothing_was_not_late() -> None:
    assert judged(departures=0, departures_late=0)[1].value == 0
