"""Finds results folders by the name on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netstudy.cli._terminal import continue_with, say

if TYPE_CHECKING:
    from netstudy.store import Folder, Results


def finished_folder(results: Path, named: str | None, *, or_part: bool = False) -> Folder:
    """The newest folder with this name that has all runs. Prints a note if there is a newer
    unfinished folder, or if the folder itself is not finished.

    With `or_part`, a folder that lacks runs is used if no folder has all runs."""
    from netstudy.store import Results

    tree = Results(results)
    folder = tree.resolve(named, done=True, or_part=or_part)
    newest = tree.resolve(named, done=False)
    if not newest.path.samefile(folder.path):
        say(f"{newest.path} is newer but not finished; using {folder.path}")
    if not folder.is_done():
        say(f"{folder.path} is not finished: {_lacking(folder)}")
    return folder


def folder_so_far(results: Path, named: str | None) -> Folder:
    """The newest folder with this name, finished or not. An unfinished folder is returned as it is
    now (`FolderSoFar`), so a process that writes to it does not disturb its readers. Prints a note
    if the folder is finished. Raises StudyError if a file of a finished folder changed."""
    from netstudy.store import FolderSoFar, Results
    from netstudy.store.environment import utc_now

    folder = Results(results).resolve(named, done=False)
    if not folder.is_done():
        return FolderSoFar.of(folder, utc_now())
    folder.refuse_changed()
    say(f"{folder.path} is finished: this is its final result")
    return folder


def _lacking(folder: Folder) -> str:
    """The reason why a folder is not sealed, and how to complete it."""
    again = continue_with(folder)
    if missing := len(folder.missing()):
        return f"{missing} of {len(folder.plan().runs)} runs are missing; finish it with: {again}"
    if failed := len(folder.ended_as("failed")):
        return f"{failed} of {len(folder.plan().runs)} runs failed; repeat them with: {again}"
    return f"all runs are there, but not their report; write it with: {again}"


def say_closed(tree: Results) -> None:
    """Print which folders this user may not read, since they are missing from the list of
    results."""
    for path in tree.closed():
        say(f"permission denied: {path}")
