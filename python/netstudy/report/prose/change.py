"""How one value stands to another, in the words that fit the metric and the size of the change."""

from __future__ import annotations

from dataclasses import dataclass

from netstudy.analysis.intervals import Interval
from netstudy.analysis.metrics import Metric
from netstudy.report.cellrefs import plain
from netstudy.report.numbers import significant_text
from netstudy.report.prose.words import NOTHING
from netstudy.report.refs import Name, Number, Sentence, say

TIMES = ("s", "ms", "µs")
"""Units of a metric of which more is slower."""
TOLD_AS_TIMES = 2.0
"""A ratio from here on is told as "times", a smaller one in percent."""
_DIGITS = 3


@dataclass(frozen=True)
class Change:
    """The ratio of a value to another one, with its interval."""

    ratio: float
    interval: Interval | None
    source: str

    def inverse(self) -> Change:
        """The ratio seen from the other value."""
        found = self.interval
        turned = (
            None if found is None or found.low <= 0 else Interval(1 / found.high, 1 / found.low)
        )
        return Change(1 / self.ratio, turned, f"1 ÷ ({self.source})")


def is_time(metric: Metric) -> bool:
    """Whether less of it is faster."""
    return metric.unit in TIMES and metric.direction == "lower"


def better_word(metric: Metric) -> str:
    """What the better level is: faster, or what it has less or more of."""
    if is_time(metric):
        return "faster"
    return "better" if metric.direction == "neutral" else metric.direction


def lead(metric: Metric, change: Change) -> Sentence:
    """How far ahead the better value is: 2.46 times faster, 32 % less time, 12 % more goodput.

    `change` is the better value by the worse one.
    """
    growth = change.inverse() if metric.direction == "lower" else change
    if growth.ratio >= TOLD_AS_TIMES:
        words = {"lower": "{times} times lower", "higher": "{times} times as much"}
        template = "{times} times faster" if is_time(metric) else words[_direction(metric)]
        number = Number(growth.ratio, _times(growth.ratio), growth.source)
        return say(f"{template}{{ci}}", times=number, ci=_interval(growth, times=True))
    words = {"lower": "{pct} lower", "higher": "{pct} higher"}
    template = "{pct} less time" if is_time(metric) else words[_direction(metric)]
    source = f"|change| in %, {change.source}"
    return say(
        f"{template}{{ci}}",
        pct=plain(abs(change.ratio - 1) * 100, _decimals(change.ratio), "%", source),
        ci=_interval(change, times=False),
    )


def _direction(metric: Metric) -> str:
    return "lower" if metric.direction == "lower" else "higher"


def _decimals(ratio: float) -> int:
    """None from ten percent on."""
    return 0 if abs(ratio - 1) >= 0.1 else 1


def _times(ratio: float) -> str:
    return significant_text(ratio, _DIGITS)


def _interval(change: Change, *, times: bool) -> Sentence:
    if change.interval is None:
        return NOTHING
    low, high = change.interval.low, change.interval.high
    source = f"95 % interval, {change.source}"
    if times:
        text = f"{_times(low)} to {_times(high)}"
    else:
        low, high = sorted((abs(low - 1), abs(high - 1)))
        decimals = _decimals(change.ratio)
        text = f"{100 * low:.{decimals}f} to {100 * high:.{decimals}f} %"
    return say(
        " ({level} CI {interval})",
        level=Name("95 %"),
        interval=Number((low + high) / 2, text, source),
    )
