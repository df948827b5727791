"""`netstudy validate`: check study files, with the place of every mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from netstudy.cli import _options as options
from netstudy.cli._prepare import Asked, prepare
from netstudy.cli._terminal import print_json, say
from netstudy.errors import StudyError

NAME = "validate"
EPILOG = "Example: netstudy validate studies/*"


def command(
    studies: Annotated[
        list[Path],
        typer.Argument(metavar="STUDY...", help="Study files, or the folders that hold them."),
    ],
    json: options.Json = False,
) -> None:
    """Check study files: syntax, names, units, levels, hardware. Exit code 2 when one is wrong.

    A note names parts of a correct study that this version cannot run or report yet.
    """
    checked = [_check(path) for path in studies]
    if json:
        print_json(checked)
    else:
        for outcome in checked:
            _tell(outcome)
    raise typer.Exit(0 if all(outcome["ok"] for outcome in checked) else StudyError.exit_code)


def _check(path: Path) -> dict[str, Any]:
    try:
        prepared = prepare(Asked(path))
    except StudyError as error:
        return {"path": str(path), "ok": False, "errors": str(error).splitlines(), "notes": []}
    notes = prepared.unsupported()
    return {"path": str(path), "ok": True, "errors": [], "notes": notes}


def _tell(outcome: dict[str, Any]) -> None:
    if outcome["ok"]:
        print(f"{outcome['path']}: ok")
    for error in outcome["errors"]:
        say(error)
    for note in outcome["notes"]:
        print(f"  note: {note}")
