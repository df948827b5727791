"""Requirements in the report, in Markdown, HTML and on the terminal."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.answer import answer
from netstudy.report.export import requirements_as_data
from netstudy.report.pages import write_report
from netstudy.report.requirement_table import worst_number
from netstudy.report.terminal import WIDTH, print_summary
from netstudy.store import Folder
from netstudy.wire import Run, RunRecord
from tests.report.planted import named, numbers
from tests.report.results import from_text, study_text
from tests.report.synthetic import from_samples

REST = """\
factors: {servers: [2, 4]}
replicates: 3
require:
  - completion_ms_mean < 1
  - {that: goodput_mbps > 0.5, at: {servers: 2..4}}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    folder = tmp_path_factory.mktemp("required")
    return from_text(folder, study_text(REST, servers='"${servers}"'))


@pytest.fixture(scope="module")
def required(made: Folder) -> StudyResult:
    return analyse(made)


def test_the_answer_tells_what_is_missed_and_where(required: StudyResult) -> None:
    missed, met = answer(required).further[:2]
    worst = required.requirements[0].worst
    assert worst is not None
    assert worst.estimate is not None
    assert [one.value for one in numbers([missed])] == [worst.estimate.value]
    assert named([missed], ["servers=2", "servers=4"]) == ["servers=4"]
    assert [one.value for one in numbers([met])] == [1, 2]


def test_a_value_that_rounds_to_its_bound_has_the_digits_that_miss_it(
    made: Folder, required: StudyResult, tmp_path: Path
) -> None:
    worst = required.requirements[0].worst
    assert worst is not None
    assert worst.estimate is not None
    value = worst.estimate.value
    near = study_text(
        REST.replace("completion_ms_mean < 1", f"completion_ms_mean < {value - 0.003:.3f}"),
        servers='"${servers}"',
    )
    (told, *_) = numbers(answer(analyse(from_text(tmp_path, near))).further[:1])
    shown = float(told.text.partition("\u00a0")[0])
    assert shown > value - 0.003 > shown - 0.01


def test_the_report_has_a_row_a_requirement(
    made: Folder, required: StudyResult, tmp_path: Path
) -> None:
    files = write_report(made, required, tmp_path)
    page, markdown = files.html.read_text(), files.md.read_text().replace("\u00a0", " ")
    assert '<table id="requirements"' in page
    assert "**Requirements of the study**" in markdown
    (missed,) = (line for line in markdown.splitlines() if "| missed |" in line)
    assert missed.startswith("| completion_ms_mean &lt; 1 ms | every cell | missed | 2 |")
    assert missed.endswith("| servers=4 |")
    assert "| goodput_mbps > 0.5 Mbit/s | 2 to 4 servers | met | 2 |" in markdown


def test_the_terminal_shows_them_within_its_width(required: StudyResult) -> None:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    print_summary(required, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "✗ completion_ms_mean < 1 ms at every cell: worst " in text
    assert "✓ goodput_mbps > 0.5 Mbit/s at 2 to 4 servers: worst " in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_programs_get_them_with_the_exact_value(required: StudyResult) -> None:
    first, second = requirements_as_data(required.requirements)
    assert (first["that"], first["at"], first["outcome"]) == (
        "completion_ms_mean < 1", {}, "missed",
    )  # fmt: skip
    assert first["worst"]["treatment"] == {"servers": 4}
    assert first["worst"]["value"] > 1
    assert (second["at"], second["outcome"]) == ({"servers": ["2..4"]}, "met")


def test_a_study_that_requires_nothing_says_nothing(found: StudyResult, page: str) -> None:
    assert found.requirements == ()
    assert 'id="requirements"' not in page
    assert not [one for one in answer(found).further if "equire" in str(one)]


def test_a_small_value_that_rounds_to_its_bound_has_more_digits(tmp_path: Path) -> None:
    def made(planned: Run) -> RunRecord:
        n = planned.count("measure")
        zeros = np.zeros(n, dtype=int)
        return from_samples(planned, np.full(n, 0.302), zeros, zeros, zeros)

    text = study_text(
        "factors: {block: [1 kB, 2 kB]}\nrequire: [completion_ms_mean < 0.3]\n", block='"${block}"'
    )
    (required,) = analyse(from_text(tmp_path, text, made)).requirements
    assert str(worst_number(required)).replace("\u00a0", " ") == "0.302 ms"
