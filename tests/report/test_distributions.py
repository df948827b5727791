"""The part of a report on distributions: planted humps, percentiles and shares, and its figures."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netstudy.analysis.panel_distributions import PanelDistribution, distributions_of
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.errors import StudyError
from netstudy.report.answer import answer
from netstudy.report.charts import NARROW, WIDE, svg
from netstudy.report.charts.distributions import (
    OTHER,
    POINTS_DRAWN,
    WAITED,
    box_chart,
    course_chart,
    ecdf_chart,
    histogram_chart,
)
from netstudy.report.charts.live import payload
from netstudy.report.document import document
from netstudy.report.numbers import NO_BREAK
from netstudy.report.pages import write_report
from netstudy.report.panel_section import DistributionSection
from netstudy.report.refs import say
from netstudy.report.requirement_table import requirements_table
from netstudy.report.tables import verdicts_table
from netstudy.study import load
from netstudy.wire import Run, RunRecord
from tests.report.planted import named, numbers
from tests.report.results import from_text, study_text
from tests.report.synthetic import from_samples

COMPARED = """
factors: {{switch: [arista-7124s, nexus-5010]{more}}}
replicates: 5
compare: {{factor: switch, base: nexus-5010, noise: 2 %, on: {on}}}
"""
WAITS = {"arista-7124s": 76, "nexus-5010": 0}
"""Iterations of 200 that wait: 38 % and none."""


def planted(run: Run) -> RunRecord:
    """76 of 200 iterations of one switch take about 214 ms and have a timeout, all others about
    12.3 ms and have none."""
    n, waits = run.count("measure"), WAITS[str(run.treatment["switch"])]
    waits = waits * n // 200
    rng = np.random.default_rng(int(run.seed, 16))
    calm = 12.3 + rng.uniform(-0.2, 0.2, n - waits)
    late = 214 + rng.uniform(-3, 3, waits)
    order = rng.permutation(n)
    times = np.concatenate([late, calm])[order]
    timeouts = (np.arange(n) < waits)[order].astype(int)
    return from_samples(run, times, timeouts, timeouts, timeouts)


def study(on: str = "[completion_ms_mean]", more: str = "", *, panels: bool = False) -> str:
    others = ", servers: [2, 4], block: [1 MB, 2 MB]" if panels else ""
    rest = COMPARED.format(more=others, on=on)
    used = {"servers": '"${servers}"', "block": '"${block}"'} if panels else {}
    return study_text(f"{rest}{more}", switch='"${switch}"', iterations="200", **used)


def result_of(folder: Path, **what: Any) -> StudyResult:
    return analyse(from_text(folder, study(**what), planted))


def plain(value: object) -> str:
    """Text with usual spaces."""
    return str(value).replace(NO_BREAK, " ")


def distribution(result: StudyResult) -> PanelDistribution:
    found = result.cases[0].panels[0]
    (one,) = distributions_of(found.panel, found.workload, found.verdicts)
    return one


def section(folder: Path, **what: Any) -> DistributionSection:
    made = from_text(folder, study(**what), planted)
    (panel,) = document(made, analyse(made)).cases[0].panels
    (one,) = panel.distributions
    return one


def test_the_two_humps_are_named_with_their_share_and_medians(tmp_path: Path) -> None:
    told = [plain(sentence) for sentence in section(tmp_path).sentences]
    first, second = told
    assert first.startswith(
        "Iterations with a retransmission timeout on arista-7124s: 38.0 % (95 %"
    )
    assert "median 214." in first
    assert first.endswith("without: median 12.3 ms.")
    assert second.startswith("Iterations with a retransmission timeout on nexus-5010: 0")
    assert second.endswith("none; without: median 12.3 ms.")


def test_humps_are_counted_by_their_marks_and_not_by_their_place(tmp_path: Path) -> None:
    arista, nexus = distribution(result_of(tmp_path)).cells
    assert arista.humps is not None
    assert arista.humps.waited is not None
    assert arista.humps.other is not None
    assert (arista.humps.waited.samples.count, arista.humps.other.samples.count) == (380, 620)
    assert arista.humps.waited.samples.ascending.min() >= 211
    assert (arista.waits, nexus.waits) == (True, False)


def test_percentiles_stand_with_intervals_as_far_as_the_samples_carry_them(tmp_path: Path) -> None:
    percentiles, humps = section(tmp_path).tables
    heads = [group.heading for group in percentiles.groups]
    assert heads == ["switch", "n", "Runs", "Median", "p90", "p95", "p99", "p99.9"]
    row = [str(value) for value in percentiles.rows[0]]
    assert row[:3] == ["arista-7124s", "1,000", "5"]
    assert float(row[5]) == pytest.approx(216, abs=1)
    assert row[-2:] == ["too few", "None"]
    notes = [str(note) for note in percentiles.notes]
    assert notes[0].startswith("n counts iterations of all runs.")
    assert "The 99.9th percentile needs 2,995 iterations; 2 of these cells have fewer." in notes
    assert [str(value) for value in humps.rows[0][1:2]] == ["38.0"]


def test_the_usual_figures_are_ecdf_box_humps_and_the_order_of_time(tmp_path: Path) -> None:
    figures = section(tmp_path).figures
    ends = ["ecdf", "box", "histogram", "samples-over-time"]
    assert [figure.name for figure in figures] == [f"completion-{end}" for end in ends]
    for figure in figures:
        assert figure.wide.startswith("<svg")
        assert "median" in figure.alt


def test_figures_that_the_study_asks_for_take_the_place_of_the_usual(tmp_path: Path) -> None:
    more = "report: {figures: [{kind: ecdf, y: completion_ms, title: How long it takes}]}\n"
    one = section(tmp_path, more=more)
    (figure,) = one.figures
    assert figure.name == "completion-ecdf"
    assert "How long it takes" in figure.wide


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        ("{kind: ecdf, y: goodput_mbps}", "ecdf shows the samples of completion_ms"),
        ("{kind: box, y: completion_ms_p99}", "not completion_ms_p99"),
        ("{kind: histogram, y: latency_us}", "not latency_us"),
        ("{kind: box, y: [completion_ms, transfer_s]}", "box shows one quantity"),
        ("{kind: ecdf, y: completion_ms, x: switch}", "leave out x"),
        ("{kind: ecdf, y: transfer_s}", "is not measured by the workload incast"),
    ],
)
def test_a_figure_of_what_has_no_samples_is_refused_with_its_place(
    tmp_path: Path, figure: str, told: str
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(study(more=f"report:\n  figures:\n    - {figure}\n"))
    with pytest.raises(StudyError) as caught:
        load(path)
    assert told in str(caught.value)


def test_an_ecdf_ends_at_all_samples_and_keeps_the_largest(tmp_path: Path) -> None:
    found = distribution(result_of(tmp_path))
    rows = ecdf_chart(found).rows
    for name, cell in zip(("arista-7124s", "nexus-5010"), found.cells, strict=True):
        own = [row for row in rows if row["series"] == name]
        assert own[-1]["y"] == 100
        assert own[-1]["x"] == pytest.approx(cell.found.quantile(1), rel=1e-5)
        assert all(a["y"] <= b["y"] for a, b in itertools.pairwise(own))
        # 62 % of the arista's samples are below the gap between its humps
        below = max(row["y"] for row in own if row["x"] < 100)
        assert below == pytest.approx(62 if name == "arista-7124s" else 100, abs=2)


def test_a_box_has_the_quartiles_of_all_samples(tmp_path: Path) -> None:
    found = distribution(result_of(tmp_path))
    row = next(row for row in box_chart(found).rows if row["series"] == "arista-7124s")
    values = found.cells[0].found
    assert row["median"] == pytest.approx(values.quantile(0.5), rel=1e-5)
    assert (row["first"], row["third"]) == (
        pytest.approx(values.quantile(0.25), rel=1e-5),
        pytest.approx(values.quantile(0.75), rel=1e-5),
    )


def test_boxes_of_two_levels_are_told_apart_without_colours(tmp_path: Path) -> None:
    rule, box, *_ = box_chart(distribution(result_of(tmp_path))).layers
    for layer in (rule, box):
        solid, dashed = layer["encoding"]["strokeDash"]["scale"]["range"]
        assert solid != dashed


def test_a_histogram_stacks_both_humps_to_all_samples(tmp_path: Path) -> None:
    rows = histogram_chart(distribution(result_of(tmp_path))).rows
    heights = {
        mark: sum(row["share"] for row in rows if row["series"] == mark) for mark in (WAITED, OTHER)
    }
    assert heights[WAITED] == pytest.approx(38, abs=0.1)
    assert heights[OTHER] == pytest.approx(62, abs=0.1)
    assert {row["panel"] for row in rows} == {"arista-7124s"}


def test_samples_over_time_are_thinned_and_begin_after_the_warm_up(tmp_path: Path) -> None:
    plot = course_chart(distribution(result_of(tmp_path)))
    points = [row for row in plot.rows if row["kind"] == "sample"]
    assert len(points) <= POINTS_DRAWN
    assert min(row["x"] for row in points) == 11
    assert plot.subtitle == (
        "first run of a cell, every 2nd iteration; shaded: 10 of warm-up, not measured"
    )
    assert [row["x2"] for row in plot.rows if row["kind"] == "warm-up"] == [10, 10]


def test_every_figure_can_be_looked_into(tmp_path: Path) -> None:
    """Tooltips everywhere, series that can be switched off, zoom where both axes are numbers."""
    found = distribution(result_of(tmp_path))
    looked = {
        chart.__name__: payload(chart(found))
        for chart in (ecdf_chart, box_chart, histogram_chart, course_chart)
    }
    for one in looked.values():
        assert '"tooltip":{"content":"data"}' in json.dumps(one["wide"], separators=(",", ":"))
        assert one["rows"]
    names = ["arista-7124s", "nexus-5010"]
    assert [one["name"] for one in looked["ecdf_chart"]["series"]] == names
    assert [one["name"] for one in looked["box_chart"]["series"]] == names
    for name in ("histogram_chart", "course_chart"):
        assert [one["name"] for one in looked[name]["series"]] == [WAITED, OTHER]
    axes = {name: one["axes"] for name, one in looked.items()}
    assert axes.pop("box_chart") == []
    assert all(one == ["x", "y"] for one in axes.values())
    (choice,) = looked["course_chart"]["filters"]
    assert (choice["factor"], choice["levels"]) == ("switch", names)


def test_every_figure_is_light_in_both_sizes(tmp_path: Path) -> None:
    found = distribution(result_of(tmp_path))
    for chart in (ecdf_chart, box_chart, histogram_chart, course_chart):
        for size in (WIDE, NARROW):
            assert len(svg(chart(found), size)) < 100_000


def test_figures_of_several_panels_stand_in_the_one_that_differs_most(tmp_path: Path) -> None:
    made = from_text(tmp_path, study(panels=True), planted)
    panels = document(made, analyse(made)).cases[0].panels
    drawn = [len(panel.distributions[0].figures) for panel in panels]
    assert sorted(drawn) == [0, 4]
    assert all(panel.distributions[0].tables for panel in panels)


def test_the_part_stands_in_html_and_markdown_and_its_figures_are_files(tmp_path: Path) -> None:
    made = from_text(tmp_path, study(), planted)
    files = write_report(made, analyse(made))
    html, markdown = files.html.read_text(), files.md.read_text()
    assert 'id="figure-completion-ecdf"' in html
    assert "(figures/completion-ecdf.svg)" in markdown
    assert (made.path / "figures" / "completion-histogram.svg").is_file()
    assert "with a retransmission timeout" in html


def test_a_verdict_on_a_share_is_in_percentage_points(tmp_path: Path) -> None:
    result = result_of(tmp_path, on="[completion_ms_above_150ms_pct, completion_ms_p999]")
    share, far = result.cases[0].panels[0].verdicts
    table = verdicts_table(share, "t", say("t"))
    assert [group.heading for group in table.groups][:2] == [
        "Iterations above 150 ms",
        "Difference",
    ]
    (row,) = table.rows
    assert [str(value) for value in row[:3]] == ["38.0", "0", "38.0"]
    assert str(row[-1]).endswith("better")
    (lacking,) = verdicts_table(far, "t", say("t")).rows
    assert str(lacking[-1]) == "too few iterations: 1,000 of 2,995"


def test_a_requirement_on_what_the_samples_do_not_carry_says_so(tmp_path: Path) -> None:
    more = 'require: ["completion_ms_p999 < 300 ms", "completion_ms_above_150ms_pct < 40 %"]\n'
    far, share = requirements_table(result_of(tmp_path, more=more).requirements).rows
    assert str(far[2]) == "too few iterations: 1,000 of 2,995"
    assert [plain(value) for value in share[:3:2]] == [
        "completion_ms_above_150ms_pct < 40 %",
        "met",
    ]


def test_the_answer_says_of_which_panel_it_tells_the_causes(tmp_path: Path) -> None:
    result = result_of(tmp_path, panels=True)
    first, *others = answer(result).further
    assert named([first], ["1 MB", "2 MB"]) == ["1 MB"]
    assert named(others, ["1 MB", "2 MB"]) == []


def test_the_answer_tells_a_share_in_percentage_points(tmp_path: Path) -> None:
    told = answer(result_of(tmp_path, on="[completion_ms_above_150ms_pct]")).sentences
    assert named(told[:1], ["nexus-5010", "arista-7124s"]) == ["nexus-5010", "arista-7124s"]
    winner, loser, difference, *_ = numbers(told)
    assert (winner.value, loser.value) == (0, 38)
    assert difference.value == pytest.approx(38)
    assert "points" in difference.text


def test_the_effects_of_factors_on_a_share_are_differences_in_points(tmp_path: Path) -> None:
    made = from_text(tmp_path, study("[completion_ms_above_150ms_pct]", panels=True), planted)
    result = analyse(made)
    effects = result.effects_in(result.cases[0])
    assert effects is not None
    assert effects.scale == "difference"
    points, *_ = numbers(answer(result).sentences)
    assert points.value == pytest.approx(38)
    assert "points" in points.text


def test_a_percentile_that_no_cell_carries_is_answered_with_what_it_takes(tmp_path: Path) -> None:
    told = plain(" ".join(map(str, answer(result_of(tmp_path, on="[completion_ms_p999]")))))
    assert "too few samples for the 99.9th percentile of the completion time" in told
    assert "1,000 iterations of the 2,995" in told


def test_samples_too_few_for_a_median_make_a_sentence_and_no_table(tmp_path: Path) -> None:
    def one_each(run: Run) -> RunRecord:
        return from_samples(run, [10.0], [0], [0], [0])

    text = (
        study()
        .replace("iterations: 200", "iterations: 1")
        .replace("replicates: 5", "replicates: 3")
    )
    made = from_text(tmp_path, text, one_each)
    (panel,) = document(made, analyse(made)).cases[0].panels
    (part,) = panel.distributions
    assert (part.figures, part.tables) == ((), ())
    assert plain(part.sentences[0]) == (
        "Completion time: no percentiles, since a cell has 3 iterations at most, and a median "
        "needs 6."
    )
