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


_COUNTED = ("", "1/s", "frames", "packets", "segments", "timeouts")
_OF_EACH = re.compile(" an? ")


def is_number_of(metric: Metric) -> bool:
    """Whether the metric counts things, so that the word is "fewer" and not "lower": dropped
    packets an iteration, failed submissions."""
    things = _OF_EACH.split(metric.label)[0]
    return metric.unit in _COUNTED and things.endswith("s")


def is_or_are(metric: Metric) -> Name:
    """The verb after the metric's name: "completion time is", "dropped packets are"."""
    return Name("are" if is_number_of(metric) else "is")


def ways(metric: Metric) -> tuple[str, str]:
    """The words for a smaller and for a larger value of the metric."""
    if is_number_of(metric):
        return "fewer", "more"
    if metric.unit in TIMES and metric.direction == "lower":
        return "shorter", "longer"
    return "lower", "higher"


def better(metric: Metric) -> str:
    """The word for the better of two values; for a metric without a better direction, for the
    larger."""
    return ways(metric)[0 if metric.direction == "lower" else 1]


def lead(metric: Metric, change: Change) -> Sentence:
    """The size of a change of a metric: "2.46 times shorter", "32 % shorter", "3.1 times as high",
    "12 percentage points lower"."""
    return size(metric, change)[0]


def size(metric: Metric, change: Change) -> tuple[Sentence, str]:
    """The size of a change, and the word before the second value: "than" or "as"."""
    smaller, larger = ways(metric)
    if in_points(metric, change):
        way = Name(larger if (change.difference or 0.0) > 0 else smaller)
        points, ci = _points(metric, change), _points_interval(metric, change)
        return say("{n} {way}{ci}", n=points, way=way, ci=ci), "than"
    is_more = change.ratio > 1
    if not _is_times(change):
        n = plain(
            abs(change.ratio - 1) * 100,
            _decimals(change.ratio),
            "%",
            f"|change| in %, {change.source}",
        )
        way = Name(larger if is_more else smaller)
        return say("{n} {way}{ci}", n=_bound(change, n), way=way, ci=_interval(change)), "than"
    times = change if is_more else change.inverse()
    n = _bound(change, Number(times.ratio, _times(times.ratio), times.source))
    ci = _interval(change)
    if not is_more:
        return say("{n} times {way}{ci}", n=n, way=Name(smaller), ci=ci), "than"
    as_much = {"more": "many", "longer": "long", "higher": "high"}[larger]
    return say("{n} times as {much}{ci}", n=n, much=Name(as_much), ci=ci), "as"


def compared(metric: Metric, change: Change, here: Name, there: Name) -> Sentence:
    """The change of a metric between two places, without a full stop: "with cubic, completion time
    is 32 % shorter than with reno". `change` is the value here ÷ the value there."""
    refs = {"here": here, "there": there, "metric": Name(metric.label)}
    counts = is_number_of(metric)
    if not in_points(metric, change) and is_endless(change):
        no, some = ("{here}", "{there}") if change.ratio == 0 else ("{there}", "{here}")
        if counts:
            return say(f"{no} there are no {{metric}}, {some} there are some", **refs)
        return say(f"{no}, {{metric}} is zero, {some} it is not", **refs)
    how_much, word = size(metric, change)
    template = "{here}, {metric} is {how_much} {word} {there}"
    if counts:
        template = "{here} there are {how_much} {metric} {word} {there}"
    return say(template, how_much=how_much, word=Name(word), **refs)


def in_points(metric: Metric, change: Change) -> bool:
    """Whether the change is given in percentage points, since a ratio of percentages would be
    misread."""
    return metric.is_share and change.difference is not None


def is_endless(change: Change) -> bool:
    """Whether one of the two values is zero, so that their ratio has no meaning."""
    return change.ratio == 0 or math.isinf(change.ratio)


def _points(metric: Metric, change: Change) -> Number:
    value = change.difference or 0.0
    text = measured(abs(value), max(1, metric.decimals))
    source = change.source.replace("÷", "−")
    return _bound(change, Number(abs(value), f"{text} percentage points", source))


def _bound(change: Change, number: Number) -> Number:
    return replace(number, text=f"at least {number.text}") if change.is_least else number


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


def _is_times(change: Change) -> bool:
    """Whether the change is written as "times" rather than in percent."""
    return round(max(change.ratio, 1 / change.ratio), 6) >= TOLD_AS_TIMES


def _decimals(ratio: float) -> int:
    """Decimals of a change in percent: none from 10 % on, else one."""
    return 0 if round(abs(ratio - 1), 6) >= 0.1 else 1


def _times(ratio: float) -> str:
    return significant_text(ratio, _DIGITS)


def _interval(change: Change) -> Sentence:
    is_times = _is_times(change)
    told = change.inverse() if is_times and change.ratio < 1 else change
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
