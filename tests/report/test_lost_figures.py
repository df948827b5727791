"""A renderer that fails costs one figure; no name puts a control character on a page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from netstudy.analysis.study_result import StudyResult
from netstudy.characters import UNPRINTABLE, escaped_json, visible
from netstudy.report.document import document
from netstudy.report.pages import ReportFiles, render_html, render_markdown, write_report
from netstudy.report.rendering import LOST, drawn_here
from netstudy.store import Folder

TOLD = "is not drawn, because the renderer failed on it"


def words(page: str) -> str:
    """The text of a page, without the marks of HTML and the escapes of Markdown."""
    return re.sub(r"<[^>]*>", "", page).replace("\\", "")


def losing_the_first(wanted: Sequence[str]) -> Callable[[], list[str]]:
    """Draws, but for the first chart that it is given."""
    rest = drawn_here(wanted[1:])
    return lambda: [LOST, *rest()] if wanted and wanted[0].startswith("{") else drawn_here(wanted)()


@pytest.fixture(scope="module", params=[False, True], ids=["live", "static"])
def written(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    incast: Folder,
    found: StudyResult,
) -> ReportFiles:
    """The report of a renderer that fails on one chart."""
    into = tmp_path_factory.mktemp("lost")
    return write_report(
        incast, found, into, draw=losing_the_first, is_static=request.param, with_png=True
    )


def test_the_figure_is_named_in_the_report_and_the_others_are_drawn(written: ReportFiles) -> None:
    [name] = written.lost
    for page in (written.html, written.md):
        assert f"The figure {name} {TOLD}" in words(page.read_text())
    drawings = {path.stem: path.read_text() for path in written.figures}
    assert f"Not drawn: {name}." in drawings[name]
    others = [text for stem, text in drawings.items() if stem != name and "role-mark" in text]
    assert len(others) > 1
    assert not any("Not drawn" in text for text in others)


def test_a_report_without_a_lost_figure_says_nothing_of_it(page: str) -> None:
    assert "is not drawn" not in page
    assert "Not drawn:" not in page


def test_a_page_shows_control_characters_as_pictures(incast: Folder, found: StudyResult) -> None:
    doc = replace(document(incast, found), title="red \x1b[31m and \x9b31m \ufffe", question="\x07")
    for text in (render_html(doc, is_static=True), render_markdown(doc)):
        assert not UNPRINTABLE.search(text)
        assert "red ␛[31m and \ufffd31m \ufffd" in words(text)


def test_all_that_a_terminal_obeys_is_visible() -> None:
    assert visible("a\x00\x1b\r\x7f\x85\ud800\uffff\n\t–µ") == "a␀␛␍␡\ufffd\ufffd\ufffd\n\t–µ"


def test_json_keeps_what_it_means() -> None:
    data = {"a": "\x1b\x7f\x9b\ufffe\n"}
    text = escaped_json(json.dumps(data, ensure_ascii=False))
    assert json.loads(text) == data
    assert not UNPRINTABLE.search(text)
