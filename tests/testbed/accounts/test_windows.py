"""Times of windows by clocks that count in jiffies of 4 ms."""

from __future__ import annotations

import pytest

from netstudy.testbed.real.accounts.bounds import Bounds, Part, exactly
from netstudy.testbed.real.accounts.windows import windows

TICK_NS = 4_000_000
TICK_US = 4_000
PEER, OWN = Part("peer-window", "not-known"), Part("own-buffer", "not-known")


def test_counted_ticks_err_by_twice_their_square_root() -> None:
    """100 ticks are 80 to 121, and 64 are 48 to 81: one may be missed at the end."""
    counted = {"peer_window_us": exactly(100 * TICK_US), "own_buffer_us": exactly(64 * TICK_US)}
    found = windows(counted, TICK_NS)
    assert found[PEER] == pytest.approx((80 * TICK_NS, 121 * TICK_NS))
    assert found[OWN] == pytest.approx((48 * TICK_NS, 81 * TICK_NS))


def test_growth_between_readings_inside_and_around_a_span_bounds_it() -> None:
    found = windows({"peer_window_us": Bounds(1 * TICK_US, 9 * TICK_US)}, TICK_NS)
    assert found[PEER] == pytest.approx((0, 16 * TICK_NS))


def test_a_clock_that_stood_still_tells_of_no_part() -> None:
    assert windows({"peer_window_us": exactly(0)}, TICK_NS) == {}
