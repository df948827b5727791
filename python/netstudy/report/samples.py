"""The samples behind the cells for other programs: one row for each sample, as CSV.

Rows are made run by run, so that a folder of any size can be written.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from netstudy.analysis.clocks import window_of
from netstudy.analysis.nodes import course, node_metric
from netstudy.analysis.samples import NS_PER_S, RunSample
from netstudy.errors import StudyError
from netstudy.study.levels import level_text
from netstudy.wire import HISTOGRAM_TABLES, SAMPLE_TABLES, RequestHistogram, Run, RunRecord

if TYPE_CHECKING:
    from netstudy.store import Folder

Row = Sequence[Any]

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
"""Columns of `series`, with a row for each value. `measure_s` is the time from the start of the
measuring phase by the node's clock, and empty if that is unknown."""
TABLES: Final = (*SAMPLE_TABLES, *HISTOGRAM_TABLES, "series")
"""Names of the available tables."""


def samples_csv(folder: Folder, table: str) -> Iterator[str]:
    """A header line, then one line for each sample, in the order of the plan."""
    factors = tuple(dict.fromkeys(name for run in folder.plan().runs for name in run.treatment))
    yield _line(("run", *factors, "replicate", *_columns(table)))
    records = {record.run: record for record in folder.records()}
    for run in folder.plan().runs:
        record = records.get(run.id)
        if record is None:
            continue
        levels = (level_text(run.treatment[f]) if f in run.treatment else "" for f in factors)
        head = (run.id, *levels, run.replicate)
        for row in _rows(folder, run, record, table):
            yield _line((*head, *row))


def course_csv(folder: Folder, metric: str) -> Iterator[str]:
    """The course of a node metric in each run: a header line, then one line for each interval, with
    `at_s`, its end from the start of the phase. Raises StudyError if the name is no metric of a
    node."""
    try:
        node_metric(metric)
    except ValueError as error:
        raise StudyError(str(error), "--samples") from None
    factors = tuple(dict.fromkeys(name for run in folder.plan().runs for name in run.treatment))
    yield _line(("run", *factors, "replicate", "at_s", metric))
    records = {record.run: record for record in folder.records()}
    for run in folder.plan().runs:
        record = records.get(run.id)
        found = None if record is None else course(RunSample(run, record, folder.series), metric)
        levels = [level_text(run.treatment[f]) if f in run.treatment else "" for f in factors]
        for at, value in zip(*found, strict=True) if found is not None else ():
            yield _line((run.id, *levels, run.replicate, repr(float(at)), repr(float(value))))


def _columns(table: str) -> tuple[str, ...]:
    if table == "series":
        return SERIES
    return (SAMPLE_TABLES | HISTOGRAM_TABLES)[table]


def _line(row: Row) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow("" if value is None else value for value in row)
    return out.getvalue()


def _rows(folder: Folder, run: Run, record: RunRecord, table: str) -> Iterator[Row]:
    if table == "series":
        return _series(folder, RunSample(run, record))
    return _buckets(record, table) if table in HISTOGRAM_TABLES else _table(record, table)


def _table(record: RunRecord, table: str) -> Iterator[Row]:
    """The rows of a table; a column that was not measured is empty."""
    rows = getattr(record.samples, table)
    if rows is None:
        return
    columns = [getattr(rows, name) for name in SAMPLE_TABLES[table]]
    length = max(len(column) for column in columns if column is not None)
    for index in range(length):
        yield [column[index] if column else None for column in columns]


def _buckets(record: RunRecord, table: str) -> Iterator[Row]:
    histograms: tuple[RequestHistogram, ...] = getattr(record.samples, table)
    for found in histograms:
        head = (found.operation, found.phase, found.client, found.server)
        for value, requests in zip(found.value_ns, found.requests, strict=True):
            yield (*head, value, requests)


def _series(folder: Folder, sample: RunSample) -> Iterator[Row]:
    for series in folder.series(sample.run):
        window = window_of(sample, series.node)
        head = (series.instrument, series.node, series.port, series.connection)
        for index, at_ns in enumerate(series.at_ns):
            inside = None if window is None else (at_ns - window.start_ns) / NS_PER_S
            for counter, values in series.values.items():
                yield (*head, at_ns, inside, counter, values[index])
