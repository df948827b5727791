"""`substitution`: the effect of replacing one part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.conclusions.substitution import Replaced, Substituted
from netstudy.analysis.effects import PairEffect
from netstudy.analysis.verdict import Comparison
from netstudy.report.cellrefs import count, metric_number, plain, treatment_text
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.conclusions.bundle import bundle_sentence
from netstudy.report.prose.pairs import measured_rows, pair_sentence, pooled_sentence
from netstudy.report.prose.words import NOTHING, named, things, value_range
from netstudy.report.refs import Name, Sentence, join, say

_WHOLE_PCT = 10
"""Gains of at least this percentage are printed without decimals."""
_LOSSES_TOLD = 6
"""A sentence on losses lists at most this number of settings."""


class SubstitutionPage(ConclusionPage[Substituted]):
    """The effect of replacing one part."""

    kind = Substituted
    subject = "comparison"

    def sentences(self, drawn: Substituted, found: Concluded) -> Iterator[Sentence]:  # noqa: ARG002
        """The effect of each replacement, and levels that differ in several things."""
        for one in drawn.replaced:
            yield from _replaced(one)
        yield from map(bundle_sentence, drawn.bundles)


def _replaced(one: Replaced) -> Iterator[Sentence]:
    """The effect of the replacement, whether the replaced part limits throughput, and the changes
    of losses and other metrics."""
    yield _verdict(one)
    if one.ceilings:
        yield _ceiling(one)
    for pair in one.losses:
        yield _loss_change(one, pair)
    for found in one.others:
        yield pair_sentence(found)
        yield from pooled_sentence(found)


def _verdict(one: Replaced) -> Sentence:
    """The effect on throughput, after the words that the replaced part limits it if it does."""
    pair = one.throughput
    rows = [] if pair is None else measured_rows(pair)
    if pair is None or not rows:
        return say(
            "{level} in place of {base}: throughput was not measured with both, all else equal.",
            level=named(one.factor, one.level),
            base=named(one.factor, one.base),
        )
    if not one.limited:
        return pair_sentence(pair)
    return say(
        "{whole} limits {metric}{where}: {effect}",
        whole=_with_factor(one),
        metric=Name(pair.metric.label),
        where=_in_some(len(one.limited), rows, "settings in which the replaced part limits"),
        effect=pair_sentence(pair),
    )


def _ceiling(one: Replaced) -> Sentence:
    """The most that the replacement can gain; a ceiling is no forecast."""
    gains = [
        plain(gain, _decimals(gain), "%", f"gain at most, by shares of time, {treatment_text(at)}")
        for at, gain in one.ceilings
    ]
    return say(
        "Replacing {whole} gains at most {gains}, by the time that it takes.",
        whole=_with_factor(one),
        gains=value_range(gains),
    )


def _decimals(gain_pct: float) -> int:
    return 0 if gain_pct >= _WHOLE_PCT else 1


def _in_some(n: int, rows: Sequence[Comparison], which: str) -> Sentence:
    """The phrase " in 3 of 8 settings"; empty if it is all settings."""
    if n == len(rows):
        return NOTHING
    return say(
        " in {n} of {all} settings",
        n=count(n, which),
        all=count(len(rows), "settings compared"),
    )


def _with_factor(one: Replaced) -> Name:
    """The replaced level with its factor: "disk F20". A text that already contains the factor is
    unchanged."""
    level = str(named(one.factor, one.base))
    return Name(level if one.factor in level else f"{one.factor} {level}")


def _loss_change(one: Replaced, pair: PairEffect) -> Sentence:
    """A loss before and after the replacement, at each setting where it differs; if there are many,
    only at the settings with the largest changes."""
    known = every = one.changes(pair)
    if len(every) > _LOSSES_TOLD:
        largest = sorted(every, key=lambda at: -abs(at[1][1] - at[1][0]))[:_LOSSES_TOLD]
        known = [at for at in every if at in largest]
    factors = [
        name
        for name in dict.fromkeys(name for context, _ in known for name in context)
        if len({context.get(name) for context, _ in known}) > 1
    ]
    parts = []
    for context, change in known:
        shown = {name: context[name] for name in factors if name in context}
        before, after = (
            metric_number(value, pair.metric, f"{one.factor}, {treatment_text(context)}")
            for value in change
        )
        where = say(" ({where})", where=Name(treatment_text(shown))) if shown else NOTHING
        parts.append(say("{before} to {after}{where}", before=before, after=after, where=where))
    left_out = NOTHING
    if len(every) > len(known):
        n = things(count(len(every), "settings in which the loss differs"), "setting")
        left_out = say("; these are the largest changes of {n}", n=n)
    words = "removes the" if one.removes(pair) else "changes the"
    return say(
        f"{{level}} in place of {{base}} {words} {{metric}}: {{parts}}{{left_out}}.",
        level=named(one.factor, one.level),
        base=named(one.factor, one.base),
        metric=Name(pair.metric.label),
        parts=join(parts),
        left_out=left_out,
    )
