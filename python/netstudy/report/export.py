"""Cells for other programs, one row each: CSV, JSON, Markdown.

CSV has a column for each factor and each exported metric; a value that was not measured is an empty
field. JSON has every metric with its interval, and the number of runs of each cell. Exports of an
unfinished study also say how many runs of each cell are planned (`is_so_far`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.metrics import Metric
from netstudy.analysis.requirements import CheckedCell, CheckedRequirement
from netstudy.report.cellrefs import cell_number, count, with_margin
from netstudy.report.markdown import pipe_table
from netstudy.report.refs import Name, Number, say
from netstudy.report.spreadsheet import csv_line
from netstudy.report.tables import Group, Table, numeric_level
from netstudy.study.levels import columns_of_factors, level_text
from netstudy.units import format_number

CASES = "cases"
"""Name of the column with the test cases of a cell; only if the study has several test cases."""
RUNS_VALID, RUNS_PLANNED = "runs_valid", "runs_planned"
"""Names of the columns with the number of valid runs of a cell, and of its planned runs."""


def to_csv(table: CellTable, *, raw: bool = False, is_so_far: bool = False) -> str:
    """One header line, then one line for each cell, in the order of the levels. With `raw`, names
    that a spreadsheet would take for formulas are not escaped. With `is_so_far`, the factors are
    followed by the numbers of valid and of planned runs."""
    metrics = exported(table)
    values = [*_runs(is_so_far=is_so_far), *(metric.name for metric in metrics)]
    lines: list[list[object]] = [[*_cases(table), *_factor_columns(table, values), *values]]
    lines += [_csv_row(row, table, metrics, is_so_far=is_so_far) for row in table.rows]
    return "".join(csv_line(line, raw=raw) for line in lines)


def _runs(*, is_so_far: bool) -> tuple[str, ...]:
    return (RUNS_VALID, RUNS_PLANNED) if is_so_far else ()


def _numbers_of_runs(row: CellRow, *, is_so_far: bool) -> tuple[int, ...]:
    """The values of the columns in `_runs`."""
    return (len(row.runs), len(row.planned)) if is_so_far else ()


def _factor_columns(table: CellTable, values: Sequence[str]) -> list[str]:
    """The column names of the factors, changed where they would equal another column's name, as in
    Parquet."""
    return columns_of_factors(table.factors, (CASES, *values))


def exported(table: CellTable) -> tuple[Metric, ...]:
    """The metrics with a column: exported metrics of the workload, metrics that the study names,
    and all node metrics that any run measured."""
    return tuple(dict.fromkeys((*_named(table), *table.measured(table.of_nodes))))


def _named(table: CellTable) -> tuple[Metric, ...]:
    """The workload's exported metrics, and further metrics that the study names."""
    return (*(metric for metric in table.metrics if metric.exported), *table.asked)


def _all(table: CellTable) -> tuple[Metric, ...]:
    return tuple(dict.fromkeys((*table.metrics, *exported(table))))


def _cases(table: CellTable) -> list[str]:
    return [CASES] if len(table.cases) > 1 else []


def _cases_of(row: CellRow) -> str:
    """The names of the test cases that use a cell, separated by semicolons because names may
    contain blanks."""
    return "; ".join(row.cases)


def _csv_row(
    row: CellRow, table: CellTable, metrics: Sequence[Metric], *, is_so_far: bool
) -> list[object]:
    """A row of values with the full precision of a double; None if a value was not measured."""
    cases = [_cases_of(row)] if _cases(table) else []
    levels = [level_text(row.treatment[f]) if f in row.treatment else "" for f in table.factors]
    runs = _numbers_of_runs(row, is_so_far=is_so_far)
    return [*cases, *levels, *runs, *(row.value(metric) for metric in metrics)]


def to_json(table: CellTable, *, is_so_far: bool = False) -> str:
    """All cells with their intervals, runs and problems, as indented JSON. With `is_so_far`, each
    cell also has the numbers of valid and of planned runs."""
    return json.dumps(as_data(table, is_so_far=is_so_far), indent=2, ensure_ascii=False) + "\n"


def as_data(table: CellTable, *, is_so_far: bool = False) -> dict[str, Any]:
    """The data of `to_json`."""
    metrics = _all(table)
    return {
        "study": table.study,
        "factors": {name: list(levels) for name, levels in table.factors.items()},
        "cells": [_cell(row, metrics, is_so_far=is_so_far) for row in table.rows],
    }


def requirements_as_data(found: Sequence[CheckedRequirement]) -> list[dict[str, Any]]:
    """The requirements of a study, each with its levels, its outcome and the value of the worst
    cell."""
    return [
        {
            "that": f"{one.bound.metric} {one.bound.sign} {format_number(one.bound.value)}",
            "at": {factor: list(levels) for factor, levels in one.at.items()},
            "outcome": one.outcome,
            "cells": len(one.cells),
            "worst": None if one.worst is None else _worst(one.worst),
        }
        for one in found
    ]


def _worst(held: CheckedCell) -> dict[str, Any]:
    value = None if held.estimate is None else held.estimate.value
    return {"treatment": held.cell.treatment, "value": value}


def _cell(row: CellRow, metrics: Sequence[Metric], *, is_so_far: bool) -> dict[str, Any]:
    runs = _numbers_of_runs(row, is_so_far=is_so_far)
    return {
        "cases": list(row.cases),
        "treatment": dict(row.treatment),
        "runs": len(row.runs),
        **dict(zip(_runs(is_so_far=is_so_far), runs, strict=True)),
        "metrics": {metric.name: _metric(row, metric) for metric in metrics},
        "problems": [
            {"run": p.run, "replicate": p.replicate, "kind": p.kind, "reason": p.reason}
            for p in row.problems
        ],
    }


def _metric(row: CellRow, metric: Metric) -> dict[str, Any] | None:
    estimate = row.estimate(metric)
    if estimate is None:
        return None
    interval = estimate.interval
    return {
        "value": estimate.value,
        "unit": metric.unit,
        "interval": None if interval is None else [interval.low, interval.high],
        "interval_over": estimate.unit,
    }


def _rounded(row: CellRow, metric: Metric) -> Number | None:
    found = cell_number(row, metric)
    return found and with_margin(found, row, metric)


def to_markdown(table: CellTable, *, is_so_far: bool = False) -> str:
    """A pipe table for people: one row for each cell, with rounded values and the half widths of
    their intervals. Node metrics that the study does not name are left out. Headings are the names
    of metrics, which include the units. With `is_so_far`, the factors are followed by the numbers
    of valid and of planned runs."""
    metrics = _named(table)
    values = [*_runs(is_so_far=is_so_far), *(metric.name for metric in metrics)]
    cases = _cases(table)
    groups = tuple(map(Group, (*cases, *_factor_columns(table, values), *values)))
    rows = tuple(
        (
            *(Name(_cases_of(row)) for _ in cases),
            *(numeric_level(row.treatment.get(factor), factor) for factor in table.factors),
            *(count(n, "runs") for n in _numbers_of_runs(row, is_so_far=is_so_far)),
            *(_rounded(row, metric) for metric in metrics),
        )
        for row in table.rows
    )
    title = say("Cells of {study}", study=Name(table.study))
    stub = len(cases) + len(table.factors)
    return pipe_table(Table("cells", title, groups, rows, stub=stub)) + "\n"
