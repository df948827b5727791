"""The part of the report on several factors: effects, interactions, heat maps, winners."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report import charts
from netstudy.report.case_section import case_sections
from netstudy.report.charts import Grid
from netstudy.report.document import Document, document
from netstudy.report.markdown import pipe_table
from netstudy.report.pages import render_html, render_markdown
from netstudy.report.refs import Number
from netstudy.store import Folder
from tests.report.planted import RTO, records, rto_time
from tests.report.results import from_text


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, StudyResult]:
    folder = from_text(tmp_path_factory.mktemp("rto"), RTO, records(rto_time))
    return folder, analyse(folder)


@pytest.fixture(scope="module")
def doc(made: tuple[Folder, StudyResult]) -> Document:
    return document(*made)


def grid(doc: Document, name: str) -> Grid:
    (figure,) = (f for f in doc.cases[0].effect_figures if f.name.endswith(name))
    assert isinstance(figure.source, Grid)
    return figure.source


def test_every_pair_of_levels_has_its_ratio_interval_and_verdicts(doc: Document) -> None:
    table = doc.cases[0].effects[0]
    rows = {tuple(map(str, row[:3])): row for row in table.rows}
    assert len(rows) == 1 + 3 + 3
    row = rows["min_rto", "200 ms", "1 ms"]
    ratio = row[3]
    assert isinstance(ratio, Number)
    # 3 at 5 of 9 settings, 0.8 at one, 1 at the three of 2 MB
    assert ratio.value == pytest.approx((3.0**5 * 0.8) ** (1 / 9), rel=0.01)
    assert [str(value) for value in row[-3:]] == ["6", "3", "0"]


def test_the_interaction_of_rto_and_buffer_is_shown(doc: Document) -> None:
    table = doc.cases[0].effects[1]
    shown = {(str(row[0]).split()[0], str(row[1]).split()[0]) for row in table.rows}
    assert ("min_rto", "buffer") in shown


def test_the_winner_of_each_setting_stands_in_the_matrix(doc: Document) -> None:
    found = {(cell.y, cell.x): cell.text for cell in grid(doc, "winners-min_rto").cells}
    assert found["512 kB", "8"] == "1 ms"
    assert found["512 kB", "16"] == "200 ms"
    assert {found["2 MB", servers] for servers in ("4", "8", "16")} == {"="}


def test_the_heat_map_has_the_values_of_all_cells(
    doc: Document, made: tuple[Folder, StudyResult]
) -> None:
    values = sorted(cell.value or 0.0 for cell in grid(doc, "heat").cells)
    rows, metric = made[1].cells.rows, made[1].cells.workload.deciding
    assert values == sorted(row.value(metric) or 0.0 for row in rows)


@pytest.mark.parametrize("size", [charts.WIDE, charts.NARROW], ids=["wide", "narrow"])
def test_all_of_its_figures_are_drawn(doc: Document, size: charts.Size) -> None:
    for figure in doc.cases[0].effect_figures:
        assert isinstance(figure.source, Grid)
        text = charts.svg(figure.source, size)
        for cell in figure.source.cells:
            assert f">{cell.text}<" in text


def test_it_stands_in_both_pages(doc: Document) -> None:
    page, markdown = render_html(doc), render_markdown(doc)
    tables = doc.cases[0].effects
    assert tables
    for table in tables:
        assert f'<table id="{table.id}"' in page
        assert pipe_table(table) in markdown


def test_two_levels_along_one_factor_have_verdicts_instead(
    found: StudyResult, page_path: Path
) -> None:
    assert found.comparing is not None
    assert all(not case.effects for case in case_sections(found))
    assert "-effect" not in page_path.read_text()
