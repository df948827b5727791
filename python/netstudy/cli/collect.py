"""`netstudy collect`: take in records that engines elsewhere wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netstudy.cli import _options as options
from netstudy.cli._cluster import refuse_other_testbeds
from netstudy.cli._terminal import continue_with, runs_left, say
from netstudy.errors import StudyError, TestbedError

if TYPE_CHECKING:
    from netstudy.collect import Collected
    from netstudy.store import Folder

NAME = "collect"
EPILOG = "Example: netstudy collect results/incast/latest slice-*.jsonl --slices 10"

_NAMED = 5
"""A message names at most this number of slices or runs."""


def command(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="The results folder that `netstudy run --prepare` made."
        ),
    ],
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help="Outputs of `netstudy-engine sim` for its slices."),
    ],
    slices: Annotated[
        int | None,
        typer.Option("--slices", min=1, metavar="N", help="Name missing slices of N."),
    ] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Take in the records of slices; when all runs are there, write the report as `run` does.

    Files may overlap and may be collected again: equal records count once, and a second, different
    record of a run is an error. `netstudy run FOLDER --resume` executes the runs that are missing.
    """
    raise typer.Exit(_collect(_simulated(folder), files, slices, json=json, is_quiet=quiet))


def _simulated(path: Path) -> Folder:
    from netstudy.store import Folder

    folder = Folder.at(path)
    if folder is None:
        raise StudyError(f"{path} is not a results folder; make one with: netstudy run --prepare")
    refuse_other_testbeds(folder.invocation(), str(path))
    if folder.is_done():
        raise StudyError(f"{path} is done: nothing is missing")
    return folder


def _collect(
    folder: Folder, files: list[Path], slices: int | None, *, json: bool, is_quiet: bool
) -> int:
    from netstudy.cli.run import Manner, complete, interruptible
    from netstudy.collect import collect
    from netstudy.execute import left_to_do
    from netstudy.testbed import invoked

    with interruptible(), folder.writing():
        collected = collect(folder, files)
    for said in collected.unfinished:
        say(f"warning: {said}")
    if not is_quiet:
        say(f"{folder.path}: {_taken(collected)}")
    if left_to_do(folder, ()).runs:
        _say_missing(folder, slices)
        return TestbedError.exit_code
    manner = Manner(folder.path.parent, threads=None, json=json, is_quiet=is_quiet)
    return complete(folder, invoked(folder.invocation()), manner)


def _taken(collected: Collected) -> str:
    known = f", {collected.known:,} were there" if collected.known else ""
    return f"{collected.new:,} new records{known}"


def _say_missing(folder: Folder, slices: int | None) -> None:
    plan = folder.plan()
    missing = {run.id for run in folder.missing(plan.runs)}
    if not missing:
        say(f"a further round of runs follows; continue with: {continue_with(folder)}")
        return
    if slices is not None:
        from netstudy.cli._slices import slices_of

        for number, runs in enumerate(slices_of(plan, slices), 1):
            if all(run.id in missing for run in runs):
                say(f"slice {number}/{slices} is missing")
    names = _some([run.id for run in plan.runs if run.id in missing])
    say(f"{runs_left(len(missing), len(plan.runs) - len(missing))}: {names}")
    say(f"continue with the missing slices, or here with: {continue_with(folder)}")


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
