"""A lab for tests: its command is a shell that runs what a test gives it."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.testbed.conftest import User

_TIME_LIMIT_S = 300
"""For what takes seconds on a machine that has nothing else to do."""
_END = "== the script has ended with"
SSH = "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=5"

_SERVE = """\
import socket, threading
def answer(asking):
    with asking:
        try:
            asking.sendall(bytes(100_000))
        except OSError:
            pass
listening = socket.create_server(("{address}", 7000))
print("ready", flush=True)
while True:
    threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()
"""
_FETCH = """\
import socket
with socket.create_connection(("{address}", 7000), timeout=2) as asking:
    size = 0
    while some := asking.recv(65_536):
        size += len(some)
print(size)
"""


@dataclass(frozen=True)
class Done:
    """The end of a script."""

    code: int
    output: str
    """Standard output and standard error."""


@dataclass(frozen=True)
class Lab:
    """A lab that is running."""

    user: User
    process: subprocess.Popen[str]

    def run(self, script: str) -> Done:
        """Run a script of the shell in the lab."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"( {script}\n) </dev/null 2>&1; printf '\\n{_END} %s\\n' $?\n")
        self.process.stdin.flush()
        lines: list[str] = []
        watch = threading.Timer(_TIME_LIMIT_S, self.process.kill)
        watch.start()
        try:
            for line in self.process.stdout:
                if line.startswith(_END):
                    return Done(int(line.split()[-1]), "".join(lines).removesuffix("\n"))
                lines.append(line)
        finally:
            watch.cancel()
        raise AssertionError(f"the lab has ended: {''.join(lines)}")

    def at(self, host: str, command: str) -> Done:
        """Run a command at a host by ssh, without a question."""
        return self.run(f"{SSH} {host} {command!r}")

    def said(self, host: str, command: str) -> str:
        """What a command at a host prints, which must succeed."""
        done = self.at(host, command)
        assert done.code == 0, done.output
        return done.output.strip()

    def fault(self, *words: str) -> Done:
        """Make a fault."""
        return self.run(f"$NETSTUDY_LAB/fault {' '.join(words)}")

    def make(self, *words: str) -> None:
        """Make a fault, which must succeed."""
        done = self.fault(*words)
        assert (done.code, done.output) == (0, ""), done.output

    def serve(self, host: str, address: str) -> None:
        """Start a server of 100,000 bytes at a test address of a host, if it is not there."""
        self._write(host, "serve.py", _SERVE.format(address=address))
        self.run(
            f"{SSH} {host} python3 serve.py >$HOME/served & "
            "until grep -q ready $HOME/served; do sleep 0.05; done"
        )

    def fetch(self, host: str, address: str) -> bool:
        """True if a host gets the bytes of the server at this address."""
        self._write(host, "fetch.py", _FETCH.format(address=address))
        return self.at(host, "python3 fetch.py").output.strip() == "100000"

    def _write(self, host: str, name: str, text: str) -> None:
        done = self.run(f"{SSH} {host} 'cat >{name}' <<'END'\n{text}END")
        assert done.code == 0, done.output


def start(user: User, *arguments: str) -> subprocess.Popen[str]:
    """Start `tools/lab` as a user, with these arguments; its input and output are pipes."""
    return user.start(
        *user.command(user.python, "-m", "tools.ssh_lab", *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@contextmanager
def lab_of(user: User, *options: str) -> Iterator[Lab]:
    """A lab with these options; its end is an error if it does not come by itself."""
    process = start(user, *options, "--", "sh")
    try:
        yield Lab(user, process)
        _, errors = process.communicate(timeout=_TIME_LIMIT_S)
        assert process.returncode == 0, errors
    finally:
        process.kill()
        process.communicate()


def result(user: User, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`tools/lab` with these arguments, until its end."""
    process = start(user, *arguments)
    output, errors = process.communicate(timeout=_TIME_LIMIT_S)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)
