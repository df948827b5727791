"""Capabilities of this machine's kernel for the namespace testbed, found by trials in a sandbox.

`kernel()` starts this module as a program in a sandbox of its own. The program tries each
capability on temporary interfaces, and prints the working ones.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from netstudy.errors import TestbedError
from netstudy.testbed.netns.control_groups import usable
from netstudy.testbed.netns.namespaces import run_program
from netstudy.testbed.netns.sandbox import enter, sandbox_command
from netstudy.testbed.netns.users import as_ordinary_user
from netstudy.testbed.real.kernel_tcp import KernelRelease

_MODULE = "netstudy.testbed.netns.kernel"
_TIME_LIMIT_S = 20
_CLOCK_MONOTONIC_COARSE = 6  # linux/time.h; this clock advances once per tick

_HYSTART = Path("/sys/module/tcp_cubic/parameters/hystart")
_SYSCTLS = Path("/proc/sys/net")
_SYSCTL_FOLDERS = ("core", "ipv4", "ipv6/conf/all", "ipv6/conf/default", "bridge")

_CONTROLS = ("reno", "cubic", "bbr", "dctcp", "bic")
"""Congestion controls of Linux to try even if the kernel does not list them, because it may load
their modules."""

QDISCS = {
    "bfifo": "limit 10000b",
    "pfifo": "limit 10",
    "tbf": "rate 1mbit burst 10000b limit 10000b",
    "htb": "",
    "netem": "delay 1ms",
    "red": "limit 100000 avpkt 1000",
    "codel": "",
    "fq_codel": "",
    "fq": "",
    "prio": "",
    "sfq": "",
}
"""Queue disciplines to try, each with the parameters that `tc` requires for it."""


@dataclass(frozen=True)
class Kernel(KernelRelease):
    """Version and capabilities of a kernel: its TCP, queue disciplines and links."""

    tick_ns: int
    """Time between two interrupts of the kernel's clock: the granularity of TCP's timers."""
    sysctls: frozenset[str]
    """Files below /proc/sys/net that can be written in a new namespace; paths are relative to
    /proc/sys/net."""
    congestion_controls: frozenset[str]
    """Congestion controls that a socket accepts, by the kernel's names."""
    hystart: bool
    """Whether cubic uses HyStart; this setting is the same for the whole machine."""
    qdiscs: frozenset[str]
    """Queue disciplines that an interface accepts."""
    links: frozenset[str]
    """Kinds of links that can be made: veth, bridge, macvlan."""
    packet_sockets: bool
    """Whether a program may receive and send frames (AF_PACKET)."""
    source_routes: bool
    """Whether a route may depend on the address that a packet comes from."""
    control_groups: frozenset[str] = frozenset()
    """Controllers of control groups that may be used: cpu, memory, io."""
    other_users: bool = True
    """Whether a process inside a sandbox can run as a user other than root: as one of the machine's
    users, or in a nested user namespace."""


def tick_ns() -> int:
    """Time between two interrupts of the kernel's clock."""
    return round(time.clock_getres(_CLOCK_MONOTONIC_COARSE) * 1e9)


@cache
def kernel() -> Kernel:
    """The kernel of this machine; it is probed once per process.

    Raises TestbedError when namespaces cannot be made at all, with the reason.
    """
    command = sandbox_command([sys.executable, "-m", _MODULE])
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIME_LIMIT_S)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it failed without a word"])[-1]
        raise TestbedError(f"no namespaces can be made here: {last}")
    found = json.loads(done.stdout)
    sets = {name: frozenset(value) for name, value in found.items() if isinstance(value, list)}
    return Kernel(**{**found, **sets})


def _probe() -> Kernel:
    """Try each capability; called inside a sandbox."""
    enter()
    tried = (("veth", _veth()), ("bridge", _bridge()), ("macvlan", _macvlan()))
    links = frozenset(kind for kind, made in tried if made)
    return Kernel(
        release=platform.release(),
        tick_ns=tick_ns(),
        sysctls=frozenset(_writable_sysctls()),
        congestion_controls=frozenset(filter(_has_control, {*_CONTROLS, *_listed_controls()})),
        hystart=_hystart(),
        qdiscs=frozenset(filter(_has_qdisc, QDISCS)) if "veth" in links else frozenset(),
        links=links,
        packet_sockets=_packet_sockets(),
        source_routes=_works("ip", "rule", "add", "from", "10.77.0.1", "lookup", "1000"),
        control_groups=frozenset(usable()),
        other_users=_other_users(),
    )


def _other_users() -> bool:
    """Whether a program can be started as an ordinary user."""
    command = [*as_ordinary_user(), "sh", "-c", 'test "$(id -u)" != 0']
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except (OSError, TestbedError):
        return False


def _veth() -> bool:
    return _works("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")


def _bridge() -> bool:
    return _works("ip", "link", "add", "b0", "type", "bridge")


def _macvlan() -> bool:
    """Whether a macvlan can be made on the veth that was made before."""
    kind = ("type", "macvlan", "mode", "bridge")
    return _works("ip", "link", "add", "link", "v0", "name", "m0", *kind)


def _has_qdisc(kind: str) -> bool:
    """Whether an interface accepts a queue discipline. The discipline stays set until the next
    trial replaces it."""
    return _works("tc", "qdisc", "replace", "dev", "v0", "root", kind, *QDISCS[kind].split())


def _works(name: str, *arguments: str) -> bool:
    try:
        run_program(name, *arguments)
    except TestbedError:
        return False
    return True


def _listed_controls() -> list[str]:
    """The congestion controls that the kernel has loaded, in-tree or not."""
    try:
        return (_SYSCTLS / "ipv4/tcp_available_congestion_control").read_text().split()
    except OSError:
        return []


def _has_control(name: str) -> bool:
    """Whether a socket accepts a congestion control; the sysctl cannot tell, since it refuses some
    that sockets accept."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError:
            return False
    return True


def _hystart() -> bool:
    try:
        return _HYSTART.read_text().strip() != "0"
    except OSError:
        return True  # the kernel's default: `hystart = 1`, net/ipv4/tcp_cubic.c


def _packet_sockets() -> bool:
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
    except OSError:
        return False
    return True


def _writable_sysctls() -> list[str]:
    files = [path for folder in _SYSCTL_FOLDERS for path in _files(_SYSCTLS / folder)]
    return [str(path.relative_to(_SYSCTLS)) for path in files if os.access(path, os.W_OK)]


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []


def _main() -> None:
    found = asdict(_probe())
    sets = {name: sorted(value) for name, value in found.items() if isinstance(value, frozenset)}
    json.dump({**found, **sets}, sys.stdout)


if __name__ == "__main__":
    _main()
