"""The report as a PDF: what stands on which page, read back by another library."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.packages import MissingPackageError
from netstudy.report import typst
from netstudy.report.document import document
from netstudy.report.pages import render_typst, write_report
from netstudy.report.refs import Name, Number, say
from netstudy.report.tables import Group, Table
from netstudy.store import Folder
from tests.report.results import from_text, study_text

NEEDS = "make build: the lock of development has typst and pypdf"


def pages_of(made: bytes) -> list[str]:
    """The text of each page, with single blanks."""
    pypdf = pytest.importorskip("pypdf", reason=NEEDS)
    reader = pypdf.PdfReader(io.BytesIO(made))
    return [" ".join(page.extract_text().split()) for page in reader.pages]


@pytest.fixture(scope="module")
def source(incast: Folder, found: StudyResult) -> str:
    return render_typst(document(incast, found))


@pytest.fixture(scope="module")
def pages(source: str) -> list[str]:
    pytest.importorskip("typst", reason=NEEDS)
    return pages_of(typst.pdf(source))


def test_every_page_has_its_number_and_all_but_the_first_the_title(
    pages: list[str], found: StudyResult
) -> None:
    assert len(pages) > 5
    for number, text in enumerate(pages, start=1):
        assert f"Page {number} of {len(pages)}" in text
        assert found.question in text


def test_the_first_page_has_the_answer_and_the_badge_and_another_the_day_and_the_machine(
    pages: list[str], incast: Folder
) -> None:
    (first, *_) = pages
    assert "simulated" in first
    assert "Answer" in first
    assert "Contents" in first or "Contents" in pages[1]
    assert any("21 November 2026" in page for page in pages)
    assert any(str(incast.environment()["cpu"]) in page for page in pages)


def test_every_section_of_the_report_is_in_the_pdf(pages: list[str]) -> None:
    text = " ".join(pages)
    for heading in (
        "Answer",
        "Test case",
        "Published and simulated",
        "Test bed",
        "Methods",
        "Appendix",
    ):
        assert heading in text


def test_the_head_of_a_long_table_stands_on_each_page_that_it_goes_on_to(tmp_path: Path) -> None:
    pytest.importorskip("typst", reason=NEEDS)
    levels = ", ".join(map(str, range(1, 76)))
    text = study_text(f"factors: {{servers: [{levels}]}}\n", servers='"${servers}"')
    text = text.replace("switch: nexus-5010", "switch: {profile: generic-shallow, ports: 200}")
    folder = from_text(tmp_path, text)
    pages = pages_of(typst.pdf(render_typst(document(folder, analyse(folder)))))
    first = next(index for index, page in enumerate(pages) if "Results servers" in page)
    head = "servers Goodput (Mbit/s)"
    assert head in pages[first]
    assert head in pages[first + 1]
    assert "Results servers" not in pages[first + 1], "only the head is repeated"


def test_every_figure_is_there_once_with_its_words(
    source: str, incast: Folder, found: StudyResult, pages: list[str]
) -> None:
    doc = document(incast, found)
    for figure in doc.figures():
        assert source.count(typst.literal(figure.wide)) == 1, figure.name
        assert typst.literal(figure.alt) in source
    assert "Completion time against servers" in " ".join(pages), "text of a figure stays text"


def test_its_fonts_are_embedded_and_come_from_typst_alone(source: str) -> None:
    pytest.importorskip("typst", reason=NEEDS)
    pypdf = pytest.importorskip("pypdf", reason=NEEDS)
    reader = pypdf.PdfReader(io.BytesIO(typst.pdf(source)))
    used, unembedded = set(), set()
    for page in reader.pages:
        for font in page["/Resources"]["/Font"].values():
            (kind,) = font.get_object()["/DescendantFonts"]
            described = kind["/FontDescriptor"]
            used.add(str(described["/FontName"]).partition("+")[2])
            if not {"/FontFile2", "/FontFile3"} & set(described):
                unembedded.add(str(described["/FontName"]))
    assert unembedded == set()
    families = (*(name.replace(" ", "") for name in typst.FONTS), "NewCM")  # for rare signs
    assert {name for name in used if not name.startswith(families)} == set()


def test_the_same_folder_gives_the_same_bytes(source: str) -> None:
    pytest.importorskip("typst", reason=NEEDS)
    assert typst.pdf(source) == typst.pdf(source)


def test_text_is_never_taken_for_markup(tmp_path: Path) -> None:
    pytest.importorskip("typst", reason=NEEDS)
    odd = 'Is *a* #b $c$ [d] \\e "f" @g <h> // i `j` _k_ =l?'
    quoted = odd.replace("\\", "\\\\").replace('"', '\\"')
    text = study_text("factors: {servers: [1, 2]}\n", servers='"${servers}"')
    folder = from_text(tmp_path, text.replace("What does it do?", f'"{quoted}"'))
    pages = pages_of(typst.pdf(render_typst(document(folder, analyse(folder)))))
    assert odd in pages[0]


def table(columns: int, text: str = "completion") -> Table:
    groups = tuple(Group(f"{text} {n}", "ms") for n in range(columns))
    row = tuple(Number(1.0, "12,345.6", "made up") for _ in range(columns))
    return Table("t", say("A table"), groups, (row,))


def test_a_wide_table_gets_smaller_type_then_landscape() -> None:
    sheets = [typst.sheet_of(table(columns)) for columns in (4, 9, 11, 14, 40)]
    assert [sheet.flipped for sheet in sheets] == [False, False, False, True, True]
    sizes = [sheet.size_pt for sheet in sheets if not sheet.flipped]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]


def test_a_long_word_may_be_broken_and_a_short_one_may_not() -> None:
    assert typst.breakable("congestion") == "congestion"
    assert typst.breakable("client.tcp.congestion_control") == (
        "client.\u200btcp.\u200bcongestion_\u200bcontrol"
    )
    assert max(map(len, typst.breakable("f" * 64).split("\u200b"))) == 14
    assert typst.content(Name("a/b", code=True)) == '#raw("a/b")'


def test_a_report_without_typst_names_the_command_that_installs_it(
    incast: Folder, found: StudyResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(MissingPackageError) as raised:
        write_report(incast, found, tmp_path, with_pdf=True)
    assert "typst is not installed. Install it with: " in str(raised.value)
    assert str(raised.value).endswith(" -m pip install typst")
    assert not list(tmp_path.iterdir()), "nothing was written"


def test_a_pdf_stands_beside_the_pages_that_ask_for_it(
    incast: Folder, found: StudyResult, tmp_path: Path
) -> None:
    pytest.importorskip("typst", reason=NEEDS)
    files = write_report(incast, found, tmp_path, with_pdf=True)
    assert files.pdf == tmp_path / "report.pdf"
    assert files.pdf.read_bytes().startswith(b"%PDF-")
    assert write_report(incast, found, tmp_path).pdf is None


def wide(rows: int) -> Table:
    """Row heads and twelve groups of two columns: too wide for a page upright."""
    groups = (
        Group("path"),
        *(Group(f"metric {n}", "ms", columns=("own", "all")) for n in range(12)),
    )
    values = tuple(Number(float(n), f"12,3{n:02}.6", "made up") for n in range(24))
    return Table("t", say("All"), groups, tuple((Name(f"row {n}"), *values) for n in range(rows)))


def test_a_short_wide_table_is_divided_and_a_long_one_turned() -> None:
    assert typst.parts_of(wide(30)) == (wide(30),)
    assert typst.parts_of(table(4)) == (table(4),)
    parts = typst.parts_of(replace(wide(3), notes=("of all",)))
    assert len(parts) > 1
    assert not any(typst.sheet_of(part).flipped for part in parts)
    assert [group for part in parts for group in part.groups[1:]] == list(wide(3).groups[1:])
    for number, row in enumerate(wide(3).rows):
        assert [value for part in parts for value in part.rows[number][1:]] == list(row[1:])
        assert {str(part.rows[number][0]) for part in parts} == {f"row {number}"}
    assert [str(part.caption) for part in parts] == ["All", *["continued"] * (len(parts) - 1)]
    assert [part.notes for part in parts] == [*[()] * (len(parts) - 1), ("of all",)]
