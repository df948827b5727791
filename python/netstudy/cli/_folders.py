"""Results folders by the name that a user gives them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netstudy.cli._terminal import say

if TYPE_CHECKING:
    from netstudy.store import Folder, Results


def finished_folder(results: Path, named: str | None) -> Folder:
    """The newest finished folder that a name means. A newer one that is not finished is told of."""
    from netstudy.store import Results

    tree = Results(results)
    folder = tree.resolve(named, done=True)
    newest = tree.resolve(named, done=False)
    if not newest.path.samefile(folder.path):
        say(f"{newest.path} is newer and not finished; {folder.path} is taken")
    return folder


def say_closed(tree: Results) -> None:
    """Print the folders that this user may not read: the list of results lacks them."""
    for path in tree.closed():
        say(f"permission denied: {path}")
