"""The README of a study: what stands between the markers comes from records alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from netstudy.analysis.study_result import analyse
from netstudy.cli import invoke
from netstudy.report.answer import answer
from netstudy.report.markdown import text as markdown_text
from netstudy.report.readme import BEGIN, END, main, update_readme
from netstudy.store import Folder
from tests.report.results import INCAST, NOW, small_incast

ROOT = Path(__file__).parents[2]


def published(tmp_path: Path, study: Path, *without: str) -> Path:
    """A results folder of the values that were published of a study."""
    results = tmp_path / "results"
    parts = [f"--without={part}" for part in without]
    asked = ["run", str(study), "--testbed=published", f"--results={results}", *parts]
    assert invoke(asked) == 0
    return results / study.name / "latest"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A results folder that was run to its end."""
    folder = small_incast(tmp_path_factory.mktemp("readme"))
    folder.seal(NOW)
    return folder


@pytest.fixture
def study(tmp_path: Path) -> Path:
    copy = tmp_path / "incast"
    shutil.copytree(INCAST, copy)
    (copy / "README.md").write_text(f"# Mine\n\n{BEGIN}\nold\n{END}\n\nThe end.\n")
    return copy


def test_question_figure_and_answer_stand_between_the_markers(study: Path, done: Folder) -> None:
    text = update_readme(study, done.path).read_text()
    assert text.startswith(f"# Mine\n\n{BEGIN}\n")
    assert text.endswith(f"{END}\n\nThe end.\n")
    assert "old" not in text
    assert "**Which of two 10 GbE switches finishes synchronized reads sooner, and why?**" in text
    assert "](completion.svg)" in text
    first, *_ = answer(analyse(done)).sentences
    assert markdown_text(first) in text
    assert "| servers | Goodput (Mbit/s), arista-7124s |" in text


def test_the_figure_is_whole_and_small(study: Path, done: Folder) -> None:
    update_readme(study, done.path)
    figure = (study / "completion.svg").read_text()
    assert figure.startswith("<svg")
    assert figure.rstrip().endswith("</svg>")
    assert len(figure) < 200_000


def test_published_values_are_told_with_their_captions_notes_and_a_file_that_a_link_can_name(
    tmp_path: Path,
) -> None:
    study = tmp_path / "gigabit"
    shutil.copytree(ROOT / "studies/gigabit", study)
    text = update_readme(study, published(tmp_path, study, "figures", "conclude")).read_text()
    assert "](switch-server-port_in_mbps_mean.svg)" in text
    assert (study / "switch-server-port_in_mbps_mean.svg").read_text().startswith("<svg")
    assert "| copying | null | 4 | 762 | 812 |" in text
    assert "| --- | --- | ---: | ---: | ---: |" in text  # the peak is missing in the first row
    assert "--without=figures --without=conclude" in text


def test_several_tables_are_told_apart_and_an_empty_cell_has_its_reason(tmp_path: Path) -> None:
    study = tmp_path / "trade"
    shutil.copytree(ROOT / "studies/trade", study)
    written = update_readme(study, published(tmp_path, study, "figures", "conclude")).read_text()
    text = written.replace("\u00a0", " ")
    assert (
        "**Releases of the operating system (release 6.1.0.11, disk F20 and buffers 128)**" in text
    )
    assert "| RHEL 4.5 | 8 | 98.35 | 2.11 | 60 | 18 | 100.0 | 8 | 40.57 |" in text
    assert "¹ the third code level could not be measured" in text
    assert "97.5" in text


def test_writing_it_twice_changes_nothing(study: Path, done: Folder) -> None:
    once = update_readme(study, done.path).read_bytes()
    assert update_readme(study, done.path).read_bytes() == once


def test_a_readme_without_markers_is_left_alone(
    study: Path, done: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = study / "README.md"
    readme.write_text("# Mine\n")
    assert main([str(study), str(done.path)]) == 2
    assert "has no markers" in capsys.readouterr().err
    assert readme.read_text() == "# Mine\n"


def test_a_wrong_call_says_how_to_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage:" in capsys.readouterr().err


def test_the_readme_of_incast_has_its_markers_and_no_typed_number() -> None:
    text = (INCAST / "README.md").read_text()
    before, _, rest = text.partition(BEGIN)
    assert END in rest
    assert not any(sign.isdigit() for sign in before)
