"""How the cells of a test case are laid out: the factor along x, the compared factor (series), and
the fixed factors.

A panel holds the cells with equal levels of every factor except x and series; it becomes one table
and one set of figures. The layout depends only on the levels, so that it fits any study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.study.axes import Axes, axes
from netstudy.study.levels import is_numeric
from netstudy.wire import Level, Treatment


@dataclass(frozen=True, eq=False)
class Panel:
    """The cells of one table: every combination of x and series at fixed other levels."""

    fixed: Treatment
    x: str | None
    x_levels: tuple[Level | None, ...]
    """Levels of x; if there is no factor along x, a single None."""
    x_numeric: bool
    series: str | None
    series_levels: tuple[Level | None, ...]
    cells: Mapping[tuple[Level | None, Level | None], CellRow]

    def cell(self, x: Level | None, series: Level | None) -> CellRow | None:
        """The cell at a level of x and of the series; None if the plan has no such cell."""
        return self.cells.get((x, series))

    def along_x(self, series: Level | None) -> tuple[CellRow, ...]:
        """The cells of one series in the order of x."""
        found = (self.cell(x, series) for x in self.x_levels)
        return tuple(cell for cell in found if cell is not None)


@dataclass(frozen=True, eq=False)
class Layout:
    """The layout of a test case: its factors, its axes (x and series), and its panels."""

    case: str
    factors: Mapping[str, tuple[Level, ...]]
    axes: Axes
    panels: tuple[Panel, ...]

    @property
    def x(self) -> str | None:
        """The factor along x."""
        return self.axes.x

    @property
    def series(self) -> str | None:
        """The factor that is compared."""
        return self.axes.series


def layout(table: CellTable, case: str, compared: str | None) -> Layout:
    """Lays out a case along the axes chosen from its levels (`study.axes`)."""
    rows = table.of_case(case)
    factors = _factors_of(table, rows)
    found = axes(factors, compared)
    return Layout(case, factors, found, _panels(rows, factors, found.x, found.series))


def _factors_of(table: CellTable, rows: Sequence[CellRow]) -> dict[str, tuple[Level, ...]]:
    """The factors that the rows use, with the levels that occur in them."""
    return {
        name: tuple(level for level in levels if _occurs(rows, name, level))
        for name, levels in table.factors.items()
        if any(name in row.treatment for row in rows)
    }


def _occurs(rows: Sequence[CellRow], name: str, level: Level) -> bool:
    return any(name in row.treatment and row.treatment[name] == level for row in rows)


def _panels(
    rows: Sequence[CellRow],
    factors: Mapping[str, tuple[Level, ...]],
    x: str | None,
    series: str | None,
) -> tuple[Panel, ...]:
    groups: dict[tuple[tuple[str, Level], ...], list[CellRow]] = {}
    for row in rows:
        held = (f for f in factors if f in row.treatment and f not in (x, series))
        fixed = tuple((f, row.treatment[f]) for f in held)  # in the order of `factors`
        groups.setdefault(fixed, []).append(row)
    # Sorted by level, because in an incomplete design the first rows may not have the first levels.
    placed = sorted(groups, key=lambda fixed: [factors[f].index(level) for f, level in fixed])
    return tuple(_panel(dict(fixed), groups[fixed], factors, x, series) for fixed in placed)


def _panel(
    fixed: Treatment,
    rows: Sequence[CellRow],
    factors: Mapping[str, tuple[Level, ...]],
    x: str | None,
    series: str | None,
) -> Panel:
    cells = {(_level(row, x), _level(row, series)): row for row in rows}
    return Panel(
        fixed=fixed,
        x=x,
        x_levels=_levels(rows, factors, x),
        x_numeric=x is not None and is_numeric(factors[x]),
        series=series,
        series_levels=_levels(rows, factors, series),
        cells=cells,
    )


def _level(row: CellRow, factor: str | None) -> Level | None:
    return None if factor is None else row.treatment.get(factor)


def _levels(
    rows: Sequence[CellRow], factors: Mapping[str, tuple[Level, ...]], factor: str | None
) -> tuple[Level | None, ...]:
    if factor is None:
        return (None,)
    return tuple(level for level in factors[factor] if _occurs(rows, factor, level))
