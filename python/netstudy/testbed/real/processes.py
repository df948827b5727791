"""The processes of a run, which are ended when the run ends. The engine's programs read a plan and
commands, and write records, which are stored byte for byte. Other programs are a database or a
program to be measured; only their log is kept."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from subprocess import SubprocessError
from typing import IO, Any, Generic, NoReturn, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from netstudy.testbed.real.channel import (
    GRACE_S,
    Channel,
    LocalChannel,
    before,
    how_ended,
    stopped_by,
    was_killed,
)
from netstudy.testbed.real.wire import EndRecord, PhaseRecord, ProgressRecord, StopCommand
from netstudy.wire import to_json
from netstudy.wire_model import Wire

START_S = 20.0
"""How long processes may take to start and to open connections."""
_LOG_LINES = 1_000
"""How many lines at the end of a log are kept."""


class _Record(Protocol):
    """The field that all records of processes have."""

    @property
    def kind(self) -> str: ...


RecordT = TypeVar("RecordT", bound=_Record)
OneT = TypeVar("OneT")

Transcript = dict[str, list[bytes]]
"""Node -> all lines that the node's process has written."""


class NodeError(Exception):
    """A process of a run has failed; has the name of the process and its error message."""

    def __init__(self, node: str, message: str) -> None:
        """`node` is the name of the process in records."""
        super().__init__(f"{node}: {message}")
        self.node = node
        self.message = message


class LostHostError(NodeError):
    """A run has lost a host, which may come back."""


@dataclass
class NodeProcess(Generic[RecordT]):
    """A running process of the engine; `close` ends it in any case."""

    node: str
    adapter: TypeAdapter[RecordT]
    channel: Channel
    lines: list[bytes] = field(default_factory=list)
    """All lines that the process has written, byte for byte."""
    aside: list[RecordT] = field(default_factory=list)
    """Records that arrived while another kind was awaited."""
    last: RecordT | None = None
    """Its latest record."""
    on_record: Callable[[RecordT], None] = lambda _: None
    """Called with each record as it is read."""

    async def send(self, line: Wire) -> None:
        """Write one line to the standard input of the process."""
        await self.channel.write(f"{to_json(line)}\n".encode())

    async def expect(
        self,
        kind: type[OneT],
        matches: Callable[[OneT], bool] = lambda _: True,
        *,
        silence_limit_s: float | None = None,
    ) -> OneT:
        """Wait for the next record of a kind. Records of other kinds before it go to `aside`.

        Raises NodeError if the process ends, reports a failure, or writes nothing for longer than
        the limit.
        """
        while True:
            record = await self._next(silence_limit_s)
            if isinstance(record, kind) and matches(record):
                return record
            self.aside.append(record)

    async def finish(self, last: type[Any]) -> list[RecordT]:
        """Wait for the process to end. Returns its records up to and including the record of kind
        `last`."""
        found: list[RecordT] = []
        while not found or not isinstance(found[-1], last):
            found.append(await self._next())
        await self.channel.wait()
        return found

    async def say_why(self) -> NoReturn:
        """Raise NodeError with the reason why the process ended without a command to stop."""
        while True:
            await self._next()

    async def wait(self) -> None:
        """Wait until the process has ended."""
        await self.channel.wait()

    @property
    def killed(self) -> bool:
        """True if a signal has ended the process."""
        return self.channel.killed

    @property
    def stopped_by(self) -> str | None:
        """The signal that has stopped (paused) the process; None while it runs and after its
        end."""
        return self.channel.stopped_by

    async def close(self) -> None:
        """End the process if it still runs."""
        await self.channel.close()

    async def _next(self, silence_limit_s: float | None = None) -> RecordT:
        line = await self._line(silence_limit_s)
        if line:
            self.lines.append(line)
        if not line.endswith(b"\n"):
            raise NodeError(self.node, await self.channel.how_ended())
        try:
            record = self.adapter.validate_json(line)
        except ValidationError as error:
            shown = line[:80].decode("utf-8", "backslashreplace").strip()
            raise NodeError(self.node, f"wrote a line that is not a record: {shown!r}") from error
        if record.kind == "error":
            raise NodeError(self.node, str(getattr(record, "message", "failed")))
        self.last = record
        self.on_record(record)
        return record

    async def _line(self, silence_limit_s: float | None) -> bytes:
        try:
            async with asyncio.timeout(silence_limit_s):
                return await self.channel.readline()
        except TimeoutError:
            said = f"has said nothing for {silence_limit_s:g} s; last heard: {described(self.last)}"
            raise NodeError(self.node, said) from None


@dataclass
class PlainProcess:
    """A running process without a protocol. Created by `start`; `close` ends it in any case."""

    node: str
    process: asyncio.subprocess.Process
    log: IO[bytes]
    """The file with the standard output and standard error of the process."""
    end_by: signal.Signals
    lines: list[bytes] = field(default_factory=list)
    """The last lines of the process's log, read once it has ended."""

    @classmethod
    async def start(
        cls,
        node: str,
        command: Sequence[str],
        *,
        folder: str,
        environment: Mapping[str, str],
        prepare: Callable[[], None],
        end_by: signal.Signals,
    ) -> PlainProcess:
        """Start the command in a folder. `prepare` is called in the new process before the command.
        Raises NodeError when it does not start."""
        log = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env=environment,
                preexec_fn=before(prepare),
                # The process gets a session of its own, so that `close` can kill its children too.
                start_new_session=True,
            )
        except (OSError, SubprocessError) as error:
            log.close()
            raise NodeError(node, f"cannot start {command[0]}: {error}") from error
        return cls(node, process, log, end_by)

    async def finished(self) -> None:
        """Wait for its end. Raises NodeError if it failed."""
        if await self.process.wait() != 0:
            await self.say_why()

    async def say_why(self) -> NoReturn:
        """Raise NodeError with the reason why it ended."""
        raise NodeError(self.node, await how_ended(self.process, self.log))

    async def wait(self) -> None:
        """Wait until the process has ended."""
        await self.process.wait()

    @property
    def killed(self) -> bool:
        """See NodeProcess.killed."""
        return was_killed(self.process)

    @property
    def stopped_by(self) -> str | None:
        """See NodeProcess.stopped_by."""
        return stopped_by(self.process)

    async def close(self) -> None:
        """End the process, and its children that are still in its process group."""
        with suppress(ProcessLookupError):
            self.process.send_signal(self.end_by)
        try:
            await asyncio.wait_for(self.process.wait(), GRACE_S)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.log.seek(0)
            self.lines += self.log.read().splitlines(keepends=True)[-_LOG_LINES:]
            self.log.close()


Process = NodeProcess[Any] | PlainProcess
"""Any process of a run."""


async def local_channel(
    node: str, command: Sequence[str], prepare: Callable[[], None] = lambda: None
) -> LocalChannel:
    """Start a command on this machine. `prepare` is called in the new process before the command.
    Raises NodeError when it does not start."""
    try:
        return await LocalChannel.start(command, prepare)
    except OSError as error:
        raise NodeError(node, f"cannot start {command[0]}: {error.strerror}") from error


async def answered(process: NodeProcess[Any], answer: Coroutine[Any, Any, OneT]) -> OneT:
    """A process's answer to a command. Raises NodeError when it does not come in time."""
    try:
        return await asyncio.wait_for(answer, START_S)
    except TimeoutError:
        raise NodeError(process.node, f"has not answered for {START_S:.0f} s") from None


async def ready(process: NodeProcess[Any], kind: type[OneT]) -> OneT:
    """A process's first record. Raises NodeError when it does not come in time."""
    try:
        async with asyncio.timeout(START_S):
            return await process.expect(kind)
    except TimeoutError:
        raise NodeError(process.node, f"is not ready after {START_S:.0f} s") from None


def described(record: _Record | None) -> str:
    """Describes the last message of a process, for timeout errors; None: the process has sent
    none."""
    match record:
        case None:
            return "nothing"
        case ProgressRecord():
            return f"{record.samples:,} done of the phase, {record.bytes:,} bytes"
        case PhaseRecord():
            return f"'{record.name}'"
        case _:
            return f"'{record.kind}'"


class RunProcesses:
    """The processes of the current run."""

    def __init__(self, stack: AsyncExitStack, transcript: Transcript) -> None:
        """The processes end when `stack` unwinds; `transcript` collects their output while they
        run."""
        self._stack = stack
        self._transcript = transcript
        self._processes: list[Process] = []

    async def start(
        self, node: str, channel: Channel, plan: Wire, adapter: TypeAdapter[RecordT]
    ) -> NodeProcess[RecordT]:
        """Make a program that has been started a process of the run, and give it its plan."""
        process = NodeProcess(node, adapter, channel)
        self._note(process)
        await process.send(plan)
        return process

    async def start_plain(self, node: str, command: Sequence[str], **options: Any) -> PlainProcess:
        """See PlainProcess.start."""
        process = await PlainProcess.start(node, command, **options)
        self._note(process)
        return process

    def _note(self, process: Process) -> None:
        self._stack.push_async_callback(process.close)
        self._transcript[process.node] = process.lines
        self._processes.append(process)

    def at_end(self, act: Callable[[], object]) -> None:
        """Call `act` at the end, after all processes that are started later have ended."""
        self._stack.callback(act)

    def accompany(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a background task until the run ends."""
        self._stack.push_async_callback(_end, asyncio.ensure_future(work))

    def stopped_by_signals(self) -> list[str]:
        """A sentence for each process that a signal has stopped (paused): probably the reason why
        others time out."""
        found = [(process.node, process.stopped_by) for process in self._processes]
        return [f"{node} stands still, stopped by {name}" for node, name in found if name]

    async def collect_last_records(self) -> None:
        """After a failure, let the processes that still run write their final records."""
        able = [
            process
            for process in self._processes
            if isinstance(process, NodeProcess) and process.stopped_by is None
        ]
        await asyncio.gather(*map(_collect_last_records, able))


async def _end(work: asyncio.Future[None]) -> None:
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work


async def _collect_last_records(process: NodeProcess[Any]) -> None:
    await process.send(StopCommand())
    with suppress(NodeError, TimeoutError):  # the reason for the failure is already known
        await asyncio.wait_for(process.finish(EndRecord), GRACE_S)
