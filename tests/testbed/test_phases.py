"""Phases by the clock of the first client: with one clock, with several, and without a bound."""

from __future__ import annotations

import pytest

from netstudy import wire
from netstudy.testbed.real.clocks import Clocks, HostClock, NoBoundError, Ping
from netstudy.testbed.real.phases import Carried, Paused, phase_times
from netstudy.testbed.real.wire import PhaseName, PhaseRecord

_AHEAD = 1_000_000
"""How far the clock of `b` is ahead of that of `a`."""
_WAY = 50
"""Each way of a ping; the bounds of two clocks add up to twice as much on either side."""
ONE = Clocks({"a": "machine", "b": "machine"})
TWO = Clocks(
    {"a": "a", "b": "b"},
    {
        "a": HostClock.of("a", [[Ping(-_WAY, 0, _WAY)]]),
        "b": HostClock.of("b", [[Ping(-_WAY, _AHEAD, _WAY)]]),
    },
)


def record(name: PhaseName, from_ns: int, to_ns: int, quiet_ns: int) -> PhaseRecord:
    return PhaseRecord(
        name=name,
        from_ns=from_ns,
        to_ns=to_ns,
        quiet_ns=quiet_ns,
        bytes_received=(),
        bytes_sent=(),
        in_time=None,
    )


def carried(name: PhaseName, ahead_ns: int = 0, *, is_planned: bool = True) -> Carried:
    """`a` is in the phase from 1,000 to 5,000, `b` from 1,200 to 5,300."""
    later = [ahead_ns + at_ns for at_ns in (1_200, 5_300, 5_400)]
    clients = {"a": record(name, 1_000, 5_000, 5_100), "b": record(name, *later)}
    return Carried(name, clients, is_planned=is_planned)


def spans(found: tuple[wire.PhaseTimes, ...]) -> list[tuple[str, int, int]]:
    return [(phase.kind, phase.start_ns, phase.end_ns) for phase in found]


def test_with_one_clock_a_phase_lasts_from_the_first_start_to_the_last_end() -> None:
    happened = (carried("warm-up"), Paused("stop", 300), carried("measure"))
    assert spans(phase_times(happened, ONE, "machine")) == [
        ("warm-up", 1_000, 5_300),
        ("stop", 5_300, 5_700),
        ("measure", 1_000, 5_300),
    ]


def test_a_warm_up_without_a_length_is_no_phase_but_its_traffic_ends_before_a_pause() -> None:
    happened = (carried("warm-up", is_planned=False), Paused("stop", 300))
    assert spans(phase_times(happened, ONE, "machine")) == [("stop", 0, 5_700)]


def test_with_two_clocks_clients_measure_while_all_of_them_do_for_sure() -> None:
    (warm_up, measure) = phase_times(
        (carried("warm-up", _AHEAD), carried("measure", _AHEAD)), TWO, "a"
    )
    # Rates may differ by 500 ppm, which makes 3 ns of the time since the ping.
    slack = 4 * _WAY + 10
    assert warm_up.start_ns == 1_000
    assert 5_300 <= warm_up.end_ns <= 5_300 + slack
    assert 1_200 <= measure.start_ns <= 1_200 + slack
    assert measure.end_ns == 5_000


def test_clients_that_share_no_time_for_sure_have_no_measuring_phase() -> None:
    apart = Carried(
        "measure",
        {
            "a": record("measure", 1_000, 2_000, 2_000),
            "b": record("measure", _AHEAD + 1_900, _AHEAD + 3_000, _AHEAD + 3_000),
        },
    )
    with pytest.raises(NoBoundError, match="no time is in the measuring phase of every client"):
        phase_times([apart], TWO, "a")
    with pytest.raises(NoBoundError, match="the clock of b was not compared"):
        phase_times([carried("measure")], Clocks(TWO.domains), "a")
