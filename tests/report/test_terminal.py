"""The summary at the end of a run: the table, the verdict, and nothing wider than a page."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.terminal import WIDTH, print_summary
from tests.report.results import results


def printed(result: StudyResult, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_summary(result, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_it_prints_the_table_and_the_verdict(found: StudyResult) -> None:
    text = printed(found)
    title = "Goodput, drops, retransmissions and completion time by number of servers"
    assert text.startswith(f"{title} (configuration 4 MB)\n")
    assert "Completion time" in text
    assert "nexus-5010 is faster than arista-7124s at 2 to 9 servers." in " ".join(text.split())
    assert "Caveats" not in text


def test_it_prints_how_well_the_published_values_are_met(found: StudyResult) -> None:
    text = printed(found)
    assert "Agreement with the published values\n" in text
    assert "Ratios at the end of the range\n" in text
    rows = [line.split() for line in text.splitlines() if line.startswith("Completion time  ")]
    assert [row[2] for row in rows] == ["arista-7124s", "nexus-5010", "arista-7124s"]
    assert [len(row) for row in rows] == [11, 11, 12]  # every column is there, side by side


def test_it_fits_a_hundred_columns_on_any_terminal(found: StudyResult) -> None:
    for width in (40, 80, 250):
        assert max(len(line) for line in printed(found, width).splitlines()) <= WIDTH


def test_what_speaks_against_the_result_comes_last(tmp_path: Path) -> None:
    text = printed(analyse(results(tmp_path, quick=True)))
    assert text.splitlines()[-1].startswith("!") or "one run" in text.splitlines()[-1]
    assert "Caveats:" in text
