"""Numbers from the analysis with their sources: a cell's value, a ratio, a share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from netstudy.analysis.cells import CellRow
from netstudy.analysis.intervals import ROUNDING, Estimate, Interval, decimals_of
from netstudy.analysis.metrics import Metric
from netstudy.analysis.verdict import Comparison, VerdictTable
from netstudy.report.numbers import (
    MARGIN,
    Quantity,
    counted,
    interval_of,
    level_text,
    margin_text,
    measured,
    p_text,
    small_decimals,
    telling_decimals,
)
from netstudy.report.refs import Name, Number
from netstudy.wire import Level, Treatment

RATIO_DECIMALS = 3
RHO_DECIMALS = 3
"""Enough decimals to distinguish a rank correlation of almost 1 from 1."""
PERCENT_DECIMALS = 1


def treatment_text(treatment: Treatment) -> str:
    """The levels that identify a cell, as text: "factor=level, factor=level"."""
    return ", ".join(f"{factor}={level_text(level)}" for factor, level in treatment.items())


def cell_number(
    cell: CellRow | None, metric: Metric, *, unit: bool = False, decimals: int | None = None
) -> Number | None:
    """The value of a metric in a cell; None when it was not measured. `decimals` is taken from the
    table's column (`column_decimals`); None: the metric's own. The number has fewer if the value's
    uncertainty is large."""
    estimate = cell.estimate(metric) if cell else None
    if cell is None or estimate is None:
        return None
    shown = _shown(estimate, _decimals(estimate, metric, decimals))
    text = shown.in_unit(metric.unit) if unit else str(shown)
    source = f"{metric.name}, {treatment_text(cell.treatment)}; {_basis(cell, estimate, metric)}"
    return Number(estimate.value, text, source, shown)


def _shown(estimate: Estimate, decimals: int) -> Quantity:
    """A value with as many digits as its uncertainty justifies; a published value keeps the digits
    of its source."""
    if estimate.unit == "rounding":
        return Quantity((estimate.value,), decimals)
    return measured(estimate.value, decimals, _half(estimate), refines=True)


def _half(estimate: Estimate | None) -> float:
    """Half the width of an interval; if it is asymmetric, the longer side. 0 if no interval is
    known, or if all runs gave the same value."""
    interval = estimate.interval if estimate else None
    if estimate is None or interval is None:
        return 0.0
    half = max(interval.high - estimate.value, estimate.value - interval.low)
    return half if half > ROUNDING * abs(estimate.value) else 0.0


def with_margin(found: Number, cell: CellRow, metric: Metric) -> Number:
    """A cell's value with the half width of its 95 % interval, such as 25.5 ± 1.2. If the interval
    is asymmetric, its longer side is used.

    There is no margin if the uncertainty is unknown, or if all runs gave the same value. If
    `found.shown` is None, the study sets the decimals, and the margin has as many as the value.
    """
    half = _half(cell.estimate(metric))
    if not half:
        return found
    if found.shown is not None:
        return Number.of(found.value, replace(found.shown, half=half), found.source)
    decimals = len(found.text.partition(".")[2])
    text = f"{found.text}{MARGIN}{margin_text(half, decimals)}"
    return Number(found.value, text, found.source)


def column_decimals(cells: Iterable[CellRow | None], metric: Metric) -> int:
    """The decimals for a column: enough that values with disjoint intervals look different and that
    small values have two digits, but at least the metric's own."""
    estimates = [cell.estimate(metric) for cell in cells if cell is not None]
    found = [one for one in estimates if one is not None]
    spans = [
        (one.value, one.interval.low, one.interval.high)
        for one in found
        if one.interval is not None
    ]
    least = small_decimals((one.value for one in found), metric.decimals)
    return telling_decimals(spans, least)


def _decimals(estimate: Estimate, metric: Metric, decimals: int | None) -> int:
    """The column's decimals or, if None, as many as the value itself needs; for a published value,
    no more than its source has."""
    wanted = small_decimals([estimate.value], metric.decimals) if decimals is None else decimals
    return wanted if estimate.rounding is None else min(wanted, decimals_of(estimate.rounding))


def _basis(cell: CellRow, estimate: Estimate, metric: Metric) -> str:
    """The basis of a value: the number of runs and samples, and the interval."""
    if estimate.unit == "rounding":
        return f"published to {estimate.rounding:g}"
    basis = f"{_things(len(cell.runs), 'run')}, {_things(cell.samples, cell.counted.noun)}"
    if estimate.interval is None:
        return basis
    bounds = interval_quantity(estimate.interval, _decimals(estimate, metric, None))
    if bounds is not None:
        unit = f" {metric.unit}" if metric.unit else ""
        return f"{basis}; 95 % interval {_kind(estimate)} {bounds}{unit}"
    return basis if _half(estimate) else f"{basis}, all of the same value"


def _kind(estimate: Estimate) -> str:
    """The basis of an interval: all samples, runs, or batches of one run."""
    if estimate.from_samples:
        return "from all samples"
    return {"run": "over runs", "batch": "over batches of one run"}.get(estimate.unit, "")


def _things(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def interval_quantity(interval: Interval | None, decimals: int, mark: str = "") -> Quantity | None:
    """Both ends of an interval, "low to high"; None without an interval, or if both ends are
    printed alike."""
    return None if interval is None else interval_of(interval.low, interval.high, decimals, mark)


def interval_number(
    interval: Interval | None, decimals: int, unit: str, source: str
) -> Number | None:
    """Both ends with their unit; the value is their middle. It is None in the same cases as
    `interval_quantity`."""
    found = interval_quantity(interval, decimals)
    if found is None:
        return None
    return Number(sum(found.values) / 2, found.in_unit(unit), source, found)


def half_width(interval: Interval | None) -> float:
    """Half the width of an interval; 0 if there is no interval."""
    return 0.0 if interval is None else (interval.high - interval.low) / 2


def metric_number(value: float, metric: Metric, what: str, *, is_published: bool = False) -> Number:
    """A value of a metric, with its unit, that does not belong to a single cell; `what` describes
    it. A published value keeps its digits."""
    shown = (
        Quantity((value,), metric.decimals)
        if is_published
        else measured(value, small_decimals([value], metric.decimals))
    )
    return Number(value, shown.in_unit(metric.unit), f"{metric.name}, {what}", shown)


def plain(
    value: float, decimals: int, unit: str, source: str, interval: Interval | None = None
) -> Number:
    """Any computed value with its unit. An interval of the value limits the digits."""
    shown = measured(value, decimals, half_width(interval))
    return Number(value, shown.in_unit(unit), source, shown)


def count(value: int, source: str) -> Number:
    """A number of things."""
    return Number(value, f"{value:,}", source)


def percent(value: float, source: str) -> Number:
    """A percentage; `source` says what is 100 %."""
    return plain(value, PERCENT_DECIMALS, "%", source)


def p_number(value: float, source: str) -> Number:
    """A p value."""
    return Number(value, p_text(value), source)


def ratio_number(row: Comparison, table: VerdictTable) -> Number | None:
    """The ratio of two cells in a verdict table; None if the row has no ratio."""
    if row.ratio is None:
        return None
    source = ratio_source(row, table)
    return plain(row.ratio, RATIO_DECIMALS, "", source, row.interval)


def ratio_source(row: Comparison, table: VerdictTable) -> str:
    """The source of a ratio: numerator, denominator, and the level of x."""
    return (
        f"{table.metric.name}, {table.factor}={level_text(table.level)} ÷ "
        f"{table.factor}={level_text(table.base)}{where(table.x, row.x)}"
    )


def where(factor: str | None, level: Level | None) -> str:
    """The level of x as the end of a source, ", factor=level"; empty without a factor along x."""
    return "" if factor is None else f", {factor}={level_text(level)}"


def level_name(level: Level | None) -> Name:
    """A level as a `Name`, for a sentence."""
    return Name(level_text(level))


def at(factor: str, level: Level | None) -> Name:
    """A level of the factor along x, for a sentence: "23 servers"."""
    return Name(counted(factor, level_text(level)))
