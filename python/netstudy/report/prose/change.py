"""Compares one value with another, in words that fit the metric and the size of the change."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from netstudy.analysis.intervals import Interval
from netstudy.analysis.metrics import Metric
from netstudy.analysis.verdict import Comparison
from netstudy.report.cellrefs import plain
from netstudy.report.numbers import (
    SIGNIFICANT,
    interval_of,
    measured,
    number_text,
    significant,
    significant_text,
)
from netstudy.report.prose.words import NOTHING
from netstudy.report.refs import Name, Number, Sentence, aside, say

TIMES = ("s", "ms", "µs")
"""Units of times."""
TOLD_AS_TIMES = 2.0
"""Ratios of at least this are written as "2.1 times", smaller ones in percent."""
_DIGITS = 3


@dataclass(frozen=True)
class Change:
    """The ratio of one value to another, with the interval of the ratio."""

    ratio: float
    interval: Interval | None
    source: str
    difference: float | None = None
    """The first value minus the other; None: not known. For metrics in %, texts give this
    difference, in percentage points, instead of the ratio."""
    difference_interval: Interval | None = None
    is_least: bool = False
    """Whether the change is only known to be at least this large."""

    def inverse(self) -> Change:
        """The same change with the two values exchanged."""
        found = self.interval
        turned = (
            None if found is None or found.low <= 0 else Interval(1 / found.high, 1 / found.low)
        )
        back = self.difference_interval
        return Change(
            1 / self.ratio if self.ratio else math.inf,
            turned,
            f"1 ÷ ({self.source})",
            None if self.difference is None else -self.difference,
            None if back is None else Interval(-back.high, -back.low),
            self.is_least,
        )


def change_of(row: Comparison, source: str) -> Change:
    """The ratio of the level's value to the base's in a row of verdicts; infinite if the base's is
    0."""
    ratio = math.inf if row.ratio is None else row.ratio
    return Change(ratio, row.interval, source, row.difference, row.difference_interval)


def size_of(row: Comparison, metric: Metric) -> float:
    """A number that is larger for a larger difference, to compare rows of one metric."""
    if metric.is_share:
        return abs(row.difference or 0.0)
    return abs(math.log(row.ratio)) if row.ratio else math.inf


def told_apart(a: Number, b: Number, metric: Metric) -> tuple[Number, Number]:
    """Both values, with more digits if they would otherwise look equal."""
    for digits in range(2, SIGNIFICANT + 2):  # up to six digits: a bound may be missed narrowly
        if a.text != b.text or a.value == b.value:
            break
        a, b = (_with_digits(one, digits, metric) for one in (a, b))
    return a, b


def _with_digits(one: Number, digits: int, metric: Metric) -> Number:
    shown = significant(one.value, digits)
    return Number(one.value, shown.in_unit(metric.unit), one.source, shown)


def is_time(metric: Metric) -> bool:
    """Whether a lower value may be called just "faster". Readers then think of the time of the
    workload's own operation, so other times, such as percentiles, may not be called so."""
    return metric.is_of_work


_COUNTED = ("", "1/s", "frames", "packets", "segments", "timeouts")
_OF_EACH = re.compile(" an? ")


def is_number_of(metric: Metric) -> bool:
    """Whether the metric counts things, so that the word is "fewer" and not "less": dropped packets
    an iteration, failed submissions."""
    things = _OF_EACH.split(metric.label)[0]
    return metric.unit in _COUNTED and things.endswith("s")


def comparative(metric: Metric) -> str:
    """The word for the better of two values: fewer dropped packets, lower response time."""
    if not is_number_of(metric):
        return metric.direction
    return "fewer" if metric.direction == "lower" else "more"


def is_height(metric: Metric) -> bool:
    """Whether a value of the metric is called "higher" or "lower", not "more" or "less": times that
    are not called "faster", and indexes."""
    return (_is_duration(metric) and not is_time(metric)) or metric.label.endswith(" index")


def _is_duration(metric: Metric) -> bool:
    return metric.unit in TIMES and metric.direction == "lower"


def lead(metric: Metric, change: Change) -> Sentence:
    """How far ahead the better value is: 2.46 times faster, 32 % less time, 12 % more.

    `change` is the better value ÷ the worse one; for a metric without a better direction, either
    value ÷ the other.
    """
    if in_points(metric, change):
        return say("{n}{ci}", n=_points(metric, change), ci=_points_interval(metric, change))
    if _is_endless(change):
        return say("none at all") if metric.direction == "lower" else say("and none there")
    number, is_times = _size(metric, change)
    if is_time(metric):
        template = "{n} times faster{ci}" if is_times else "{n} less time{ci}"
    elif is_height(metric):
        way = _way(metric, change, is_times=is_times)
        return say("{n} {way}{ci}", n=number, way=way, ci=_interval(metric, change))
    elif is_times:
        template = "{n} times as {much}{ci}" if _is_more(metric, change) else "{n} times {less}{ci}"
    else:
        template = "{n} more{ci}" if _is_more(metric, change) else "{n} {less}{ci}"
    counts = is_number_of(metric)
    return say(
        template,
        n=number,
        much=Name("many" if counts else "much"),
        less=Name("fewer" if counts else "less"),
        ci=_interval(metric, change),
    )


def ahead_of(metric: Metric, change: Change, who: Name, other: Name) -> Sentence:
    """The lead of `who`, which has the better value, over `other`: "takes 32 % less time than X".
    The caller puts the name of `who` before this text."""
    if in_points(metric, change):
        return say(
            "{who:has} a {what} that is {n} {way} than that of {other}{ci}",
            who=who,
            what=Name(metric.label),
            n=_points(metric, change),
            way=Name("larger" if (change.difference or 0.0) > 0 else "smaller"),
            other=other,
            ci=_points_interval(metric, change),
        )
    if _is_endless(change):
        template = "{who:has} no {what}, unlike {other}"
        if metric.direction == "higher":
            template = "{who:has} some {what}, and {other} none"
        return say(template, who=who, what=Name(metric.label), other=other)
    number, is_times = _size(metric, change)
    what = Name(metric.label)
    if is_time(metric):
        template = "{who:is} {n} times faster than {other}{ci}"
        if not is_times:
            template = "{who:takes} {n} less time than {other}{ci}"
    elif is_height(metric):
        template = "{who:has} {article} {what} that is {n} {way} than that of {other}{ci}"
        if is_times and _is_more(metric, change):
            template = "{who:has} {n} times the {what} of {other}{ci}"
    elif _is_more(metric, change):
        template = "{who:has} {n} times the {what} of {other}{ci}"
        if not is_times:
            template = "{who:has} {n} more {what} than {other}{ci}"
    else:
        template = "{who:has} {n} times {less} {what} than {other}{ci}"
        if not is_times:
            template = "{who:has} {n} {less} {what} than {other}{ci}"
    return say(
        template,
        who=who,
        n=number,
        what=what,
        article=Name(article(metric.label)),
        less=Name("fewer" if is_number_of(metric) else "less"),
        way=_way(metric, change, is_times=is_times),
        other=other,
        ci=_interval(metric, change),
    )


def _way(metric: Metric, change: Change, *, is_times: bool) -> Name:
    """The word for the difference, "higher" or "lower"; for a ratio written as "times", "times as
    high" or "times lower"."""
    if not _is_more(metric, change):
        return Name("times lower" if is_times else "lower")
    return Name("times as high" if is_times else "higher")


def article(word: str) -> str:
    """The article before a word, "an" or "a"."""
    return "an" if word[:1] in "aeiou" else "a"


def in_points(metric: Metric, change: Change) -> bool:
    """Whether the change is given in percentage points, since a ratio of percentages would be
    misread."""
    return metric.is_share and change.difference is not None


def _is_more(metric: Metric, change: Change) -> bool:
    """True if the sentence says "more": higher values are better, or the metric has no better
    direction and the ratio is above 1."""
    is_larger = metric.direction == "neutral" and change.ratio > 1
    return metric.direction == "higher" or is_larger


def _is_endless(change: Change) -> bool:
    """Whether one of the two values is zero, so that their ratio has no meaning."""
    return change.ratio == 0 or math.isinf(change.ratio)


def _points(metric: Metric, change: Change) -> Number:
    value = change.difference or 0.0
    text = measured(abs(value), max(1, metric.decimals))
    source = change.source.replace("÷", "−")
    return _bound(change, Number(abs(value), f"{text} percentage points", source))


def _points_interval(metric: Metric, change: Change) -> Sentence:
    found = change.difference_interval
    if found is None:
        return NOTHING
    value, decimals = change.difference or 0.0, max(1, metric.decimals)
    low, high = (found.low, found.high) if value > 0 else (-found.high, -found.low)
    text = interval_of(low, high, decimals)
    if text is None:
        return NOTHING
    source = f"95 % interval of the difference, {change.source}"
    return aside(
        " ({level} CI {interval})",
        level=Name("95 %"),
        interval=Number((low + high) / 2, str(text), source),
    )


def _growth(metric: Metric, change: Change) -> Change:
    """The ratio that is written as "times": above 1 for a better value, even if lower values are
    better."""
    return change.inverse() if metric.direction == "lower" else change


def _size(metric: Metric, change: Change) -> tuple[Number, bool]:
    """The lead as a number, and whether it is written as "times" rather than in percent."""
    growth = _growth(metric, change)
    if growth.ratio >= TOLD_AS_TIMES:
        return _bound(change, Number(growth.ratio, _times(growth.ratio), growth.source)), True
    source = f"|change| in %, {change.source}"
    pct = plain(abs(change.ratio - 1) * 100, _decimals(change.ratio), "%", source)
    return _bound(change, pct), False


def _bound(change: Change, number: Number) -> Number:
    return replace(number, text=f"at least {number.text}") if change.is_least else number


def _decimals(ratio: float) -> int:
    """Decimals of a change in percent: none from 10 % on, else one."""
    return 0 if round(abs(ratio - 1), 6) >= 0.1 else 1


def _times(ratio: float) -> str:
    return significant_text(ratio, _DIGITS)


def _interval(metric: Metric, change: Change) -> Sentence:
    growth = _growth(metric, change)
    is_times = growth.ratio >= TOLD_AS_TIMES
    told = growth if is_times else change
    if told.interval is None:
        return NOTHING
    low, high = told.interval.low, told.interval.high
    if is_times:
        ends = [_times(low), _times(high)]
        text = " to ".join(ends)
    else:
        decimals = _decimals(change.ratio)
        ends = [number_text(100 * (end - 1), decimals) for end in (low, high)]
        text = _percent_interval(low, high, decimals)
    if len(set(ends)) == 1:  # both ends look the same
        return NOTHING
    return aside(
        " ({level} CI {interval})",
        level=Name("95 %"),
        interval=Number((low + high) / 2, text, f"95 % interval, {told.source}"),
    )


def _percent_interval(low: float, high: float, decimals: int) -> str:
    """An interval of a ratio as a change in percent. It has the words "less" and "more" only if the
    interval contains both."""
    ends = [number_text(100 * abs(end - 1), decimals) for end in (low, high)]
    if low < 1 < high:
        return f"{ends[0]} % less to {ends[1]} % more"
    nearer, farther = ends if low >= 1 else ends[::-1]
    return f"{nearer} to {farther} %"
