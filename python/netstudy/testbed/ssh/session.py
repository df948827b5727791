"""The session of a host: one process there, `netstudy-engine host`, carries everything.

The controller writes `alive` each second. A host that hears nothing for its lease ends its traffic
and itself; a controller that hears nothing for the lease gives the host up. Lines of the host's
children pass through unparsed, each child as a channel.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from signal import Signals
from typing import Final, Literal, TypeVar

from pydantic import ValidationError

from netstudy.errors import TestbedError
from netstudy.testbed.child import dies_with_parent
from netstudy.testbed.real.clocks import Ping
from netstudy.testbed.ssh import host_wire as hw
from netstudy.testbed.ssh import remote
from netstudy.testbed.ssh.connect import Tail, end_process, send_signal
from netstudy.wire import to_json
from netstudy.wire_model import Wire

START_S: Final = 20.0
"""How long the host's process may take to start, and to answer a command."""
GRACE_S: Final = 2.0
"""How long a child or the host's process may take to end after its input was closed."""
_BEAT_S: Final = 1.0
_LOOK_S: Final = 0.1
_LINE_BYTES_MAX: Final = 64 * 1024 * 1024
_NS: Final = 10**9
_SHOWN_BYTES: Final = 80
_ERROR_LINES: Final = 3
_NO_ERRORS: Final = "netstudy's process there was killed, or ssh lost the connection"
_OF_COMMAND: Final = re.compile(r"(?:listen|interfaces) (\d+): (.*)", re.DOTALL)
"""The message of an error that is about a command with a number."""

AnswerT = TypeVar("AnswerT")
Program = Literal["agent"]


class HostInUseError(TestbedError):
    """A host that works for another controller."""

    def __init__(self, message: str, pid: int | None) -> None:
        """`pid` is the id of the host's process there; None: it is not visible."""
        super().__init__(message)
        self.pid = pid


class HostLostError(TestbedError):
    """A host that has ended its session, or is not heard of any more."""


@dataclass
class HostChannel:
    """A child of the host's process. Created by `HostSession.start`; see Channel."""

    name: str
    session: HostSession
    lines: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    ended: hw.EndedRecord | None = None
    is_paused: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the child has ended, or when the session is over."""

    async def write(self, line: bytes) -> None:
        """Write one line, which ends in LF. A child that has ended is no error here."""
        with suppress(HostLostError):  # `how_ended` says why
            await self.session.send_line(self.name, line)

    async def readline(self) -> bytes:
        """The next line; empty after the last one."""
        if self.over.is_set() and self.lines.empty():
            return b""
        return await self.lines.get()

    async def wait(self) -> None:
        """Wait until the child has ended."""
        await self.over.wait()

    async def how_ended(self) -> str:
        """Wait until the child has ended. Says how, with the last lines of its standard error."""
        await self.over.wait()
        if self.ended is None:
            return without_name(self.name, self.session.why_over)
        if self.ended.signal is not None:
            how = f"was killed by signal {self.ended.signal}"
        else:
            how = f"ended with exit code {self.ended.code}"
        return "; ".join([how, *self.ended.errors.strip().splitlines()])

    @property
    def killed(self) -> bool:
        """True if a signal has ended the child."""
        return self.ended is not None and self.ended.signal is not None

    @property
    def stopped_by(self) -> str | None:
        """The signal that has stopped (paused) the child; None while it runs and after its end."""
        return Signals.SIGSTOP.name if self.is_paused and not self.over.is_set() else None

    async def close(self) -> None:
        """End the child if it still runs: close its input, then kill it."""
        with suppress(HostLostError):
            await self.session.send(hw.CloseCommand(name=self.name))
            try:
                await asyncio.wait_for(self.over.wait(), GRACE_S)
            except TimeoutError:
                await self.session.send(hw.SignalCommand(name=self.name, signal="KILL"))
                with suppress(TimeoutError):  # a host that does not answer ends by its lease
                    await asyncio.wait_for(self.over.wait(), START_S)

    def end(self) -> None:
        """Note that no line will come any more."""
        self.over.set()
        self.lines.put_nowait(b"")


class HostSession:
    """The conversation with a host. Created by `host_session`."""

    def __init__(
        self,
        host: str,
        process: asyncio.subprocess.Process,
        errors: Tail,
        hello: hw.HelloRecord,
        printed: tuple[str, ...],
        lease_ns: int,
    ) -> None:
        """`printed` has the lines that came before the session, from the user's log-in scripts."""
        self.host = host
        self.hello = hello
        self.printed = printed
        self.why_over = ""
        """Why the session is over; empty while it goes on."""
        self._process = process
        self._errors = errors
        self._lease_ns = lease_ns
        self._heard_ns = time.monotonic_ns()
        self._heard_at = time.time()
        self._number = 0
        self._answers: dict[int, asyncio.Future[hw.HostRecord]] = {}
        self._received_ns: dict[int, int] = {}
        self._children: dict[str, HostChannel] = {}
        self._starting: asyncio.Future[None] | None = None
        self._start_lock = asyncio.Lock()
        self._write_lock = asyncio.Lock()
        background = (self._read(), self._beat(), self._watch())
        self._tasks = [asyncio.ensure_future(one) for one in background]

    # Commands.

    async def start(self, name: str, program: Program) -> HostChannel:
        """Start a child. Raises HostLostError if the session is over, and TestbedError if the host
        refuses."""
        async with self._start_lock:
            self._starting = asyncio.get_running_loop().create_future()
            await self.send(hw.StartCommand(name=name, program=program))
            await self._within(self._starting, f"to start {name}")
            return self._children[name]

    async def read(self, paths: Sequence[str]) -> dict[str, str]:
        """Text of files by path. Files that cannot be read are missing."""
        found = await self._ask(lambda n: hw.ReadCommand(n=n, paths=tuple(paths)))
        assert isinstance(found, hw.FilesRecord)
        return found.files

    async def interfaces(self) -> tuple[hw.HostInterface, ...]:
        """The network interfaces."""
        found = await self._ask(lambda n: hw.InterfacesCommand(n=n))
        assert isinstance(found, hw.InterfacesRecord)
        return found.interfaces

    async def listen(
        self, local: IPv4Address, peers: Sequence[IPv4Address], port: int, for_s: float
    ) -> tuple[int, int]:
        """Answer probes of peers; port 0: any. Returns the number of the command, for `unlisten`,
        and the port."""
        milliseconds = round(1_000 * for_s)
        found = await self._ask(
            lambda n: hw.ListenCommand(
                n=n, local=local, peers=tuple(peers), port=port, for_ms=milliseconds
            )
        )
        assert isinstance(found, hw.ListeningRecord)
        return found.n, found.port

    async def unlisten(self, number: int) -> None:
        """Close the ports of a `listen`."""
        await self.send(hw.UnlistenCommand(n=number))

    async def reach(
        self,
        local: IPv4Address,
        peer: IPv4Address,
        port: int,
        sizes: Sequence[int],
        timeout_s: float,
    ) -> hw.ReachedRecord:
        """Probe a peer that listens, with packets of these sizes in bytes, the largest first.
        `timeout_s` limits each wait for an answer of the peer."""
        found = await self._ask(
            lambda n: hw.ReachCommand(
                n=n,
                local=local,
                peer=peer,
                port=port,
                sizes=tuple(sizes),
                timeout_ms=round(1_000 * timeout_s),
            ),
            patience_s=START_S + timeout_s * (1 + 2 * len(sizes)),
        )
        assert isinstance(found, hw.ReachedRecord)
        return found

    async def clock(self, count: int) -> list[Ping]:
        """Ask for the host's clock `count` times, one question after the other. Only for times when
        the host sends nothing else: an answer behind other records widens the bound."""
        pings = []
        async with self._write_lock:  # not even `alive` comes between
            for _ in range(count):
                number, answer = self._expected()
                line = _own_line(hw.ClockCommand(n=number))
                sent_ns = time.monotonic_ns()
                await self._write(line)
                found = await self._within(answer, "about its clock")
                assert isinstance(found, hw.ClockRecord)
                received_ns = self._received_ns.pop(number)
                pings.append(Ping(sent_ns, found.monotonic_ns, received_ns))
        return pings

    async def send(self, command: Wire) -> None:
        """Write a command of the host itself. Raises HostLostError if the session is over."""
        async with self._write_lock:
            await self._write(_own_line(command))

    async def send_line(self, name: str, line: bytes) -> None:
        """Write a line to the standard input of a child."""
        async with self._write_lock:
            await self._write(name.encode() + b"\t" + line)

    async def close(self) -> None:
        """End the session, which ends all children."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._process.wait()), GRACE_S)
        self._over(f"{self.host}: the session has ended")
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def check(self) -> None:
        """Raise HostLostError if the session is over."""
        if self.why_over:
            raise HostLostError(self.why_over)

    async def heard_or_over(self) -> None:
        """Wait until the host says something or the session is over; it answers `alive` each
        second."""
        since_ns = time.monotonic_ns()
        while not self.why_over and self._heard_ns < since_ns:
            await asyncio.sleep(_LOOK_S)

    # Answers.

    async def _ask(
        self, make: Callable[[int], Wire], *, patience_s: float = START_S
    ) -> hw.HostRecord:
        number, answer = self._expected()
        await self.send(make(number))
        found = await self._within(answer, "to a command", patience_s)
        self._received_ns.pop(number, None)
        return found

    def _expected(self) -> tuple[int, asyncio.Future[hw.HostRecord]]:
        self._number += 1
        answer: asyncio.Future[hw.HostRecord] = asyncio.get_running_loop().create_future()
        self._answers[self._number] = answer
        return self._number, answer

    async def _within(
        self, answer: asyncio.Future[AnswerT], about: str, patience_s: float = START_S
    ) -> AnswerT:
        self.check()
        try:
            return await asyncio.wait_for(answer, patience_s)
        except TimeoutError:
            raise TestbedError(
                f"{self.host} has not answered {about} for {patience_s:.0f} s"
            ) from None

    async def _write(self, line: bytes) -> None:
        self.check()
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        with suppress(BrokenPipeError, ConnectionResetError):  # the reader finds out why
            await self._process.stdin.drain()

    # Tasks of the session.

    async def _beat(self) -> None:
        """Write `alive` each second."""
        with suppress(HostLostError):
            while True:
                await self.send(hw.AliveCommand())
                await asyncio.sleep(_BEAT_S)

    async def _watch(self) -> None:
        """Give up a host that says nothing for the lease. Not part of `_beat`, which may wait for a
        full pipe."""
        before_ns = time.monotonic_ns()
        while not self.why_over:
            await asyncio.sleep(_BEAT_S)
            now_ns = time.monotonic_ns()
            # If this process was stopped itself, answers may still wait to be read.
            was_late = now_ns - before_ns > 2 * _BEAT_S * _NS
            before_ns = now_ns
            if not was_late and now_ns - self._heard_ns > self._lease_ns:
                at = time.strftime("%H:%M:%S", time.localtime(self._heard_at))
                self._over(f"{self.host} has not been heard of since {at}")
                send_signal(self._process, Signals.SIGKILL)  # ends writers at a full pipe

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            received_ns = self._heard_ns = time.monotonic_ns()
            self._heard_at = time.time()
            name, tab, rest = line.partition(b"\t")
            if not tab:
                self._over(f"{self.host} wrote a line that is not a message: {_shown(line)}")
            elif name:
                self._pass_on(name.decode("utf-8", "replace"), rest)
            else:
                self._own(rest, received_ns)
        said = await self._last_errors() or [_NO_ERRORS]
        self._over("; ".join([f"{self.host} has ended its session", *said]))

    async def _last_errors(self) -> list[str]:
        """The last lines of ssh and of the host's process on their standard error."""
        try:
            said = await asyncio.wait_for(asyncio.shield(self._errors.done()), GRACE_S)
        except TimeoutError:  # the master may still hold it
            return []
        return said.strip().splitlines()[-_ERROR_LINES:]

    def _pass_on(self, name: str, line: bytes) -> None:
        if (channel := self._children.get(name)) is not None:
            channel.is_paused = False
            channel.lines.put_nowait(line)

    def _own(self, line: bytes, received_ns: int) -> None:
        """Handle a record of the host itself."""
        try:
            record = hw.HOST_RECORD.validate_json(line)
        except ValidationError:
            self._over(f"{self.host} wrote a line that is not a record: {_shown(line)}")
            return
        match record:
            case hw.LeaseOverRecord():
                self._over(
                    f"{self.host} has ended its traffic: it heard nothing from here for "
                    f"{self._lease_ns / _NS:g} s"
                )
            case hw.StartedRecord():
                # Before its first line is read.
                self._children[record.name] = HostChannel(record.name, self)
                self._started(None)
            case hw.HostErrorRecord():
                self._refused(record.message)
            case hw.EndedRecord() | hw.PausedRecord():
                self._of_child(record)
            case (
                hw.ClockRecord()
                | hw.FilesRecord()
                | hw.InterfacesRecord()
                | hw.ListeningRecord()
                | hw.ReachedRecord()
            ):
                answer = self._answers.pop(record.n, None)
                if answer is not None and not answer.done():
                    self._received_ns[record.n] = received_ns
                    answer.set_result(record)

    def _of_child(self, record: hw.EndedRecord | hw.PausedRecord) -> None:
        channel = self._children.get(record.name)
        if channel is None:
            return
        if isinstance(record, hw.PausedRecord):
            channel.is_paused = True
        else:
            channel.ended = record
            channel.end()

    def _started(self, error: TestbedError | None) -> None:
        if self._starting is None or self._starting.done():
            return
        if error is None:
            self._starting.set_result(None)
        else:
            self._starting.set_exception(error)

    def _refused(self, message: str) -> None:
        """An error of the host: about a command with a number, else about the child that is being
        started. A line for a child that has just ended is an error that means nothing."""
        error = TestbedError(f"{self.host}: {message}")
        if (match := _OF_COMMAND.fullmatch(message)) is not None:
            answer = self._answers.pop(int(match[1]), None)
            if answer is not None and not answer.done():
                answer.set_exception(error)
        else:
            self._started(error)

    def _over(self, why: str) -> None:
        """End the session here; the first reason stays."""
        if self.why_over:
            return
        self.why_over = why
        self._started(HostLostError(why))
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(HostLostError(why))
        self._answers.clear()
        for channel in self._children.values():
            if not channel.over.is_set():
                channel.end()


@asynccontextmanager
async def host_session(
    host: str,
    argv: Sequence[str],
    nonce: str,
    lease_ns: int,
    why_not: Callable[[str], str],
) -> AsyncIterator[HostSession]:
    """Begin the session of a host by a command, and end it after the block.

    `why_not` turns the messages of the host's shell into the reason why no session began. Raises
    TestbedError with this reason, or if another controller holds the host.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=_LINE_BYTES_MAX,
        preexec_fn=dies_with_parent(),
    )
    errors = Tail(process)
    session = None
    try:
        printed, hello = await _greeted(host, process, nonce, errors, why_not)
        session = HostSession(host, process, errors, hello, printed, lease_ns)
        yield session
    finally:
        if session is not None:
            await session.close()
        await end_process(process)
        await errors.done()


async def _greeted(
    host: str,
    process: asyncio.subprocess.Process,
    nonce: str,
    errors: Tail,
    why_not: Callable[[str], str],
) -> tuple[tuple[str, ...], hw.HelloRecord]:
    """The lines before the session, and its first record."""
    assert process.stdout is not None
    printed: list[str] = []
    begin = f"{remote.BEGIN} {nonce}\n".encode()
    try:
        async with asyncio.timeout(START_S):
            # The last line of a log-in script may have no line feed.
            while not (line := await process.stdout.readline()).endswith(begin):
                if not line:
                    raise TestbedError(why_not(await errors.done()))
                printed.append(line.decode("utf-8", "replace").rstrip("\n"))
            if unended := line.removesuffix(begin):
                printed.append(unended.decode("utf-8", "replace"))
            hello = _first(host, await process.stdout.readline(), hw.HelloRecord)
            # A host that is in use says so next; a free one answers.
            assert process.stdin is not None
            process.stdin.write(_own_line(hw.AliveCommand()))
            _first(host, await process.stdout.readline(), hw.AliveRecord)
    except TimeoutError:
        raise TestbedError(f"{host}: the engine has not started within {START_S:.0f} s") from None
    return tuple(printed), hello


def _first(host: str, line: bytes, kind: type[AnswerT]) -> AnswerT:
    """One of the first records of a session. Raises TestbedError if the host is in use."""
    try:
        record = hw.HOST_RECORD.validate_json(line.removeprefix(b"\t"))
    except ValidationError:
        raise TestbedError(
            f"{host}: its engine speaks another version of the protocol: {_shown(line)}; make the "
            "engines anew: make build engine-static"
        ) from None
    if isinstance(record, kind):
        return record
    if isinstance(record, hw.LockedRecord):
        raise HostInUseError(in_use(host, record), record.pid)
    message = record.message if isinstance(record, hw.HostErrorRecord) else f"'{record.kind}'"
    raise TestbedError(f"{host}: the session does not begin: {message}")


def in_use(host: str, record: hw.LockedRecord) -> str:
    """The message about a host that works for another controller."""
    process = "another process" if record.pid is None else f"pid {record.pid}"
    user = "" if record.uid is None else f" (uid {record.uid})"
    since = "" if record.since is None else f" since {record.since}"
    return f"{host} is in use by {process}{user}{since}; wait until it has ended"


def without_name(name: str, message: str) -> str:
    """A message without the name that it begins with, where another one puts it first."""
    return message.removeprefix(f"{name}: ").removeprefix(f"{name} ")


def _own_line(command: Wire) -> bytes:
    return f"\t{to_json(command)}\n".encode()


def _shown(line: bytes) -> str:
    return repr(line[:_SHOWN_BYTES].decode("utf-8", "backslashreplace").strip())
