"""The tables that support conclusions: candidates for the bottleneck, scaling, ratios, derivations.

A conclusion that is based on a single number has no table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netstudy.analysis.bottleneck import Limits
from netstudy.analysis.bypass import Crossings
from netstudy.analysis.cells import CellRow
from netstudy.analysis.conclusions import Concluded, LevelsCompared, Loss, LossAt
from netstudy.analysis.effects import PairEffect
from netstudy.analysis.extrapolation import Extrapolated
from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.verdict import Comparison
from netstudy.report.cellrefs import RATIO_DECIMALS, cell_number, plain, treatment_text
from netstudy.report.numbers import headed_level, level_text
from netstudy.report.prose.bottleneck import limits_table
from netstudy.report.prose.bypass import crossings_table
from netstudy.report.prose.extrapolate import extrapolation_table
from netstudy.report.prose.words import held_levels
from netstudy.report.refs import Name, Number, say
from netstudy.report.tables import (
    Group,
    Table,
    Value,
    bare,
    bare_interval,
    bare_percent,
    compared_decimals,
    numeric_level,
)
from netstudy.wire import Treatment


def conclusion_tables(result: StudyResult) -> Iterator[Table]:
    """The tables of each conclusion, in the order of the study."""
    for number, found in enumerate(result.concluded, start=1):
        key = f"concluded-{number}"
        limits = [one for one in found.drawn if isinstance(one, Limits)]
        losses = [one for one in found.drawn if isinstance(one, Loss)]
        served = [one for one in found.drawn if isinstance(one, Extrapolated)]
        if limits:
            yield limits_table(found, limits, key)
        metrics = list(dict.fromkeys(one.metric for one in losses))
        for place, metric in enumerate(metrics, start=1):
            own = [one for one in losses if one.metric == metric]
            yield _scaling_table(found, own, key if len(metrics) == 1 else f"{key}-{place}")
        if served:
            yield extrapolation_table(found, served, key)
        for one in found.drawn:
            if isinstance(one, Crossings) and len(one.of) > 1:
                yield crossings_table(one.of, key)
        pairs = [
            pair for one in found.drawn if isinstance(one, LevelsCompared) for pair in one.pairs
        ]
        for place, pair in enumerate(pairs, start=1):
            if len(pair.contexts) > 1:
                yield _ratios_table(pair, f"{key}-{place}", found.at)


# ---- growth compared with growth in proportion


def _scaling_table(found: Concluded, losses: Sequence[Loss], table_id: str) -> Table:
    first = losses[0]
    held = list(dict.fromkeys(name for one in losses for name in one.held))
    has_link = any(one.line_bps is not None for one in losses)
    groups = (
        *(Group(name) for name in held),
        Group(first.factor),
        Group(first.metric.title, first.metric.unit),
        *((Group("Share of the link", "%"),) if has_link else ()),
        Group("In proportion", first.metric.unit),
        Group("Loss against it", "%", columns=("loss", "95 % interval")),
    )
    rows = tuple(
        (*(numeric_level(one.held.get(name), name) for name in held), *row)
        for one in losses
        for row in _scaling_rows(one, has_link=has_link)
    )
    where = f" ({found.case})" if found.case != "main" else ""
    caption = say("Growth against growth in proportion{where}", where=Name(where))
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
            else _percent(lost.share_pct, f"1 − value ÷ in proportion, {where}"),
            None
            if lost is None
            else bare_interval(lost.interval, 1, f"95 % Fieller interval of the loss, {where}"),
        )


def _of_the_link(cell: CellRow, one: Loss, where: str) -> Number | None:
    value = cell.value(one.metric)
    if value is None or one.line_bps is None:
        return None
    return _percent(100 * value * 1e6 / one.line_bps, f"{one.metric.name} ÷ line rate, {where}")


def _percent(value: float, source: str) -> Number:
    return bare_percent(value, source)


# ---- levels compared with each other


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
