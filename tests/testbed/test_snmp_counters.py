"""From what a switch shows by SNMP to counters that only grow: wraps, resets, gaps, slow agents.

Each random case has an oracle: a true counter that never wraps, of which the agent shows a part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netstudy.testbed.real.snmp import (
    DISCONTINUITY,
    UP_TIME,
    Polls,
    course,
    discontinuities,
    refresh_ns,
    unanswered,
)
from netstudy.testbed.real.snmp_wire import SnmpSamples

S = 1_000_000_000
GBPS = 1_000_000_000
SECOND_BYTES = GBPS // 8
WRAP = 1 << 32
FRAME_BYTES = 1518


def polled(
    values: Mapping[str, Sequence[int | None]],
    *,
    every_ns: int = S,
    up_cs: Sequence[int | None] | None = None,
) -> SnmpSamples:
    """Polls once an interval, answered within 2 ms where the first counter has a value."""
    rows = len(next(iter(values.values())))
    answered = [next(iter(values.values()))[row] is not None for row in range(rows)]
    up = up_cs or [100 * row if there else None for row, there in enumerate(answered)]
    return SnmpSamples(
        port="server",
        sent_ns=tuple(row * every_ns for row in range(rows)),
        received_ns=tuple(
            row * every_ns + 2_000_000 if there else None for row, there in enumerate(answered)
        ),
        why=tuple(None if there else "no answer for 500 ms" for there in answered),
        values={UP_TIME: tuple(up), **{name: tuple(column) for name, column in values.items()}},
    )


def grown(samples: SnmpSamples, counter: str = "bytes_received") -> list[int | None]:
    """Growth of a counter from each poll to the next; None: it is not known."""
    found = course(samples, GBPS)
    column, broken = found.values[counter], found.values["discontinuities"]
    pairs = zip(pairwise(column), pairwise(broken), strict=True)
    return [
        None if a is None or b is None or before != after else b - a
        for (a, b), (before, after) in pairs
    ]


@given(
    start=st.integers(0, WRAP - 1),
    growths=st.lists(st.integers(0, SECOND_BYTES), min_size=1, max_size=60),
)
def test_a_counter_of_32_bits_grows_as_the_true_one_does_through_every_wrap(
    start: int, growths: list[int]
) -> None:
    true = list(accumulate(growths, initial=start))
    shown = [value % WRAP for value in true]
    assert grown(polled({"ifInOctets": shown})) == growths


@given(
    growths=st.lists(st.integers(0, SECOND_BYTES), min_size=2, max_size=30),
    at=st.integers(0, 29),
    began_at=st.integers(0, 1_000),
)
def test_counters_of_a_switch_that_restarts_have_no_growth_over_that_moment_alone(
    growths: list[int], at: int, began_at: int
) -> None:
    at = 1 + at % len(growths)
    true = list(accumulate(growths, initial=50_000_000_000))
    shown = [*true[:at], *(began_at + value - true[at] for value in true[at:])]
    up = [
        *(100_000 + 100 * row for row in range(at)),
        *(100 * row + 30 for row in range(len(true) - at)),
    ]
    samples = polled({"ifHCInOctets": shown}, up_cs=up)
    assert grown(samples) == [*growths[: at - 1], None, *growths[at:]]
    ((_, why),) = course(samples, GBPS).discontinuities
    assert why.startswith("the switch restarted: it is up for 0.30 s, ")


def test_a_restart_between_two_distant_polls_is_found_though_it_is_up_for_longer_than_before() -> (
    None
):
    samples = polled(
        {"ifHCInOctets": [1_000, None, None, 900_000_000]}, up_cs=[50, None, None, 200]
    )
    assert grown(samples) == [None, None, None]
    assert len(course(samples, GBPS).discontinuities) == 1


def test_the_time_that_a_switch_is_up_wraps_after_497_days_and_that_is_no_restart() -> None:
    samples = polled({"ifHCInOctets": [10, 20, 30]}, up_cs=[WRAP - 150, WRAP - 50, 50])
    assert grown(samples) == [10, 10]


def test_a_discontinuity_that_the_switch_declares_is_one_though_the_counters_went_on() -> None:
    samples = polled({"ifHCInOctets": [10, 20, 30], DISCONTINUITY: [0, 150, 150]})
    assert grown(samples) == [None, 10]


@pytest.mark.parametrize("name", ["ifHCInOctets", "ifInOctets"])
def test_cleared_counters_are_no_wrap(name: str) -> None:
    samples = polled({name: [2_000_000_000, 2_010_000_000, 7, 107]})
    assert grown(samples) == [10_000_000, None, 100]
    assert course(samples, GBPS).discontinuities[0][1] == (
        f"{name} went from 2,010,000,000 to 7: it began anew"
    )


def test_a_jump_that_the_line_cannot_carry_is_no_growth() -> None:
    assert grown(polled({"ifHCInOctets": [0, 10, 5 * SECOND_BYTES, 5 * SECOND_BYTES + 1]})) == [
        10,
        None,
        1,
    ]


def test_octets_of_32_bits_that_may_wrap_twice_between_two_polls_have_no_growth() -> None:
    samples = polled({"ifInOctets": [0, 10, 20]}, every_ns=60 * S, up_cs=[0, 6_000, 12_000])
    assert grown(samples) == [None, None]
    assert "more than once" in course(samples, GBPS).discontinuities[0][1]


def test_a_poll_without_an_answer_is_a_gap_and_no_zero() -> None:
    samples = polled({"ifHCInOctets": [0, 10, None, 30, 40]})
    found = course(samples, GBPS)
    assert found.values["bytes_received"] == (0, 10, None, 30, 40)
    assert found.values["uptime_ms"] == (0, 1_000, None, 3_000, 4_000)
    assert found.unanswered == ((2 * S, "no answer for 500 ms"),)
    assert found.growth("bytes_received", 2 * S, 4 * S + S // 2) == 30, "from the last answer on"


def test_frames_are_those_to_one_address_to_groups_and_to_all() -> None:
    wide = {
        "ifHCInUcastPkts": [1, 11],
        "ifHCInMulticastPkts": [0, 2],
        "ifHCInBroadcastPkts": [0, 3],
        "etherStatsPkts1024to1518Octets": [WRAP - 1, 8],
    }
    assert grown(polled(wide), "frames_received") == [15]
    assert grown(polled(wide), "frames_received_1024_1518") == [9]
    assert "frames_dropped" not in course(polled(wide), GBPS).values, "missing is not zero"


# ---- agents that refresh their counters less often than they are asked


def cached(true: Callable[[int], int], refresh_s: int, polls: int) -> list[int]:
    """What an agent shows at polls each second that reads its counters when it is asked and what it
    has is `refresh_s` old, as net-snmp's does."""
    shown: list[int] = []
    read_at = 0
    for at in range(polls):
        if at - read_at >= refresh_s:
            read_at = at
        shown.append(true(read_at))
    return shown


@pytest.mark.parametrize("refresh_s", [2, 3, 5, 10])
def test_the_time_between_refreshes_is_found_from_the_polls(refresh_s: int) -> None:
    shown = cached(lambda at: 1_000_000 * at, refresh_s, 60)
    assert refresh_ns(polled({"ifHCInOctets": shown}), S) == refresh_s * S


def test_an_agent_that_shows_its_counters_of_the_moment_is_as_fast_as_the_polls() -> None:
    assert refresh_ns(polled({"ifHCInOctets": [10 * row for row in range(20)]}), S) == S


def test_idle_times_of_a_port_are_no_slowness_of_the_agent() -> None:
    bursts = [1, 2, 3, 4, 4, 4, 4, 4, 4, 5, 6, 7, 7, 7, 7, 7, 8, 9]
    assert refresh_ns(polled({"ifHCInOctets": bursts}), S) == S


def test_of_too_few_changes_no_time_is_told() -> None:
    assert refresh_ns(polled({"ifHCInOctets": [1, 1, 1, 2, 2, 2]}), S) is None


@given(growths=st.lists(st.integers(1, SECOND_BYTES), min_size=20, max_size=60))
def test_rates_of_a_slow_agent_are_means_between_its_refreshes(growths: list[int]) -> None:
    true = list(accumulate(growths, initial=0))
    shown = cached(lambda at: true[at], 3, len(true))
    polls = polls_of(polled({"ifHCInOctets": shown}))
    assert polls.is_slow
    found = polls.course("server")
    at_s = [(at_ns - 1_000_000) // S for at_ns in found.at_ns]
    assert at_s == list(range(0, len(true), 3))
    assert found.values["bytes_received"] == tuple(true[at] for at in at_s)


def polls_of(*samples: SnmpSamples) -> Polls:
    return Polls(
        switch="switch",
        from_="monitor",
        every_ns=S,
        own_port="monitor",
        samples=samples,
        edges={},
        rates_bps={one.port: GBPS for one in samples},
    )


def test_what_went_wrong_is_told_of_the_time_that_is_asked_for() -> None:
    polls = polls_of(polled({"ifHCInOctets": [9, None, 10, 3, None, 4]}))
    assert unanswered(polls, S // 2, 2 * S) == ["no answer for 500 ms"]
    assert len(unanswered(polls, 0, 9 * S)) == 2
    assert discontinuities(polls, 0, 2 * S + S // 2) == []
    assert discontinuities(polls, 0, 9 * S) == ["ifHCInOctets went from 10 to 3: it began anew"]
