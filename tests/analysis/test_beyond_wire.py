"""The time beyond the wire, from planted accounts: shares and differences worked by hand."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from netstudy.analysis.beyond_wire import BeyondWire, Grown, beyond_wire, grown
from netstudy.analysis.layout import Panel, layout
from netstudy.wire import Run, RunRecord
from tests.report.accounts import Shares, Spot, accounts
from tests.report.synthetic import folder, incast_plan, pooled, record

WIRE: Spot = ("own", "serialization", "switch", "client")
RTO: Spot = ("recovery", "retransmission-timer", "server-1", "")
PROBE: Spot = ("recovery", "probe-timer", "server-1", "")
QUEUE: Spot = ("own", "queue", "switch", "client")
OTHER_QUEUE: Spot = ("own", "queue", "server-1", "switch")
WINDOW: Spot = ("congestion-window", "propagation", "server-1", "switch")
LATENCY: Spot = ("congestion-window", "host-latency", "client", "")

Time = tuple[float, Shares]
"""Milliseconds of an iteration, and the shares of its parts."""


def panel(times: Mapping[tuple[str, int], Time]) -> Panel:
    """Switch and servers -> the account of each run of this cell."""

    def of(planned: Run) -> RunRecord:
        made = record(planned)
        key = (str(planned.treatment["switch"]), int(planned.treatment["servers"]))
        if key not in times:
            return made
        ms, shares = times[key]
        time = accounts("iteration", ms * 1e9 * 50, shares, units=50)
        return made.model_copy(update={"samples": made.samples.model_copy(update={"time": time})})

    plan = incast_plan([2, 4], replicates=1)
    made = folder(plan, {one.id: of for one in plan.runs})
    return layout(pooled(made), "main", "switch").panels[0]


ARISTA, NEXUS = "arista-7124s", "nexus-5010"
SLOW: dict[tuple[str, int], Time] = {
    (NEXUS, 2): (4.0, {WIRE: 0.5, QUEUE: 0.5}),
    (NEXUS, 4): (8.0, {WIRE: 0.5, QUEUE: 0.5}),
    (ARISTA, 2): (14.0, {WIRE: 2 / 14, QUEUE: 1 / 14, RTO: 11 / 14}),
    (ARISTA, 4): (28.0, {WIRE: 4 / 28, QUEUE: 2 / 28, RTO: 2 / 28, PROBE: 20 / 28}),
}


def shares(one: BeyondWire | Grown) -> dict[str, float]:
    return {part.family: part.amount for part in one.parts}


def test_the_shares_of_the_time_beyond_the_wire() -> None:
    """Of 14 + 28 ms, 6 are on the wire; 33 of the other 36 are timers, and 3 are queues."""
    found = {one.level: one for one in beyond_wire(panel(SLOW))}
    assert shares(found[NEXUS]) == pytest.approx({"queue": 100})
    assert shares(found[ARISTA]) == pytest.approx({"timer": 100 * 33 / 36, "queue": 100 * 3 / 36})
    assert [part.family for part in found[ARISTA].parts] == ["timer", "queue"]


def test_a_family_has_a_place_if_most_of_its_time_is_there() -> None:
    """Of 33 ms of timers, 20 are probe timers, too few; each window counts as one place."""
    found = {one.level: one for one in beyond_wire(panel(SLOW))}
    timer, queue = found[ARISTA].parts
    assert timer.key is None
    assert queue.key is not None
    assert (queue.key.place, queue.key.node, queue.key.to) == ("queue", "switch", "client")
    windows = {(NEXUS, 2): (4.0, {WINDOW: 0.4, LATENCY: 0.3, QUEUE: 0.2, OTHER_QUEUE: 0.1})}
    (one,) = beyond_wire(panel(windows))
    window, queue = one.parts
    assert window.key is not None
    assert window.key.reason == "congestion-window"
    assert queue.key is None


def test_the_part_that_grows_between_two_levels() -> None:
    """In the mean, 21 ms instead of 6: 16.5 ms more timers, and 1.5 ms less queues."""
    (found,) = grown(panel(SLOW), NEXUS)
    assert (found.level, found.base, found.cells) == (ARISTA, NEXUS, 2)
    assert (found.base_s, found.more_s) == pytest.approx((0.006, 0.015))
    assert shares(found) == pytest.approx({"timer": 0.0165, "wire": 0.0, "queue": -0.0015})
    assert found.parts[0].family == "timer"
    (back,) = grown(panel(SLOW), ARISTA)
    assert back.more_s == pytest.approx(-0.015)
    assert back.parts[0].family == "timer"
    assert back.parts[0].amount == pytest.approx(-0.0165)


def test_cells_without_exact_accounts_have_no_difference() -> None:
    without = {key: time for key, time in SLOW.items() if key[0] == ARISTA}
    assert list(grown(panel(without), NEXUS)) == []
    bounds: dict[tuple[str, int], Time] = {**SLOW, (ARISTA, 2): (14.0, {RTO: (0.2, 0.9)})}
    (found,) = grown(panel(bounds), NEXUS)
    assert found.cells == 1
    assert [one.is_exact for one in beyond_wire(panel(bounds))] == [False, True]
