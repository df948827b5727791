"""Channels: how the lines of a program of the engine come and go. A local program has pipes; a
program on another host has a share of that host's session."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Protocol

from netstudy.testbed.child import dies_with_parent

LINE_BYTES_MAX = 64 * 1024 * 1024
"""The most bytes in a line. A thousand iterations of a server take about 100 kB, the raw text of a
large host's counters some MB."""
GRACE_S = 2.0
"""How long a program may take to end after `stop`, or after its input was closed."""
_STDERR_LINES = 5


class Channel(Protocol):
    """A running program that reads and writes lines."""

    async def write(self, line: bytes) -> None:
        """Write one line, which ends in LF. A program that has ended is no error here: its last
        line says why."""

    async def readline(self) -> bytes:
        """The next line. Without LF at its end, the program has ended: a cut line, or nothing."""

    async def wait(self) -> None:
        """Wait until the program has ended."""

    async def how_ended(self) -> str:
        """Wait until the program has ended. Says how, with the last lines of its standard error."""

    @property
    def killed(self) -> bool:
        """True if a signal has ended the program."""

    @property
    def stopped_by(self) -> str | None:
        """The signal that has stopped (paused) the program; None while it runs and after its
        end."""

    async def close(self) -> None:
        """End the program if it still runs: close its input, then kill it."""


@dataclass
class LocalChannel:
    """A child of this process. Created by `start`."""

    process: asyncio.subprocess.Process
    errors: IO[bytes]

    @classmethod
    async def start(
        cls, command: Sequence[str], prepare: Callable[[], None] = lambda: None
    ) -> LocalChannel:
        """Start the command. `prepare` is called in the new process before the command. Raises
        OSError when it does not start."""
        errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                limit=LINE_BYTES_MAX,
                preexec_fn=before(prepare),
            )
        except OSError:
            errors.close()
            raise
        return cls(process, errors)

    async def write(self, line: bytes) -> None:
        """See Channel.write."""
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        with suppress(BrokenPipeError, ConnectionResetError):
            await self.process.stdin.drain()

    async def readline(self) -> bytes:
        """See Channel.readline."""
        assert self.process.stdout is not None
        return await self.process.stdout.readline()

    async def wait(self) -> None:
        """See Channel.wait."""
        await self.process.wait()

    async def how_ended(self) -> str:
        """See Channel.how_ended."""
        return await how_ended(self.process, self.errors)

    @property
    def killed(self) -> bool:
        """See Channel.killed."""
        return was_killed(self.process)

    @property
    def stopped_by(self) -> str | None:
        """See Channel.stopped_by."""
        return stopped_by(self.process)

    async def close(self) -> None:
        """See Channel.close."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), GRACE_S)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        finally:
            self.errors.close()


def before(prepare: Callable[[], None]) -> Callable[[], None]:
    """A function that is called in a new process before its program begins."""
    dies = dies_with_parent()

    def act() -> None:
        prepare()
        if dies is not None:
            dies()

    return act


async def how_ended(process: asyncio.subprocess.Process, errors: IO[bytes]) -> str:
    """Describes how a child ended, with the last lines of its messages for people."""
    code = await process.wait()
    errors.seek(0)
    said = errors.read().decode("utf-8", "replace").strip().splitlines()[-_STDERR_LINES:]
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return "; ".join([how, *said])


def was_killed(process: asyncio.subprocess.Process) -> bool:
    """True if a signal has ended a child."""
    return (process.returncode or 0) < 0


def stopped_by(process: asyncio.subprocess.Process) -> str | None:
    """See Channel.stopped_by."""
    try:
        # WNOWAIT: the exit status stays available for the code that waits for the end of the
        # process.
        options = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
        found = os.waitid(os.P_PID, process.pid, options)
    except ChildProcessError:
        return None
    return signal.Signals(found.si_status).name if found else None
