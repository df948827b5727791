"""Makes a results folder, which appears completely or not at all."""

from __future__ import annotations

import errno
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import count
from pathlib import Path

from netstudy.errors import StudyError
from netstudy.plan.planned import Estimate
from netstudy.store.files import TEMPORARY_SUFFIX, replace_link, storage, sync_folder, write_atomic
from netstudy.store.folder import INVOCATION, PLAN, Folder
from netstudy.store.invocation import Invocation
from netstudy.store.lock import locked
from netstudy.units import rough_size

LATEST = "latest"

_REPORT_BYTES = 8_000_000
"""Upper bound for the size of the report, its figures, and the figures' scripts."""


def disk_bytes(estimate: Estimate) -> int:
    """Upper bound for the disk space of a plan's results: the records, although compression makes
    them smaller, the plan, and the report."""
    return (estimate.record_bytes or 0) + estimate.plan_bytes + _REPORT_BYTES


def check_space(folder: Path, needed: int) -> None:
    """Raises StudyError if `needed` bytes do not fit into a folder. The folder may not exist
    yet."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < needed:
        raise StudyError(
            f"not enough space in {folder}: the results may take {rough_size(needed)} and "
            f"{rough_size(free)} are free; free some space or choose another --results"
        )


def create(
    results: Path,
    study: str,
    plan: Iterable[bytes],
    invocation: Invocation,
    files: Mapping[str, bytes],
    needed_bytes: int,
    now: datetime,
) -> Folder:
    """Make `results/<study>/<UTC time>/` for the plan, whose lines are given (`plan_lines`), and
    point `latest` to it.

    `files` maps paths inside the folder to the contents of the study's files (`gather`);
    `needed_bytes` is the most space that all results take (`disk_bytes`). Raises StudyError when
    the folder cannot be made or the results would not fit; in this case, nothing is left behind.
    """
    parent = results / study
    with storage(parent), _parents(parent), _aside(parent) as aside:
        check_space(parent, needed_bytes)
        _fill(aside, plan, invocation, files)
        folder = _place(aside, parent, now)
        try:
            _link_latest(folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return Folder(folder)


@contextmanager
def _parents(folder: Path) -> Iterator[None]:
    """Make the folder with its parents; if the block fails, remove the new folders that are
    empty."""
    absent = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        with suppress(OSError):
            for path in absent:
                path.rmdir()
        raise


@contextmanager
def _aside(parent: Path) -> Iterator[Path]:
    """A locked folder under a temporary name, removed after the block unless it was renamed."""
    aside = parent / f".{secrets.token_hex(4)}{TEMPORARY_SUFFIX}"
    aside.mkdir()
    try:
        with locked(aside):
            yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _fill(
    aside: Path, plan: Iterable[bytes], invocation: Invocation, files: Mapping[str, bytes]
) -> None:
    told = invocation.model_dump_json(indent=1).encode() + b"\n"
    inputs: list[tuple[str, bytes | Iterable[bytes]]] = [
        *files.items(),
        (PLAN, plan),
        (INVOCATION, told),
    ]
    for name, content in inputs:
        (aside / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(aside / name, content)


def _place(aside: Path, parent: Path, now: datetime) -> Path:
    """Rename the folder to the first free name for this second: the time, or the time and a
    number."""
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    names = (stamp if number == 1 else f"{stamp}-{number}" for number in count(1))
    target = next(parent / name for name in names if _moved(aside, parent / name))
    sync_folder(parent)
    return target


def _moved(aside: Path, target: Path) -> bool:
    try:
        aside.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False  # the name is taken
        raise
    return True


def _link_latest(folder: Path) -> None:
    with suppress(PermissionError):  # without links, the names show which is the newest
        replace_link(folder.with_name(LATEST), folder.name)
