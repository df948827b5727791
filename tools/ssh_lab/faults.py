"""The faults of a lab by name, as `--fault` and the program `fault` take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from netstudy.errors import StudyError
from tools.ssh_lab import host_faults, link_faults
from tools.ssh_lab.machines import Machine


@dataclass(frozen=True)
class Fault:
    """A fault that can be made at a host, or taken back."""

    arguments: str
    """The words after the host's name: ALTERNATIVE|ALTERNATIVE, [MAY BE LEFT OUT]."""
    what: str
    make: Callable[..., None]
    """Takes the machine, and the words as text."""

    def takes(self, count: int) -> bool:
        """True if the fault can have this number of words after the host's name."""
        words = self.arguments.split()
        return sum(not one.startswith("[") for one in words) <= count <= len(words)


FAULTS: Final[Mapping[str, Fault]] = {
    "cut": Fault("control|test", "pull a link's cable", link_faults.cut),
    "join": Fault("control|test", "plug it in again", link_faults.join),
    "delay": Fault(
        "MILLISECONDS", "delay frames to the host on the control link", link_faults.delay
    ),
    "mtu": Fault("BYTES", "set the MTU of the test interface", link_faults.set_mtu),
    "mtu-hole": Fault(
        "BYTES|off", "drop larger IP packets on the test link without a word", link_faults.mtu_hole
    ),
    "firewall": Fault(
        "ssh|PORT-PORT|off", "drop all that does not come to port 22 or these", link_faults.firewall
    ),
    "stray": Fault(
        "MBIT/S|off", "send the test address datagrams of somebody else", link_faults.stray
    ),
    "disk": Fault("full|ok", "leave no room on the disk with the home folders", host_faults.disk),
    "home": Fault("noexec|exec", "mount the home folders noexec", host_faults.home),
    "bashrc": Fault("[TEXT|off]", "print a text in .bashrc", host_faults.bashrc),
    "host-key": Fault("", "give the host another key", host_faults.host_key),
    "max-sessions": Fault("N", "set sshd's MaxSessions", host_faults.max_sessions),
    "lock": Fault("held|free", "hold the lock of netstudy", host_faults.lock),
    "arch": Fault("MACHINE|off", "have uname print another machine", host_faults.arch),
    "signal": Fault(
        "SIGNAL [PATTERN]",
        "signal the processes whose command line matches (default: netstudy's host)",
        host_faults.signal_processes,
    ),
    "halt": Fault("", "cut the host's power", host_faults.halt),
    "reboot": Fault(
        "[SECONDS]",
        "halt, and start with a clock that is this far ahead of the machine's",
        host_faults.reboot,
    ),
}


def usage() -> str:
    """A line for each fault."""
    lines = [(f"{name} HOST {one.arguments}".strip(), one.what) for name, one in FAULTS.items()]
    width = max(len(words) for words, _ in lines)
    return "".join(f"  {words:<{width}}  {what}\n" for words, what in lines)


def check(words: Sequence[str]) -> None:
    """Raises StudyError when these words are no fault."""
    name = words[0] if words else ""
    known = FAULTS.get(name)
    if known is None:
        raise StudyError(f"there is no fault '{name}'; there are:\n{usage()}")
    if not known.takes(len(words) - 2):
        raise StudyError(f"write it as: {name} HOST {known.arguments}".rstrip())


def make(machines: Mapping[str, Machine], words: Sequence[str]) -> None:
    """Make a fault. Raises NetstudyError when it is none, or cannot be made."""
    check(words)
    name, host, *values = words
    if host not in machines:
        raise StudyError(f"there is no host {host}; there are {', '.join(machines)}")
    FAULTS[name].make(machines[host], *values)
