"""Comparisons of two levels of a factor, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netstudy.analysis.conclusions import Replaced
from netstudy.analysis.effects import PairEffect
from netstudy.analysis.verdict import Comparison
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import (
    count,
    interval_number,
    metric_number,
    plain,
    treatment_text,
)
from netstudy.report.numbers import level_text
from netstudy.report.prose.change import Change, ahead_of, change_of, is_time, lead
from netstudy.report.prose.undecided import undecided_pair
from netstudy.report.prose.words import NOTHING, held_levels, named, not_compared, things
from netstudy.report.refs import Name, Sentence, aside, join, say
from netstudy.wire import Level, Treatment

_SEVERAL = 2
"""With fewer settings, no mean over them is given."""
_LOSSES_TOLD = 6
"""A sentence on losses lists at most this number of settings."""


def pair_sentence(pair: PairEffect, held: Treatment | None = None) -> Sentence:
    """Which of two levels is ahead, by how much and where; or that they are equal. `held`: levels
    of other factors to which the comparison is restricted."""
    where = held_levels(held or {})
    measured = _measured(pair)
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
    """The effect at each level of the factor on which it depends, instead of an average that
    describes no level."""
    told = {
        f"at{n}": say(
            "With {level}: {sentence}",
            level=Name(f"{by} {level_text(at)}"),
            sentence=_simple_at(simple, _measured(simple)),
        )
        for n, (at, simple) in enumerate(pair.simple(by))
    }
    return say(" ".join(f"{{{name}}}" for name in told), **told)


def _simple_at(pair: PairEffect, rows: Sequence[Comparison]) -> Sentence:
    if not rows:
        return not_compared(pair)
    if all(row.outcome == "same" for row in rows):
        return _equal(pair, rows, NOTHING)
    # A further interaction at this level is only counted.
    return _one(pair, rows[0]) if len(rows) == 1 else _of_all(pair, rows, NOTHING)


def _equal(pair: PairEffect, rows: Sequence[Comparison], held: Sentence) -> Sentence:
    return say(
        "{a} and {b} are equal in {metric}{n}{held}.",
        metric=Name(pair.metric.label),
        n=_in_all(rows),
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
        "{a} ÷ {b}, {metric}: {ratio}{ci} over {n} (geometric mean).",
        metric=Name(pair.metric.label),
        ratio=plain(pair.change, 2, "", source, pair.interval),
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
    if row.outcome == "undecided":
        both = _both(pair)
        return say("{known}.", known=undecided_pair(row, pair.metric, both["a"], both["b"]))
    if row.winner is None:
        return say("{a} and {b} differ in {metric}.", metric=Name(pair.metric.label), **_both(pair))
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


def replaced_sentences(one: Replaced) -> Iterator[Sentence]:
    """Whether the replaced part is the bottleneck of throughput, and how losses and other metrics
    change."""
    yield _verdict(one)
    for pair in one.losses:
        yield _loss_change(one, pair)
    if one.throughput is not None and one.throughput.is_shown and not _is_of_one(one):
        yield pair_sentence(one.throughput)
    for found in one.others:
        yield _of_metric(found)
        yield from pooled_sentence(found)


def _of_metric(pair: PairEffect) -> Sentence:
    """The sentence on a metric. If it only says "faster", the metric's name comes before it, since
    there are several metrics."""
    sentence = pair_sentence(pair)
    if not is_time(pair.metric) or pair.winner is None:
        return sentence
    return say("{metric}: {sentence}", metric=Name(pair.metric.title), sentence=sentence)


def _verdict(one: Replaced) -> Sentence:
    """The verdict by substitution: the replaced part is the bottleneck if its replacement raises
    throughput."""
    names = {
        "level": named(one.factor, one.level),
        "base": named(one.factor, one.base),
        "factor": Name(one.factor),
    }
    pair = one.throughput
    rows = [] if pair is None else _measured(pair)
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
            n=_in_all(rows),
            **names,
        )
    gains, costs = (sum(row.winner == level for row in rows) for level in (one.level, one.base))
    lowers = [_in_some(costs, rows, "settings in which the replacement loses")] if costs else []
    if gains:
        return say(
            "The {whole} limits {metric}{where}: {level} in its place {gain}{lowers}.",
            whole=_with_factor(one),
            gain=_gain(one, pair),
            where=_in_some(gains, rows, "settings in which the replacement gains"),
            lowers=say(", and lowers it{where}", where=lowers[0]) if lowers else NOTHING,
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
    rows = [] if one.throughput is None else _measured(one.throughput)
    return len(rows) == 1 and rows[0].winner == one.level


def _gain(one: Replaced, pair: PairEffect) -> Sentence:
    """The gain of the replacement, with its size if there is only one setting."""
    if not _is_of_one(one):
        return say("raises it")
    source = f"{pair.metric.name}, {level_text(pair.level)} ÷ {level_text(pair.base)}"
    return say("gives {ahead}", ahead=lead(pair.metric, change_of(_measured(pair)[0], source)))


def _measured(pair: PairEffect) -> list[Comparison]:
    return [row for row in pair.rows if row.outcome != "missing"]


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
