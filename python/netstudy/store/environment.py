"""The machine and the software of a run (`environment.json`)."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from netstudy.version import __version__

_GROUPS = Path("/sys/fs/cgroup")

Environment = dict[str, str | int | None]


def host() -> Environment:
    """This machine, and the Python part of the software, as far as they are known."""
    return {
        "cpu": cpu_name(),
        "cores": cores(),
        "memory_bytes": memory_bytes(),
        "machine": platform.machine(),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "netstudy": __version__,
    }


def cpu_name() -> str | None:
    """The CPU's model name; None if /proc/cpuinfo has none."""
    try:
        return cpu_model(Path("/proc/cpuinfo").read_text())
    except OSError:
        return None


def cpu_model(cpuinfo: str) -> str | None:
    """The CPU's model name in the text of /proc/cpuinfo; None: the kernel of this architecture does
    not give it."""
    lines = cpuinfo.splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, None)


def cores() -> int:
    """Number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def memory_bytes() -> int:
    """The machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def available_memory_bytes() -> int | None:
    """Memory available to programs without swapping, within the limits of control groups; None if
    the system does not report it."""
    found = [*_available_of_machine(), *_available_of_groups()]
    return min(found, default=None)


def _available_of_machine() -> Iterator[int]:
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                yield 1024 * int(line.split()[1])


def _available_of_groups() -> Iterator[int]:
    """For each control group (version 2) that contains this process: the unused part of the group's
    memory limit. Page cache that the kernel can reclaim counts as unused."""
    try:
        own = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    paths = (line.removeprefix("0::/") for line in own if line.startswith("0::/"))
    for path in paths:
        for group in (_GROUPS / path, *(_GROUPS / path).parents):
            if not group.is_relative_to(_GROUPS):
                break
            with suppress(OSError, ValueError):  # no limit, written as "max"
                limit = int((group / "memory.max").read_text())
                used = int((group / "memory.current").read_text())
                stat = (group / "memory.stat").read_text().split()
                cache = int(stat[stat.index("inactive_file") + 1])
                yield max(limit - used + cache, 0)


def utc_now() -> datetime:
    """The current time in UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


def iso(time: datetime) -> str:
    """A time as 2026-11-21T20:30:00Z."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
