"""Whether the namespace testbed works on this machine, and how to install missing parts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from netstudy.errors import TestbedError
from netstudy.testbed.netns.database import server_programs
from netstudy.testbed.netns.kernel import QDISCS, Kernel, kernel
from netstudy.testbed.netns.namespaces import NEEDED, PACKAGES, find_program, install
from netstudy.testbed.netns.sandbox import may_make_namespaces
from netstudy.testbed.netns.sysstat import recorder_program

_NOBODY = 65_534
_TIME_LIMIT_S = 10
_ORDINARY = "ordinary users may make namespaces"
_PARTS = {
    "switch": "any buffer architecture, delay, marks",
    "kernel path": "--testbed netns-kernel",
    "reordering": "frames that do not overtake each other",
    "congestion": "congestion controls of sockets",
    "queues": "queue disciplines of interfaces",
}
"""Capability of the kernel -> its purpose."""

USER_NAMESPACE_SWITCHES = {
    "user.max_user_namespaces": ("0", "10000"),
    "kernel.unprivileged_userns_clone": ("0", "1"),  # only in Debian, up to Debian 10
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),  # only in Ubuntu, from 23.10 on
}
"""Sysctl -> two of its values: the one that denies namespaces to ordinary users, and one that
allows them."""


@dataclass(frozen=True)
class Aspect:
    """A capability or program that the testbed needs or could use."""

    name: str
    ok: bool
    found: str
    advice: str | None = None
    """The command that installs or enables the missing part."""


def aspects() -> list[Aspect]:
    """All aspects are returned, even if parts are missing. For an aspect that cannot be tried, the
    reason and the purpose are given."""
    missing = [name for name in NEEDED if find_program(name) is None]
    netns, here = _netns(missing)
    of_kernel = untried_aspects(netns.found) if here is None else kernel_aspects(here)
    return [
        programs_aspect(missing),
        netns,
        _rootless(netns),
        *of_kernel,
        _sysstat(),
        _postgresql(),
    ]


def _netns(missing: Sequence[str]) -> tuple[Aspect, Kernel | None]:
    """Whether the testbed works, and what the kernel can do if it does."""
    if missing:
        return Aspect("netns", False, f"--testbed netns needs {', '.join(missing)}"), None
    try:
        here = kernel()
    except TestbedError as error:
        return Aspect("netns", False, str(error), _advice()), None
    return Aspect("netns", True, f"--testbed netns works here, {_who()}"), here


def programs_aspect(missing: Iterable[str]) -> Aspect:
    """The programs that the testbed calls, and which of them are missing."""
    names = list(missing)
    if not names:
        return Aspect("programs", True, ", ".join(NEEDED))
    packages = dict.fromkeys(PACKAGES[name] for name in names)
    advice = f"sudo apt-get install {' '.join(packages)}"
    return Aspect("programs", False, f"no {', '.join(names)}, for --testbed netns", advice)


def untried_aspects(why: str) -> list[Aspect]:
    """The aspects of the testbed on a machine where it does not work at all."""
    return [
        Aspect(name, False, f"not tried, for {purpose}: {why}") for name, purpose in _PARTS.items()
    ]


def _sysstat() -> Aspect:
    if recorder_program() is not None:
        return Aspect("sysstat", True, "sysstat can record at hosts")
    found = "not found; for hosts that record with it (sysstat: true of a sar instrument)"
    return Aspect("sysstat", False, found, install("sadf"))


def _postgresql() -> Aspect:
    programs = server_programs()
    if programs is not None:
        return Aspect("postgresql", True, str(programs))
    found = "not found; for applications that run a database of their own"
    return Aspect("postgresql", False, found, "sudo apt-get install postgresql")


def _who() -> str:
    return "as root" if may_make_namespaces() else "as an ordinary user"


def _rootless(netns: Aspect) -> Aspect:
    """Whether ordinary users may use the testbed: root tries it out as the user `nobody`."""
    if os.geteuid() != 0:
        return Aspect("rootless", netns.ok, _ORDINARY if netns.ok else netns.found)
    setpriv = find_program("setpriv")
    if setpriv is None or find_program("unshare") is None:
        found = "not tried, for runs as an ordinary user: no setpriv, unshare"
        return Aspect("rootless", False, found, "sudo apt-get install util-linux")
    ids = [f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
    spaces = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork"]
    command = [setpriv, *ids, *spaces, "true"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIME_LIMIT_S)
    if done.returncode == 0:
        return Aspect("rootless", True, _ORDINARY)
    found = f"ordinary users may not make namespaces: {done.stderr.strip()}"
    return Aspect("rootless", False, found, _advice())


def _advice() -> str:
    return user_namespace_advice(_sysctl)


def _sysctl(name: str) -> str | None:
    try:
        return Path("/proc/sys", *name.split(".")).read_text().strip()
    except OSError:
        return None


def user_namespace_advice(sysctl: Callable[[str], str | None]) -> str:
    """How to let an ordinary user make namespaces; `sysctl` returns the value of a name."""
    for name, (forbids, allows) in USER_NAMESPACE_SWITCHES.items():
        if sysctl(name) == forbids:
            return f"sudo sysctl {name}={allows}"
    return "run as root; in a container, start that with --privileged"


def kernel_aspects(here: Kernel) -> list[Aspect]:
    """For each part of the testbed, whether this kernel supports it."""
    return [_own_switch(here), _kernels_switch(here), _one_cpu(here), *_lists(here)]


def _own_switch(here: Kernel) -> Aspect:
    lacks = ([] if "veth" in here.links else ["veth"]) + (
        [] if here.packet_sockets else ["af_packet"]
    )
    return _modules("switch", "the user-space switch works", lacks)


def _kernels_switch(here: Kernel) -> Aspect:
    queues = [f"sch_{kind}" for kind in ("htb", "bfifo", "pfifo") if kind not in here.qdiscs]
    lacks = [kind for kind in ("veth", "bridge") if kind not in here.links] + queues
    return _modules("kernel path", "bridge, htb and bfifo work", lacks)


def _modules(name: str, works: str, lacks: list[str]) -> Aspect:
    if not lacks:
        return Aspect(name, True, works)
    advice = f"sudo modprobe -a {' '.join(lacks)}, if the kernel was built with them"
    return Aspect(name, False, f"the kernel lacks {', '.join(lacks)}", advice)


def _one_cpu(here: Kernel) -> Aspect:
    if "core/rps_default_mask" in here.sysctls:
        return Aspect("reordering", True, "frames are received on one CPU")
    found = f"{here.name} lets only root have frames received on one CPU"
    advice = "as an ordinary user, run on one: taskset -c 0 netstudy run …; or use Linux 6.3"
    return Aspect("reordering", False, found, advice)


def _lists(here: Kernel) -> list[Aspect]:
    controls = sorted(here.congestion_controls)
    absent = [f"tcp_{name}" for name in ("cubic", "dctcp") if name not in controls]
    queues = [kind for kind in QDISCS if kind in here.qdiscs]
    more = f"for more: sudo modprobe -a {' '.join(absent)}, if the kernel was built with them"
    return [
        Aspect("congestion", not absent, ", ".join(controls), more if absent else None),
        Aspect("queues", True, ", ".join(queues) or "none"),
    ]
