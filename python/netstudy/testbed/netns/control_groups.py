"""Control groups: they limit the CPU time, memory and disk use of all processes of a host together.

Both versions of control groups are supported: the unified hierarchy, and one hierarchy per
controller (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1). The kernel does not charge soft
interrupts for a host to the host's group, so throughput is not proportional to the quota. Control
groups outlive their processes: a run removes its own groups at its end, and a later run removes the
groups of a run that was killed.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from netstudy.errors import TestbedError

Controller = Literal["cpu", "memory", "io"]
CONTROLLERS: Final[tuple[Controller, ...]] = get_args(Controller)

_ROOT = Path("/sys/fs/cgroup")
_OLD_NAMES: Final[Mapping[Controller, str]] = {"cpu": "cpu", "memory": "memory", "io": "blkio"}
"""Folders of the controllers in version 1."""
_PREFIX = "netstudy-"
_STALE_S = 60
"""An empty group older than this belongs to a run that was killed."""
_PERIOD_US = 100_000
"""The kernel's default (Documentation/scheduler/sched-bwc.rst). The kernel accepts quotas in whole
microseconds, at least 1 ms. So quotas are at least 1 %, in steps of 0.001 %."""


@dataclass(frozen=True)
class DiskLimit:
    """The rate of a disk, in each direction."""

    device: str
    """Major and minor number: `254:0`."""
    rate_bps: int
    operations_per_s: int | None = None
    """Requests per second; None: only the rate is limited."""


@dataclass(frozen=True)
class Limits:
    """Limits for all processes of a host together; None: no limit."""

    cpu_pct: float | None = None
    """Percent of one CPU."""
    memory_bytes: int | None = None
    disk: DiskLimit | None = None

    @property
    def controllers(self) -> list[Controller]:
        """The controllers that are needed for these limits."""
        asked = {"cpu": self.cpu_pct, "memory": self.memory_bytes, "io": self.disk}
        return [one for one in CONTROLLERS if asked[one] is not None]


@contextmanager
def control_groups(limits: Mapping[str, Limits]) -> Iterator[dict[str, list[Path]]]:
    """Makes control groups for each host, which exist while the block runs.

    Yields host -> the files that add a process to its groups. Raises TestbedError if this user may
    not make groups.
    """
    needed = [
        one for one in CONTROLLERS if any(one in each.controllers for each in limits.values())
    ]
    name = f"{_PREFIX}{secrets.token_hex(6)}"
    parents = {one: _hierarchy(one) / name for one in needed}
    try:
        for controller, parent in parents.items():
            _remove_stale(parent.parent)
            parent.mkdir(exist_ok=True)
            _enable(controller, parent)
        yield {host: _made(host, own, parents) for host, own in limits.items() if own.controllers}
    except OSError as error:
        raise TestbedError(
            f"cannot limit hosts: {error.filename}: {error.strerror}; that needs root "
            f"and these controllers of control groups: {', '.join(needed)}"
        ) from error
    finally:
        for parent in parents.values():
            _remove(parent)


def join_groups(files: Iterable[Path]) -> None:
    """Add the calling process to control groups, by the files that `control_groups` yields."""
    for file in files:
        file.write_text("0")


def usable() -> list[Controller]:
    """The controllers for which this process may make groups."""
    return [one for one in CONTROLLERS if _may_make(one)]


def _may_make(controller: Controller) -> bool:
    tried = _hierarchy(controller) / f"{_PREFIX}{secrets.token_hex(6)}"
    try:
        tried.mkdir()
        _enable(controller, tried)
    except OSError:
        return False
    finally:
        _remove(tried)
    return True


def _made(host: str, limits: Limits, parents: Mapping[Controller, Path]) -> list[Path]:
    groups = dict.fromkeys(parents[one] / host for one in limits.controllers)
    for group in groups:
        group.mkdir()
    for controller in limits.controllers:
        for file, text in _settings(controller, limits, unified=_is_unified(parents[controller])):
            (parents[controller] / host / file).write_text(text)
    return [group / "cgroup.procs" for group in groups]


def _settings(
    controller: Controller, limits: Limits, *, unified: bool
) -> Iterator[tuple[str, str]]:
    match controller:
        case "cpu":
            assert limits.cpu_pct is not None, "a limit that is there"
            quota_us = round(limits.cpu_pct * _PERIOD_US / 100)
            if unified:
                yield "cpu.max", f"{quota_us} {_PERIOD_US}"
            else:
                yield "cpu.cfs_period_us", str(_PERIOD_US)
                yield "cpu.cfs_quota_us", str(quota_us)
        case "memory":
            yield "memory.max" if unified else "memory.limit_in_bytes", str(limits.memory_bytes)
        case "io":
            assert limits.disk is not None, "a limit that is there"
            yield from _of_disk(limits.disk, unified=unified)


def _of_disk(limit: DiskLimit, *, unified: bool) -> Iterator[tuple[str, str]]:
    bytes_per_s, operations = limit.rate_bps // 8, limit.operations_per_s
    if unified:
        text = f"{limit.device} rbps={bytes_per_s} wbps={bytes_per_s}"
        if operations is not None:
            text += f" riops={operations} wiops={operations}"
        yield "io.max", text
        return
    for way in ("read", "write"):
        yield f"blkio.throttle.{way}_bps_device", f"{limit.device} {bytes_per_s}"
        if operations is not None:
            yield f"blkio.throttle.{way}_iops_device", f"{limit.device} {operations}"


def disk_of(folder: Path) -> str | None:
    """The disk of a folder, as control groups name it; None: the folder is not on a disk that they
    can limit."""
    device = folder.stat().st_dev
    if os.major(device) == 0:  # a file system that is not on a disk
        return None
    shown = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    whole = shown.resolve().parent if (shown / "partition").exists() else shown
    try:
        return (whole / "dev").read_text().strip()
    except OSError:
        return None


def _hierarchy(controller: Controller) -> Path:
    """The folder of a controller: its own hierarchy (version 1), or the unified one."""
    old = _ROOT / _OLD_NAMES[controller]
    return old if old.is_dir() else _ROOT


def _is_unified(parent: Path) -> bool:
    return (parent / "cgroup.controllers").exists()


def _enable(controller: Controller, parent: Path) -> None:
    if _is_unified(parent):
        for group in (parent.parent, parent):
            (group / "cgroup.subtree_control").write_text(f"+{controller}")


def _remove_stale(hierarchy: Path) -> None:
    for group in hierarchy.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if time.time() - group.stat().st_mtime > _STALE_S:
                _remove(group)


def _remove(parent: Path) -> None:
    """Remove groups. The kernel refuses to remove a group that has processes: that group belongs to
    a run in progress."""
    with suppress(OSError):
        for group in parent.iterdir():
            if group.is_dir():
                group.rmdir()
        parent.rmdir()
