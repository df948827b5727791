"""Runs drawn anew: how far a figure made of many cells would move with other runs."""

from __future__ import annotations

import numpy as np
import pytest

from netstudy.analysis.agreement import Beside, agreement
from netstudy.analysis.bootstrap import RESAMPLES, bootstrap_interval, resampled
from netstudy.analysis.cells import CellRow
from netstudy.analysis.rank import rho
from netstudy.analysis.samples import Floats
from netstudy.analysis.workloads.incast import COMPLETION, COMPLETION_P99, DROPS, GOODPUT
from tests.report.synthetic import folder, incast_plan, pooled


def cells(replicates: int, servers: tuple[int, ...] = (4,)) -> tuple[CellRow, ...]:
    return pooled(folder(incast_plan(servers, replicates=replicates, iterations=40))).rows


def drawn(cell: CellRow) -> Floats:
    values = resampled(cell, COMPLETION)
    assert values is not None
    return values


def test_redrawn_values_spread_as_the_standard_error_says() -> None:
    (cell, *_) = cells(replicates=5)
    estimate = cell.estimate(COMPLETION)
    assert estimate is not None
    assert estimate.variance is not None
    values = drawn(cell)
    assert values.size == RESAMPLES
    # The oracle is the textbook's: the standard error of a mean of five, s / √5.
    assert values.std() == pytest.approx(np.sqrt(estimate.variance), rel=0.05)
    assert values.mean() == pytest.approx(estimate.value, abs=0.1 * values.std())


def test_the_same_records_are_redrawn_alike_and_cells_apart() -> None:
    first, second = cells(replicates=5)
    assert np.array_equal(drawn(first), drawn(cells(replicates=5)[0]))
    together = rho(drawn(first), drawn(second))
    assert together is not None
    assert abs(together) < 0.1


def test_metrics_of_a_cell_meet_the_same_draws() -> None:
    (cell, *_) = cells(replicates=5)
    goodput = resampled(cell, GOODPUT)
    assert goodput is not None
    assert rho(drawn(cell), goodput) == pytest.approx(-1.0, abs=0.01)


def test_one_run_and_a_percentile_cannot_be_redrawn() -> None:
    assert resampled(cells(replicates=1)[0], COMPLETION) is None
    assert resampled(cells(replicates=5)[0], COMPLETION_P99) is None


def test_an_interval_of_values_around_their_own_middle_is_the_percentiles() -> None:
    redrawn = np.linspace(0.0, 2.0, 2001)
    found = bootstrap_interval(1.0, redrawn)
    assert (found.low, found.high) == pytest.approx((0.05, 1.95), abs=1e-3)


def test_an_interval_holds_a_value_below_all_that_is_redrawn() -> None:
    found = bootstrap_interval(1.0, np.linspace(2.0, 3.0, 2001))
    assert found.holds(1.0)
    assert (found.low, found.high) == pytest.approx((-0.975, 2.975), abs=1e-3)


def test_the_median_error_has_an_interval_where_every_cell_was_repeated() -> None:
    table = [cell for cell in cells(5, (2, 3, 4, 5)) if cell.treatment["switch"] == "nexus-5010"]
    rows = [
        Beside(n, 1.1 * (cell.value(DROPS) or 0), cell.estimate(DROPS), resampled(cell, DROPS))
        for n, cell in enumerate(table)
    ]
    found = agreement(DROPS, "nexus-5010", rows)
    assert found.median_abs_pct == pytest.approx(100 / 11)
    assert found.median_abs_pct_interval is not None
    assert found.median_abs_pct_interval.holds(100 / 11)
    once = Beside(9, 10.0, table[0].estimate(DROPS), None)
    assert agreement(DROPS, "nexus-5010", [*rows, once]).median_abs_pct_interval is None
