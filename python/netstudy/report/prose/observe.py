"""Observations in a panel: the range of a metric, and levels that break its order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from netstudy.analysis.case_result import PanelResult
from netstudy.analysis.cells import CellRow
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.order_breaks import order_breaks
from netstudy.analysis.study_result import StudyResult
from netstudy.report.cellrefs import cell_number
from netstudy.report.numbers import counted, level_text
from netstudy.report.prose.words import (
    NOTHING,
    at_level,
    on_level,
    without_unit_of,
)
from netstudy.report.refs import Name, Sentence, join, say
from netstudy.wire import Level


def ranges(found: PanelResult) -> list[Sentence]:
    """The range of each metric along x: the answer of a study that compares and concludes
    nothing."""
    each = (
        _range_sentence(found.panel, metric)
        for metric in found.workload.observed
        if not _is_only_the_base(found, metric)
    )
    return [one for one in each if one is not None]


def _is_only_the_base(found: PanelResult, metric: Metric) -> bool:
    """Whether a relative metric is known of its base row only, which is 100 % by definition."""
    if metric.name not in {one.metric.name for one in found.workload.relatives}:
        return False
    values = [cell.value(metric) for cell in found.panel.cells.values()]
    return [value for value in values if value is not None] == [_BASE_PCT]


_BASE_PCT = 100.0


def out_of_order(found: PanelResult, result: StudyResult) -> Iterator[Sentence]:
    """Sentences on levels along x that break an otherwise steady rise or fall of the deciding
    metric."""
    panel, metric = found.panel, result.deciding
    for one in order_breaks(panel, metric, result.margin_pct):
        cells = (one.before, one.cell, one.after)
        before, here, after = (cell.treatment[panel.x or ""] for cell in cells)
        low, value, high = (cell_number(cell, metric, unit=True) for cell in cells)
        assert low is not None, "cells without a value are in no order"
        assert value is not None, "cells without a value are in no order"
        assert high is not None, "cells without a value are in no order"
        yield say(
            "{metric}{on} breaks the order of its neighbours{at}: {value}, against {low}{at_low} "
            "and {high}{at_high}.",
            metric=Name(metric.title),
            on=on_level(panel, one.series),
            at=at_level(panel, here),
            value=value,
            low=low,
            at_low=at_level(panel, before),
            high=high,
            at_high=at_level(panel, after),
        )


def _range_sentence(panel: Panel, metric: Metric) -> Sentence | None:
    """The lowest and the highest value of each series."""
    spans = [
        (level, ends)
        for level in panel.series_levels
        if (ends := _extremes(panel, level, metric)) is not None
    ]
    if not spans:
        return None
    title = Name(metric.title)
    if not any(high.value(metric) for _, (_, (_, high)) in spans):
        return say("{title}: none.", title=title)
    places = {(low_x, high_x) for _, ((low_x, _), (high_x, _)) in spans}
    if len(places) == 1 and len(set(*places)) == 2:
        ((low_x, high_x),) = places
        texts = f"{level_text(low_x)} to {level_text(high_x)}"
        where = say(" from {range}", range=Name(counted(panel.x or "", texts)))
        parts = [_span(panel, level, metric, ends, at_ends=False) for level, ends in spans]
        return say("{title}{where}: {parts}.", title=title, where=where, parts=join(parts))
    parts = [_span(panel, level, metric, ends, at_ends=True) for level, ends in spans]
    return say("{title}: {parts}.", title=title, parts=join(parts))


Ends = tuple[tuple[Level | None, CellRow], tuple[Level | None, CellRow]]
"""The cells with the lowest and the highest value, each with its level of x."""


def _span(
    panel: Panel, level: Level | None, metric: Metric, ends: Ends, *, at_ends: bool
) -> Sentence:
    """The lowest and the highest value; with `at_ends`, also the levels of x at which they
    occur."""
    (low_x, low), (high_x, high) = ends
    on = on_level(panel, level)
    low_ref, high_ref = (cell_number(c, metric, unit=True) for c in (low, high))
    assert low_ref is not None, "an extreme has a value"
    assert high_ref is not None, "an extreme has a value"
    if sum(cell.value(metric) is not None for cell in panel.along_x(level)) == 1:
        place = at_level(panel, low_x) if len(panel.x_levels) > 1 else NOTHING
        return say("{value}{at}{on}", value=low_ref, at=place, on=on)
    if low_ref.text == high_ref.text:
        return say("{value}{on} throughout", value=high_ref, on=on)
    return say(
        "{low}{at_low} to {high}{at_high}{on}",
        low=replace(low_ref, text=without_unit_of(low_ref, high_ref)),
        at_low=at_level(panel, low_x) if at_ends else NOTHING,
        high=high_ref,
        at_high=at_level(panel, high_x) if at_ends else NOTHING,
        on=on,
    )


def _extremes(panel: Panel, level: Level | None, metric: Metric) -> Ends | None:
    """The cells with the lowest and the highest value."""
    cells = [(x, panel.cell(x, level)) for x in panel.x_levels]
    valued = [(v, x, c) for x, c in cells if c is not None and (v := c.value(metric)) is not None]
    if not valued:
        return None
    low = min(valued, key=lambda item: item[0])
    high = max(valued, key=lambda item: item[0])
    return (low[1], low[2]), (high[1], high[2])
