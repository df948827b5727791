"""How much cumulative counters grew between readings.

Counters of the kernel and of drivers only ever grow. A counter that is smaller in a later reading
has wrapped, which can be undone, or it was reset, which cannot. A reset (a restart of the host, the
driver or the namespace) begins all counters of a part anew, so one counter that was certainly reset
makes the growth of all others unknown, too: a counter that has passed its old value since the reset
would otherwise give a growth that is too small. The same law finds readings that are differences
already, as `nstat` without `-a` prints them. Only the values that a driver names as it likes
(`ethtool -S`) may be levels; a fall there says nothing about other values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from netstudy.formats.ethtool import PREFIX
from netstudy.formats.measured import Counters

_WIDTHS: Final = (32, 64)
"""Bits of a counter, shortest first."""
_NAMED: Final = 5
"""The most counters that a note names."""
_UNKNOWN: Final = "growth is unknown"
_AWAY_MAX: Final = 0.1
"""Share of a window by which readings may begin or end within it, as for the coverage of series."""


@dataclass(frozen=True, eq=False)
class Growth:
    """Growth of the counters of one part of a host."""

    part: str
    values: Mapping[str, int] = field(default_factory=dict)
    """Counter -> how much it grew. A counter whose growth is unknown is missing."""
    notes: tuple[str, ...] = ()
    """The counters that are missing and the wraps that were undone, each a sentence."""
    between_s: tuple[float, float] | None = None
    """The times of the first and the last reading; None: a file does not say."""


def growth(before: Counters, after: Counters) -> Growth:
    """How much each counter of a part grew from one reading to a later one.

    A counter that a reading leaves out because it is 0 counts as 0. A counter that only one reading
    has is left out. A fall is undone as a wrap only if the counter was in the upper half of its
    range (2^32 or 2^64) and grew by less than half the range; otherwise the counters were reset.
    Both readings must be of the same part and from the same tool: another tool may lack a counter
    that this one leaves out only when it is 0.
    """
    if before.part != after.part:
        raise ValueError(f"readings of two parts: {before.part!r} and {after.part!r}")
    between_s = None
    if before.at_s is not None and after.at_s is not None:
        between_s = before.at_s, after.at_s
        if after.at_s < before.at_s:
            late = f"The later reading is {before.at_s - after.at_s:.3f} s older: {_UNKNOWN}."
            return Growth(after.part, notes=(late,))
    pairs, lonely = _paired(before, after)
    notes = [f"Only one of the readings has {_some(lonely)}: left out."] if lonely else []
    fallen = [name for name, (old, new) in pairs.items() if _grown(old, new) is None]
    reset = [name for name in fallen if not name.startswith(PREFIX)]
    if reset:
        notes.append(
            f"{_some(reset)} fell: the counters were reset between the readings, or they are "
            f"differences already (nstat without -a); {_UNKNOWN}."
        )
        return Growth(after.part, {}, tuple(notes), between_s)
    if fallen:
        notes.append(f"{_some(fallen)} fell, so that it may be a level: left out.")
    values = {}
    for name, (old, new) in pairs.items():
        grown = _grown(old, new)
        if grown is not None:
            values[name] = grown
            if new < old:
                notes.append(f"{name} wrapped at 2^{_width(old)}: it grew by {grown}.")
    return Growth(after.part, values, tuple(notes), between_s)


def growths(
    before: Sequence[Counters], after: Sequence[Counters], *, new_from_zero: bool = False
) -> tuple[Growth, ...]:
    """The growth of every part from the first reading in `before` to the last one in `after`, by
    way of all readings between them, so that a reset between two of them is found. For the
    readings of one file, both are the same. A part that only one of the two has gets no values.

    `new_from_zero`: True if a part that only `after` has began at 0, as the counters of a TCP
    connection do (`ss`); if False, such a part has no values, since it may only have been missing
    from the earlier reading.
    """
    early, late = _by_part(before), _by_part(after)
    found = []
    for part, readings in late.items():
        first = early.get(part)
        if first is not None:
            found.append(_over(part, first if before is after else [*first, *readings]))
        elif new_from_zero:
            found.append(_over(part, [Counters(part, None, {}, zeros_left_out=True), *readings]))
        else:
            note = f"The earlier reading has no {_titled(part)}: {_UNKNOWN}."
            found.append(Growth(part, notes=(note,)))
    gone = [
        Growth(part, notes=(f"The later reading has no {_titled(part)}: {_UNKNOWN}.",))
        for part in early
        if part not in late
    ]
    return (*found, *gone)


def growths_within(
    readings: Sequence[Counters], window_s: tuple[float, float], *, new_from_zero: bool = False
) -> tuple[Growth, ...]:
    """The growth of every part over a window, from readings with times.

    It is taken from the last reading at or before the window's start to the first one at or after
    its end, so that it may include some time around the window; `between_s` says how much. Where
    the readings of a part begin later or end earlier, its values are missing if that is more than
    a tenth of the window. A part that begins within the window counts from 0 if `new_from_zero`.
    """
    start_s, end_s = window_s
    if not start_s < end_s:
        raise ValueError(f"a window from {start_s} s to {end_s} s has no length")
    first_s = min((each.at_s for each in readings if each.at_s is not None), default=None)
    found = []
    for part, own in _by_part(readings).items():
        timed = sorted((each for each in own if each.at_s is not None), key=_time_s)
        fresh = new_from_zero and first_s is not None and first_s <= start_s
        if fresh and timed and _time_s(timed[0]) > start_s:
            timed.insert(0, Counters(part, start_s, {}, zeros_left_out=True))
        found.append(_within(part, timed, start_s, end_s))
    return tuple(found)


def _within(part: str, timed: Sequence[Counters], start_s: float, end_s: float) -> Growth:
    first = max((i for i, each in enumerate(timed) if _time_s(each) <= start_s), default=0)
    last = min(
        (i for i, each in enumerate(timed) if _time_s(each) >= end_s), default=len(timed) - 1
    )
    if last <= first:
        note = f"There are no two readings of {_titled(part)} with times around the window."
        return Growth(part, notes=(note,))
    away_s = max(0.0, _time_s(timed[first]) - start_s) + max(0.0, end_s - _time_s(timed[last]))
    if away_s > _AWAY_MAX * (end_s - start_s):
        note = (
            f"The readings of {_titled(part)} leave {away_s:.1f} s of the window of "
            f"{end_s - start_s:.1f} s uncovered: {_UNKNOWN}."
        )
        return Growth(part, notes=(note,))
    return _over(part, timed[first : last + 1])


def _over(part: str, readings: Sequence[Counters]) -> Growth:
    """The growth over several readings, step by step."""
    if len(readings) < 2:
        return Growth(part, notes=(f"There is one reading of {_titled(part)}: {_UNKNOWN}.",))
    steps = [growth(before, after) for before, after in pairwise(readings)]
    known = set.intersection(*(set(step.values) for step in steps))
    first_s, last_s = readings[0].at_s, readings[-1].at_s
    return Growth(
        part,
        {
            name: sum(step.values[name] for step in steps)
            for name in steps[-1].values
            if name in known
        },
        tuple(dict.fromkeys(note for step in steps for note in step.notes)),
        None if first_s is None or last_s is None else (first_s, last_s),
    )


def _by_part(readings: Iterable[Counters]) -> dict[str, list[Counters]]:
    found: dict[str, list[Counters]] = {}
    for reading in readings:
        found.setdefault(reading.part, []).append(reading)
    return found


def _time_s(reading: Counters) -> float:
    assert reading.at_s is not None, "only readings with times come here"
    return reading.at_s


def _titled(part: str) -> str:
    return part or "counters of the whole host"


def _paired(before: Counters, after: Counters) -> tuple[dict[str, tuple[int, int]], list[str]]:
    """The counters with both values, in the order of the later reading, and all others."""
    pairs: dict[str, tuple[int, int]] = {}
    lonely: list[str] = []
    for name in dict.fromkeys((*after.values, *before.values)):
        old, new = _value(before, name), _value(after, name)
        if old is None or new is None:
            lonely.append(name)
        else:
            pairs[name] = old, new
    return pairs, lonely


def _value(reading: Counters, name: str) -> int | None:
    return reading.values.get(name, 0 if reading.zeros_left_out else None)


def _grown(old: int, new: int) -> int | None:
    """None: the counter was reset."""
    if new >= old:
        return new - old
    width = _width(old)
    if width is None or old < 2 ** (width - 1):
        return None
    wrapped = new + 2**width - old
    return wrapped if wrapped < 2 ** (width - 1) else None


def _width(value: int) -> int | None:
    """Bits of the shortest counter that holds the value; None: no counter does."""
    return next((width for width in _WIDTHS if 0 <= value < 2**width), None)


def _some(names: Iterable[str]) -> str:
    every = list(names)
    shown = ", ".join(every[:_NAMED])
    more = len(every) - _NAMED
    return shown if more <= 0 else f"{shown} and {more} more"
