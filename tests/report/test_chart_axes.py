"""Axes and lines of charts: units for people, room above, names apart, lines that coincide."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from netstudy.report.charts import NARROW, WIDE, Drawn, Size, svg
from netstudy.report.charts.coincident import coincident
from netstudy.report.charts.measure import Measure
from netstudy.report.charts.places import is_wide, places
from netstudy.report.charts.style import Row, Style
from tests.report.test_charts import marks

NAMES = ("a", "b", "c", "d", "e")


def drawn(lines: Mapping[str, Sequence[float]], unit: str = "ms", **more: Any) -> Drawn:
    """Lines at 1, 2, 3, …"""
    points: list[Row] = [
        {"x": x, "series": name, "y": y, "low": None, "high": None}
        for name, values in lines.items()
        for x, y in enumerate(values, start=1)
    ]
    return Drawn(
        title="t",
        subtitle="",
        x="servers",
        x_numeric=True,
        axis=Measure("Completion time", unit),
        series={name: Style(n, n, n) for n, name in enumerate(lines)},
        points=points,
        **more,
    )


def heights(text: str) -> list[float]:
    """Where names at the ends of lines stand, in pixels from the top."""
    found = re.findall(r'translate\([\d.]+,(-?[\d.]+)\)"[^>]*>([abcde])</text>', text)
    return sorted(float(y) for y, _ in found)


@pytest.mark.parametrize("size", [WIDE, NARROW])
@pytest.mark.parametrize(
    "ends",
    [(941.0, 941.2, 941.4, 941.5, 940.0), (1.0, 1.0, 1.0, 1.0, 1.0), (0.0, 0.1, 0.0, 9.0, 8.9)],
)
def test_names_at_the_ends_of_lines_never_overlap(size: Size, ends: tuple[float, ...]) -> None:
    lines = {name: (1.0, end) for name, end in zip(NAMES, ends, strict=True)}
    text = svg(drawn(lines, unit="Mbit/s").readable, size)
    found = heights(text)
    assert len(found) == len(NAMES)
    assert all(below - above >= size.font for above, below in pairwise(found))
    assert found[0] > 0


def test_nothing_touches_the_upper_end_of_its_axis() -> None:
    """1,000 would be the upper end of an axis that ends at a round number."""
    text = svg(drawn({"a": (500.0, 999.9)}).readable, WIDE)
    tops = [float(one.get("transform", "").split(",")[1][:-1]) for one in marks(text, "symbol")]
    assert min(tops) > WIDE.font


def test_an_axis_names_its_quantity_in_the_unit_that_people_read() -> None:
    found = drawn({"a": (46_000.0, 733_478.9)}, unit="µs", decimals=1).readable
    assert found.y == "Completion time, ms"
    assert [row["y"] for row in found.points] == pytest.approx([46.0, 733.4789])
    assert "Completion time, ms" in svg(found, WIDE).replace("\u00a0", " ")


def test_lines_that_hide_each_other_are_told_and_each_is_seen() -> None:
    same = (3.0, 5.0, 9.0)
    found = drawn({"a": same, "b": same, "c": same, "d": (3.0, 4.0, 5.0)}).readable
    assert found.subtitle == "three lines coincide: a, b and c"
    text = svg(found, WIDE)
    dashes = [one.get("stroke-dasharray") for one in marks(text, "line")]
    assert len(set(dashes)) == 4
    assert {"8,16", "0,8,8,8", "0,16,8,0"} <= set(dashes)  # one after the other
    first = [one for one in found.points if one["x"] == 1]
    assert [row["y"] for row in first] == [3.0] * 4  # no value is moved


def test_lines_that_part_somewhere_do_not_coincide() -> None:
    points = drawn({"a": (1.0, 2.0, 3.0), "b": (1.0, 2.0, 3.1)}).points
    assert not coincident(points, 3.2)
    assert coincident(points, 320.0)


def test_quantities_have_places_along_an_axis_and_names_have_none() -> None:
    assert places(["1 MB", "10 MB", "1 GB"]) == {"1 MB": 1e6, "10 MB": 1e7, "1 GB": 1e9}
    assert is_wide(places(["1 MB", "1 GB"]))
    assert not is_wide(places([1, 1000]))
    assert places([1, 2.5]) == {1: 1.0, 2.5: 2.5}
    assert places(["1 MB", "10 ms"]) == {}
    assert places(["cubic", "reno"]) == {}
    assert places([None]) == {}
