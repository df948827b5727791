"""`netstudy clean`: remove what was left unfinished, or results that are named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netstudy.cli import _options as options
from netstudy.cli._output import print_json, say
from netstudy.cli._words import state
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.store import Results

NAME = "clean"
EPILOG = "Example: netstudy clean --dry-run"


def command(
    run: Annotated[
        str | None,
        typer.Argument(metavar="[RUN]", help="Remove this results folder, finished or not."),
    ] = None,
    results: options.Results = options.RESULTS,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be removed, and remove nothing.")
    ] = False,
    yes: options.Yes = False,
    json: options.Json = False,
) -> None:
    """Remove unfinished results folders and files that an interrupted writer left behind.

    Finished results are removed only when their folder is named. What another process is writing
    to is left alone.
    """
    from netstudy.store import Results

    tree = Results(results)
    doomed = _unfinished(tree) if run is None else [_named(tree, run)]
    if not json:
        _tell(doomed, dry_run)
    removed = doomed and not dry_run and _agreed(len(doomed), yes)
    if removed:
        for path in doomed:
            tree.remove(path)
    if json:
        names = [str(path) for path in doomed]
        print_json({"removed": names if removed else [], "found": names})


def _unfinished(tree: Results) -> list[Path]:
    folders = tree.folders()
    unfinished = [folder.path for folder in folders if state(folder) == "unfinished"]
    partial = [path for folder in folders if state(folder) == "done" for path in folder.leftovers()]
    return [*unfinished, *partial, *tree.leftovers()]


def _named(tree: Results, run: str) -> Path:
    """The folder that is named: a path, or <study>/<time> inside the results."""
    from netstudy.store import Folder

    folder = Folder.at(Path(run)) or Folder.at(tree.root / run)
    if folder is None:
        raise StudyError(f"{run} is not a results folder; `netstudy ls` lists them")
    if folder.is_running():
        raise StudyError(f"another netstudy is writing to {folder.path}; it was left alone")
    return folder.path


def _tell(doomed: list[Path], dry_run: bool) -> None:
    if not doomed:
        say("nothing to remove")
    for path in doomed:
        print(f"{'would remove' if dry_run else 'remove'} {path}")


def _agreed(count: int, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise StudyError(
            "nobody is there to be asked; nothing was removed. Use --yes, or --dry-run"
        )
    return typer.confirm(f"Remove {count} of them?", err=True)
