"""Published beside simulated: errors, their median, ranks, and the ratio at the largest x."""

from __future__ import annotations

import pytest

from netstudy.analysis.agreement import (
    Agreement,
    Beside,
    agreement,
    order_agreement,
    ratio_agreement,
)
from netstudy.analysis.intervals import Estimate
from netstudy.analysis.workloads.incast import COMPLETION, DROPS


def beside(*pairs: tuple[float | None, float | None], level: str = "a") -> Agreement:
    rows = [Beside(x, published, exactly(value)) for x, (published, value) in enumerate(pairs)]
    return agreement(COMPLETION, level, rows)


def exactly(value: float | None) -> Estimate | None:
    """A value that nothing was repeated for."""
    return None if value is None else Estimate(value, None, 0, 1, "none")


def test_errors_worked_by_hand() -> None:
    found = beside((100, 110), (200, 190), (50, 60), (10, 10))
    assert [row.error for row in found.rows] == [10, -10, 10, 0]
    assert [row.error_pct for row in found.rows] == [10, -5, 20, 0]
    assert found.median_abs_pct == pytest.approx(7.5)
    assert found.worst is not None
    assert found.worst.x == 2
    assert found.ranks.rho == pytest.approx(1)


def test_a_published_zero_has_an_error_and_no_percentage() -> None:
    found = agreement(DROPS, "a", [Beside(1, 0.0, exactly(3.0)), Beside(2, 10.0, exactly(15.0))])
    assert found.rows[0].error == 3
    assert found.rows[0].error_pct is None
    assert found.median_abs_pct == 50
    assert (found.compared, [row.x for row in found.off_zero]) == (1, [1])


def test_nothing_to_compare_is_missing_and_not_a_perfect_score() -> None:
    found = beside((None, 5), (5, None))
    assert (found.compared, found.median_abs_pct, found.worst) == (0, None, None)
    assert beside().median_abs_pct is None
    assert agreement(DROPS, "a", [Beside(1, 0.0, exactly(0.0))]).median_abs_pct is None


def test_the_ratio_is_taken_at_the_largest_x_that_has_all_four_values() -> None:
    a = beside((10, 12), (379.1, 400.0), (500, None), level="a")
    b = beside((10, 10), (140.5, 160.0), (200, 210), level="b")
    found = ratio_agreement(a, b)
    assert found is not None
    assert found.x == 1
    assert found.published == pytest.approx(379.1 / 140.5)
    assert found.own == pytest.approx(2.5)


def test_no_ratio_without_a_shared_row() -> None:
    assert ratio_agreement(beside((1, None)), beside((1, 1), level="b")) is None


def test_the_order_of_two_levels_is_compared_where_both_differ_clearly() -> None:
    # a against b, published and simulated: the same, turned round, turned round, too close, missing
    a = beside((10, 12), (10, 9), (10, 9), (100, 12), (1, None), level="a")
    b = beside((20, 30), (20, 6), (20, 6), (101, 30), (2, 2), level="b")
    found = order_agreement(a, b, margin_pct=2.0)
    assert found is not None
    assert (found.compared, found.same, found.contradicted) == (3, 1, True)
    assert found.reversed_at == {"a": (1, 2)}  # a has the shorter published times there
    assert order_agreement(beside((1, 1)), beside((1, 1), level="b"), margin_pct=2.0) is None


def test_an_order_that_the_runs_leave_open_is_not_compared() -> None:
    """The second row: 9 and 6, each with a variance of the mean of 4, two runs of each."""

    def of(level: str, *values: float) -> Agreement:
        rows = [Beside(1, values[0], exactly(values[1]))]
        rows.append(Beside(2, values[2], Estimate(values[3], 4.0, 1, 2, "run")))
        return agreement(DROPS, level, rows)

    found = order_agreement(of("a", 10, 12, 10, 9), of("b", 20, 30, 20, 6), margin_pct=2.0)
    assert found is not None
    assert (found.compared, found.same) == (1, 1)


def test_a_base_of_percentages_has_no_error_by_the_last_digit_of_a_float() -> None:
    assert Beside(1, 100.0, exactly(100.0 + 2e-14)).error_pct == 0.0
    assert Beside(1, 100.0, exactly(100.0 + 1e-9)).error_pct != 0.0
