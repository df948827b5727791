"""Comparisons of two levels of a factor, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from netstudy.analysis.effects import PairEffect
from netstudy.analysis.inseparable import Inseparable
from netstudy.analysis.verdict import Comparison
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import (
    count,
    interval_number,
    plain,
)
from netstudy.report.numbers import counted, level_text, spans
from netstudy.report.prose.change import Change, better, change_of, compared, is_or_are, lead, ways
from netstudy.report.prose.undecided import undecided_pair
from netstudy.report.prose.words import (
    NOTHING,
    held_levels,
    named,
    not_compared,
    things,
    with_level,
)
from netstudy.report.refs import Name, Sentence, aside, join, say
from netstudy.study.levels import is_numeric
from netstudy.wire import Level, Treatment

_SEVERAL = 2
"""With fewer settings, no mean over them is given."""


def pair_sentence(pair: PairEffect, held: Treatment | None = None) -> Sentence:
    """Which of two levels is ahead, by how much and where; or that they are equal. `held`: levels
    of other factors to which the comparison is restricted."""
    where = held_levels(held or {})
    measured = measured_rows(pair)
    if not measured:
        return not_compared(pair)
    if all(row.outcome == "same" for row in measured):
        return _equal(pair, measured, where)
    if len(measured) == 1:
        return _one(pair, measured[0])
    if pair.depends_on is not None:
        return _simple(pair, pair.depends_on.by)
    return _of_all(pair, measured, where)


def _simple(pair: PairEffect, by: str) -> Sentence:
    """The effect at the levels of the factor on which it depends, instead of an average that
    describes no level: "Against b, goodput with a is higher at 2 to 8 servers, most at 8 servers:
    2.1 times as high and equal at 1 server"."""
    levels = pair.design.levels[by]
    # The sentence is about the level that is better in most settings.
    is_turned = len(pair.won_by(pair.base)) > len(pair.won_by(pair.level))
    first, other = (pair.base, pair.level) if is_turned else (pair.level, pair.base)
    simple = [(at, one, _way_at(one, is_turned=is_turned)) for at, one in pair.simple(by)]
    parts = []
    for way, word in zip(("larger", "smaller"), ways(pair.metric)[::-1], strict=True):
        found = [(at, one) for at, one, own in simple if own == way]
        if found:
            where = _at_levels(by, [at for at, _ in found], levels)
            at_most, largest = max(found, key=lambda one: abs(one[1].contrast.value))
            size = _size_of(largest, is_turned=is_turned)
            at = _at_levels(by, [at_most], [at_most]) if len(found) > 1 else None
            parts.append(_side(word, where, size, at))
    for way, word in (("same", "equal"), ("open", "too close to call")):
        found = [(at, one) for at, one, own in simple if own == way]
        if found:
            where = _at_levels(by, [at for at, _ in found], levels)
            parts.append(say("{word} {where}", word=Name(word), where=where))
    return say(
        "Against {b}, {metric} {a} {is_} {parts}.",
        is_=is_or_are(pair.metric),
        metric=Name(pair.metric.label),
        parts=join(parts, last="", between="; "),
        a=with_level(pair.factor, first),
        b=named(pair.factor, other),
    )


def _side(word: str, where: Name, size: Sentence, most: Name | None) -> Sentence:
    """One way of the effect: where it is so, and its largest size. `most`: the place of that size;
    None: there is only one place."""
    if most is None:
        return say("{size} {where}", size=size, where=where)
    template = "{word} {where}, most {most}: {size}"
    return say(template, word=Name(word), where=where, most=most, size=size)


def _size_of(pair: PairEffect, *, is_turned: bool) -> Sentence:
    source = f"{pair.metric.name}, {level_text(pair.level)} against {level_text(pair.base)}"
    if pair.scale == "ratio":
        change = Change(pair.change, pair.interval, source)
    else:
        change = Change(1.0, None, source, pair.change, pair.interval)
    return lead(pair.metric, change.inverse() if is_turned else change)


def _way_at(pair: PairEffect, *, is_turned: bool) -> str:
    """Whether the first level of a simple effect has the larger or the smaller value, or they are
    equal or too close to call."""
    rows = measured_rows(pair)
    if rows and all(row.outcome == "same" for row in rows):
        return "same"
    if not pair.is_shown:
        return "open"
    return "larger" if (pair.contrast.value > 0) != is_turned else "smaller"


def _at_levels(factor: str, chosen: Sequence[Level], of: Sequence[Level]) -> Name:
    """Levels of a numeric factor as spans, "at 2 to 8 servers"; others one by one."""
    if is_numeric(of):
        return Name(f"at {counted(factor, listed(spans(chosen, of)))}")
    return Name(f"with {factor} {listed([level_text(level) for level in chosen])}")


def _equal(pair: PairEffect, rows: Sequence[Comparison], held: Sentence) -> Sentence:
    return say(
        "{metric} {is_} equal {a} and {b}{n}{held}.",
        is_=is_or_are(pair.metric),
        metric=Name(pair.metric.label),
        n=in_all(rows),
        held=held,
        **_both(pair),
    )


def _of_all(pair: PairEffect, rows: Sequence[Comparison], held: Sentence) -> Sentence:
    """The average over several settings if it describes them, else how many settings each level
    wins."""
    if pair.winner is not None and pair.scale == "ratio":
        return _overall(pair, pair.winner, rows, held)
    return _counts(pair, rows)


def pooled_sentence(pair: PairEffect) -> Iterator[Sentence]:
    """The mean ratio over all settings, if the metric has no better direction or no level is shown
    to be better."""
    if pair.scale != "ratio" or pair.winner is not None or not pair.is_main:
        return
    if len(pair.contexts) < _SEVERAL:
        return
    source = f"geometric mean over {len(pair.contexts)} settings, {pair.metric.name}"
    interval = NOTHING
    ci = interval_number(pair.interval, 2, "", f"95 % interval, {source}")
    if ci is not None:
        interval = aside(" ({level} CI {ci})", level=Name("95 %"), ci=ci)
    yield say(
        "{metric} {a} is {ratio} times that {b}{ci}, over {n} (geometric mean).",
        metric=Name(pair.metric.label),
        ratio=plain(pair.change, 2, "", source, pair.interval),
        ci=interval,
        n=things(count(len(pair.contexts), "settings compared"), "setting"),
        **_both(pair),
    )


def inseparable_sentence(one: Inseparable) -> Sentence:
    """Levels that differ in several things, so that no single thing explains their difference."""
    so = "two of their effects may cancel out" if one.is_equal else "a difference belongs to {all}"
    how = "{things} always change together" if one.are_factors else "{a} and {b} differ in {things}"
    return say(
        f"{how}, so {so}: {{effect}}",
        things=Name(listed([*one.things])),
        effect=pair_sentence(one.effect),
        **({} if one.are_factors else _named(one.effect)),
        **({} if one.is_equal else {"all": Name("both" if len(one.things) == 2 else "all")}),
    )


def _both(pair: PairEffect) -> dict[str, Name]:
    return {"a": with_level(pair.factor, pair.level), "b": with_level(pair.factor, pair.base)}


def _named(pair: PairEffect) -> dict[str, Name]:
    """Both levels as the subject of a sentence."""
    return {"a": named(pair.factor, pair.level), "b": named(pair.factor, pair.base)}


def in_all(rows: Sequence[Comparison]) -> Sentence:
    """The phrase " in all 8 settings"; empty if there is only one."""
    if len(rows) == 1:
        return NOTHING
    return say(" in all {n}", n=things(count(len(rows), "settings compared"), "setting"))


def _one(pair: PairEffect, row: Comparison) -> Sentence:
    if row.outcome == "undecided":
        both = _both(pair)
        return say("{known}.", known=undecided_pair(row, pair.metric, both["a"], both["b"]))
    source = f"{pair.metric.name}, {level_text(pair.level)} ÷ {level_text(pair.base)}"
    winner = pair.level if row.winner is None else row.winner
    return say("{ahead}.", ahead=_ahead(pair, winner, change_of(row, source)))


def _ahead(pair: PairEffect, winner: Level, change: Change) -> Sentence:
    """The winner compared with the other level. `change` is that from `pair.base` to
    `pair.level`."""
    is_level = winner == pair.level
    other = pair.base if is_level else pair.level
    here, there = (with_level(pair.factor, level) for level in (winner, other))
    return compared(pair.metric, change if is_level else change.inverse(), here, there)


def _overall(
    pair: PairEffect, winner: Level, rows: Sequence[Comparison], held: Sentence
) -> Sentence:
    source = f"geometric mean over {len(pair.contexts)} settings, {pair.metric.name}"
    won = sum(row.winner == winner for row in rows)
    exceptions = NOTHING
    if won < len(rows):
        n = count(won, "settings in which it is better")
        exceptions = say("; {better} in {n} of them", better=Name(better(pair.metric)), n=n)
    if not won:
        exceptions = say("; shown over all of them, and in no single one")
    return say(
        "{ahead}, on average over {n}{held}{exceptions}.",
        ahead=_ahead(pair, winner, Change(pair.change, pair.interval, source)),
        n=things(count(len(rows), "settings compared"), "setting"),
        held=held,
        exceptions=exceptions,
    )


def _counts(pair: PairEffect, rows: Sequence[Comparison]) -> Sentence:
    """For pairs without a clear winner over all settings: in how many settings each level is ahead
    or, for a metric without a better direction, has the higher value."""
    larger = [(row.difference or 0.0) > 0 for row in rows if row.outcome == "different"]
    smaller_word, larger_word = ways(pair.metric)
    outcomes = Counter(row.outcome for row in rows)
    parts = [
        (larger_word, sum(larger)),
        (smaller_word, len(larger) - sum(larger)),
        ("equal", outcomes["same"]),
        ("too close to call", outcomes["undecided"]),
    ]
    told = [f"{words} in {n}" for words, n in parts if n]
    return say(
        "{metric} {a} against {b}, over {n}: {told}.",
        metric=Name(pair.metric.label),
        n=things(count(len(rows), "settings compared"), "setting"),
        told=Name(listed(told)),
        **_both(pair),
    )


def measured_rows(pair: PairEffect) -> list[Comparison]:
    """The comparisons with values on both sides."""
    return [row for row in pair.rows if row.outcome != "missing"]
