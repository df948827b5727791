"""Faults of a host itself: see `faults.FAULTS`."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Final

from netstudy.errors import StudyError, TestbedError
from netstudy.testbed.netns.namespaces import program, run_program
from netstudy.testbed.netns.users import is_all_users
from tools.ssh_lab.machines import Machine
from tools.ssh_lab.numbers import whole
from tools.ssh_lab.users import ROOT

_HOLDER = Path(__file__).with_name("hold_lock.py")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_BLOCK_BYTES: Final = 512
"""Unit of `st_blocks`."""
_ENDS_S: Final = 5
"""A process of a session that is over ends within this time."""
_HOST_OF_NETSTUDY: Final = r"(^|/)(netstudy-)?engine\S* host\b"
_REAL_UNAME: Final = "uname.real"
_UNAME: Final = """\
#!/bin/sh
/etc/ssh/{real} "$@" | sed 's/{own}/{other}/g'
"""


def disk(machine: Machine, state: str) -> None:
    """The file system shrinks to what is on it, so that nothing is written to fill it."""
    _one_of(state, "full", "ok")
    place = str(machine.host.disk)
    size = f"{max(_used_bytes(place), _PAGE_BYTES)}" if state == "full" else f"{machine.disk_mb}m"
    options = f"remount,size={size}" + (",noexec" if machine.noexec else "")
    # By default mount adds the options that are there, among them the user id of an ordinary user's
    # lab as the machine sees it, which the kernel refuses.
    run_program("mount", "--options-mode", "ignore", "-o", options, place)


def _used_bytes(place: str) -> int:
    """Space that files take, once the kernel has freed that of removed ones: a process that is just
    ending may still have its program's."""
    deadline = time.monotonic() + _ENDS_S
    while True:
        found = os.statvfs(place)
        used = (found.f_blocks - found.f_bfree) * found.f_frsize
        if used <= _bytes_in_files(place) or time.monotonic() > deadline:
            return used
        time.sleep(0.05)


def _bytes_in_files(place: str) -> int:
    found = (path.lstat() for path in Path(place).rglob("*"))
    return sum(_BLOCK_BYTES * one.st_blocks for one in found)


def home(machine: Machine, option: str) -> None:
    """Where the lab keeps the folders too: from there the host gets them when it boots."""
    _one_of(option, "noexec", "exec")
    machine.noexec = option == "noexec"
    change = ["mount", "-o", f"remount,bind,{option}"]
    run_program(*change, str(machine.host.disk))
    for place in ("/home", "/root"):
        _run_inside(machine, *change, place)


def bashrc(machine: Machine, text: str | None = None) -> None:
    """For root and the ordinary user."""
    said = text or f"Welcome to {machine.host.name}"
    line = "# nothing" if text == "off" else f"echo '{said}'"
    if "'" in said:
        raise StudyError(f"{said}: leave quotes out")
    for user in (ROOT, machine.user):
        (machine.home(user) / ".bashrc").write_text(f"{line}\n")


def host_key(machine: Machine) -> None:
    """The controller's known_hosts keeps the old one."""
    machine.make_key()
    machine.reload()


def max_sessions(machine: Machine, count: str) -> None:
    """For connections from now on."""
    machine.sessions = whole(count)
    machine.write_configuration()
    machine.reload()


def lock(machine: Machine, state: str) -> None:
    """Held by a process of the ordinary user at the host."""
    _one_of(state, "held", "free")
    machine.stop_helper("lock")
    if state == "free":
        return
    uid = machine.user.uid if is_all_users() else 0
    command = [sys.executable, "-I", str(_HOLDER), str(uid)]
    machine.start_helper("lock", [*machine.words_beside(), "--", *command], until="held")


def arch(machine: Machine, other: str) -> None:
    """In place of /usr/bin/uname, so that no PATH leads around it."""
    where, script = program("uname"), machine.host.own_etc / "uname"
    if script.exists():
        script.unlink()
        _run_inside(machine, "umount", where)
    if other == "off":
        return
    if not re.fullmatch(r"\w+", other):
        raise StudyError(f"{other} is no name of a machine, such as aarch64")
    shutil.copy(where, machine.host.own_etc / _REAL_UNAME)
    script.write_text(_UNAME.format(real=_REAL_UNAME, own=os.uname().machine, other=other))
    script.chmod(0o755)
    _run_inside(machine, "mount", "--bind", f"/etc/ssh/{script.name}", where)


def signal_processes(machine: Machine, name: str, pattern: str = _HOST_OF_NETSTUDY) -> None:
    """Raises TestbedError when no process matches."""
    try:
        number = signal.Signals[f"SIG{name.removeprefix('SIG')}"]
    except KeyError:
        raise StudyError(f"{name} is no signal, such as KILL, STOP, CONT, TERM") from None
    found = [
        pid
        for pid, line in machine.processes()
        if pid != machine.first_process and re.search(pattern, line)
    ]
    if not found:
        raise TestbedError(f"no process of {machine.host.name} matches {pattern}")
    for pid in found:
        os.kill(pid, number)


def halt(machine: Machine) -> None:
    """The links keep their carrier."""
    machine.halt()


def reboot(machine: Machine, clock_s: str | None = None) -> None:
    """Its disk stays as it is; its boot id is another one."""
    machine.halt()
    machine.clock_s = machine.clock_s if clock_s is None else whole(clock_s)
    machine.boot()
    machine.wait_until_up()


def _run_inside(machine: Machine, *command: str) -> None:
    words = machine.words_inside()
    run_program(Path(words[0]).name, *words[1:], *command)


def _one_of(word: str, *words: str) -> None:
    if word not in words:
        raise StudyError(f"{word}: write one of {', '.join(words)}")
