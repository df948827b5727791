"""The base (100 %) of relative metrics, which are percentages of a value in a base row.

The key `normalise` of a table names the base row. Factors that are neither rows nor columns split a
table into several tables, each with its own base. If a factor grows, the base is taken at the last
level with a gain. Without `normalise`, the base is the first row that has a value; without a table,
it is the first cell that has one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.steps import settled
from netstudy.study.levels import level_text
from netstudy.study.outcome import Normal, Table
from netstudy.wire import Level, Treatment

if TYPE_CHECKING:
    from netstudy.analysis.cells import CellRow, CellTable
    from netstudy.analysis.workloads.base import Relative
    from netstudy.study import Study


def bases_of(study: Study, case: str, cells: CellTable) -> dict[int, dict[str, float]]:
    """`id()` of a cell of the test case -> name of a relative metric, as a percentage and as a
    factor -> the base value (100 %)."""
    rows, relatives = cells.of_case(case), cells.workload.relatives
    found: dict[int, dict[str, float]] = {}
    for relative in relatives:
        table, normal = _asked(study, case, relative.names)
        of = _base_metric(normal, relative, relatives)
        settle = _settling(study, case, table, cells)
        for together in _held_together(study, case, rows, table):
            base = _base(map(settle, _by_place(together, table, cells)), normal, of)
            if base is not None:
                for row in together:
                    found.setdefault(id(row), {}).update(dict.fromkeys(relative.names, base))
    return found


def _asked(study: Study, case: str, names: Collection[str]) -> tuple[Table | None, Normal]:
    """The first table of a test case that normalises one of these metrics, with its `normalise`
    entry; else the first table that shows one of them."""
    tables = [one for one in study.report.tables if one.case in (None, case)]
    for table in tables:
        normals = {str(name): normal for name, normal in table.normalise.items()}
        for name in names:
            if name in normals:
                return table, normals[name]
    shown = (
        one for one in tables if not set(names).isdisjoint(map(str, (*one.columns, *one.cell)))
    )
    return next(shown, None), Normal()


def _base_metric(normal: Normal, relative: Relative, relatives: Sequence[Relative]) -> Metric:
    """The metric whose value in the base row counts as 100 %: the metric named by `by`, else the
    metric from which the relative metric is computed."""
    named = {name: one.of for one in relatives for name in (one.metric.name, one.of.name)}
    return named.get(str(normal.by), relative.of)


def _held_together(
    study: Study, case: str, rows: Sequence[CellRow], table: Table | None
) -> Iterator[list[CellRow]]:
    """Groups the cells by printed table. All cells of a table have the same levels, except of the
    factors in its rows and columns and of the growing factor."""
    if table is None:
        yield list(rows)
        return
    placed = {*table.rows, *table.factor_columns(study.factors)}
    placed |= _growing(study, case)
    groups: dict[tuple[tuple[str, object], ...], list[CellRow]] = {}
    for row in rows:
        held = tuple((name, row.treatment[name]) for name in row.treatment if name not in placed)
        groups.setdefault(tuple(sorted(held, key=lambda one: one[0])), []).append(row)
    yield from groups.values()


def _growing(study: Study, case: str) -> set[str]:
    factors = (one.growing for one in study.cases if one.name == case)
    return {factor.name for factor in factors if factor is not None}


def _by_place(
    rows: Sequence[CellRow], table: Table | None, cells: CellTable
) -> list[list[CellRow]]:
    """The cells of each table row, in the order of the rows; without a table, a row per cell."""
    names = tuple(cells.factors) if table is None else table.rows
    places: dict[tuple[int, ...], list[CellRow]] = {}
    for row in rows:
        place = tuple(
            cells.factors[name].index(row.treatment[name])
            for name in names
            if name in row.treatment
        )
        places.setdefault(place, []).append(row)
    return [places[place] for place in sorted(places)]


def _settling(
    study: Study, case: str, table: Table | None, cells: CellTable
) -> Callable[[Sequence[CellRow]], Sequence[CellRow]]:
    """A function that picks the cells to show in a table row: all of them, unless a factor grows
    that is not among the row factors; then only the last level with a gain."""
    growing = next((one.growing for one in study.cases if one.name == case), None)
    if growing is None or growing.growth is None or table is None or growing.name in table.rows:
        return lambda rows: rows
    of = growing.growth.of
    metric = cells.workload.throughput if of is None else metric_named(of, cells.vocabulary)
    if metric is None:
        return lambda rows: rows
    return lambda rows: settled(study, case, rows, growing.name, metric)


def _base(places: Iterable[Sequence[CellRow]], normal: Normal, of: Metric) -> float | None:
    """The best value in the base row; if `normalise` names no row, in the first row that has a
    value."""
    best = min if of.direction == "lower" else max
    for rows in places:
        meant = [row for row in rows if _is_meant(row.treatment, normal.row)]
        values = [value for row in meant if (value := row.value(of)) is not None]
        if values:
            return best(values)
    return None


def _is_meant(treatment: Treatment, wanted: Mapping[str, Level]) -> bool:
    return all(
        level_text(treatment[name]) == level_text(level)
        for name, level in wanted.items()
        if name in treatment
    )
