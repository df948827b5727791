"""The index of fairness: worked by hand, one value a run, missing where nothing was counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netstudy.analysis.cells import CellRow
from netstudy.analysis.intervals import student_quantile
from netstudy.analysis.samples import jain_index
from netstudy.analysis.workloads.incast import FAIRNESS
from netstudy.wire import ConnectionSamples
from tests.report.synthetic import FakeFolder, from_samples, plan_of, pooled, run


def cell_of(*runs: tuple[list[int], list[int]] | None) -> CellRow:
    """One cell whose runs have connections with these bytes and times; None: none were counted."""
    planned = [run({"servers": 3}, replicate + 1, iterations=2) for replicate in range(len(runs))]
    records = []
    for one, counted in zip(planned, runs, strict=True):
        made = from_samples(one, [1.0, 2.0], [0, 0], [0, 0], [0, 0])
        connections = None
        if counted is not None:
            zeros = (0,) * len(counted[0])
            connections = ConnectionSamples(
                client=("client",) * len(zeros),
                server=one.workload.roles.server,
                bytes_received=tuple(counted[0]),
                bytes_sent=zeros,
                busy_ns=tuple(counted[1]),
                retransmissions=zeros,
                timeouts=zeros,
            )
        samples = made.samples.model_copy(update={"connection": connections})
        records.append(made.model_copy(update={"samples": samples}))
    plan = plan_of(planned)
    return pooled(FakeFolder(plan, records)).rows[0]


def test_the_index_worked_by_hand() -> None:
    assert jain_index(np.array([2.0, 2.0, 2.0, 2.0])) == 1
    assert jain_index(np.array([5.0, 0.0, 0.0, 0.0])) == 0.25
    # (1 + 2 + 3)² ÷ (3 × (1 + 4 + 9))
    assert jain_index(np.array([1.0, 2.0, 3.0])) == pytest.approx(6 / 7)
    assert jain_index(np.array([0.0, 0.0])) is None


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=20), st.floats(0.01, 100))
def test_the_index_has_its_bounds_and_no_scale(shares: list[float], scale: float) -> None:
    index = jain_index(np.array(shares))
    assert index is not None
    assert 1 / len(shares) - 1e-12 <= index <= 1 + 1e-12
    assert jain_index(np.array(shares) * scale) == pytest.approx(index)


def test_goodputs_are_compared_not_bytes() -> None:
    # 6, 3 and 2 bytes in 6, 3 and 2 ns
    assert cell_of(([6, 3, 2], [6, 3, 2])).value(FAIRNESS) == 1
    # The same bytes in 6, 3 and 2 ns: goodputs as 1, 2, 3
    assert cell_of(([6, 6, 6], [6, 3, 2])).value(FAIRNESS) == pytest.approx(6 / 7)


def test_a_cell_has_the_mean_of_its_runs_and_an_interval_from_their_spread() -> None:
    equal, as_1_2_3 = ([1, 1, 1], [1, 1, 1]), ([1, 2, 3], [1, 1, 1])
    estimate = cell_of(equal, as_1_2_3).estimate(FAIRNESS)
    assert estimate is not None
    assert estimate.value == pytest.approx(13 / 14)
    assert estimate.unit == "run"
    assert estimate.interval is not None
    # Two values 1/7 apart: their mean's standard error is 1/14, with one degree of freedom
    assert estimate.value - estimate.interval.low == pytest.approx(student_quantile(0.975, 1) / 14)
    assert estimate.interval.high == 1, "the index is never above"


def test_one_run_has_a_value_and_no_interval() -> None:
    estimate = cell_of(([1, 2, 3], [1, 1, 1])).estimate(FAIRNESS)
    assert estimate is not None
    assert estimate.interval is None


def test_what_was_not_counted_is_missing() -> None:
    assert cell_of(None).value(FAIRNESS) is None
    assert cell_of(([1, 1, 0], [1, 1, 0])).value(FAIRNESS) is None
