"""The fit on models whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from netstudy.calibration.least_squares import Floats, fit

X = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
LAST = np.array([False, False, False, False, True])


def test_a_straight_line_is_found_exactly_and_its_interval_is_that_of_regression() -> None:
    wanted = 2.0 + 3.0 * X + np.array([0.1, -0.2, 0.1, 0.1, -0.1])

    def residuals(at: Floats) -> Floats:
        return np.asarray((wanted - (at[0] + at[1] * X)) / 0.1)

    found = fit(residuals, (1.0, 1.0), (0.5, 0.5), rounds=12)
    slope, intercept = np.polyfit(X, wanted, 1)
    assert found.values == pytest.approx((intercept, slope), rel=1e-3)
    # Standard error of a slope: s / sqrt(sum of (x - mean)^2).
    left = wanted - (intercept + slope * X)
    error = float(np.sqrt(left @ left / 3 / np.sum((X - X.mean()) ** 2)))
    assert found.half_widths[1] == pytest.approx(1.96 * error, rel=1e-2)


def test_leaving_a_row_out_is_a_fit_to_the_others() -> None:
    wanted = np.array([1.0, 2.0, 3.0, 4.0, 8.0])

    def residuals(at: Floats) -> Floats:
        return np.asarray(wanted - at[0] * X)

    found = fit(residuals, (1.0,), (0.1,), rounds=8)
    # To the other four the slope is exactly 1.
    assert found.without(LAST) == pytest.approx([3.0], rel=1e-2)


def test_a_row_that_agrees_is_missed_by_no_more_without_it_where_a_fit_has_not_ended() -> None:
    def residuals(at: Floats) -> Floats:
        return np.asarray(X - at[0] * X)

    early = fit(residuals, (0.5,), (0.1,), rounds=1)
    assert early.without(LAST) == pytest.approx([2.5], rel=1e-2)


def test_what_rows_share_is_found_without_the_row_too() -> None:
    wanted = np.array([1.0, 2.0, 3.0, 4.0, 6.0])

    def residuals(at: Floats) -> Floats:
        line = at[0] * X
        return np.asarray(wanted - line - np.mean(wanted - line))

    found = fit(residuals, (0.5,), (0.1,), rounds=8)
    # To the other four the line is exactly X, with no height of its own.
    assert found.without(LAST, -np.ones((5, 1))) == pytest.approx([1.0], rel=1e-2)
    assert found.without(LAST)[0] < 0.8


def test_no_parameter_falls_below_zero() -> None:
    def residuals(at: Floats) -> Floats:
        return np.array([-1.0 - at[0], -1.0 - at[0]])

    assert fit(residuals, (1.0,), (0.5,), rounds=6).values == pytest.approx([0.0])


def test_a_start_that_is_far_away_is_left_with_growing_steps() -> None:
    def residuals(at: Floats) -> Floats:
        return np.asarray(1000.0 - at[0] * X)

    asked: list[float] = []

    def counted(at: Floats) -> Floats:
        asked.append(float(at[0]))
        return residuals(at)

    assert fit(counted, (0.0,), (0.1,), rounds=12).values == pytest.approx([272.7], rel=1e-3)
    assert len(set(asked)) < 24
