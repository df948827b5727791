"""The report in a real browser: quiet, whole, sortable, narrow enough, printable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from netstudy.analysis.study_result import analyse
from netstudy.report.pages import write_report
from tests.browser.pdf import page_texts
from tests.report.golden_studies import GOLDENS, studied
from tests.report.results import small_incast
from tests.report.synthetic import record

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESK, TELEPHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
SCREEN, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
"""The sizes on which the answer must fit."""
UNFOLD = "document.querySelectorAll('details').forEach((d) => { d.open = true; })"

BOXES = """(figure) => [...figure.querySelectorAll(".still > div, .live")]
  .map((seen) => seen.getBoundingClientRect().toJSON()).filter((box) => box.width > 0)"""
POINTS = """(figure) => [...figure.querySelectorAll(".mark-symbol.role-mark :is(path, circle)")]
  .filter((point) => point.getBoundingClientRect().width > 0).length"""
SHAPES = POINTS.replace(".mark-symbol.role-mark", ".role-mark")
"""Lines and bars too."""

in_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not CHROMIUM.exists(), reason="needs Chromium; install: apt-get install chromium"
    ),
]
"""Marks of a test that opens a page."""
pytestmark = in_browser


@dataclass
class Opened:
    """A page with what it said and asked for while it was opened."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report in which one cell is missing, so that a table has empty cells."""
    made = small_incast(
        tmp_path_factory.mktemp("report"),
        lambda p: None if p.treatment == MISSING else record(p),
    )
    return write_report(made, analyse(made)).html


MISSING = {"switch": "arista-7124s", "configuration": "4 MB", "servers": 5}


@pytest.fixture(scope="module")
def opened(report: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    profile = tmp_path_factory.mktemp("profile")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, args=ARGUMENTS, headless=True
        )
        found = Opened(context.new_page())
        found.page.on("console", lambda message: found.errors.append(message.text))
        found.page.on("pageerror", lambda error: found.errors.append(str(error)))
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.goto(report.as_uri())
        yield found
        context.close()


@pytest.fixture
def page(opened: Opened) -> Page:
    """The page on a desk, with all that is folded opened."""
    opened.page.set_viewport_size(DESK)  # type: ignore[arg-type]  # a plain dict will do
    opened.page.reload()
    opened.page.evaluate(UNFOLD)
    return opened.page


@pytest.fixture(scope="module")
def six_cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on six cells."""
    made, result = studied(GOLDENS["crossover"], tmp_path_factory.mktemp("six"))
    assert len(result.cells.rows) == 6
    return write_report(made, result).html


def first_column(page: Page) -> list[str]:
    return page.locator("#results-table tbody tr th").all_inner_texts()


def test_it_says_no_error_and_asks_nobody(page: Page, opened: Opened, report: Path) -> None:
    page.wait_for_load_state("networkidle")
    assert opened.errors == []
    assert set(opened.requests) == {report.as_uri()}


@pytest.mark.parametrize("viewport", [DESK, TELEPHONE])
def test_every_figure_is_drawn(page: Page, viewport: dict[str, int]) -> None:
    page.set_viewport_size(viewport)  # type: ignore[arg-type]  # a plain dict will do
    figures = page.locator("figure").all()
    assert len(figures) == 14
    for figure in figures:
        (box,) = figure.evaluate(BOXES)  # at one instant: a figure may become live meanwhile
        assert box["width"] > 250
        assert box["height"] > 120
        assert box["x"] + box["width"] <= viewport["width"]


def test_every_chart_holds_its_points(page: Page) -> None:
    charts = page.locator("figure:has(.sideways)").all()
    assert len(charts) == 12
    assert all(chart.evaluate(SHAPES) >= 2 for chart in charts)
    points = [chart.evaluate(POINTS) for chart in charts]
    assert sum(count >= 7 for count in points) >= 9, "all but an ECDF and bars have points"


def test_a_table_sorts_by_click_down_and_up(page: Page) -> None:
    button = page.locator("#results-table thead button").nth(2)  # goodput, nexus-5010
    header = page.locator("#results-table thead th[aria-sort]")
    assert first_column(page) == ["1", "2", "5", "9"]
    button.click()
    assert header.get_attribute("aria-sort") == "ascending"
    rising = first_column(page)
    button.click()
    assert header.get_attribute("aria-sort") == "descending"
    assert header.count() == 1
    assert first_column(page) == rising[::-1]
    assert sorted(rising) == ["1", "2", "5", "9"]


def test_a_sorted_number_is_still_told_its_own_source(page: Page) -> None:
    page.locator("#results-table thead button").nth(2).click()
    row = page.locator("#results-table tbody tr", has=page.locator("th", has_text="5")).first
    cell = row.locator("td data").first
    cell.hover()
    page.wait_for_function("() => document.querySelector('#results-table td data').title")
    assert "servers=5" in (cell.get_attribute("title") or "")
    row.locator("td data").last.hover()
    assert "servers=5" in (row.locator("td data").last.get_attribute("title") or "")


def test_numbers_sort_as_numbers_and_missing_ones_come_last(page: Page) -> None:
    button = page.locator("#results-table thead button").nth(1)  # goodput, arista-7124s
    button.click()
    cells = page.locator("#results-table tbody tr td:nth-child(2)").all_inner_texts()
    assert cells[-1] == ""
    values = [float(cell.partition(" ±")[0].replace(",", "")) for cell in cells[:-1]]
    assert values == sorted(values)
    button.click()
    assert page.locator("#results-table tbody tr td:nth-child(2)").last.inner_text() == ""


def test_a_table_sorts_from_the_keyboard(page: Page) -> None:
    page.locator("#results-table thead button").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    header = page.locator("#results-table thead th[aria-sort]")
    assert header.get_attribute("aria-sort") == "descending"
    assert first_column(page) == ["9", "5", "2", "1"]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "arista-7124s"


def test_a_telephone_needs_no_sideways_scrolling(page: Page) -> None:
    page.set_viewport_size(TELEPHONE)  # type: ignore[arg-type]  # a plain dict will do
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= TELEPHONE["width"]
    box = page.locator(".scroll:has(#results-table)")
    assert box.evaluate("(e) => e.scrollWidth > e.clientWidth")


def test_both_rows_of_a_table_head_are_printed_on_each_of_its_pages(page: Page) -> None:
    page.evaluate(
        """() => {
          const table = document.querySelector('#results-table');
          const row = table.querySelector('tbody tr');
          for (let i = 0; i < 150; i += 1) row.after(row.cloneNode(true));
          for (const part of document.querySelectorAll('body > *')) {
            if (!part.contains(table)) part.remove();
          }
        }"""
    )
    pages = page_texts(page.pdf(prefer_css_page_size=True))
    with_table = [text for text in pages if "Goodput" in text and "Completion time" in text]
    assert len(with_table) >= 3
    for text in with_table[:3]:
        assert "servers" in text
        assert text.count("arista-7124s") >= 4


def test_it_prints_with_everything_open(page: Page) -> None:
    pdf = page.pdf(prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") >= 5
    assert page.locator("details:not([open])").count() == 0


@pytest.mark.parametrize(("viewport", "screens"), [(SCREEN, 1), (PHONE, 2)])
@pytest.mark.parametrize("which", ["report", "six_cells"])
def test_the_first_screen_has_the_whole_answer_and_the_key_figure(
    opened: Opened,
    viewport: dict[str, int],
    screens: int,
    which: str,
    request: pytest.FixtureRequest,
) -> None:
    opened.page.set_viewport_size(viewport)  # type: ignore[arg-type]  # a plain dict will do
    opened.page.goto(request.getfixturevalue(which).as_uri())
    boxes = opened.page.locator("#answer").evaluate(
        """(box) => [box, ...box.querySelectorAll("p, li, figure")]
          .map((seen) => seen.getBoundingClientRect().toJSON())"""
    )
    assert opened.page.locator("#answer figure").count() == 1
    assert all(box["height"] > 0 for box in boxes)
    assert max(box["bottom"] for box in boxes) <= screens * viewport["height"]


def test_a_study_of_six_cells_has_at_most_six_screens(opened: Opened, six_cells: Path) -> None:
    opened.page.set_viewport_size(SCREEN)  # type: ignore[arg-type]  # a plain dict will do
    opened.page.goto(six_cells.as_uri())
    height = opened.page.evaluate("document.documentElement.scrollHeight")
    assert SCREEN["height"] < height <= 6 * SCREEN["height"]
