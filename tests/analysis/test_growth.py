"""The rule of an outer loop: what gains, what counts as a level without gain, and what is best."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from statistics import median

import numpy as np
import pytest

from netstudy.analysis.intervals import Estimate
from netstudy.analysis.steps import Judged, Outcome, judge
from netstudy.analysis.verdict import aa_noise, aa_noise_pct
from netstudy.wire import Level

NO_LOAD: Mapping[Level, float] = {}


def exactly(value: float) -> Estimate:
    """A value whose replicates agree."""
    return Estimate(value, 0.0, 2, 3, "run")


def single(value: float) -> Estimate:
    """A value of one run."""
    return Estimate(value, None, 0, 1, "none")


def judged(
    values: Sequence[float | None],
    *,
    lower: bool = False,
    noise: float = 2.0,
    is_load: bool = True,
    of: Callable[[float], Estimate] = exactly,
) -> Judged:
    """The values at levels 1, 2, 3 and so on."""
    levels = range(1, len(values) + 1)
    tried = [
        (level, None if value is None else of(value))
        for level, value in zip(levels, values, strict=True)
    ]
    loads: Mapping[Level, float] = {one: float(one) for one in levels} if is_load else NO_LOAD
    return judge(tried, lower_is_better=lower, margin_pct=noise, loads=loads)


def gains(found: Judged) -> list[bool]:
    return [step.gained for step in found.steps]


def outcomes(found: Judged) -> str:
    """One letter for each level: gain, no gain, undecided."""
    letter: Mapping[Outcome, str] = {"gain": "g", "no gain": "n", "undecided": "u"}
    return "".join(letter[step.outcome] for step in found.steps)


def test_a_plateau_gains_no_more() -> None:
    found = judged([100, 200, 300, 301, 299])
    assert outcomes(found) == "gggnn"
    assert found.without_gain == 2
    assert found.last_gain == found.steps[2]
    assert found.best == found.steps[3], "the best value is the best, though it is no gain"


def test_a_level_that_gains_starts_the_count_anew() -> None:
    assert judged([100, 90]).without_gain == 1
    found = judged([100, 90, 110, 105])
    assert outcomes(found) == "gngn"
    assert found.without_gain == 1
    assert found.best == found.steps[2]


def test_a_gain_is_more_than_the_noise_of_the_last_gain() -> None:
    assert gains(judged([200, 204])) == [True, False]
    assert gains(judged([200, 204.01])) == [True, True]


def test_steps_within_the_noise_are_summed() -> None:
    assert outcomes(judged([100, 101, 102, 103, 104.1])) == "guugu"
    creeping = [800 * 1.015**n for n in range(14)]
    for is_load in (True, False):
        found = judged([200, 400, 600, *creeping], is_load=is_load)
        assert outcomes(found) == "gggg" + "ug" * 6 + "u", f"load: {is_load}"


def test_linear_growth_never_ends() -> None:
    for noise in (1.0, 2.0, 5.0):
        for lower in (False, True):
            values = [1200 / n if lower else 10.0 * n for n in range(1, 200)]
            for of in (exactly, single):
                found = judged(values, lower=lower, noise=noise, of=of)
                assert "n" not in outcomes(found), f"noise {noise}, lower is better: {lower}"
                assert found.last_gain is not None
                assert float(found.last_gain.level) > 190 / (1 + noise / 100)


def test_a_dip_counts_and_the_climb_out_of_it_does_not() -> None:
    assert outcomes(judged([100, 200, 300, 400, 250, 330, 700])) == "ggggnug"


def test_what_has_levelled_off_after_a_rise_within_the_noise_is_without_gain() -> None:
    assert outcomes(judged([100, 200, 202, 202, 202, 202])) == "gguunn"


def test_a_rise_too_slow_to_gain_before_the_load_doubles_is_without_gain() -> None:
    assert outcomes(judged([1000, 1000.1])) == "gn"
    assert outcomes(judged([1000, 1015], is_load=False)) == "gu"
    assert outcomes(judged([1000, 1005], is_load=False)) == "gn"


def test_a_factor_that_is_no_load_has_no_proportion() -> None:
    """With a noise of 5 %, 20 to 21 is a linear step of 5 %; flat values fall short of it by no
    more than the noise."""
    levels: list[Level] = [20, 21]
    tried = [(level, exactly(100.0)) for level in levels]
    cases: list[tuple[Mapping[Level, float], str]] = [
        (NO_LOAD, "gn"),
        ({20: 20.0, 21: 21.0}, "gu"),
        ({20: 0.0, 21: 1.0}, "gn"),
    ]
    for loads, outcome in cases:
        found = judge(tried, lower_is_better=False, margin_pct=5.0, loads=loads)
        assert outcomes(found) == outcome


def test_lower_is_better_where_the_metric_says_so() -> None:
    found = judged([50, 40, 39.5, 45], lower=True)
    assert outcomes(found) == "ggun"
    assert found.best == found.steps[2]
    assert [step.threshold for step in found.steps] == [None, 1.0, 0.8, 0.8]


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
        found = judge(tried, lower_is_better=False, margin_pct=None, loads=NO_LOAD)
        assert gains(found) == [True, gained]


def test_where_no_noise_is_known_nothing_is_decided() -> None:
    tried = [(1, single(100.0)), (2, single(500.0))]
    found = judge(tried, lower_is_better=False, margin_pct=None, loads=NO_LOAD)
    assert outcomes(found) == "gu"


def test_single_runs_rise_only_by_more_than_the_noise() -> None:
    assert outcomes(judged([100, 200, 203, 200], of=single)) == "ggnn"
    assert outcomes(judged([100, 200, 190, 200], of=single)) == "ggnu"


def test_a_value_of_zero_is_a_value() -> None:
    assert outcomes(judged([0, 0, 5])) == "gng"


def test_a_level_without_a_value_is_not_the_best_and_does_not_count() -> None:
    found = judged([100, None])
    assert outcomes(found) == "gu"
    assert found.without_gain == 0
    assert found.best == found.steps[0]
    assert judged([None]).best is None


@pytest.mark.parametrize("seed", range(20))
def test_levels_that_follow_change_nothing_of_those_before(seed: int) -> None:
    """Against the rule of gains written out: each level looks back at the last one that gained."""
    chance = random.Random(seed)
    values = [float(chance.randint(90, 130)) for _ in range(12)]
    found = judged(values)
    last = -math.inf
    for index, step in enumerate(found.steps):
        assert step.gained == (values[index] > last * 1.02 or index == 0), f"seed {seed}"
        last = values[index] if step.gained else last
        part = judged(values[: index + 1])
        assert part.steps == found.steps[: index + 1]


# ---- where growth ends, over planted shapes with random noise

SHAPES: Mapping[str, Callable[[int], float]] = {
    "linear": lambda n: 10.0 * n,
    "creep 1.5 %": lambda n: 200.0 * n if n <= 4 else 800 * 1.015 ** (n - 4),
    "creep 1 %": lambda n: 200.0 * n if n <= 4 else 800 * 1.01 ** (n - 4),
    "knee at 6": lambda n: 100.0 * min(n, 6),
    "knee at 30": lambda n: 100.0 * min(n, 30),
    "dip at 5": lambda n: 100.0 * n * (0.7 if n == 5 else 1.0),
    "saturation": lambda n: 1000 * (1 - math.exp(-n / 3)),
    "flat": lambda _: 1000.0,
}
TRIALS = 100


def ends(
    shape: Callable[[int], float], noise: float, sd: float, confirm: int
) -> list[tuple[int, int]]:
    """Where outer loops of 3 replicates and at most 40 levels end: the level, and the last gain;
    loops that do not end are left out. `noise` is the study's and `sd` that of single runs, both in
    percent."""
    every = (_end(shape, noise, sd, confirm, trial) for trial in range(TRIALS))
    return [one for one in every if one is not None]


def _end(
    shape: Callable[[int], float], noise: float, sd: float, confirm: int, trial: int
) -> tuple[int, int] | None:
    chance = np.random.default_rng([2026, trial])
    tried: list[tuple[Level, Estimate | None]] = []
    for level in range(1, 41):
        runs = shape(level) * (1 + sd / 100 * chance.standard_normal(3))
        variance = float(runs.var(ddof=1)) / 3
        tried.append((level, Estimate(float(runs.mean()), variance, 2, 3, "run")))
    loads = {level: float(level) for level, _ in tried}
    without = gained = 0
    for step in judge(tried, lower_is_better=False, margin_pct=noise, loads=loads).steps:
        without = 0 if step.gained else without + (step.outcome == "no gain")
        gained = int(step.level) if step.gained else gained
        if without == confirm:
            return int(step.level), gained
    return None


@pytest.mark.parametrize(
    ("shape", "noise", "sd", "most_pct"),
    [
        ("linear", 1, 0.3, 0),
        ("linear", 2, 1, 0),
        ("linear", 5, 2, 0),
        ("creep 1.5 %", 2, 0.1, 0),
        ("creep 1.5 %", 2, 0.5, 0),
        ("creep 1.5 %", 2, 1, 35),
        ("creep 1 %", 2, 0.1, 0),
        ("creep 1 %", 2, 0.5, 5),
        ("dip at 5", 2, 1, 0),
        ("dip at 5", 5, 2, 0),
    ],
)
def test_growth_that_goes_on_is_not_ended(
    shape: str, noise: float, sd: float, most_pct: float
) -> None:
    found = ends(SHAPES[shape], noise, sd, confirm=2)
    assert 100 * len(found) / TRIALS <= most_pct


@pytest.mark.parametrize(
    ("shape", "noise", "sd", "level", "late", "latest"),
    [
        ("flat", 2, 0.1, 1, 0, 3),
        ("flat", 2, 1, 1, 0, 4),
        ("flat", 5, 2, 1, 0, 4),
        ("knee at 6", 2, 0.5, 6, 0, 9),
        ("knee at 6", 2, 1, 6, 0, 9),
        ("knee at 6", 5, 2, 6, 0, 9),
        ("knee at 30", 2, 0.5, 30, 0, 34),
        ("knee at 30", 5, 2, 30, 2, 37),
    ],
)
def test_growth_that_has_ended_is_found_soon(
    shape: str, noise: float, sd: float, level: int, late: int, latest: int
) -> None:
    """All loops end, nine of ten at `latest`. In nine of ten, the last gain is at most `late`
    levels after the knee (chance picks no level far above it), and a step of the noise before."""
    found = ends(SHAPES[shape], noise, sd, confirm=2)
    assert len(found) == TRIALS
    assert sum(end <= latest for end, _ in found) >= 0.9 * TRIALS
    within = [level / (1 + noise / 100) - 1 <= gained <= level + late for _, gained in found]
    assert sum(within) >= 0.9 * TRIALS


def test_saturation_ends_near_its_limit() -> None:
    """1 - exp(-n/3) misses its limit by 2 % at level 12."""
    for sd, first, latest in ((0.1, 17, 22), (0.5, 13, 19), (1.0, 11, 17)):
        found = ends(SHAPES["saturation"], 2, sd, confirm=2)
        assert len(found) == TRIALS
        assert sum(first <= end <= latest for end, _ in found) >= 0.9 * TRIALS
        assert median(SHAPES["saturation"](gained) for _, gained in found) >= 970
