"""Programs that the first process of the lab starts and that run until it ends or stops them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any


class Children:
    """The first process of a pid namespace inherits every process whose parent has ended, so it
    waits for more processes than it started."""

    def __init__(self) -> None:
        """No child yet."""
        self._own: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a program, with options of Popen."""
        child = subprocess.Popen(command, **options)
        self._own[child.pid] = child
        return child

    def start_apart(self, command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        """Start a program that signals of the terminal do not reach; its output goes to a file."""
        with log.open("ab") as output:
            return self.start(
                command,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def reap(self) -> None:
        """Wait for all children that have ended. May not be called while another thread waits for a
        child."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            child = self._own.pop(pid, None)
            if child is not None:
                child.returncode = os.waitstatus_to_exitcode(status)

    def kill(self, child: subprocess.Popen[bytes]) -> None:
        """Kill the program and wait for its end.

        unshare(1) and nsenter(1) start it as a child of their own, and end after it.
        """
        for pid in children_of(child.pid) or [child.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        child.wait()
        self._own.pop(child.pid, None)


def children_of(pid: int) -> list[int]:
    """The children of a process; empty if it has ended."""
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
