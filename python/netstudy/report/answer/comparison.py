"""Which level is better, in which metric, over which range, by how much, and where the lead
changes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from netstudy.analysis.case_result import PanelResult
from netstudy.analysis.effects import Effects, PairEffect, Pointless
from netstudy.analysis.layout import Panel
from netstudy.analysis.verdict import Comparison, VerdictTable
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import at, cell_number, count, metric_number, plain
from netstudy.report.numbers import counted, level_text, significant_text, spans
from netstudy.report.prose.change import (
    TOLD_AS_TIMES,
    Change,
    better,
    change_of,
    compared,
    is_or_are,
    lead,
    size,
    size_of,
    told_apart,
    ways,
)
from netstudy.report.prose.pairs import pair_sentence
from netstudy.report.prose.undecided import at_most, undecided_pair
from netstudy.report.prose.words import (
    NOTHING,
    at_level,
    at_levels,
    not_compared,
    things,
    why_no_verdict,
    with_level,
)
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.wire import Level, Treatment


def two_levels(found: PanelResult, table: VerdictTable, *, keeps_order: bool) -> Iterator[Sentence]:
    """Two levels compared at each value of x. `keeps_order`: sentences are about the level that the
    question of yes or no names first, not about the better one."""
    rows = [row for row in table.rows if row.difference is not None]
    if not rows and any(row.lacking is not None for row in table.rows):
        yield say("{why}.", why=why_no_verdict(table))
        return
    if not rows:
        yield not_compared(table)
        return
    if all(row.within_one_run for row in rows):
        yield _one_run(table)
        return
    decided = table.with_outcome("different")
    if not decided:
        yield from _equal(found.panel, table)
        yield from _open(found.panel, table)
        return
    yield _who(found.panel, table, keeps_order=keeps_order)
    yield _how_much(found, table, _largest(table, decided))
    yield from _open(found.panel, table)


def _both(table: VerdictTable) -> dict[str, Name]:
    return {
        "metric": Name(table.metric.label),
        "a": with_level(table.factor, table.level),
        "b": with_level(table.factor, table.base),
    }


def _one_run(table: VerdictTable) -> Sentence:
    rows = [row for row in table.rows if row.difference is not None]
    ahead = Counter(table.ahead(row) for row in rows)
    first, other = sorted((table.level, table.base), key=lambda level: -ahead[level])
    return say(
        "{why}. In these runs, {metric} {is_} {better} {a} than {b} in {n} of {all} cells.",
        why=why_no_verdict(table),
        metric=Name(table.metric.label),
        is_=is_or_are(table.metric),
        better=Name(better(table.metric)),
        n=count(ahead[first], "cells in which it has the better value"),
        all=count(len(rows), "cells with both values"),
        a=with_level(table.factor, first),
        b=with_level(table.factor, other),
    )


def _equal(panel: Panel, table: VerdictTable) -> Iterator[Sentence]:
    same = table.with_outcome("same")
    if same:
        yield say(
            "{metric} {is_} equal {a} and {b}{where}.",
            is_=is_or_are(table.metric),
            where=at_levels(panel, [row.x for row in same]),
            **_both(table),
        )


def _who(panel: Panel, table: VerdictTable, *, keeps_order: bool) -> Sentence:
    """Where one level is better, and where worse. `keeps_order`: the sentence is about the level,
    not the base, if it is better anywhere; else about the one that is better at most places."""
    first, second = table.level, table.base
    wins, losses = len(table.won_by(first)), len(table.won_by(second))
    if not wins or (losses > wins and not keeps_order):
        first, second = second, first
    won, lost = table.won_by(first), table.won_by(second)
    if not won:  # neither a higher nor a lower value is better
        different = table.with_outcome("different")
        return say(
            "{metric} {is_} not the same {a} and {b}{where}.",
            is_=is_or_are(table.metric),
            where=at_levels(panel, [row.x for row in different]),
            **_both(table),
        )
    smaller, larger = ways(table.metric)
    word = better(table.metric)
    worse = smaller if word == larger else larger
    also = Sentence(
        tuple(
            part
            for way, rows in ((worse, lost), ("equal", table.with_outcome("same")))
            for part in (", ", way, _where(panel, rows))
            if rows
        )
    )
    return say(
        "{metric} {is_} {word} {first} than {second}{where}{also}.",
        metric=Name(table.metric.label),
        is_=is_or_are(table.metric),
        word=Name(word),
        first=with_level(table.factor, first),
        second=with_level(table.factor, second),
        where=_where(panel, won, everywhere=len(won) == len(table.rows)),
        also=also,
    )


def _where(panel: Panel, rows: Sequence[Comparison], *, everywhere: bool = False) -> Sentence:
    found = at_levels(panel, [row.x for row in rows])
    if everywhere and panel.x is not None and len(rows) > 1:
        return say(" throughout,{found}", found=found)
    return found


def _how_much(found: PanelResult, table: VerdictTable, row: Comparison) -> Sentence:
    """The largest difference with both values."""
    metric, panel = table.metric, found.panel
    winner, change = _won_by(table, row)
    loser = table.base if winner == table.level else table.level
    cells = (panel.cell(row.x, level) for level in (winner, loser))
    value, other = (cell_number(cell, metric, unit=True) for cell in cells)
    assert value is not None, "a decided row has both values"
    assert other is not None, "a decided row has both values"
    value, other = told_apart(value, other, metric)
    return say(
        "{what}{where}: {value} against {other}, {ahead}.",
        what=Name("Largest difference" if len(table.rows) > 1 else "The difference"),
        where=at_level(panel, row.x),
        value=value,
        other=other,
        ahead=lead(metric, change),
    )


def _largest(table: VerdictTable, decided: Sequence[Comparison]) -> Comparison:
    """The row with the largest difference."""
    return max(decided, key=lambda row: size_of(row, table.metric))


def _won_by(table: VerdictTable, row: Comparison) -> tuple[Level, Change]:
    """The level that wins a comparison, and the change from the loser's value to the winner's."""
    winner = table.level if row.winner in (None, table.level) else table.base
    pair = f"{table.factor}={level_text(table.level)} ÷ {level_text(table.base)}"
    change = change_of(row, f"{table.metric.name}, {pair}")
    return winner, change if winner == table.level else change.inverse()


def _open(panel: Panel, table: VerdictTable) -> Iterator[Sentence]:
    """The known bounds of the undecided rows."""
    rows = table.with_outcome("undecided")
    short = [row for row in rows if row.unsettled is not None]
    if short:
        yield say(
            "Undecided: the measuring phase is too short to tell {metric} {a} and {b} apart"
            "{where}.",
            where=at_levels(panel, [row.x for row in short]),
            **_both(table),
        )
    rows = tuple(row for row in rows if row.unsettled is None)
    levels = [with_level(table.factor, level) for level in (table.level, table.base)]
    if len(rows) == 1:
        known = undecided_pair(rows[0], table.metric, *levels)
        yield say("{where}{known}.", where=_at_start(panel, rows[0].x), known=known)
    elif rows:
        yield say(
            "Too close to call{where}: {metric} {a} and {b}{most}.",
            where=at_levels(panel, [row.x for row in rows]),
            most=at_most(rows, table.metric),
            **_both(table),
        )


def _at_start(panel: Panel, x: Level | None) -> Sentence:
    """The place of a level at the beginning of a sentence: "At 23 servers, "; empty without a
    factor along x."""
    return NOTHING if panel.x is None else say("At {x}, ", x=at(panel.x, x))


def many_levels(factor: str, whole: Effects) -> Iterator[Sentence]:
    """The levels of a factor compared on average over all levels of the other factors."""
    pairs = whole.pairs[factor]
    leaders = _leaders(pairs)
    beaten = [pair for pair in pairs if _beats(pair) in leaders[:1]]
    told = None
    if len(leaders) > 1 and beaten:
        yield _share(leaders, pairs, Name(whole.metric.label))
    if beaten:
        yield from _over_all(leaders[0], beaten)
    elif len(pairs) == 1 or not pairs[0].is_main:
        # The pairs are sorted by size; if the largest one depends on another
        # factor, its sentence names the levels of that factor.
        told = pairs[0]
        yield pair_sentence(told)
    else:
        yield say(
            "No level of {factor} is best over all others in {metric}.",
            factor=Name(factor),
            metric=Name(whole.metric.label),
        )
    yield from _surprises(whole, only=factor, told=told)


def _share(leaders: Sequence[Level], pairs: Sequence[PairEffect], metric: Name) -> Sentence:
    """The sentence on several levels that no other level beats: they are equal in every setting, or
    it is undecided which of them is best."""
    names = join([with_level(pairs[0].factor, level) for level in leaders])
    among = [pair for pair in pairs if pair.level in leaders and pair.base in leaders]
    if all(row.outcome == "same" for pair in among for row in pair.rows):
        return say("{metric} is best, and equal, {leaders}.", leaders=names, metric=metric)
    return say(
        "{metric} is best {leaders}; which of them is best is undecided.",
        leaders=join([with_level(pairs[0].factor, level) for level in leaders], "or"),
        metric=metric,
    )


def _leaders(pairs: Sequence[PairEffect]) -> list[Level]:
    """The levels that no other level beats over all settings; the level with the most wins comes
    first."""
    levels = dict.fromkeys(level for pair in pairs for level in (pair.level, pair.base))
    won = Counter(_beats(pair) for pair in pairs)
    lost = {_other(pair, best) for pair in pairs if (best := _beats(pair)) is not None}
    return sorted((level for level in levels if level not in lost), key=lambda one: -won[one])


def _beats(pair: PairEffect) -> Level | None:
    """The level that is better wherever the two are decided; None: neither is shown to be better,
    or each is better somewhere."""
    if pair.winner is not None or not pair.is_shown or pair.turns:
        return pair.winner
    is_level = bool(pair.won_by(pair.level))
    is_base = bool(pair.won_by(pair.base))
    return pair.level if is_level else pair.base if is_base else None


def _over_all(best: Level, beaten: Sequence[PairEffect]) -> Iterator[Sentence]:
    """The lead of the best level, on average where an average describes all settings."""
    main = [pair for pair in beaten if pair.is_main]
    yield from (pair_sentence(pair) for pair in beaten if not pair.is_main)
    if main:
        yield _overall(best, main)


def _overall(best: Level, pairs: Sequence[PairEffect]) -> Sentence:
    """The lead of the best level over each that it beats: "with dctcp, completion time is 3.3 times
    shorter than with cubic and 25 % shorter than with reno, on average over 2 settings"."""
    first, *others = sorted(pairs, key=lambda pair: -abs(pair.contrast.value))
    more = [_lead_over(pair, best) for pair in others]
    return say(
        "{first}{more}, on average over {n}.",
        first=_ahead(first, best),
        more=say(", and {parts}", parts=join(more)) if more else NOTHING,
        n=things(count(len(first.contexts), "treatments of the other factors"), "setting"),
    )


def _other(pair: PairEffect, level: Level) -> Level:
    return pair.base if level == pair.level else pair.level


def _change(pair: PairEffect, winner: Level) -> Change:
    """The change from the other level to the winner, on average over all settings."""
    source = f"{pair.factor}={level_text(pair.level)} against {level_text(pair.base)}, "
    source += f"{pair.metric.name} over {len(pair.contexts)} settings"
    if pair.scale == "ratio":
        change = Change(pair.change, pair.interval, f"geometric mean of ratios, {source}")
    else:
        change = Change(1.0, None, f"mean difference, {source}", pair.change, pair.interval)
    return change if winner == pair.level else change.inverse()


def _ahead(pair: PairEffect, winner: Level) -> Sentence:
    """The lead of one level over the other, on average over all settings."""
    who, other = (with_level(pair.factor, one) for one in (winner, _other(pair, winner)))
    if pair.scale == "ratio" or pair.metric.is_share:
        return compared(pair.metric, _change(pair, winner), who, other)
    value = metric_number(abs(pair.change), pair.metric, _change(pair, winner).source)
    return say(
        "{who}, {metric} {is_} {way} by {value} than {other}",
        who=who,
        metric=Name(pair.metric.label),
        is_=is_or_are(pair.metric),
        way=Name(better(pair.metric)),
        value=value,
        other=other,
    )


def _lead_over(pair: PairEffect, winner: Level) -> Sentence:
    """The end of a sentence that names the winner before: "25 % shorter than with reno"."""
    other = with_level(pair.factor, _other(pair, winner))
    if pair.scale == "ratio" or pair.metric.is_share:
        how_much, word = size(pair.metric, _change(pair, winner))
        return say("{size} {word} {other}", size=how_much, word=Name(word), other=other)
    value = metric_number(abs(pair.change), pair.metric, _change(pair, winner).source)
    return say(
        "{way} by {value} than {other}", way=Name(better(pair.metric)), value=value, other=other
    )


def factors(whole: Effects, x: str | None) -> Iterator[Sentence]:
    """For studies without a comparison: the factors that matter, except the load along x, and what
    their effects depend on."""
    ranked = [one for one in whole.ranked if one.factor != x] or whole.ranked
    first = ranked[0]
    if not first.is_main:
        yield pair_sentence(first)
        yield from _surprises(whole, told=first)
        return
    yield say(
        "Of all factors, {factor} changes {metric} most: {ahead}{rest}.",
        factor=Name(first.factor),
        metric=Name(whole.metric.label),
        ahead=_ahead(first, _winner(first)),
        rest=_others([one for one in ranked[1:] if one.is_shown]),
    )
    yield from _surprises(whole)


def _winner(pair: PairEffect) -> Level:
    """The better level; for a metric without a better direction, the one with the higher value."""
    return pair.winner or (pair.level if pair.contrast.value > 0 else pair.base)


def _others(ranked: Sequence[PairEffect]) -> Sentence:
    parts = [say("{factor} ({ahead})", factor=Name(one.factor), ahead=_size(one)) for one in ranked]
    return say("; then {parts}", parts=join(parts)) if parts else NOTHING


def _size(pair: PairEffect) -> Sentence:
    """The size of an effect without its interval."""
    source = f"largest effect of {pair.factor} on {pair.metric.name}"
    if pair.scale == "difference":
        return say("{d}", d=metric_number(abs(pair.change), pair.metric, source))
    ratio = max(pair.change, 1 / pair.change)
    if ratio >= TOLD_AS_TIMES:
        return say("{n} times", n=Number(ratio, significant_text(ratio, 2), source))
    return say("{n}", n=plain(100 * (ratio - 1), 0, "%", source))


def _surprises(
    whole: Effects, only: str | None = None, told: PairEffect | None = None
) -> Iterator[Sentence]:
    """The levels of other factors at which a factor has no effect, and those at which its effect is
    reversed, without the interaction of `told`, whose sentence has the effect at each level."""
    turning = [pair for pairs in whole.pairs.values() for pair in pairs if pair.turns]
    by = None if told is None or told.depends_on is None else told.depends_on.by
    turning = [pair for pair in turning if pair is not told and pair.factor != by]
    turning = [pair for pair in turning if only in (None, pair.factor)]
    for one in whole.pointless:
        if only in (None, one.factor):
            yield _no_effect(one)
    for factor in dict.fromkeys(pair.factor for pair in turning):
        yield _turned(next(pair for pair in turning if pair.factor == factor))


def _no_effect(one: Pointless) -> Sentence:
    levels = [level_text(level) for level in one.levels]
    text = levels[0] if one.is_tail else listed(levels)
    template = "With {by}{more}, {factor} makes no difference."
    more = say(" or more") if one.is_tail and len(levels) > 1 else NOTHING
    return say(template, by=Name(counted(one.by, text)), more=more, factor=Name(one.factor))


def _turned(pair: PairEffect) -> Sentence:
    """The settings in which a level wins although it loses in most others."""
    fewer, more = sorted((pair.level, pair.base), key=lambda level: len(pair.won_by(level)))
    places = pair.won_by(fewer)
    row = max(
        (row for row in pair.rows if row.winner == fewer),
        key=lambda row: size_of(row, pair.metric),
    )
    source = f"{pair.metric.name}, {pair.factor}={level_text(pair.level)} ÷ {level_text(pair.base)}"
    change = replace(change_of(row, source), interval=None, difference_interval=None)
    return say(
        "Only at {places}: {ahead}.",
        ahead=compared(
            pair.metric,
            change if fewer == pair.level else change.inverse(),
            with_level(pair.factor, fewer),
            with_level(pair.factor, more),
        ),
        places=Name(_places(places, pair.contexts)),
    )


def _places(places: Sequence[Treatment], of: Sequence[Treatment]) -> str:
    """If the treatments are all combinations of some levels, these levels of each factor; otherwise
    the number of treatments."""
    levels = {
        factor: list(dict.fromkeys(one[factor] for one in places))
        for factor in places[0]
        if len({one[factor] for one in of}) > 1
    }
    if math.prod(map(len, levels.values())) != len(places):
        return f"{len(places)} of {len(of)} settings"
    all_levels = {factor: list(dict.fromkeys(one[factor] for one in of)) for factor in levels}
    return ", ".join(
        counted(factor, listed(spans(found, all_levels[factor])))
        for factor, found in levels.items()
        if len(found) < len(all_levels[factor])
    )
