"""The report of an unfinished study: what it counts, and what it must not say."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from netstudy.analysis.preliminary import preliminary_tables
from netstudy.analysis.progress import progress
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.document import document
from netstudy.report.pages import render_html as final_html
from netstudy.report.pages import render_markdown as final_markdown
from netstudy.report.so_far.data import so_far_as_data
from netstudy.report.so_far.document import SoFar, so_far_document
from netstudy.report.so_far.pages import render_html, render_markdown
from netstudy.report.so_far.terminal import print_so_far
from netstudy.store import Folder, FolderSoFar
from netstudy.wire import Check, Run, RunRecord, Samples
from tests.report.golden_studies import COMPARED, GOLDENS, SERVERS, incast, times
from tests.report.results import from_text

NOW = datetime(2026, 11, 30, 1, 2, 3, tzinfo=UTC)
RESUME = "netstudy run FOLDER --resume"
JUDGED = re.compile(
    r"\bp\b|significan|p.values?\b|\bmissed\b|\bmet\b|\brefuted\b|\bconfirmed\b|\bundecided\b"
    r"|\bdecide|\bsame\b(?! value)|\bdifferent\b|\bbetter in\b|too close|\bthroughout\b|\bshown\b",
    re.IGNORECASE,
)
"""Words of tests, verdicts and conclusions."""
CROSSED = {("reno", 2): 20.0, ("cubic", 2): 25.0, ("reno", 4): 50.0, ("cubic", 4): 50.5}
"""Planted mean times in ms, by control and servers."""
TEXT = incast(
    "Which congestion control finishes sooner?",
    f"factors: {{control: [reno, cubic], servers: [2, 4, 8]}}\n{COMPARED}"
    "require: [{that: completion_ms_mean < 1}]\n"
    "expect: [{lower: completion_ms_mean, with: {control: cubic}, than: {control: reno}}]\n",
    servers=SERVERS,
)


def planted(run: Run) -> RunRecord | None:
    """Three of five replicates with 2 and 4 servers, none with 8."""
    key = (run.treatment["control"], run.treatment["servers"])
    if key not in CROSSED or run.replicate > 3:
        return None
    return times(lambda control, servers: CROSSED[control, servers])(run)


def failed(made: RunRecord) -> RunRecord:
    return made.model_copy(
        update={"status": "failed", "error": "server-3 never answered", "samples": Samples()}
    )


def invalid(made: RunRecord) -> RunRecord:
    broken = Check(law="bytes in = bytes out", holds=False, detail="9 of 10")
    return made.model_copy(update={"status": "invalid", "checks": (broken,)})


def told(folder: Folder) -> tuple[FolderSoFar, StudyResult, SoFar]:
    seen = FolderSoFar.of(folder, NOW)
    result = analyse(seen)
    return seen, result, so_far_document(seen, result, RESUME)


def first_screen(doc: SoFar) -> str:
    sentences = (*doc.progress, doc.state, *doc.growth, *doc.problems, *doc.answer, doc.later)
    return "\n".join(map(str, sentences))


def test_the_first_screen_says_how_it_is_going_and_what_it_looks_like(tmp_path: Path) -> None:
    _, _, doc = told(from_text(tmp_path, TEXT, planted))
    text = first_screen(doc).replace("\u00a0", " ")
    assert text.startswith("12 of 30 runs are there: 12 valid; 18 missing.")
    assert "Of 6 cells, 0 are complete, 4 are incomplete, 2 have no valid run yet" in text
    assert "(control=reno, servers=8; control=cubic, servers=8)" in text
    assert f"the run was interrupted. Finish it with: {RESUME}" in text
    assert (
        "Preliminary: completion time is shorter with reno than with cubic in 2 of 2 pairs of "
        "cells with values (3 are planned), in 1 of them by less than the noise of 2.0 %." in text
    )
    assert (
        "The largest lead at 2 servers: 20.0 ms with reno (n = 3) against 25.0 ms with cubic"
        in text
    )


def test_a_change_is_relative_to_the_base(tmp_path: Path) -> None:
    """25 ms against 20 ms are 25 % more; 50.5 against 50 are 1 %, less than the noise of 2 %."""
    _, result, _ = told(from_text(tmp_path, TEXT, planted))
    (table,) = (one for case in result.cases for one in preliminary_tables(case))
    assert (table.level, table.base) == ("cubic", "reno")
    at_2, at_4, at_8 = table.pairs
    assert at_2.change == pytest.approx(25.0)
    assert (at_2.ahead, at_2.is_within_noise) == ("reno", False)
    assert at_2.interval is not None
    assert at_2.interval.low < 25.0 < at_2.interval.high
    assert at_4.change == pytest.approx(1.0)
    assert (at_4.ahead, at_4.is_within_noise) == ("reno", True)
    assert (at_8.has_values, at_8.change, at_8.ahead) == (False, None, None)


def test_a_single_run_of_a_cell_gives_no_interval(tmp_path: Path) -> None:
    """Nothing is known of how runs differ, however many iterations the run has."""
    made = from_text(tmp_path, TEXT, lambda run: planted(run) if run.replicate == 1 else None)
    _, result, doc = told(made)
    (table,) = (one for case in result.cases for one in preliminary_tables(case))
    assert [one.interval for one in table.pairs] == [None, None, None]
    assert table.pairs[0].change == pytest.approx(25.0)
    assert render_markdown(doc).count("A single valid run shows no variation between runs") == 2


def test_failed_and_invalid_runs_are_told_at_once_with_their_reason(tmp_path: Path) -> None:
    def some(run: Run) -> RunRecord | None:
        made = planted(run)
        if made is None or run.treatment != {"control": "reno", "servers": 2}:
            return made
        return {1: failed, 2: invalid}.get(run.replicate, lambda one: one)(made)

    seen, result, doc = told(from_text(tmp_path, TEXT, some))
    text = first_screen(doc)
    assert "12 of 30 runs are there: 10 valid, 1 failed, 1 invalid; 18 missing." in text
    assert "(control=reno, servers=2, replicate 1) failed: server-3 never answered." in text
    assert "(control=reno, servers=2, replicate 2) is invalid: bytes in = bytes out" in text
    for page in (render_html(doc), render_markdown(doc)):
        assert page.count("server-3 never answered") == 2  # on the first screen, and in the table
    cell = so_far_as_data(seen, result)["cells"][0]
    assert (cell["runs_valid"], cell["runs_planned"]) == (1, 5)
    kinds = sorted(one["kind"] for one in cell["problems"])
    assert kinds == ["failed", "invalid", "missing", "missing"]


def test_many_invalid_runs_are_in_the_table_and_only_some_on_the_first_screen(
    tmp_path: Path,
) -> None:
    made = from_text(tmp_path, TEXT, lambda run: (one := planted(run)) and invalid(one))
    _, _, doc = told(made)
    assert len(doc.problems) == 4
    assert str(doc.problems[-1]) == "The table below has 9 more."
    assert doc.problem_table is not None
    assert len(doc.problem_table.rows) == 12
    assert "no value on both sides yet" in first_screen(doc)


@pytest.mark.parametrize("render", [render_html, render_markdown])
def test_pages_have_no_test_and_no_final_verdict(
    tmp_path: Path, render: Callable[[SoFar], str]
) -> None:
    folder = from_text(tmp_path, TEXT, planted)
    _, result, doc = told(folder)
    assert JUDGED.findall(plain(render(doc))) == []
    final = final_markdown(document(folder, result))
    found = {one.lower() for one in JUDGED.findall(final)}
    assert {"p", "undecided", "different"} <= found  # so these words would have been found


def plain(page: str) -> str:
    """The text of a page, without style, scripts and tags; titles of numbers are text."""
    page = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    titles = " ".join(re.findall(r'title="([^"]*)"', page))
    return re.sub(r"<[^>]*>", " ", page) + titles


def test_requirements_and_expectations_wait_for_the_last_run(tmp_path: Path) -> None:
    """Every run so far misses the requirement: no mean is below 1 ms."""
    _, result, doc = told(from_text(tmp_path, TEXT, planted))
    assert len(result.missed) == 1
    assert "the final report judges 1 requirement and 1 expectation, tests the" in str(doc.later)
    assert "completion_ms_mean < 1" not in render_markdown(doc)


@pytest.mark.parametrize("name", GOLDENS)
def test_any_part_of_any_study_can_be_told(tmp_path: Path, name: str) -> None:
    """Some runs of each planted study are missing, failed or invalid, chosen at random."""
    golden = GOLDENS[name]
    for seed in range(3):
        chance = random.Random(f"{name}/{seed}")
        share = chance.random()

        def some(
            run: Run, chance: random.Random = chance, share: float = share
        ) -> RunRecord | None:
            made = golden.maker(run)
            if made is None or chance.random() > share:
                return None
            spoil = chance.choice([failed, invalid, None, None])
            return made if spoil is None else spoil(made)

        apart = tmp_path / str(seed)
        apart.mkdir()
        if golden.reference is not None:
            (apart / "data.csv").write_text(golden.reference)
        seen, result, doc = told(from_text(apart, golden.text, some))
        where = f"{name}, seed {seed}"
        found = progress(result.cells)
        assert found.planned == len(seen.plan().runs), where
        assert found.missing == len(seen.missing()), where
        assert found.there == len(seen.records()), where
        for page in (render_html(doc), render_markdown(doc)):
            assert JUDGED.findall(plain(page).replace(result.question, "")) == [], where
        so_far_as_data(seen, result)


def test_a_folder_without_any_record_is_told_too(tmp_path: Path) -> None:
    seen, result, doc = told(from_text(tmp_path, TEXT, lambda _: None))
    assert str(doc.progress[0]) == "None of 30 runs is there yet."
    assert "no value on both sides yet, in any of 3 pairs of cells" in str(doc.answer[0])
    assert so_far_as_data(seen, result)["runs"]["missing"] == 30
    assert "no value yet" in render_markdown(doc)


def test_without_a_comparison_the_range_of_the_values_is_told(tmp_path: Path) -> None:
    text = incast("How long?", "factors: {servers: [2, 4, 8]}\n", servers=SERVERS)
    held = times(lambda servers: 10.0 * servers)
    made = from_text(
        tmp_path, text, lambda run: None if run.treatment["servers"] == 8 else held(run)
    )
    _, _, doc = told(made)
    (sentence,) = doc.answer
    assert str(sentence).replace("\u00a0", " ") == (
        "Preliminary: completion time is between 20.00 ms (servers=2) and 40.0 ms (servers=4), "
        "in 2 of 3 cells."
    )


def test_the_final_page_does_not_depend_on_an_earlier_page_so_far(tmp_path: Path) -> None:
    """Templates are compiled once a process, and both pages use some of them."""
    folder = from_text(tmp_path, TEXT, times(lambda servers, **_: 10.0 * servers))
    doc = document(folder, analyse(folder))
    before = final_html(doc), final_markdown(doc)
    _, _, so_far = told(folder)
    page = render_html(so_far)
    assert (final_html(doc), final_markdown(doc)) == before
    assert render_html(so_far) == page


def test_a_long_table_is_cut_on_the_terminal_and_cells_with_values_stay(tmp_path: Path) -> None:
    """Of 60 cells, the last has its runs: its row is printed, and 59 are left out."""
    text = incast("How long?", "factors: {servers: 1..20, control: [reno, cubic, dctcp]}\n",
                  servers=SERVERS)  # fmt: skip
    last = {"servers": 20, "control": "dctcp"}
    ten = times(lambda **_: 10.0)
    made = from_text(tmp_path, text, lambda run: ten(run) if run.treatment == last else None)
    _, _, doc = told(made)
    console = Console(width=100, record=True, file=io.StringIO())
    print_so_far(doc, console)
    printed = console.export_text()
    assert "59 more rows: in the pages (-o DIR)." in printed
    assert re.search(r"20 +dctcp +5 of 5 +0 +10\b", printed), printed
    assert len(doc.cells[0].rows) == 60


def test_comparisons_with_values_come_first_and_the_others_are_a_click_away(
    tmp_path: Path,
) -> None:
    text = incast(
        "Which is sooner?",
        "factors: {control: [reno, cubic], servers: [2, 4], "
        "block: [1 MB, 2 MB, 3 MB, 4 MB, 5 MB]}\n"
        f"{COMPARED}",
        servers=SERVERS,
        block='"${block}"',
    )
    ten = times(lambda **_: 10.0)
    last = from_text(
        tmp_path, text, lambda run: ten(run) if run.treatment["block"] == "5 MB" else None
    )
    _, _, doc = told(last)
    assert len(doc.comparisons) == 5
    assert "5\u00a0MB" in str(doc.comparisons[0].caption) or "5 MB" in str(
        doc.comparisons[0].caption
    )
    assert doc.first == 3
    assert render_html(doc).count("<details><summary>Preliminary") == 2
