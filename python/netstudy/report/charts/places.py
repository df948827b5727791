"""The positions of levels along x: for levels that are numbers, or quantities of one kind such as
20 ms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from netstudy.study.levels import is_numeric
from netstudy.units import quantity
from netstudy.wire import Level

_LOG_SPAN = 50
"""Ratio of the largest to the smallest quantity above which an axis is logarithmic."""


def places(levels: Sequence[Level | None]) -> dict[Level, float]:
    """The position of each level; empty for names and for quantities of several kinds."""
    known = [level for level in levels if level is not None]
    if len(known) < len(levels) or not known:
        return {}
    if is_numeric(known):
        return {level: float(level) for level in known}
    found = {level: quantity(str(level)) for level in known}
    if len({None if one is None else one[0] for one in found.values()}) != 1:
        return {}
    return {level: float(one[1]) for level, one in found.items() if one is not None}


def is_wide(found: Mapping[Level, float]) -> bool:
    """Whether these positions are quantities with a range wide enough for a logarithmic axis."""
    values: Iterable[float] = found.values()
    if not found or is_numeric(list(found)) or min(values) <= 0:
        return False
    return max(values) > _LOG_SPAN * min(values)
