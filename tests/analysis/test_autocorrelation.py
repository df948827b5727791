"""Replicates that depend on the replicates before them are noticed by their order."""

from __future__ import annotations

import numpy as np
import pytest

from netstudy.analysis.autocorrelation import autocorrelation
from netstudy.analysis.samples import Floats
from tools.error_rates import CONDITIONS, METRIC, cells, column

STUDIES = 100


def share_noticed(condition: str, replicates: int) -> float:
    """The share of studies with planted values of which the dependence is noticed."""
    values = CONDITIONS[condition]
    noticed = 0
    for number in range(STUDIES):
        rng = np.random.default_rng([20_261_129, number])
        table = cells(values(rng, replicates))
        noticed += autocorrelation(table.rows, [column(table, METRIC)]) is not None
    return noticed / STUDIES


def test_autocorrelated_runs_are_noticed() -> None:
    assert share_noticed("autocorrelated", 10) > 0.9


@pytest.mark.parametrize("condition", ["normal", "drift", "bimodal", "outliers", "unequal spread"])
def test_independent_runs_are_not_called_dependent_more_often_than_the_level(
    condition: str,
) -> None:
    """Drift that all cells share cancels in every comparison, so it is no dependence."""
    assert share_noticed(condition, 10) <= 0.12, "5 % of 100, and chance"


def trend(order: list[int]) -> Floats:
    """Two cells whose difference grows from replicate to replicate, in some order of replicates."""
    steps = np.array(order, dtype=float)
    return np.array([[100 + steps, 100 - steps]])


def test_it_is_the_order_that_counts() -> None:
    found = [
        autocorrelation(table.rows, [column(table, METRIC)])
        for order in ([0, 1, 2, 3, 4, 5], [0, 5, 1, 4, 2, 3])
        for table in [cells(trend(order))]
    ]
    assert found[0] is not None
    assert (found[0].replicates, found[1]) == (6, None)


def test_four_replicates_have_too_few_orders() -> None:
    table = cells(trend([0, 1, 2, 3]))
    assert autocorrelation(table.rows, [column(table, METRIC)]) is None
