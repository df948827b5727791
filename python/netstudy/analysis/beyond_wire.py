"""Where the time of units of work goes in a panel, beyond transmission and latencies: at each level
of the compared factor, and which part of it grows from one level to another.

From the accounts of time in the view `journey`. Without a compared factor, the levels along x take
its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.accounts import Family, PartKey, UnitTime, unit_time
from netstudy.analysis.cells import CellRow
from netstudy.analysis.layout import Panel
from netstudy.wire import Level

_MOST: Final = 0.8
"""A family of parts is told as one of its places, or one window, that has at least this share."""


@dataclass(frozen=True)
class Spent:
    """Time that went to a family of parts."""

    family: Family
    amount: float
    """Seconds, or percent."""
    key: PartKey | None
    """A part of the place or window that has most of the time; None: no place has."""


@dataclass(frozen=True)
class BeyondWire:
    """The time beyond transmission and latencies at one level, in the mean over its cells."""

    level: Level | None
    """Of the compared factor or, without one, of x."""
    unit: str
    share_pct: float
    """In percent of the whole time."""
    parts: tuple[Spent, ...]
    """In percent of the time beyond, the largest first; lower bounds unless `is_exact`."""
    is_exact: bool


@dataclass(frozen=True)
class Grown:
    """How the time of a unit differs between two levels of the compared factor, in the mean over
    the cells that both have."""

    level: Level | None
    base: Level | None
    unit: str
    cells: int
    """Number of values of x at which both levels have a cell."""
    base_s: float
    """The time at the base."""
    more_s: float
    """Negative: the time is shorter at `level`."""
    parts: tuple[Spent, ...]
    """The parts of the difference in seconds: the part that explains most of it first, parts that
    change the other way last."""


def beyond_wire(panel: Panel) -> Iterator[BeyondWire]:
    """The time beyond the wire at each level that has accounts."""
    levels = panel.x_levels if panel.series is None else panel.series_levels
    for level in levels:
        cells = [panel.cell(level, None)] if panel.series is None else panel.along_x(level)
        times = [time for cell in cells if (time := _time(cell)) is not None]
        if times:
            sums = _sums((time, 1) for time in times)
            wire_s = sum(seconds for key, seconds in sums.items() if key.family == "wire")
            whole_s = sum(time.whole_s for time in times)
            beyond_s = whole_s - wire_s
            own = {key: seconds for key, seconds in sums.items() if key.family != "wire"}
            if beyond_s > 0:
                parts = tuple(_spent(own, 100 / beyond_s))
                is_exact = all(time.is_exact for time in times)
                share_pct = 100 * beyond_s / whole_s
                yield BeyondWire(level, times[0].unit, share_pct, parts, is_exact)


def grown(panel: Panel, base: Level | None) -> Iterator[Grown]:
    """How the time differs between each level of the compared factor and the base. Streams have no
    such time: they are divided into intervals of equal length."""
    if panel.series is None or base not in panel.series_levels:
        return
    for level in panel.series_levels:
        cells = [(panel.cell(x, level), panel.cell(x, base)) for x in panel.x_levels]
        times = [(_exact(own), _exact(other)) for own, other in cells]
        both = [(own, other) for own, other in times if own is not None and other is not None]
        if level != base and both:
            yield _grown(level, base, both)


def _grown(
    level: Level | None, base: Level | None, both: Sequence[tuple[UnitTime, UnitTime]]
) -> Grown:
    count = len(both)
    signed = ((time, sign) for pair in both for time, sign in zip(pair, (1, -1), strict=True))
    base_s = sum(other.whole_s for _, other in both) / count
    more_s = sum(own.whole_s for own, _ in both) / count - base_s
    parts = _spent(_sums(signed), 1 / count, is_less=more_s < 0)
    return Grown(level, base, both[0][0].unit, count, base_s, more_s, tuple(parts))


def _time(cell: CellRow | None) -> UnitTime | None:
    return None if cell is None else unit_time(cell, "journey", "all")


def _exact(cell: CellRow | None) -> UnitTime | None:
    time = _time(cell)
    return time if time is not None and time.is_exact and time.unit != "interval" else None


def _sums(times: Iterable[tuple[UnitTime, int]]) -> dict[PartKey, float]:
    """Part -> seconds, summed over times with these signs."""
    sums: defaultdict[PartKey, float] = defaultdict(float)
    for time, sign in times:
        for part in time.parts:
            sums[part.key] += sign * part.low_s
    return sums


def _spent(sums: dict[PartKey, float], factor: float, *, is_less: bool = False) -> Iterator[Spent]:
    """The families of parts, multiplied by a factor: the largest first or, with `is_less`, the most
    negative one."""
    families: defaultdict[Family, dict[PartKey, float]] = defaultdict(dict)
    for key, seconds in sums.items():
        families[key.family][key] = seconds
    found = [
        Spent(family, sum(own.values()) * factor, _main(own)) for family, own in families.items()
    ]
    yield from sorted(found, key=lambda one: one.amount if is_less else -one.amount)


def _main(own: dict[PartKey, float]) -> PartKey | None:
    """A part of the place or window that has most of the time of a family."""
    groups: defaultdict[Hashable, float] = defaultdict(float)
    for key, seconds in own.items():
        groups[_place(key)] += seconds
    place, most = max(groups.items(), key=lambda each: abs(each[1]))
    if abs(most) < _MOST * abs(sum(own.values())):
        return None
    return max((key for key in own if _place(key) == place), key=lambda key: abs(own[key]))


def _place(key: PartKey) -> Hashable:
    return key.reason if key.family == "window" else (key.place, key.node, key.to)
