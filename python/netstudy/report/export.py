"""Cells for other programs, one row each: CSV, JSON, Markdown.

CSV has a column for each factor and each exported metric; a value that was not measured is an empty
field. JSON has every metric with its interval, and the number of runs of each cell.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.metrics import Metric
from netstudy.analysis.requirements import CheckedCell, CheckedRequirement
from netstudy.report.cellrefs import cell_number, with_margin
from netstudy.report.markdown import pipe_table
from netstudy.report.refs import Name, Number, say
from netstudy.report.spreadsheet import csv_line
from netstudy.report.tables import Group, Table, numeric_level
from netstudy.study.levels import columns_of_factors, level_text
from netstudy.units import format_number

CASES = "cases"
"""Name of the column with the test cases of a cell; only if the study has several test cases."""


def to_csv(table: CellTable, *, raw: bool = False) -> str:
    """One header line, then one line for each cell, in the order of the levels. With `raw`, names
    that a spreadsheet would take for formulas are not escaped."""
    metrics = exported(table)
    values = [metric.name for metric in metrics]
    lines: list[list[object]] = [[*_cases(table), *_factor_columns(table, values), *values]]
    lines += [_csv_row(row, table, metrics) for row in table.rows]
    return "".join(csv_line(line, raw=raw) for line in lines)


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


def _csv_row(row: CellRow, table: CellTable, metrics: Sequence[Metric]) -> list[object]:
    """A row of values with the full precision of a double; None if a value was not measured."""
    cases = [_cases_of(row)] if _cases(table) else []
    levels = [level_text(row.treatment[f]) if f in row.treatment else "" for f in table.factors]
    return [*cases, *levels, *(row.value(metric) for metric in metrics)]


def to_json(table: CellTable) -> str:
    """All cells with their intervals, runs and problems, as indented JSON."""
    return json.dumps(as_data(table), indent=2, ensure_ascii=False) + "\n"


def as_data(table: CellTable) -> dict[str, Any]:
    """The data of `to_json`."""
    metrics = _all(table)
    return {
        "study": table.study,
        "factors": {name: list(levels) for name, levels in table.factors.items()},
        "cells": [_cell(row, metrics) for row in table.rows],
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


def _cell(row: CellRow, metrics: Sequence[Metric]) -> dict[str, Any]:
    return {
        "cases": list(row.cases),
        "treatment": dict(row.treatment),
        "runs": len(row.runs),
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


def to_markdown(table: CellTable) -> str:
    """A pipe table for people: one row for each cell, with rounded values and the half widths of
    their intervals. Node metrics that the study does not name are left out. Headings are the names
    of metrics, which include the units."""
    metrics = _named(table)
    values = [metric.name for metric in metrics]
    cases = _cases(table)
    groups = tuple(map(Group, (*cases, *_factor_columns(table, values), *values)))
    rows = tuple(
        (
            *(Name(_cases_of(row)) for _ in cases),
            *(numeric_level(row.treatment.get(factor), factor) for factor in table.factors),
            *(_rounded(row, metric) for metric in metrics),
        )
        for row in table.rows
    )
    title = say("Cells of {study}", study=Name(table.study))
    stub = len(cases) + len(table.factors)
    return pipe_table(Table("cells", title, groups, rows, stub=stub)) + "\n"
