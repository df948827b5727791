"""The causal chain: found where it was put in, not found where it was left out."""

from __future__ import annotations

import numpy as np
import pytest

from netstudy.analysis.causes import Causes, causes, sign_test
from netstudy.analysis.layout import layout
from netstudy.analysis.workloads.incast import INCAST
from netstudy.wire import Run, RunRecord
from tests.report.synthetic import FakeFolder, folder, from_samples, incast_plan, pooled


def evidence(made: FakeFolder) -> Causes:
    table = pooled(made)
    return causes(layout(table, "main", "switch").panels[0], "nexus-5010", INCAST)


def unrelated(planned: Run) -> RunRecord:
    """Drops that nobody answers and timeouts that cost nothing."""
    rng = np.random.default_rng(int(planned.seed, 16))
    n = planned.count("measure")
    times = rng.normal(100, 5, n)
    drops, again, late = (rng.poisson(5, n) for _ in range(3))
    return from_samples(planned, times, drops, again, late)


def test_the_chain_is_found_between_iterations_where_it_was_put_in() -> None:
    found = evidence(folder(incast_plan(range(1, 9))))
    by_name = {
        (link.cause.name, link.effect.name): link
        for link in found.links
        if link.scope == "inside cells"
    }
    assert by_name["drops_per_iteration", "retransmissions_per_iteration"].holds
    assert by_name["timeouts_per_iteration", "completion_ms_mean"].holds
    assert not by_name["drops_per_iteration", "timeouts_per_iteration"].holds


def test_no_link_holds_among_unrelated_numbers() -> None:
    plan = incast_plan(range(1, 13), replicates=2)
    found = evidence(folder(plan, {one.id: unrelated for one in plan.runs}))
    assert found.testable()
    assert not any(link.holds for link in found.links)


def test_a_timeout_costs_the_minimum_rto_that_was_put_in() -> None:
    found = evidence(folder(incast_plan(range(2, 9))))
    assert found.min_rto_ms == 200
    assert found.timeout_cost_ms == pytest.approx(200, abs=3)
    assert found.retransmissions_per_drop == 1


def test_a_single_server_drops_nothing_and_tests_nothing() -> None:
    found = evidence(folder(incast_plan([1])))
    assert found.testable() == ()
    assert found.timeout_cost_ms is None
    assert found.retransmissions_per_drop is None


def test_the_sign_test_worked_by_hand() -> None:
    # six of six heads: 2 / 2^6
    assert sign_test([1.0, 2.0, 3.0, 0.5, 0.1, 7.0]) == pytest.approx(2 / 64)
    assert sign_test([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) == 1


def test_five_signs_are_not_tested_since_they_can_never_be_significant() -> None:
    assert sign_test([1.0, 2.0, 3.0, 0.5, 0.1]) is None
    assert sign_test([1.0, 2.0, 3.0, 0.5, 0.1, 0.0]) is None  # 0 has no sign
