"""CSV that a spreadsheet reads as text and numbers, and never as a formula."""

from __future__ import annotations

import csv
import io

import pytest

import netstudy
from netstudy.analysis.study_result import analyse
from netstudy.data.samples import samples_csv
from netstudy.report.export import to_csv
from netstudy.report.spreadsheet import csv_line
from netstudy.store import Folder
from tests.report.results import NOW, from_text, study_text

FORMULAS = ("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "- 5 % less", "=", "+-1")
NUMBERS = ("-5", "+5", "-0.25", "-1e-07", "+.5", "-5.")
PLAIN = ("4 MB", "a=b", "", "–", "x-1")


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize("text", [*FORMULAS, "\t=1", "\r=1"])
def test_text_that_would_be_a_formula_gets_an_apostrophe(text: str) -> None:
    assert read(csv_line(["a", text])) == [["a", f"'{text}"]]
    assert read(csv_line(["a", text], raw=True)) == [["a", text]]


@pytest.mark.parametrize("text", [*NUMBERS, *PLAIN])
def test_numbers_and_other_text_stay(text: str) -> None:
    assert read(csv_line(["a", text])) == [["a", text]]


def test_values_stay_what_they_are() -> None:
    values = (-5, -0.1, float("-inf"), None, 1e-300)
    assert csv_line(values) == "-5,-0.1,-inf,,1e-300\n" == csv_line(values, raw=True)


NAMES = ("=1+1", "@SUM(A1)", "-2+3", "+cmd", "-5", "4 MB")
SAFE = ["'=1+1", "'@SUM(A1)", "'-2+3", "'+cmd", "-5", "4 MB"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A study whose levels are called like formulas and like numbers."""
    levels = ", ".join(f'{{name: "{name}", block: {n} MB}}' for n, name in enumerate(NAMES, 1))
    text = study_text(f"factors: {{size: [{levels}]}}\n", block='"${block}"')
    made = from_text(tmp_path_factory.mktemp("formulas"), text)
    made.seal(NOW)
    return made


def test_cells_and_samples_are_alike(folder: Folder) -> None:
    table = analyse(folder).cells
    assert [row[0] for row in read(to_csv(table))[1:]] == SAFE
    assert [row[0] for row in read(to_csv(table, raw=True))[1:]] == [*NAMES]
    for raw, names in ((False, SAFE), (True, NAMES)):
        text = "".join(samples_csv(folder, "iteration", raw=raw))
        assert {row[1] for row in read(text)[1:]} == set(names)


def test_programs_get_the_names_as_they_are(folder: Folder) -> None:
    pytest.importorskip("pyarrow")
    opened = netstudy.open(folder.path)
    assert opened.cells().to_arrow()["size"].to_pylist() == [*NAMES]
    assert set(opened.samples("iteration").to_arrow()["size"].to_pylist()) == {*NAMES}
