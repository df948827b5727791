"""MSER-5 rings where a warm-up is left in the measuring phase, and hardly ever elsewhere."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from netstudy.analysis.caveats.warm_up import WarmUp, alarms, mser5, warm_up_of
from netstudy.analysis.workloads.incast import INCAST
from tests.report.synthetic import FakeFolder, from_samples, plan_of, pooled, run


def cell_with(*series: NDArray[np.float64]) -> WarmUp | None:
    """The warm-up found in a cell whose runs took these times, in ms."""
    length = series[0].size
    planned = [run({"servers": 4}, index + 1, iterations=length) for index in range(len(series))]
    zeros = np.zeros(length, dtype=int)
    records = [
        from_samples(one, values, zeros, zeros, zeros)
        for one, values in zip(planned, series, strict=True)
    ]
    plan = plan_of(planned)
    return warm_up_of(pooled(FakeFolder(plan, records)).rows[0], INCAST)


def test_a_step_is_cut_where_it_ends() -> None:
    values = np.concatenate([np.full(40, 10.0), np.tile([1.0, 2.0, 3.0, 2.0, 1.5], 40)])
    assert mser5(values) == 40


def test_nothing_is_cut_from_a_constant_series() -> None:
    assert mser5(np.ones(100)) == 0


def test_equal_iterations_raise_no_alarm_whatever_floating_point_does() -> None:
    found = cell_with(*(np.full(100, 134.2 * (1 + 0.0001 * replicate)) for replicate in range(5)))
    assert found is not None
    assert not found.alarm


def test_a_slow_start_that_all_runs_share_raises_the_alarm() -> None:
    rng = np.random.default_rng(3)
    decay = 40 * np.exp(-np.arange(400) / 15)
    found = cell_with(*(100 + decay + rng.normal(0, 5, 400) for _ in range(5)))
    assert found is not None
    assert found.alarm
    assert found.cut_mean is not None
    assert found.cut_mean > found.kept_mean


def test_runs_too_short_to_tell_raise_nothing() -> None:
    assert cell_with(np.arange(79.0) + 1) is None


def test_stationary_runs_seldom_raise_the_alarm() -> None:
    seed, trials = 20_260_106, 300
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    rings = 0
    for _ in range(trials):
        waits = [50 + rng.gamma(2, 3, 300) + 200 * (rng.random(300) < 0.1) for _ in range(3)]
        found = cell_with(*waits)
        rings += found is not None and found.alarm
    assert rings / trials < 0.02


def test_a_cell_without_runs_is_not_looked_at() -> None:
    plan = plan_of((run({"servers": 4}),))
    assert alarms(pooled(FakeFolder(plan, []))) == ()


def test_a_rest_of_nothing_makes_the_effect_infinite() -> None:
    stalled = WarmUp(10, 50.0, 0.0, alarm=True, length=100, noun="second")
    assert stalled.effect_pct == math.inf
