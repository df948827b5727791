"""Named network namespaces, as `ip netns` keeps them, and the programs of the system that set them
up: iproute2's, and util-linux's `unshare` and `nsenter`.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from netstudy.errors import TestbedError

FOLDER = Path("/run/netns")
"""The folder where `ip netns` keeps the names; the sandbox mounts an empty folder of its own
there."""

_END_S = 5.0
"""How long to wait for a killed process to end."""
_CLONE_NEWNET = 0x4000_0000  # linux/sched.h
_OWN = Path("/proc/thread-self/ns/net")

PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "bridge": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
    "umount": "mount",
    "sadf": "sysstat",
}
"""Program -> the package that contains it in Debian and its descendants."""
NEEDED = tuple(name for name in PACKAGES if name != "sadf")
"""Programs that every run needs. sysstat is not one of them, since only some studies ask for it."""

MORE_PLACES = ("/usr/sbin", "/sbin")
"""Folders of administration programs, which an ordinary user's PATH may lack."""


def namespace(name: str) -> Path:
    """The file that stands for a namespace, as `nsenter --net=` takes it."""
    return FOLDER / name


@contextmanager
def within(name: str) -> Iterator[None]:
    """Enter a namespace while the block runs: only the calling thread enters it, and the processes
    that the thread starts.

    A namespace is a property of a thread, so other threads stay in theirs. /proc/net and
    /proc/sys/net show the namespace of the thread that opens them; /sys does not.
    """
    own = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(namespace(name))
        try:
            yield
        finally:
            _set(own)
    finally:
        os.close(own)


def in_namespace(name: str) -> list[str]:
    """The words to put before a command to run it in a namespace.

    `ip netns exec` is not used, since it mounts a new /sys, which hides the control groups.
    """
    return [program("nsenter"), f"--net={namespace(name)}", "--"]


def end_processes(names: Iterable[str]) -> None:
    """Kill every process that is still in one of these namespaces, and wait until they have ended:
    killed programs leave children behind. If /proc shows the ids of another pid namespace, nothing
    is killed here: the processes end with the sandbox."""
    found = {process for name in names for process in processes_within(name)} - {os.getpid()}
    with ExitStack() as stack:
        ends = []
        for process in found:
            with suppress(OSError):
                end = os.pidfd_open(process)
                stack.callback(os.close, end)
                signal.pidfd_send_signal(end, signal.SIGKILL)
                ends.append(end)
        for end in ends:
            select.select([end], [], [], _END_S)


def processes_within(name: str) -> list[int]:
    """The processes in a namespace; empty if /proc shows the ids of another pid namespace."""
    if Path("/proc/self").readlink().name != str(os.getpid()):
        return []
    inode, found = namespace(name).stat().st_ino, []
    for path in (one for one in Path("/proc").iterdir() if one.name.isdigit()):
        with suppress(OSError):
            if (path / "ns/net").stat().st_ino == inode:
                found.append(int(path.name))
    return found


def find_program(name: str) -> str | None:
    """The full path of a program; None if the machine does not have it."""
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), *MORE_PLACES])
    return shutil.which(name, path=places)


def program(name: str) -> str:
    """The full path of a program. Raises TestbedError, whose message says how to install it."""
    found = find_program(name)
    if found is None:
        raise TestbedError(f"there is no program '{name}' here: {install(name)}")
    return found


def install(name: str) -> str:
    """The command that installs a program."""
    return f"sudo apt-get install {PACKAGES[name]}"


def run_program(name: str, *arguments: str) -> str:
    """Run a program and return its standard output. Raises TestbedError with its standard error."""
    return _checked([program(name), *arguments])


def run_batch(name: str, commands: Iterable[str]) -> str:
    """Run many commands of `ip`, `tc` or `bridge` in one process, in order, and return its standard
    output.

    Raises TestbedError with the first command that fails; the commands after it do not run.
    """
    lines = list(commands)
    return _checked([program(name), "-batch", "-"], lines) if lines else ""


def _enter(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _set(descriptor)
    finally:
        os.close(descriptor)


def _set(descriptor: int) -> None:
    """setns(2), which Python has from 3.12 on."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")


def _checked(command: Sequence[str], lines: Sequence[str] = ()) -> str:
    done = subprocess.run(
        command, input="".join(f"{line}\n" for line in lines), capture_output=True, text=True
    )
    if done.returncode != 0:
        raise TestbedError(f"`{_failed(command, lines, done.stderr)}`: {_complaint(done.stderr)}")
    return done.stdout


def _failed(command: Sequence[str], lines: Sequence[str], errors: str) -> str:
    """The command that failed; in a batch, the command in the line whose number iproute2 prints:
    `Command failed -:3`."""
    _, _, number = errors.strip().rpartition("Command failed -:")
    if lines and number.isdigit():
        return f"{Path(command[0]).name} {lines[int(number) - 1]}"
    return " ".join(command)


def _complaint(errors: str) -> str:
    lines = [line for line in errors.strip().splitlines() if not line.startswith("Command failed")]
    return "; ".join(lines) or "it failed without a word"
