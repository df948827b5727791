"""Disks of the hosts: each host has a folder on a disk of this machine as its /var/tmp, since its
other folders are RAM disks."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

DISK: Final = "/var/tmp"
"""The folder of a host that is on a disk."""
RAM_DISK: Final = "/tmp"
"""A folder of a host that is on a RAM disk."""

_PREFIX: Final = "netstudy-lab-"
_LOCKED_S: Final = 60
"""A lab locks its folder in less time than this after it made it."""


@contextmanager
def disk_of_lab() -> Iterator[Path]:
    """A private folder on the disk of this machine's /var/tmp, removed at the end. Folders of
    killed labs are removed too."""
    _remove_forgotten()
    folder = Path(mkdtemp(prefix=_PREFIX, dir=DISK))
    # Hosts' users have to pass.
    folder.chmod(0o711)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder)
        os.close(lock)


def _remove_forgotten() -> None:
    for folder in Path(DISK).glob(f"{_PREFIX}*"):
        about = folder.lstat()
        if about.st_uid == os.geteuid() and time.time() - about.st_mtime > _LOCKED_S:
            _remove_unlocked(folder)


def _remove_unlocked(folder: Path) -> None:
    """Remove the folder unless a lab has it."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    except BlockingIOError:
        pass
    finally:
        os.close(lock)
