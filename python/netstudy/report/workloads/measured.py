"""The report's text on runs that were measured elsewhere: the sources of their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from netstudy.analysis.intervals import CONFIDENCE
from netstudy.analysis.rank import PERMUTATIONS
from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.verdict import ALPHA
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import count, plain, treatment_text
from netstudy.report.prose.words import margin_sentence, number_range, things
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.tables import Group, Table, Value
from netstudy.report.workloads.base import WorkloadPage
from netstudy.wire import Measured, MeasuredFile, MeasuredRun, Run

if TYPE_CHECKING:
    from netstudy.analysis.cells import CellRow

_FILES_MAX: Final = 100
"""Most rows of the table of files."""
_DIGITS: Final = 16
"""Digits of a SHA-256 in this table."""


def _work(run: Run) -> Measured:
    assert isinstance(run.workload, Measured), "this is the page of runs measured elsewhere"
    return run.workload


def _listed(sources: Iterable[str]) -> Name:
    """The sources, separated by semicolons, since they contain commas."""
    return Name("; ".join(sources))


def _description(runs: Sequence[Run]) -> list[Sentence]:
    works = [_work(run) for run in runs]
    tables, files = [one for one in works if one.given], [one for one in works if one.files]
    return [
        *(_of_tables(tables) if tables else ()),
        *(_of_files(files) if files else ()),
        say("The runs were not made here: only their source describes them."),
    ]


def _of_tables(works: Sequence[Measured]) -> Iterator[Sentence]:
    sources = dict.fromkeys(source for work in works for source in work.source)
    given = number_range([len(work.given) for work in works], "values of a run")
    if sources:
        yield say(
            "The values are published ones, {given} a run: {sources}.",
            given=things(given, "value"),
            sources=_listed(sources),
        )
    else:
        rows = dict.fromkeys(one.row.rpartition(":")[0] for work in works for one in work.given)
        yield say(
            "The values are of a table, {given} a run: {files}.",
            given=things(given, "value"),
            files=_listed(rows),
        )


def _of_files(works: Sequence[Measured]) -> Iterator[Sentence]:
    formats = dict.fromkeys(work.files[0].format for work in works)
    yield say(
        "The values are of files by {formats}, one measurement a run.",
        formats=Name(listed(list(formats))),
    )
    at_hosts: dict[str, dict[str, None]] = {}
    for work in works:
        for one in work.files[1:]:
            at_hosts.setdefault(str(one.node), {})[one.format] = None
    if at_hosts:
        yield say(
            "Files that were recorded on hosts are cut to the time of the run: {hosts}.",
            hosts=_listed(f"{host} by {', '.join(forms)}" for host, forms in at_hosts.items()),
        )


def _methods(result: StudyResult) -> list[Sentence] | None:
    """The sentences on methods, for values of tables, whose runs are not known; None for files."""
    if any(_work(run).files for row in result.cells.rows for run in row.planned):
        return None
    # The usual sentences on runs do not apply: warm-up, pooling and batches are unknown.
    return [
        say(
            "Every value is taken from the source as it is printed. Where a cell has several "
            "repetitions, its value is their mean and its interval Student’s at {level}, with at "
            "least the variance of rounding. A value without repetitions has no interval, because "
            "only its rounding is known.",
            level=plain(100 * CONFIDENCE, 0, "%", "confidence of all intervals"),
        ),
        say(
            "A level is compared with the base by the ratio of their values. Without repetitions "
            "two values are “different” if they differ by more than the noise threshold, and "
            "“same” if they do not, provided that one unit of the last digit could not change "
            "this; run-to-run variation is unknown. With repetitions the tests are as for runs: "
            "two one-sided tests for “same”, and two for “different”, judged at {alpha} after "
            "Holm’s correction inside the table.",
            alpha=plain(ALPHA, 2, "", "level of all tests"),
        ),
        *margin_sentence(result),
        say(
            "Rank correlations are Spearman’s, with p by {n} permutations from a fixed seed.",
            n=count(PERMUTATIONS, "random orders"),
        ),
        say(
            "Percentages and ratios are computed from the values as published. An empty cell was "
            "not published."
        ),
    ]


def _tables(rows: Sequence[CellRow], key: str) -> list[Table]:
    """The files of the runs, in the order of the cells; nothing for tables."""
    runs = [(row, run) for row in rows for run in row.runs]
    lines = [
        (Name(treatment_text(row.treatment)), *_line(file, run.record.measured))
        for row, run in runs
        if run.record.measured is not None
        for file in run.record.measured.files
    ]
    if not lines:
        return []
    caption = say("Files of the valid runs")
    if len(lines) > _FILES_MAX:
        caption = say(
            "Files of the valid runs: the first {shown} of {all}; `netstudy export --records` has "
            "all of them",
            shown=count(_FILES_MAX, "files shown"),
            all=count(len(lines), "files"),
        )
    groups = tuple(
        map(Group, ("levels", "file", "host", "tool", "begun (UTC)", "SHA-256", "notes"))
    )
    return [Table(f"{key}-files", caption, groups, tuple(lines[:_FILES_MAX]))]


def _line(file: MeasuredFile, run: MeasuredRun) -> Iterator[Value]:
    begun = None
    if file.node is None and run.started_s is not None:
        begun = Name(f"{datetime.fromtimestamp(run.started_s, UTC):%Y-%m-%d %H:%M:%S}")
    yield Name(file.path)
    yield None if file.node is None else Name(file.node)
    yield Name(run.tools[file.path])
    yield begun
    yield Name(file.sha256[:_DIGITS])
    yield Name(" ".join(run.notes)) if file.node is None and run.notes else None


def _provenance(result: StudyResult) -> Sentence:
    if result.testbed.published:
        return say("Published values, from {sources}", sources=_listed(result.sources))
    runs = [run for row in result.cells.rows for run in row.planned]
    files = dict.fromkeys(one.path for run in runs for one in _work(run).files)
    return say(
        "{runs} measured elsewhere, from {files}",
        runs=things(count(len(runs), "runs"), "run"),
        files=things(count(len(files), "files"), "file"),
    )


def _single(cells: int, total: int) -> Sentence:
    return say(
        "{n} of {total} cells have one published value: its rounding is known, and run-to-run "
        "variation is unknown.",
        n=count(cells, "cells with one published value"),
        total=count(total, "cells"),
    )


MEASURED = WorkloadPage(
    description=_description,
    senders="the senders",
    methods=_methods,
    provenance=_provenance,
    single=_single,
    tables=_tables,
    tables_heading="Files",
)
