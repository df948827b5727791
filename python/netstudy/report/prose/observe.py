"""Observations in a panel: the range of each metric, before any conclusion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from netstudy.analysis.case_result import PanelResult
from netstudy.analysis.cells import CellRow
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.order_breaks import order_breaks
from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.workloads.probe import IDLE_P50, LOADED_P50, LOADED_P99
from netstudy.report.cellrefs import cell_number, percent, plain, treatment_text
from netstudy.report.numbers import counted, level_text
from netstudy.report.prose.change import told_apart
from netstudy.report.prose.words import (
    NOTHING,
    at_level,
    on_level,
    sentence_case,
    without_unit_of,
)
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.workloads import page_of
from netstudy.wire import Level


def observations(found: PanelResult) -> list[Sentence]:
    """The range of each metric along x, one sentence each."""
    return [
        *key_observations(found),
        *_retransmissions_per_drop(found),
        *_goodput(found),
        *_tail(found),
        *_probe(found),
    ]


def key_observations(found: PanelResult) -> list[Sentence]:
    """The ranges and the timeouts: the summary of a study that compares nothing."""
    ranges = [
        _range_sentence(found.panel, metric)
        for metric in found.workload.observed
        if not _is_only_the_base(found, metric)
    ]
    return [*(one for one in ranges if one is not None), *_timeouts(found)]


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


def _retransmissions_per_drop(found: PanelResult) -> Iterator[Sentence]:
    ratio = found.causes.retransmissions_per_drop
    if ratio is not None:
        yield say(
            "{who} sent {ratio} segments again for each dropped packet.",
            who=Name(sentence_case(page_of(found.workload).senders)),
            ratio=plain(ratio, 2, "", "retransmissions ÷ dropped packets, sums over all cells"),
        )


def _timeouts(found: PanelResult) -> Iterator[Sentence]:
    panel, metric = found.panel, found.workload.timeout_share
    if metric is None:
        sentence = _range_sentence(panel, found.workload.timeouts)
        yield from () if sentence is None else (sentence,)
        return
    parts, largest = [], 0.0
    for level in panel.series_levels:
        ends = _extremes(panel, level, metric)
        if ends is None:
            continue
        x, cell = ends[1]
        share = cell_number(cell, metric, unit=True)
        assert share is not None, "an extreme has a value"
        place = NOTHING if share.value == 0 else at_level(panel, x)
        parts.append(say("{share}{at}{on}", share=share, at=place, on=on_level(panel, level)))
        largest = max(largest, share.value)
    if parts and not largest:
        yield say("{title}: none.", title=Name(metric.title))
    elif parts:
        yield say("{title}: up to {parts}.", title=Name(metric.title), parts=join(parts))


def _goodput(found: PanelResult) -> Iterator[Sentence]:
    """The highest and the lowest goodput, and the highest in percent of the possible goodput."""
    panel, metric = found.panel, found.workload.bounded
    for level in panel.series_levels if metric is not None else ():
        assert metric is not None, "there is no level without a metric"
        ends = _extremes(panel, level, metric)
        bound = None if ends is None else found.workload.bound(ends[1][1].planned[0])
        if ends is None or bound is None:
            continue
        (low_x, low), (high_x, high) = ends
        low_ref, high_ref = (cell_number(c, metric, unit=True) for c in (low, high))
        assert low_ref is not None, "an extreme has a value"
        assert high_ref is not None, "an extreme has a value"
        low_ref, high_ref = told_apart(low_ref, high_ref, metric)
        at_low = at_level(panel, low_x)
        ideal = bound.goodput_mbps
        share = 100 * high_ref.value / ideal
        # If the value almost reaches the bound, rounding the bound could put it below the value.
        decimals = 0 if round(ideal) > high_ref.value else _decimals_of(high_ref)
        yield say(
            "{title} is at most {high}{at_high}{on}, {share} of the {ideal} that the line rate "
            "allows with headers{lowest}.",
            title=Name(metric.title),
            high=high_ref,
            at_high=at_level(panel, high_x),
            on=on_level(panel, level),
            share=percent(share, f"goodput ÷ ideal goodput, {treatment_text(high.treatment)}"),
            ideal=plain(ideal, decimals, "Mbit/s", "line rate × payload ÷ bytes on the wire"),
            lowest=NOTHING if low is high else say(", and at least {v}{at}", v=low_ref, at=at_low),
        )


def _decimals_of(number: Number) -> int:
    """The decimals with which a value is printed in the metric's own unit."""
    return 0 if number.shown is None else max(0, number.shown.decimals)


def _tail(found: PanelResult) -> Iterator[Sentence]:
    """The slowest samples compared with the median, at the last level of x."""
    panel = found.panel
    if found.workload.tail is None:
        return
    half, hundredth = found.workload.tail
    for level in panel.series_levels:
        x = panel.x_levels[-1]
        cell = panel.cell(x, level)
        middle, late = (cell_number(cell, metric, unit=True) for metric in (half, hundredth))
        if middle is None or late is None:
            continue
        middle, late = told_apart(middle, late, half)
        yield say(
            "Half of the {samples}{on}{at} take {middle} or less, one in a hundred {late} or more.",
            samples=Name(f"{found.workload.counted.noun}s"),
            on=on_level(panel, level),
            at=at_level(panel, x),
            middle=middle,
            late=late,
        )


def _probe(found: PanelResult) -> Iterator[Sentence]:
    """Latency of the probe, idle and under load, at the last level of x."""
    panel = found.panel
    for level in panel.series_levels:
        x = panel.x_levels[-1]
        cell = panel.cell(x, level)
        idle, loaded = (cell_number(cell, m, unit=True) for m in (IDLE_P50, LOADED_P50))
        late = cell_number(cell, LOADED_P99, unit=True)
        if idle is None or loaded is None:
            continue
        idle, loaded = told_apart(idle, loaded, IDLE_P50)
        if late is not None:
            _, late = told_apart(loaded, late, LOADED_P99)
        yield say(
            "A small request{on}{at} takes {idle} in the median while the network is idle, and "
            "{loaded} under load{late}.",
            on=on_level(panel, level),
            at=at_level(panel, x),
            idle=idle,
            loaded=loaded,
            late=NOTHING if late is None else say("; one in a hundred {late} or more", late=late),
        )
