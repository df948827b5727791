"""Whether a study asks for more than the machine can do: the search and the decision."""

from __future__ import annotations

from fractions import Fraction

import pytest

from netstudy import wire
from netstudy.testbed.netns.limits import (
    Ceiling,
    Trial,
    Try,
    excess,
    find_ceiling,
    hardest,
    largest_scale,
    reached,
)
from tests.testbed.carried_out import a_run, counts, roles
from tests.testbed.networks import star

_GIGABIT = 1_000_000_000
_UNSCALED = Fraction(1)
_EFFICIENCY = 8948 / 9038
"""Share of a link that full frames of MTU 9000 leave to applications."""


def trial(
    rate_bps: int, goodput_bps: float, packets: float, late_us: float, in_time: bool, why: str = ""
) -> Trial:
    """A try with traffic that fills the link."""
    ideal_bps = _EFFICIENCY * rate_bps
    return Trial(rate_bps, goodput_bps, ideal_bps, packets, late_us, in_time, why or None)


def machine(limit_bps: int) -> Try:
    """One that carries up to a rate, and beyond that no more and late."""

    def attempt(rate_bps: int) -> Trial:
        carried_bps = _EFFICIENCY * min(rate_bps, limit_bps)
        in_time = rate_bps <= limit_bps
        return trial(rate_bps, carried_bps, carried_bps / 71_584, 40.0, in_time)

    return attempt


def test_a_machine_that_carries_what_is_asked_for_is_tried_once() -> None:
    network = star(2, rate_bps=_GIGABIT)
    ceiling = find_ceiling(network, machine(_GIGABIT))

    assert len(ceiling.trials) == 1
    assert excess(network, ceiling, _UNSCALED) is None


@pytest.mark.parametrize("limit_bps", [900_000_000, 500_000_000, 30_000_000])
def test_the_ceiling_is_below_the_machines_limit_and_near_it(limit_bps: int) -> None:
    ceiling = find_ceiling(star(2, rate_bps=10 * _GIGABIT), machine(limit_bps))

    assert ceiling.best is not None
    assert 0.8 * limit_bps <= ceiling.best.rate_bps <= limit_bps


def test_a_machine_that_was_disturbed_gets_a_second_try() -> None:
    goodputs = iter([0.7 * _GIGABIT, 0.97 * _GIGABIT])

    def attempt(rate_bps: int) -> Trial:
        return trial(rate_bps, next(goodputs), 1e4, 30.0, True)

    network = star(2, rate_bps=_GIGABIT)

    assert excess(network, find_ceiling(network, attempt), _UNSCALED) is None


def test_what_is_named_instead_is_carried_in_time() -> None:
    def attempt(rate_bps: int) -> Trial:
        goodput_bps = min(0.98 * rate_bps, 0.3 * _GIGABIT)
        return trial(rate_bps, goodput_bps, 1e4, 30.0, rate_bps <= 0.2 * _GIGABIT)

    ceiling = find_ceiling(star(2, rate_bps=_GIGABIT), attempt)

    assert ceiling.best is not None
    assert 0.1 * _GIGABIT < ceiling.best.rate_bps <= 0.2 * _GIGABIT


def test_a_machine_that_is_late_is_not_refused() -> None:
    def late(rate_bps: int) -> Trial:
        return trial(rate_bps, 0.97 * rate_bps, 1e4, 900.0, False, "departures were late")

    network = star(2, rate_bps=_GIGABIT)
    ceiling = find_ceiling(network, late)

    assert len(ceiling.trials) == 2
    assert excess(network, ceiling, _UNSCALED) is None


def test_a_machine_that_carries_nothing_is_tried_with_lower_rates_and_given_up() -> None:
    def broken(rate_bps: int) -> Trial:
        return trial(rate_bps, 0.1 * rate_bps, 1e5, 900.0, True)

    network = star(2, rate_bps=_GIGABIT)
    ceiling = find_ceiling(network, broken)
    rates = [trial.rate_bps for trial in ceiling.trials]
    said = excess(network, ceiling, _UNSCALED)

    assert ceiling.best is None
    assert rates == sorted(set(rates), reverse=True)
    assert len(rates) == 7
    assert said is not None
    assert "carries no rate that was tried: 1 Gbit/s: 100 Mbit/s; " in said


def test_the_sentence_has_the_figures_and_the_scale_that_fits() -> None:
    best = trial(2_400_000_000, 2.37e9, 41_234.0, 46.0, True)

    assert excess(star(23, rate_bps=10 * _GIGABIT), Ceiling(best, (best,)), _UNSCALED) == (
        "The study asks for 10 Gbit/s at an MTU of 9000 bytes between 24 hosts; this machine "
        "carries 2.4 Gbit/s in time (41,234 packets a second, 99 of 100 of them late by 46 µs at "
        "most). The largest scale that fits is --scale 1/5."
    )


@pytest.mark.parametrize(
    ("wanted_bps", "ceiling_bps", "scale"), [(10, 5, "1/2"), (10, 4, "1/3"), (10, 3, "1/4")]
)
def test_the_scale_is_the_largest_whole_part_that_fits(
    wanted_bps: int, ceiling_bps: int, scale: str
) -> None:
    assert largest_scale(Fraction(wanted_bps), ceiling_bps) == scale


@pytest.mark.parametrize(
    ("used", "carried_bps", "advice"),
    [("1/4", 900_000_000, "1/12"), ("1/4", 2_400_000_000, "1/5"), ("2/3", 5_000_000_000, "1/2")],
)
def test_the_advised_scale_is_of_the_studys_own_rates_and_below_the_refused_one(
    used: str, carried_bps: int, advice: str
) -> None:
    scale = Fraction(used)
    network = star(2, rate_bps=int(10 * _GIGABIT * scale))
    best = trial(carried_bps, carried_bps, 1e4, 40.0, True)

    said = excess(network, Ceiling(best, (best,)), scale)

    assert said is not None
    assert said.startswith(f"At --scale {used} the study asks for ")
    assert said.endswith(f"The largest scale that fits is --scale {advice}.")
    assert Fraction(advice) < scale


def test_of_a_plan_the_hardest_network_of_each_mtu_is_tried() -> None:
    networks = [
        star(2, mtu_bytes=1500),
        star(23, mtu_bytes=1500),
        star(23, mtu_bytes=1500, rate_bps=_GIGABIT),
        star(8, mtu_bytes=9000),
        star(5, mtu_bytes=9000),
    ]
    work = wire.Incast(roles=roles("client", "server-1"), block_bytes=1000)
    runs = tuple(a_run(network, work, counts(1)) for network in networks)

    assert hardest(wire.Plan(study="s", seed=1, runs=runs)) == [runs[2], runs[3]]


def test_each_kind_of_traffic_is_tried() -> None:
    ends = roles("client", "server")
    works = (wire.Incast(roles=ends, block_bytes=1000), wire.Request(roles=ends))
    runs = tuple(a_run(star(1), work, counts(1)) for work in works)

    assert hardest(wire.Plan(study="s", seed=1, runs=runs)) == list(runs)


def test_what_the_machine_reached_is_said_with_rate_packets_and_times() -> None:
    network = star(2, rate_bps=_GIGABIT)
    best = find_ceiling(network, machine(_GIGABIT)).best
    assert best is not None

    # 8,948 B of 9,038 B on the wire are the application's, 71,584 bits a packet.
    assert reached(network, best) == (
        "990 of 990 Mbit/s over a link of 1 Gbit/s, between 3 hosts "
        "(13,830 packets a second, 99 of 100 of them late by 40 µs at most), in time"
    )


def test_a_machine_that_is_late_says_why() -> None:
    late = trial(_GIGABIT, 0.99 * _GIGABIT, 1e4, 90.0, in_time=False, why="20 of 100 frames late")

    assert reached(star(2, rate_bps=_GIGABIT), late).endswith("not in time: 20 of 100 frames late")
