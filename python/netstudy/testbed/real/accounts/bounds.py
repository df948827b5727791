"""Parts of a time, each between a lower and an upper bound."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import inf
from typing import NamedTuple

from netstudy.wire import Place, Reason


class Part(NamedTuple):
    """Identifies a part: see `wire.TimeAccount`."""

    reason: Reason
    place: Place
    node: str = ""
    to: str = ""


class Bounds(NamedTuple):
    """The least and the most that a part may be; times are in nanoseconds."""

    low: float
    high: float

    def plus(self, other: Bounds) -> Bounds:
        """Bounds of the sum."""
        return Bounds(self.low + other.low, self.high + other.high)


Parts = Mapping[Part, Bounds]
NOTHING = Bounds(0.0, 0.0)
UNKNOWN = Bounds(0.0, inf)


def exactly(value: float) -> Bounds:
    """A known value."""
    return Bounds(value, value)


def at_most(value: float) -> Bounds:
    """A value of which only an upper bound is known."""
    return Bounds(0.0, value)


def summed(each: Iterable[Parts]) -> dict[Part, Bounds]:
    """The sums of equal parts."""
    total: defaultdict[Part, Bounds] = defaultdict(lambda: NOTHING)
    for parts in each:
        for part, bounds in parts.items():
            total[part] = total[part].plus(bounds)
    return dict(total)


def either(one: Parts, other: Parts) -> dict[Part, Bounds]:
    """Bounds that hold whichever of the two divides the time."""
    return {
        part: Bounds(
            min(one.get(part, NOTHING).low, other.get(part, NOTHING).low),
            max(one.get(part, NOTHING).high, other.get(part, NOTHING).high),
        )
        for part in {**one, **other}
    }


def rest(whole: float, parts: Parts) -> Bounds:
    """Bounds of the time that is in none of these parts."""
    low = whole - sum(bounds.high for bounds in parts.values())
    high = whole - sum(bounds.low for bounds in parts.values())
    return Bounds(max(low, 0.0), max(high, 0.0))


def tightened(whole: float, parts: Parts) -> dict[Part, Bounds]:
    """The bounds of parts that make up a whole: each takes at least the whole less the upper bounds
    of all others, and at most the whole less their lower bounds. If the parts cannot make up the
    whole, something else took a part of it, and only the latter holds."""
    capped = {part: Bounds(low, min(high, whole)) for part, (low, high) in parts.items()}
    lows = sum(bounds.low for bounds in capped.values())
    highs = sum(bounds.high for bounds in capped.values())

    def least(own: Bounds) -> float:
        return max(own.low, whole - (highs - own.high)) if highs >= whole else own.low

    return {
        part: Bounds(least(own), min(own.high, whole - (lows - own.low)))
        for part, own in capped.items()
    }
