"""Small multiples: one figure a metric over all panels, without repeats and without zeros."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from netstudy.analysis.study_result import analyse
from netstudy.report.charts import NARROW, WIDE, Drawn
from netstudy.report.charts.facets import PanelName
from netstudy.report.charts.multiples import SHOWN_MAX, multiples
from netstudy.report.document import Document, document
from netstudy.report.numbers import NO_BREAK
from netstudy.report.pages import render_html, render_markdown
from netstudy.wire import Treatment
from tests.report.planted import records
from tests.report.results import from_text, study_text


def made(folder: Path, buffers: str, mean: Callable[..., float]) -> Document:
    """A study of servers, two minimum RTOs and these buffers, a panel each."""
    text = study_text(
        f"factors:\n  min_rto: [1 ms, 200 ms]\n  buffer: {buffers}\n  servers: [4, 8]\n"
        "replicates: 2\nnoise: 5 %\nfigures: [completion, drops]\n",
        servers='"${servers}"',
    )
    text = text.replace(
        "switch: nexus-5010", 'switch: {profile: generic-shallow, port_buffer: "${buffer}"}'
    ).replace('count: "${servers}"', 'count: "${servers}", tcp: {min_rto: "${min_rto}"}')
    results = from_text(folder, text, records(mean))
    return document(results, analyse(results))


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """Two of three buffers give the same times."""
    times = {"128 kB": 100.0, "512 kB": 100.0, "2 MB": 40.0}
    return made(
        tmp_path_factory.mktemp("few"),
        f"[{', '.join(times)}]",
        lambda buffer, servers, **_: times[buffer] * servers,
    )


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """Twenty buffers, each with other times."""
    sizes = [f"{number}00 kB" for number in range(1, 21)]
    return made(
        tmp_path_factory.mktemp("many"),
        f"[{', '.join(sizes)}]",
        lambda buffer, servers, **_: 1.2 ** sizes.index(buffer) * servers,
    )


def completion(doc: Document) -> Drawn:
    (figure,) = doc.cases[0].drawn.figures
    assert isinstance(figure.source, Drawn)
    return figure.source


def said(doc: Document) -> str:
    (figure,) = doc.cases[0].drawn.figures
    return str(figure.caption).replace(NO_BREAK, " ")


def labels(panels: Iterable[PanelName]) -> list[str]:
    return [panel.label.replace(NO_BREAK, " ") for panel in panels]


def test_panels_stand_in_one_figure_on_shared_axes(few: Document) -> None:
    drawn = completion(few)
    assert drawn.facets is not None
    assert drawn.facets.factors == ("buffer",)
    assert labels(drawn.facets.panels) == ["buffer 128 kB", "buffer 512 kB", "buffer 2 MB"]
    assert len({row["panel"] for row in drawn.points}) == 3
    spec = drawn.spec(WIDE)
    assert spec["facet"]["field"] == "panel"
    assert "header" not in spec["facet"], "a short name is one line"
    assert "resolve" not in spec  # shared scales are the rule of a facet


def test_the_name_of_a_panel_is_broken_into_lines_that_fit_above_it(few: Document) -> None:
    short = completion(few)
    assert short.facets is not None
    more = ", congestion_control cubic-hystart, recovery RACK-TLP"
    panels = tuple(replace(panel, label=panel.label + more) for panel in short.facets.panels)
    spec = replace(short, facets=replace(short.facets, panels=panels)).spec(WIDE)

    expression = spec["facet"]["header"]["labelExpr"]
    lines = json.loads(expression.removeprefix("(").removesuffix(")[datum.label]"))
    assert {name: " ".join(parts) for name, parts in lines.items()} == {
        panel.label: panel.label for panel in panels if panel.is_shown
    }
    room = spec["spec"]["width"] + spec["spacing"]["column"]
    of_a_letter = 0.6 * 13  # Helvetica, bold: half an em or a little more on average
    assert all(len(line) * of_a_letter < room for parts in lines.values() for line in parts)
    assert spec["spacing"]["row"] > short.spec(WIDE)["spacing"]["row"], "lines take room"


def test_panels_say_what_the_lines_are_at_which_the_lead_changes(few: Document) -> None:
    one = replace(completion(few), facets=None)
    turned = replace(one, marks=({"x": 6, "text": "2 MB overtakes"},))

    def subtitle(*parts: Drawn) -> str:
        held: list[Treatment] = [{"buffer": f"{number} MB"} for number in range(len(parts))]
        return multiples(list(zip(held, parts, strict=True)), "time", "ms", None)[0].subtitle

    assert subtitle(one, turned) == "ms; dotted vertical line: the lead changes"
    assert subtitle(one, one) == "ms"


def test_on_a_phone_panels_stand_one_below_the_other(many: Document) -> None:
    assert completion(many).spec(NARROW)["columns"] == 1


def test_a_panel_that_says_what_another_said_is_named_and_not_drawn(few: Document) -> None:
    facets = completion(few).facets
    assert facets is not None
    assert labels(facets.shown) == ["buffer 128 kB", "buffer 2 MB"]
    assert "buffer 512 kB" in said(few)
    assert "cells.csv" in said(few)


def test_a_metric_that_is_zero_everywhere_is_named_and_not_drawn(few: Document) -> None:
    (note,) = few.cases[0].drawn.notes
    assert "every value is zero: dropped packets" in str(note)
    assert "every value is zero: dropped packets" in render_markdown(few)


def test_of_many_panels_those_that_differ_most_are_seen_first(many: Document) -> None:
    facets = completion(many).facets
    assert facets is not None
    shown = labels(facets.shown)
    assert len(shown) == SHOWN_MAX
    assert {"buffer 100 kB", "buffer 2000 kB"} <= set(shown)  # the extremes
    assert f"{SHOWN_MAX} of 20" in said(many)


def test_the_static_drawing_has_the_panels_that_are_shown_and_the_live_one_all(
    many: Document,
) -> None:
    drawn = completion(many)
    seen = {row["panel"] for row in drawn.spec(WIDE)["datasets"]["values"]}
    assert len(seen) == SHOWN_MAX
    live = {row["panel"] for row in drawn.spec(WIDE, live=True)["datasets"]["values"]}
    assert len(live) == 20


def test_panels_far_apart_share_a_logarithmic_axis(many: Document, few: Document) -> None:
    assert completion(many).y_log
    assert not completion(few).y_log


def test_the_page_has_the_figure_once_a_case(few: Document) -> None:
    assert render_html(few).count('id="figure-completion"') == 1
