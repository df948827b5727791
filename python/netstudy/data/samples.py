"""The samples from which cells are computed, run by run and column by column, and their CSV.

One record is in memory at a time, so that a folder of any size can be read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from netstudy.analysis.clocks import window_of
from netstudy.analysis.nodes import course
from netstudy.analysis.samples import NS_PER_S, RunSample
from netstudy.data.times import TIME, TIME_COLUMNS, time_columns
from netstudy.data.wanted import ALL, Wanted
from netstudy.errors import StudyError
from netstudy.report.spreadsheet import csv_line
from netstudy.study.levels import columns_of_factors, level_text
from netstudy.study.vocabulary import split_metric
from netstudy.wire import HISTOGRAM_TABLES, SAMPLE_TABLES, RequestHistogram, Run, RunRecord

if TYPE_CHECKING:
    from netstudy.store import Folder

Values = Sequence[Any]
"""The values of a column; a value is None if it was not measured."""

SERIES: Final = (
    "instrument",
    "node",
    "port",
    "connection",
    "at_ns",
    "measure_s",
    "counter",
    "value",
)
"""Columns of the table `series`, in which each value has a row of its own. `measure_s` is the time
since the start of the measuring phase, by the clock of the node; empty if unknown."""
COURSE_TIME: Final = "at_s"
"""Name of the first column, the time, in a table of a node metric over time."""
BY_SECOND: Final = "second"
"""Table of the bytes that each connection carried in each second."""
TABLES: Final = (*SAMPLE_TABLES, *HISTOGRAM_TABLES, "series", TIME)
"""Names of the available tables."""


@dataclass(frozen=True)
class RunRows:
    """The rows of one run."""

    run: Run
    status: str
    """Status of the run's record: `ok` or `invalid`."""
    rows: int
    columns: Sequence[Values | None]
    """The values of each column in `columns_of`; None: the run did not measure this column."""


def columns_of(table: str, where: str | None = None) -> tuple[str, ...]:
    """The columns of a table of samples, or of a table of a node metric over time.

    Raises StudyError, located at `where`, for an unknown name.
    """
    if "." in table:
        try:
            return (COURSE_TIME, str(split_metric(table)))
        except ValueError as error:
            raise StudyError(str(error), where) from None
    if table not in TABLES:
        raise StudyError(
            f'there are no samples "{table}"; there are {", ".join(TABLES)}, and metrics of nodes '
            "such as app.send_mbps",
            where,
        )
    return (SAMPLE_TABLES | HISTOGRAM_TABLES | {"series": SERIES, TIME: TIME_COLUMNS})[table]


def rows_by_run(folder: Folder, table: str, wanted: Wanted = ALL) -> Iterator[RunRows]:
    """The rows of each run that has any, in the order of the plan. `wanted` selects a part of
    `series`."""
    for run, record in folder.each_record():
        columns = _columns(folder, run, record, table, wanted)
        rows = max((len(values) for values in columns if values is not None), default=0)
        if rows:
            known = [values or None for values in columns]
            yield RunRows(run, record.status, rows, known)


def has_rows(folder: Folder, table: str, wanted: Wanted = ALL) -> bool:
    """Whether a table of samples has at least one row."""
    return next(rows_by_run(folder, table, wanted), None) is not None


def sampled(folder: Folder) -> tuple[dict[str, None], dict[str, None]]:
    """The nodes and counters of all series, in the order of the records."""
    nodes: dict[str, None] = {}
    counters: dict[str, None] = {}
    for run, _ in folder.each_record():
        for series in folder.series(run.id):
            nodes[series.node] = None
            counters |= dict.fromkeys(series.values)
    return nodes, counters


def samples_csv(
    folder: Folder, table: str, wanted: Wanted = ALL, *, raw: bool = False
) -> Iterator[str]:
    """A header line, then one line for each sample; a value that was not measured is an empty
    field. Names that a spreadsheet would take for formulas are escaped, unless `raw`."""
    factors = factors_of(folder)
    own = ("replicate", *columns_of(table))
    yield csv_line(("run", *columns_of_factors(factors, ("run", *own)), *own), raw=raw)
    for found in rows_by_run(folder, table, wanted):
        run = found.run
        levels = [level_text(run.treatment[f]) if f in run.treatment else "" for f in factors]
        head = (run.id, *levels, run.replicate)
        nothing = (None,) * found.rows
        for row in zip(*(nothing if v is None else v for v in found.columns), strict=True):
            yield csv_line((*head, *row), raw=raw)


def factors_of(folder: Folder) -> tuple[str, ...]:
    """The factors of all runs."""
    return tuple(dict.fromkeys(name for run in folder.plan().runs for name in run.treatment))


def _columns(
    folder: Folder, run: Run, record: RunRecord, table: str, wanted: Wanted
) -> Sequence[Values | None]:
    if "." in table:
        found = course(RunSample(run, record, folder.series), split_metric(table))
        return () if found is None else [_known(values.tolist()) for values in found]
    if table == "series":
        return _series(folder, RunSample(run, record), wanted)
    if table == TIME:
        return time_columns(record)
    if table in HISTOGRAM_TABLES:
        return _buckets(getattr(record.samples, table))
    rows = getattr(record.samples, table)
    return () if rows is None else [getattr(rows, name) for name in SAMPLE_TABLES[table]]


def _known(values: list[float]) -> list[float | None]:
    """The values, with None instead of NaN in gaps."""
    return [None if math.isnan(value) else value for value in values]


def _buckets(histograms: Sequence[RequestHistogram]) -> Sequence[Values]:
    rows = [
        (one.operation, one.latency, one.phase, one.client, one.server, value, requests)
        for one in histograms
        for value, requests in zip(one.value_ns, one.requests, strict=True)
    ]
    return list(zip(*rows, strict=True))


def _series(folder: Folder, sample: RunSample, wanted: Wanted) -> Sequence[Values]:
    columns: tuple[list[Any], ...] = tuple([] for _ in SERIES)
    for series in folder.series(sample.run):
        if not wanted.has_node(series.node):
            continue
        window = window_of(sample, series.node)
        head = (series.instrument, series.node, series.port, series.connection)
        start_ns = None if window is None else window.start_ns
        for index in wanted.places(series.at_ns, start_ns):
            at_ns = series.at_ns[index]
            inside = None if start_ns is None else (at_ns - start_ns) / NS_PER_S
            for counter, values in series.values.items():
                if not wanted.has_counter(counter):
                    continue
                row = (*head, at_ns, inside, counter, values[index])
                for column, value in zip(columns, row, strict=True):
                    column.append(value)
    return columns
