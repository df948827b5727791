"""The conclusions that a study asks for, each in sentences of its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netstudy.analysis.bottleneck import Limits
from netstudy.analysis.conclusion_cells import Growth
from netstudy.analysis.conclusions import (
    Concluded,
    Crossings,
    Drawn,
    LevelsCompared,
    LimitReached,
    Loss,
    LossAt,
    Repetitions,
    TradeOff,
)
from netstudy.analysis.effects import PairEffect
from netstudy.analysis.extrapolation import Extrapolated
from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.verdict import Comparison
from netstudy.report.cellrefs import at, cell_number, count, percent, plain, treatment_text
from netstudy.report.numbers import counted, level_text, listed, number_text, significant_text
from netstudy.report.prose.bottleneck import limit_sentences
from netstudy.report.prose.bypass import crossing_sentences
from netstudy.report.prose.change import Change, ahead_of, change_of
from netstudy.report.prose.extrapolate import extrapolated
from netstudy.report.prose.words import NOTHING, Point, held_levels, named, point, things
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.requirement_table import bound_text
from netstudy.study.not_reported import kind_of
from netstudy.units import format_rate
from netstudy.wire import Level, Treatment


def concluded_points(result: StudyResult) -> list[Point]:
    """One point for each conclusion, in the order of the study."""
    many = len(result.cases) > 1
    return [
        one for found in result.concluded for one in point(_lead(found, many), sentences_of(found))
    ]


def _lead(found: Concluded, many: bool) -> str:
    kind = kind_of(found.asked)
    about = getattr(found.asked, kind, None)
    title = (
        f"{kind} {about}"
        if isinstance(about, str) and kind in ("knee", "compare", "extrapolate")
        else kind
    )
    title = f"{title[:1].upper()}{title[1:]}"
    return f"{title} ({found.case})" if many else title


def sentences_of(found: Concluded) -> list[Sentence]:
    """What is concluded, the weightiest first; a conclusion that cannot be drawn says why."""
    drawn = [sentence for one in found.drawn for sentence in _of(one)]
    return drawn or [say("Not drawn: these runs do not measure what it needs.")]


def _of(drawn: Drawn) -> Iterator[Sentence]:
    match drawn:
        case LevelsCompared():
            for pair in drawn.pairs:
                yield pair_sentence(pair)
                yield from _pooled(pair)
        case Growth():
            yield _growth(drawn)
        case Loss():
            yield from _losses(drawn)
        case TradeOff():
            yield _trade_off(drawn)
        case Limits():
            yield from limit_sentences(drawn)
        case Extrapolated():
            yield from extrapolated(drawn)
        case LimitReached():
            yield from _limit(drawn)
        case Repetitions():
            yield from _repetitions(drawn)
        case Crossings():
            yield from crossing_sentences(drawn.of)


def pair_sentence(pair: PairEffect) -> Sentence:
    """Two levels: which one is ahead, by how much and where; or that they are equal."""
    measured = [row for row in pair.rows if row.outcome != "missing"]
    if not measured:
        return say("{a} and {b} were not measured at the same levels.", **_both(pair))
    if all(row.outcome == "same" for row in measured):
        return say(
            "{a} and {b} are equal in {metric}{n}.",
            metric=Name(pair.metric.label),
            n=_in_all(measured),
            **_both(pair),
        )
    if len(measured) == 1:
        return _one(pair, measured[0])
    if pair.winner is not None and pair.scale == "ratio":
        return _overall(pair, pair.winner, measured)
    return _counts(pair, measured)


def _pooled(pair: PairEffect) -> Iterator[Sentence]:
    """The ratio over all settings where neither way is better, or no effect is shown."""
    if pair.scale != "ratio" or pair.winner is not None or len(pair.contexts) < _SEVERAL:
        return
    source = f"geometric mean over {len(pair.contexts)} settings, {pair.metric.name}"
    interval = NOTHING
    if pair.interval is not None:
        low, high = (number_text(end, 2) for end in (pair.interval.low, pair.interval.high))
        ci = Number(pair.change, f"{low} to {high}", f"95 % interval, {source}")
        interval = say(" ({level} CI {ci})", level=Name("95 %"), ci=ci)
    yield say(
        "{a} ÷ {b}, {metric}: {ratio}{ci} over {n} (geometric mean).",
        metric=Name(pair.metric.label),
        ratio=plain(pair.change, 2, "", source),
        ci=interval,
        n=things(count(len(pair.contexts), "settings compared"), "setting"),
        **_both(pair),
    )


def _both(pair: PairEffect) -> dict[str, Name]:
    return {"a": named(pair.factor, pair.level), "b": named(pair.factor, pair.base)}


def _in_all(rows: Sequence[Comparison]) -> Sentence:
    if len(rows) == 1:
        return NOTHING
    return say(" in all {n}", n=things(count(len(rows), "settings compared"), "setting"))


def _one(pair: PairEffect, row: Comparison) -> Sentence:
    if row.outcome == "undecided" or row.winner is None:
        words = "differ in" if row.outcome == "different" else "too close to call in"
        return say(
            f"{{a}} and {{b}}: {words} {{metric}}.", metric=Name(pair.metric.label), **_both(pair)
        )
    source = f"{pair.metric.name}, {level_text(pair.level)} ÷ {level_text(pair.base)}"
    change = change_of(row, source)
    is_level = row.winner == pair.level
    return say(
        "{winner} {ahead}.",
        winner=named(pair.factor, row.winner),
        ahead=ahead_of(
            pair.metric,
            change if is_level else change.inverse(),
            named(pair.factor, pair.base if is_level else pair.level),
        ),
    )


def _overall(pair: PairEffect, winner: Level, rows: Sequence[Comparison]) -> Sentence:
    source = f"geometric mean over {len(pair.contexts)} settings, {pair.metric.name}"
    change = Change(pair.change, pair.interval, source)
    is_level = winner == pair.level
    won = sum(row.winner == winner for row in rows)
    exceptions = NOTHING
    if won < len(rows):
        exceptions = say("; ahead in {n} of them", n=count(won, "settings that it wins"))
    return say(
        "{winner} {ahead}, on average over {n}{exceptions}.",
        winner=named(pair.factor, winner),
        ahead=ahead_of(
            pair.metric,
            change if is_level else change.inverse(),
            named(pair.factor, pair.base if is_level else pair.level),
        ),
        n=things(count(len(rows), "settings compared"), "setting"),
        exceptions=exceptions,
    )


def _counts(pair: PairEffect, rows: Sequence[Comparison]) -> Sentence:
    """Without an effect over all: in how many settings which one is ahead."""
    parts = [
        *(
            (f"{named(pair.factor, one)} is ahead", sum(row.winner == one for row in rows))
            for one in (pair.level, pair.base)
        ),
        ("they differ", sum(row.outcome == "different" and row.winner is None for row in rows)),
        ("they are equal", sum(row.outcome == "same" for row in rows)),
        ("too close to call", sum(row.outcome == "undecided" for row in rows)),
    ]
    told = [f"{words} in {n}" for words, n in parts if n]
    return say(
        "{metric} of {a} and {b}, over {n}: {told}.",
        metric=Name(pair.metric.title),
        n=things(count(len(rows), "settings compared"), "setting"),
        told=Name(listed(told)),
        **_both(pair),
    )


def _growth(one: Growth) -> Sentence:
    last, beyond = one.last_gain, one.beyond
    value = cell_number(last, one.metric, unit=True)
    assert value is not None, "a level without a value is no step"
    level = last.treatment[one.factor]
    if not beyond:
        return say(
            "{metric} still grows at {level}, the largest level{held}: {value}{share}.",
            metric=Name(one.metric.title),
            level=at(one.factor, level),
            held=held_levels(one.held),
            value=value,
            share=_of_the_link(one, value.value),
        )
    more = [level_text(cell.treatment[one.factor]) for cell in beyond]
    return say(
        "{metric} grows up to {level}{held}, {value}{share}; {more} gain no more than the noise.",
        metric=Name(one.metric.title),
        level=at(one.factor, level),
        held=held_levels(one.held),
        value=value,
        share=_of_the_link(one, value.value),
        more=Name(counted(one.factor, listed(more))),
    )


def _of_the_link(one: Growth, value: float) -> Sentence:
    if one.line_bps is None:
        return NOTHING
    return say(
        " or {share} of the link's {rate}",
        share=percent(100 * value * 1e6 / one.line_bps, f"{one.metric.name} ÷ line rate"),
        rate=Name(format_rate(one.line_bps)),
    )


def _trade_off(one: TradeOff) -> Sentence:
    """Whether one level leads in some metrics and falls behind in others."""
    parts = join([_stands(pair) for pair in one.pairs])
    if one.is_open:
        template = "Whether {a} against {b} is a trade-off is not decided: {parts}."
    elif len(one.leaders) > 1:
        template = "A trade-off: {a} against {b} has {parts}."
    elif one.leaders:
        template = "No trade-off: {leader} falls behind in none; {a} against {b} has {parts}."
    else:
        template = "No trade-off: {a} and {b} are equal in all of it; {parts}."
    return say(
        template,
        a=named(one.factor, one.level),
        b=named(one.factor, one.base),
        leader=named(one.factor, one.leaders[0]) if one.leaders else NOTHING,
        parts=parts,
    )


def _stands(pair: PairEffect) -> Sentence:
    """A metric of one level beside that of the other."""
    source = f"{pair.metric.name}, {level_text(pair.level)} and {level_text(pair.base)}"
    if pair.scale == "ratio":
        ratio = plain(pair.change, 2, "", f"geometric mean of ratios, {source}")
        return say("{ratio} times the {metric}", ratio=ratio, metric=Name(pair.metric.label))
    unit = "percentage points" if pair.metric.unit == "%" else pair.metric.unit
    text = f"{number_text(abs(pair.change), max(1, pair.metric.decimals))}\u00a0{unit}"
    more = Name("more" if pair.change >= 0 else "less")
    difference = Number(abs(pair.change), text, f"mean difference, {source}")
    return say(
        "{difference} {more} {metric}",
        difference=difference,
        more=more,
        metric=Name(pair.metric.label),
    )


def _losses(one: Loss) -> Iterator[Sentence]:
    yield _loss(one)
    for lost in one.levels:
        if lost.is_superlinear:
            yield _superlinear(one, lost)
    if one.missing:
        levels = counted(one.factor, listed([level_text(level) for level in one.missing]))
        yield say("Not measured{held}: {levels}.", held=held_levels(one.held), levels=Name(levels))


def _loss(one: Loss) -> Sentence:
    """Against growth in proportion."""
    last = one.last
    levels = (cell.treatment[one.factor] for cell in (one.first, last.cell))
    first_level, last_level = levels
    source = f"1 - ratio of {one.metric.name} ÷ ratio of {one.factor}"
    interval = NOTHING
    if last.interval is not None:
        low, high = sorted((last.interval.low, last.interval.high))
        text = f"{number_text(low, 1)} to {number_text(high, 1)} %"
        interval = say(
            " ({level} CI {ci})",
            level=Name("95 %"),
            ci=Number((low + high) / 2, text, f"95 % interval, {source}"),
        )
    words = "less" if last.share_pct >= 0 else "more"
    return say(
        f"{{metric}} at {{last}} is {{share}} {words} than in proportion to {{first}}{{held}}"
        "{ci}{best}.",
        metric=Name(one.metric.title),
        last=at(one.factor, last_level),
        share=percent(abs(last.share_pct), source),
        first=at(one.factor, first_level),
        held=held_levels(one.held),
        ci=interval,
        best=_best_levels(one),
    )


def _best_levels(one: Loss) -> Sentence:
    """The levels of the growing factor at which both ends are best."""
    if one.best_of is None:
        return NOTHING
    last, first = (level_text(cell.treatment[one.best_of]) for cell in (one.last.cell, one.first))
    return say(
        ", each at its best level of {factor} ({last} and {first})",
        factor=Name(one.best_of),
        last=Name(last),
        first=Name(first),
    )


def _superlinear(one: Loss, lost: LossAt) -> Sentence:
    """More than in proportion: the first level is no fair base."""
    first, level = (cell.treatment[one.factor] for cell in (one.first, lost.cell))
    values = (one.first.value(one.metric), lost.cell.value(one.metric))
    base, value = (one or 0.0 for one in values)
    source = f"{one.metric.name}, {one.factor}={level_text(level)} ÷ {level_text(first)}"
    return say(
        "Superlinear: {level} carry {ratio} times as much as {first}{held}, so that {first} is no "
        "fair base for scaling.",
        level=at(one.factor, level),
        ratio=plain(value / base, 2, "", source),
        first=at(one.factor, first),
        held=held_levels(one.held),
    )


def _limit(one: LimitReached) -> Iterator[Sentence]:
    condition = Name(bound_text(one.bound, one.condition))
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
    if one.broken:
        yield say(
            "{n} of {all} settings do not keep it.",
            n=count(one.broken, "settings beyond the condition"),
            all=count(one.broken + one.kept, "settings with a value"),
        )


def _where(treatment: Treatment) -> Sentence:
    return say(" ({where})", where=Name(treatment_text(treatment)))


_SEVERAL = 2
"""Settings that a mean over them needs."""
_TOLD = 3
"""First repetitions told of by name."""


def _repetitions(one: Repetitions) -> Iterator[Sentence]:
    cells = things(count(one.cells, "cells with three repetitions or more"), "setting")
    if one.apart:
        yield say(
            "The first repetition stands out in {n} of {cells}.",
            n=count(len(one.apart), "settings whose first repetition stands out"),
            cells=cells,
        )
    else:
        yield say("No first repetition stands out in {cells}.", cells=cells)
    for row, ratio in one.apart[:_TOLD]:
        source = (
            f"first ÷ mean of later repetitions, {one.metric.name}, {treatment_text(row.treatment)}"
        )
        yield say(
            "{where}: the {metric} of the first repetition is {ratio} times the mean of the later "
            "ones.",
            where=Name(treatment_text(row.treatment)),
            metric=Name(one.metric.label),
            ratio=plain(ratio, 2, "", source),
        )
    if one.spread_pct is not None:
        text = f"{significant_text(one.spread_pct, 2)}\u00a0%"
        source = "standard deviation of later repetitions, pooled over the settings"
        yield say(
            "Later repetitions scatter by {spread}.", spread=Number(one.spread_pct, text, source)
        )
