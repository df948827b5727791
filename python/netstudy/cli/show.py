"""`netstudy show`: the record of one run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from netstudy.cli import _options as options
from netstudy.cli._terminal import say, show_lines
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.store import Folder

NAME = "show"
EPILOG = "Example: netstudy show 3f9a1c incast | jq .checks"

_NAMED = 3
"""At most this number of runs is named in a message."""


def command(
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, or its first digits.")],
    run: options.RunName = None,
    earlier: Annotated[
        bool,
        typer.Option(
            "--earlier",
            help="The records that were set aside because the run failed, was disturbed or was "
            "damaged, oldest first.",
        ),
    ] = False,
    results: options.Results = options.RESULTS,
) -> None:
    """Print the record of one run: a line of JSON, exactly as the engine wrote it.

    `netstudy status` and the report name runs by these ids; `netstudy export --records` prints
    all records.
    """
    from netstudy.store import Results

    folder = Results(results).resolve(run, done=False)
    found = _run(folder, run_id)
    aside = folder.set_aside_texts(found)
    if earlier:
        if not aside:
            raise StudyError(f"no record of run {found} was set aside", "--earlier")
        lines = aside
    else:
        if aside:
            say(f"earlier records of this run, set aside: {len(aside)}; --earlier prints them")
        lines = [folder.record_text(found)]
    if sys.stdout.isatty():
        show_lines(lines)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(lines)
        sys.stdout.buffer.flush()


def _run(folder: Folder, digits: str) -> str:
    """The run of the folder whose id begins with these digits. Raises StudyError if none or several
    do."""
    found = [run.id for run in folder.plan().runs if run.id.startswith(digits)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise StudyError(f"{folder.path} has no run {digits}; see netstudy export --records")
    named = ", ".join(found[:_NAMED]) + (", …" if len(found) > _NAMED else "")
    raise StudyError(f"{len(found)} runs begin with {digits}: {named}; give more digits")
