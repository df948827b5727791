"""The costs of the better level: the metrics in which it is worse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from netstudy.analysis.case_result import PanelResult
from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.verdict import Comparison, VerdictTable
from netstudy.report.numbers import level_text
from netstudy.report.prose.change import change_of, compared, size_of
from netstudy.report.prose.words import at_level, in_panel, with_level
from netstudy.report.refs import Sentence, say
from netstudy.wire import Level


@dataclass(frozen=True, eq=False)
class _Cost:
    """A row in which the better level is worse in another metric."""

    panel: PanelResult
    table: VerdictTable
    row: Comparison
    best: Level


def costs(result: StudyResult) -> Iterator[Sentence]:
    """The largest cost in each compared metric but the deciding one, if the same level is better
    in the deciding metric wherever that is decided."""
    largest: dict[str, _Cost] = {}
    for found in (panel for case in result.cases for panel in case.panels):
        for one in _costs_in(found, result):
            name = one.table.metric.name
            if name not in largest or _size(one) > _size(largest[name]):
                largest[name] = one
    yield from map(_sentence, largest.values())


def _costs_in(found: PanelResult, result: StudyResult) -> Iterator[_Cost]:
    for table in found.verdicts:
        if table.metric != result.deciding:
            continue
        winners = {row.winner for row in table.rows if row.winner is not None}
        if len(winners) != 1:
            continue
        (best,) = winners
        for other in found.verdicts:
            if other.level == table.level and other.metric != table.metric:
                for row in other.rows:
                    if row.winner not in (None, best):
                        yield _Cost(found, other, row, best)


def _size(one: _Cost) -> float:
    return size_of(one.row, one.table.metric)


def _sentence(one: _Cost) -> Sentence:
    table, row = one.table, one.row
    other = table.base if one.best == table.level else table.level
    source = f"{table.metric.name}, {table.factor}={level_text(table.level)} ÷ {table.base}"
    change = replace(change_of(row, source), interval=None, difference_interval=None)
    change = change if one.best == table.level else change.inverse()
    return say(
        "The price: {worse}{at}{held}.",
        worse=compared(
            table.metric,
            change,
            with_level(table.factor, one.best),
            with_level(table.factor, other),
        ),
        at=at_level(one.panel.panel, row.x),
        held=in_panel(one.panel.panel),
    )
