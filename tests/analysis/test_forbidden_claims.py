"""What a caveat forbids to claim: each kind with a claim beside it that stays allowed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from netstudy.analysis.caveats import forbidding, in_answer
from netstudy.analysis.caveats.assumed_costs import AssumedCosts
from netstudy.analysis.caveats.failed_runs import EmptyCells
from netstudy.analysis.caveats.few_runs import FewRuns
from netstudy.analysis.caveats.few_samples import FewSamples
from netstudy.analysis.caveats.never_filled import CannotFill, Depth, NeverFilled
from netstudy.analysis.caveats.never_triggered import NoLoss, NoSignal, NoTimeout
from netstudy.analysis.caveats.not_measured import NotMeasured
from netstudy.analysis.caveats.pause import NoPause
from netstudy.analysis.caveats.same_levels import SameLevels, SameProgram, SameProgramDiffers
from netstudy.analysis.caveats.short_phase import UnsettledMean
from netstudy.analysis.caveats.unanswered import Unanswered
from netstudy.analysis.caveats.warm_up import OnlyAtFirst, ShortWarmUp
from netstudy.analysis.cells import CellTable
from netstudy.analysis.claims import Claim
from netstudy.analysis.order_statistics import Lacking
from netstudy.analysis.stationarity import Unsettled, UnsettledMetric
from netstudy.analysis.study_result import analyse
from netstudy.analysis.workloads.incast import INCAST
from netstudy.analysis.workloads.request import REQUESTS
from netstudy.wire import Level, Run, RunRecord
from tests.analysis.counted import counting, quiet
from tests.analysis.test_caveats import text_of
from tests.report.results import from_text
from tests.report.synthetic import FakeFolder, from_samples, plan_of, pooled, run

GOODPUT, COMPLETION = INCAST.throughput, INCAST.compared_on[0]
LEVELS = (2, 4, 8)


def table(runs: int, *, without: int | None = None) -> CellTable:
    """Cells of 2, 4 and 8 servers with some runs each; those of one level fail."""
    planned = [run({"servers": n}, k + 1, iterations=20) for n in LEVELS for k in range(runs)]
    n, zeros = np.full(20, 10.0), np.zeros(20, dtype=int)
    records = [
        from_samples(one, n, zeros, zeros, zeros)
        for one in planned
        if one.treatment["servers"] != without
    ]
    return pooled(FakeFolder(plan_of(planned), records))


def claim(kind: str, *levels: Level, factor: str = "servers") -> Claim:
    return Claim(kind, factor, levels, GOODPUT)  # type: ignore[arg-type]


def test_a_level_without_numbers_is_equal_to_none_and_ends_no_growth() -> None:
    cells = table(3, without=4)
    found = EmptyCells(tuple(row for row in cells.rows if not row.runs), cells)
    assert found.forbids(claim("equal", 2, 4))
    assert found.forbids(claim("growth ends", 8)), "its curve has a gap"
    assert not found.forbids(claim("equal", 2, 8))
    assert not found.forbids(claim("different", 2, 4)), "said of the cells that are there"
    assert found.forbids(Claim("different", "servers", (4,), GOODPUT)), "none is there"


@pytest.mark.parametrize(("runs", "is_forbidden"), [(1, True), (2, False)])
def test_single_runs_compare_nothing(runs: int, is_forbidden: bool) -> None:
    cells = table(runs)
    found = FewRuns(cells.rows, cells, is_published=False)
    for kind in ("different", "equal"):
        assert found.forbids(claim(kind, 2, 4)) is is_forbidden
    assert not found.forbids(claim("growth ends", 4))
    printed = FewRuns(cells.rows, cells, is_published=True)
    assert not printed.forbids(claim("different", 2, 4)), "printed digits have a rounding"


def test_cells_that_stand_still_carry_no_claim() -> None:
    cells = table(3)
    found = OnlyAtFirst(cells.rows[:1], cells, "second")
    assert found.forbids(claim("different", 2, 4))
    assert not found.forbids(claim("different", 4, 8))


@pytest.mark.parametrize(("most_pct", "margin_pct"), [(3.0, 2.0), (1.0, 2.0), (3.0, None)])
def test_a_warm_up_within_the_noise_forbids_nothing(
    most_pct: float, margin_pct: float | None
) -> None:
    cells = table(3)
    found = ShortWarmUp(cells.rows[:1], cells, "iteration", most_pct, margin_pct)
    assert found.forbids(claim("equal", 2, 4)) is (margin_pct is not None and most_pct > 2.0)
    assert not found.forbids(claim("different", 2, 4))


@pytest.mark.parametrize("kind", [CannotFill, NeverFilled])
def test_buffers_that_never_filled_are_neither_equal_nor_different(
    kind: type[CannotFill | NeverFilled],
) -> None:
    found = kind("buffer", (Depth("1 MB", 10**6, 10), Depth("2 MB", 2 * 10**6, 10)))
    for said in ("equal", "different"):
        assert found.forbids(claim(said, "1 MB", "2 MB", factor="buffer"))
    assert not found.forbids(claim("equal", "64 kB", "2 MB", factor="buffer")), "64 kB filled"
    assert not found.forbids(claim("equal", "1 MB", "2 MB", factor="other"))


def test_levels_that_run_the_same_are_neither_equal_nor_different() -> None:
    for found in (SameLevels("bits", ("31", "64")), SameProgram("bits", ("31", "64"))):
        assert found.forbids(claim("equal", "31", "64", factor="bits"))
        assert found.forbids(claim("different", "31", "64", factor="bits"))
        assert not found.forbids(claim("different", "31", "128", factor="bits"))
    differs = SameProgramDiffers("bits", ("31", "64"), GOODPUT)
    assert differs.forbids(claim("different", "31", "64", factor="bits"))
    assert not differs.forbids(claim("equal", "31", "64", factor="bits"))


def test_a_setting_that_nothing_triggered_was_not_compared() -> None:
    for found in (NoTimeout("rto", (1, 200)), NoLoss("rto", (1, 200))):
        assert found.forbids(claim("equal", 1, 200, factor="rto"))
        assert found.forbids(claim("different", 1, 200, factor="rto"))
        assert not found.forbids(claim("equal", 2, 4))
    control = NoSignal("control", ("bbr", "cubic"))
    assert control.forbids(claim("equal", "bbr", "cubic", factor="control"))
    assert not control.forbids(claim("different", "bbr", "cubic", factor="control"))
    pause = NoPause(("switch",), ("xoff",))
    assert pause.forbids(claim("equal", 1, 2, factor="xoff"))
    assert not pause.forbids(claim("equal", 2, 4))


def test_a_metric_without_values_carries_no_claim() -> None:
    found = NotMeasured(GOODPUT, ("compare.on",))
    assert found.forbids(claim("different", 2, 4))
    assert not found.forbids(Claim("different", "servers", (2, 4), COMPLETION))


@pytest.mark.parametrize(("cells", "different"), [(1, False), (3, True)])
def test_a_percentile_that_some_cells_lack_is_not_equal_in_all(cells: int, different: bool) -> None:
    found = FewSamples(GOODPUT, ("compare.on",), cells, 3, Lacking(10, 299, "sample"))
    assert found.forbids(claim("equal", 2, 4))
    assert found.forbids(claim("different", 2, 4)) is different


def test_latencies_without_the_unanswered_are_not_compared_at_their_cells() -> None:
    """The completion time of 10 stands for 10 % of the requests: the 99th percentile is among them,
    and the median is not."""
    cells = table(3)
    median, late = REQUESTS.compared_on[:2]
    found = Unanswered(COMPLETION, cells.rows[1:2], len(cells.rows), (median, late))
    assert found.forbids(Claim("different", "servers", (2, 4), late))
    assert not found.forbids(Claim("different", "servers", (2, 4), median))
    assert not found.forbids(Claim("different", "servers", (2, 8), late))
    assert not found.forbids(claim("different", 2, 4)), "throughput counts answers"


def test_unanswered_requests_do_not_forbid_to_say_that_their_cell_is_slower() -> None:
    """The unanswered 10 % of the cell of 4 would have the longest latencies: they cannot make it
    faster than another, but another one may be slower than it only for the lack of them."""
    cells = table(3)
    late = REQUESTS.compared_on[1]
    found = Unanswered(COMPLETION, cells.rows[1:2], len(cells.rows), (late,))
    assert not found.forbids(Claim("different", "servers", (2, 4), late, worse=4))
    assert found.forbids(Claim("different", "servers", (2, 4), late, worse=2))
    assert found.forbids(Claim("equal", "servers", (2, 4), late))


def test_an_unsettled_mean_leaves_equal_pairs_of_other_cells() -> None:
    cells = table(3)
    short = Unsettled(phase_s=30.0, loss_periods=2.0, low=9.0, high=11.0, needed_s=90.0)
    found = UnsettledMean(UnsettledMetric(GOODPUT, ((cells.rows[1], short),)), cells)
    equal = claim("equal", 2, 4)
    assert found.forbids(equal)
    assert not found.forbids(replace(equal, is_settled=True)), "its rows are of settled cells only"
    assert not found.forbids(claim("different", 2, 4)), "larger than the changes in the phase"


def test_the_answer_has_what_forbids_a_claim_and_what_holds_for_every_figure() -> None:
    rto, costs = NoTimeout("rto", (1, 200)), AssumedCosts({"brokerage": ("app_cpu",)})
    told = (costs, NoLoss("rack", (0, 1)), rto)
    claims = [claim("equal", 1, 200, factor="rto")]
    assert forbidding(claims, told) == (rto,)
    assert in_answer(claims, told) == (costs, rto)
    assert in_answer([], told) == (costs,)


def test_a_study_of_buffers_that_never_filled_claims_nothing_of_them(tmp_path: Path) -> None:
    def maker(one: Run) -> RunRecord:
        return counting(quiet(one), queue_bytes_max=120_400)

    sizes = "buffer: [256 kB, 1 MB]"
    text = text_of(sizes, switch=', port_buffer: "${buffer}"', block="2 MB")
    result = analyse(from_text(tmp_path, text, maker))
    compared = claim("equal", *result.cells.factors["buffer"], factor="buffer")
    assert forbidding([compared], result.caveats)
    assert not forbidding([claim("different", 2, 4)], result.caveats)


ECN = "threshold: [30 kB, 90 kB]"


def test_thresholds_that_no_queue_reached_are_not_compared(tmp_path: Path) -> None:
    control = "congestion_control: dctcp"
    text = text_of(ECN, client=control, server=control, switch=', ecn_threshold: "${threshold}"')
    result = analyse(from_text(tmp_path, text, lambda one: counting(quiet(one))))
    compared = claim("equal", *result.cells.factors["threshold"], factor="threshold")
    (found,) = forbidding([compared], result.caveats)
    assert type(found).__name__ == "NoMark"
