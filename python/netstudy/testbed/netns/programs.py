"""The programs of the system that the testbed calls, and how to get one that is not there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from netstudy.errors import TestbedError

PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "bridge": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
    "umount": "mount",
}
"""Program -> the package that has it in Debian and its descendants."""

_MORE_PLACES = ("/usr/sbin", "/sbin")
"""Where programs for administrators are: not always on the PATH of an ordinary user."""


def find_program(name: str) -> str | None:
    """The full path of a program; None when the machine does not have it."""
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), *_MORE_PLACES])
    return shutil.which(name, path=places)


def program(name: str) -> str:
    """The full path of a program. Raises TestbedError that says how to install it."""
    found = find_program(name)
    if found is None:
        raise TestbedError(f"there is no program '{name}' here: {install(name)}")
    return found


def install(name: str) -> str:
    """The command that installs a program."""
    return f"sudo apt-get install {PACKAGES[name]}"


def run_program(name: str, *arguments: str) -> str:
    """Run a program to its end; what it printed. Raises TestbedError with what it complains of."""
    return _checked([program(name), *arguments])


def run_batch(name: str, commands: Iterable[str]) -> str:
    """Have one process of `ip`, `tc` or `bridge` carry out many of its commands, in order.

    It ends at the first that fails; the TestbedError then names that command.
    """
    lines = list(commands)
    return _checked([program(name), "-batch", "-"], lines) if lines else ""


def _checked(command: Sequence[str], lines: Sequence[str] = ()) -> str:
    done = subprocess.run(
        command, input="".join(f"{line}\n" for line in lines), capture_output=True, text=True
    )
    if done.returncode != 0:
        raise TestbedError(f"`{_failed(command, lines, done.stderr)}`: {_complaint(done.stderr)}")
    return done.stdout


def _failed(command: Sequence[str], lines: Sequence[str], errors: str) -> str:
    """The command that failed; in a batch, the line that iproute2 says: `Command failed -:3`."""
    _, _, number = errors.strip().rpartition("Command failed -:")
    if lines and number.isdigit():
        return f"{Path(command[0]).name} {lines[int(number) - 1]}"
    return " ".join(command)


def _complaint(errors: str) -> str:
    lines = [line for line in errors.strip().splitlines() if not line.startswith("Command failed")]
    return "; ".join(lines) or "it failed without a word"
