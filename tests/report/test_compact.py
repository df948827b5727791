"""Drawings written shorter: they look the same, pixel by pixel."""

from __future__ import annotations

import pytest

from netstudy.analysis.workloads.incast import COMPLETION, INCAST
from netstudy.report import rendering
from netstudy.report.charts import NARROW, WIDE, Size, metric_chart, svg
from netstudy.report.rendering import png
from netstudy.report.rendering.compact import compact
from tests.report.synthetic import incast_plan
from tests.report.test_charts import panel_of

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_chart_looks_the_same_in_fewer_characters(
    size: Size, monkeypatch: pytest.MonkeyPatch
) -> None:
    chart = metric_chart(panel_of(incast_plan([1, 2, 3], iterations=80)), COMPLETION, INCAST)
    monkeypatch.setattr(rendering, "compact", lambda drawing: drawing)
    drawn = svg(chart, size)
    assert png(compact(drawn)) == png(drawn)
    assert len(compact(drawn)) < 0.7 * len(drawn)


@pytest.mark.parametrize(
    "inside",
    [
        '<g transform="translate(3,4)"><g transform="rotate(20)">'
        '<path d="M0,0h9v9h-9Z" fill="red"/></g></g>',
        '<g opacity="0.5"><g fill="blue">'
        '<path d="M1,1h30v3h-30Z"/><path d="M5,0h3v30h-3Z"/></g></g>',
        '<g fill="red"><path d="M1,1h9v9h-9Z"/><path d="M9,9h9v9h-9Z" fill="blue"/></g>',
        '<g><line transform="translate(2,3)" x2="9" y2="5" stroke="red"/>'
        '<line transform="translate(2,9)" x2="9" y2="0" stroke="red"/></g>',
        '<g><line x2="9" y2="5" stroke="red"/><line x2="5" y2="9" stroke="blue"/></g>',
        '<path transform="translate(9,9)" d="M4,0A4,4,0,1,1,-4,0A4,4,0,1,1,4,0" fill="red"/>',
        '<path class="background" d="M0,0h9v9h-9Z" fill="red" stroke="blue"/>',
    ],
    ids=["moved twice", "see-through", "own colour", "lines", "two colours", "circle", "ground"],
)
def test_what_looks_different_is_kept_apart(inside: str) -> None:
    drawn = f"{HEAD}{inside}</svg>"
    assert png(compact(drawn)) == png(drawn)


def test_what_shows_nothing_goes() -> None:
    nothing = '<g class="mark-group"><path class="background" d="M0,0h0v0h0Z"/></g>'
    hidden = '<path d="M0,0h9v9h-9Z" fill="red" display="none"/>'
    assert "path" not in compact(f"{HEAD}<g>{nothing}{hidden}</g></svg>")
