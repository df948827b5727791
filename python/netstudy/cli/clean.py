"""`netstudy clean`: remove unfinished results or named ones, or the engine from hosts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netstudy.cli import _options as options
from netstudy.cli._folders import say_closed
from netstudy.cli._terminal import print_json, say, show, state
from netstudy.errors import StudyError, TestbedError

if TYPE_CHECKING:
    from netstudy.store import Results
    from netstudy.testbed.leftovers import Leftover

NAME = "clean"
EPILOG = "Example: netstudy clean --dry-run"


def command(
    run: Annotated[
        str | None,
        typer.Argument(metavar="[RUN]", help="Remove this results folder, finished or not."),
    ] = None,
    results: options.Results = options.RESULTS,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list the results and processes to remove.")
    ] = False,
    testbed: Annotated[
        str | None,
        typer.Option(
            "--testbed",
            metavar="FILE",
            help="Remove netstudy's engines from the hosts of this inventory, and no results.",
        ),
    ] = None,
    yes: options.Yes = False,
    json: options.Json = False,
) -> None:
    """Remove unfinished results folders and files that an interrupted writer left behind.

    Finished results are removed only when their folder is named. Folders that another process is
    writing to are kept. Processes and networks left over from a dead run are ended first.
    """
    from netstudy.store import Results

    if testbed is not None:
        if run is not None:
            raise StudyError("--testbed removes from hosts, and RUN from the results; give one")
        _clean_hosts(testbed, dry_run=dry_run, yes=yes, json=json)
        return
    tree = Results(results)
    doomed = _unfinished(tree) if run is None else [_named(tree, run)]
    processes = _processes(tree, doomed)
    say_closed(tree)
    if not json:
        _tell(doomed, processes, dry_run)
    found = len(doomed) + len(processes)
    agreed = bool(found) and not dry_run and _agreed(found, yes)
    # Processes are ended first, since they could still write to the folders that are removed.
    if agreed:
        _end(processes)
        for path in doomed:
            tree.remove(path)
    if json:
        print_json(_outcome(doomed, processes, agreed))


def _clean_hosts(testbed: str, *, dry_run: bool, yes: bool, json: bool) -> None:
    """Remove the engines from hosts."""
    from netstudy.cli._hosts import removal_commands, remove_engines

    commands = removal_commands(testbed)
    if not json:
        for host, command in commands.items():
            show(f"{host}: {command}" if dry_run else f"remove the engines of {host}")
    agreed = not dry_run and _agreed(len(commands), yes)
    removed = remove_engines(testbed) if agreed else {}
    if json:
        print_json({"removed": removed, "found": list(commands)})


def _outcome(doomed: list[Path], processes: list[Leftover], agreed: bool) -> dict[str, Any]:
    names, pids = [str(path) for path in doomed], [process.pid for process in processes]
    return {
        "removed": names if agreed else [],
        "found": names,
        "ended": pids if agreed else [],
        "processes": pids,
    }


def _processes(tree: Results, doomed: list[Path]) -> list[Leftover]:
    """Processes that still work for the folders to remove, or for folders to which no netstudy is
    writing."""
    from netstudy.testbed.leftovers import working_for

    idle = [folder.path for folder in tree.folders() if not folder.is_running()]
    return working_for([*doomed, *idle])


def _end(processes: list[Leftover]) -> None:
    from netstudy.testbed.leftovers import end

    for process in processes:
        if not end(process):
            raise TestbedError(f"process {process.pid} does not end: {' '.join(process.command)}")


def _unfinished(tree: Results) -> list[Path]:
    folders = tree.folders()
    unfinished = [folder.path for folder in folders if state(folder) == "unfinished"]
    partial = [path for folder in folders if state(folder) == "done" for path in folder.leftovers()]
    return [*unfinished, *partial, *tree.leftovers()]


def _named(tree: Results, run: str) -> Path:
    """The folder on the command line, given as a path or as <study>/<time> inside the results. It
    may lack its plan."""
    from netstudy.store import Folder
    from netstudy.store.create import LATEST

    for path in (Path(run), tree.root / run):
        folder = Folder.at(path, without_plan=True)
        if folder is None:
            continue
        if path.is_symlink() and path.name != LATEST:
            return path  # only the link is removed
        if folder.is_running():
            raise StudyError(f"another netstudy is writing to {folder.path}; it was not removed")
        return folder.path
    raise StudyError(f"{run} is not a results folder; `netstudy ls` lists them")


def _tell(doomed: list[Path], processes: list[Leftover], dry_run: bool) -> None:
    if not doomed and not processes:
        say("nothing to remove")
    for process in processes:
        verb = "would end" if dry_run else "end"
        show(f"{verb} process {process.pid}, which works for {process.folder}")
    for path in doomed:
        show(f"{'would remove' if dry_run else 'remove'} {path}")


def _agreed(count: int, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise StudyError(
            "no terminal to ask for confirmation; nothing was removed. Use --yes, or --dry-run"
        )
    return typer.confirm(f"Remove {count} of them?", err=True)
