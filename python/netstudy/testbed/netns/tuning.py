"""Settings of interfaces, receive queues and CPUs for a run.

A function that changes a setting returns the change as a Tuning: the command, with the values
before and after it.

Offloads are switched by the ioctl that `ethtool -K` and `-k` use, since starting that program for
each interface would take time; the numbers are from linux/ethtool.h.

Receive packet steering keeps the frames of an interface on one CPU. If several CPUs handled the
frames of one connection, frames could overtake each other, which TCP takes for loss. From Linux 6.3
on, a new interface takes its CPU from a sysctl of its namespace. In older kernels each interface is
set by a file in /sys, and /sys shows the namespace in which it was mounted
(Documentation/networking/scaling.rst of the kernel).
"""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import os
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from netstudy.errors import TestbedError
from netstudy.store.nodes import Tuning
from netstudy.testbed.netns.namespaces import FOLDER, run_program

_SIOCETHTOOL = 0x8946  # linux/sockios.h

_GET_AND_SET = {
    "tx": (0x16, 0x17),  # ETHTOOL_GTXCSUM, ETHTOOL_STXCSUM
    "tso": (0x1E, 0x1F),  # ETHTOOL_GTSO, ETHTOOL_STSO
    "gso": (0x23, 0x24),  # ETHTOOL_GGSO, ETHTOOL_SGSO
    "gro": (0x2B, 0x2C),  # ETHTOOL_GGRO, ETHTOOL_SGRO
}
"""For each name of `ethtool -K`, the commands that get (ETHTOOL_G…) and set (ETHTOOL_S…) the
offload."""
_GET_DRIVER, _GET_STRINGS, _GET_SET_INFO, _GET_FEATURES = 0x03, 0x1B, 0x37, 0x3A
_FEATURES = 4
"""ETH_SS_FEATURES: the string set with the names of the features."""
_FEATURE_NAME_BYTES, _FEATURES_PER_BLOCK = 32, 32
"""ETH_GSTRING_LEN, and the number of features in an ethtool_get_features_block."""

RPS_DEFAULT_MASK = Path("/proc/sys/net/core/rps_default_mask")

_SYSFS = FOLDER.parent / "netstudy-sys"
"""Temporary mount point of a namespace's /sys, in the sandbox's own /run."""

_NICENESS, _MOST_NICENESS = -15, -20
_REAL_TIME_SHARE, _REAL_TIME_AHEAD_S = 0.9, 0.04
"""Share of each second that a program may run with real-time priority, and how many seconds more it
may run at first."""
_BUDGET_STEP_S = 0.03


def set_offloads(interface: str, wanted: Mapping[str, bool]) -> list[Tuning]:
    """Set offloads of an interface of the current namespace. Raises OSError when refused."""
    return [_set_offload(interface, feature, on=on) for feature, on in wanted.items()]


def _set_offload(interface: str, feature: str, *, on: bool) -> Tuning:
    get, set_ = _GET_AND_SET[feature]
    before = _ethtool_value(interface, get)
    _ethtool(interface, struct.pack("II", set_, int(on)))
    after = _ethtool_value(interface, get)
    command = f"ethtool -K {interface} {feature} {_on_or_off(on)}"
    return Tuning(command=command, before=_on_or_off(before), after=_on_or_off(after))


def offloads(interface: str) -> str:
    """All features of an interface of the current namespace as `ethtool -k` prints them, by the
    kernel's own names. Raises OSError when refused."""
    asked = struct.pack("IIQI", _GET_SET_INFO, 0, 1 << _FEATURES, 0)
    count = struct.unpack_from("I", _ethtool(interface, asked), 16)[0]
    asked = struct.pack("III", _GET_STRINGS, _FEATURES, count) + bytes(count * _FEATURE_NAME_BYTES)
    names = _ethtool(interface, asked)[12:]
    blocks = -(-count // _FEATURES_PER_BLOCK)
    asked = struct.pack("II", _GET_FEATURES, blocks) + bytes(16 * blocks)
    found = _ethtool(interface, asked)
    lines = []
    for number in range(count):
        name = _text(names[number * _FEATURE_NAME_BYTES : (number + 1) * _FEATURE_NAME_BYTES])
        block, bit = divmod(number, _FEATURES_PER_BLOCK)
        available, _, active, never = struct.unpack_from("IIII", found, 8 + 16 * block)
        fixed = never >> bit & 1 or not available >> bit & 1
        if name:
            lines.append(f"{name}: {_on_or_off(active >> bit & 1)}{' [fixed]' if fixed else ''}\n")
    return "".join(sorted(lines))


def driver(interface: str) -> str:
    """The driver of an interface of the current namespace, with its version if it has one.
    Raises OSError when refused."""
    told = _ethtool(interface, struct.pack("I", _GET_DRIVER) + bytes(192))
    name, version = _text(told[4:36]), _text(told[36:68])
    return f"{name} {version}".rstrip()


def _on_or_off(on: int) -> str:
    return "on" if on else "off"


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode()


def _ethtool_value(interface: str, command: int) -> int:
    """The data of an ethtool_value."""
    return int(struct.unpack("II", _ethtool(interface, struct.pack("II", command, 0)))[1])


def _ethtool(interface: str, asked: bytes) -> bytes:
    """Pass a structure of linux/ethtool.h to the kernel, and return the structure that the kernel
    returns."""
    data = ctypes.create_string_buffer(asked, len(asked))
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(data))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCETHTOOL, request)
    return data.raw


def cpu_mask(cpu: int) -> str:
    """A set that has only this CPU, as the kernel writes it: hexadecimal, in groups of 32 CPUs, the
    highest first."""
    groups, bit = divmod(cpu, 32)
    return ",".join([f"{1 << bit:x}", *["00000000"] * groups])


def steer_new(cpu: int) -> list[Tuning]:
    """Make interfaces that are added later to the current namespace receive on one CPU.

    Does nothing before Linux 6.3, where `steer` does it.
    """
    if not RPS_DEFAULT_MASK.exists():
        return []
    return [_write_mask(RPS_DEFAULT_MASK, "sysctl -w net.core.rps_default_mask", cpu)]


def steer(interfaces: Iterable[str], cpu: int) -> list[Tuning]:
    """Make the given interfaces of the current namespace receive on one CPU.

    Does nothing from Linux 6.3 on, where `steer_new` does it. Raises TestbedError if the kernel
    refuses this, as it does for ordinary users and in containers.
    """
    if RPS_DEFAULT_MASK.exists():
        return []
    try:
        with _mounted_sysfs():
            return [one for interface in interfaces for one in _steer_queues(interface, cpu)]
    except (TestbedError, PermissionError) as error:
        raise TestbedError(
            f"received frames cannot be kept on one CPU: {error}; run as root, or on one "
            "CPU (taskset -c 0 netstudy run …), or use Linux 6.3 or later"
        ) from error


def _steer_queues(interface: str, cpu: int) -> Iterator[Tuning]:
    for queue in (_SYSFS / "class/net" / interface / "queues").glob("rx-*"):
        shown = f"/sys/class/net/{interface}/queues/{queue.name}/rps_cpus"
        yield _write_mask(queue / "rps_cpus", shown, cpu)


def _write_mask(path: Path, name: str, cpu: int) -> Tuning:
    before = path.read_text().strip()
    path.write_text(cpu_mask(cpu))
    after = path.read_text().strip()
    return Tuning(command=f"{name}={cpu_mask(cpu)}", before=before, after=after)


@contextmanager
def _mounted_sysfs() -> Iterator[None]:
    _SYSFS.mkdir(exist_ok=True)
    run_program("mount", "-t", "sysfs", "sysfs", str(_SYSFS))
    try:
        yield
    finally:
        run_program("umount", str(_SYSFS))


def prefer_this_process() -> Tuning:
    """Raise the priority of this process and its future children, if the user is privileged."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
    after = os.getpriority(os.PRIO_PROCESS, 0)
    command = f"renice --priority {_NICENESS}"
    return Tuning(command=command, before=f"{before}", after=f"{after}")


async def keep_before_others(pid: int) -> None:
    """Give a program the highest priority until cancelled, if the user is privileged.

    The switch must send its frames on time, as a real switch does. If a real-time program uses the
    CPU for more than 95 % of a second, the kernel stops it for the rest of that second
    (sched_rt_runtime_us). The switch does not sleep and would reach this limit, so it is taken out
    of the real-time class for a while before.
    """
    with suppress(OSError):  # not permitted, or the program has already ended
        os.setpriority(os.PRIO_PROCESS, pid, _MOST_NICENESS)
        budget, is_real_time = _RealTimeBudget(pid), False
        while True:
            # Called only when the class changes, since each call delays the program.
            if budget.is_left() != is_real_time:
                is_real_time = not is_real_time
                policy, level = (os.SCHED_RR, 1) if is_real_time else (os.SCHED_OTHER, 0)
                os.sched_setscheduler(pid, policy, os.sched_param(level))
            await asyncio.sleep(_BUDGET_STEP_S)
            budget.charge(is_real_time=is_real_time)


class _RealTimeBudget:
    """The time that a program may still spend in the real-time class: a share of each second, and a
    little more."""

    def __init__(self, pid: int) -> None:
        self._clock = (~pid << 3) | 2  # CPU time of a process: clock_getcpuclockid(3)
        self._used_s, self._at_s = time.clock_gettime(self._clock), time.monotonic()
        self._ahead_s = 0.0

    def is_left(self) -> bool:
        return self._ahead_s < _REAL_TIME_AHEAD_S

    def charge(self, *, is_real_time: bool) -> None:
        """Subtract the CPU time since the last call, if the program was in the real-time class."""
        used_s, at_s = time.clock_gettime(self._clock), time.monotonic()
        taken_s = used_s - self._used_s if is_real_time else 0.0
        self._ahead_s = max(0.0, self._ahead_s + taken_s - _REAL_TIME_SHARE * (at_s - self._at_s))
        self._used_s, self._at_s = used_s, at_s
