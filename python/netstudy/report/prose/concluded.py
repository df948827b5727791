"""The conclusions that a study asks for, in sentences; each kind of conclusion has its own
wording."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from netstudy.analysis.bottleneck import Limits
from netstudy.analysis.bypass import Crossings
from netstudy.analysis.conclusion_cells import Growth
from netstudy.analysis.conclusions import (
    Bundle,
    Concluded,
    Drawn,
    LevelsCompared,
    LimitReached,
    Loss,
    LossAt,
    Repetitions,
    Replaced,
    TradeOff,
)
from netstudy.analysis.effects import PairEffect
from netstudy.analysis.extrapolation import Extrapolated
from netstudy.analysis.intervals import Interval
from netstudy.analysis.study_result import StudyResult
from netstudy.documents.problems import listed
from netstudy.report.caveats.few_repetitions import least_repetitions
from netstudy.report.cellrefs import (
    at,
    cell_number,
    count,
    interval_number,
    percent,
    plain,
    treatment_text,
)
from netstudy.report.numbers import (
    are_several,
    counted,
    level_text,
    significant_text,
)
from netstudy.report.prose.bottleneck import limit_sentences
from netstudy.report.prose.bypass import crossing_sentences
from netstudy.report.prose.extrapolate import extrapolated
from netstudy.report.prose.pairs import pair_sentence, pooled_sentence, replaced_sentences
from netstudy.report.prose.words import (
    NOTHING,
    Point,
    alike,
    held_in_each,
    held_levels,
    named,
    point,
    things,
    value_range,
)
from netstudy.report.refs import Name, Number, Sentence, aside, join, say
from netstudy.report.requirement_table import bound_text
from netstudy.study.outcome import Conclusion, FirstRepetition
from netstudy.study.undrawn import kind_of
from netstudy.units import format_rate
from netstudy.wire import Treatment


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
    title = f"{title[:1].upper()}{title[1:]}{held_levels(found.at)}"
    return f"{title} ({found.case})" if many else title


def sentences_of(found: Concluded) -> list[Sentence]:
    """The findings of a conclusion, the weightiest first; or the reason why it cannot be drawn."""
    growths = [one for one in found.drawn if isinstance(one, Growth)]
    limits = [one for one in found.drawn if isinstance(one, Limits)]
    losses = [one for one in found.drawn if isinstance(one, Loss)]
    drawn = [*_growths(growths), *limit_sentences(limits), *_losses(losses)]
    drawn += [sentence for one in found.drawn for sentence in _of(one, found.at)]
    if drawn and found.unmeasured:
        names = join([Name(str(name), code=True) for name in found.unmeasured])
        drawn.append(say("Not measured, and so not compared: {names}.", names=names))
    return drawn or [_not_drawn(found.asked)]


def _not_drawn(asked: Conclusion) -> Sentence:
    if isinstance(asked, FirstRepetition):
        return say("Not drawn: it needs {least} of a setting or more.", least=least_repetitions())
    return say("Not drawn: these runs do not measure what it needs.")


def _of(drawn: Drawn, at_levels: Treatment) -> Iterator[Sentence]:
    match drawn:
        case LevelsCompared():
            for pair in drawn.pairs:
                yield pair_sentence(pair, at_levels)
                yield from pooled_sentence(pair)
        case Replaced():
            yield from replaced_sentences(drawn)
        case Bundle():
            yield _bundle(drawn)
        case TradeOff():
            yield _trade_off(drawn)
        case Extrapolated():
            yield from extrapolated(drawn)
        case LimitReached():
            yield from _limit(drawn)
        case Repetitions():
            yield from _repetitions(drawn)
        case Crossings():
            yield from crossing_sentences(drawn)


def _growths(found: Sequence[Growth]) -> Iterator[Sentence]:
    """One sentence for all settings with the same growth."""
    for group in alike(found, _end):
        yield _growth(group, found)
        for one in group:
            yield from _overdrive(one)


def _end(one: Growth) -> Hashable:
    """The grouping key of growth: metric, factor, link rate, levels at the end of the growth, and
    whether this end is uncertain."""
    levels = tuple(cell.treatment[one.factor] for cell in (one.last_gain, *one.beyond))
    return one.metric.name, one.factor, one.line_bps, levels, one.is_uncertain


def _growth(group: Sequence[Growth], every: Sequence[Growth]) -> Sentence:
    """The sentence on the growth in `group`, the settings that share an end, out of `every`
    setting."""
    first = group[0]
    values = [cell_number(one.last_gain, one.metric, unit=True) for one in group]
    known = [value for value in values if value is not None]
    assert len(known) == len(group), "a level without a value is no step"
    if first.is_uncertain:
        ends = "grows up to {level}{held}" if first.beyond else "still grows at {level}{held}"
        template = f"Whether {{metric}} {ends} is not decided: {{value}}{{share}}, a gain within "
        template += "what the runs vary by"
    elif not first.beyond:
        template = "{metric} still grows at {level}, the largest level{held}: {value}{share}"
    elif first.last_gain is first.cells[0]:
        template = "{metric} does not grow beyond {level}, the first level{held}, {value}{share}"
    else:
        template = "{metric} grows up to {level}{held}, {value}{share}"
    gains = "; {more} {more:gains} no more than the noise" if first.beyond else ""
    more = [cell.treatment[first.factor] for cell in first.beyond]
    return say(
        f"{template}{gains}.",
        metric=Name(first.metric.label if first.is_uncertain else first.metric.title),
        level=at(first.factor, first.last_gain.treatment[first.factor]),
        held=_held_in(group, every),
        value=value_range(known),
        share=_of_the_link(first, known),
        more=Name(
            counted(first.factor, listed([level_text(level) for level in more])),
            several=len(more) > 1 or are_several(first.factor, more[0]) if more else False,
        ),
    )


def _overdrive(one: Growth) -> Iterator[Sentence]:
    """The sentence on overdrive: beyond the knee only the delay grows."""
    found = one.overdrive
    if found is None or one.delay is None or found[1] <= found[0]:
        return
    here, there = one.last_gain, one.beyond[-1]
    source = f"{one.delay.name}, {treatment_text(there.treatment)} ÷ at the knee"
    yield say(
        "Overdrive beyond the knee{held}: from {knee} to {most} {metric} grows from {before} to "
        "{after}, by a factor of {ratio}.",
        held=held_levels(one.held),
        knee=at(one.factor, here.treatment[one.factor]),
        most=at(one.factor, there.treatment[one.factor]),
        metric=Name(one.delay.label),
        before=cell_number(here, one.delay, unit=True) or NOTHING,
        after=cell_number(there, one.delay, unit=True) or NOTHING,
        ratio=plain(found[1] / found[0], 2, "", source),
    )


def _bundle(one: Bundle) -> Sentence:
    """The sentence on levels that differ in several things: a difference cannot be credited to one
    of them."""
    words = (
        "so two of their effects may cancel out"
        if one.is_equal
        else "so a difference is credited to none of them alone"
    )
    return say(
        f"{{a}} and {{b}} differ in {{n}} things at once ({{parts}}), {words}.",
        a=named(one.factor, one.level),
        b=named(one.factor, one.base),
        n=count(len(one.parts), "things that differ between the levels"),
        parts=Name(listed(list(one.parts))),
    )


def _of_the_link(one: Growth, values: Sequence[Number]) -> Sentence:
    if one.line_bps is None:
        return NOTHING
    source = f"{one.metric.name} ÷ line rate"
    shares = [percent(100 * value.value * 1e6 / one.line_bps, source) for value in values]
    return say(
        " or {share} of the link's {rate}",
        share=value_range(shares),
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
        template = (
            "No trade-off: {leader} {leader:falls} behind in none; {a} against {b} has {parts}."
        )
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
    """How a metric at one level compares with the same metric at the other level."""
    source = f"{pair.metric.name}, {level_text(pair.level)} and {level_text(pair.base)}"
    if pair.scale == "ratio":
        ratio = plain(pair.change, 2, "", f"geometric mean of ratios, {source}")
        return say("{ratio} times the {metric}", ratio=ratio, metric=Name(pair.metric.label))
    unit = "percentage points" if pair.metric.is_share else pair.metric.unit
    more = Name("more" if pair.change >= 0 else "less")
    decimals = max(1, pair.metric.decimals)
    difference = plain(abs(pair.change), decimals, unit, f"mean difference, {source}")
    return say(
        "{difference} {more} {metric}",
        difference=difference,
        more=more,
        metric=Name(pair.metric.label),
    )


def _losses(found: Sequence[Loss]) -> Iterator[Sentence]:
    """One sentence for all settings whose losses have the same key (`_span`)."""
    for group in alike(found, _span):
        yield _loss(group, found)
        for one in group:
            for lost in one.levels:
                if lost.is_superlinear:
                    yield _superlinear(one, lost)
    for group in alike([one for one in found if one.missing], lambda one: one.missing):
        one = group[0]
        levels = counted(one.factor, listed([level_text(level) for level in one.missing]))
        held = _held_in(group, found)
        yield say("Not measured{held}: {levels}.", held=held, levels=Name(levels))


def _held_in(group: Sequence[Growth | Loss], every: Sequence[Growth | Loss]) -> Sentence:
    return held_in_each([one.held for one in group], [one.held for one in every])


def _span(one: Loss) -> Hashable:
    """The grouping key of a loss: losses with equal keys share a sentence. They have the same
    metric, the same first and last level, and the same levels of a growing factor there; and all
    are losses or all are gains, and all are decided or all undecided."""
    ends = (one.first, one.last.cell)
    levels = tuple(cell.treatment[one.factor] for cell in ends)
    grown = None if one.grown is None else tuple(cell.treatment[one.grown] for cell in ends)
    return one.metric.name, one.factor, levels, grown, one.last.share_pct >= 0, one.last.is_open


def _loss(group: Sequence[Loss], every: Sequence[Loss]) -> Sentence:
    """The loss compared with linear scaling. A sentence on several settings has no intervals; the
    table has them."""
    one = group[0]
    first, last = (cell.treatment[one.factor] for cell in (one.first, one.last.cell))
    source = f"1 - ratio of {one.metric.name} ÷ ratio of {one.factor}"
    words = "less" if one.last.share_pct >= 0 else "more"
    return say(
        f"{{metric}} at {{last}} is {{share}} {words} than in proportion to {{first}}{{held}}"
        "{ci}{grown}{is_open}.",
        metric=Name(one.metric.title),
        last=at(one.factor, last),
        share=value_range([_share(each, source) for each in group]),
        first=at(one.factor, first),
        held=_held_in(group, every),
        ci=_interval(one, source) if len(group) == 1 else NOTHING,
        grown=_grown_levels(one),
        is_open=say(", which is within what the runs vary by") if one.last.is_open else NOTHING,
    )


def _share(one: Loss, source: str) -> Number:
    return plain(abs(one.last.share_pct), 1, "%", source, one.last.interval)


def _interval(one: Loss, source: str) -> Sentence:
    """The interval of the loss at the last level, in brackets."""
    if one.last.interval is None:
        return NOTHING
    low, high = sorted((one.last.interval.low, one.last.interval.high))
    ci = interval_number(Interval(low, high), 1, "%", f"95 % interval, {source}")
    return NOTHING if ci is None else aside(" ({level} CI {ci})", level=Name("95 %"), ci=ci)


def _grown_levels(one: Loss) -> Sentence:
    """The level of the growing factor at the last and at the first level."""
    if one.grown is None:
        return NOTHING
    ends = [level_text(cell.treatment[one.grown]) for cell in (one.last.cell, one.first)]
    levels = list(dict.fromkeys(ends))
    return say(
        ", with {levels}{each}",
        levels=Name(counted(one.grown, listed(levels))),
        each=Name(" each" if len(levels) == 1 else ""),
    )


def _superlinear(one: Loss, lost: LossAt) -> Sentence:
    """A level carries more than in proportion, so the first level is not a fair base for
    scaling."""
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
    every = count(one.broken + one.kept, "settings with a value")
    if one.broken:
        yield say(
            "{n} of {all} settings do not keep {condition}.",
            n=count(one.broken, "settings beyond the condition"),
            all=every,
            condition=condition,
        )
    elif one.kept > 1:
        yield say("All {all} settings keep it, so that none shows the limit.", all=every)


def _where(treatment: Treatment) -> Sentence:
    return say(" ({where})", where=Name(treatment_text(treatment)))


_TOLD = 3
"""At most this number of first repetitions that stand out are listed."""


def _repetitions(one: Repetitions) -> Iterator[Sentence]:
    cells = things(count(one.cells, "cells with three repetitions or more"), "setting")
    if one.alike:
        yield say(
            "All repetitions of {n} gave the same {metric}: repetition shows nothing there.",
            n=things(count(one.alike, "cells whose repetitions are all alike"), "setting"),
            metric=Name(one.metric.label),
        )
    if not one.cells:
        return
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
