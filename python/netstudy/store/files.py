"""Writes files so that a crash, a full disk or a power cut never leaves a partial file."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from netstudy.errors import StudyError
from netstudy.store.links import opened

TEMPORARY_SUFFIX = ".tmp"
"""Suffix of a file that is being written; files of an interrupted writer keep it and are
useless."""

_CAUSES = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the disk quota is used up; free some space",
    errno.EROFS: "the file system is read-only; choose another folder",
    errno.EACCES: "permission denied; choose another folder",
    errno.EPERM: "permission denied; choose another folder",
    errno.ENOTDIR: "a file stands where a folder must be; move it or choose another folder",
    errno.EEXIST: "a file stands where a folder must be; move it or choose another folder",
}


@contextmanager
def storage(path: Path) -> Iterator[None]:
    """Turn an OSError inside the block into a StudyError.

    The message gives the cause in plain words, and the file of the error, or `path` if it has none.
    """
    try:
        yield
    except OSError as error:
        raise StudyError(_describe(error, path)) from error


def _describe(error: OSError, path: Path) -> str:
    where = error.filename if isinstance(error.filename, str) else path
    cause = _CAUSES.get(error.errno or 0, error.strerror or str(error))
    return f"cannot write {where}: {cause}"


def write_atomic(path: Path, data: bytes | Iterable[bytes], *, within: Path | None = None) -> None:
    """Write `data` to `path` atomically and durably: a crash leaves the old content or the new.

    Large data may be given in parts. `within` is the results folder that contains the file, if any.
    Raises an OSError about `path`, after removing the temporary file, and StudyError if a folder
    between the results folder and the file is a link.
    """
    aside = f".{path.name}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}"
    try:
        with opened(path.parent, within) as folder:
            try:
                _write_through(aside, folder, data)
                os.replace(aside, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(aside, dir_fd=folder)  # by the folder's handle
                raise
            os.fsync(folder)
    except OSError as error:
        error.filename = str(path)
        raise


def _write_through(name: str, folder: int, data: bytes | Iterable[bytes]) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder)
    with open(descriptor, "wb") as file:  # noqa: PTH123  # a handle, not a path
        file.writelines([data] if isinstance(data, bytes) else data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Flush a folder's list of names to the disk, so that a rename in it survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_link(link: Path, target: str) -> None:
    """Point the symbolic link `link` to `target`, without a moment in which it is missing."""
    aside = link.with_name(f".{link.name}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")
    aside.symlink_to(target)
    try:
        aside.replace(link)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise


def sha256(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
