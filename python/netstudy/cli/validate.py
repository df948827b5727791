"""`netstudy validate`: check study files and inventories of hosts, and print every mistake with its
place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netstudy.cli import _options as options
from netstudy.cli._foreseen import foreseen_warnings
from netstudy.cli._prepare import Asked, prepare
from netstudy.cli._programs import command_text
from netstudy.cli._terminal import print_json, say, show
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.study import Study

NAME = "validate"
EPILOG = "Example: netstudy validate studies/incast studies/trade"


def command(
    studies: Annotated[
        list[Path],
        typer.Argument(
            metavar="STUDY...",
            help="Study files, or the folders that hold them, or inventories of hosts.",
        ),
    ],
    json: options.Json = False,
) -> None:
    """Check study files: syntax, names, units, levels, hardware. Exit code 2 when one is wrong.

    A file with `hosts` is checked as an inventory, without logging in to any host.

    A note names parts of a correct study that this version cannot run or report yet. A warning
    names a question that the study cannot answer or test as it is, such as DCTCP without a switch
    that marks, or a 99th percentile of too few samples. "starts" is a program that the study starts
    on a real testbed, with the rights of the user.
    """
    checked = [_check(path) for path in studies]
    if json:
        print_json(checked)
    else:
        for outcome in checked:
            _tell(outcome)
    raise typer.Exit(0 if all(outcome["ok"] for outcome in checked) else StudyError.exit_code)


def _check(path: Path) -> dict[str, Any]:
    nothing: dict[str, list[Any]] = {"starts": [], "notes": [], "warnings": []}
    try:
        found = nothing if _is_correct_inventory(path) else _of_study(path)
    except StudyError as error:
        return {"path": str(path), "ok": False, "errors": str(error).splitlines(), **nothing}
    return {"path": str(path), "ok": True, "errors": [], **found}


def _is_correct_inventory(path: Path) -> bool:
    """True if the file is an inventory of hosts. Raises StudyError if it has mistakes."""
    from netstudy.documents.source import read
    from netstudy.inventory import is_inventory, load_inventory

    if not path.is_file() or not is_inventory(read(path)):
        return False
    load_inventory(path)
    return True


def _of_study(path: Path) -> dict[str, list[Any]]:
    from netstudy.study import programs_of_forms

    prepared = prepare(Asked(path))
    _check_variants(path, prepared.written)
    return {
        "starts": programs_of_forms(prepared.written),
        "notes": [*prepared.unsupported(), *prepared.missing_controls()],
        "warnings": list(foreseen_warnings(prepared)),
    }


def _check_variants(path: Path, study: Study) -> None:
    """Plans the study in each of its variants. Raises StudyError for the first that is wrong."""
    from netstudy.study.vocabulary import HOSTS

    for name in study.testbeds:
        # Hosts need an inventory, but the plan does not depend on it.
        testbed = None if name == HOSTS else name
        try:
            prepare(Asked(path, testbed=testbed, variant=name))
        except StudyError as error:
            raise StudyError(f"{error} (in the variant for {name})") from error


def _tell(outcome: dict[str, Any]) -> None:
    if outcome["ok"]:
        show(f"{outcome['path']}: ok")
    for error in outcome["errors"]:
        say(error)
    for command in outcome["starts"]:
        show(f"  starts: {command_text(command)}")
    for note in outcome["notes"]:
        show(f"  note: {note}")
    for warning in outcome["warnings"]:
        show(f"  warning: {warning}")
