"""What was published of the studies is read, and their reports say no more than it."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.study_result import analyse
from netstudy.cli import invoke
from netstudy.report.document import Document, document
from netstudy.store import Results
from netstudy.study import load

ROOT = Path(__file__).parents[2]
STUDIES = ("ethernet", "gigabit", "incast", "trade", "zones")


@pytest.mark.parametrize("name", STUDIES)
def test_every_file_of_reference_data_is_read_by_its_study(name: str) -> None:
    study = load(ROOT / "studies" / name)
    there = {f"reference/{path.name}" for path in (study.folder / "reference").iterdir()}
    assert there == {one.file for one in study.reference}


@pytest.fixture(scope="module")
def ethernet(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """The report of what was published of the study ethernet."""
    results = tmp_path_factory.mktemp("published")
    study = str(ROOT / "studies/ethernet")
    asked = ["run", study, "--testbed=published", f"--results={results}", "--without=description"]
    assert invoke(asked) == 0
    latest = str(results / "ethernet/latest")
    folder = Results(results / "ethernet/latest").resolve(latest, done=True)
    return document(folder, analyse(folder))


def test_a_metric_that_no_cell_of_a_panel_has_is_not_drawn(ethernet: Document) -> None:
    (case,) = ethernet.cases
    assert len(case.panels) == 2
    (figure,) = (one for one in case.drawn.figures if "segments_retransmitted" in one.name)
    assert not figure.is_broad
    assert not isinstance(figure.source, str)
    assert "rate 600" in figure.source.title


def test_without_a_link_of_the_causal_chain_nothing_is_said_of_one(ethernet: Document) -> None:
    for panel in ethernet.cases[0].panels:
        assert (panel.causes, panel.explanation) == (None, ())


def test_what_was_observed_is_said_of_each_held_level_in_turn(ethernet: Document) -> None:
    said = [str(one).replace("\u00a0", " ") for one in ethernet.answer]
    assert said[0].startswith(
        "At rate 500: Network traffic of app towards client from 31 to 64 bits: 746"
    )
    assert said[1].startswith(
        "At rate 600: Network traffic of app towards client from 31 to 64 bits: 770"
    )


def test_the_command_that_makes_the_report_again_leaves_out_the_same_parts(
    ethernet: Document,
) -> None:
    again = ethernet.appendix.commands[0]
    assert again.endswith("--without=description")
