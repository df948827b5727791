"""Phrases that several sentences share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from netstudy.analysis.effects import PairEffect
from netstudy.analysis.layout import Panel
from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.verdict import VerdictTable
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import at, count, plain
from netstudy.report.numbers import (
    NO_BREAK,
    are_several,
    counted,
    full_level,
    level_text,
    spans,
)
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.wire import Level, Treatment

_T = TypeVar("_T")

NOTHING = Sentence(())


def margin_sentence(result: StudyResult) -> list[Sentence]:
    """The equivalence margin that the study declares; an empty list if it declares none."""
    margin_pct = result.comparing.margin_pct if result.comparing else result.margin_pct
    if margin_pct is None:
        return []
    return [
        say(
            "The study’s noise threshold is {noise}: smaller differences are not called "
            "differences.",
            noise=plain(margin_pct, 1, "%", "noise of the study"),
        )
    ]


def named(factor: str, level: Level | None) -> Name:
    """A level as it is written in sentences; a number comes with its factor."""
    return Name(full_level(factor, level), several=are_several(factor, level))


def with_level(factor: str, level: Level | None) -> Name:
    """A level as a circumstance, which no sentence uses as its subject: "with 128 buffers", "on
    nexus-5010"."""
    word = "on" if any(place in factor for place in PLACES) else "with"
    return Name(f"{word} {full_level(factor, level)}")


def at_level(panel: Panel, x: Level | None) -> Sentence:
    """The place of a level: " at 23 servers"; empty without a factor along x."""
    return NOTHING if panel.x is None else say(" at {x}", x=at(panel.x, x))


def at_levels(panel: Panel, chosen: Sequence[Level | None]) -> Sentence:
    """The place of several levels: " at 5 to 23 servers"; empty without a factor along x."""
    return NOTHING if panel.x is None else say(" at {x}", x=x_levels(panel, panel.x, chosen))


def x_levels(panel: Panel, x: str, chosen: Sequence[Level | None]) -> Name:
    """Several levels of the factor along x: "5 to 23 servers"."""
    texts = spans(chosen, panel.x_levels) if panel.x_numeric else [level_text(c) for c in chosen]
    return Name(counted(x, listed(texts)))


PLACES = ("switch", "host", "machine", "kernel", "testbed", "system", "platform")
"""A factor whose name contains one of these words is a place: its levels follow "on", others
"with"."""


def on_level(panel: Panel, level: Level | None) -> Sentence:
    """The level of a series: " on nexus-5010", " with mtu 1500"; empty without a series."""
    if panel.series is None:
        return NOTHING
    return say(" {level}", level=with_level(panel.series, level))


def in_panel(panel: Panel) -> Sentence:
    """The levels that a panel holds fixed, as " (configuration 4 MB)"; empty if it holds none."""
    return held_levels(panel.fixed)


def in_words(panel: Panel, sentence: Sentence) -> Sentence:
    """The sentence, preceded by the levels that its panel holds: "At buffer 2 MB: …"."""
    return at_held(panel.fixed, sentence)


def at_held(held: Treatment, sentence: Sentence) -> Sentence:
    """The sentence, preceded by levels that are held: "At buffer 2 MB: …"."""
    names = [Name(full_level(factor, level)) for factor, level in held.items()]
    return say("At {held}: {text}", held=join(names), text=sentence) if names else sentence


def held_levels(held: Treatment) -> Sentence:
    """Held levels, in brackets; empty if there are none."""
    if not held:
        return NOTHING
    return say(" ({held})", held=join([Name(text) for text in _held(held)]))


_BOTH = 2
_LISTED = 3
"""The most settings that a sentence names one by one."""


def held_in_each(settings: Sequence[Treatment], every: Sequence[Treatment]) -> Sentence:
    """The settings that a sentence is about: " in all 4 settings of sink and daemon"; " (sink
    null)" if they are all settings with this level; otherwise one by one, " (sink null; sink
    disk)", or only their number if there are many."""
    if len(settings) == 1:
        return held_levels(settings[0])
    if len(settings) < len(every):
        common = _common(settings, every)
        if not common and len(settings) > _LISTED:
            return say(
                " in {n} of {all} settings of {factors}",
                n=count(len(settings), "settings with this finding"),
                all=count(len(every), "settings of the other factors"),
                factors=Name(listed(list(settings[0]))),
            )
        told = ", ".join(_held(common)) if common else "; ".join(map(_at_once, settings))
        return say(" ({held})", held=Name(told))
    if len(every) == _BOTH:
        return say(" in both settings of {factors}", factors=Name(listed(list(settings[0]))))
    return say(
        " in all {n} settings of {factors}",
        n=count(len(every), "settings of the other factors"),
        factors=Name(listed(list(settings[0]))),
    )


def _common(settings: Sequence[Treatment], every: Sequence[Treatment]) -> Treatment:
    """The levels that these settings share, if no other setting has all of them too; else empty."""
    first = settings[0]
    common = {
        factor: level
        for factor, level in first.items()
        if all(one[factor] == level for one in settings)
    }
    having = [one for one in every if all(one[factor] == common[factor] for factor in common)]
    return common if len(having) == len(settings) else {}


def _at_once(held: Treatment) -> str:
    return ", ".join(_held(held))


def _held(held: Treatment) -> list[str]:
    return [f"{factor} {level_text(level)}" for factor, level in held.items()]


def value_range(values: Sequence[Number]) -> Number:
    """A single value, or the lowest and the highest, with their unit: "98.6 to 98.7 %"."""
    low, high = (most(values, key=lambda one: one.value) for most in (min, max))
    if low.text == high.text:
        return high
    text = f"{without_unit_of(low, high)} to {high.text}"
    return Number(high.value, text, f"{low.source}; {high.source}")


def without_unit_of(number: Number, other: Number) -> str:
    """The first of two numbers, without its unit if both have the same: "98.6 to 98.7 %", but "46
    ms to 1.2 s"."""
    text, _, unit = number.text.partition(NO_BREAK)
    return text if unit == other.text.partition(NO_BREAK)[2] else number.text


def within(title: str) -> str:
    """A title inside a sentence: lower case, except for acronyms."""
    return title if title[:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def sentence_case(text: str) -> str:
    """A phrase with a capital letter, for the beginning of a sentence."""
    return f"{text[:1].upper()}{text[1:]}"


def with_article(noun: str) -> str:
    """A noun with its article: an iteration, a transfer."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def things(number: Number, noun: str) -> Sentence:
    """A number with its noun: "1 run", "5 runs"."""
    return say("{n} {noun}", n=number, noun=Name(noun if number.text == "1" else f"{noun}s"))


def number_range(values: Sequence[int], source: str) -> Number:
    """A single value, or the lowest and the highest."""
    low, high = min(values), max(values)
    text = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return Number(high, text, source)


def alike(found: Iterable[_T], end: Callable[[_T], Hashable]) -> list[list[_T]]:
    """Groups of items with equal `end`, for one sentence per group, in the order of their first
    members."""
    groups: dict[Hashable, list[_T]] = {}
    for one in found:
        groups.setdefault(end(one), []).append(one)
    return list(groups.values())


@dataclass(frozen=True)
class Point:
    """A paragraph of conclusions under a lead word."""

    lead: str
    sentences: tuple[Sentence, ...]


def point(lead: str, sentences: Iterable[Sentence]) -> list[Point]:
    """A list with one point; empty if there are no sentences."""
    found = tuple(sentences)
    return [Point(lead, found)] if found else []


def not_compared(found: VerdictTable | PairEffect) -> Sentence:
    """The reason why two levels have no values to compare: no common setting, or no run with a
    value."""
    levels = {
        "a": named(found.factor, found.level),
        "b": named(found.factor, found.base),
        "metric": Name(found.metric.label),
    }
    if any(value is not None for row in found.rows for value in (row.value, row.base_value)):
        return say("{a} and {b} were not measured at the same levels.", **levels)
    return say("No run gives the {metric} of {a} or {b}.", **levels)


def why_no_verdict(table: VerdictTable) -> Sentence:
    """The reason for a missing verdict: too few samples, or unknown run-to-run variation."""
    lacking = [row.lacking for row in table.rows if row.lacking is not None]
    if lacking:
        fewest = min(lacking, key=lambda one: one.samples)
        return say(
            "A cell has too few samples for the {metric}: {n} {noun}s of the {needed} that carry "
            "it",
            metric=Name(table.metric.label),
            n=count(fewest.samples, f"{fewest.noun}s of the smallest cell"),
            noun=Name(fewest.noun),
            needed=count(fewest.needed, f"fewest {fewest.noun}s that carry {table.metric.name}"),
        )
    if any(row.too_few_samples for row in table.rows):
        return say(
            "Single runs have too few samples for the {metric}, which decides nothing: run-to-run "
            "variation is unknown",
            metric=Name(table.metric.label),
        )
    return say("One run of each cell decides nothing: run-to-run variation is unknown")
