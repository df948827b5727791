"""How much cumulative counters grew between two readings.

Counters of the kernel and of drivers only ever grow. A counter that is smaller in the later reading
has wrapped, which can be undone, or it was reset, which cannot. A reset (a restart of the host, the
driver or the namespace) begins all counters of a part anew, so one counter that was certainly reset
makes the growth of all others unknown, too: a counter that has passed its old value since the reset
would otherwise give a growth that is too small. The same law finds readings that are differences
already, as `nstat` without `-a` prints them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from netstudy.formats.measured import Counters

_WIDTHS: Final = (32, 64)
"""Bits of a counter, shortest first."""
_NAMED: Final = 5
"""The most counters that a note names."""


@dataclass(frozen=True, eq=False)
class Growth:
    """Growth of the counters of one part of a host."""

    part: str
    values: Mapping[str, int] = field(default_factory=dict)
    """Counter -> how much it grew. A counter whose growth is unknown is missing."""
    notes: tuple[str, ...] = ()
    """The counters that are missing and the wraps that were undone, each a sentence."""


def growth(before: Counters, after: Counters) -> Growth:
    """How much each counter of a part grew from one reading to a later one.

    A counter that a reading leaves out because it is 0 counts as 0. A counter that only one reading
    has is left out. A fall is undone as a wrap only if the counter was in the upper half of its
    range (2^32 or 2^64) and grew by less than half the range; otherwise the counters were reset.
    Both readings must be of the same part.
    """
    if before.part != after.part:
        raise ValueError(f"readings of two parts: {before.part!r} and {after.part!r}")
    if before.at_s is not None and after.at_s is not None and after.at_s < before.at_s:
        late = before.at_s - after.at_s
        return Growth(after.part, notes=(f"The later reading is {late:.3f} s older: {_UNKNOWN}.",))
    pairs, lonely = _paired(before, after)
    reset = [name for name, (old, new) in pairs.items() if _grown(old, new) is None]
    notes = [] if not lonely else [f"Only one of the readings has {_some(lonely)}: left out."]
    if reset:
        notes.append(
            f"{_some(reset)} fell: the counters were reset between the readings, or they are "
            f"differences already (nstat without -a); {_UNKNOWN}."
        )
        return Growth(after.part, notes=tuple(notes))
    values = {name: _grown(old, new) for name, (old, new) in pairs.items()}
    notes += [
        f"{name} wrapped at 2^{_width(old)}: it grew by {values[name]}."
        for name, (old, new) in pairs.items()
        if new < old
    ]
    known = {name: value for name, value in values.items() if value is not None}
    return Growth(after.part, known, tuple(notes))


def growths(
    before: Sequence[Counters], after: Sequence[Counters], *, new_from_zero: bool = False
) -> tuple[Growth, ...]:
    """The growth of every part between the first reading in `before` and the last one in `after`,
    in the order of `after`. A part that vanished has no values.

    `new_from_zero`: True if a part that only `after` has began at 0, as the counters of a TCP
    connection do (`ss`); if False, such a part has no values, since it may only have been missing
    from the earlier reading.
    """
    first: dict[str, Counters] = {}
    for reading in before:
        first.setdefault(reading.part, reading)
    last = {reading.part: reading for reading in after}
    found = [_of_part(first.get(part), reading, new_from_zero) for part, reading in last.items()]
    gone = [
        Growth(part, notes=(f"The later reading has no {_titled(part)}: {_UNKNOWN}.",))
        for part in first
        if part not in last
    ]
    return (*found, *gone)


_UNKNOWN: Final = "growth is unknown"


def _of_part(before: Counters | None, after: Counters, new_from_zero: bool) -> Growth:
    if before is not None:
        return growth(before, after)
    if new_from_zero:
        return Growth(after.part, dict(after.values))
    note = f"The earlier reading has no {_titled(after.part)}: {_UNKNOWN}."
    return Growth(after.part, notes=(note,))


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
