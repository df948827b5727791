"""`netstudy export`: the cells of a run as CSV, JSON or Markdown."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netstudy.cli import _options as options
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.store import Folder

NAME = "export"
EPILOG = "Example: netstudy export incast --csv -o incast.csv"


def command(
    run: options.RunName = None,
    csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values. [default]")] = False,
    json: Annotated[bool, typer.Option("--json", help="An object a cell.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="A Markdown table.")] = False,
    samples: Annotated[
        str | None,
        typer.Option(
            "--samples",
            metavar="TABLE",
            help="The samples behind the cells as CSV, a row each: iteration, connection, "
            "transfer, second, request (histograms of latencies), series (what was sampled), or a "
            "metric of a node such as app.send_mbps.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write there, not to the terminal."),
    ] = None,
    results: options.Results = options.RESULTS,
) -> None:
    """Print one row for each cell: its factors, then its metrics; replicates are pooled.

    With --samples, print the samples from which the metrics were computed.
    """
    from netstudy.store import Results, storage, write_atomic

    forms = {"csv": csv, "json": json, "markdown": markdown}
    chosen = [form for form, wanted in forms.items() if wanted]
    if len(chosen) > 1:
        raise StudyError(f"one format at a time: --{' or --'.join(chosen)}?")
    folder = Results(results).resolve(run, done=True)
    parts = (
        _cells(folder, *chosen or ["csv"]) if samples is None else _samples(folder, samples, chosen)
    )
    if output is None:
        sys.stdout.writelines(parts)
    else:
        with storage(output):
            write_atomic(output, (part.encode() for part in parts))


def _samples(folder: Folder, table: str, forms: Sequence[str]) -> Iterator[str]:
    from netstudy.report.samples import TABLES, course_csv, samples_csv

    is_metric = "." in table
    if table not in TABLES and not is_metric:
        raise StudyError(
            f'there are no samples "{table}"; there are {", ".join(TABLES)}, and metrics of nodes '
            "such as app.send_mbps",
            "--samples",
        )
    if set(forms) - {"csv"}:
        raise StudyError(f"samples are written as CSV, not as {forms[0]}", "--samples")
    return course_csv(folder, table) if is_metric else samples_csv(folder, table)


def _cells(folder: Folder, form: str) -> Iterable[str]:
    from netstudy.analysis.cells import cell_table
    from netstudy.report import export

    table = cell_table(folder)
    write = {"csv": export.to_csv, "json": export.to_json, "markdown": export.to_markdown}
    return [write[form](table)]
