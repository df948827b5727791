"""Which factor of a test case makes the rows of its tables, and which one the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netstudy.study.levels import is_numeric
from netstudy.wire import Level

Factors = Mapping[str, Sequence[Level]]
"""Factor -> its levels that occur."""


@dataclass(frozen=True)
class Axes:
    """The layout of a case's tables and figures. Each combination of levels of the other factors is
    a panel."""

    x: str | None
    """The factor on the x-axis of figures and in the rows of tables."""
    series: str | None
    """The factor that is compared: its levels are adjacent columns of each metric."""
    series_levels: int
    """Number of levels of the compared factor."""


def axes(factors: Factors, compared: str | None) -> Axes:
    """The compared factor makes the series; the first numeric factor among the others is on the
    x-axis.

    Without a comparison, the first factor with several named levels makes the series. A factor with
    a single level is on neither axis, unless there is no other factor.
    """
    series = compared if compared in factors else None
    x = _x_factor(factors, series)
    if series is None:
        series = _first([f for f in factors if f != x and not is_numeric(factors[f])], factors)
    return Axes(x, series, len(factors[series]) if series else 0)


def _x_factor(factors: Factors, series: str | None) -> str | None:
    others = [name for name in factors if name != series]
    numeric = [name for name in others if is_numeric(factors[name])]
    several = _first(numeric, factors) or _first(others, factors)
    return several or next(iter(numeric or others), None)


def _first(names: Sequence[str], factors: Factors) -> str | None:
    """The first of the factors with more than one level."""
    return next((name for name in names if len(factors[name]) > 1), None)
