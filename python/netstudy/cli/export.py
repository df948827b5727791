"""`netstudy export`: the cells of a run as CSV, JSON, Markdown or Parquet, and its samples."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netstudy.characters import visible
from netstudy.cli import _completion as completion
from netstudy.cli import _options as options
from netstudy.cli._folders import finished_folder, folder_so_far
from netstudy.cli._terminal import show
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.data.wanted import Wanted
    from netstudy.store import Folder

NAME = "export"
EPILOG = "Example: netstudy export incast --csv -o incast.csv"


def command(
    run: options.RunName = None,
    csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values. [default]")] = False,
    csv_raw: Annotated[
        bool,
        typer.Option(
            "--csv-raw",
            help="CSV for programs: no apostrophe before names such as =A, which a "
            "spreadsheet takes for formulas.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One object per cell.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="A Markdown table.")] = False,
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Parquet, with the units and meanings of the columns.")
    ] = False,
    samples: Annotated[
        str | None,
        typer.Option(
            "--samples",
            metavar="TABLE",
            help="The samples behind the cells, one row each: iteration, connection, "
            "transfer, second, request (histograms of latencies), series (of samplers), time, or "
            "a metric of a node such as app.send_mbps.",
            autocompletion=completion.samples,
        ),
    ] = None,
    time: Annotated[
        bool,
        typer.Option(
            "--time",
            help="Where the time of units of work went: one row for each run, view, group and "
            "part. The same as --samples time.",
        ),
    ] = False,
    records: Annotated[
        bool,
        typer.Option(
            "--records",
            help="All records in the order of the plan: the lines that the engine would write.",
        ),
    ] = False,
    node: Annotated[
        str | None,
        typer.Option("--node", help="For series: one node, or the nodes of a group."),
    ] = None,
    counter: Annotated[
        str | None, typer.Option("--counter", help="For series: one counter or state.")
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(
            "--interval",
            metavar="SPAN|LENGTH",
            help="For series: a span of the measuring phase, such as 2s..5s; or a length, such "
            "as 1s, to keep only the last sample in each interval of that length.",
        ),
    ] = None,
    so_far: options.SoFar = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write to this file, not to the terminal."
        ),
    ] = None,
    results: options.Results = options.RESULTS,
) -> None:
    """Print one row per cell: its factors, then its metrics; replicates are pooled.

    With --samples, print the samples from which the metrics were computed; with --time, the parts
    of the time of units of work; with --records, the records of all runs. With --so-far, cells also
    have the columns runs_valid and runs_planned.
    """
    from netstudy.data.times import TIME
    from netstudy.data.wanted import ALL, Wanted
    from netstudy.store import storage, write_atomic

    forms = {
        "csv": csv,
        "csv-raw": csv_raw,
        "json": json,
        "markdown": markdown,
        "parquet": parquet,
    }
    chosen = [form for form, wanted in forms.items() if wanted] or ["csv"]
    if len(chosen) > 1:
        raise StudyError(f"one format at a time: --{' or --'.join(chosen)}?")
    if parquet and output is None and sys.stdout.isatty():
        raise StudyError("Parquet is not text; write it to a file with -o FILE", "--parquet")
    if time:
        if samples not in (None, TIME):
            raise StudyError(f"one table at a time: --time or --samples {samples}?")
        samples = TIME
    wanted = ALL
    if (node, counter, interval) != (None, None, None):
        table = samples or "cells"
        wanted = Wanted.of(table, node=node, counter=counter, interval=interval)
    if records:
        _refuse_beside_records(forms, samples)
    folder = (folder_so_far if so_far else finished_folder)(results, run)
    if records:
        parts = folder.record_texts(folder.plan().runs) if so_far else folder.stream()
    else:
        write = _parquet if parquet else _text
        parts = write(folder, samples, chosen[0], wanted, is_so_far=so_far)
    # A terminal would obey control characters in names, so `show` replaces them. Other programs get
    # the unchanged bytes.
    if output is None and sys.stdout.isatty():
        for part in parts:
            show(part.decode(), end="")
    elif output is None:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(parts)
        sys.stdout.buffer.flush()
    else:
        with storage(output):
            write_atomic(output, parts)


def _refuse_beside_records(forms: Mapping[str, bool], samples: str | None) -> None:
    """Refuses options that --records would ignore."""
    given = [f"--{form}" for form, wanted in forms.items() if wanted]
    given += ["--samples"] if samples else []
    if given:
        raise StudyError(f"records are lines of JSON; leave out {', '.join(given)}", "--records")


def _parquet(
    folder: Folder, samples: str | None, _form: str, wanted: Wanted, *, is_so_far: bool
) -> Iterator[bytes]:
    from netstudy.data import StudyData
    from netstudy.data.study_data import sample_table

    opened = StudyData(folder)
    if samples is None:
        return opened.cells(runs=is_so_far).parquet()
    _check_samples(folder, samples, wanted)
    return sample_table(opened, samples, wanted, invalid=True).parquet()


def _text(
    folder: Folder, samples: str | None, form: str, wanted: Wanted, *, is_so_far: bool
) -> Iterator[bytes]:
    parts = (
        _cells(folder, form, is_so_far=is_so_far)
        if samples is None
        else _samples(folder, samples, form, wanted)
    )
    return (part.encode("utf-8", "replace") for part in parts)


def _samples(folder: Folder, table: str, form: str, wanted: Wanted) -> Iterator[str]:
    from netstudy.data.samples import samples_csv

    if form not in ("csv", "csv-raw"):
        raise StudyError(f"samples are written as CSV or Parquet, not as {form}", "--samples")
    _check_samples(folder, table, wanted)
    return samples_csv(folder, table, wanted, raw=form == "csv-raw")


def _check_samples(folder: Folder, table: str, wanted: Wanted) -> None:
    """Raise StudyError if the table of samples is unknown, or if no run has rows of it."""
    from netstudy.data.samples import TABLES, columns_of, has_rows, sampled

    columns_of(table, "--samples")
    if has_rows(folder, table, wanted):
        return
    if has_rows(folder, table):
        nodes, counters = map(", ".join, sampled(folder))
        raise StudyError(
            f"no run has such a series; nodes: {nodes}; counters: {counters}", "--samples series"
        )
    others = [name for name in TABLES if has_rows(folder, name)]
    have = f"; there are {', '.join(others)}" if others else ""
    raise StudyError(f"no run has samples of {table}{have}", "--samples")


def _cells(folder: Folder, form: str, *, is_so_far: bool) -> Iterable[str]:
    from netstudy.analysis.related import cell_table
    from netstudy.report import export

    table = cell_table(folder)
    match form:
        case "json":
            return [export.to_json(table, is_so_far=is_so_far)]
        case "markdown":
            return [visible(export.to_markdown(table, is_so_far=is_so_far))]
    return [export.to_csv(table, raw=form == "csv-raw", is_so_far=is_so_far)]
