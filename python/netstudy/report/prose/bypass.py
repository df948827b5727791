"""Whether data touch the wire, in sentences: one for all placements of which the same holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netstudy.analysis.bypass import Crossing, Verdict
from netstudy.report.cellrefs import treatment_text
from netstudy.report.numbers import full_level, listed, significant_text
from netstudy.report.refs import Name, Number, Sentence, say

_ORDER: tuple[Verdict, ...] = ("bypasses", "touches", "faster, not counted", "slower, not counted")


def crossing_sentences(found: Sequence[Crossing]) -> Iterator[Sentence]:
    """What payload and counters say of each placement, those that agree first."""
    for verdict in _ORDER:
        alike = [one for one in found if one.verdict == verdict]
        if alike:
            yield _agreed(verdict, alike)
    for one in found:
        if one.verdict == "disagree":
            yield _disagreement(one)
    if any(not one.carried for one in found):
        yield say("Counters of the interfaces are missing, so only the speed of the payload tells.")


def _agreed(verdict: Verdict, alike: Sequence[Crossing]) -> Sentence:
    several = len(alike) > 1
    who, faster, slower = _named(alike), _at_least(alike), _at_most(alike)
    shares = [share for one in alike for share in one.carried]
    least = "at least " if several else ""
    bypass, touch = ("bypass", "touch") if several else ("bypasses", "touches")
    match verdict:
        case "bypasses":
            return say(
                f"{{who}} {bypass} the wire: payload is {least}{{times}} times what it can carry, "
                "and the interfaces carried {share} of the payload.",
                who=who,
                times=faster,
                share=_share(shares, most=True),
            )
        case "touches":
            return say(
                f"{{who}} {touch} the wire: payload is at most {{times}} times what it can carry, "
                "and the interfaces carried {share} of the payload.",
                who=who,
                times=slower,
                share=_share(shares, most=False),
            )
        case "faster, not counted":
            seem = "seem" if several else "seems"
            return say(
                f"{{who}} {seem} to bypass the wire: payload is {least}{{times}} times what it can "
                "carry.",
                who=who,
                times=faster,
            )
        case _:
            return say(
                f"Nothing says that {{who}} {bypass} the wire: payload is at most {{times}} times "
                "what it can carry.",
                who=who,
                times=slower,
            )


def _disagreement(one: Crossing) -> Sentence:
    """One says yes and the other no, or one of them says both."""
    who = _named([one])
    if not one.carried:
        return say(
            "{who}: only some repetitions are faster than the wire can carry, up to {times} times; "
            "undecided.",
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
            "{who}: the interfaces carried only {share} of the payload, which at {times} times "
            "what the wire can carry need not have bypassed it; undecided.",
            who=who,
            share=_share(one.carried, most=True),
            times=_at_most([one]),
        )
    return say(
        "{who}: payload is {times} times what the wire can carry, and yet the interfaces "
        "carried {share} of it; undecided.",
        who=who,
        times=_at_most([one]),
        share=_share(one.carried, most=False),
    )


def _named(alike: Sequence[Crossing]) -> Name:
    """The levels of these placements; the whole study where nothing tells them apart."""
    if not alike[0].held:
        return Name("Every setting")
    if all(len(one.held) == 1 for one in alike):
        return Name(listed([full_level(*item) for one in alike for item in one.held.items()]))
    return Name("; ".join(treatment_text(one.held) for one in alike))


def _at_least(alike: Sequence[Crossing]) -> Number:
    """How much faster than the line the least of these is, where it is fastest."""
    one = min(alike, key=lambda each: each.slowest_mbps / each.line_mbps)
    source = (
        f"slowest repetition at {treatment_text(one.fastest.treatment)}, "
        f"{one.slowest_mbps:,.1f} Mbit/s of payload ÷ {one.line_mbps:,.1f} Mbit/s of the line"
    )
    return _times(one.slowest_mbps / one.line_mbps, source)


def _at_most(alike: Sequence[Crossing]) -> Number:
    """How fast the fastest repetition of these is, against the line."""
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
