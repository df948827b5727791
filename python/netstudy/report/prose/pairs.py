"""Comparisons of two levels of a factor, in sentences."""

from __future__ import annotations

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
from netstudy.report.numbers import level_text
from netstudy.report.prose.change import Change, ahead_of, change_of
from netstudy.report.prose.words import NOTHING, held_levels, named, not_compared, things
from netstudy.report.refs import Name, Sentence, aside, say
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
        return say(
            "{a} and {b} are equal in {metric}{n}{held}.",
            metric=Name(pair.metric.label),
            n=in_all(measured),
            held=where,
            **_both(pair),
        )
    if len(measured) == 1:
        return _one(pair, measured[0])
    if pair.winner is not None and pair.scale == "ratio":
        return _overall(pair, pair.winner, measured, where)
    return _counts(pair, measured)


def pooled_sentence(pair: PairEffect) -> Iterator[Sentence]:
    """The mean ratio over all settings, if the metric has no better direction or no level is shown
    to be better."""
    if pair.scale != "ratio" or pair.winner is not None or len(pair.contexts) < _SEVERAL:
        return
    source = f"geometric mean over {len(pair.contexts)} settings, {pair.metric.name}"
    interval = NOTHING
    ci = interval_number(pair.interval, 2, "", f"95 % interval, {source}")
    if ci is not None:
        interval = aside(" ({level} CI {ci})", level=Name("95 %"), ci=ci)
    yield say(
        "{a} ÷ {b}, {metric}: {ratio}{ci} over {n} (geometric mean).",
        metric=Name(pair.metric.label),
        ratio=plain(pair.change, 2, "", source, pair.interval),
        ci=interval,
        n=things(count(len(pair.contexts), "settings compared"), "setting"),
        **_both(pair),
    )


def inseparable_sentence(one: Inseparable) -> Sentence:
    """The difference of levels that differ in several things, credited to none of them alone."""
    so = "two of their effects may cancel out" if one.is_equal else "a difference belongs to {all}"
    how = "{things} always change together" if one.are_factors else "{a} and {b} differ in {things}"
    return say(
        f"{how}, so {so}: {{effect}}",
        things=Name(listed([*one.things])),
        effect=pair_sentence(one.effect),
        **({} if one.are_factors else _both(one.effect)),
        **({} if one.is_equal else {"all": Name("both" if len(one.things) == 2 else "all")}),
    )


def _both(pair: PairEffect) -> dict[str, Name]:
    return {"a": named(pair.factor, pair.level), "b": named(pair.factor, pair.base)}


def in_all(rows: Sequence[Comparison]) -> Sentence:
    """The phrase " in all 8 settings"; empty if there is only one."""
    if len(rows) == 1:
        return NOTHING
    return say(" in all {n}", n=things(count(len(rows), "settings compared"), "setting"))


def _one(pair: PairEffect, row: Comparison) -> Sentence:
    if row.outcome == "undecided" or row.winner is None:
        words = " differ in" if row.outcome == "different" else ": too close to call in"
        return say(
            f"{{a}} and {{b}}{words} {{metric}}.", metric=Name(pair.metric.label), **_both(pair)
        )
    source = f"{pair.metric.name}, {level_text(pair.level)} ÷ {level_text(pair.base)}"
    change = change_of(row, source)
    is_level = row.winner == pair.level
    who = named(pair.factor, row.winner)
    return say(
        "{winner} {ahead}.",
        winner=who,
        ahead=ahead_of(
            pair.metric,
            change if is_level else change.inverse(),
            who,
            named(pair.factor, pair.base if is_level else pair.level),
        ),
    )


def _overall(
    pair: PairEffect, winner: Level, rows: Sequence[Comparison], held: Sentence
) -> Sentence:
    source = f"geometric mean over {len(pair.contexts)} settings, {pair.metric.name}"
    change = Change(pair.change, pair.interval, source)
    is_level = winner == pair.level
    won = sum(row.winner == winner for row in rows)
    exceptions = NOTHING
    if won < len(rows):
        exceptions = say("; ahead in {n} of them", n=count(won, "settings that it wins"))
    if not won:
        exceptions = say("; shown over all of them, and in no single one")
    who = named(pair.factor, winner)
    return say(
        "{winner} {ahead}, on average over {n}{held}{exceptions}.",
        winner=who,
        ahead=ahead_of(
            pair.metric,
            change if is_level else change.inverse(),
            who,
            named(pair.factor, pair.base if is_level else pair.level),
        ),
        n=things(count(len(rows), "settings compared"), "setting"),
        held=held,
        exceptions=exceptions,
    )


def _counts(pair: PairEffect, rows: Sequence[Comparison]) -> Sentence:
    """For pairs without a clear winner over all settings: in how many settings each level is ahead
    or, for a metric without a better direction, has the higher value."""
    unlike = [row for row in rows if row.outcome == "different" and row.winner is None]
    more = sum((row.difference or 0.0) > 0 for row in unlike)
    a, b = _both(pair).values()
    parts = [
        (f"{a} {a.agreeing('is')} ahead", sum(row.winner == pair.level for row in rows)),
        (f"{b} {b.agreeing('is')} ahead", sum(row.winner == pair.base for row in rows)),
        (f"{a} {a.agreeing('has')} more", more),
        (f"{b} {b.agreeing('has')} more", len(unlike) - more),
        ("they are equal", sum(row.outcome == "same" for row in rows)),
        ("too close to call", sum(row.outcome == "undecided" for row in rows)),
    ]
    told = [f"{words} in {n}" for words, n in parts if n]
    return say(
        "{metric} of {a} and {b}, over {n}: {told}.",
        metric=Name(pair.metric.title),
        n=things(count(len(rows), "settings compared"), "setting"),
        told=Name(listed(told)),
        a=a,
        b=b,
    )


def measured_rows(pair: PairEffect) -> list[Comparison]:
    """The comparisons with values on both sides."""
    return [row for row in pair.rows if row.outcome != "missing"]
