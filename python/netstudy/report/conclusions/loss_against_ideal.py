"""`loss against ideal`: the loss compared with growth in proportion, in sentences and a
table."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from netstudy.analysis.cells import CellRow
from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.conclusions.loss_against_ideal import Loss, LossAt, Losses
from netstudy.analysis.intervals import Interval
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import at, cell_number, interval_number, plain, treatment_text
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.numbers import counted, level_text
from netstudy.report.prose.words import NOTHING, alike, held_in_each, held_levels, value_range
from netstudy.report.refs import Name, Number, Sentence, aside, say
from netstudy.report.tables import (
    Group,
    Table,
    Value,
    bare,
    bare_interval,
    bare_percent,
    numeric_level,
)


class LossPage(ConclusionPage[Losses]):
    """The loss compared with growth in proportion."""

    kind = Losses
    subject = "growth"

    def sentences(self, drawn: Losses, found: Concluded) -> Iterator[Sentence]:  # noqa: ARG002
        """One sentence for all settings whose losses have the same key (`_span`)."""
        losses = drawn.losses
        for group in alike(losses, _span):
            yield _loss(group, losses)
            for one in group:
                for lost in one.levels:
                    if lost.is_superlinear:
                        yield _superlinear(one, lost)
        for group in alike([one for one in losses if one.missing], lambda one: one.missing):
            one = group[0]
            levels = counted(one.factor, listed([level_text(level) for level in one.missing]))
            held = _held_in(group, losses)
            yield say("Not measured{held}: {levels}.", held=held, levels=Name(levels))

    def tables(self, drawn: Losses, found: Concluded, key: str) -> Iterator[Table]:
        """One for each metric."""
        metrics = list(dict.fromkeys(one.metric for one in drawn.losses))
        for place, metric in enumerate(metrics, start=1):
            own = [one for one in drawn.losses if one.metric == metric]
            yield _scaling_table(found, own, key if len(metrics) == 1 else f"{key}-{place}")


def _held_in(group: Sequence[Loss], every: Sequence[Loss]) -> Sentence:
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
    words = "below" if one.last.share_pct >= 0 else "above"
    return say(
        f"{{metric}} at {{last}} is {{share}} {words} linear scaling from {{first}}{{held}}"
        "{ci}{grown}{is_open}.",
        metric=Name(one.metric.title),
        last=at(one.factor, last),
        share=value_range([_share(each, source) for each in group]),
        first=at(one.factor, first),
        held=_held_in(group, every),
        ci=_interval(one, source) if len(group) == 1 else NOTHING,
        grown=_grown_levels(one),
        is_open=say(", which is within the variation between runs")
        if one.last.is_open
        else NOTHING,
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


def _scaling_table(found: Concluded, losses: Sequence[Loss], table_id: str) -> Table:
    first = losses[0]
    held = list(dict.fromkeys(name for one in losses for name in one.held))
    has_link = any(one.line_bps is not None for one in losses)
    groups = (
        *(Group(name) for name in held),
        Group(first.factor),
        Group(first.metric.title, first.metric.unit),
        *((Group("Share of the link", "%"),) if has_link else ()),
        Group("Linear scaling", first.metric.unit),
        Group("Loss", "%", columns=("loss", "95 % interval")),
    )
    rows = tuple(
        (*(numeric_level(one.held.get(name), name) for name in held), *row)
        for one in losses
        for row in _scaling_rows(one, has_link=has_link)
    )
    where = f" ({found.case})" if found.case != "main" else ""
    caption = say("Growth compared with linear scaling{where}", where=Name(where))
    return Table(table_id, caption, groups, rows, stub=len(held) + 1)


def _scaling_rows(one: Loss, *, has_link: bool) -> Iterator[tuple[Value, ...]]:
    levels: list[tuple[CellRow, LossAt | None]] = [(one.first, None)]
    levels += [(lost.cell, lost) for lost in one.levels]
    base = one.first.value(one.metric) or 0.0
    start = float(one.first.treatment[one.factor])
    for cell, lost in levels:
        level = cell.treatment[one.factor]
        where = treatment_text(cell.treatment)
        proportion = base * float(level) / start
        share = _of_the_link(cell, one, where)
        yield (
            numeric_level(level, one.factor),
            cell_number(cell, one.metric),
            *((share,) if has_link else ()),
            bare(proportion, one.metric, f"first level × {one.factor} ÷ its {one.factor}, {where}"),
            None
            if lost is None
            else bare_percent(lost.share_pct, f"1 − value ÷ linear scaling, {where}"),
            None
            if lost is None
            else bare_interval(lost.interval, 1, f"95 % Fieller interval of the loss, {where}"),
        )


def _of_the_link(cell: CellRow, one: Loss, where: str) -> Number | None:
    value = cell.value(one.metric)
    if value is None or one.line_bps is None:
        return None
    return bare_percent(100 * value * 1e6 / one.line_bps, f"{one.metric.name} ÷ line rate, {where}")
