"""Tables that compare published values with the study's own: by row, summarised, and as ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence

from netstudy.analysis.agreement import Agreement, Beside, RatioAgreement
from netstudy.analysis.intervals import Interval
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.reference import PanelReference
from netstudy.analysis.size_law import ImpliedSize
from netstudy.analysis.testbed import Here
from netstudy.report.cellrefs import (
    RHO_DECIMALS,
    level_name,
    plain,
    treatment_text,
    where,
)
from netstudy.report.numbers import MOST, level_text, significant_text
from netstudy.report.prose.words import in_panel
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.report.tables import (
    Group,
    Table,
    Value,
    bare,
    bare_interval,
    bare_percent,
    numeric_level,
)
from netstudy.units import rough_size

DECIMALS = 2
"""Decimals of a ratio that is compared with a published ratio; published values have few digits."""


MARK = "is"
"""The heading of the column that says whether a value is fitted or predicted."""


def reference_table(
    panel: Panel,
    reference: PanelReference,
    metric: Metric,
    table_id: str,
    caption: Sentence,
    *,
    has_fitted: bool,
) -> Table:
    """For each x and level: published value, the study's own value with its interval, and the
    error. With `has_fitted`, also whether a profile was fitted to the published value."""
    agreements = reference.of(metric)
    decimals = _decimals(agreements, metric)
    subs: tuple[str, ...] = ("published", reference.here, "95 % interval", "error %")
    subs += (MARK,) if has_fitted else ()
    groups = [Group(level_text(one.level) or one.metric.title, columns=subs) for one in agreements]
    by_x = [{row.x: row for row in one.rows} for one in agreements]
    # Only values of x with a published value; other tables have the rest.
    shown = [x for x in panel.x_levels if any(x in rows for rows in by_x)]
    rows = tuple(
        (
            numeric_level(x, panel.x),
            *(
                value
                for one, found in zip(agreements, by_x, strict=True)
                for value in _beside_cells(found.get(x), one, panel, reference.here, decimals)[
                    : len(subs)
                ]
            ),
        )
        for x in shown
    )
    return Table(table_id, caption, (Group(panel.x or ""), *groups), rows)


_DIGITS = 3
"""If the smallest value of a table is below 1, it has at least this number of digits."""


def _decimals(agreements: Sequence[Agreement], metric: Metric) -> int:
    """The metric's own decimals, or more if small values need them."""
    values = [row.published for one in agreements for row in one.rows if row.published]
    smallest = min(map(abs, values), default=1.0)
    if smallest >= 1:
        return metric.decimals
    return max(metric.decimals, min(MOST, _DIGITS - 1 - math.floor(math.log10(smallest))))


def _beside_cells(
    row: Beside | None, one: Agreement, panel: Panel, here: Here, decimals: int
) -> tuple[Value, ...]:
    """The five cells of one comparison; the last one says whether the study's own value was fitted
    or predicted."""
    if row is None:
        return None, None, None, None, None
    place = f"{where(panel.series, one.level)}{where(panel.x, row.x)}"
    interval = f"95 % interval of {one.metric.name}{place}"
    return (
        bare(row.published, one.metric, f"published{place}", decimals, is_published=True),
        None
        if row.own is None
        else plain(row.own, decimals, "", f"{one.metric.name}, {here}{place}", row.interval),
        bare_interval(row.interval, decimals, interval),
        None
        if row.error_pct is None
        else bare_percent(row.error_pct, f"error in % of the published value{place}"),
        Name("fitted" if row.fitted else "predicted"),
    )


def agreement_table(panel: Panel, reference: PanelReference, table_id: str) -> Table:
    """One row for each metric and level: number of rows, errors, rank correlation."""
    has_ranks = any(one.ranks.rho is not None for one in reference.agreements)
    groups = (
        Group("Metric"),
        Group(panel.series or ""),
        Group("Rows"),
        Group("Error", "%", columns=("median, absolute", "95 % interval", "largest", "at")),
        *((Group("Spearman’s rho"),) if has_ranks else ()),
    )
    width = sum(group.width for group in groups)
    rows = tuple(_agreement_row(panel, one)[:width] for one in reference.agreements)
    caption = say("Agreement with the published values{held}", held=in_panel(panel))
    return Table(table_id, caption, groups, rows, stub=2)


def _agreement_row(panel: Panel, one: Agreement) -> tuple[Value, ...]:
    what = f"{one.metric.name}{where(panel.series, one.level)}"
    middle, worst, rho = one.median_abs_pct, one.worst, one.ranks.rho
    largest = worst.error_pct if worst else None
    redrawn = f"95 % interval of the median of |error|, runs redrawn, {what}"
    return (
        Name(one.metric.title),
        level_name(one.level),
        Number(one.compared, str(one.compared), f"rows with both values, {what}"),
        None if middle is None else bare_percent(middle, f"median of |error|, {what}"),
        bare_interval(one.median_abs_pct_interval, 1, redrawn),
        None if largest is None else bare_percent(largest, f"largest error, {what}"),
        numeric_level(worst.x, panel.x) if worst else None,
        None if rho is None else plain(rho, RHO_DECIMALS, "", f"Spearman's rho, {what}"),
    )


def ratios_table(panel: Panel, reference: PanelReference, table_id: str) -> Table:
    """The ratio of two levels at the last level of x, as published and in the study."""
    groups = (
        Group("Metric"),
        Group("Levels"),
        Group("Ratio", columns=("at", "published", reference.here, "95 % interval", "error %")),
    )
    rows = tuple(_ratio_row(one, reference.here) for one in reference.ratios)
    caption = say("Ratios at the end of the range{held}", held=in_panel(panel))
    return Table(table_id, caption, groups, rows)


def _ratio_row(one: RatioAgreement, here: Here) -> tuple[Value, ...]:
    what = f"{one.metric.name}, {level_text(one.level)} ÷ {level_text(one.base)}"
    error = one.error_pct
    return (
        Name(one.metric.title),
        Name(f"{level_text(one.level)} ÷ {level_text(one.base)}"),
        numeric_level(one.x, None),
        _ratio(one.published, f"{what}, published"),
        _ratio(one.own, f"{what}, {here}", one.interval),
        bare_interval(one.interval, DECIMALS, f"95 % Fieller interval, {what}"),
        None if error is None else bare_percent(error, f"error in % of the published {what}"),
    )


def _ratio(value: float | None, source: str, interval: Interval | None = None) -> Number | None:
    return None if value is None else plain(value, DECIMALS, "", source, interval)


def implied_sizes_table(found: Sequence[ImpliedSize], here: Here) -> Table:
    """Published times of a transfer size that do not fit the law of the other sizes. They are
    compared with the study's own times at that size and at the size that they imply."""
    first = found[0]
    names = [name for name in first.at if len({level_text(one.at[name]) for one in found}) > 1]
    unit = first.metric.unit
    groups = (
        *(Group(name) for name in names),
        Group("As published", columns=(first.factor, unit)),
        Group(f"{here.capitalize()} at that size", columns=(unit, "error %")),
        Group(f"By the other sizes, {here} by its own law", columns=("size", unit, "error %")),
    )
    rows = tuple(
        (*(numeric_level(one.at[name], name) for name in names), *_implied_row(one, here))
        for one in found
    )
    caption = say(
        "{metric} of a size that the law of the others excludes", metric=Name(first.metric.title)
    )
    return Table("implied-sizes", caption, groups, rows, stub=max(1, len(names)))


def _implied_row(one: ImpliedSize, here: Here) -> tuple[Value, ...]:
    place = treatment_text({**one.at, one.factor: one.level})
    size = rough_size(round(one.implied_bytes))
    return (
        numeric_level(one.level, one.factor),
        _seconds(one.published, f"{one.metric.name}, published, {place}"),
        _seconds(one.own, f"{one.metric.name}, {here}, {place}"),
        _error(one.error_pct, f"error in % of the published value, {place}"),
        Number(one.implied_bytes, size, f"(published − latency) × bandwidth, {place}"),
        _seconds(one.own_implied, f"{one.metric.name}, law of the {here} times, {size}"),
        _error(one.implied_error_pct, f"error in % of the published value, {size}, {place}"),
    )


def _seconds(value: float | None, source: str) -> Number | None:
    return None if value is None else Number(value, significant_text(value, 3), source)


def _error(value: float | None, source: str) -> Number | None:
    return None if value is None else bare_percent(value, source)
