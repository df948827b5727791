"""Where the time beyond the wire goes, and which part of it grows between levels, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from netstudy.analysis.beyond_wire import BeyondWire, Grown, Spent
from netstudy.analysis.case_result import PanelResult
from netstudy.report.cellrefs import count, percent
from netstudy.report.numbers import significant_text, with_unit
from netstudy.report.prose.words import (
    NOTHING,
    alike,
    at_levels,
    sentence_case,
    value_range,
    with_article,
    with_level,
)
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.time_words import FAMILY_WORDS, WINDOW_NAMES, place_words

_LEAST: Final = 0.01
"""Smaller differences of the time, relative to the base, are not told."""
_LEAST_PCT: Final = 10.0
"""A smaller share of the time is not divided."""
_HALF: Final = 0.5
_DIGITS: Final = 3


def of_levels(found: PanelResult) -> Iterator[Sentence]:
    """The largest part of the time beyond the wire: "The largest part of an iteration beyond
    transmission and latencies is waiting for timers at 16 and 32 servers (92 to 97 %)." """
    every = found.causes.beyond_wire
    beyond = [one for one in every if one.parts and one.share_pct >= _LEAST_PCT]
    if not beyond:
        if every:
            yield _on_wire(every)
        return
    texts = [_largest(found, same) for same in alike(beyond, lambda one: _words(one.parts[0]))]
    yield say(
        "The largest part of {unit} beyond transmission and latencies is {parts}.",
        unit=Name(_unit(beyond[0].unit)),
        parts=join(texts),
    )


def _on_wire(every: Sequence[BeyondWire]) -> Sentence:
    shares = [percent(100 - one.share_pct, "transmission and latencies ÷ time") for one in every]
    return say(
        "Transmission and latencies are {shares} of {unit}.",
        shares=value_range(shares),
        unit=Name(_unit(every[0].unit)),
    )


def _largest(found: PanelResult, same: list[BeyondWire]) -> Sentence:
    panel, levels = found.panel, [one.level for one in same]
    if panel.series is None:
        where = at_levels(panel, levels)
    else:
        where = say(" {levels}", levels=join([with_level(panel.series, one) for one in levels]))
    shares = [
        percent(one.parts[0].amount, "part of the time ÷ time beyond transmission and latencies")
        for one in same
    ]
    return say(
        "{words}{where} ({least}{share})",
        words=Name(_words(same[0].parts[0])),
        where=where,
        least=NOTHING if all(one.is_exact for one in same) else say("at least "),
        share=value_range(shares),
    )


def of_growth(found: PanelResult) -> Iterator[Sentence]:
    """The difference of the time between levels, the largest first, and the parts that explain
    it."""
    told = [one for one in found.causes.grown if abs(one.more_s) >= _LEAST * one.base_s]
    for one in sorted(told, key=lambda each: -abs(each.more_s)):
        yield _growth(found, one)


def _growth(found: PanelResult, one: Grown) -> Sentence:
    first, *others = one.parts
    is_most = first.amount / one.more_s >= _HALF
    parts = [first] if is_most else [first, *others[:1]]
    series = found.panel.series
    assert series is not None, "levels of a compared factor"
    where = NOTHING
    if found.panel.x is not None and one.cells > 1:
        n = count(one.cells, "cells with an exact account of time at both levels")
        where = say(" (mean at {n} levels of {x})", n=n, x=Name(found.panel.x))
    return say(
        "{unit} takes {more} {longer} {level} than {base}{where}: {parts}.",
        unit=Name(sentence_case(with_article(one.unit))),
        more=_ms(abs(one.more_s), "difference of the mean times"),
        longer=Name("longer" if one.more_s > 0 else "less"),
        level=with_level(series, one.level),
        base=with_level(series, one.base),
        where=where,
        parts=join([_difference(part) for part in parts]),
    )


def _difference(part: Spent) -> Sentence:
    sign = "+" if part.amount > 0 else "−"
    return say(
        "{sign}{ms} {words}",
        sign=Name(sign),
        ms=_ms(abs(part.amount), f"difference of the mean time, {part.family}"),
        words=Name(_words(part)),
    )


def _ms(seconds: float, source: str) -> Number:
    ms = seconds * 1e3
    return Number(ms, with_unit(significant_text(ms, _DIGITS), "ms"), source)


def _unit(unit: str) -> str:
    return "the time of streams" if unit == "interval" else with_article(unit)


def _words(part: Spent) -> str:
    """A family of parts in a sentence, or the place or window that has most of it."""
    key = part.key
    if key is None:
        return FAMILY_WORDS[part.family]
    if part.family == "window":
        return f"round trips until the {WINDOW_NAMES[key.reason]} has room"
    if part.family == "queue":
        return f"waiting in the {place_words(key)}"
    if part.family == "timer" and key.place.endswith("-timer"):
        return f"waiting for the {place_words(key)}"
    if part.family in ("work", "slot"):
        return place_words(key)
    return FAMILY_WORDS[part.family]
