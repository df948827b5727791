"""The first process of a lab: makes the hosts, runs COMMAND, makes faults on demand.

usage: python -m tools.ssh_lab.inside FD

Reads a line with the options (`asked.Asked`) from the file descriptor, then the numbers of signals
for COMMAND, a byte each. When it ends, the kernel ends every other process of the
lab, and with them the namespaces, mounts and files.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final

from netstudy.errors import NetstudyError, TestbedError
from netstudy.testbed.netns.sandbox import enter
from netstudy.testbed.netns.users import is_all_users
from tools.ssh_lab import controller, faults
from tools.ssh_lab.asked import ASKED, Asked
from tools.ssh_lab.children import Children
from tools.ssh_lab.disks import disk_of_lab
from tools.ssh_lab.hosts import plain_hosts
from tools.ssh_lab.links import make_control_network, make_plain_network
from tools.ssh_lab.machines import Machine
from tools.ssh_lab.study_network import StudyNetwork
from tools.ssh_lab.users import ROOT, User, caller, ordinary_user

_PASSED_ON: Final = (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that must not end this process: the end of a child, and signals of a terminal to the
whole process group, which COMMAND gets too."""

_ASKING_S = 5.0
"""Time for `fault` to send its words."""


class Lab:
    """A lab that is running."""

    def __init__(self, asked: Asked, on_disk: Path) -> None:
        """The hosts are made and started by `start`; `on_disk` is a folder for their disks."""
        self.asked = asked
        self.children = Children()
        self.login = ordinary_user()
        self._network = StudyNetwork(asked.run, tuned=asked.tuned) if asked.run else None
        hosts = self._network.hosts() if self._network else plain_hosts(asked.hosts, asked.roles)
        cpu = self._network.pinning.hosts if self._network else None
        self.machines = {
            one.name: Machine(
                host=one,
                user=self.login,
                children=self.children,
                clock_s=asked.clock_step_s * one.number,
                disk_mb=asked.disk_mb,
                on_disk=on_disk / one.name,
                cpu=cpu,
            )
            for one in hosts
        }

    @contextmanager
    def networks(self) -> Iterator[None]:
        """Make the networks."""
        hosts = [one.host for one in self.machines.values()]
        with ExitStack() as stack:
            if self._network:
                stack.enter_context(self._network.made(self.children))
            else:
                make_plain_network(hosts)
            make_control_network(hosts)
            yield

    def start(self) -> None:
        """Start the hosts; they answer when this returns."""
        public_key = controller.make_folders()
        for one in self.machines.values():
            one.prepare(public_key)
            one.boot()
        for one in self.machines.values():
            one.wait_until_up()

    def run(self, signals: int) -> int:
        """Run COMMAND; returns its exit code. `signals` is the file descriptor of signals for
        it."""
        user = self._user()
        controller.complete(user, list(self.machines.values()), self.login, self.asked.files)
        control = controller.control_socket(user)
        for words in self.asked.faults:
            faults.make(self.machines, words)
        try:
            command = self.children.start(
                [*user.words(), *self.asked.command],
                cwd=self.asked.cwd,
                env=controller.environment(user),
            )
        except OSError as error:
            raise TestbedError(f"{self.asked.command[0]}: {error.strerror}") from error
        self._wait(command, signals, control)
        code = command.returncode
        return code if code >= 0 else 128 - code  # 128 + signal, as shells do

    def _user(self) -> User:
        """The user that COMMAND runs as."""
        if self.asked.as_user:
            one = self.login
            return User(one.name, one.uid, one.gid, controller.HOME)
        uid, gid = self.asked.caller if not is_all_users() else (ROOT.uid, ROOT.gid)
        return caller(uid, gid, controller.HOME)

    def _wait(self, command: subprocess.Popen[bytes], signals: int, control: socket.socket) -> None:
        """Waits for COMMAND, and meanwhile passes signals on and makes faults."""
        with selectors.DefaultSelector() as selector:

            def watch(descriptor: int, then: Callable[[], None]) -> None:
                selector.register(descriptor, selectors.EVENT_READ, then)

            def pass_on() -> None:
                numbers = os.read(signals, 16)
                if not numbers:  # the caller has died, and the kernel is about to kill this process
                    selector.unregister(signals)
                for number in numbers:
                    with suppress(ProcessLookupError):
                        os.kill(command.pid, number)

            woken = _wake_up()
            watch(signals, pass_on)
            watch(woken, lambda: _drain(woken))
            watch(control.fileno(), lambda: self._answer(control))
            while True:
                self.children.reap()
                if command.returncode is not None:
                    return
                for key, _ in selector.select():
                    key.data()

    def _answer(self, control: socket.socket) -> None:
        """Make the fault that the program `fault` asks for; the answer is empty, or the error."""
        asking, _ = control.accept()
        with asking, suppress(OSError, ValueError):  # whoever asked has died
            asking.settimeout(_ASKING_S)
            words = json.loads(b"".join(iter(lambda: asking.recv(65_536), b"")))
            try:
                faults.make(self.machines, words)
            except NetstudyError as error:
                asking.sendall(str(error).encode())


def _wake_up() -> int:
    """A file descriptor that can be read after a signal."""
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in _PASSED_ON:
        # Not SIG_IGN, which COMMAND would inherit.
        signal.signal(number, _do_nothing)
    return reading


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    pass


def _drain(descriptor: int) -> None:
    with suppress(BlockingIOError):
        while os.read(descriptor, 4096):
            pass


def _first_line(descriptor: int) -> bytes:
    parts: list[bytes] = []
    while not parts or not parts[-1].endswith(b"\n"):
        part = os.read(descriptor, 65_536)
        if not part:
            sys.exit(TestbedError.exit_code)  # the caller has died
        parts.append(part)
    return b"".join(parts)


def main(arguments: Iterable[str]) -> int:
    """See the head of this module."""
    (descriptor,) = map(int, arguments)
    os.set_inheritable(descriptor, False)
    asked = ASKED.validate_json(_first_line(descriptor))
    try:
        enter()
        with disk_of_lab() as on_disk:
            lab = Lab(asked, on_disk)
            with lab.networks():
                lab.start()
                return lab.run(descriptor)
    except NetstudyError as error:
        print(f"tools/lab: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
