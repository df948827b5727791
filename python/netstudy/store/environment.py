"""The machine and the software that a run was carried out with (`environment.json`)."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from netstudy import __version__

Environment = dict[str, str | int | None]


def host() -> Environment:
    """This machine and the Python side of the software, as far as the system reports them."""
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
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, None)


def cores() -> int:
    """Number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def memory_bytes() -> int:
    """The machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def utc_now() -> datetime:
    """The time of day, to the second, in UTC."""
    return datetime.now(UTC).replace(microsecond=0)


def iso(time: datetime) -> str:
    """A time as 2026-11-21T20:30:00Z."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
