"""One writer per folder: an advisory lock that the kernel releases when its holder dies, for
whatever reason."""

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
"""Number of attempts: another process that calls `is_locked` itself holds the lock for an
instant."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock for the block.

    Raises StudyError while another process holds it, when the folder cannot be written to, and when
    the lock is not a file of the folder itself.
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
    """Remove an entry under the lock's name that is not a lock file, such as a link: no process can
    hold the folder by it."""
    lock = folder / LOCK_NAME
    with suppress(FileNotFoundError):
        if not is_plain(lock.lstat()):
            lock.unlink()
