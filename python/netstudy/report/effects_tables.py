"""Effects of the factors of a test case: tables of effects and interactions, and their figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from netstudy.analysis.case_result import CaseResult
from netstudy.analysis.effects import Effects, Interaction, PairEffect
from netstudy.analysis.intervals import Interval
from netstudy.analysis.verdict import Comparison
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import count, level_name, p_number, plain
from netstudy.report.charts import Grid, GridCell
from netstudy.report.numbers import (
    interval_of,
    level_text,
    scale_of,
    significant,
    significant_text,
)
from netstudy.report.refs import Name, Number, say
from netstudy.report.tables import Group, Table, Value
from netstudy.wire import Level, Treatment

_PAIRS_MAX = 15
"""For a factor with more pairs of levels, only the largest effect is shown."""
_SIDES = ("different", "same", "undecided")


@dataclass(frozen=True)
class EffectsSection:
    """The section of a test case on the effects of its factors."""

    tables: tuple[Table, ...]
    grids: tuple[tuple[str, Grid], ...]
    """The name and the data of each figure."""


def effects_section(case: CaseResult, whole: Effects, key: str) -> EffectsSection | None:
    """The section on effects. None if the case compares only two levels of one factor at the levels
    of a second one, since the verdicts already show everything."""
    several = {name: levels for name, levels in whole.pairs.items() if levels}
    series = case.layout.series
    two_levels = series is None or len(case.layout.factors[series]) == 2
    if len(several) == 2 and two_levels and len(case.panels) == 1:
        return None
    tables = (effects_table(whole, f"{key}-effects"), interactions_table(whole, f"{key}-depends"))
    return EffectsSection(
        tables=tuple(table for table in tables if table.rows),
        grids=tuple(_grids(case, whole)),
    )


def effects_table(whole: Effects, table_id: str) -> Table:
    """One row for each pair of levels of each factor: the effect over all levels of the other
    factors."""
    groups = (
        Group("factor"),
        Group("level"),
        Group("against"),
        _tested(whole, "ratio of geometric means", "mean difference"),
        Group("better"),
        Group("settings in which they are", columns=_SIDES),
    )
    rows = tuple(
        _effect_row(pair)
        for pairs in whole.pairs.values()
        for pair in (pairs if len(pairs) <= _PAIRS_MAX else pairs[:1])
    )
    caption = say(
        "Effects on {metric}, over all levels of the other factors", metric=Name(whole.metric.label)
    )
    notes = ("p: adjusted over all effects (Holm).",)
    return Table(table_id, caption, groups, rows, stub=3, notes=notes)


def _tested(whole: Effects, ratio: str, difference: str) -> Group:
    """The columns of a contrast: value, interval and p."""
    columns = ("value", "95 % interval", "p")
    if whole.scale == "ratio":
        return Group(ratio, "×", columns=columns)
    return Group(difference, whole.metric.unit, columns=columns)


def _effect_row(pair: PairEffect) -> tuple[Value, ...]:
    source = f"{pair.metric.name}, {pair.factor}={level_text(pair.level)} against "
    source += f"{level_text(pair.base)}, mean over {len(pair.contexts)} settings"
    return (
        Name(pair.factor),
        level_name(pair.level),
        level_name(pair.base),
        _number(pair, source, pair.interval),
        None
        if pair.interval is None
        else _span(pair, pair.interval.low, pair.interval.high, source),
        None if pair.p is None else p_number(pair.p, f"p of no effect, {source}"),
        Name("–" if pair.winner is None else level_text(pair.winner)),
        *(
            count(sum(row.outcome == side for row in pair.rows), f"settings, {side}, {source}")
            for side in _SIDES
        ),
    )


def _number(effect: PairEffect | Interaction, source: str, interval: Interval | None) -> Number:
    value = effect.change
    least = significant(value, _DIGITS).decimals if effect.scale == "ratio" else _DECIMALS
    return plain(value, least, "", source, interval)


def _span(effect: PairEffect | Interaction, low: float, high: float, source: str) -> Number | None:
    """The interval of an effect; None if both ends are printed alike."""
    least = significant(min(low, high), _DIGITS).decimals if effect.scale == "ratio" else _DECIMALS
    shown = interval_of(low, high, least)
    middle = (low + high) / 2
    return None if shown is None else Number.of(middle, shown, f"95 % interval, {source}")


_DIGITS, _DECIMALS = 3, 2
"""Significant digits of a ratio, and decimals of a difference."""


def interactions_table(whole: Effects, table_id: str) -> Table:
    """The largest interaction of each pair of factors."""
    groups = (
        Group("effect of"),
        Group("at"),
        Group("compared with its effect at"),
        _tested(whole, "ratio of the two", "difference of the two"),
        Group("depends"),
    )
    rows = tuple(_interaction_row(one) for one in whole.interactions)
    caption = say(
        "How much an effect on {metric} depends on another factor", metric=Name(whole.metric.label)
    )
    notes = ("The largest of each two factors; p: adjusted over all interactions (Holm).",)
    return Table(table_id, caption, groups, rows, stub=3, notes=notes)


def _interaction_row(one: Interaction) -> tuple[Value, ...]:
    interval = one.contrast.interval
    low, high = (one.changed(interval.low), one.changed(interval.high)) if interval else (0.0, 0.0)
    source = f"interaction of {one.factor} and {one.by}"
    return (
        Name(f"{one.factor} {level_text(one.level)} against {level_text(one.base)}"),
        Name(f"{one.by} {level_text(one.at)}"),
        Name(f"{one.by} {level_text(one.against)}"),
        _number(one, source, None if interval is None else Interval(low, high)),
        None if interval is None else _span(one, low, high, source),
        None if one.p is None else p_number(one.p, f"p of no dependence, {source}"),
        Name("yes" if one.is_shown else "not shown"),
    )


def _grids(case: CaseResult, whole: Effects) -> Iterator[tuple[str, Grid]]:
    """A heat map of the metric, and for each factor except the one along x a matrix of its better
    levels."""
    names = sorted(whole.pairs, key=lambda name: name == case.layout.x)
    yield "heat", _heat(case, whole, (names[-1], names[0]))
    if len(names) > 2:
        for factor in names:
            if factor != case.layout.x:
                others = [name for name in names if name != factor]
                by = (others[-1], others[0])
                yield f"winners-{factor}", _winners(case, whole, factor, by)


def _heat(case: CaseResult, whole: Effects, by: tuple[str, str]) -> Grid:
    """The metric at each combination of two factors; each combination of the remaining factors has
    its own grid."""
    columns, rows = by
    held = [name for name in whole.pairs if name not in by]
    metric = whole.metric
    values = [one.value(metric) for found in case.panels for one in found.panel.cells.values()]
    # All grids use one unit, so that shades and numbers can be compared.
    scale = scale_of(metric.unit, [value for value in values if value is not None])
    cells = tuple(
        GridCell(
            x=level_text(cell.treatment[columns]),
            y=level_text(cell.treatment[rows]),
            facet=", ".join(f"{name} {level_text(cell.treatment[name])}" for name in held),
            value=value,
            text=significant_text(value / 10**scale.power, 3),
        )
        for found in case.panels
        for cell in found.panel.cells.values()
        if (value := cell.value(metric)) is not None
    )
    return Grid(
        title=f"{metric.title} by {listed([*held, rows, columns])}",
        subtitle="; ".join(text for text in (f"{scale.unit}{metric.per}", metric.better) if text),
        x=columns,
        y=rows,
        x_levels=tuple(map(level_text, case.layout.factors[columns])),
        y_levels=tuple(map(level_text, case.layout.factors[rows])),
        cells=cells,
    )


def _winners(case: CaseResult, whole: Effects, factor: str, by: tuple[str, str]) -> Grid:
    """The best level of a factor at each combination of two other factors; each combination of the
    remaining factors has its own grid."""
    columns, rows = by
    held = [name for name in whole.pairs if name not in (factor, *by)]
    # Pairs of levels can have the same contexts, so each context is kept once.
    contexts = {tuple(sorted(c.items())): c for pair in whole.pairs[factor] for c in pair.contexts}
    cells = tuple(
        GridCell(
            x=level_text(context[columns]),
            y=level_text(context[rows]),
            facet=", ".join(f"{name} {level_text(context[name])}" for name in held),
            kind=kind,
            text=text,
        )
        for context in contexts.values()
        for kind, text in (_judged(whole.pairs[factor], context),)
    )
    factors = case.layout.factors
    return Grid(
        title=f"Which {factor} is better in {whole.metric.label}",
        subtitle="= equal within the noise; ? too close to call",
        x=columns,
        y=rows,
        x_levels=tuple(map(level_text, factors[columns])),
        y_levels=tuple(map(level_text, factors[rows])),
        kinds=(*map(level_text, factors[factor]), "equal", "open"),
        cells=cells,
    )


def _judged(pairs: Sequence[PairEffect], context: Treatment) -> tuple[str, str]:
    """The kind of a cell and its text: the better level, "=" if levels are equal, "?" if it is
    undecided."""
    found = {
        (pair.level, pair.base): row
        for pair in pairs
        for c, row in zip(pair.contexts, pair.rows, strict=True)
        if c == context
    }
    levels = dict.fromkeys(level for pair in found for level in reversed(pair))
    ahead = [level for level in levels if _is_ahead(level, found)]
    if len(ahead) == 1:
        return level_text(ahead[0]), level_text(ahead[0])
    if len(ahead) == len(levels):
        return "equal", "="
    return ("equal", " = ".join(map(level_text, ahead))) if ahead else ("open", "?")


def _is_ahead(level: Level, found: Mapping[tuple[Level, Level], Comparison]) -> bool:
    """Whether a level is better than or equal to every other level."""
    own = [row for pair, row in found.items() if level in pair]
    return all(row.winner == level or row.outcome == "same" for row in own)
