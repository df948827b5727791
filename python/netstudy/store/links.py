"""No link leads out of a results folder.

A folder may come from somebody else. A link under one of the names that netstudy gives would have
it write, lock or remove files of the user elsewhere. So everything under these names is a regular
file or a folder, or the whole folder is refused; and where netstudy writes, it opens each name
below the results folder by the handle of the one above, without following links.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path

from netstudy.errors import StudyError

FILES_PREFIX = "netstudy-files-"
"""Begins the name of a folder for the files of a run under way. What is in it, sockets of a
database for example, is the run's own, and nothing is written there by its path."""
_OPEN = os.O_RDONLY | os.O_DIRECTORY


def refuse_links(folder: Path, own: Container[str]) -> None:
    """Raise StudyError if one of the folder's own names, or anything below one, is neither a
    regular file nor a folder. The folder itself may be reached by a link."""
    strange = min(_strange(folder, own), default=None)
    if strange is not None:
        raise _refusal(folder, strange)


def _strange(folder: Path, own: Container[str]) -> Iterator[Path]:
    """Entries that are neither regular files nor folders. Their kind comes with their names, so
    that no file of a large folder is looked at."""
    pending = [folder]
    while pending:
        with os.scandir(inside := pending.pop()) as entries:
            for entry in entries:
                if inside == folder and entry.name not in own:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith(FILES_PREFIX):
                        pending.append(inside / entry.name)
                elif not entry.is_file(follow_symlinks=False):
                    yield inside / entry.name


def _refusal(folder: Path, path: Path) -> StudyError:
    name = path.relative_to(folder)
    if path.is_symlink():
        what = f"a link to {path.readlink()}"
    else:
        what = "another file's name too" if path.is_file() else "no regular file"
    return StudyError(
        f"{folder} is refused: {name} in it is {what}. Whatever netstudy reads or writes in a "
        f"results folder is in that folder; remove {name}, or get a copy of the folder without it"
    )


@contextmanager
def opened(folder: Path, within: Path | None = None) -> Iterator[int]:
    """The handle of a folder. `within` is the results folder that it lies in, if it lies in one.

    Raises StudyError where a name below the results folder is a link, and OSError.
    """
    top = within or folder
    handle = os.open(top, _OPEN)
    try:
        reached = top
        for name in folder.relative_to(top).parts:
            reached /= name
            below = _open_below(handle, name, _OPEN, top, reached)
            os.close(handle)
            handle = below
        yield handle
    finally:
        os.close(handle)


def open_lock(handle: int, name: str, folder: Path) -> int:
    """Open the lock of a folder by the folder's handle, for reading and writing; it is made if it
    is not there. Raises StudyError if it is anything but a file with that one name."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK  # opening a pipe would wait for another process
    lock = _open_below(handle, name, flags, folder, folder / name)
    if not is_plain(os.fstat(lock)):
        os.close(lock)
        raise _refusal(folder, folder / name)
    return lock


def is_plain(found: os.stat_result) -> bool:
    """Whether a file is a regular one, which would not be changed under another name too. It has no
    name at all after another process has removed it."""
    return stat.S_ISREG(found.st_mode) and found.st_nlink <= 1


def _open_below(handle: int, name: str, flags: int, top: Path, path: Path) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW, 0o644, dir_fd=handle)
    except OSError as error:
        error.filename = str(path)
        # Linux says ENOTDIR of a link where a folder is asked for, else ELOOP; a pipe may be ENXIO.
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO) and not _is_own(path):
            raise _refusal(top, path) from error
        raise


def _is_own(path: Path) -> bool:
    """Whether there is nothing, a regular file or a folder."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
