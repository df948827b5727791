"""Expectations in the answer, in both pages, on the terminal and as data; and the author."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.answer import answer
from netstudy.report.expectation_table import expectation_text, expectations_as_data
from netstudy.report.pages import write_report
from netstudy.report.terminal import WIDTH, print_summary
from netstudy.store import Folder
from tests.analysis.test_requirements import outcome
from tests.report.planted import names
from tests.report.results import from_text, results, study_text

REST = """\
factors: {servers: [2, 4]}
replicates: 3
author: [A. Writer, B. Reader]
expectation: Many servers take longer.
expect:
  - {lower: completion_ms_mean, with: {servers: 2}, than: {servers: 4}}
  - completion_ms_mean < 30 ms
  - {that: completion_ms_mean < 43, at: {servers: 4}}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    folder = tmp_path_factory.mktemp("expected")
    return from_text(folder, study_text(REST, servers='"${servers}"'), maker=outcome)


@pytest.fixture(scope="module")
def result(made: Folder) -> StudyResult:
    return analyse(made)


def test_the_answer_tells_what_is_refuted_alone(result: StudyResult) -> None:
    assert [one.outcome for one in result.expectations] == ["confirmed", "refuted", "undecided"]
    told = {name for one in answer(result).further for name in names(one)}
    texts = [expectation_text(one).replace("\u00a0", " ") for one in result.expectations]
    assert told & set(texts) == {texts[1]}


def test_both_pages_have_a_row_an_expectation_and_the_authors(
    made: Folder, result: StudyResult, tmp_path: Path
) -> None:
    files = write_report(made, result, tmp_path)
    page, markdown = files.html.read_text(), files.md.read_text().replace("\u00a0", " ")
    assert '<table id="expectations"' in page
    assert "By A. Writer and B. Reader. " in markdown
    assert "> Many servers take longer." in markdown
    (refuted,) = (line for line in markdown.splitlines() if "| refuted |" in line)
    assert refuted == "| completion_ms_mean &lt; 30 ms | every setting | refuted | 1 | 1 | 0 |"


def test_the_terminal_has_a_line_an_expectation(result: StudyResult) -> None:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    print_summary(result, console)
    printed = console.file.getvalue().replace("\u00a0", " ")  # type: ignore[attr-defined]
    assert "✗ expected, refuted: completion_ms_mean < 30 ms" in printed
    assert "✓ expected, confirmed: completion time is lower" in printed
    assert max(map(len, printed.splitlines())) <= WIDTH


def test_levels_that_were_left_out_are_not_claimed(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    rest = (
        "factors: {servers: [2, 4, 6]}\n"
        "replicates: 3\n"
        "expect: [{that: completion_ms_mean < 99 ms, at: {servers: 2..6}}]\n"
        "require: [{that: completion_ms_mean < 99, at: {servers: 2..6}}]\n"
    )
    path.write_text(study_text(rest, servers='"${servers}"'))
    result = analyse(results(tmp_path, path, only=["servers=2,4"], maker=outcome))
    console = Console(file=io.StringIO(), width=200, color_system=None)
    print_summary(result, console)
    printed = console.file.getvalue().replace("\u00a0", " ")  # type: ignore[attr-defined]
    where = "at 2 to 6 servers (this run has 2 and 4)"
    assert f"✓ expected, confirmed: completion_ms_mean < 99 ms {where}" in printed
    assert f"✓ completion_ms_mean < 99 ms {where}" in printed


def test_as_data_each_names_its_settings(result: StudyResult) -> None:
    compared, bound, _ = expectations_as_data(result.expectations)
    assert compared["outcome"] == "confirmed"
    assert (bound["refuted"], bound["confirmed"]) == ([{"servers": 4}], [{"servers": 2}])
