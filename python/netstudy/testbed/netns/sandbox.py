"""A private world for one program: what it makes is seen by no one else and ends with it.

The program becomes process 1 of its own pid namespace, so its end ends every process that it has
started; with the last of them go the network namespaces, and with those their interfaces and
queues. `unshare` has the kernel kill the program when unshare itself is killed, whatever the
signal. Mounts are private, so /run/netns is visible to the sandbox alone.

An ordinary user is root inside a user namespace of their own; that gives no right over anything
outside.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from netstudy.errors import TestbedError
from netstudy.testbed.netns.namespaces import FOLDER, program, run_program

_NEEDED = (1 << 12) | (1 << 21)  # CAP_NET_ADMIN, CAP_SYS_ADMIN: linux/capability.h

_SAYS_KILLED = "sigprocmask unblock failed"


def sandbox_command(argv: Sequence[str]) -> list[str]:
    """The command that starts a program in a sandbox; it ends with the program's exit code.

    unshare(1) holds SIGINT and SIGTERM back while its child runs: whoever wants to end the program
    early signals the process group, or kills unshare.
    """
    user = [] if may_make_namespaces() else ["--user", "--map-root-user"]
    spaces = ["--mount", "--net", "--pid", "--fork", "--kill-child"]
    return [program("unshare"), *user, *spaces, "--", *argv]


def explained(error: TestbedError) -> TestbedError:
    """What an error of a sandbox's starter means.

    unshare(1) ends as its child did; when that was SIGKILL, which nobody can handle, it complains
    of its own attempt to (util-linux, sys-utils/unshare.c).
    """
    if _SAYS_KILLED in str(error):
        return TestbedError("the testbed's supervisor was killed by SIGKILL; is memory short?")
    return error


def may_make_namespaces() -> bool:
    """Whether this process may make namespaces as it is: root may, but not in every container."""
    return effective_capabilities(Path("/proc/self/status").read_text()) & _NEEDED == _NEEDED


def effective_capabilities(status: str) -> int:
    """The bits of CapEff in the text of a /proc/…/status."""
    found = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    return int(found.split()[1], 16)


def enter() -> None:
    """What the program does first inside: an empty /run/netns, its own /proc, loopback up.

    SIGTERM ends the program from now on, by SystemExit with the exit code that shells give it: a
    process 1 that does not ask for a signal never gets it (pid_namespaces(7)).

    /sys stays the machine's own: it does not follow the namespace, and a new one would hide the
    control groups.
    """
    signal.signal(signal.SIGTERM, _end)
    run_program("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", str(FOLDER.parent))
    FOLDER.mkdir()
    _mount_proc()
    run_program("ip", "link", "set", "lo", "up")


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def _mount_proc() -> None:
    """A /proc that shows the sandbox's processes alone.

    Containers that cover parts of /proc refuse it to ordinary users. The machine's own serves as
    well: /proc/self and /proc/sys/net mean the same in both.
    """
    try:
        run_program("mount", "-t", "proc", "proc", "/proc")
    except TestbedError:
        return
