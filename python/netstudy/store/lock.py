"""Allows one writer per folder: an advisory lock, which the kernel releases when the process that
holds it ends, for whatever reason."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from netstudy.errors import StudyError
from netstudy.store.files import storage
from netstudy.store.links import is_plain, open_lock, opened

LOCK_NAME = ".lock"
_ATTEMPTS = 10
_PAUSE_S = 0.02
"""Pause between attempts. There are several attempts because a process that calls `is_locked` holds
the lock for an instant."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock while the block runs.

    Raises StudyError if another process holds the lock, if the folder cannot be written to, or if
    the lock is not a file in the folder itself.
    """
    with storage(folder), opened(folder) as handle:
        descriptor = open_lock(handle, LOCK_NAME, folder)
    try:
        _take(descriptor, folder)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, folder: Path) -> None:
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_S)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        return
    holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
    by = f" (process {holder})" if holder else ""
    raise StudyError(f"another netstudy{by} is writing to {folder}; wait until it has ended")


def is_locked(folder: Path) -> bool:
    """Whether a process is writing to the folder now."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe would wait for a writer
        descriptor = os.open(folder / LOCK_NAME, flags)
    except OSError:
        return False
    try:
        if not is_plain(os.fstat(descriptor)):
            return False
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def remove_false_lock(folder: Path) -> None:
    """Remove an entry that has the lock's name but is not a lock file, such as a link. No process
    can hold such a lock."""
    lock = folder / LOCK_NAME
    with suppress(FileNotFoundError):
        if not is_plain(lock.lstat()):
            lock.unlink()
