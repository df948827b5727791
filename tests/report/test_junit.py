"""The verdicts as JUnit XML: what a reader of that format finds in it."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from netstudy.analysis.cells import CellTable
from netstudy.analysis.comparison import comparison
from netstudy.analysis.folder_verdicts import FolderVerdicts, NoiseBand, folder_verdicts
from netstudy.analysis.workloads.incast import COMPLETION
from netstudy.report.change_page import LONGEST, change_page
from netstudy.report.comparison import metric_tables
from netstudy.report.folder_verdicts import FailOn, answer
from netstudy.report.junit import junit
from netstudy.study.agreement import Bands
from tests.report.synthetic import FakeFolder, from_samples, plan_of, pooled, run

AWKWARD = 'a<b & "c" \x1b[31m \ufffe ]]>'
ATTRIBUTES: dict[str, set[str]] = {
    "testsuites": {"name", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped"},
    "testcase": {"name", "classname"},
    "failure": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
}
"""Element -> its attributes here, all of which junit-10.xsd of Jenkins' xUnit plugin allows."""
CHILDREN: dict[str, set[str]] = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase", "system-out"},
    "testcase": {"failure", "skipped", "system-out"},
    "failure": set(),
    "skipped": set(),
    "system-out": set(),
}


def folder(cells: dict[str, list[float]]) -> CellTable:
    planned = [
        (run({"host": name}, replicate, iterations=2, servers=1), mean)
        for name, means in cells.items()
        for replicate, mean in enumerate(means, start=1)
    ]
    records = [from_samples(one, [mean] * 2, [0] * 2, [0] * 2, [0] * 2) for one, mean in planned]
    return pooled(FakeFolder(plan_of(one for one, _ in planned), records))


BASE = folder(
    {
        "slower": [10.0, 10.1, 9.9],
        "faster": [10.0, 10.1, 9.9],
        AWKWARD: [10.0, 10.01, 9.99],
        "unsure": [10.0, 11.0, 9.0],
        "gone": [10.0, 10.1, 9.9],
    }
)
NEW = folder(
    {
        "slower": [11.0, 11.1, 10.9],
        "faster": [9.0, 9.1, 8.9],
        AWKWARD: [10.0, 10.01, 9.99],
        "unsure": [11.0, 12.0, 9.0],
    }
)


@pytest.fixture
def found() -> FolderVerdicts:
    """A cell of each outcome, one with a name that XML does not allow."""
    noise = NoiseBand(2.0, "BASE")
    return folder_verdicts(BASE, NEW, comparison(BASE, NEW, Bands({})), [COMPLETION], noise)


def outcomes(written: bytes) -> dict[str, str]:
    """The name of each test case -> passed, failure or skipped."""
    cases = ET.fromstring(written).iter("testcase")
    return {
        case.attrib["name"].removeprefix("host="): next(
            (one.tag for one in case if one.tag != "system-out"), "passed"
        )
        for case in cases
    }


def test_a_test_case_is_a_cell_and_metric(found: FolderVerdicts) -> None:
    by_name = outcomes(junit("my study", found, "different"))
    shown = 'a<b & "c" ␛[31m \ufffd ]]>'
    assert by_name == {
        "slower": "failure",
        "faster": "failure",
        shown: "passed",
        "unsure": "skipped",
        "gone": "skipped",
    }


def test_only_a_worse_value_fails_if_that_is_asked(found: FolderVerdicts) -> None:
    by_name = outcomes(junit("my study", found, "worse"))
    assert (by_name["slower"], by_name["faster"]) == ("failure", "passed")


@pytest.mark.parametrize("fail_on", ["different", "worse"])
def test_the_document_has_the_shape_that_readers_expect(
    found: FolderVerdicts, fail_on: FailOn
) -> None:
    root = ET.fromstring(junit(f"study {AWKWARD}", found, fail_on))
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.attrib) == ATTRIBUTES[element.tag]
        assert {child.tag for child in element} <= CHILDREN[element.tag]
    (suite,) = root
    cases = suite.findall("testcase")
    for name in ("tests", "failures", "errors"):
        assert root.attrib[name] == suite.attrib[name]
    assert int(suite.attrib["tests"]) == len(cases)
    assert int(suite.attrib["failures"]) == len(list(suite.iter("failure")))
    assert int(suite.attrib["skipped"]) == len(list(suite.iter("skipped")))
    names = [(case.attrib["classname"], case.attrib["name"]) for case in cases]
    assert len(names) == len(set(names))


def test_a_failure_has_the_sentence_and_the_figures(found: FolderVerdicts) -> None:
    root = ET.fromstring(junit("my study", found, "different"))
    (failure,) = [one for one in root.iter("failure") if one.attrib["type"] == "slower"]
    text = (failure.text or "").replace("\u00a0", " ")
    # By hand: t = (11 - 1.02 · 10) ÷ √(0.01 / 3 · (1 + 1.02²)) = 9.70 with 4 degrees of freedom, so
    # p = 2 · 0.00032; it is the second smallest of four.
    assert "In NEW, completion time is 10 % longer (95 % CI 8 to 12 %) than in BASE." in text
    assert "BASE: 10.0 ms in 3 runs, NEW: 11.0 ms in 3 runs, p after Holm: 0.002." in text


def test_a_skipped_case_has_its_reason(found: FolderVerdicts) -> None:
    root = ET.fromstring(junit("my study", found, "different"))
    reasons = {
        case.attrib["name"]: skipped.attrib["message"]
        for case in root.iter("testcase")
        if (skipped := case.find("skipped")) is not None
    }
    assert reasons["host=gone"] == "NEW does not have this cell."
    assert "further runs of each cell would probably decide it" in reasons["host=unsure"]


def test_the_answer_names_the_cells_in_both_directions(found: FolderVerdicts) -> None:
    assert str(answer(found)).replace("\u00a0", " ") == (
        "NEW is slower than BASE in 1 of 5 cells: completion time 10 % longer at host=slower; "
        "faster than BASE in 1 of 5 cells: completion time 10 % shorter at host=faster. "
        "Other cells: 1 the same, 1 undecided and 1 not measured in both."
    )


def test_the_page_begins_with_the_answer_and_lists_the_differences_first(
    found: FolderVerdicts,
) -> None:
    lines = change_page(found, [], []).splitlines()
    assert lines[0].startswith("**NEW is slower than BASE in 1 of 5 cells")
    rows = [line for line in lines if line.startswith("| ")][2:]
    verdicts = [re.split(r" \| ", line)[-1].removesuffix(" |") for line in rows]
    assert verdicts == ["slower", "faster", "undecided", "not measured", "same"]


def test_a_page_of_many_cells_still_fits_into_a_comment() -> None:
    cells = {f"host {n:04d} with a long name": [10.0, 10.5, 9.5] for n in range(160)}
    table = folder(cells)
    compared = comparison(table, table, Bands({}))
    many = folder_verdicts(table, table, compared, [COMPLETION], None)
    page = change_page(many, [], list(metric_tables(compared)))
    assert len(page) <= LONGEST
    assert "100 cells in the table above: left out here." in page
    assert re.search(r"[0-9]+ tables?: left out here", page)
