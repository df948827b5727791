"""The table of the time of units of work: a row for each part in each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.accounts import PartKey, TimeGroup, TimePart, TimeView, UnitTime
from netstudy.analysis.time_courses import CellTime, Course
from netstudy.report.cellrefs import treatment_text
from netstudy.report.numbers import Quantity
from netstudy.report.refs import Name, Number, say
from netstudy.report.tables import Group, Table, Value, numeric_level
from netstudy.report.time_figure import chosen_courses
from netstudy.report.time_words import FAMILY_NAMES, high_s, low_s, part_words, time_quantity

_SMALL_PCT: Final = 1.0
"""Parts that are smaller in every column are summed up in one row."""


@dataclass(frozen=True)
class _Column:
    heading: str
    view: TimeView
    group: TimeGroup
    is_share: bool = False
    meaning: str = ""


_COLUMNS: Final = (
    _Column("All", "journey", "all"),
    _Column("Share", "journey", "all", is_share=True, meaning="part ÷ whole"),
    _Column("Middle tenth", "journey", "middle"),
    _Column("Slowest", "journey", "slowest", meaning="mean of the slowest"),
    _Column("Worst one", "journey", "worst"),
    _Column("Median connection", "journey", "median-member", meaning="until its last byte"),
    _Column(
        "As cause", "cause", "all", is_share=True,
        meaning="the work of the bytes in front stands for the wait in a queue",
    ),
)  # fmt: skip


def time_table(every: Sequence[Course], case: str, table_id: str) -> Table:
    """The parts in the cells of the figure."""
    courses = chosen_courses(every)
    cells = [cell for one in courses for cell in one.cells]
    columns = [one for one in _COLUMNS if any(cell.time(one.view, one.group) for cell in cells)]
    factors = list(dict.fromkeys(name for one in courses for name in _factors(one)))
    unit = cells[0].whole.unit
    groups = (
        *map(Group, factors),
        Group("Part"),
        Group("Kind"),
        *(
            Group(one.heading, "%" if one.is_share else "ms", meaning=one.meaning)
            for one in columns
        ),
    )
    rows = tuple(
        (
            *(numeric_level(cell.row.treatment.get(name), name) for name in factors),
            *values,
        )
        for cell in cells
        for values in _rows(cell, columns)
    )
    where = f" ({case})" if case != "main" else ""
    caption = say("Parts of the time of the {unit}s{where}", unit=Name(unit), where=Name(where))
    return Table(table_id, caption, groups, rows, stub=len(factors) + 1)


def _factors(one: Course) -> tuple[str, ...]:
    return (*one.held, *(() if one.factor is None else (one.factor,)))


def _rows(cell: CellTime, columns: Sequence[_Column]) -> Iterator[tuple[Value, ...]]:
    """The whole, the large parts, and the sum of the small ones."""
    times = [cell.time(one.view, one.group) for one in columns]
    keys = dict.fromkeys(part.key for time in times if time is not None for part in time.parts)
    large = [key for key in keys if any(_share(time, key) >= _SMALL_PCT for time in times)]
    small = [key for key in keys if key not in large]

    def row(name: str, kind: str, chosen: Callable[[PartKey], bool] | None) -> tuple[Value, ...]:
        values = (
            None if time is None else _value(time, column, chosen, f"{name}, {where}")
            for time, column in zip(times, columns, strict=True)
        )
        return (Name(name), Name(kind), *values)

    where = treatment_text(cell.row.treatment)
    yield row("whole", "", None)
    for key in large:
        yield row(part_words(key), FAMILY_NAMES[key.family], key.__eq__)
    if small:
        yield row("smaller parts", "", lambda other: other in small)


def _share(time: UnitTime | None, key: PartKey) -> float:
    return 0.0 if time is None else time.share_pct(lambda other: other == key)


def _value(
    time: UnitTime, column: _Column, chosen: Callable[[PartKey], bool] | None, what: str
) -> Number | None:
    """The time or the share of some parts, or of all; without them, 0 if the parts are exact, else
    None."""
    parts = [part for part in time.parts if chosen is None or chosen(part.key)]
    if not parts and not time.is_exact:
        return None
    ends = (time.whole_s,) if chosen is None else _ends(parts)
    source = f"{what}; {column.group} units, {column.view}"
    if column.is_share:
        shown = Quantity(tuple(100 * end / time.whole_s for end in ends), 1)
    else:
        shown = time_quantity(ends, time.whole_s)
    return Number.of(shown.values[0], shown, source)


def _ends(parts: Sequence[TimePart]) -> tuple[float, ...]:
    """Both bounds of a sum; one value if they are equal."""
    low, high = low_s(parts), high_s(parts)
    return (low,) if low == high else (low, high)
