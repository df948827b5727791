"""Log-in to a host by the user's own OpenSSH client.

Each host has one *master*: a client that logs in once and then carries sessions over its
connection, without a further log-in. The master is a child of this process and ends with it.

Options of the user's configuration that would break the protocol are overridden on the command
line, where the first value wins (ssh_config(5)). Everything else of the configuration counts: jump
hosts, keys, agents, ports.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netstudy.errors import TestbedError
from netstudy.testbed.child import dies_with_parent

CONNECT_S: Final = 10
"""How long a log-in may take to reach the host."""
_AUTHENTICATE_S: Final = 60.0
"""How long a log-in may take in all: a hardware key waits for a touch."""
_PREFIX: Final = "netstudy-ssh-"
_POLL_S: Final = 0.01
_GRACE_S: Final = 2.0
_SOCKET_PATH_MAX: Final = 90
"""sun_path has 108 bytes (unix(7)), and ssh adds 17 while it makes the socket (mux.c)."""
_STDERR_LINES: Final = 5
_TAIL_BYTES: Final = 65_536

_BOTH: Final = (
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "RemoteCommand=none",
    "RequestTTY=no",
    "PermitLocalCommand=no",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "Tunnel=no",
    "EscapeChar=none",
)
_OF_MASTER: Final = (
    # At ERROR, ssh does not say that the other end has closed the connection.
    "LogLevel=INFO",
    f"ConnectTimeout={CONNECT_S}",
    "ConnectionAttempts=1",
    # The keepalive ends a master whose connection is cut without a reset.
    "ServerAliveInterval=2",
    "ServerAliveCountMax=3",
    "TCPKeepAlive=yes",
    "ControlPersist=no",
    # The user's files stay as they are.
    "UpdateHostKeys=no",
    "AddKeysToAgent=no",
)
_OF_SESSION: Final = (
    "LogLevel=ERROR",
    "ControlMaster=no",
    # Where the master refuses a session, ssh would log in a second time instead of failing.
    "ProxyCommand=false",
)


def master_argv(destination: str, socket: str) -> list[str]:
    """The command that logs in and then waits for sessions."""
    return ["ssh", "-M", "-N", "-S", socket, *_options(*_BOTH, *_OF_MASTER), "--", destination]


def session_argv(destination: str, socket: str, command: str) -> list[str]:
    """The command that runs a command on the host, over the master's connection. The host's shell
    reads the command."""
    options = _options(*_BOTH, *_OF_SESSION)
    return ["ssh", "-T", "-S", socket, *options, "--", destination, command]


def _options(*options: str) -> list[str]:
    return [word for option in options for word in ("-o", option)]


@contextmanager
def socket_folder() -> Iterator[str]:
    """A private folder for the masters' sockets, removed afterwards. Raises TestbedError if every
    possible folder has too long a path."""
    for parent in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):
        if parent and _is_usable(parent):
            break
    else:
        raise TestbedError("no folder for sockets: /tmp cannot be written to; set TMPDIR")
    _remove_stale(Path(parent))
    folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_stale(parent: Path) -> None:
    """Remove the folders of processes that were killed before they could."""
    for folder in parent.glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        is_own = folder.is_dir() and folder.stat().st_uid == os.geteuid()
        if is_own and pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _is_usable(parent: str) -> bool:
    longest = f"{parent}/{_PREFIX}1234567-12345678/1234"
    return len(os.fsencode(longest)) <= _SOCKET_PATH_MAX and os.access(parent, os.W_OK | os.X_OK)


@dataclass(frozen=True)
class Completed:
    """A command that has ended on a host."""

    out: bytes
    errors: str
    """Standard error of the command and of ssh."""


@dataclass(frozen=True)
class Master:
    """A logged-in client, over which commands run on the host."""

    host: str
    """The host's name in the inventory."""
    destination: str
    socket: str

    def argv(self, command: str) -> list[str]:
        """See `session_argv`."""
        return session_argv(self.destination, self.socket, command)

    async def run(self, command: str, given: bytes = b"") -> Completed:
        """Run a command to its end, with `given` on its standard input.

        The exit code is not returned: ssh has the same code for a failure of its own and for one
        of the command, so that only the output tells them apart.
        """
        process = await asyncio.create_subprocess_exec(
            *self.argv(command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            preexec_fn=dies_with_parent(),
        )
        try:
            out, errors = await process.communicate(given)
        finally:
            await end_process(process)
        return Completed(out, errors.decode("utf-8", "replace").replace("\r\n", "\n"))


@asynccontextmanager
async def master(host: str, destination: str, socket: str) -> AsyncIterator[Master]:
    """Log in to a host; the connection ends after the block. Raises TestbedError with the cause if
    the log-in fails."""
    try:
        process = await asyncio.create_subprocess_exec(
            *master_argv(destination, socket),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            preexec_fn=dies_with_parent(),
        )
    except FileNotFoundError:
        raise TestbedError(NO_CLIENT) from None
    errors = Tail(process)
    try:
        await _logged_in(process, socket, host, destination, errors)
        yield Master(host, destination, socket)
    finally:
        await end_process(process)
        await errors.done()


NO_CLIENT: Final = "there is no ssh client here; install one: sudo apt-get install openssh-client"


class Tail:
    """The last part of the standard error of a process, read all the time so that its pipe is never
    full."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        """Begins to read."""
        assert process.stderr is not None
        self._end = b""
        self._reading = asyncio.ensure_future(self._read(process.stderr))

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while part := await stream.read(_TAIL_BYTES):
            self._end = (self._end + part)[-_TAIL_BYTES:]

    async def done(self) -> str:
        """The text, after the process has ended. ssh ends its lines with CR LF."""
        await self._reading
        return self._end.decode("utf-8", "replace").replace("\r\n", "\n")


async def _logged_in(
    process: asyncio.subprocess.Process, socket: str, host: str, destination: str, errors: Tail
) -> None:
    """Wait until the master listens, which it does after the log-in."""
    try:
        async with asyncio.timeout(_AUTHENTICATE_S):
            while not Path(socket).is_socket():
                if process.returncode is not None:
                    raise TestbedError(explained(host, destination, await errors.done()))
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        raise TestbedError(
            f"{host}: the log-in to {destination} has not ended after {_AUTHENTICATE_S:.0f} s; try "
            f"it by hand: ssh -o BatchMode=yes {destination} true"
        ) from None


async def end_process(process: asyncio.subprocess.Process) -> None:
    """End a client that still runs: by SIGTERM, then by SIGKILL."""
    if process.returncode is not None:
        return
    send_signal(process, signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), _GRACE_S)
    except TimeoutError:
        send_signal(process, signal.SIGKILL)
        await process.wait()


def send_signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Signal a child that has not been seen to end. Not by its own method, which may take the
    child's exit status away from asyncio (Popen.send_signal polls)."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)


def explained(host: str, destination: str, errors: str) -> str:
    """The cause of a failed log-in, and how to mend it, from what the client wrote."""
    by_hand = f"ssh {destination} true"
    for pattern, cause in _CAUSES:
        if (match := re.search(pattern, errors)) is not None:
            found = {key: text or "" for key, text in match.groupdict().items()}
            said = cause.format(destination=destination, by_hand=by_hand, **found)
            return f"{host}: {said}"
    said = "; ".join(errors.strip().splitlines()[-_STDERR_LINES:]) or "ssh said nothing"
    return f"{host}: the log-in to {destination} failed: {said}; try it by hand: {by_hand}"


_OWN_KEYS: Final = "`cat /etc/ssh/ssh_host_*_key.pub | ssh-keygen -lf -` on the host"
_CAUSES: Final[Sequence[tuple[str, str]]] = (
    (
        r"(?s)HOST IDENTIFICATION HAS CHANGED.*"
        r"sent by the remote host is\s+(?P<fingerprint>\S+?)\.?\n.*"
        r"Offending \S+ key in (?P<file>\S+)(\s+remove with:\s+(?P<remove>[^\n]*))?",
        "the host key of {destination} is not the known one in {file}: another machine answers, or "
        f"the host was set up anew. It shows {{fingerprint}}; {_OWN_KEYS} prints the right ones. "
        "If they agree, remove the old key, {remove}, and log in once by hand: {by_hand}",
    ),
    (
        r"Host key verification failed",
        "the host key of {destination} is not known here. Log in once by hand, `{by_hand}`, and "
        f"compare the fingerprint that it shows with {_OWN_KEYS}",
    ),
    (
        r"Permission denied \((?P<methods>[^)]*)\)|Too many authentication failures",
        "{destination} refuses the log-in ({methods}): `{by_hand}` must work without a password; "
        "check the user, and that the key is in the host's authorized_keys or in your ssh-agent",
    ),
    (
        r"Could not resolve hostname (?P<address>\S+?):",
        "there is no host {address}: neither a Host of ~/.ssh/config nor a name of the network; "
        "correct ssh: of this host",
    ),
    (
        r"Connection refused",
        "{destination} refuses the connection: no sshd listens there; start it, or correct the "
        "port in ~/.ssh/config",
    ),
    (
        r"No route to host|Network is unreachable",
        "there is no route to {destination}: is it switched on, and in this network?",
    ),
    (
        r"Connection (closed|reset) by",
        "{destination} ended the connection during the log-in: its sshd has too many at once "
        "(MaxStartups), or the log-in took longer than its LoginGraceTime; the log of sshd says "
        "which",
    ),
    (
        r"timed out|Timeout, server",
        f"{{destination}} does not answer within {CONNECT_S} s: it is off, or a firewall drops the "
        "connection",
    ),
    (
        r"(?P<said>[^\n]*[Bb]ad configuration option[^\n]*)",
        "your ssh client refuses its configuration: {said}",
    ),
)
"""Pattern in the client's messages -> the cause. Messages of OpenSSH 7.6 to 10."""
