"""`tools/lab N [options] -- COMMAND`: runs COMMAND in a lab of N hosts, and ends with its exit
code."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

from netstudy.errors import NetstudyError, StudyError, TestbedError
from netstudy.testbed.child import dies_with_parent
from netstudy.testbed.netns.namespaces import NEEDED, PACKAGES, find_program
from netstudy.testbed.netns.sandbox import sandbox_command
from tools.ssh_lab import faults
from tools.ssh_lab.asked import ASKED, HOSTS_MAX, Asked
from tools.ssh_lab.study_run import Choice, Chosen, run_with

_CHECKOUT = Path(__file__).parents[2]
_INSIDE: Final = "tools.ssh_lab.inside"
_PROGRAMS: Final = {
    **{name: PACKAGES[name] for name in NEEDED},
    "hostname": "hostname",
    "setpriv": "util-linux",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sshd": "openssh-server",
    "taskset": "util-linux",
}
"""Program -> Debian's package."""


def main() -> int:
    """The program `tools/lab`."""
    try:
        asked = _asked(sys.argv[1:])
        check_machine(clocks=asked.clock_step_s > 0)
        return _run(asked)
    except NetstudyError as error:
        print(f"tools/lab: {error}", file=sys.stderr)
        return error.exit_code


def _asked(words: Sequence[str]) -> Asked:
    own, dashes, command = _parted(words)
    parser = _parser()
    said = parser.parse_args(own)
    if not dashes or not command:
        parser.error("write the command after --: tools/lab 3 -- ssh h1 true")
    chosen = _chosen(said)
    return Asked(
        hosts=said.hosts,
        command=tuple(command),
        cwd=str(Path.cwd()),
        caller=(os.getuid(), os.getgid()),
        as_user=said.as_user,
        roles=_roles(said.roles, said.hosts),
        clock_step_s=said.clock_step,
        disk_mb=said.disk,
        faults=tuple(map(_fault, said.fault)),
        run=None if chosen is None else chosen.run,
        files=None if chosen is None else chosen.files,
        tuned=said.tuned,
    )


def _parted(words: Sequence[str]) -> tuple[Sequence[str], bool, Sequence[str]]:
    if "--" not in words:
        return words, False, ()
    at = words.index("--")
    return words[:at], True, words[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tools/lab",
        usage="tools/lab N [options] -- COMMAND [ARGUMENT ...]",
        description="Runs COMMAND as a controller that can log in at N hosts of its own: "
        "`ssh h1`, …, `ssh hN`. $NETSTUDY_LAB/hosts.yaml is their inventory.",
        epilog=f"faults:\n{faults.usage()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("hosts", metavar="N", type=_hosts, help=f"1 to {HOSTS_MAX}")
    parser.add_argument(
        "--roles",
        default="client=1",
        metavar="ROLE=N,…",
        help="roles of the first hosts in the inventory; the others are servers "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--as-user",
        action="store_true",
        help="run COMMAND as the ordinary user ns (default: as the caller)",
    )
    parser.add_argument(
        "--clock-step",
        type=_natural,
        default=1000,
        metavar="SECONDS",
        help="the monotonic clock of host number i is i times this ahead (default: %(default)s)",
    )
    parser.add_argument(
        "--disk",
        type=_natural,
        default=256,
        metavar="MB",
        help="size of the disk with a host's home folders (default: %(default)s)",
    )
    parser.add_argument(
        "--network",
        type=Path,
        metavar="STUDY",
        help="join the hosts by the largest network of the study with N hosts, through the "
        "engine's switches; hosts, interfaces and roles have the study's names, and hosts have a "
        "folder for its files",
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="FACTOR=LEVELS", help="as of netstudy plan"
    )
    parser.add_argument(
        "--variant", help="of the study (default: that for hosts, else that for netns)"
    )
    parser.add_argument("--scale", help="of link rates (default: that of the variant, or of netns)")
    parser.add_argument(
        "--tuned", action="store_true", help="give the hosts the TCP settings of the study"
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="'ACTION HOST …'",
        help="a fault to make before COMMAND starts, which makes others by $NETSTUDY_LAB/fault",
    )
    return parser


def _chosen(said: argparse.Namespace) -> Chosen | None:
    """The run whose network was asked for."""
    if said.network is None:
        return None
    choice = Choice(said.network, said.only, said.variant, said.scale)
    chosen = run_with(choice, said.hosts)
    levels = ", ".join(f"{name}={level}" for name, level in chosen.run.treatment.items())
    print(f"tools/lab: the network of run {chosen.run.id}: {levels}", file=sys.stderr)
    return chosen


def _fault(text: str) -> tuple[str, ...]:
    words = tuple(shlex.split(text))
    faults.check(words)
    return words


def _hosts(text: str) -> int:
    count = _natural(text)
    if not 1 <= count <= HOSTS_MAX:
        raise argparse.ArgumentTypeError(f"{count} hosts: a lab has 1 to {HOSTS_MAX}")
    return count


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a whole number")
    return int(text)


def _roles(text: str, hosts: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in text.split(","):
        role, equals, number = item.partition("=")
        if not (role.strip() and equals and number.strip().isdecimal()):
            raise StudyError(f"--roles {text}: write it as ROLE=NUMBER,ROLE=NUMBER")
        found[role.strip()] = int(number)
    if sum(found.values()) > hosts:
        raise StudyError(f"--roles {text}: names more than the {hosts} hosts of the lab")
    return found


def check_machine(*, clocks: bool) -> None:
    """Raises TestbedError if this machine cannot make a lab, with the command that mends it."""
    lacking = [name for name in _PROGRAMS if find_program(name) is None]
    if lacking:
        packages = " ".join(dict.fromkeys(_PROGRAMS[name] for name in lacking))
        raise TestbedError(f"needs {', '.join(lacking)}: sudo apt-get install {packages}")
    tried = subprocess.run(sandbox_command(["true"]), capture_output=True, text=True)
    if tried.returncode != 0:
        raise TestbedError(
            f"no namespaces can be made here: {tried.stderr.strip()}; run as root, or see netstudy "
            "doctor: it says what lets ordinary users make namespaces"
        )
    if clocks and not Path("/proc/self/ns/time").exists():
        raise TestbedError("this kernel has no time namespaces (Linux 5.6): use --clock-step 0")


def _run(asked: Asked) -> int:
    reading, writing = os.pipe()
    lab = subprocess.Popen(
        sandbox_command([sys.executable, "-m", _INSIDE, str(reading)]),
        cwd=_CHECKOUT,
        pass_fds=[reading],
        preexec_fn=dies_with_parent(),
    )
    os.close(reading)
    _pass_signals(writing)
    with suppress(BrokenPipeError), os.fdopen(writing, "wb", closefd=False) as request:
        request.write(ASKED.dump_json(asked, by_alias=True) + b"\n")
    code = lab.wait()
    return code if code >= 0 else 128 - code  # 128 + signal, as shells do


def _pass_signals(writing: int) -> None:
    """Passes SIGTERM and SIGHUP on to COMMAND. A terminal sends SIGINT to COMMAND too."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        with suppress(BrokenPipeError):  # the lab is ending
            os.write(writing, bytes([number]))

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda _number, _frame: None)


if __name__ == "__main__":
    sys.exit(main())
