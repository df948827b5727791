"""The times of units of work in the cells along a factor, at each setting of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby
from typing import Final

from netstudy.analysis.accounts import Family, TimeGroup, TimeView, UnitTime, unit_time
from netstudy.analysis.cells import CellRow
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.last_connections import LastConnections, last_part
from netstudy.study.levels import is_numeric
from netstudy.wire import Treatment

_MUCH_SLOWER: Final = 1.5
"""A unit waits for its last members if it takes this many times as long as its median member."""


@dataclass(frozen=True, eq=False)
class CellTime:
    """The times of the units of a cell."""

    row: CellRow
    whole: UnitTime
    """The journey of all units."""
    _known: dict[tuple[TimeView, TimeGroup], UnitTime | None] = field(
        default_factory=dict, repr=False
    )

    def time(self, view: TimeView, group: TimeGroup) -> UnitTime | None:
        """The time of a group of units, read on first use; None: it has no units."""
        if (view, group) not in self._known:
            self._known[view, group] = unit_time(self.row, view, group)
        return self._known[view, group]

    @property
    def largest(self) -> Family:
        """The family with the largest lower bound; "not known" only if it is the only one."""
        return self.whole.families[0]

    @cached_property
    def last(self) -> tuple[LastConnections, ...]:
        """The last connections of each run with accounts that counts them."""
        return tuple(chain.from_iterable(self.row.runs.gathered("last", last_part)))

    @property
    def slowdown(self) -> float:
        """The time of a unit ÷ the time until its median member is done; 1 without members."""
        member = self.time("journey", "median-member")
        if member is None or member.whole_s <= 0:
            return 1.0
        return self.whole.whole_s / member.whole_s

    @property
    def waits_for_last(self) -> bool:
        """True if the last members of the units are much slower than the median ones."""
        return self.slowdown >= _MUCH_SLOWER


@dataclass(frozen=True, eq=False)
class Course:
    """The times of the cells along a factor, at one setting of the others."""

    held: Treatment
    factor: str | None
    """None: there is no such factor."""
    cells: tuple[CellTime, ...]
    """In the order of the factor."""
    is_load: bool
    """True if the factor sets the load."""

    @property
    def spans(self) -> tuple[tuple[CellTime, ...], ...]:
        """Neighbouring cells with the same largest family."""
        return tuple(tuple(own) for _, own in groupby(self.cells, lambda one: one.largest))

    @property
    def telling(self) -> tuple[CellTime, ...]:
        """The cell with the highest load; without a load, the last neighbours with the same largest
        family."""
        return self.cells[-1:] if self.is_load else self.spans[-1]


def courses_of(cells: Cells) -> Iterator[Course]:
    """The cells that have accounts, along the load; without one, along a numeric factor, else the
    first."""
    numeric = (name for name, levels in cells.levels.items() if is_numeric(levels))
    factor = cells.load or next(numeric, None) or next(iter(cells.levels), None)
    groups: dict[frozenset[tuple[str, object]], list[CellRow]] = {}
    for row in cells.rows:
        others = ((name, level) for name, level in row.treatment.items() if name != factor)
        groups.setdefault(frozenset(others), []).append(row)
    for rows in groups.values():
        held = {name: level for name, level in cells.setting(rows[0]).items() if name != factor}
        own = tuple(_times(rows))
        if own:
            yield Course(held, factor, own, is_load=factor is not None and factor == cells.load)


def _times(rows: Sequence[CellRow]) -> Iterator[CellTime]:
    for row in rows:
        whole = unit_time(row, "journey", "all")
        if whole is not None:
            yield CellTime(row, whole)
