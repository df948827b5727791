"""The HTML report: self-contained, well formed, every number of its prose a computed reference."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.answer import answer
from netstudy.report.document import document
from netstudy.report.markdown import text as markdown_text
from netstudy.report.pages import render_markdown, write_report
from netstudy.report.prose.words import Point
from netstudy.report.refs import say
from netstudy.store import Folder
from tests.report.results import from_text, results, small_incast, study_text
from tests.report.synthetic import failed, record

VOID = {"meta", "link", "br", "hr", "img", "input", "path", "rect", "line", "polygon"}
REFERENCES = {"data", "span", "code"}
"""Elements that hold what was computed, or words of the study."""


@dataclass
class Page(HTMLParser):
    """What a browser would find in a page, and the digits in prose that are no reference."""

    open: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    numbers: list[dict[str, str | None]] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)
    images: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.links += [found["href"] or ""] if "href" in found else []
        self.sources += [found[key] or "" for key in ("src", "xlink:href", "data") if key in found]
        if tag == "data":
            self.numbers.append(found)
        if found.get("role") == "img":
            assert found.get("aria-label"), "an image without words"
            self.images += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self.open[-1] == tag, f"{tag} closes {self.open[-1]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("h1", "h2", "h3"):
            self.headings.append(data)
        prose = {"li", "p"} & set(self.open) and not {"nav", "header", "svg"} & set(self.open)
        if prose and not REFERENCES & set(self.open) and re.search(r"\d", data):
            self.typed.append(data)


def read(html: str) -> Page:
    page = Page()
    page.feed(html)
    page.close()
    return page


@pytest.fixture(scope="module")
def parsed(page: str) -> Page:
    return read(page)


def test_every_element_is_closed(parsed: Page) -> None:
    assert parsed.open == []


def test_ids_are_unique_and_every_link_leads_somewhere(parsed: Page) -> None:
    assert [name for name, times in Counter(parsed.ids).items() if times > 1] == []
    inside = [link[1:] for link in parsed.links if link.startswith("#")]
    assert len(inside) >= 5
    assert set(inside) <= set(parsed.ids)


def test_nothing_is_fetched_from_anywhere(parsed: Page, page: str) -> None:
    assert [link for link in parsed.links if not link.startswith("#")] == ["data:,"]
    assert parsed.sources == []
    addresses = set(re.findall(r"https?://[^\s\"'<]+", page))
    assert {address for address in addresses if "www.w3.org" not in address} == set()
    assert "@import" not in page
    assert "url(" not in page


def test_no_number_is_typed_into_the_prose(parsed: Page) -> None:
    assert parsed.typed == []


def test_every_number_has_its_value_and_its_source(parsed: Page) -> None:
    assert len(parsed.numbers) > 100
    for number in parsed.numbers:
        float(number["value"] or "")
        assert "title" not in number or number["title"]


def test_the_sections_come_in_order(parsed: Page) -> None:
    wanted = [
        "Findings",
        "Test case",
        "Published and simulated",
        "Test bed",
        "Methods",
        "Appendix",
        "Configuration of every node",
        "Hardware profiles and their sources",
    ]
    assert [heading for heading in parsed.headings if heading in wanted] == wanted
    sections = [
        "answer", "findings", "results", "published", "setup", "methods", "appendix"
    ]  # fmt: skip
    assert [one for one in parsed.ids if one in sections] == sections


def test_the_folded_text_of_a_study_has_no_marks_of_its_reader(page: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", page)


def test_the_same_folder_gives_the_same_bytes(incast: Folder, page: str, tmp_path: Path) -> None:
    again = write_report(incast, analyse(incast), tmp_path)
    assert again.html.read_text() == page
    assert again.md.read_bytes() == (incast.path / "report.md").read_bytes()
    for figure in again.figures:
        assert figure.read_bytes() == (incast.path / "figures" / figure.name).read_bytes()


def test_the_figures_are_files_too(incast: Folder, page_path: Path) -> None:
    assert page_path.exists()
    names = {path.name for path in (incast.path / "figures").iterdir()}
    assert {"completion.svg", "drops.svg", "retransmissions.svg"} <= names
    assert {"testbed.svg", "workload.svg", "published-completion.svg"} <= names
    markdown = (incast.path / "report.md").read_text()
    assert set(re.findall(r"\]\(figures/([^)]+)\)", markdown)) == names


def test_markdown_tells_the_same(incast: Folder, found: StudyResult, page_path: Path) -> None:
    assert page_path.exists()
    text = (incast.path / "report.md").read_text()
    assert text.index("## Answer") == text.index("## ")
    assert "| servers | Goodput (Mbit/s), arista-7124s |" in text
    for sentence in answer(found).sentences:
        assert markdown_text(sentence) in text
    assert not re.search(r"\n{4,}", text)


def test_markdown_shows_signs_in_a_lead_as_they_are(incast: Folder, found: StudyResult) -> None:
    doc = document(incast, found)
    point = Point("Knee (link <z>)", (say("It is there."),))
    markdown = render_markdown(replace(doc, findings=(point,)))
    assert "**Knee (link &lt;z>)** " in markdown


def test_tables_of_both_pages_have_the_margins_that_the_terminal_shows(
    page: str, page_path: Path
) -> None:
    """Each value with half of its interval, and what the sign means."""
    markdown = (page_path.parent / "report.md").read_text()
    for text in (page, markdown):
        assert len(re.findall(r"\d ± \d", text)) > 8
        assert "±: half of the" in text


def test_caveats_stand_after_the_results(tmp_path: Path) -> None:
    folder = small_incast(tmp_path, lambda p: failed(p) if p.replicate == 2 else record(p))
    html = write_report(folder, analyse(folder)).html.read_text()
    assert html.index('id="answer"') < html.index('id="caveats"') < html.index('id="setup"')
    assert "the engine ran out of memory" in html
    read(html)


def test_the_title_of_the_one_table_that_the_study_asks_for_stands_above_it(page: str) -> None:
    assert "Goodput, drops, retransmissions and completion time by number of servers" in page


def test_a_run_without_problems_shows_no_warning(page: str) -> None:
    assert ">Caveats<" not in page


OTHER_STUDIES = {
    "nothing compared": study_text("factors: {servers: 1..3}\n", servers='"${servers}"'),
    "a single cell": study_text("factors: {servers: [4]}\n", servers='"${servers}"'),
    "names along x": study_text(
        "factors:\n  switch: [arista-7124s, nexus-5010]\n  configuration:\n"
        "    - {name: small, block: 1 MB}\n    - {name: '<big> & 8', block: 4 MB}\n"
        "compare: {factor: switch, base: nexus-5010}\nreplicates: 5\n",
        switch='"${switch}"',
        block='"${block}"',
    ),
    "the compared factor alone": study_text(
        "factors: {switch: [arista-7124s, nexus-5010]}\n"
        "compare: {factor: switch, base: nexus-5010, noise: 2 %}\nreplicates: 5\n",
        switch='"${switch}"',
    ),
    "another number along x": study_text(
        "factors:\n  iterations: [80, 100]\n  switch: [arista-7124s, nexus-5010]\nreplicates: 2\n",
        switch='"${switch}"',
        iterations='"${iterations}"',
    ),
    "several cases": study_text(
        "cases:\n"
        "  few: {description: Few servers., factors: {servers: [1, 2]},"
        " fixed: {switch: nexus-5010}}\n"
        "  many: {factors: {servers: [2, 8], switch: [arista-7124s, nexus-5010]}}\n"
        "compare: {factor: switch, base: nexus-5010, noise: 2 %}\nreplicates: 5\n",
        switch='"${switch}"',
        servers='"${servers}"',
    ),
    "three levels": study_text(
        "factors:\n  switch: [arista-7124s, nexus-5010, generic-deep]\n  servers: [2, 4]\n"
        "compare: {factor: switch, base: nexus-5010, noise: 2 %}\nreplicates: 2\n",
        switch='"${switch}"',
        servers='"${servers}"',
    ),
}


@pytest.mark.parametrize("name", list(OTHER_STUDIES))
def test_any_study_has_a_sound_report(tmp_path: Path, name: str) -> None:
    folder = from_text(tmp_path, OTHER_STUDIES[name])
    html = write_report(folder, analyse(folder)).html.read_text()
    page = read(html)
    assert page.open == []
    assert page.typed == []
    assert [key for key, times in Counter(page.ids).items() if times > 1] == []
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert page.images >= 6


def test_a_run_without_any_record_has_a_report_that_says_so(tmp_path: Path) -> None:
    folder = results(tmp_path, only=["servers=2,3"], maker=lambda _: None)
    html = write_report(folder, analyse(folder)).html.read_text()
    assert read(html).typed == []
    assert "No run gives numbers for" in html


def test_a_subset_of_the_levels_is_reported_as_one(tmp_path: Path) -> None:
    folder = results(tmp_path, only=["switch=nexus-5010", "servers=2"])
    result: StudyResult = analyse(folder)
    assert result.cases[0].panels[0].verdicts == ()
    html = write_report(folder, result).html.read_text()
    assert "--only=switch=nexus-5010" in html
    assert read(html).open == []


STYLE = (Path(__file__).parents[2] / "python/netstudy/report/templates/report.css").read_text()
SCHEMES = dict(
    zip(("light", "dark", "print"), re.findall(r":root \{([^}]*)\}", STYLE), strict=True)
)
PAIRS = [
    ("ink", "paper"),
    ("ink", "band"),
    ("ink", "warn"),
    ("faint", "paper"),
    ("faint", "band"),
    ("accent", "paper"),
    ("accent", "band"),
]


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    digits = colour if len(colour) == 6 else "".join(sign * 2 for sign in colour)
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", list(SCHEMES))
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_text_stands_out_from_its_ground(scheme: str, text: str, ground: str) -> None:
    colours = dict(re.findall(r"--([\w-]+): #([0-9a-f]+);", SCHEMES[scheme]))
    light, dark = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5
