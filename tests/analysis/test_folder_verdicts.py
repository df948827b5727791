"""Verdicts on two folders: BASE against NEW, with scipy's tests as the oracle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pytest
from scipy import stats

from netstudy.analysis.cells import CellTable
from netstudy.analysis.comparison import comparison
from netstudy.analysis.folder_verdicts import (
    FolderVerdicts,
    NoiseBand,
    asked_metrics,
    folder_verdicts,
)
from netstudy.analysis.metrics import Metric
from netstudy.analysis.workloads.incast import COMPLETION, DROPS, GOODPUT
from netstudy.errors import StudyError
from netstudy.study.agreement import Bands
from netstudy.wire import RunRecord
from tests.report.synthetic import FakeFolder, failed, from_samples, plan_of, pooled, run

SERVERS = (1, 2, 4, 8, 12, 16)
Means = Mapping[int, Sequence[float]]
"""Servers -> the mean completion time of each run, in ms."""


def folder(cells: Means, *, without: Iterable[int] = (), drops: Sequence[int] = (4,)) -> CellTable:
    """A folder whose runs have these means. In the cells `without`, all runs failed."""
    planned, records = [], []
    for servers, means in cells.items():
        for replicate, mean in enumerate(means):
            one = run({"servers": servers}, replicate + 1, iterations=2, servers=1)
            dropped = [drops[replicate % len(drops)]] * 2
            planned.append(one)
            made: RunRecord = from_samples(one, [mean, mean], dropped, dropped, [0, 0])
            records.append(failed(one) if servers in without else made)
    return pooled(FakeFolder(plan_of(planned), records))


def verdicts(
    base: CellTable,
    new: CellTable,
    noise_pct: float | None = None,
    on: Sequence[Metric] = (COMPLETION,),
) -> FolderVerdicts:
    band = None if noise_pct is None else NoiseBand(noise_pct, "BASE")
    return folder_verdicts(base, new, comparison(base, new, Bands({})), on, band)


def outcomes(found: FolderVerdicts) -> dict[object, str]:
    return {one.treatment["servers"]: one.outcome for one in found.verdicts}


def drawn(
    rng: np.random.Generator,
    *,
    slower_pct: float = 0.0,
    slower_at: Iterable[int] = (),
    replicates: int = 5,
    spread_pct: float = 1.0,
) -> Means:
    """Runs whose means scatter by `spread_pct` (one standard deviation); slower in some cells."""
    found = {}
    for servers in SERVERS:
        mean = 10.0 * servers * (1 + slower_pct / 100 * (servers in slower_at))
        found[servers] = rng.normal(mean, mean * spread_pct / 100, replicates).tolist()
    return found


def test_p_values_are_those_of_welch_after_holm() -> None:
    rng = np.random.default_rng(7)
    base, new = drawn(rng), drawn(rng, slower_pct=2, slower_at=(2, 8))
    found = verdicts(folder(base), folder(new))
    raw = {n: stats.ttest_ind(new[n], base[n], equal_var=False).pvalue for n in SERVERS}
    worst, adjusted = 0.0, {}
    for rank, n in enumerate(sorted(raw, key=lambda one: raw[one])):
        worst = max(worst, min(1.0, raw[n] * (len(raw) - rank)))
        adjusted[n] = worst
    for one in found.verdicts:
        assert one.compared.p_different == pytest.approx(
            adjusted[int(one.treatment["servers"])], rel=1e-4
        )
        assert (one.outcome == "different") == (adjusted[int(one.treatment["servers"])] < 0.05)


def test_within_the_noise_both_one_sided_tests_decide() -> None:
    rng = np.random.default_rng(3)
    base, new = drawn(rng, replicates=8), drawn(rng, replicates=8)
    (one,) = verdicts(folder({4: base[4]}), folder({4: new[4]}), 3.0).verdicts
    # The two one-sided tests of a - 1.03 b and a - 0.97 b, by scipy
    below = stats.ttest_ind(
        new[4], [1.03 * b for b in base[4]], equal_var=False, alternative="less"
    ).pvalue
    above = stats.ttest_ind(
        new[4], [0.97 * b for b in base[4]], equal_var=False, alternative="greater"
    ).pvalue
    assert one.compared.p_same == pytest.approx(max(below, above), rel=0.05)
    assert one.outcome == "same"


def test_planted_differences_are_found_where_they_are_and_nowhere_else() -> None:
    """5 % at a run-to-run spread of 1 % and a noise band of 1 %."""
    slower_at = (2, 12)
    missed = wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        base, new = drawn(rng), drawn(rng, slower_pct=5, slower_at=slower_at)
        found = verdicts(folder(base), folder(new), 1.0)
        different = {one.treatment["servers"] for one in found.verdicts if one.is_worse}
        missed += len(set(slower_at) - different)
        wrong += len(different - set(slower_at))
        assert not any(one.is_better for one in found.verdicts)
    assert missed <= 4  # of 80
    assert wrong <= 2


@pytest.mark.parametrize("noise_pct", [None, 1.0])
def test_two_folders_of_the_same_are_rarely_called_different(noise_pct: float | None) -> None:
    """Twelve verdicts in each of 40 comparisons; at most 5 comparisons may find any difference."""
    false = 0
    for seed in range(40):
        rng = np.random.default_rng(1000 + seed)
        base, new = (folder(drawn(rng), drops=rng.poisson(40, 5).tolist()) for _ in range(2))
        found = verdicts(base, new, noise_pct, (COMPLETION, DROPS))
        assert len(found.verdicts) == 2 * len(SERVERS)
        false += bool(found.with_outcome("different"))
    assert false <= 5


def test_a_higher_goodput_is_better_and_a_longer_time_is_worse() -> None:
    base, new = {4: [10.0, 10.1, 9.9]}, {4: [20.0, 20.1, 19.9]}
    longer, lower = verdicts(folder(base), folder(new), 2.0, (COMPLETION, GOODPUT)).verdicts
    assert (longer.is_worse, lower.is_worse) == (True, True)
    shorter, higher = verdicts(folder(new), folder(base), 2.0, (COMPLETION, GOODPUT)).verdicts
    assert (shorter.is_better, higher.is_better) == (True, True)


class TestWithoutData:
    """A lack of data is never called the same."""

    def test_single_runs_are_undecided_even_if_they_are_equal(self) -> None:
        one = folder({4: [10.0], 8: [20.0]})
        assert outcomes(verdicts(one, one, 50.0)) == {4: "undecided", 8: "undecided"}

    def test_a_single_run_on_one_side_is_undecided(self) -> None:
        found = verdicts(folder({4: [10.0, 10.0, 10.0]}), folder({4: [10.0]}), 50.0)
        assert outcomes(found) == {4: "undecided"}

    def test_a_cell_of_only_one_folder_is_missing(self) -> None:
        base, new = {2: [10.0] * 3, 4: [10.0] * 3}, {4: [10.0] * 3, 8: [10.0] * 3}
        found = verdicts(folder(base), folder(new), 2.0)
        assert outcomes(found) == {4: "same", 2: "missing", 8: "missing"}
        assert [(one.base is None, one.new is None) for one in found.verdicts] == [
            (False, False),
            (False, True),
            (True, False),
        ]

    def test_a_cell_without_a_valid_run_is_missing(self) -> None:
        cells = {2: [10.0] * 3, 4: [10.0] * 3}
        found = verdicts(folder(cells), folder(cells, without=[2]), 2.0)
        assert outcomes(found) == {2: "missing", 4: "same"}


def test_a_metric_is_asked_for_by_its_name_or_the_name_of_its_figure() -> None:
    table = folder({4: [10.0, 11.0]})
    assert asked_metrics(["completion", "goodput_mbps"], [table, table]) == (COMPLETION, GOODPUT)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["godput"], '--on: "godput" is an unknown metric'),
        (["etr"], "--on: neither folder gives etr; they give completion_ms_mean, "),
        (["completion_ms_p99"], "--on: no cell of either folder has a value of completion_ms_p99"),
        (["completion", "completion_ms"], "--on: completion_ms is given twice"),
    ],
)
def test_an_unknown_metric_is_refused_by_name(names: list[str], said: str) -> None:
    table = folder({4: [10.0, 11.0]})
    with pytest.raises(StudyError, match=said):
        asked_metrics(names, [table, table])
