"""Percentiles and shares of cells: their intervals, and verdicts on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from netstudy.analysis.cells import CellRow
from netstudy.analysis.intervals import Estimate, student_interval
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.order_statistics import wilson
from netstudy.analysis.verdict import Comparison, Pair, verdict_table
from netstudy.analysis.workloads.incast import INCAST
from netstudy.study.vocabulary import split_metric
from tests.report.synthetic import FakeFolder, from_samples, plan_of, pooled, run

VOCABULARY = (*INCAST.metrics, *INCAST.further)


def metric(name: str) -> Metric:
    found = metric_named(split_metric(name), VOCABULARY)
    assert found is not None
    return found


def cell(runs: Sequence[Sequence[float]], switch: str = "arista-7124s") -> CellRow:
    """A cell of these completion times in ms, a run a list."""
    planned = [
        run({"switch": switch}, n, iterations=len(times)) for n, times in enumerate(runs, start=1)
    ]
    zeros = [[0] * len(times) for times in runs]
    records = [
        from_samples(one, times, none, none, none)
        for one, times, none in zip(planned, runs, zeros, strict=True)
    ]
    return pooled(FakeFolder(plan_of(planned), records)).rows[0]


def estimate(runs: Sequence[Sequence[float]], name: str) -> Estimate:
    found = cell(runs).estimate(metric(name))
    assert found is not None
    return found


def test_a_percentile_of_runs_that_agree_has_the_interval_of_its_samples() -> None:
    """Five runs of the same 1 … 200: no variance between them. Of 1,000 samples, ranks 10 of the
    median are about 469 and 532, which is 94 to 107."""
    found = estimate([list(range(1, 201))] * 5, "completion_ms_p50")
    assert (found.value, found.variance, found.unit) == (100.5, 0, "run")
    assert found.from_samples
    assert found.interval is not None
    assert [found.interval.low, found.interval.high] == pytest.approx([94, 107])


def test_a_percentile_of_runs_that_differ_has_the_interval_of_the_runs() -> None:
    runs = [list(np.arange(1.0, 201.0) + shift) for shift in (0, 50, 100, 150, 200)]
    found = estimate(runs, "completion_ms_p50")
    medians = [100.5, 150.5, 200.5, 250.5, 300.5]
    student = student_interval(found.value, float(np.var(medians, ddof=1)) / 5, 4)
    assert found.interval == student
    assert not found.from_samples


def test_a_percentile_of_one_run_has_the_interval_of_its_samples_and_decides_nothing() -> None:
    found = estimate([list(range(1, 1001))], "completion_ms_p99")
    assert (found.unit, found.variance) == ("sample", None)
    assert found.interval is not None
    assert 980 < found.interval.low < found.value < found.interval.high <= 1000


@pytest.mark.parametrize(("name", "needed"), [("p50", 6), ("p90", 29), ("p95", 59), ("p99", 299)])
def test_a_percentile_that_the_samples_do_not_carry_is_missing_with_its_number(
    name: str, needed: int
) -> None:
    asked = metric(f"completion_ms_{name}")
    few, enough = cell([[1.0] * (needed - 1)]), cell([[1.0] * needed])
    assert few.value(asked) is None
    lacking = few.lacking(asked)
    assert lacking is not None
    assert (lacking.samples, lacking.needed, lacking.noun) == (needed - 1, needed, "iteration")
    assert enough.value(asked) == 1


def test_a_share_above_a_limit_counts_samples_that_are_longer_and_not_equal() -> None:
    share = metric("completion_ms_above_150ms_pct")
    assert cell([[149.0, 150.0, 150.1, 300.0]]).value(share) == 50
    assert cell([[1.5, 1.6]]).value(metric("completion_ms_above_1500us_pct")) == 50
    assert (share.label, share.unit) == ("share of iterations above 150 ms", "%")
    assert share.direction == "lower"


def test_a_share_that_no_sample_has_still_has_an_interval() -> None:
    found = estimate([[1.0] * 100] * 5, "completion_ms_above_150ms_pct")
    counted = wilson(0.0, 500)
    assert counted is not None
    assert found.interval is not None
    assert [found.interval.low, found.interval.high] == pytest.approx([0, 100 * counted.high])


def test_a_share_that_runs_differ_in_has_their_interval_cut_at_0_and_100() -> None:
    runs = [[200.0] * k + [1.0] * (100 - k) for k in (0, 0, 0, 0, 90)]
    found = estimate(runs, "completion_ms_above_150ms_pct")
    assert found.value == 18
    assert found.interval is not None
    # s = 40.25, t(.975, 4) = 2.776: 18 ± 50 is cut at 0
    assert [found.interval.low, found.interval.high] == pytest.approx([0, 67.97], abs=0.1)


def judged(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]], name: str) -> Comparison:
    (row,) = verdict_table(
        [Pair(None, cell(a), cell(b, "nexus-5010"))],
        metric=metric(name),
        factor="switch",
        level="arista-7124s",
        base="nexus-5010",
        x=None,
        margin_pct=2.0,
    ).rows
    return row


def late(shares: Sequence[int]) -> list[list[float]]:
    return [[200.0] * k + [10.0] * (200 - k) for k in shares]


def test_a_planted_difference_of_shares_is_found_in_percentage_points() -> None:
    # 76 of 200 are 38 %, 24 are 12 %; both spread by a little
    row = judged(
        late([76, 74, 78, 75, 77]), late([24, 22, 26, 23, 25]), "completion_ms_above_150ms_pct"
    )
    assert (row.outcome, row.winner) == ("different", "nexus-5010")
    assert row.difference == pytest.approx(26)
    assert row.difference_interval is not None
    assert row.difference_interval.holds(26)
    assert not row.difference_interval.holds(24)


def test_a_share_of_nothing_against_some_is_told_in_points_though_no_ratio_exists() -> None:
    row = judged(late([30, 31, 29, 30, 30]), late([0] * 5), "completion_ms_above_150ms_pct")
    assert (row.outcome, row.winner, row.ratio) == ("different", "nexus-5010", None)
    assert row.difference == pytest.approx(15)
    assert row.difference_interval is not None


def test_a_planted_difference_of_99th_percentiles_is_found_where_medians_are_the_same() -> None:
    calm = [[10.0 + n / 10 + k / 1000 for k in range(200)] for n in range(5)]
    tail = [[*times[:-6], *[60.0 + n for n in range(6)]] for times in calm]
    row = judged(tail, calm, "completion_ms_p99")
    assert (row.outcome, row.winner) == ("different", "nexus-5010")
    assert judged(tail, calm, "completion_ms_p50").outcome != "different"


def test_a_percentile_that_cells_do_not_carry_has_no_verdict_and_says_how_many_it_needs() -> None:
    row = judged([[1.0] * 10] * 5, [[2.0] * 10] * 5, "completion_ms_p99")
    assert row.outcome == "missing"
    assert row.lacking is not None
    assert (row.lacking.samples, row.lacking.needed) == (50, 299)


def test_a_percentile_that_single_runs_do_not_show_is_undecided_for_that_reason() -> None:
    row = judged([[1.0] * 80] * 5, [[2.0] * 80] * 5, "completion_ms_p99")
    assert (row.outcome, row.too_few_samples, row.more_runs) == ("undecided", True, None)
