"""Pairs of levels with an undecided verdict, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from netstudy.analysis.metrics import Metric
from netstudy.analysis.verdict import Comparison, Known
from netstudy.report.cellrefs import plain
from netstudy.report.prose.change import Change, compared
from netstudy.report.prose.words import NOTHING
from netstudy.report.refs import Name, Number, Sentence, say


def undecided_pair(row: Comparison, metric: Metric, level: Name, base: Name) -> Sentence:
    """An undecided pair, with the smallest difference that is shown, else with the largest that is
    possible."""
    known = row.known
    least = None if known is None else _least(known, metric)
    if known is None or least is None:
        return say(
            "too close to call: {metric} {a} and {b}{most}",
            a=level,
            b=base,
            metric=Name(metric.label),
            most=at_most([row], metric),
        )
    # Sentences begin with the better level; without a better direction, with the first.
    is_first = metric.direction == "neutral" or known.is_larger == (metric.direction == "higher")
    here, there = (level, base) if is_first else (base, level)
    change = least if is_first else least.inverse()
    ahead = compared(metric, change, here, there)
    return say("{ahead}{or_more}", ahead=ahead, or_more=beyond_noise(known))


def beyond_noise(known: Known) -> Sentence:
    """The question that remains if only the direction of a difference is shown."""
    return say(
        ", but whether by more than the noise of {noise} is undecided",
        noise=plain(known.margin_pct, 1, "%", "noise of the study"),
    )


def at_most(rows: Sequence[Comparison], metric: Metric) -> Sentence:
    """The largest difference that is possible in any of the rows: ", at most 5 % apart"; empty if
    it is not known in some row."""
    found = [_most(row.known, metric) for row in rows]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return NOTHING
    return say(", at most {n} apart", n=max(known, key=lambda one: one.value))


def _least(known: Known, metric: Metric) -> Change | None:
    """The end of the interval that is nearest to no difference; None if the direction is not
    known."""
    if known.is_larger is None:
        return None
    source = f"end of the interval after Holm, {metric.name}"
    ends = known.difference
    points = ends.low if known.is_larger else ends.high
    if metric.is_share:
        return Change(1.0, None, source, points, is_least=True)
    if known.ratio is None:
        return None
    ratio = known.ratio.low if known.is_larger else known.ratio.high
    return Change(ratio, None, source, points, is_least=True)


def _most(known: Known | None, metric: Metric) -> Number | None:
    if known is None:
        return None
    source = f"farther end of the interval after Holm, {metric.name}"
    if metric.is_share:
        ends = known.difference
        points = max(abs(ends.low), abs(ends.high))
        return plain(points, max(1, metric.decimals), "percentage points", source)
    if known.ratio is None:
        return None
    pct = 100 * max(known.ratio.high - 1, 1 - known.ratio.low)
    return plain(pct, 0 if pct >= _WHOLE_PCT else 1, "%", source)


_WHOLE_PCT = 10
"""Percentages from here on are written without decimals."""
