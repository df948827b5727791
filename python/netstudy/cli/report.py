"""`netstudy report`: write the report of a run anew, from its records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netstudy.cli import _options as options
from netstudy.cli._output import print_json
from netstudy.errors import MISSED, StudyError

if TYPE_CHECKING:
    from netstudy.analysis.study_result import StudyResult
    from netstudy.report import ReportFiles
    from netstudy.store import Folder

NAME = "report"
EPILOG = "Example: netstudy report incast -o /tmp/incast-report"


def command(
    run: options.RunName = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write there, not into the folder."),
    ] = None,
    results: options.Results = options.RESULTS,
    json: options.Json = False,
) -> None:
    """Write the HTML and Markdown report of a finished run anew, from its records alone.

    The records must be what they were when the run was done; otherwise nothing is written.
    Exit codes: 0 done, 1 a requirement of the study is missed, 2 bad input.
    """
    from netstudy.store import Results, storage

    folder = Results(results).resolve(run, done=True)
    _refuse_changed(folder)
    with storage(output or folder.path):
        result, files = _write_anew(folder) if output is None else _write_into(folder, output)
    if json:
        from netstudy.report.export import requirements_as_data

        required = requirements_as_data(result.requirements)
        print_json({"html": str(files.html), "markdown": str(files.md), "requirements": required})
    else:
        print(files.html)
        print(files.md)
    raise typer.Exit(MISSED if result.missed else 0)


def _refuse_changed(folder: Folder) -> None:
    changed = folder.changed_since_sealed()
    if changed:
        raise StudyError(
            f"{folder.path} is not what it was when it was done: {', '.join(changed)} changed or "
            "went missing, so that a report of it would prove nothing"
        )


def _write_anew(folder: Folder) -> tuple[StudyResult, ReportFiles]:
    from netstudy.cli._publish import publish

    with folder.writing():
        published = publish(folder)
    return published.result, published.report


def _write_into(folder: Folder, output: Path) -> tuple[StudyResult, ReportFiles]:
    from netstudy.analysis.study_result import analyse
    from netstudy.report import write_report

    output.mkdir(parents=True, exist_ok=True)
    result = analyse(folder)
    return result, write_report(folder, result, output)
