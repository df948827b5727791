"""Two results folders: cells matched by what they share, differences worked by hand, bands."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from netstudy.analysis.cells import CellTable
from netstudy.analysis.comparison import Difference, FolderComparison, comparison
from netstudy.analysis.intervals import student_quantile
from netstudy.analysis.workloads.incast import COMPLETION, DROPS, FAIRNESS, GOODPUT
from netstudy.errors import StudyError
from netstudy.study.agreement import Band, Bands, agreed_metric
from netstudy.study.vocabulary import split_metric
from netstudy.wire import Treatment
from tests.report.synthetic import FakeFolder, from_samples, plan_of, pooled, run

Times = list[list[float]]
"""Completion times in ms of each replicate's iterations."""
NO_BANDS = Bands({})


def table(cells: list[tuple[Treatment, Times]], *, drops: int = 0) -> CellTable:
    """A folder whose cells have these times, and as many drops in each iteration."""
    runs, records = [], []
    for treatment, replicates in cells:
        for number, times in enumerate(replicates, start=1):
            planned = run(treatment, number, iterations=len(times), servers=4)
            runs.append(planned)
            counts = [drops] * len(times)
            records.append(from_samples(planned, times, counts, counts, [0] * len(times)))
    plan = plan_of(runs)
    return pooled(FakeFolder(plan, records))


def one(found: FolderComparison, name: str, place: int = 0) -> Difference:
    by_name = {d.metric.name: d for d in found.pairs[place].differences}
    return by_name[name]


A: list[tuple[Treatment, Times]] = [({"servers": 4}, [[9.0, 11.0], [12.0, 12.0], [14.0, 14.0]])]
B: list[tuple[Treatment, Times]] = [({"servers": 4}, [[10.0, 10.0], [15.0, 13.0], [18.0, 18.0]])]


def test_the_difference_and_its_interval_worked_by_hand() -> None:
    found = one(comparison(table(A), table(B), NO_BANDS), COMPLETION.name)
    # Means of runs: 10, 12, 14 and 10, 14, 18; variances of the means 4/3 and 16/3
    assert found.value == pytest.approx(2)
    assert found.pct == pytest.approx(100 * 2 / 12)
    df = (4 / 3 + 16 / 3) ** 2 / ((4 / 3) ** 2 / 2 + (16 / 3) ** 2 / 2)
    half = student_quantile(0.975, df) * math.sqrt(20 / 3)
    assert found.interval is not None
    assert found.interval.low == pytest.approx(2 - half)
    assert found.interval.high == pytest.approx(2 + half)


def test_a_percentile_has_an_interval_from_the_percentiles_of_the_runs() -> None:
    longer: list[tuple[Treatment, Times]] = [
        ({"servers": 4}, [[9.0, 10.0, 11.0] * 9, [11.0, 12.0, 13.0] * 9])
    ]
    found = one(comparison(table(longer), table(longer), NO_BANDS), "completion_ms_p50")
    assert found.a is not None
    # Medians of runs 10 and 12: variance 2, of their mean 1
    assert found.a.variance == pytest.approx(1)
    assert found.a.df == 1


def test_one_replicate_gives_a_difference_without_an_interval() -> None:
    found = one(comparison(table([(A[0][0], [[9.0]])]), table(B), NO_BANDS), COMPLETION.name)
    assert found.value == pytest.approx(5)
    assert found.interval is None
    assert found.outcome is None


@pytest.mark.parametrize(
    ("text", "first", "second", "holds"),
    [
        ("10 %", 200, 220, True),
        ("10 %", 200, 179, False),
        ("10 %", -200, -181, True),
        ("10 %", 0, 0, True),
        ("10 %", 0, 0.1, False),
        ("0.5", 0, 0.5, True),
        ("0.5", 3, 2.4, False),
        ("20 % or 0.5", 0, 0.4, True),
        ("20%or0.5", 100, 119, True),
        ("20 % or 0.5", 1, 1.6, False),
    ],
)
def test_a_band_holds_what_is_near_enough(
    text: str, first: float, second: float, holds: bool
) -> None:
    assert Band.parse(text).holds(first, second) is holds


@pytest.mark.parametrize("text", ["", "10 % 0.5", "or 3", "10 % or", "ten", "-5 %", "10 % or 5 %"])
def test_what_is_no_band_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a band; write 10 %"):
        Band.parse(text)


def test_a_band_is_kept_or_broken_by_the_value_and_the_interval_says_how_sure() -> None:
    bands = Bands({"completion": Band.parse("20 %")})
    found = comparison(table(A), table(B), bands)
    completion = one(found, COMPLETION.name)
    assert (completion.outcome, completion.sure) == ("inside", False)
    assert (found.judged, found.broken) == (1, ())
    narrow = comparison(table(A), table(B), Bands({"completion": Band.parse("10 %")}))
    (broken,) = (difference for _, difference in narrow.broken)
    assert (broken.metric, broken.outcome, broken.sure) == (COMPLETION, "outside", False)
    far = comparison(table(A), table([(A[0][0], [[90.0], [91.0], [92.0]])]), bands)
    assert one(far, COMPLETION.name).sure is True


def test_a_band_for_all_leaves_alone_what_neither_measured() -> None:
    short = table([({"servers": 4}, [[9.0, 11.0]])])  # too few for a 99th percentile
    found = comparison(short, short, Bands({}, Band.parse("1 %")))
    assert one(found, "completion_ms_p99").outcome is None
    assert one(found, DROPS.name).outcome == "inside"
    assert not found.broken


def test_a_metric_that_is_named_must_have_been_measured() -> None:
    short = table([({"servers": 4}, [[9.0, 11.0]])])
    found = comparison(short, short, Bands({split_metric("completion_ms_p99"): Band.parse("1 %")}))
    assert [d.outcome for _, d in found.broken] == ["not measured"]
    named = comparison(short, short, Bands({"fairness": Band.parse("1 %")}))
    assert [d.metric for _, d in named.broken] == [FAIRNESS]


def test_what_one_side_alone_measured_is_not_an_agreement() -> None:
    long = table([({"servers": 4}, [[9.0, 11.0] * 150])])
    short = table([({"servers": 4}, [[9.0, 11.0] * 20])])
    found = comparison(long, short, Bands({}, Band.parse("50 %")))
    assert [(d.metric.name, d.outcome) for _, d in found.broken] == [
        ("completion_ms_p99", "not measured")
    ]


def test_cells_are_matched_by_their_levels_as_they_are_written() -> None:
    a = table([({"servers": n}, [[float(n)]]) for n in (1, 2, 3)])
    b = table([({"servers": n}, [[float(n)]]) for n in (4, 3, 2)])
    found = comparison(a, b, NO_BANDS)
    assert [pair.treatment for pair in found.pairs] == [{"servers": 2}, {"servers": 3}]
    assert [row.treatment for row in found.only_a] == [{"servers": 1}]
    assert [row.treatment for row in found.only_b] == [{"servers": 4}]
    assert found.apart == ()


def test_a_factor_of_one_alone_is_told_and_its_cells_stand_beside_the_one() -> None:
    a = table([({"servers": 1}, [[1.0]])])
    b = table([({"servers": 1, "tcp": tcp}, [[2.0]]) for tcp in ("cubic", "reno")])
    found = comparison(a, b, NO_BANDS)
    assert found.matched_by == ("servers",)
    assert [(one.factor, one.a, one.b) for one in found.apart] == [("tcp", (), ("cubic", "reno"))]
    assert [pair.treatment["tcp"] for pair in found.pairs] == ["cubic", "reno"]


def test_a_factor_that_each_holds_at_its_own_level_does_not_part_them() -> None:
    a = table([({"servers": n, "kernel": "5.15"}, [[1.0]]) for n in (1, 2)])
    b = table([({"servers": n, "kernel": "6.18"}, [[1.0]]) for n in (1, 2)])
    found = comparison(a, b, NO_BANDS)
    assert [one.factor for one in found.apart] == ["kernel"]
    assert [pair.treatment for pair in found.pairs] == [{"servers": 1}, {"servers": 2}]


def test_folders_that_each_vary_a_factor_of_their_own_are_refused() -> None:
    a = table([({"servers": 1, "tcp": tcp}, [[1.0]]) for tcp in ("cubic", "reno")])
    b = table([({"servers": 1, "mtu": mtu}, [[1.0]]) for mtu in (1500, 9000)])
    with pytest.raises(
        StudyError, match="both vary servers; only BASE varies tcp, only NEW varies mtu"
    ):
        comparison(a, b, NO_BANDS)
    held = table([({"servers": 1, "mtu": 9000}, [[1.0]])])
    assert len(comparison(a, held, NO_BANDS).pairs) == 2


def test_equal_levels_in_two_test_cases_are_compared_within_their_case() -> None:
    runs = [
        replace(run({"servers": 1}, 1, iterations=1, servers=4), id=f"{case}-run", cases=(case,))
        for case in ("idle", "loaded")
    ]
    records = [from_samples(one, [1.0], [0], [0], [0]) for one in runs]
    both = pooled(FakeFolder(plan_of(runs), records))
    found = comparison(both, both, NO_BANDS)
    assert [(pair.a.cases, pair.b.cases) for pair in found.pairs] == [
        (("idle",), ("idle",)),
        (("loaded",), ("loaded",)),
    ]


def test_cells_match_that_share_one_test_case_of_several() -> None:
    """The cell of both test cases in one folder, and that of one of them in the other."""

    def of(*cases: tuple[str, ...]) -> CellTable:
        runs = [
            replace(run({"servers": number}, 1, iterations=1, servers=4), cases=own)
            for number, own in enumerate(cases, start=1)
        ]
        return pooled(
            FakeFolder(plan_of(runs), [from_samples(one, [1.0], [0], [0], [0]) for one in runs])
        )

    found = comparison(of(("idle", "loaded"), ("loaded",)), of(("idle",), ("loaded",)), NO_BANDS)
    assert [pair.treatment for pair in found.pairs] == [{"servers": 1}, {"servers": 2}]
    assert found.only_a == found.only_b == ()
    both = of(("idle", "loaded"))
    assert len(comparison(both, both, NO_BANDS).pairs) == 1


def test_what_the_plans_set_differently_is_told_by_its_path() -> None:
    a = table([({"switch": "arista-7124s"}, [[1.0]])])
    b = table([({"switch": "nexus-5010"}, [[1.0]])])
    paths = {setting.path for setting in comparison(a, b, NO_BANDS).settings}
    assert {"switch.profile", "switch.buffer.kind"} <= paths
    assert comparison(a, a, NO_BANDS).settings == ()


def test_figures_and_metrics_may_be_named_and_nothing_else() -> None:
    assert agreed_metric("goodput") == "goodput"
    assert agreed_metric("completion_ms_p99") == split_metric("completion_ms_p99")
    with pytest.raises(ValueError, match="unknown metric"):
        agreed_metric("godput")
    one_cell = table(A)
    with pytest.raises(StudyError, match="neither run gives etr_per_s"):
        comparison(one_cell, one_cell, Bands({split_metric("etr_per_s"): Band.parse("1 %")}))


def test_the_same_folder_agrees_with_itself() -> None:
    found = comparison(table(B, drops=3), table(B, drops=3), Bands({}, Band.parse("0")))
    assert found.judged
    assert not found.broken
    assert one(found, GOODPUT.name).value == 0
