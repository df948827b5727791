"""`limit`: how large a factor or a metric can become while a condition holds."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from netstudy.analysis.cells import CellRow
from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.conclusions.limit import LargestValue, LevelsHeld, LimitReached
from netstudy.analysis.metrics import Metric
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import cell_number, count, treatment_text
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.numbers import are_several, counted, exact_text, level_text
from netstudy.report.prose.words import NOTHING, alike, held_in_each, value_range
from netstudy.report.refs import Name, Sentence, say
from netstudy.study.outcome import Bound
from netstudy.wire import Treatment


class LimitPage(ConclusionPage[LimitReached]):
    """The largest level or value while a condition holds."""

    kind = LimitReached
    subject = "growth"

    def sentences(self, drawn: LimitReached, found: Concluded) -> Iterator[Sentence]:  # noqa: ARG002
        """The largest level or value, and what breaks the condition."""
        condition = _in_words(drawn.bound, drawn.condition)
        if drawn.value is not None:
            yield from _largest_value(drawn.value, condition)
        for group in alike(drawn.levels, _end):
            yield from _levels(group, drawn, condition)

    def next_run(self, drawn: LimitReached) -> Sentence | None:
        """Larger levels, if none tried breaks the condition."""
        for one in drawn.levels:
            if one.broken is None and one.largest is not None:
                largest = _names(one, [one.largest])
                return say("try more than {largest}, to find the limit.", largest=largest)
        return None


_SIGNS: Final = {"<": "below", "<=": "of at most", ">": "above", ">=": "of at least"}


def _in_words(bound: Bound, metric: Metric) -> Name:
    """The condition: "response time below 1 s"."""
    return Name(f"{metric.label} {_SIGNS[bound.sign]} {exact_text(bound.value, metric.unit)}")


def _end(one: LevelsHeld) -> Hashable:
    """The grouping key: settings whose levels keep, break or leave open the condition alike."""
    return tuple((one.level(cell), holding) for cell, holding in one.cells)


def _levels(
    group: Sequence[LevelsHeld], drawn: LimitReached, condition: Name
) -> Iterator[Sentence]:
    first = group[0]
    held = held_in_each([one.held for one in group], [one.held for one in drawn.levels])
    values: dict[str, Name | Sentence] = {
        "condition": condition,
        "held": held,
        "largest": _names(first, _cells(first.largest)),
        "kept": _values(drawn, [one.largest for one in group]),
        "broken": _names(first, _cells(first.broken)),
        "breaking": _values(drawn, [one.broken for one in group]),
    }
    if first.largest is None and first.broken is None:
        yield say("No level is shown to keep or to break {condition}{held}.", **values)
    elif first.largest is None:
        yield say(
            "No level is shown to keep {condition}{held}: {broken} {broken:breaks} it{breaking}.",
            **values,
        )
    elif first.broken is None:
        yield say(
            "At least {largest} {largest:keeps} {condition}{held}{kept}: no level tried breaks it.",
            **values,
        )
    else:
        yield say(
            "Up to {largest} {largest:keeps} {condition}{held}{kept}; {broken} {broken:breaks} "
            "it{breaking}.",
            **values,
        )
    if first.undecided:
        yield say(
            "Undecided{held}: {levels}, with an interval that includes the bound.",
            held=held,
            levels=_names(first, first.undecided),
        )
    if first.again:
        yield say(
            "This is no clear limit{held}: {again} {again:keeps} it although {broken} "
            "{broken:breaks} it.",
            held=held,
            again=_names(first, first.again),
            broken=values["broken"],
        )


def _cells(cell: CellRow | None) -> tuple[CellRow, ...]:
    return () if cell is None else (cell,)


def _names(one: LevelsHeld, cells: Sequence[CellRow]) -> Name:
    levels = [one.level(cell) for cell in cells]
    several = len(levels) > 1 or any(are_several(one.factor, level) for level in levels)
    text = counted(one.factor, listed([level_text(level) for level in levels]))
    return Name(text, several=several)


def _values(drawn: LimitReached, cells: Sequence[CellRow | None]) -> Sentence:
    """The values of the condition's metric at a level, in brackets."""
    found = [cell for cell in cells if cell is not None]
    numbers = [cell_number(cell, drawn.condition, unit=True) for cell in found]
    known = [number for number in numbers if number is not None]
    return say(" ({values})", values=value_range(known)) if known else NOTHING


def _largest_value(one: LargestValue, condition: Name) -> Iterator[Sentence]:
    value = None if one.best is None else cell_number(one.best, one.metric, unit=True)
    if one.best is None or value is None:
        yield say("No setting keeps {condition}.", condition=condition)
        return
    yield say(
        "{metric} reaches {value} while {condition}{where}.",
        metric=Name(one.metric.title),
        value=value,
        condition=condition,
        where=_where(one.best.treatment),
    )
    every = count(one.broken + one.kept, "settings with a value")
    if one.broken:
        yield say(
            "{n} of {all} settings do not keep {condition}.",
            n=count(one.broken, "settings beyond the condition"),
            all=every,
            condition=condition,
        )
    elif one.kept > 1:
        yield say("All {all} settings keep it, so that none shows the limit.", all=every)


def _where(treatment: Treatment) -> Sentence:
    return say(" ({where})", where=Name(treatment_text(treatment)))
