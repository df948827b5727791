"""The rule of an outer loop: what gains, what starts the count anew, and what is best."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from netstudy.analysis.intervals import Estimate
from netstudy.analysis.steps import Judged, judge
from netstudy.analysis.verdict import aa_noise, aa_noise_pct


def exactly(value: float) -> Estimate:
    """A value whose replicates agree."""
    return Estimate(value, 0.0, 2, 3, "run")


def judged(values: Sequence[float | None], *, lower: bool = False, noise: float = 2.0) -> Judged:
    tried = [
        (level, None if value is None else exactly(value))
        for level, value in enumerate(values, start=1)
    ]
    return judge(tried, lower_is_better=lower, margin_pct=noise)


def gains(found: Judged) -> list[bool]:
    return [step.gained for step in found.steps]


def test_a_plateau_gains_no_more() -> None:
    found = judged([100, 200, 300, 301, 302])
    assert gains(found) == [True, True, True, False, False]
    assert found.without_gain == 2
    assert found.last_gain == found.steps[2]
    assert found.best == found.steps[4], "the best value is the best, though it is no gain"


def test_a_confirming_level_that_gains_starts_the_count_anew() -> None:
    assert judged([100, 90]).without_gain == 1
    found = judged([100, 90, 110, 105])
    assert gains(found) == [True, False, True, False]
    assert found.without_gain == 1
    assert found.best == found.steps[2]


def test_a_gain_is_more_than_the_noise_of_the_best() -> None:
    assert gains(judged([200, 204])) == [True, False]
    assert gains(judged([200, 204.01])) == [True, True]


def test_gains_that_are_each_within_the_noise_are_held_against_the_best_before() -> None:
    assert gains(judged([100, 101, 102, 103, 104.1])) == [True, False, False, False, False]


def test_lower_is_better_where_the_metric_says_so() -> None:
    found = judged([50, 40, 39.5, 45], lower=True)
    assert gains(found) == [True, True, False, False]
    assert found.best == found.steps[2]
    assert [step.threshold for step in found.steps] == [None, 1.0, 0.8, pytest.approx(0.79)]


def test_the_first_of_equal_values_is_the_best() -> None:
    found = judged([100, 100, 100])
    assert found.best == found.steps[0]
    assert gains(found) == [True, False, False]


def test_without_a_declared_noise_replicates_say_what_noise_is() -> None:
    """Two replicates of 98 and 102: variance of their mean 4, t(.975; 1) = 12.706."""
    spread = Estimate(100.0, 4.0, 1, 2, "run")
    assert aa_noise(spread) == pytest.approx(12.7062 * 8**0.5, rel=1e-4)
    assert aa_noise_pct(spread) == pytest.approx(aa_noise(spread))
    noise = 12.7062 * 8**0.5
    for ahead, gained in ((0.99, False), (1.01, True)):
        tried = [(1, exactly(100)), (2, Estimate(100 + ahead * noise, 4.0, 1, 2, "run"))]
        found = judge(tried, lower_is_better=False, margin_pct=None)
        assert gains(found) == [True, gained]


def test_where_no_noise_is_known_no_gain_can_be_shown() -> None:
    alone = Estimate(100.0, None, 0, 1, "none")
    found = judge(
        [(1, alone), (2, Estimate(500.0, None, 0, 1, "none"))],
        lower_is_better=False,
        margin_pct=None,
    )
    assert gains(found) == [True, False]


def test_a_value_of_zero_is_a_value() -> None:
    assert gains(judged([0, 0, 5])) == [True, False, True]


def test_a_level_without_a_value_gains_nothing_and_is_not_the_best() -> None:
    found = judged([100, None])
    assert gains(found) == [True, False]
    assert found.best == found.steps[0]
    assert judged([None]).best is None


@pytest.mark.parametrize("seed", range(20))
def test_levels_that_follow_change_nothing_of_those_before(seed: int) -> None:
    """Against the rule written out: each level looks back at all before it."""
    chance = random.Random(seed)
    values = [float(chance.randint(90, 130)) for _ in range(12)]
    found = judged(values)
    for index, step in enumerate(found.steps):
        before = values[:index]
        assert step.gained == (not before or values[index] > max(before) * 1.02), f"seed {seed}"
        part = judged(values[: index + 1])
        assert part.steps == found.steps[: index + 1]
        assert part.without_gain == next(
            count for count, gained in enumerate(reversed(gains(part))) if gained
        )
