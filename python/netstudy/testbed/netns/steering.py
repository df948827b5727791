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
from netstudy.store.nodes import Tuning
from netstudy.testbed.netns.namespaces import FOLDER
from netstudy.testbed.netns.programs import run_program

DEFAULT_MASK = Path("/proc/sys/net/core/rps_default_mask")

_SYSFS = FOLDER.parent / "netstudy-sys"
"""Where /sys of a namespace is mounted for a moment: in the sandbox's own /run."""


def cpu_mask(cpu: int) -> str:
    """One processor as the kernel writes sets of them: hexadecimal, 32 a group, highest first."""
    groups, bit = divmod(cpu, 32)
    return ",".join([f"{1 << bit:x}", *["00000000"] * groups])


def steer_new(cpu: int) -> list[Tuning]:
    """Have interfaces that will be made in the current namespace receive on a processor; what that
    changed.

    Does nothing before Linux 6.3: `steer` is for that.
    """
    if not DEFAULT_MASK.exists():
        return []
    return [_written(DEFAULT_MASK, "sysctl -w net.core.rps_default_mask", cpu)]


def steer(interfaces: Iterable[str], cpu: int) -> list[Tuning]:
    """Have interfaces of the current namespace receive on a processor; what that changed.

    Does nothing from Linux 6.3 on, where they do since they were made. Raises TestbedError where
    that is refused: to ordinary users, and in containers.
    """
    if DEFAULT_MASK.exists():
        return []
    try:
        with _sysfs():
            return [one for interface in interfaces for one in _write(interface, cpu)]
    except (TestbedError, PermissionError) as error:
        raise TestbedError(
            f"received frames cannot be kept on one processor: {error}; run as root, or on one "
            "processor (taskset -c 0 netstudy run …), or use Linux 6.3 or later"
        ) from error


def _write(interface: str, cpu: int) -> Iterator[Tuning]:
    for queue in (_SYSFS / "class/net" / interface / "queues").glob("rx-*"):
        shown = f"/sys/class/net/{interface}/queues/{queue.name}/rps_cpus"
        yield _written(queue / "rps_cpus", shown, cpu)


def _written(path: Path, name: str, cpu: int) -> Tuning:
    before = path.read_text().strip()
    path.write_text(cpu_mask(cpu))
    after = path.read_text().strip()
    return Tuning(command=f"{name}={cpu_mask(cpu)}", before=before, after=after)


@contextmanager
def _sysfs() -> Iterator[None]:
    _SYSFS.mkdir(exist_ok=True)
    run_program("mount", "-t", "sysfs", "sysfs", str(_SYSFS))
    try:
        yield
    finally:
        run_program("umount", str(_SYSFS))
