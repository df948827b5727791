"""Finds and ends testbed processes that outlived their run.

The kernel ends a sandbox together with the netstudy that started it, whatever the signal. But a
sandbox survives if the program that started it was killed just before it asked the kernel for this.
The sandbox's command line names its results folder.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

SUPERVISOR = "netstudy.testbed.netns"
"""The module that a sandbox runs."""
CAPTURES = "--captures="
"""The option of a sandbox that gives its output folder, inside the results folder."""

_TIME_LIMIT_S = 5.0
_PROC = Path("/proc")


@dataclass(frozen=True)
class Leftover:
    """A process that works for a results folder."""

    pid: int
    start_ticks: int
    """Start time, in clock ticks since boot. Ids of processes are used again; id and start time
    together identify one process."""
    command: tuple[str, ...]
    folder: Path
    """The results folder."""


def working_for(folders: Iterable[Path]) -> list[Leftover]:
    """This user's processes that work for the given results folders, whether or not their run is
    still in progress."""
    own = {folder.resolve() for folder in folders}
    return [found for found in _supervisors() if found.folder in own]


def end(leftover: Leftover) -> bool:
    """Kill the process, unless its id now belongs to another process; returns whether the process
    has ended.

    The descriptor refers to one process only, so that another process which gets the same id
    meanwhile is never killed (pidfd_open(2)).
    """
    try:
        descriptor = os.pidfd_open(leftover.pid)
    except ProcessLookupError:
        return True
    try:
        if _supervisor(leftover.pid) != leftover:
            return True
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        return bool(select.select([descriptor], [], [], _TIME_LIMIT_S)[0])
    except ProcessLookupError:
        return True
    finally:
        os.close(descriptor)


def _supervisors() -> Iterator[Leftover]:
    for path in _PROC.iterdir():
        if path.name.isdigit() and (found := _supervisor(int(path.name))) is not None:
            yield found


def _supervisor(pid: int) -> Leftover | None:
    """The process, if it belongs to this user and works for a results folder."""
    path = _PROC / str(pid)
    try:
        if path.stat().st_uid != os.geteuid():
            return None
        command = tuple((path / "cmdline").read_text().rstrip("\0").split("\0"))
        start_ticks = started((path / "stat").read_text())
    except (OSError, UnicodeDecodeError):
        return None
    captures = captures_of(command)
    if captures is None:
        return None
    return Leftover(pid, start_ticks, command, captures.parent.resolve())


def captures_of(command: tuple[str, ...]) -> Path | None:
    """The folder for captures in the command of a sandbox; None for any other command."""
    if SUPERVISOR not in command or command[command.index(SUPERVISOR) - 1] != "-m":
        return None
    named = [word.removeprefix(CAPTURES) for word in command if word.startswith(CAPTURES)]
    return Path(named[0]) if named else None


def started(stat: str) -> int:
    """Field 22 of /proc/…/stat. Fields are counted after the last parenthesis, since the program's
    name, in parentheses, may contain any character (proc(5))."""
    return int(stat.rpartition(")")[2].split()[22 - 3])
