"""Results folders by the name that a user gives them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netstudy.cli._terminal import continue_with, say

if TYPE_CHECKING:
    from netstudy.store import Folder, Results


def finished_folder(results: Path, named: str | None, *, or_part: bool = False) -> Folder:
    """The newest folder of that name with all runs. Prints a note about a newer folder that lacks
    runs, and about failed runs.

    With `or_part`, a folder that lacks runs is used if there is no other."""
    from netstudy.store import Results

    tree = Results(results)
    folder = tree.resolve(named, done=True, or_part=or_part)
    newest = tree.resolve(named, done=False)
    if not newest.path.samefile(folder.path):
        say(f"{newest.path} is newer but not finished; using {folder.path}")
    if not folder.is_done():
        say(f"{folder.path} is not finished: {_lacking(folder)}")
    return folder


def _lacking(folder: Folder) -> str:
    """Describes the missing parts of an unsealed folder, and how to complete it."""
    again = continue_with(folder)
    if missing := len(folder.missing()):
        return f"{missing} of {len(folder.plan().runs)} runs are missing; finish it with: {again}"
    failed = sum(record.status == "failed" for record in folder.records())
    if failed:
        return f"{failed} of {len(folder.plan().runs)} runs failed; repeat them with: {again}"
    return f"all runs are there, but not their report; write it with: {again}"


def say_closed(tree: Results) -> None:
    """Print the folders that this user may not read: they are not in the list of results."""
    for path in tree.closed():
        say(f"permission denied: {path}")
