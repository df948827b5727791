"""Folders of own clusters: one for each, under the folder for temporary files."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from netstudy.store.lock import is_locked, locked

_PREFIX = "netstudy-workers-"
_YOUNG_S = 60
"""A folder of this age may be one that another process is about to lock."""


def own_folder(stack: ExitStack) -> str:
    """A new folder that nobody else can read; it is removed when `stack` is closed. Folders of
    commands that were killed before they could remove them are removed now."""
    for left in left_behind():
        shutil.rmtree(left, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    stack.enter_context(locked(Path(folder)))
    return folder


def left_behind() -> list[Path]:
    """This user's folders whose command has ended."""
    return [path for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*") if _is_left(path)]


def _is_left(path: Path) -> bool:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    is_young = time.time() - found.st_mtime < _YOUNG_S
    return found.st_uid == os.geteuid() and not is_young and not is_locked(path)
