"""Figures to look into: the library that the page carries, and what it draws from."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

from netstudy.analysis.study_result import analyse
from netstudy.report.document import document
from netstudy.report.pages import render_html, write_report
from netstudy.store import Folder
from tools.figure_library import PATH, bundled


def test_the_library_is_the_one_that_draws_the_static_figures() -> None:
    """Written by `python -m tools.figure_library`, to be called after a change of vl-convert."""
    assert gzip.decompress(PATH.read_bytes()).decode() == bundled()


def carried(page: str, name: str) -> Any:
    """What a page carries packed under that name."""
    (packed,) = re.findall(rf'<script type="text/plain" id="{name}">([^<]*)</script>', page)
    return json.loads(gzip.decompress(b64decode(packed)))


def test_the_page_carries_library_and_figures_once(page: str) -> None:
    assert page.count('id="library"') == 1
    charts = set(re.findall(r'data-chart="([^"]+)"', page))
    assert charts == carried(page, "figures").keys()


def test_numbers_in_tables_have_their_sources_beside_the_figures(page: str) -> None:
    sources = carried(page, "sources")
    numbers = re.findall(r'<data value="[^"]*">', page)
    assert len(sources) == len(numbers) > 100
    assert all(sources)


def test_what_a_figure_is_drawn_from_holds_its_values_once(page: str) -> None:
    for found in carried(page, "figures").values():
        assert found["rows"]
        assert "datasets" not in found["wide"]
        if "facet" in found["wide"]:  # a phone has panels one below the other
            assert found["narrow"]["columns"] == 1
        else:
            assert found["narrow"]["width"] < found["wide"]["width"]


def test_a_static_page_has_neither_library_nor_script_for_figures(incast: Folder) -> None:
    static = render_html(document(incast, analyse(incast)), is_static=True)
    assert 'id="library"' not in static
    assert '<data value="' not in re.sub(r'<data value="[^"]*" title="[^"]+">', "", static)
    assert static.count('class="narrow"') == static.count('class="wide"') > 5
    assert "data-chart" not in static
    assert "DecompressionStream" not in static


def test_the_incast_report_is_at_most_2_mb(page: str) -> None:
    assert len(page.encode()) < 2_000_000


def test_each_figure_is_a_png_too_where_asked(incast: Folder, tmp_path: Path) -> None:
    files = write_report(incast, analyse(incast), tmp_path, with_png=True)
    for drawing in files.figures:
        assert drawing.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
