"""Charts: every point is there, a missing one leaves a gap, and colour is never the only sign."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from netstudy.analysis.layout import Panel, layout
from netstudy.analysis.metrics import Metric
from netstudy.analysis.workloads.incast import COMPLETION, FAIRNESS, GOODPUT, INCAST
from netstudy.report.charts import NARROW, WIDE, Size, metric_chart, svg
from netstudy.wire import Plan
from tests.report.synthetic import folder, incast_plan, plan_of, pooled, run

SVG = "{http://www.w3.org/2000/svg}"


def panel_of(plan: Plan, compared: str | None = "switch", without: int | None = None) -> Panel:
    """The first panel of a plan; the runs with `without` servers are left out."""
    gone = {r.id: (lambda _: None) for r in plan.runs if without in r.treatment.values()}
    return layout(pooled(folder(plan, gone)), "main", compared).panels[0]


def marks(text: str, role: str) -> list[ElementTree.Element]:
    """The drawn marks of one kind, without those of legend and axes, with what a mark takes from
    the groups about it."""

    def within(node: ElementTree.Element, taken: dict[str, str]) -> Iterator[ElementTree.Element]:
        taken = {**taken, **node.attrib}
        is_group = (node.get("class") or "").startswith(f"mark-{role} role-mark")
        for child in node:
            if is_group and child.tag != f"{SVG}g":
                yield ElementTree.Element(child.tag, {**taken, **child.attrib})
            else:
                yield from within(child, taken)

    return list(within(ElementTree.fromstring(text), {}))


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_every_cell_is_a_point_with_its_interval(size: Size) -> None:
    text = svg(
        metric_chart(panel_of(incast_plan([1, 2, 3], iterations=80)), COMPLETION, INCAST), size
    )
    assert len(marks(text, "symbol")) == 6 + 30  # six cells, and each of their five runs
    assert len(marks(text, "rule")) == 6
    assert "lower is better; bars: 95 % interval" in text.replace("\u00a0", " ")


def test_a_metric_without_a_unit_is_not_given_an_empty_one() -> None:
    panel = panel_of(incast_plan([1, 2, 3], iterations=80))
    assert metric_chart(panel, FAIRNESS, INCAST).subtitle.startswith("higher is better")


def test_series_differ_in_shape_and_dash_besides_colour() -> None:
    text = svg(
        metric_chart(panel_of(incast_plan([1, 2, 3], iterations=80)), COMPLETION, INCAST), WIDE
    )
    assert len({mark.get("stroke-dasharray") for mark in marks(text, "line")}) == 2
    drawn = [mark for mark in marks(text, "symbol") if mark.get("stroke-width") == "1.5"]
    shapes = {(mark.tag, mark.get("d")) for mark in drawn}
    assert len(shapes) == 2


def test_a_missing_cell_leaves_a_gap() -> None:
    whole = svg(
        metric_chart(panel_of(incast_plan([1, 2, 3], iterations=80)), COMPLETION, INCAST), WIDE
    )
    gap = svg(
        metric_chart(
            panel_of(incast_plan([1, 2, 3], iterations=80), without=2), COMPLETION, INCAST
        ),
        WIDE,
    )
    assert len(marks(gap, "symbol")) < len(marks(whole, "symbol"))
    drawn = metric_chart(
        panel_of(incast_plan([1, 2, 3], iterations=80), without=2), COMPLETION, INCAST
    )
    assert [point["y"] is None for point in drawn.points] == [False, True, False] * 2


def test_goodput_has_the_line_rate_in_it() -> None:
    text = svg(metric_chart(panel_of(incast_plan([1, 2], iterations=80)), GOODPUT, INCAST), WIDE)
    assert "line rate 10\u00a0Gbit/s, at most 9.9\u00a0Gbit/s after headers" in text
    assert "higher is better" in text


def test_a_named_factor_along_x_has_points_and_no_line() -> None:
    names = ("near", "far")
    runs = tuple(run({"path": name}, r, iterations=80, servers=3) for name in names for r in (1, 2))
    panel = panel_of(plan_of(runs), compared=None)
    text = svg(metric_chart(panel, COMPLETION, INCAST), WIDE)
    assert len(marks(text, "symbol")) == 2 + 4
    assert not marks(text, "line")
    assert ">near<" in text


def test_the_same_data_give_the_same_drawing() -> None:
    drawn = metric_chart(panel_of(incast_plan([1, 2], iterations=80)), COMPLETION, INCAST)
    assert svg(drawn, WIDE) == svg(drawn, WIDE)


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_levels_along_x_are_written_out_and_not_in_powers_of_ten(size: Size) -> None:
    text = svg(
        metric_chart(panel_of(incast_plan([2, 20, 200], iterations=20)), COMPLETION, INCAST), size
    )
    labels = re.findall(r"<text[^>]*>([^<]*)</text>", text)
    assert {"2", "20", "200"} <= set(labels)
    assert not [label for label in labels if re.search(r"\de[+−-]?\d", label)]


@pytest.mark.parametrize("metric", [*INCAST.metrics, *INCAST.further], ids=lambda m: m.name)
@pytest.mark.parametrize("iterations", [3, 200])
def test_every_metric_can_be_drawn_with_many_samples_and_with_too_few(
    metric: Metric, iterations: int
) -> None:
    """Three iterations show no 99th percentile: all its points are missing."""
    panel = panel_of(incast_plan([2, 4], iterations=iterations))
    text = svg(metric_chart(panel, metric, INCAST), WIDE)
    values = [cell.value(metric) for cell in panel.cells.values()]
    points = marks(text, "symbol")
    assert bool(points) == any(value is not None for value in values)
