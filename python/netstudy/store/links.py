"""Refuses results folders in which a link leads elsewhere.

A folder may come from somebody else. If one of netstudy's own files in it were a link, netstudy
would write, lock or remove the user's files elsewhere. So the whole folder is refused unless each
of these is a regular file or a folder. To write, netstudy opens each name below the results folder
relative to the handle of the parent folder (openat), without following links.
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
"""Prefix of a folder for the files of a run in progress, such as the sockets of a database. They
belong to the run, and netstudy writes nothing there by path."""
_OPEN = os.O_RDONLY | os.O_DIRECTORY


def refuse_links(folder: Path, own: Container[str]) -> None:
    """Raise StudyError if an entry of the folder whose name is in `own`, or anything inside it, is
    neither a regular file nor a folder. The path of the folder itself may be a link."""
    strange = min(_strange(folder, own), default=None)
    if strange is not None:
        raise _refusal(folder, strange)


def _strange(folder: Path, own: Container[str]) -> Iterator[Path]:
    """Entries that are neither regular files nor folders. `scandir` returns the kind of each entry,
    so a large folder needs no `stat` per file."""
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
        f"{folder} is refused: {name} in it is {what}. netstudy reads and writes only files inside "
        f"the results folder itself; remove {name}, or get a copy of the folder without it"
    )


@contextmanager
def opened(folder: Path, within: Path | None = None) -> Iterator[int]:
    """The handle of a folder. `within` is the results folder that contains it, if any.

    Raises StudyError if a name below the results folder is a link, and OSError if the folder cannot
    be opened.
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
    """Open a folder's lock relative to the folder's handle, for reading and writing; create it if
    missing. Raises StudyError if the lock is not a regular file, or has further hard links."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK  # opening a pipe would wait for another process
    lock = _open_below(handle, name, flags, folder, folder / name)
    if not is_plain(os.fstat(lock)):
        os.close(lock)
        raise _refusal(folder, folder / name)
    return lock


def is_plain(found: os.stat_result) -> bool:
    """Whether a file is regular and has only one name: a write would change it under its other
    names, too. A file without a name, which another process has just removed, counts as plain."""
    return stat.S_ISREG(found.st_mode) and found.st_nlink <= 1


def _open_below(handle: int, name: str, flags: int, top: Path, path: Path) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW, 0o644, dir_fd=handle)
    except OSError as error:
        error.filename = str(path)
        # For a link, Linux returns ENOTDIR with O_DIRECTORY, else ELOOP; for a pipe maybe ENXIO.
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO) and not _is_own(path):
            raise _refusal(top, path) from error
        raise


def _is_own(path: Path) -> bool:
    """Whether the path is absent, a regular file or a folder."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
