"""What is seen in a panel: the range of each metric, before anything is concluded."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.analysis.cells import CellRow
from netstudy.analysis.ideal import ideal_of
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import (
    BY_NAME,
    COMPLETION,
    DROPS,
    GOODPUT,
    RETRANSMISSIONS,
    TIMEOUT_SHARE,
    Metric,
)
from netstudy.analysis.study_result import PanelResult
from netstudy.report.cellrefs import cell_number, percent, plain, treatment_text
from netstudy.report.prose.words import NOTHING, at_level, on_level
from netstudy.report.refs import Name, Sentence, join, say
from netstudy.wire import Level

P50, P99 = BY_NAME["completion_ms_p50"], BY_NAME["completion_ms_p99"]


def observations(found: PanelResult) -> list[Sentence]:
    """The range of each metric along x, one sentence a metric."""
    return [
        *key_observations(found),
        *_retransmissions_per_drop(found),
        *_goodput(found.panel),
        *_tail(found.panel),
    ]


def key_observations(found: PanelResult) -> list[Sentence]:
    """The ranges and the timeouts: what a summary says where nothing is compared."""
    ranges = [_range_sentence(found.panel, m) for m in (COMPLETION, DROPS, RETRANSMISSIONS)]
    return [*(one for one in ranges if one is not None), *_timeouts(found.panel)]


def _range_sentence(panel: Panel, metric: Metric) -> Sentence | None:
    parts = [part for level in panel.series_levels if (part := _span(panel, level, metric))]
    if not parts:
        return None
    return say("{title}: {parts}.", title=Name(metric.title), parts=join(parts, last="and"))


def _span(panel: Panel, level: Level | None, metric: Metric) -> Sentence | None:
    """From the lowest to the highest value of one series."""
    found = _extremes(panel, level, metric)
    if found is None:
        return None
    (low_x, low), (high_x, high) = found
    on = on_level(panel, level)
    low_ref, high_ref = (cell_number(c, metric, unit=True) for c in (low, high))
    assert low_ref is not None, "an extreme has a value"
    assert high_ref is not None, "an extreme has a value"
    if low_ref.text == high_ref.text:
        return say("{value}{on} throughout", value=high_ref, on=on)
    return say(
        "from {low}{at_low} to {high}{at_high}{on}",
        low=low_ref,
        at_low=at_level(panel, low_x),
        high=high_ref,
        at_high=at_level(panel, high_x),
        on=on,
    )


def _extremes(
    panel: Panel, level: Level | None, metric: Metric
) -> tuple[tuple[Level | None, CellRow], tuple[Level | None, CellRow]] | None:
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
            "For each dropped packet the servers sent {ratio} segments again (ratio of the sums).",
            ratio=plain(ratio, 2, "", "retransmissions ÷ dropped packets, sums over all cells"),
        )


def _timeouts(panel: Panel) -> Iterator[Sentence]:
    parts = []
    for level in panel.series_levels:
        found = _extremes(panel, level, TIMEOUT_SHARE)
        if found is None:
            continue
        x, cell = found[1]
        share = cell_number(cell, TIMEOUT_SHARE, unit=True)
        assert share is not None, "an extreme has a value"
        at = NOTHING if share.value == 0 else at_level(panel, x)
        parts.append(say("{share}{at}{on}", share=share, at=at, on=on_level(panel, level)))
    if parts:
        yield say("Iterations with a timeout: at most {parts}.", parts=join(parts))


def _goodput(panel: Panel) -> Iterator[Sentence]:
    """Best and worst goodput, and how much of the possible that is."""
    for level in panel.series_levels:
        found = _extremes(panel, level, GOODPUT)
        if found is None:
            continue
        (low_x, low), (high_x, high) = found
        low_ref, high_ref = (cell_number(c, GOODPUT, unit=True) for c in (low, high))
        assert low_ref is not None, "an extreme has a value"
        assert high_ref is not None, "an extreme has a value"
        at_low = at_level(panel, low_x)
        ideal = ideal_of(high.planned[0]).goodput_mbps
        share = 100 * high_ref.value / ideal
        yield say(
            "Goodput is highest, {high}{at_high}{on}: {share} of the {ideal} that headers leave "
            "of the line rate.{lowest}",
            high=high_ref,
            at_high=at_level(panel, high_x),
            on=on_level(panel, level),
            share=percent(share, f"goodput ÷ ideal goodput, {treatment_text(high.treatment)}"),
            ideal=plain(ideal, 0, "Mbit/s", "line rate × payload ÷ bytes on the wire"),
            lowest=NOTHING if low is high else say(" It is lowest, {v}{at}.", v=low_ref, at=at_low),
        )


def _tail(panel: Panel) -> Iterator[Sentence]:
    """How far the slowest iterations lie from the usual one at the last x."""
    for level in panel.series_levels:
        x = panel.x_levels[-1]
        cell = panel.cell(x, level)
        middle, late = cell_number(cell, P50, unit=True), cell_number(cell, P99, unit=True)
        if middle is None or late is None:
            continue
        yield say(
            "Half of the iterations{on}{at} take {middle} or less, one in a hundred {late} or "
            "more.",
            on=on_level(panel, level),
            at=at_level(panel, x),
            middle=middle,
            late=late,
        )
