"""Which processor deals with the frames that an interface receives (receive packet steering).

Frames of one connection that several processors deal with overtake each other: TCP takes that for
loss. From Linux 6.3 on a new interface takes the processor from a sysctl of its namespace. Before,
each interface has to be told, by a file of /sys, which shows the namespace that it was mounted in.

Source: Documentation/networking/scaling.rst of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from netstudy.errors import TestbedError
from netstudy.testbed.netns.namespaces import FOLDER
from netstudy.testbed.netns.programs import run_program

DEFAULT_MASK = Path("/proc/sys/net/core/rps_default_mask")

_SYSFS = FOLDER.parent / "netstudy-sys"
"""Where /sys of a namespace is mounted for a moment: in the sandbox's own /run."""


def cpu_mask(cpu: int) -> str:
    """One processor as the kernel writes sets of them: hexadecimal, 32 a group, highest first."""
    groups, bit = divmod(cpu, 32)
    return ",".join([f"{1 << bit:x}", *["00000000"] * groups])


def steer_new(cpu: int) -> None:
    """Have interfaces that will be made in the current namespace receive on a processor.

    Does nothing before Linux 6.3: `steer` is for that.
    """
    if DEFAULT_MASK.exists():
        DEFAULT_MASK.write_text(cpu_mask(cpu))


def steer(interfaces: Iterable[str], cpu: int) -> None:
    """Have interfaces of the current namespace receive on a processor.

    Does nothing from Linux 6.3 on, where they do since they were made. Raises TestbedError where
    that is refused: to ordinary users, and in containers.
    """
    if DEFAULT_MASK.exists():
        return
    try:
        with _sysfs():
            for interface in interfaces:
                _write(interface, cpu)
    except (TestbedError, PermissionError) as error:
        raise TestbedError(
            f"received frames cannot be kept on one processor: {error}; run as root, or on one "
            "processor (taskset -c 0 netstudy run …), or use Linux 6.3 or later"
        ) from error


def _write(interface: str, cpu: int) -> None:
    for queue in (_SYSFS / "class/net" / interface / "queues").glob("rx-*"):
        (queue / "rps_cpus").write_text(cpu_mask(cpu))


@contextmanager
def _sysfs() -> Iterator[None]:
    _SYSFS.mkdir(exist_ok=True)
    run_program("mount", "-t", "sysfs", "sysfs", str(_SYSFS))
    try:
        yield
    finally:
        run_program("umount", str(_SYSFS))
