"""The preliminary answer of an unfinished study, in a few sentences that claim nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.cells import CellRow
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.preliminary import PreliminaryPair, PreliminaryTable
from netstudy.analysis.study_result import StudyResult
from netstudy.report.cellrefs import cell_number, count, plain, treatment_text
from netstudy.report.prose.change import better, is_or_are, told_apart
from netstudy.report.prose.words import NOTHING, at_level, held_levels, with_level
from netstudy.report.refs import Name, Sentence, say
from netstudy.wire import Level

_MOST: Final = 3
"""At most this number of compared pairs of levels has sentences; the tables have all of them."""


@dataclass(frozen=True, eq=False)
class _Compared:
    """Two levels, compared in all panels."""

    tables: tuple[PreliminaryTable, ...]

    @property
    def pairs(self) -> list[tuple[Panel, PreliminaryPair]]:
        return [(one.panel, pair) for one in self.tables for pair in one.pairs]

    @property
    def valued(self) -> list[tuple[Panel, PreliminaryPair]]:
        """The pairs whose two cells have values."""
        return [(panel, pair) for panel, pair in self.pairs if pair.has_values]


def preliminary_answer(
    result: StudyResult, tables: Sequence[PreliminaryTable]
) -> Iterator[Sentence]:
    """Which level is ahead so far, or the range of the values if nothing is compared."""
    compared = _by_levels([one for one in tables if one.metric == result.deciding])
    if not compared:
        yield _range(result.deciding, result.cells.rows)
        return
    for one in compared[:_MOST]:
        yield from _ahead(one)
    if len(compared) > _MOST:
        more = count(len(compared) - _MOST, "other pairs of levels")
        yield say("The tables have {n} more pairs of levels.", n=more)


def _by_levels(tables: Sequence[PreliminaryTable]) -> list[_Compared]:
    groups: dict[tuple[str, Level, Level], list[PreliminaryTable]] = {}
    for one in tables:
        groups.setdefault((one.factor, one.level, one.base), []).append(one)
    return [_Compared(tuple(found)) for found in groups.values()]


def _ahead(found: _Compared) -> Iterator[Sentence]:
    """In how many pairs of cells a level is ahead of the other, and where by most."""
    table, metric = found.tables[0], found.tables[0].metric
    every = count(len(found.pairs), "pairs of cells")
    levels = (table.level, table.base)
    a, b = (with_level(table.factor, one) for one in levels)
    if not found.valued:
        yield say(
            "Preliminary: {metric} {a} and {b}: no value on both sides yet, in any of {n} pairs "
            "of cells.",
            metric=Name(metric.label), a=a, b=b, n=every,
        )  # fmt: skip
        return
    number = Counter(pair.ahead for _, pair in found.valued)
    first = max(levels, key=lambda level: number[level])
    if not number[first]:
        yield say(
            "Preliminary: {metric} {is_} equal {a} and {b} in the {n} pairs of cells with values.",
            metric=Name(metric.label), is_=is_or_are(metric), a=a, b=b,
            n=count(len(found.valued), "pairs of cells with values"),
        )  # fmt: skip
        return
    second = table.base if first == table.level else table.level
    yield say(
        "Preliminary: {metric} {is_} {better} {first} than {second} in {n} of {valued} pairs of "
        "cells with values{every}{noise}.",
        metric=Name(metric.label),
        is_=is_or_are(metric),
        better=Name(better(metric)),
        first=with_level(table.factor, first),
        second=with_level(table.factor, second),
        n=count(number[first], "pairs of cells with this order"),
        valued=count(len(found.valued), "pairs of cells with values"),
        every=NOTHING
        if len(found.valued) == len(found.pairs)
        else say(" ({n} are planned)", n=every),
        noise=_within_noise(found, first),
    )
    yield from _largest(found, first, second)


def _within_noise(found: _Compared, first: Level) -> Sentence:
    """How many of these leads are smaller than the study's noise."""
    table = found.tables[0]
    small = sum(pair.is_within_noise and pair.ahead == first for _, pair in found.valued)
    if not small or table.noise_pct is None:
        return NOTHING
    return say(
        ", in {n} of them by less than the noise of {noise}",
        n=count(small, "pairs within the noise"),
        noise=plain(table.noise_pct, 1, "%", "noise of the study"),
    )


def _largest(found: _Compared, first: Level, second: Level) -> Iterator[Sentence]:
    """The pair in which the level is ahead by most, with both values."""
    table, metric = found.tables[0], found.tables[0].metric
    leads = [(panel, pair) for panel, pair in found.valued if pair.ahead == first]
    panel, pair = max(leads, key=lambda one: _size(one[1]))
    cells = (pair.a, pair.base) if first == table.level else (pair.base, pair.a)
    value, other = (cell_number(cell, metric, unit=True) for cell in cells)
    if value is None or other is None:
        return
    value, other = told_apart(value, other, metric)
    n = [0 if cell is None else len(cell.runs) for cell in cells]
    yield say(
        "{what}{where}{held}: {value} {first} (n = {n}) against {other} {second} (n = {m}).",
        what=Name("The largest lead" if len(leads) > 1 else "That is"),
        where=at_level(panel, pair.x),
        held=held_levels(panel.fixed),
        value=value,
        other=other,
        first=with_level(table.factor, first),
        second=with_level(table.factor, second),
        n=count(n[0], "valid runs"),
        m=count(n[1], "valid runs"),
    )


def _size(pair: PreliminaryPair) -> float:
    return math.inf if pair.change is None else abs(pair.change)


def _range(metric: Metric, rows: Sequence[CellRow]) -> Sentence:
    """The lowest and the highest value of a metric."""
    valued = [(value, row) for row in rows if (value := row.value(metric)) is not None]
    cells = count(len(rows), "cells")
    if not valued:
        return say(
            "Preliminary: no value of {metric} yet, in any of {n} cells.",
            metric=Name(metric.label), n=cells,
        )  # fmt: skip
    low, high = (pick(valued, key=lambda one: one[0])[1] for pick in (min, max))
    least, most = (cell_number(row, metric, unit=True) for row in (low, high))
    assert least is not None, "the cell has a value"
    assert most is not None, "the cell has a value"
    if low is high:
        return say(
            "Preliminary: {metric} {is_} {value}{where} (n = {n}).",
            metric=Name(metric.label), is_=is_or_are(metric), value=least,
            where=_at(low), n=count(len(low.runs), "valid runs"),
        )  # fmt: skip
    return say(
        "Preliminary: {metric} {is_} between {least}{low} and {most}{high}, in {valued} of {n} "
        "cells.",
        metric=Name(metric.label),
        is_=is_or_are(metric),
        least=least,
        low=_at(low),
        most=most,
        high=_at(high),
        valued=count(len(valued), "cells with values"),
        n=cells,
    )


def _at(row: CellRow) -> Sentence:
    return (
        say(" ({where})", where=Name(treatment_text(row.treatment))) if row.treatment else NOTHING
    )
