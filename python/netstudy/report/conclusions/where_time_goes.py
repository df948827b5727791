"""`where time goes`: the largest parts of the time of a unit of work."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from netstudy.analysis.accounts import Family, PartKey, TimeGroup, TimePart
from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.conclusions.where_time_goes import TimesShown
from netstudy.analysis.time_courses import CellTime, Course
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import plain, treatment_text
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.figures import Figure
from netstudy.report.numbers import counted, full_level, spans
from netstudy.report.prose.words import (
    NOTHING,
    alike,
    held_in_each,
    number_range,
    value_range,
)
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.tables import Table
from netstudy.report.time_figure import time_figure
from netstudy.report.time_table import time_table
from netstudy.report.time_words import (
    FAMILY_WORDS,
    by_name,
    low_s,
    place_words,
    time_text,
    whose_time,
)
from netstudy.study.conclusions.base import Conclusion

_DECIDES_PCT: Final = 60.0
"""A smaller largest family is named with the next one."""
_NAMED_PCT: Final = 10.0
"""Smaller families are not named."""
_NEARLY_ALL_PCT: Final = 99.0
_MOST_OF: Final = 0.9
"""A part with this share of its family stands for all of it."""
_HALF: Final = 0.5
"""A part with a smaller share of its family is not named."""
_PARTS: Final = 2
"""If more parts are the largest of some cell, none is named."""
_TOLD: Final = 3
"""At most this number of neighbouring spans, and of cells whose units wait for their last members,
are told."""


class TimePage(ConclusionPage[TimesShown]):
    """Where the time of units of work goes."""

    kind = TimesShown
    subject = "cause"

    def sentences(self, drawn: TimesShown, found: Concluded) -> Iterator[Sentence]:  # noqa: ARG002
        """The largest parts at the highest load, then at lower loads; the last members, the slowest
        unit."""
        for group in alike(drawn.courses, _story):
            yield _largest(group, drawn.courses, _before(group))
        yield from (_last(one, drawn.courses) for one in _late(drawn)[:_TOLD])
        yield from _worst(drawn.courses)

    def in_brief(self, drawn: TimesShown, found: Concluded) -> Iterator[Sentence]:  # noqa: ARG002
        """The largest parts at the highest load of the first settings, and the last members."""
        yield _largest(alike(drawn.courses, _story)[0], drawn.courses, NOTHING)
        yield from (_last(one, drawn.courses) for one in _late(drawn)[:1])

    def tables(self, drawn: TimesShown, found: Concluded, key: str) -> Iterator[Table]:
        """The parts of each cell."""
        yield time_table(drawn.courses, found.case, key)

    def figures(self, drawn: TimesShown, found: Concluded, key: str) -> Iterator[Figure]:
        """The bars of each cell."""
        yield time_figure(drawn.courses, found.case, key)

    def not_drawn(self, asked: Conclusion) -> Sentence:  # noqa: ARG002  # of the base
        """No run has an account."""
        return say("Not drawn: no run of these cells has an account of its time.")


def _late(drawn: TimesShown) -> list[list[tuple[Course, CellTime]]]:
    """The cells whose units wait for their last members, grouped by their sentences."""
    return alike(drawn.late, lambda one: (_levels(one[0], [one[1]]), _delayed_by(one[1])))


def _story(one: Course) -> Hashable:
    """Settings with equal stories share their sentences."""
    return tuple((span[0].largest, _levels(one, span)) for span in one.spans)


def _where(cell: CellTime) -> str:
    return treatment_text(cell.row.treatment)


def _levels(one: Course, cells: Sequence[CellTime]) -> str:
    """The levels of cells along the factor: "4 to 16 users"; empty if there is no factor."""
    if one.factor is None:
        return ""
    chosen, every = (
        [cell.row.treatment[one.factor] for cell in some] for some in (cells, one.cells)
    )
    return counted(one.factor, listed(spans(chosen, every)))


def _at(group: Sequence[Course], every: Sequence[Course], levels: str) -> Sentence:
    """ "At 32 servers (switch a), "; empty if there is only one cell."""
    held = NOTHING
    if len(every) > 1:
        held = held_in_each([one.held for one in group], [one.held for one in every])
    return say("At {levels}{held}, ", levels=Name(levels), held=held) if levels else NOTHING


def _largest(group: Sequence[Course], every: Sequence[Course], before: Sentence) -> Sentence:
    """The largest family at the highest load of these settings, with its time in the middle units
    and in the slowest ones, and then `before`: the largest families at lower loads."""
    last = [cell for one in group for cell in one.telling]
    family = last[0].largest
    if family == "not known":
        return say(
            "{at}it is not known where the time of {unit} goes.",
            at=_at(group, every, _levels(group[0], group[0].telling)),
            unit=Name(whose_time(last[0].whole.unit)),
        )
    shares = _shares(last, family)
    named = _in_words(family, last)
    tail = _middle_and_slowest(last, family)
    if shares.value < _DECIDES_PCT:
        named = join([named, *_next(last, family)])
        tail = NOTHING
    return say(
        "{at}{least}{share} of {unit} is {named}{tail}{unknown}{before}.",
        at=_at(group, every, _levels(group[0], group[0].telling)),
        least=_least(last),
        share=shares,
        unit=_unit(last[0]),
        named=named,
        tail=tail,
        unknown=_unknown(last),
        before=before,
    )


def _unit(cell: CellTime) -> Name:
    unit = cell.whole.unit
    return Name(f"the time of {whose_time(unit)}" if unit == "interval" else whose_time(unit))


def _least(cells: Sequence[CellTime]) -> Sentence:
    return NOTHING if all(one.whole.is_exact for one in cells) else say("at least ")


def _in_words(family: Family, cells: Sequence[CellTime]) -> Sentence:
    """The family, with the parts that are most of it in each cell: "waiting for timers
    (retransmission timer of server)"."""
    # Where the discipline of a queue is a factor, the levels of the cells name it.
    named = not any(len(found) > 1 for found in _disciplines(cells).values())
    own = [next(iter(by_name(one.whole, family, with_disciplines=named).items())) for one in cells]
    names = [name for name, _ in Counter(name for name, _ in own).most_common()]
    parts = [names[0], *(_elsewhere(one, cells, own) for one in names[1:])]
    if family == "window":
        return say("round trips for the {windows}", windows=Name(" and, ".join(parts)))
    words = Name(FAMILY_WORDS[family])
    shares = (
        low_s(own_parts) / one.whole.family_s(family)
        for one, (_, own_parts) in zip(cells, own, strict=True)
    )
    least = min(shares)
    if least < _HALF or len(names) > _PARTS:
        return say("{family}", family=words)
    text = "{family} ({parts})" if least >= _MOST_OF else "{family} (most of it: {parts})"
    return say(text, family=words, parts=Name(" and, ".join(parts)))


def _disciplines(cells: Sequence[CellTime]) -> Mapping[PartKey, set[tuple[str, ...]]]:
    """The disciplines of each queue in all cells."""
    found: defaultdict[PartKey, set[tuple[str, ...]]] = defaultdict(set)
    for cell in cells:
        for part in cell.whole.parts:
            if part.key.place == "queue":
                found[replace(part.key, disciplines=())].add(part.key.disciplines)
    return found


def _elsewhere(
    name: str, cells: Sequence[CellTime], own: Sequence[tuple[str, Sequence[TimePart]]]
) -> str:
    """A part that is the largest only in some cells, with these cells."""
    found = [
        listed([full_level(*level) for level in one.row.treatment.items()])
        for one, (known, _) in zip(cells, own, strict=True)
        if known == name
    ]
    return f"at {'; '.join(found)}, {name}"


def _next(cells: Sequence[CellTime], family: Family) -> Iterator[Sentence]:
    """The next family, if it is large enough to be named."""
    others = [
        one
        for one in cells[0].whole.families
        if one not in (family, "not known") and all(one in cell.whole.families for cell in cells)
    ]
    for other in others[:1]:
        share = _shares(cells, other)
        if share.value >= _NAMED_PCT:
            yield say(
                "{least}{share} {name}",
                least=_least(cells),
                share=share,
                name=_in_words(other, cells),
            )


def _middle_and_slowest(cells: Sequence[CellTime], family: Family) -> Sentence:
    """ ": 19 ms in the middle one, 200 ms in the slowest ones"; empty for spans of a stream, which
    all take as long."""
    times = [_times(cells, group, family) for group in ("middle", "slowest")]
    if cells[0].whole.unit == "interval" or not all(times):
        return NOTHING
    middle, slowest = map(value_range, times)
    if middle.text == slowest.text:
        return say(
            ": {least}{middle} in the middle one as in the slowest ones",
            least=_least(cells),
            middle=middle,
        )
    return say(
        ": {least}{middle} in the middle one, {slowest} in the slowest ones",
        least=_least(cells),
        middle=middle,
        slowest=slowest,
    )


def _times(cells: Sequence[CellTime], group: TimeGroup, family: Family) -> list[Number]:
    found = ((one, one.time("journey", group)) for one in cells)
    return [
        _time(time.family_s(family), f"{family}, {group} units, {_where(one)}")
        for one, time in found
        if time is not None
    ]


def _time(seconds: float, source: str) -> Number:
    return Number(seconds * 1e3, time_text(seconds), source)


def _shares(cells: Sequence[CellTime], family: Family) -> Number:
    return value_range(
        [
            _percent(
                one.whole.share_pct(lambda key: key.family == family),
                f"{family} ÷ the mean time, {_where(one)}",
            )
            for one in cells
        ]
    )


def _percent(value: float, source: str) -> Number:
    # One decimal near both ends: 99.7 % is not all.
    return plain(value, 0 if _NAMED_PCT <= value < _NEARLY_ALL_PCT else 1, "%", source)


def _unknown(cells: Sequence[CellTime]) -> Sentence:
    """The time that no lower bound covers."""
    if all(one.whole.is_exact for one in cells):
        return NOTHING
    shares = [
        _percent(
            100 - one.whole.share_pct(lambda key: key.family != "not known"),
            f"the mean time without all lower bounds, {_where(one)}",
        )
        for one in cells
    ]
    return say("; at most {share} is not known", share=value_range(shares))


def _before(group: Sequence[Course]) -> Sentence:
    """The largest families of the cells before the last ones, where they are others: "; the largest
    part is waiting in queues (queue at switch to client) at 1 and 2 flows (56 %)"."""
    first = group[0]
    parts = [
        say(
            "{family} at {levels} ({least}{share})",
            family=_in_words(span[0].largest, cells),
            levels=Name(_levels(first, span)),
            least=_least(span),
            share=_shares(cells, span[0].largest),
        )
        for place, span in enumerate(first.spans[:-1])
        if span[0].largest != "not known"
        for cells in [[cell for one in group for cell in one.spans[place]]]
    ]
    if not parts:
        return NOTHING
    more = say(", and others before the last") if len(parts) > _TOLD else NOTHING
    return say("; the largest part is {parts}{more}", parts=join(parts[:_TOLD]), more=more)


def _last(late: Sequence[tuple[Course, CellTime]], every: Sequence[Course]) -> Sentence:
    """The connections that end most units, and what the units wait for."""
    course, first = late[0]
    cells = [cell for _, cell in late]
    family = _delayed_by(first)
    members = [(one, one.time("journey", "median-member")) for one in cells]
    own = [
        _time(time.whole_s, f"mean time until the median connection is done, {_where(one)}")
        for one, time in members
        if time is not None
    ]
    return say(
        "{at}{lead}: {least}{waits} of {all} is {family}, while the median connection needs {own} "
        "in all.",
        at=_at([one for one, _ in late], every, _levels(course, [first])),
        lead=_lead(cells),
        least=_least(cells),
        waits=value_range(_times(cells, "all", family)),
        all=value_range([_time(one.whole.whole_s, f"mean time, {_where(one)}") for one in cells]),
        family=Name(FAMILY_WORDS[family]),
        own=value_range(own),
    )


def _delayed_by(cell: CellTime) -> Family:
    """The family that takes most of the time beyond that of the median member."""
    member = cell.time("journey", "median-member")
    own = {one: 0.0 if member is None else member.family_s(one) for one in cell.whole.families}
    return max(own, key=lambda one: cell.whole.family_s(one) - own[one])


def _lead(cells: Sequence[CellTime]) -> Sentence:
    """ "2 of 14 connections end 93 % of the iterations"."""
    unit, found = cells[0].whole.unit, [(one, last) for one in cells for last in one.last]
    if not found:
        return say("the last connection ends {unit} late", unit=_unit(cells[0]))
    if any(2 * last.number > last.of for _, last in found):
        return say("the last connection changes from {unit} to {unit}", unit=Name(unit))
    where = _where(cells[0])
    source = f"fewest connections that end most {unit}s, {where}"
    number = number_range([last.number for _, last in found], source)
    return say(
        "{n} of {all} connections {end} {share} of the {unit}s",
        n=number,
        all=number_range([last.of for _, last in found], f"connections, {where}"),
        end=Name("ends" if number.text == "1" else "end"),
        share=value_range(
            [
                _percent(last.share_pct, f"{unit}s that they end, {_where(one)}")
                for one, last in found
            ]
        ),
        unit=Name(unit),
    )


def _worst(courses: Sequence[Course]) -> Iterator[Sentence]:
    """The slowest unit of all cells, and its largest part."""
    found = [
        (cell, time)
        for one in courses
        for cell in one.cells
        if (time := cell.time("journey", "worst")) is not None and time.unit != "interval"
    ]
    if not found:
        return
    cell, time = max(found, key=lambda one: one[1].whole_s)
    where, part = _where(cell), time.parts[0]
    yield say(
        "The slowest {unit} took {all} ({number}{where}): {least}{part} of it is {name}.",
        unit=Name(time.unit),
        all=_time(time.whole_s, f"the slowest one, {where}"),
        number=Name(f"number {time.number} of run {time.run}"),
        where=say(", {where}", where=Name(where)) if where else NOTHING,
        least=NOTHING if time.is_exact else say("at least "),
        part=_time(part.low_s, f"its largest part, {where}"),
        name=Name(place_words(part.key)),
    )
