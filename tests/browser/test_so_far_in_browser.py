"""The report of an unfinished study in a real browser: quiet, and narrow enough."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize, sync_playwright

from netstudy.report.so_far.pages import write_so_far
from tests.browser.test_report_in_browser import ARGUMENTS, CHROMIUM, in_browser
from tests.report.results import from_text
from tests.report.test_so_far import TEXT, planted, told

pytestmark = in_browser


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_says_nothing_asks_for_nothing_and_fits(tmp_path: Path, width: int) -> None:
    _, _, doc = told(from_text(tmp_path, TEXT, planted))
    html = write_so_far(doc, tmp_path).html
    said: list[str] = []
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, headless=True)
        page = found.new_context(viewport=ViewportSize(width=width, height=900)).new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url))
        page.goto(html.as_uri())
        assert [one for one in said if not one.startswith((html.as_uri(), "data:"))] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        answer = page.locator("#answer").bounding_box()
        assert answer is not None
        assert answer["y"] + answer["height"] <= (600 if width > 1000 else 1200)
        page.get_by_role("button", name="servers").first.click()
        found.close()
