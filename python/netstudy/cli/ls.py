"""`netstudy ls`: list the results folders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netstudy.cli import _options as options
from netstudy.cli._folders import say_closed
from netstudy.cli._terminal import derived_changed_text, print_json, show, state
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.store import Folder

NAME = "ls"
EPILOG = "Example: netstudy ls --results /data/results"


def command(results: options.Results = options.RESULTS, json: options.Json = False) -> None:
    """List the results folders, newest first: study, time, runs done, state.

    A note follows if the report, cells.csv or a figure changed after the run was done.
    """
    from netstudy.store import Results

    tree = Results(results)
    rows = [_row(folder) for folder in tree.folders(without_plan=True)]
    if json:
        print_json(rows)
    else:
        _print_table(rows)
    say_closed(tree)


def _row(folder: Folder) -> dict[str, Any]:
    where = {"study": folder.path.parent.name, "time": folder.path.name}
    return {**where, **_progress(folder), "folder": str(folder.path)}


def _progress(folder: Folder) -> dict[str, Any]:
    """The number of runs, the number of finished runs, and the state. An unreadable folder gets a
    state, not an error, so that the others are still listed."""
    try:
        folder.refuse_links()
        runs = len(folder.plan().runs)
        done, now = runs - len(folder.missing()), state(folder)
        is_changed = now == "done" and folder.changed_since_sealed(by_date=True)
        return {
            "runs": runs,
            "done": done,
            "state": "changed" if is_changed else now,
            "derived_changed": folder.derived_changed() if now == "done" else [],
        }
    except StudyError:
        return {"runs": None, "done": None, "state": "unreadable", "derived_changed": []}


def _print_table(rows: list[dict[str, Any]]) -> None:
    """One line per folder. The path is the last column and is never shortened, so that it can be
    copied."""
    lines = [("study", "time (UTC)", "runs done", "state", "folder")]
    for row in rows:
        done = "" if row["runs"] is None else f"{row['done']}/{row['runs']}"
        lines.append((row["study"], row["time"], done, row["state"], row["folder"]))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        show("  ".join(padded).rstrip())
    for row in rows:
        if row["derived_changed"]:
            show(f"{row['folder']}: {derived_changed_text(row['derived_changed'])}")
