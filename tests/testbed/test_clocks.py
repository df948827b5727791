"""Clocks that drift, by pings made up with a seed: the true time is always within the bounds."""

from __future__ import annotations

from random import Random

import pytest

from netstudy.testbed.real.clocks import Clocks, HostClock, Instant, NoBoundError, Ping

S = 1_000_000_000
US = 1_000
START_NS = 5_000 * S
"""Of the controller's clock."""


class Host:
    """A clock that is ahead of the controller's, and gains `ppm` microseconds a second; after five
    seconds its rate changes by `wander_ppm`."""

    def __init__(self, ahead_ns: int, ppm: float, wander_ppm: float = 0.0) -> None:
        self.ahead_ns, self.ppm, self.wander_ppm = ahead_ns, ppm, wander_ppm

    def at(self, controller_ns: float) -> int:
        since_ns = controller_ns - START_NS
        gained_ns = 1e-6 * (self.ppm * since_ns + self.wander_ppm * max(since_ns - 5 * S, 0))
        return round(controller_ns + self.ahead_ns + gained_ns)

    def group(self, random: Random, at_ns: int, count: int = 50) -> list[Ping]:
        """Pings with delays that are longer on the way back, and sometimes very long."""
        found = []
        for _ in range(count):
            there_ns = round(random.uniform(20, 60) * US * random.choice((1, 1, 1, 30)))
            back_ns = round(random.uniform(40, 200) * US)
            found.append(Ping(at_ns, self.at(at_ns + there_ns), at_ns + there_ns + back_ns))
            at_ns += there_ns + back_ns
        return found

    def pinged(self, random: Random, domain: str, seconds: tuple[float, ...]) -> HostClock:
        at_ns = [START_NS + round(second * S) for second in seconds]
        return HostClock.of(domain, [self.group(random, one) for one in at_ns])


RUN_S = (0.0, 2.0, 12.0, 13.0)
"""Before, both edges of a phase of ten seconds, and after."""


@pytest.mark.parametrize("ppm", [0.0, 3.0, -40.0, 80.0])
@pytest.mark.parametrize("ahead_ns", [0, 1_000 * S, -3 * S])
@pytest.mark.parametrize("seed", range(5))
def test_the_true_time_is_inside_and_the_bounds_stay_small(
    ppm: float, ahead_ns: int, seed: int
) -> None:
    random = Random(seed)
    hosts = {"alpha": Host(0, 0.0), "beta": Host(ahead_ns, ppm), "gamma": Host(7 * S, -ppm / 2)}
    clocks = Clocks(
        {name: name for name in hosts},
        {name: host.pinged(random, name, RUN_S) for name, host in hosts.items()},
    )
    for _ in range(50):
        at_ns = START_NS + random.uniform(0, 13) * S
        for one, other in (("alpha", "beta"), ("beta", "alpha"), ("beta", "gamma")):
            found = clocks.translate(Instant(one, hosts[one].at(at_ns)), other)
            true_ns = hosts[other].at(at_ns)
            assert found.low_ns <= true_ns <= found.high_ns, (seed, at_ns)
            assert found.high_ns - found.low_ns < 500 * US, (seed, at_ns)


@pytest.mark.parametrize("seed", range(5))
def test_a_rate_that_wanders_a_little_stays_inside(seed: int) -> None:
    random, host = Random(seed), Host(2 * S, 20.0, wander_ppm=4.0)
    clocks = Clocks(
        {"alpha": "alpha", "beta": "beta"},
        {
            "alpha": Host(0, 0.0).pinged(random, "alpha", RUN_S),
            "beta": host.pinged(random, "beta", RUN_S),
        },
    )
    for second in range(14):
        at_ns = START_NS + second * S
        found = clocks.translate(Instant("beta", host.at(at_ns)), "alpha")
        assert found.low_ns <= at_ns <= found.high_ns, (seed, second)


def test_drift_that_single_pings_hide_is_found_by_their_groups() -> None:
    low, high = Host(0, 30.0).pinged(Random(1), "beta", RUN_S).rate
    assert low < -30e-6 < high
    assert high - low < 30e-6


def test_with_one_group_only_the_bounds_grow_with_the_time_since() -> None:
    host = Host(1_000 * S, 50.0)
    clock = host.pinged(Random(1), "beta", (0.0,))
    widths = []
    for second in (0, 1, 10):
        low, high = clock.to_controller(host.at(START_NS + second * S))
        true_ns = START_NS + second * S - host.at(START_NS + second * S)
        assert low <= true_ns <= high
        widths.append(high - low)
    assert widths[0] < 300 * US
    assert widths[2] > widths[1] > widths[0] + 900 * US


def test_a_clock_that_was_set_during_the_run_has_no_bound() -> None:
    random, before, after = Random(1), Host(0, 0.0), Host(3_600 * S, 0.0)
    groups = [before.group(random, START_NS), after.group(random, START_NS + 5 * S)]
    with pytest.raises(NoBoundError, match="the clock of beta was set during the run"):
        HostClock.of("beta", groups).to_controller(START_NS)


def test_clocks_that_nobody_compared_have_no_bound() -> None:
    clocks = Clocks({"alpha": "alpha", "beta": "beta"})
    with pytest.raises(NoBoundError, match="the clock of alpha was not compared"):
        clocks.translate(Instant("alpha", 1), "beta")
    with pytest.raises(NoBoundError, match="are of two clocks"):
        Instant("alpha", 1) - Instant("beta", 1)


def test_times_of_one_clock_are_exact() -> None:
    clocks = Clocks({"alpha": "machine", "beta": "machine"})
    found = clocks.translate(Instant("machine", 7), "machine")
    assert (found.low_ns, found.high_ns) == (7, 7)
    assert Instant("machine", 7) - Instant("machine", 3) == 4
    assert clocks.is_one
