"""What queue disciplines counted in the measuring phase."""

from __future__ import annotations

from netstudy import wire
from netstudy.testbed.real.queues import since


def _statistics(sent: int, sojourns: dict[int, int], sum_ns: int) -> wire.QueueStatistics:
    return wire.QueueStatistics(
        node="left",
        port="narrow",
        dscp=46,
        frames_offered=sent + 3,
        bytes_offered=1500 * (sent + 3),
        frames_sent=sent,
        bytes_sent=1500 * sent,
        frames_dropped_at_arrival=1,
        bytes_dropped_at_arrival=1500,
        frames_dropped_at_departure=2,
        bytes_dropped_at_departure=3000,
        frames_marked=sent // 2,
        sojourn_sum_ns=sum_ns,
        sojourn_ns=tuple(sojourns),
        frames=tuple(sojourns.values()),
    )


def test_the_growth_is_what_came_after_the_start_of_the_phase() -> None:
    before = _statistics(4, {100: 3, 300: 1}, 600)
    grown = since(_statistics(9, {100: 3, 200: 2, 300: 4}, 1_900), before)
    assert (grown.node, grown.port, grown.dscp) == ("left", "narrow", 46)
    assert (grown.frames_sent, grown.bytes_sent, grown.frames_marked) == (5, 7_500, 2)
    assert grown.frames_dropped_at_departure == 0
    # Two frames waited 200 ns and three 300 ns: 1,300 ns.
    assert (grown.sojourn_ns, grown.frames, grown.sojourn_sum_ns) == ((200, 300), (2, 3), 1_300)


def test_a_class_without_frames_before_the_phase_has_all_of_its_frames_in_it() -> None:
    now = _statistics(4, {100: 4}, 400)
    assert since(now, None) is now
