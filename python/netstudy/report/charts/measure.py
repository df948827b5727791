"""The measure of an axis: a quantity and its most readable unit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from netstudy.analysis.metrics import Metric
from netstudy.documents.problems import listed
from netstudy.report.charts.style import Row
from netstudy.report.numbers import Scale, measured, scale_of, with_unit


@dataclass(frozen=True)
class Measure:
    """A quantity along an axis."""

    quantity: str
    unit: str = ""
    per: str = ""
    """The amount of work that each value refers to, printed after the unit: an iteration, a GB."""

    @property
    def title(self) -> str:
        """The title of the axis: "completion time, ms"."""
        unit = f"{self.unit}{self.per}"
        return f"{self.quantity}, {unit}" if unit else self.quantity

    def scale(self, values: Iterable[float | None]) -> Scale:
        """The unit for an axis with these values. Only the largest value counts, because axes start
        at zero."""
        sizes = [abs(value) for value in values if value is not None and math.isfinite(value)]
        return scale_of(self.unit, [max(sizes, default=0.0)])

    def scaled(self, scale: Scale) -> Measure:
        """The measure in another unit."""
        return replace(self, unit=scale.unit)


_TOLD_TOGETHER = 2
"""The title of an axis lists at most this number of quantities. If there are more, the title is
only their kind, such as Time, and the legend has their names."""
_KINDS = {
    "%": "Share", "Mbit/s": "Rate", "1/s": "Rate",
    **dict.fromkeys(("ns", "µs", "ms", "s"), "Time"),
    **dict.fromkeys(("B", "kB", "MB", "GB"), "Amount"),
}  # fmt: skip


def measure_of(metrics: Sequence[Metric]) -> Measure:
    """The measure of an axis for these metrics, all in one unit."""
    first, titles = metrics[0], list(dict.fromkeys(metric.title for metric in metrics))
    told = listed(titles) if len(titles) <= _TOLD_TOGETHER else _KINDS.get(first.unit, "Value")
    return Measure(told, first.unit, first.per)


_SCALED = ("y", "low", "high")


def scaled_rows(rows: Iterable[Row], power: int) -> list[Row]:
    """The rows with their values converted to a unit that is larger by this power of ten."""
    factor = 10.0**-power
    return [
        {
            **row,
            **{key: row[key] * factor for key in _SCALED if isinstance(row.get(key), int | float)},
        }
        for row in rows
    ]


def value_text(row: Row, decimals: int) -> str:
    """The value of a point as text, with only as many digits as its interval justifies."""
    value, high, low = row["y"], row.get("high"), row.get("low")
    half = 0.0 if high is None or low is None else max(high - value, value - low)
    return str(measured(value, decimals, half))


def quantity_texts(values: Sequence[float], unit: str) -> list[str]:
    """Values as text on a chart, all in the same unit: "10 Gbit/s", "9.9 Gbit/s"."""
    scale = scale_of(unit, values)
    shown = (replace(measured(value, 0), is_count=True).scaled(scale.power) for value in values)
    return [with_unit(str(one), scale.unit) for one in shown]
