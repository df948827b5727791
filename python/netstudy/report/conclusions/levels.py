"""Levels of a factor compared with each other, in sentences and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netstudy.analysis.conclusions.levels import LevelsCompared
from netstudy.analysis.effects import PairEffect
from netstudy.analysis.verdict import Comparison
from netstudy.report.cellrefs import RATIO_DECIMALS, plain, treatment_text
from netstudy.report.numbers import headed_level, level_text
from netstudy.report.prose.pairs import pair_sentence, pooled_sentence
from netstudy.report.prose.words import held_levels
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.tables import (
    Group,
    Table,
    Value,
    bare,
    bare_interval,
    compared_decimals,
    numeric_level,
)
from netstudy.wire import Treatment


def levels_sentences(one: LevelsCompared, at_levels: Treatment) -> Iterator[Sentence]:
    """For each pair of levels: which one is ahead, by how much and where."""
    for pair in one.pairs:
        yield pair_sentence(pair, at_levels)
        yield from pooled_sentence(pair)


def ratios_tables(
    compared: Iterable[LevelsCompared], at_levels: Treatment, key: str
) -> Iterator[Table]:
    """A table for each pair of levels that was compared at several settings."""
    pairs = [pair for one in compared for pair in one.pairs]
    for place, pair in enumerate(pairs, start=1):
        if len(pair.contexts) > 1:
            yield _ratios_table(pair, f"{key}-{place}", at_levels)


def _ratios_table(pair: PairEffect, table_id: str, held: Treatment) -> Table:
    """One row for each setting: the values of both levels, and their ratio (or difference) with its
    interval. The last row has the mean ratio."""
    names = list(dict.fromkeys(name for context in pair.contexts for name in context))
    # Factors with a single level are left out: the column would be the same in each row.
    shown = [name for name in names if len({context.get(name) for context in pair.contexts}) > 1]
    level, base = (headed_level(pair.factor, one) for one in (pair.level, pair.base))
    is_ratio = pair.scale == "ratio"
    formula = f"{level} ÷ {base}" if is_ratio else f"{level} − {base}"
    groups = (
        *(Group(name) for name in shown),
        Group(pair.metric.title, pair.metric.unit, columns=(level, base)),
        Group(formula, columns=("value", "95 % interval")),
        Group("Finding"),
    )
    digits = compared_decimals(pair.rows, pair.metric)
    rows = [
        (
            *(numeric_level(context.get(name), name) for name in shown),
            *_ratio_row(row, pair, context, digits),
        )
        for context, row in zip(pair.contexts, pair.rows, strict=True)
    ]
    pooled = f"over all, {'geometric mean' if is_ratio else 'mean'}"
    head = (Name(pooled), *(None for _ in shown[1:])) if shown else ()
    rows.append((*head, None, None, *_pooled(pair, formula), None))
    caption = say(
        "{metric}: {formula}{held}",
        metric=Name(pair.metric.title),
        formula=Name(formula),
        held=held_levels(held),
    )
    return Table(table_id, caption, groups, tuple(rows), stub=max(1, len(shown)), sortable=False)


def _ratio_row(
    row: Comparison, pair: PairEffect, context: Treatment, digits: int
) -> tuple[Value, ...]:
    where = treatment_text(context)
    is_ratio = pair.scale == "ratio"
    value = row.ratio if is_ratio else row.difference
    interval = row.interval if is_ratio else row.difference_interval
    sign = "÷" if is_ratio else "−"
    source = f"{level_text(pair.level)} {sign} {level_text(pair.base)}, {pair.metric.name}, {where}"
    return (
        bare(row.value, pair.metric, f"{level_text(pair.level)}, {where}", digits),
        bare(row.base_value, pair.metric, f"{level_text(pair.base)}, {where}", digits),
        None if value is None else plain(value, RATIO_DECIMALS, "", source, interval),
        bare_interval(interval, RATIO_DECIMALS, f"95 % interval, {source}"),
        Name(row.outcome),
    )


def _pooled(pair: PairEffect, formula: str) -> tuple[Value, Value]:
    source = f"{formula} over {len(pair.contexts)} settings, {pair.metric.name}"
    interval = bare_interval(pair.interval, RATIO_DECIMALS, f"95 % interval, {source}")
    return plain(pair.change, RATIO_DECIMALS, "", source, pair.interval), interval
