"""Fitting by lists: the search, and what fits as well."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import pytest

from netstudy.calibration import Interval, around, descend, fits_as_well

LISTS = {"a": (1, 2, 3, 4), "b": (10, 20, 30)}


def test_the_search_finds_the_best_of_all_and_asks_for_nothing_twice_in_a_row() -> None:
    asked: list[tuple[int, ...]] = []

    def loss(chosen: Mapping[str, int]) -> float:
        asked.append(tuple(chosen.values()))
        return float(abs(10 * chosen["a"] - chosen["b"]) + abs(chosen["a"] - 3))

    assert descend(LISTS, {"a": 1, "b": 30}, loss) == {"a": 3, "b": 30}
    assert all(one != other for one, other in pairwise(asked))


def test_the_search_ends_after_its_rounds_and_tells_each_step() -> None:
    told: list[str | None] = []

    def loss(chosen: Mapping[str, int]) -> float:
        return float(-chosen["a"] * (1 if chosen["b"] < 30 else 2))

    found = descend(LISTS, {"a": 1, "b": 10}, loss, 1, lambda _, figure, __: told.append(figure))
    assert found == {"a": 4, "b": 30}
    assert told == [None, "a", "b"]


def test_a_value_fits_as_well_when_one_more_test_could_have_preferred_it() -> None:
    best = [0.10, 0.11, 0.09, 0.10, 0.10]
    # Differences 0.01, 0.03, 0.01, 0.03, 0.02: mean 0.02, s 0.01; t(.95, 4) = 2.132.
    worse = [b + d for b, d in zip(best, (0.01, 0.03, 0.01, 0.03, 0.02), strict=True)]
    assert 2.132 * 0.01 * math.sqrt(1.2) > 0.02
    assert fits_as_well(worse, best, 1_000, 1_000)
    # Runs a quarter as long show twice the noise that the published test has.
    assert not fits_as_well(worse, best, 250, 1_000)


def test_a_value_without_effect_fits_as_well_and_one_that_is_always_worse_does_not() -> None:
    best = [0.10, 0.12, 0.11]
    assert fits_as_well(best, best, 1_000, 1_000)
    assert not fits_as_well([error + 0.001 for error in best], best, 1_000, 1_000)


@pytest.mark.parametrize(
    ("good", "low", "high"),
    [({3}, 3, 3), ({2, 3, 4}, 2, 4), ({1, 3, 4}, 3, 4), ({1, 2, 3, 4, 5}, 1, 5)],
)
def test_an_interval_is_the_unbroken_stretch_around_the_value(
    good: set[float], low: float, high: float
) -> None:
    assert around(3, [1, 2, 3, 4, 5], good) == Interval(low, high)
