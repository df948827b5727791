"""`netstudy validate`: check study files, with the place of every mistake."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netstudy.cli import _options as options
from netstudy.cli._prepare import Asked, Prepared, prepare
from netstudy.cli._programs import command_text
from netstudy.cli._terminal import print_json, say, show
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.report.refs import Sentence

NAME = "validate"
EPILOG = "Example: netstudy validate studies/incast studies/trade"


def command(
    studies: Annotated[
        list[Path],
        typer.Argument(metavar="STUDY...", help="Study files, or the folders that hold them."),
    ],
    json: options.Json = False,
) -> None:
    """Check study files: syntax, names, units, levels, hardware. Exit code 2 when one is wrong.

    A note names parts of a correct study that this version cannot run or report yet. A warning
    names what the study asks and cannot test as it is, such as DCTCP without a switch that marks.
    "starts" is a program that the study has a real testbed start, with the rights of whoever runs
    the study.
    """
    checked = [_check(path) for path in studies]
    if json:
        print_json(checked)
    else:
        for outcome in checked:
            _tell(outcome)
    raise typer.Exit(0 if all(outcome["ok"] for outcome in checked) else StudyError.exit_code)


def _check(path: Path) -> dict[str, Any]:
    from netstudy.study import programs_of_forms

    try:
        prepared = prepare(Asked(path))
    except StudyError as error:
        found = {"ok": False, "errors": str(error).splitlines()}
        return {"path": str(path), **found, "starts": [], "notes": [], "warnings": []}
    return {
        "path": str(path),
        "ok": True,
        "errors": [],
        "starts": programs_of_forms(prepared.written),
        "notes": prepared.unsupported(),
        "warnings": [str(sentence) for sentence in _untested(prepared)],
    }


def _untested(prepared: Prepared) -> Iterator[Sentence]:
    """What the study asks and cannot test, by its plan."""
    from netstudy.analysis.untested import of_plan
    from netstudy.analysis.workloads import workload_of
    from netstudy.report.prose.untested import untested_sentence

    try:
        plan = prepared.planned.whole_plan
    except StudyError:
        return  # a note says what of it cannot be carried out
    if plan.runs:
        yield from map(untested_sentence, of_plan(prepared.study, plan, workload_of(plan)))


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
