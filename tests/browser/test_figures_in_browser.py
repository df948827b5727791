"""Figures to look into: tooltips, series on and off, panels by level, zoom, dark mode; and what is
seen without a script, on paper and on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, sync_playwright

from netstudy.analysis.study_result import analyse
from netstudy.report.pages import write_report
from tests.browser.test_report_in_browser import ARGUMENTS, CHROMIUM, UNFOLD, in_browser
from tests.report import test_distributions as humps
from tests.report.planted import RTO, records, rto_time
from tests.report.results import from_text

pytestmark = in_browser
FIGURE = "#figure-completion"
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two minimum RTOs, three buffers (a panel each) and three numbers of servers."""
    made = from_text(tmp_path_factory.mktemp("rto"), RTO, records(rto_time))
    write_report(made, analyse(made))
    static = made.path / "static"
    static.mkdir()
    write_report(made, analyse(made), static, is_static=True)
    return made.path


@pytest.fixture(scope="module")
def timeouts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a study in which a third of the iterations of one switch has a timeout."""
    made = from_text(tmp_path_factory.mktemp("timeouts"), humps.study(panels=True), humps.planted)
    return write_report(made, analyse(made)).html


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, headless=True)
        yield found
        found.close()


@pytest.fixture
def opened(browser: Browser, folder: Path) -> Iterator[Open]:
    """Opens the report, without a network; a message of the page fails the test."""
    pages: list[tuple[Page, list[str]]] = []

    def visit(name: str = "report.html", width: int = 1280, **context: Any) -> Page:
        size = ViewportSize(width=width, height=900)
        page = browser.new_context(viewport=size, offline=True, **context).new_page()
        page.set_default_timeout(5_000)
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto((folder / name).as_uri())
        page.evaluate(UNFOLD)
        pages.append((page, said))
        return page

    yield visit
    for page, said in pages:
        page.context.close()
        assert said == []


def live(page: Page, figure: str = FIGURE) -> Locator:
    """The figure once it can be looked into."""
    page.locator(figure).scroll_into_view_if_needed()
    found = page.locator(f"{figure}.is-live")
    found.wait_for()
    return found


def points(figure: Locator) -> Locator:
    return figure.locator(".live .mark-symbol.role-mark path[stroke-width='1.5']")


def test_the_boxes_of_a_distribution_tell_their_quartiles_and_switch_off(opened: Open) -> None:
    figure = live(opened(), "figure[data-chart$='-box']")
    boxes = figure.locator(".live .mark-rect.role-mark path")
    before = boxes.count()
    boxes.first.hover(force=True)
    told = figure.page.locator(".tip")
    told.wait_for()
    assert {"median", "quartiles", "5th to 95th percentile"} <= {
        line.split(":")[0] for line in told.inner_text().splitlines()
    }
    figure.locator("button.series").first.click()
    figure.page.wait_for_function(
        "n => document.querySelectorAll(\"[data-chart$='-box'] .live .mark-rect.role-mark path\")"
        ".length < n",
        arg=before,
    )


MARKS = ".live .role-mark:is(.mark-symbol, .mark-rect) path"


def tells(figure: Locator) -> bool:
    """Whether one of its marks has a tooltip; others are shades, or lie below another."""
    tip = figure.page.locator(".tip")
    for mark in figure.locator(MARKS).all()[:60]:
        mark.hover(force=True)
        figure.page.wait_for_timeout(20)
        if tip.is_visible():
            return bool(tip.inner_text())
    return False


def changes(figure: Locator, act: Callable[[], object]) -> None:
    """Waits until a figure is drawn anew after an action; fails if it is not."""
    drawing = figure.locator(".live svg").first.element_handle()
    before = drawing.inner_html()
    act()
    figure.page.wait_for_function("([e, t]) => e.innerHTML !== t", arg=[drawing, before])


KINDS = {
    "two factors in panels": ("figure-completion", "heat", "winners-buffer", "-box", "-ecdf"),
    "timeouts": ("figure-goodput", "-histogram", "-samples-over-time"),
}


@pytest.mark.parametrize("report", list(KINDS))
def test_every_figure_answers_to_all_of_its_tools(
    opened: Open, timeouts: Path, report: str
) -> None:
    page = opened() if report == "two factors in panels" else opened(str(timeouts))
    names = page.locator("figure[data-chart]").evaluate_all("(all) => all.map((f) => `#${f.id}`)")
    missing = [kind for kind in KINDS[report] if not any(name.endswith(kind) for name in names)]
    assert not missing, names
    for name in names:
        figure = live(page, name)
        assert tells(figure), name
        for button in figure.locator("button.series").all():
            changes(figure, button.click)
            changes(figure, button.click)
        for choice in figure.locator("select").all():
            last = choice.locator("option").count() - 1  # the first level may be drawn already
            changes(figure, partial(choice.select_option, index=last))
            changes(figure, partial(choice.select_option, index=0))
        if figure.get_by_role("button", name="zoom in").count():
            changes(figure, figure.get_by_role("button", name="zoom in").click)
            changes(figure, figure.get_by_role("button", name="Reset").click)


def test_a_figure_is_still_until_it_is_looked_at(opened: Open) -> None:
    page = opened()
    last = page.locator("figure[data-chart]").last
    assert last.locator(".live").count() == 0
    assert last.locator(".still svg:visible").count() == 1
    assert live(page).locator(".still svg:visible").count() == 0


def test_a_point_tells_its_value_interval_and_runs(opened: Open) -> None:
    page = opened()
    points(live(page)).first.hover()
    told = page.locator(".tip")
    told.wait_for()
    text = told.inner_text()
    for part in ("min_rto", "servers: 4", "ms: ", "95 % interval: ", "runs: 5"):
        assert part in text
    page.mouse.move(2, 2)
    told.wait_for(state="hidden")


def test_a_series_is_switched_off_and_on_from_the_keyboard_too(opened: Open) -> None:
    page = opened()
    figure = live(page)
    before = points(figure).count()
    button = figure.get_by_role("button", name="min_rto").first
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert points(figure).count() == before / 2
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    assert points(figure).count() == before


def test_panels_are_filtered_by_a_level(opened: Open) -> None:
    page = opened()
    figure = live(page)
    before = points(figure).count()
    figure.locator("select[name=buffer]").select_option("512 kB")
    page.wait_for_timeout(200)
    assert "512" in figure.locator(".live svg").text_content()  # type: ignore[operator]
    assert "2 MB" not in (figure.locator(".live svg").text_content() or "")
    assert points(figure).count() < before


def labels(figure: Locator) -> list[str]:
    return sorted(figure.locator(".live .role-axis-label text").all_text_contents())


def test_axes_zoom_by_buttons_and_by_the_wheel_and_come_back(opened: Open) -> None:
    page = opened()
    figure = live(page)
    before = labels(figure)
    figure.get_by_role("button", name="zoom in").click()
    page.wait_for_timeout(200)
    assert labels(figure) != before
    figure.get_by_role("button", name="Reset").click()
    page.wait_for_timeout(200)
    assert labels(figure) == before
    points(figure).first.hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_timeout(200)
    assert labels(figure) != before


def luminance(colour: str) -> float:
    return sum(float(part) for part in colour.partition("(")[2].strip(")").split(",")[:3]) / 765


@pytest.mark.parametrize("where", [".still .sideways", ".live"])
def test_figures_are_dark_in_dark_mode(opened: Open, where: str) -> None:
    page = opened(color_scheme="dark")
    if where == ".live":
        live(page)
    chart = page.locator(f"{FIGURE} {where}")
    of = "(e, name) => getComputedStyle(e)[name]"
    title = chart.locator(".role-title-text text, .role-title text").first
    assert luminance(title.evaluate(of, "fill")) > 0.8
    ground = chart.locator("svg").evaluate_all(
        "(all) => getComputedStyle(all[0].parentElement).backgroundColor"
    )
    assert luminance(ground) < 0.2 or where != ".live"
    line = chart.locator(".mark-line.role-mark path").first
    assert line.evaluate(of, "stroke") == "rgb(77, 166, 232)"


def test_without_a_script_every_figure_is_seen(opened: Open) -> None:
    page = opened(java_script_enabled=False)
    for figure in page.locator("figure").all():
        assert figure.locator(".still svg:visible").count() == 1


def test_without_a_script_a_phone_scrolls_a_figure_and_not_the_page(opened: Open) -> None:
    page = opened(java_script_enabled=False, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator(f"{FIGURE} .sideways")
    assert box.evaluate("(b) => b.scrollWidth > b.clientWidth && b.clientWidth <= 390")
    assert page.locator(f"{FIGURE} svg").bounding_box()["width"] > 400  # type: ignore[index]


def test_the_static_report_leaves_the_library_out(opened: Open, folder: Path) -> None:
    page = opened("static/report.html")
    assert page.locator("figure .still svg:visible").count() == page.locator("figure").count()
    assert page.locator("#library").count() == 0
    assert (folder / "static/report.html").stat().st_size < (folder / "report.html").stat().st_size


def test_paper_gets_the_light_drawing(opened: Open) -> None:
    page = opened(color_scheme="dark")
    figure = live(page)
    page.emulate_media(media="print")
    assert figure.locator(".live").is_hidden()
    assert figure.locator(".tools").is_hidden()
    title = figure.locator(".still .sideways .role-title text").first
    assert title.evaluate("(e) => getComputedStyle(e).fill") == "rgb(34, 34, 34)"


def test_a_phone_needs_no_sideways_scrolling_and_has_one_panel_a_row(opened: Open) -> None:
    page = opened(width=390)
    figure = live(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    lefts = {
        round(mark.bounding_box()["x"])  # type: ignore[index]
        for mark in figure.locator(".live .mark-line.role-mark").all()
    }
    assert len(lefts) == 1


def test_contents_stay_in_view_on_a_desk(opened: Open) -> None:
    page = opened()
    page.locator("#appendix").scroll_into_view_if_needed()
    assert page.locator("nav a").first.is_visible()
    box = page.locator("nav a").first.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 900


def test_a_wide_table_says_that_it_scrolls(opened: Open) -> None:
    page = opened(width=390)
    table = page.locator(".scroll:has(#results-table), .scroll:has(table)").first
    assert table.evaluate("(e) => e.scrollWidth > e.clientWidth") == table.evaluate(
        "(e) => e.previousElementSibling.classList.contains('is-wide')"
    )
    assert page.locator(".more:visible").count() > 0
