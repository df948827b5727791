"""Whether data cross the wire: one sentence for all placements with the same verdict, and a
table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.conclusions.bypasses_the_wire import Crossing, Crossings, Verdict
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import treatment_text
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.numbers import full_level, level_text, measured, significant_text
from netstudy.report.prose.words import at_held
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.report.tables import Group, Table, Value, numeric_level
from netstudy.wire import Level

_ORDER: tuple[Verdict, ...] = ("bypasses", "touches", "faster, not counted", "slower, not counted")


class BypassPage(ConclusionPage[Crossings]):
    """Whether data cross the wire."""

    kind = Crossings

    def sentences(self, drawn: Crossings, found: Concluded) -> Iterator[Sentence]:
        """The verdict on each placement."""
        return (at_held(found.at, sentence) for sentence in crossing_sentences(drawn))

    def tables(self, drawn: Crossings, found: Concluded, key: str) -> Iterator[Table]:  # noqa: ARG002
        """The placements, if there are several."""
        if len(drawn.of) > 1:
            yield crossings_table(drawn.of, key)


def crossing_sentences(every: Crossings) -> Iterator[Sentence]:
    """The verdicts on all placements; those on which payload and counters agree come first."""
    found = every.of
    for verdict in _ORDER:
        alike = [one for one in found if one.verdict == verdict]
        if alike:
            yield _agreed(verdict, alike, every)
    for one in found:
        if one.verdict == "disagree":
            yield _disagreement(one)
    if any(not one.carried for one in found):
        yield say(
            "Counters of the interfaces are missing, so the verdict rests on the speed of the "
            "payload."
        )
    if every.unmeasured:
        places = [treatment_text(held) for held in every.unmeasured]
        yield say("Not measured, and so not known: {places}.", places=Name("; ".join(places)))


def _agreed(verdict: Verdict, alike: Sequence[Crossing], every: Crossings) -> Sentence:
    who, faster, slower = _named(alike, every), _at_least(alike), _at_most(alike)
    shares = [share for one in alike for share in one.carried]
    least = "at least " if len(alike) > 1 else ""
    match verdict:
        case "bypasses":
            return say(
                f"{{who}} {{who:bypasses}} the wire: payload is {least}{{times}} times the wire's "
                "capacity, and the interfaces carried {share} of the payload.",
                who=who,
                times=faster,
                share=_share(shares, most=True),
            )
        case "touches":
            return say(
                "{who} {who:touches} the wire: payload is at most {times} times the wire's "
                "capacity, and the interfaces carried {share} of the payload.",
                who=who,
                times=slower,
                share=_share(shares, most=False),
            )
        case "faster, not counted":
            return say(
                f"{{who}} {{who:seems}} to bypass the wire: payload is {least}{{times}} times the "
                "wire's capacity.",
                who=who,
                times=faster,
            )
        case _:
            return say(
                "No sign that {who} {who:bypasses} the wire: payload is at most {times} times the "
                "wire's capacity.",
                who=who,
                times=slower,
            )


def _disagreement(one: Crossing) -> Sentence:
    """A placement on which payload and counters contradict each other, or on which repetitions
    do."""
    who = Name(treatment_text(one.held) or "Every setting")
    if not one.carried:
        return say(
            "{who}: only some repetitions exceed the wire's capacity, by a factor of at most "
            "{times}; undecided.",
            who=who,
            times=_at_most([one]),
        )
    if len({share < 1 for share in one.carried}) > 1:
        return say(
            "{who}: the interfaces carried the payload in some runs and not in others, {low} to "
            "{high} of it; undecided.",
            who=who,
            low=_share(one.carried, most=False),
            high=_share(one.carried, most=True),
        )
    if one.carried[0] < 1:
        return say(
            "{who}: the interfaces carried {share} of the payload, but at {times} times the wire's "
            "capacity the payload need not have bypassed the wire; undecided.",
            who=who,
            share=_share(one.carried, most=True),
            times=_at_most([one]),
        )
    return say(
        "{who}: payload is {times} times the wire's capacity, and yet the interfaces carried "
        "{share} of the payload; undecided.",
        who=who,
        times=_at_most([one]),
        share=_share(one.carried, most=False),
    )


def _named(alike: Sequence[Crossing], looked_at: Crossings) -> Name:
    """The placements by their levels, without factors that change no verdict; "Every setting" if no
    factor does. If some placements were not measured, all factors are listed."""
    every = looked_at.of
    factors = [name for name in every[0].held if looked_at.unmeasured or _decides(name, every)]
    if not factors:
        return Name("Every setting")
    lead, *rest = factors
    texts: list[str] = []
    for level in dict.fromkeys(one.held[lead] for one in alike):
        own = _levels(alike, lead, level, rest)
        is_whole = own == _levels(every, lead, level, rest)
        more = [
            listed([f"{name} {level_text(of)}" for name, of in zip(rest, one, strict=True)])
            for one in own
        ]
        with_more = "" if is_whole else f" ({'; '.join(more)})"
        texts.append(f"{full_level(lead, level)}{with_more}")
    return Name(listed(texts), several=len(texts) > 1)


def _levels(
    of: Sequence[Crossing], lead: str, level: Level, rest: Sequence[str]
) -> dict[tuple[Level, ...], None]:
    """The combinations of levels of the factors `rest`, at one level of the factor `lead`."""
    own = (one.held for one in of if one.held[lead] == level)
    return dict.fromkeys(tuple(held[name] for name in rest) for held in own)


def _decides(name: str, every: Sequence[Crossing]) -> bool:
    """Whether the verdict depends on the level of this factor, with all other levels unchanged."""
    verdicts: dict[tuple[tuple[str, Level], ...], set[Verdict]] = {}
    for one in every:
        others = tuple(item for item in one.held.items() if item[0] != name)
        verdicts.setdefault(others, set()).add(one.verdict)
    return any(len(found) > 1 for found in verdicts.values())


def crossings_table(found: Sequence[Crossing], table_id: str) -> Table:
    """One row for each placement: payload, line rate, and bytes at the interfaces."""
    factors = list(found[0].held)
    groups = (
        *(Group(name) for name in factors),
        Group(
            "Payload",
            "Mbit/s",
            columns=("slowest repetition of the fastest cell", "fastest of all"),
        ),
        Group("Line can carry", "Mbit/s"),
        Group("Payload ÷ line"),
        Group("Interfaces carried", "% of the payload", columns=("least", "most")),
        Group("Finding"),
    )
    rows = tuple(
        (*(numeric_level(one.held[name], name) for name in factors), *_row(one)) for one in found
    )
    caption = say("Payload, line and interfaces, by placement")
    return Table(table_id, caption, groups, rows, stub=max(1, len(factors)))


def _row(one: Crossing) -> tuple[Value, ...]:
    place = treatment_text(one.held) or "all"
    shares = [100 * share for share in (min(one.carried), max(one.carried))] if one.carried else []
    ends = [
        Number(value, significant_text(value, 3), f"bytes of the interfaces ÷ payload, {place}")
        for value in shares
    ]
    return (
        _mbps(one.slowest_mbps, f"goodput_mbps, {treatment_text(one.fastest.treatment)}"),
        _mbps(one.largest_mbps, f"goodput_mbps, fastest repetition, {place}"),
        _mbps(one.line_mbps, f"line rate less the headers of full frames, {place}"),
        _at_most([one]),
        *(ends or (None, None)),
        Name(one.verdict),
    )


def _mbps(value: float, source: str) -> Number:
    return Number.of(value, measured(value, 1), source)


def _at_least(alike: Sequence[Crossing]) -> Number:
    """The smallest ratio of payload to line rate: of each placement's fastest cell, the slowest
    repetition counts."""
    one = min(alike, key=lambda each: each.slowest_mbps / each.line_mbps)
    source = (
        f"slowest repetition at {treatment_text(one.fastest.treatment)}, "
        f"{one.slowest_mbps:,.1f} Mbit/s of payload ÷ {one.line_mbps:,.1f} Mbit/s of the line"
    )
    return _times(one.slowest_mbps / one.line_mbps, source)


def _at_most(alike: Sequence[Crossing]) -> Number:
    """The largest ratio of payload to line rate in any repetition."""
    one = max(alike, key=lambda each: each.largest_mbps / each.line_mbps)
    source = (
        f"fastest repetition of {treatment_text(one.held) or 'all'}, "
        f"{one.largest_mbps:,.1f} Mbit/s of payload ÷ {one.line_mbps:,.1f} Mbit/s of the line"
    )
    return _times(one.largest_mbps / one.line_mbps, source)


def _times(value: float, source: str) -> Number:
    return Number(value, significant_text(value, 3), source)


def _share(shares: Sequence[float], *, most: bool) -> Sentence:
    value = 100 * (max(shares) if most else min(shares))
    if most and not value:
        return say("none")
    text = f"{significant_text(value, 3)}\u00a0%"
    source = "bytes of the interfaces ÷ payload, " + ("largest" if most else "smallest") + " run"
    bound = "" if len(shares) == 1 else ("at most " if most else "at least ")
    return say(f"{bound}{{value}}", value=Number(value, text, source))
