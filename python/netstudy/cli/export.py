"""`netstudy export`: the cells of a run as CSV, JSON or Markdown."""

from __future__ import annotations

import sys
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
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write there, not to the terminal."),
    ] = None,
    results: options.Results = options.RESULTS,
) -> None:
    """Print one row a cell: its factors, then its metrics; replicates are pooled."""
    from netstudy.store import Results, storage, write_atomic

    forms = {"csv": csv, "json": json, "markdown": markdown}
    chosen = [form for form, wanted in forms.items() if wanted]
    if len(chosen) > 1:
        raise StudyError(f"one format at a time: --{' or --'.join(chosen)}?")
    text = _text(Results(results).resolve(run, done=True), *chosen or ["csv"])
    if output is None:
        sys.stdout.write(text)
    else:
        with storage(output):
            write_atomic(output, text.encode())


def _text(folder: Folder, form: str) -> str:
    from netstudy.analysis.cells import cell_table
    from netstudy.report import export

    table = cell_table(folder)
    write = {"csv": export.to_csv, "json": export.to_json, "markdown": export.to_markdown}
    return write[form](table)
