"""The figure of the time of units of work: a bar for each cell, and the units of the highest
loads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from netstudy.analysis.accounts import SLOWEST_PCT, TimeGroup
from netstudy.analysis.time_courses import CellTime, Course
from netstudy.report.cellrefs import count
from netstudy.report.charts.time_bars import Bar, Block, TimeBars, in_words
from netstudy.report.figures import Figure
from netstudy.report.numbers import counted, full_level, level_text
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.time_words import whose_time

CELLS_MAX: Final = 30
"""Most cells in the figure and in the table."""
_COURSES_MAX: Final = 4
"""Most cells whose groups of units are drawn."""
_GROUPS: Final[dict[TimeGroup, str]] = {
    "middle": "middle tenth",
    "slowest": f"slowest {SLOWEST_PCT} %",
    "median-member": "median connection",
}


def chosen_courses(courses: Sequence[Course]) -> tuple[Course, ...]:
    """The courses with as many cells as fit: both ends of each, and others at equal distances."""
    own = max(2, CELLS_MAX // len(courses))
    return tuple(
        replace(one, cells=tuple(_spaced(one.cells, own))) for one in courses[: CELLS_MAX // 2]
    )


def _spaced(cells: Sequence[CellTime], most: int) -> Iterator[CellTime]:
    if len(cells) <= most:
        return iter(cells)
    places = {round(k * (len(cells) - 1) / (most - 1)) for k in range(most)}
    return (cells[place] for place in sorted(places))


def time_figure(every: Sequence[Course], case: str, key: str) -> Figure:
    """The bars of a test case."""
    courses = chosen_courses(every)
    unit = courses[0].cells[0].whole.unit
    where = f" ({case})" if case != "main" else ""
    bars = TimeBars(
        title=f"Where the time of {whose_time(unit)} goes{where}",
        subtitle="mean time of all, and its parts; a wait in a queue is a part of its own",
        blocks=tuple(_blocks(courses)),
    )
    return Figure(
        f"{key}-time", f"{bars.title}. {in_words(bars.blocks)}", _caption(courses, every), bars
    )


def _caption(courses: Sequence[Course], every: Sequence[Course]) -> Sentence | None:
    """Which cells are drawn, and the meaning of hatching."""
    shown, known = (sum(len(one.cells) for one in some) for some in (courses, every))
    parts = []
    if shown < known:
        parts.append(
            say(
                "{n} of {all} cells; the others: {command}.",
                n=count(shown, "cells drawn"),
                all=count(known, "cells with accounts"),
                command=Name("netstudy export --time", code=True),
            )
        )
    if not all(cell.whole.is_exact for one in courses for cell in one.cells):
        parts.append(
            say(
                "Hatched: time that may belong to the part, at most to its upper bound; solid: its "
                "lower bound."
            )
        )
    return Sentence(tuple(part for one in parts for part in (*one.parts, " "))) if parts else None


def _blocks(courses: Sequence[Course]) -> Iterator[Block]:
    for one in courses:
        yield Block(_held(one), tuple(Bar(_name(one, cell), cell.whole) for cell in one.cells))
    for one in courses[:_COURSES_MAX]:
        cell = one.cells[-1]
        found = [
            Bar(name, time)
            for group, name in _GROUPS.items()
            if (time := cell.time("journey", group)) is not None
            and (group != "median-member" or cell.waits_for_last)
        ]
        if found:
            yield Block(", ".join(filter(None, (_name(one, cell), _held(one)))), tuple(found))


def _held(one: Course) -> str:
    return ", ".join(full_level(name, level) for name, level in one.held.items())


def _name(one: Course, cell: CellTime) -> str:
    if one.factor is None:
        return "all units"
    return counted(one.factor, level_text(cell.row.treatment[one.factor]))
