"""The answer: which level is better, in which metric, over which range, by how much, how surely,
and where the lead changes.

It is a box of at most 60 words. Sentences are added in the order of their weight as long as they
fit; the first one is always kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest

from netstudy.analysis.case_result import CaseResult, PanelResult
from netstudy.analysis.conclusions import Concluded, LevelsCompared, Replaced
from netstudy.analysis.effects import Effects, PairEffect, Pointless
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.verdict import Comparison, VerdictTable
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import cell_number, count, metric_number, plain
from netstudy.report.numbers import counted, level_text, significant_text, spans
from netstudy.report.prose.change import (
    TOLD_AS_TIMES,
    Change,
    ahead_of,
    change_of,
    comparative,
    is_height,
    is_time,
    lead,
    size_of,
    told_apart,
)
from netstudy.report.prose.concluded import sentences_of
from netstudy.report.prose.grow import loop_sentence
from netstudy.report.prose.observe import key_observations, out_of_order
from netstudy.report.prose.pairs import pair_sentence
from netstudy.report.prose.unsettled import needed
from netstudy.report.prose.words import (
    NOTHING,
    at_level,
    at_levels,
    in_words,
    named,
    not_compared,
    overtakings,
    things,
    why_no_verdict,
)
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.wire import Level, Treatment

WORDS_MAX = 60


def answer(result: StudyResult) -> list[Sentence]:
    """The sentences of the box."""
    if len(result.cases) == 1:
        return within(_case(result, result.cases[0]))
    # The first sentence of every case comes first, then further sentences as far as they fit.
    alike = _cases_alike(result)
    others = [case for case in result.cases if not any(case is one.case for one in alike)]
    briefs = [
        [say("{case}: {text}", case=Name(case.name), text=text) for text in brief]
        for case in others
        if (brief := [*_case_in_brief(result, case)])
    ]
    said_alike = [*_alike(alike)]
    if words_in([*(brief[0] for brief in briefs), *said_alike]) > WORDS_MAX:
        briefs = [[first.without_asides(), *more] for first, *more in briefs]
        said_alike = [sentence.without_asides() for sentence in said_alike]
    first_of_each = alone([*(brief[0] for brief in briefs), *said_alike])
    return within(chain(first_of_each, *(islice(led(brief), 1, None) for brief in briefs)))


@dataclass(frozen=True)
class _CaseAlike:
    """A test case whose first conclusion shows no difference between levels."""

    case: CaseResult
    metric: Metric
    is_decided: bool
    """True: the levels are equal. False: they are too close to call."""


def _cases_alike(result: StudyResult) -> list[_CaseAlike]:
    """The test cases without a difference, if there are two or more: one sentence names them all.
    If there is only one, the list is empty, and the case keeps the sentence of its own
    conclusion."""
    found = [one for case in result.cases for one in _case_alike(result, case)]
    return found if len(found) > 1 else []


def worth_a_figure(result: StudyResult) -> list[CaseResult]:
    """The test cases that show a difference; all test cases if none shows one."""
    return [case for case in result.cases if not [*_case_alike(result, case)]] or [*result.cases]


def _case_alike(result: StudyResult, case: CaseResult) -> Iterator[_CaseAlike]:
    compared = next((drawn for one in _drawn(result, case) for drawn in one.drawn), None)
    if _deciding(result, case) or not isinstance(compared, LevelsCompared):
        return
    outcomes = {row.outcome for pair in compared.pairs for row in pair.rows} - {"missing"}
    if len(outcomes) == 1 and outcomes <= {"same", "undecided"}:
        yield _CaseAlike(case, compared.metric, outcomes == {"same"})


def _alike(found: Sequence[_CaseAlike]) -> Iterator[Sentence]:
    """One sentence for each metric, which lists the test cases without a difference."""
    for metric in dict.fromkeys(one.metric for one in found):
        own = [one for one in found if one.metric == metric]
        equal, open_ = (
            Name(", ".join(one.case.name for one in own if one.is_decided is decided))
            for decided in (True, False)
        )
        template = "Equal in {metric}: {equal}; too close to call: {open}."
        if not str(open_):
            template = "Equal in {metric}: {equal}."
        elif not str(equal):
            template = "Too close to call in {metric}: {open}."
        yield say(template, metric=Name(metric.label), equal=equal, open=open_)


@dataclass(frozen=True)
class Weighed:
    """A sentence that is added if there is room."""

    sentence: Sentence
    after: Sentence | None = None
    """The sentence that must come before this one, because it names the subject of both; None if
    this one needs no other."""


def alone(sentences: Iterable[Sentence]) -> Iterator[Weighed]:
    """Sentences that can each stand without the others."""
    return map(Weighed, sentences)


def led(sentences: Iterable[Sentence]) -> Iterator[Weighed]:
    """Sentences whose subject is named by the first one, so that none may appear without the
    first."""
    first = None
    for sentence in sentences:
        yield Weighed(sentence, first)
        first = first or sentence


def in_order(sentences: Iterable[Sentence]) -> Iterator[Weighed]:
    """Sentences that may each appear only after the one before."""
    before = None
    for sentence in sentences:
        yield Weighed(sentence, before)
        before = sentence


def within(
    weighed: Iterable[Weighed], words_max: int = WORDS_MAX, *, first_always: bool = True
) -> list[Sentence]:
    """The first sentences that fit into `words_max` words together, without repetitions. With
    `first_always`, the first one is kept even if it is too long."""
    found: dict[str, Sentence] = {}
    said: list[Sentence] = []
    left = words_max
    for one in weighed:
        text, words = str(one.sentence), words_in([one.sentence])
        if one.after is not None and not any(one.after is sentence for sentence in said):
            continue
        if text in found:
            said.append(one.sentence)
        elif words <= left or (first_always and not found):
            said.append(one.sentence)
            found[text] = one.sentence
            left -= words
    return list(found.values())


def words_in(sentences: Iterable[Sentence]) -> int:
    """The number of words of these sentences."""
    return sum(len(str(sentence).split()) for sentence in sentences)


def _case_in_brief(result: StudyResult, case: CaseResult) -> Iterator[Sentence]:
    """A test case in short, for studies with several: its first sentence, and the largest lead."""
    yield from (one.sentence for one in islice(_case(result, case), 1))
    tables = _deciding(result, case)
    decided = tables[0].with_outcome("different") if len(tables) == 1 else ()
    if decided:
        row = _largest(tables[0], decided)
        panel = next(found.panel for found in case.panels if tables[0] in found.verdicts)
        ahead = lead(tables[0].metric, replace(_won_by(tables[0], row)[1], interval=None))
        yield say("Largest lead{where}: {ahead}.", where=at_level(panel, row.x), ahead=ahead)


def _deciding(result: StudyResult, case: CaseResult) -> list[VerdictTable]:
    """The verdicts of a test case on the deciding metric."""
    tables = (table for found in case.panels for table in found.verdicts)
    return [table for table in tables if table.metric == result.deciding]


def _case(result: StudyResult, case: CaseResult) -> Iterator[Weighed]:
    """The sentences of a test case, the weightiest first."""
    tables = _deciding(result, case)
    whole = result.effects_in(case)
    if not tables:
        own = (in_order(sentences_of(one)) for one in _drawn(result, case))
        yield from (one for turn in zip_longest(*own) for one in turn if one is not None)
    if case.loops:
        yield from alone(map(loop_sentence, case.loops))
    if len(tables) == 1 or (tables and len(case.layout.factors) == 1):
        for table in tables:
            compared = next(found for found in case.panels if table in found.verdicts)
            yield from led(_two_levels(compared, table))
    elif tables and whole is not None and result.comparing is not None:
        yield from alone(_compared(result.comparing.factor, whole))
    elif whole is not None and whole.ranked:
        yield from alone(_factors(whole, _load(case)))
    elif not case.loops:
        yield from alone(_observed(case, is_alone=len(result.cases) == 1))
    for found in case.panels:
        yield from alone(in_words(found.panel, one) for one in out_of_order(found, result))
    if tables:
        # A replaced part is stronger evidence of a limit than an observed load, so it comes first.
        weighed = sorted(
            _drawn(result, case), key=lambda one: not isinstance(one.drawn[0], Replaced)
        )
        yield from alone(sentences_of(one)[0] for one in weighed)


def _drawn(result: StudyResult, case: CaseResult) -> list[Concluded]:
    """The conclusions of a test case that its records allow."""
    return [one for one in result.concluded if one.case == case.name and one.drawn]


def _observed(case: CaseResult, *, is_alone: bool) -> Iterator[Sentence]:
    """The observations, for studies that compare nothing: the first one of each panel, then the
    others."""
    if len(case.panels) == 1 or not is_alone:
        yield from key_observations(case.panels[0])
        return
    each = [
        [in_words(found.panel, one) for one in key_observations(found)] for found in case.panels
    ]
    yield from (one for turn in zip_longest(*each) for one in turn if one is not None)


def _load(case: CaseResult) -> str | None:
    """The factor along x if it is numeric: its effect is expected. None if the levels along x are
    names."""
    return case.layout.x if any(found.panel.x_numeric for found in case.panels) else None


def _two_levels(found: PanelResult, table: VerdictTable) -> Iterator[Sentence]:
    """The sentences that compare two levels at each value of x."""
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
        yield _equal_or_open(found.panel, table)
        return
    yield _who(found.panel, table)
    yield _how_much(found, table, _largest(table, decided))
    yield from overtakings(found.panel, table)
    yield from _open(found.panel, table)
    yield _how_sure(found)


def _both(table: VerdictTable) -> dict[str, Name]:
    return {"a": named(table.factor, table.level), "b": named(table.factor, table.base)}


def _one_run(table: VerdictTable) -> Sentence:
    rows = [row for row in table.rows if row.difference is not None]
    ahead = Counter(table.ahead(row) for row in rows)
    first, other = sorted((table.level, table.base), key=lambda level: -ahead[level])
    return say(
        "{why}. In these runs {a} {a:is} {better} than {b} in {n} of {all}.",
        why=why_no_verdict(table),
        better=Name(_comparative(table.metric)),
        n=count(ahead[first], "cells in which it has the better value"),
        all=count(len(rows), "cells with both values"),
        a=named(table.factor, first),
        b=named(table.factor, other),
    )


def _comparative(metric: Metric) -> str:
    if is_time(metric):
        return "faster"
    return f"{'lower' if metric.direction == 'lower' else 'higher'} in {metric.label}"


def _equal_or_open(panel: Panel, table: VerdictTable) -> Sentence:
    same = table.with_outcome("same")
    if len(same) == len(table.rows):
        return say(
            "{a} and {b} are equal in {metric}{where}.",
            metric=Name(table.metric.label),
            where=at_levels(panel, [row.x for row in same]),
            **_both(table),
        )
    undecided = table.with_outcome("undecided")
    short = [row.unsettled for row in undecided if row.unsettled is not None]
    if short:
        return say(
            "Undecided: the measuring phase is too short to tell {a} and {b} apart in {metric}"
            "{where}; measure at least {needed}.",
            metric=Name(table.metric.label),
            where=at_levels(panel, [row.x for row in undecided]),
            needed=needed(short),
            **_both(table),
        )
    return say(
        "Too close to call: no difference between {a} and {b} in {metric} is shown{where}.",
        metric=Name(table.metric.label),
        where=at_levels(panel, [row.x for row in undecided]),
        **_both(table),
    )


def _who(panel: Panel, table: VerdictTable) -> Sentence:
    """The level that wins at most values of x, and these values."""
    first, second = sorted((table.level, table.base), key=lambda level: -len(table.won_by(level)))
    won, lost = table.won_by(first), table.won_by(second)
    if not won:  # neither a higher nor a lower value is better
        different = table.with_outcome("different")
        return say(
            "{a} and {b} differ in {metric}{where}.",
            metric=Name(table.metric.label),
            where=at_levels(panel, [row.x for row in different]),
            **_both(table),
        )
    better = (
        "{first:is} {word} than {other}"
        if is_time(table.metric)
        else "{first:has} {article}{word} {metric} than {other}"
    )
    also = (
        say(", {second}{where}", second=named(table.factor, second), where=_where(panel, lost))
        if lost
        else NOTHING
    )
    return say(
        f"{{first}} {better}{{where}}{{also}}.",
        first=named(table.factor, first),
        article=Name("a " if table.metric.is_share or is_height(table.metric) else ""),
        word=Name("faster" if is_time(table.metric) else comparative(table.metric)),
        metric=Name(table.metric.label),
        other=named(table.factor, second),
        where=_where(panel, won, everywhere=len(won) == len(table.rows)),
        also=also,
    )


def _where(panel: Panel, rows: Sequence[Comparison], *, everywhere: bool = False) -> Sentence:
    if everywhere and panel.x is not None and len(rows) > 1:
        found = at_levels(panel, [row.x for row in rows])
        return say(" throughout,{found}", found=found)
    return at_levels(panel, [row.x for row in rows])


def _how_much(found: PanelResult, table: VerdictTable, row: Comparison) -> Sentence:
    """The largest lead with both values."""
    metric, panel = table.metric, found.panel
    winner, change = _won_by(table, row)
    loser = table.base if winner == table.level else table.level
    ahead = lead(metric, change)
    cells = (panel.cell(row.x, level) for level in (winner, loser))
    value, other = (cell_number(cell, metric, unit=True) for cell in cells)
    assert value is not None, "a decided row has both values"
    assert other is not None, "a decided row has both values"
    value, other = told_apart(value, other, metric)
    return say(
        "Largest {what}{where}: {value} against {other}, {ahead}.",
        what=Name("difference" if metric.direction == "neutral" else "lead"),
        where=at_level(panel, row.x),
        value=value,
        other=other,
        ahead=ahead,
    )


def _largest(table: VerdictTable, decided: Sequence[Comparison]) -> Comparison:
    return max(decided, key=lambda row: size_of(row, table.metric))


def _won_by(table: VerdictTable, row: Comparison) -> tuple[Level, Change]:
    """The level that wins a comparison, and the change from the loser's value to the winner's."""
    winner = table.level if row.winner in (None, table.level) else table.base
    pair = f"{table.factor}={level_text(table.level)} ÷ {level_text(table.base)}"
    change = change_of(row, f"{table.metric.name}, {pair}")
    return winner, change if winner == table.level else change.inverse()


def _open(panel: Panel, table: VerdictTable) -> Iterator[Sentence]:
    rows = table.with_outcome("undecided")
    if rows:
        yield say("Too close to call{where}.", where=at_levels(panel, [row.x for row in rows]))


def _how_sure(found: PanelResult) -> Sentence:
    runs = [len(cell.runs) for cell in found.panel.cells.values() if cell.runs]
    return say("{runs} a cell.", runs=things(count(min(runs), "fewest runs of a cell"), "run"))


def _compared(factor: str, whole: Effects) -> Iterator[Sentence]:
    """The comparison of the levels of a factor, on average over all levels of the other factors."""
    pairs = whole.pairs[factor]
    leaders = _leaders(pairs)
    beaten = [pair for pair in pairs if pair.winner in leaders[:1]]
    if len(leaders) > 1 and beaten:
        yield _share(leaders, pairs, Name(whole.metric.label))
    if beaten:
        yield _overall(leaders[0], beaten)
    elif len(pairs) == 1:
        yield pair_sentence(pairs[0])
    else:
        yield say(
            "No level of {factor} is best over all others in {metric}.",
            factor=Name(factor),
            metric=Name(whole.metric.label),
        )
    yield from _surprises(whole, only=factor)


def _share(leaders: Sequence[Level], pairs: Sequence[PairEffect], metric: Name) -> Sentence:
    """The sentence on several levels that no other level beats: they are equal in every setting, or
    it is undecided which of them is best."""
    names = [named(pairs[0].factor, level) for level in leaders]
    among = [pair for pair in pairs if pair.level in leaders and pair.base in leaders]
    if all(row.outcome == "same" for pair in among for row in pair.rows):
        return say("{leaders} share the lead in {metric}.", leaders=join(names), metric=metric)
    return say(
        "No level is shown to beat {leaders} in {metric}, and which of them is best is undecided.",
        leaders=join(names, "or"),
        metric=metric,
    )


def _leaders(pairs: Sequence[PairEffect]) -> list[Level]:
    """The levels that no other level beats over all settings; the level with the most wins comes
    first."""
    levels = dict.fromkeys(level for pair in pairs for level in (pair.level, pair.base))
    won = Counter(pair.winner for pair in pairs)
    lost = {_other(pair, pair.winner) for pair in pairs if pair.winner is not None}
    return sorted((level for level in levels if level not in lost), key=lambda one: -won[one])


def _overall(best: Level, pairs: Sequence[PairEffect]) -> Sentence:
    ordered = sorted(pairs, key=lambda pair: -abs(pair.contrast.value))
    total = len(pairs[0].contexts)
    return say(
        "{best} {parts}, on average over {n}.",
        best=named(pairs[0].factor, best),
        parts=join([_is_ahead(pair, best) for pair in ordered]),
        n=things(count(total, "treatments of the other factors"), "setting"),
    )


def _other(pair: PairEffect, level: Level) -> Level:
    return pair.base if level == pair.level else pair.level


def _is_ahead(pair: PairEffect, winner: Level) -> Sentence:
    """The lead of one level over the other, on average over all settings: "takes 38 % less time
    than cubic"."""
    who, other = named(pair.factor, winner), named(pair.factor, _other(pair, winner))
    source = f"{pair.factor}={level_text(pair.level)} against {level_text(pair.base)}, "
    source += f"{pair.metric.name} over {len(pair.contexts)} settings"
    if pair.scale == "ratio":
        change = Change(pair.change, pair.interval, f"geometric mean of ratios, {source}")
        change = change if winner == pair.level else change.inverse()
        return ahead_of(pair.metric, change, who, other)
    if pair.metric.is_share:
        points = Change(1.0, None, f"mean difference, {source}", pair.change, pair.interval)
        points = points if winner == pair.level else points.inverse()
        return ahead_of(pair.metric, points, who, other)
    value = metric_number(abs(pair.change), pair.metric, f"mean difference, {source}")
    return say(
        "{who:has} {value} {less} {metric} than {other}",
        who=who,
        value=value,
        less=Name("fewer" if pair.metric.direction == "lower" else "more"),
        metric=Name(pair.metric.label),
        other=other,
    )


def _factors(whole: Effects, x: str | None) -> Iterator[Sentence]:
    """For studies without a comparison: the factors that matter, except the load along x, and what
    their effects depend on."""
    ranked = [one for one in whole.ranked if one.factor != x] or whole.ranked
    first = ranked[0]
    yield say(
        "{factor} matters most for {metric}: {best} {ahead}{rest}.",
        factor=Name(first.factor),
        metric=Name(whole.metric.label),
        best=named(first.factor, _winner(first)),
        ahead=_is_ahead(first, _winner(first)),
        rest=_others(ranked[1:]),
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


def _surprises(whole: Effects, only: str | None = None) -> Iterator[Sentence]:
    """The levels of other factors at which a factor has no effect, and those at which its effect is
    reversed."""
    turning = [pair for pairs in whole.pairs.values() for pair in pairs if pair.turns]
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
    largest = max(
        (row for row in pair.rows if row.winner == fewer),
        key=lambda row: size_of(row, pair.metric),
    )
    source = f"{pair.metric.name}, {pair.factor}={level_text(pair.level)} ÷ {level_text(pair.base)}"
    change = replace(change_of(largest, source), interval=None, difference_interval=None)
    who = named(pair.factor, fewer)
    return say(
        "Only at {places}, {fewer} {ahead}.",
        fewer=who,
        ahead=ahead_of(
            pair.metric,
            change if fewer == pair.level else change.inverse(),
            who,
            named(pair.factor, more),
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
