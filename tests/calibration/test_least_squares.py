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


def test_a_parameter_that_changes_nothing_has_no_interval_and_the_others_keep_theirs() -> None:
    def line(at: Floats) -> Floats:
        return np.asarray((X - at[0] * X) / 0.1)

    alone = fit(line, (1.0,), (0.1,), rounds=2)
    with_another = fit(lambda at: line(at[1:]), (5.0, 1.0), (0.1, 0.1), rounds=2)
    assert with_another.undetermined == ((0,),)
    assert with_another.values[0] == 5.0
    assert with_another.half_widths == pytest.approx([np.inf, alone.half_widths[0]])


def test_parameters_of_which_only_the_sum_is_seen_have_no_interval() -> None:
    def residuals(at: Floats) -> Floats:
        return np.asarray((4.0 - at[0] - at[2] + (2.0 - at[1]) * X) / 0.1)

    found = fit(residuals, (1.0, 1.0, 1.0), (0.1, 0.1, 0.1), rounds=8)
    assert found.values[0] + found.values[2] == pytest.approx(4.0, rel=1e-2)
    assert found.undetermined == ((0, 2),)
    assert found.half_widths[[0, 2]] == pytest.approx([np.inf, np.inf])
    # The standard error of a slope: tolerance / sqrt(sum of (x - mean)^2).
    assert found.half_widths[1] == pytest.approx(1.96 * 0.1 / np.sqrt(10), rel=1e-2)


def test_parameters_that_are_hardly_told_apart_have_wide_intervals() -> None:
    other = X + np.array([0.2, -0.2, 0.2, -0.2, 0.0])

    def residuals(at: Floats) -> Floats:
        return np.asarray(((1.0 - at[0]) * X + (1.0 - at[1]) * other) / 0.1)

    found = fit(residuals, (1.0, 1.0), (0.1, 0.1), rounds=2)
    assert found.undetermined == ()
    # Alone it would be 1.96 * 0.1 / sqrt(55), or 0.03.
    assert min(found.half_widths) > 0.3


def test_where_no_parameter_changes_anything_none_has_an_interval() -> None:
    found = fit(lambda _: X, (1.0, 2.0), (0.1, 0.1), rounds=2)
    assert found.undetermined == ((0,), (1,))
    assert list(found.half_widths) == [np.inf, np.inf]
    assert fit(lambda _: X, (), (), rounds=1).undetermined == ()
