"""A private environment for one program: nobody else sees its processes, networks and mounts, and
all of them end with the program.

The program is process 1 of its own pid namespace, so that all processes that it started end with
it. When the last process has ended, the kernel removes the network namespaces with their interfaces
and queues. If `unshare` is killed, by any signal, the kernel kills the program too. Mounts are
private, so only the sandbox sees its /run/netns.

An ordinary user becomes root inside a user namespace of their own, and gets no rights outside of
it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import NoReturn

from netstudy.errors import TestbedError
from netstudy.store.links import FILES_PREFIX
from netstudy.testbed.netns.namespaces import FOLDER, program, run_program
from netstudy.testbed.workloads.base import DISK_FOLDER

_NEEDED = (1 << 12) | (1 << 21)  # CAP_NET_ADMIN, CAP_SYS_ADMIN: linux/capability.h

_RUN: list[int] = []
"""An open file descriptor of the machine's /run, which is hidden in the sandbox."""
_EXISTING = "outside"
"""The folder in the sandbox's /run where a folder of the machine's /run can be found."""
_BIND, _WITH_MOUNTS_BELOW = 0x1000, 0x4000  # MS_BIND, MS_REC: linux/mount.h

_SAYS_KILLED = "sigprocmask unblock failed"


def sandbox_command(argv: Sequence[str]) -> list[str]:
    """The command that starts a program in a sandbox; it ends with the program's exit code.

    unshare(1) blocks SIGINT and SIGTERM while its child runs. To end the program early, signal the
    process group, or kill unshare.
    """
    user = [] if may_make_namespaces() else ["--user", "--map-root-user"]
    spaces = ["--mount", "--net", "--pid", "--fork", "--kill-child"]
    return [program("unshare"), *user, *spaces, "--", *argv]


def explained(error: TestbedError) -> TestbedError:
    """The error of a sandbox's starter, with a message that people understand.

    unshare(1) ends in the same way as its child: by the same exit code or signal. If the signal was
    SIGKILL, which no process can handle, unshare reports its own failed attempt instead
    (util-linux, sys-utils/unshare.c).
    """
    if _SAYS_KILLED in str(error):
        return TestbedError("the testbed's supervisor was killed by SIGKILL; is memory short?")
    return error


def may_make_namespaces() -> bool:
    """Whether this process may make namespaces without a user namespace. Root may do so, except in
    some containers."""
    return effective_capabilities(Path("/proc/self/status").read_text()) & _NEEDED == _NEEDED


def effective_capabilities(status: str) -> int:
    """The bits of CapEff in the text of a /proc/…/status."""
    found = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    return int(found.split()[1], 16)


def enter() -> None:
    """Prepare the sandbox from inside: an empty /run/netns, its own /proc, loopback up.

    From now on SIGTERM raises SystemExit with the exit code that shells use. Without this handler,
    process 1 would never receive SIGTERM (pid_namespaces(7)).

    /sys stays the machine's own: it does not change with the namespace, and a new mount of /sys
    would hide the control groups.
    """
    signal.signal(signal.SIGTERM, _end)
    _RUN.append(os.open(FOLDER.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
    run_program("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", str(FOLDER.parent))
    FOLDER.mkdir()
    _mount_proc()
    run_program("ip", "link", "set", "lo", "up")


def outside(folder: Path) -> Path:
    """The path of a folder of the machine inside the sandbox: folders below /run have another path
    there.

    Raises OSError if the folder does not exist.
    """
    found = folder.resolve()
    if not found.is_relative_to(FOLDER.parent):
        return found
    below = found.relative_to(FOLDER.parent)
    place = FOLDER.parent / _EXISTING / below
    if not place.is_dir():
        place.mkdir(parents=True)
        _bind(f"/proc/self/fd/{_RUN[-1]}/{below}", place)
    return place


def _bind(source: str, place: Path) -> None:
    """Bind-mount a folder by mount(2): mount(8) would resolve the name to the sandbox's own
    folder."""
    libc = ctypes.CDLL(None, use_errno=True)
    flags = _BIND | _WITH_MOUNTS_BELOW
    if libc.mount(source.encode(), str(place).encode(), None, flags, None) != 0:
        place.rmdir()
        number = ctypes.get_errno()
        raise OSError(number, f"mount: {os.strerror(number)}", source)


@contextmanager
def file_folders(needed: Collection[str], captures: Path | None) -> Iterator[None]:
    """Make the folders in which agents store files, and empty them at the end.

    /run is a RAM disk of the sandbox. The folder on a disk is next to the captures: if a run is
    killed, the folder is found and removed together with its results.
    """
    if captures is not None:
        captures.mkdir(parents=True, exist_ok=True)
    for folder in needed:
        Path(folder).mkdir(exist_ok=True)
    if DISK_FOLDER not in needed:
        yield
        return
    with TemporaryDirectory(prefix=FILES_PREFIX, dir=captures or "/var/tmp") as on_disk:
        run_program("mount", "--bind", on_disk, DISK_FOLDER)
        yield


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def _mount_proc() -> None:
    """Mount a /proc that shows only the sandbox's processes.

    In containers that cover parts of /proc, ordinary users may not mount it. Then the machine's own
    /proc is used, in which /proc/self and /proc/sys/net mean the same.
    """
    try:
        run_program("mount", "-t", "proc", "proc", "/proc")
    except TestbedError:
        return
