"""Checks of tables: rows, columns, cells, and number formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netstudy.documents.nearest import did_you_mean
from netstudy.documents.problems import Path, Problem, listed
from netstudy.study.checks.metrics import metric_problems
from netstudy.study.checks.names import (
    at_problems,
    case_problems,
    cases_of,
    factors_problems,
    metrics_problems,
)
from netstudy.study.model import Case, Study, factor_names
from netstudy.study.outcome import Table
from netstudy.study.vocabulary import MetricName


def table_problems(study: Study, path: Path, table: Table) -> Iterator[Problem]:
    """Problems of a table."""
    cases = cases_of(study, table.case)
    yield from case_problems(study, path, table.case)
    yield from _rows_problems(study, (*path, "rows"), table, cases)
    yield from metrics_problems(study, (*path, "cell"), table.cell)
    yield from _columns_problems(study, path, table, cases)
    yield from _heads_problems(study, path, table)
    yield from _formats_problems(study, path, table)
    yield from _normal_problems(study, path, table, cases)
    yield from _empty_problems(study, path, table)


def _rows_problems(
    study: Study, path: Path, table: Table, cases: Sequence[Case]
) -> Iterator[Problem]:
    unknown = list(factors_problems(study, path, table.rows, cases))
    yield from unknown
    together = any(set(table.rows) <= set(factor_names([case])) for case in cases)
    if not unknown and not together:
        message = f"no case has all of {listed(list(table.rows))}; the table would be empty"
        yield study.document.problem(path, message)


def _columns_problems(
    study: Study, path: Path, table: Table, cases: Sequence[Case]
) -> Iterator[Problem]:
    held = dict.fromkeys(name for case in cases for name in case.fixed)
    factors = list(dict.fromkeys((*factor_names(cases), *held)))
    across = table.factor_columns(factors)
    for index, name in enumerate(table.columns):
        place = (*path, "columns", index)
        if str(name) not in across:
            yield from _column_problems(study, place, name, factors)
        if str(name) not in across and table.cell:
            yield study.document.problem(
                place, "is a metric next to columns that are factors; put it into cell"
            )
        if str(name) in table.rows:
            yield study.document.problem(place, "is also in rows; keep one of the two")
    if across and not table.cell and len(across) == len(table.columns):
        message = "columns are factors; cell must name the metric to show in them"
        yield study.document.problem(path, message)


def _column_problems(
    study: Study, path: Path, name: MetricName | str, factors: Sequence[str]
) -> Iterator[Problem]:
    if isinstance(name, MetricName):
        yield from metric_problems(study, path, name)
    else:
        hint = did_you_mean(name, [*factors, *study.metrics])
        message = f'"{name}" is neither a factor nor a metric{hint}'
        yield study.document.problem(path, message)


def _heads_problems(study: Study, path: Path, table: Table) -> Iterator[Problem]:
    """Each heading spans adjacent columns, and each column has at most one heading."""
    problem = study.document.problem
    if table.heads and table.cell:
        yield problem(
            (*path, "heads"),
            "has no effect with cell: the headings are then the metrics of cell",
            of_key=True,
        )
        return
    seen: set[MetricName | str] = set()
    for head, columns in table.heads.items():
        place = (*path, "heads", head)
        unknown = [name for name in columns if name not in table.columns]
        for name in unknown:
            message = f'"{name}" is not a column{did_you_mean(str(name), map(str, table.columns))}'
            yield problem(place, message)
        twice = seen & set(columns)
        if twice:
            yield problem(place, f'"{min(map(str, twice))}" is also below another heading')
        seen |= set(columns)
        places = [table.columns.index(name) for name in columns if name not in unknown]
        if places and places != list(range(places[0], places[0] + len(places))):
            yield problem(place, "its columns must be next to each other, in this order")


def _formats_problems(study: Study, path: Path, table: Table) -> Iterator[Problem]:
    shown = (*table.columns, *table.cell)
    for key, names in (
        ("titles", table.titles),
        ("decimals", table.decimals),
        ("significant", table.significant),
    ):
        for name in names:
            if name not in shown and not (key == "titles" and str(name) in table.rows):
                message = f"is not a column{did_you_mean(str(name), map(str, shown))}"
                yield study.document.problem((*path, key, str(name)), message, of_key=True)
    for name in sorted(map(str, set(table.decimals) & set(table.significant))):
        message = "also has decimals; keep one of the two"
        yield study.document.problem((*path, "significant", name), message, of_key=True)


def _normal_problems(
    study: Study, path: Path, table: Table, cases: Sequence[Case]
) -> Iterator[Problem]:
    shown = (*table.columns, *table.cell)
    for name, normal in table.normalise.items():
        place = (*path, "normalise", str(name))
        if name not in shown or str(name) in factor_names(cases):
            message = f"is not a metric of this table{did_you_mean(str(name), map(str, shown))}"
            yield study.document.problem(place, message, of_key=True)
        if normal.by is not None:
            yield from metric_problems(study, (*place, "by"), normal.by)
        for factor, level in normal.row.items():
            yield from at_problems(study, (*place, "row", factor), factor, level)
            if factor not in table.rows:
                message = f"is not in rows{did_you_mean(factor, table.rows)}"
                yield study.document.problem((*place, "row", factor), message, of_key=True)


def _empty_problems(study: Study, path: Path, table: Table) -> Iterator[Problem]:
    shown = (*table.columns, *table.cell)
    for index, empty in enumerate(table.empty):
        place = (*path, "empty", index)
        for factor, level in empty.at.items():
            yield from at_problems(study, (*place, "at", factor), factor, level)
        if empty.column is not None and empty.column not in shown:
            hint = did_you_mean(str(empty.column), map(str, shown))
            message = f'"{empty.column}" is not a column{hint}'
            yield study.document.problem((*place, "column"), message)
