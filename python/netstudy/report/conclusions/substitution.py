"""`substitution`: the effect of replacing one part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.conclusions.substitution import Replaced, Substituted
from netstudy.analysis.effects import PairEffect
from netstudy.analysis.verdict import Comparison
from netstudy.report.cellrefs import count, metric_number, treatment_text
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.conclusions.bundle import bundle_sentence
from netstudy.report.numbers import level_text
from netstudy.report.prose.change import change_of, lead
from netstudy.report.prose.pairs import in_all, measured_rows, pair_sentence, pooled_sentence
from netstudy.report.prose.words import NOTHING, named, things
from netstudy.report.refs import Name, Sentence, join, say

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
    """Whether the replaced part is the bottleneck of throughput, and how losses and other metrics
    change."""
    yield _verdict(one)
    for pair in one.losses:
        yield _loss_change(one, pair)
    if one.throughput is not None and one.throughput.is_shown and not _is_of_one(one):
        yield pair_sentence(one.throughput)
    for found in one.others:
        yield pair_sentence(found)
        yield from pooled_sentence(found)


def _verdict(one: Replaced) -> Sentence:
    """The verdict by substitution: the replaced part is the bottleneck if its replacement raises
    throughput."""
    names = {
        "level": named(one.factor, one.level),
        "base": named(one.factor, one.base),
        "factor": Name(one.factor),
    }
    pair = one.throughput
    rows = [] if pair is None else measured_rows(pair)
    if pair is None or not rows:
        return say(
            "{level} in place of {base}: throughput was not measured with both, all else equal.",
            **names,
        )
    names["metric"] = Name(pair.metric.label)
    if all(row.outcome == "same" for row in rows):
        return say(
            "The {factor} is not the bottleneck: {level} in place of {base} changes {metric} by "
            "less than the noise{n}.",
            n=in_all(rows),
            **names,
        )
    gains, costs = (sum(row.winner == level for row in rows) for level in (one.level, one.base))
    lowers = [_in_some(costs, rows, "settings in which the replacement loses")] if costs else []
    also = say(", and lowers it{where}", where=lowers[0]) if lowers else NOTHING
    if one.limited:
        return say(
            "The {whole} limits {metric}{where}: {level} in its place {gain}{lowers}.",
            whole=_with_factor(one),
            gain=_gain(one, pair) or say("raises it"),
            where=_in_some(len(one.limited), rows, "settings in which the replaced part limits"),
            lowers=also,
            **names,
        )
    if gains:
        gain = "{gain} {metric}" if _is_of_one(one) else "raises {metric}"
        return say(
            f"{{level}} in place of {{base}} {gain}{{where}}{{lowers}}.",
            gain=_gain(one, pair) or NOTHING,
            where=_in_some(gains, rows, "settings in which the replacement gains"),
            lowers=also,
            **names,
        )
    if lowers:
        return say("{level} in place of {base} lowers {metric}{where}.", where=lowers[0], **names)
    return say(
        "Whether the {factor} is the bottleneck is not decided: {level} in place of {base} is too "
        "close to call in {metric}.",
        **names,
    )


def _in_some(n: int, rows: Sequence[Comparison], which: str) -> Sentence:
    """The phrase " in 3 of 8 settings"; empty if it is all settings."""
    if n == len(rows):
        return NOTHING
    return say(
        " in {n} of {all} settings",
        n=count(n, which),
        all=count(len(rows), "settings compared"),
    )


def _is_of_one(one: Replaced) -> bool:
    """Whether there is a single setting and the replacement wins there. Then the sentence of
    `_verdict` already contains the gain."""
    rows = [] if one.throughput is None else measured_rows(one.throughput)
    return len(rows) == 1 and rows[0].winner == one.level


def _gain(one: Replaced, pair: PairEffect) -> Sentence | None:
    """The size of the gain; None if there are several settings."""
    if not _is_of_one(one):
        return None
    source = f"{pair.metric.name}, {level_text(pair.level)} ÷ {level_text(pair.base)}"
    return say("gives {ahead}", ahead=lead(pair.metric, change_of(measured_rows(pair)[0], source)))


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
