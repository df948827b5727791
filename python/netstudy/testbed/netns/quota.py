"""Processor time of a host, limited by a control group: that of its processes, not of the network.

What the kernel does for a host in soft interrupts is not charged to its group, so throughput is not
in proportion to a quota. Control groups outlive their processes: those of a run are removed when it
ends, and those of a run that was killed by a later one.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from netstudy.errors import TestbedError

_PREFIX = "netstudy-"
_STALE_S = 60
"""A group that has been empty for so long belongs to a run that was killed."""
_PERIOD_US = 100_000
"""The kernel's default (Documentation/scheduler/sched-bwc.rst). It takes quotas of whole
microseconds from 1 ms on: a thousandth of a percent is carried exactly, and 1 % is the least."""
_CGROUPS = Path("/sys/fs/cgroup")


@contextmanager
def quotas(percents: dict[str, float]) -> Iterator[dict[str, Path]]:
    """A control group for each host with a quota, in percent of one processor, for the block.

    Gives host -> the file that takes a process in. Raises TestbedError where this user may not.
    """
    if not percents:
        yield {}
        return
    _remove_stale()
    parent = _parent() / f"{_PREFIX}{secrets.token_hex(6)}"
    try:
        parent.mkdir()
        _let_children_have(parent)
        yield {host: _group(parent / host, percent) for host, percent in percents.items()}
    except OSError as error:
        raise TestbedError(
            f"cannot limit the processor time of hosts: {error.filename}: {error.strerror}; "
            "that needs root and the cpu controller of control groups"
        ) from error
    finally:
        _remove(parent)


def _parent() -> Path:
    """Where the cpu controller is: of its own hierarchy (version 1), or of the unified one."""
    return next((path for path in (_CGROUPS / "cpu", _CGROUPS) if path.is_dir()), _CGROUPS)


def _is_unified(parent: Path) -> bool:
    return (parent / "cgroup.controllers").exists()


def _let_children_have(parent: Path) -> None:
    if _is_unified(parent):
        for group in (parent.parent, parent):
            (group / "cgroup.subtree_control").write_text("+cpu")


def _group(group: Path, percent: float) -> Path:
    group.mkdir()
    quota_us = round(percent * _PERIOD_US / 100)
    if _is_unified(group):
        (group / "cpu.max").write_text(f"{quota_us} {_PERIOD_US}")
    else:
        (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    return group / "cgroup.procs"


def _remove_stale() -> None:
    for group in _parent().glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if time.time() - group.stat().st_mtime > _STALE_S:
                _remove(group)


def _remove(parent: Path) -> None:
    """The kernel keeps groups that have processes: those of a run that is under way."""
    with suppress(OSError):
        for group in parent.iterdir():
            if group.is_dir():
                group.rmdir()
        parent.rmdir()
