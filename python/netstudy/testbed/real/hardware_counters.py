"""Hardware counters of processes: cycles and instructions, as perf_event_open(2) counts them.

All threads of the processes and of their children are counted. If the CPU has fewer counters than
needed, the kernel multiplexes them, and counts are scaled up to the whole time (perf_event_open:
PERF_FORMAT_TOTAL_TIME_ENABLED).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_CALL: Final = {"x86_64": 298, "aarch64": 241}
"""Number of the system call perf_event_open."""
_ATTRIBUTE_BYTES = 112  # PERF_ATTR_SIZE_VER5
_TIMES = 1 | 2  # PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING
_INHERIT, _WITHOUT_KERNEL = 1 << 1, 1 << 5
_CLOSE_ON_EXEC = 8  # PERF_FLAG_FD_CLOEXEC
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


@dataclass(frozen=True)
class Event:
    """A hardware event, by its numbers in linux/perf_event.h."""

    kind: int
    number: int


HARDWARE: Final[Mapping[str, Event]] = {
    "cpu_cycles": Event(0, 0),
    "cpu_instructions": Event(0, 1),
}
"""Counter in records -> the hardware event: PERF_TYPE_HARDWARE with PERF_COUNT_HW_CPU_CYCLES or
_INSTRUCTIONS."""


class NotCountedError(Exception):
    """The machine cannot count such events, or this user may not. The message gives the reason and
    advice."""


@dataclass
class Counting:
    """Counters of running processes."""

    open: dict[str, list[int]] = field(default_factory=dict)
    is_whole: bool = True
    """Whether the kernel's own work for the processes is counted too."""

    @classmethod
    def of(cls, processes: Iterable[int], events: Mapping[str, Event] = HARDWARE) -> Counting:
        """Begin to count. Raises NotCountedError."""
        counting = cls({name: [] for name in events})
        try:
            counting._begin(list(processes), events)
        except OSError as error:
            counting.close()
            raise NotCountedError(_why(error)) from error
        return counting

    def _begin(self, processes: list[int], events: Mapping[str, Event]) -> None:
        try:
            own = [_opened(event, os.getpid(), _INHERIT) for event in events.values()]
        except PermissionError:
            self.is_whole = False
            without = _INHERIT | _WITHOUT_KERNEL
            own = [_opened(event, os.getpid(), without) for event in events.values()]
        for descriptor in own:
            os.close(descriptor)
        flags = _INHERIT if self.is_whole else _INHERIT | _WITHOUT_KERNEL
        for thread in (one for process in processes for one in _threads(process)):
            for name, event in events.items():
                with suppress(ProcessLookupError):
                    self.open[name].append(_opened(event, thread, flags))

    def read(self) -> dict[str, int]:
        """Counts so far."""
        return {name: sum(map(_scaled, opened)) for name, opened in self.open.items()}

    def close(self) -> None:
        """Stop counting."""
        for descriptor in (one for opened in self.open.values() for one in opened):
            os.close(descriptor)
        self.open = {}


def _threads(process: int) -> list[int]:
    with suppress(OSError):
        return [int(path.name) for path in Path(f"/proc/{process}/task").iterdir()]
    return []


def _opened(event: Event, thread: int, flags: int) -> int:
    """The file descriptor of a counter for one thread, on whatever CPU it runs. Raises OSError."""
    number = _CALL.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, f"the number of the call on {platform.machine()} is not known")
    head = struct.pack("IIQQQQQ", event.kind, _ATTRIBUTE_BYTES, event.number, 0, 0, _TIMES, flags)
    attribute = ctypes.create_string_buffer(head, _ATTRIBUTE_BYTES)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = int(libc.syscall(number, attribute, thread, -1, -1, _CLOSE_ON_EXEC))
    if descriptor < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return descriptor


def _scaled(descriptor: int) -> int:
    count, enabled_ns, running_ns = struct.unpack("QQQ", os.read(descriptor, 24))
    return count * enabled_ns // running_ns if running_ns else int(count)


def _why(error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM):
        level = _PARANOID.read_text().strip() if _PARANOID.exists() else "unknown"
        return (
            "this user may not read the hardware counters of the CPUs: kernel.perf_event_paranoid "
            f"is {level} (2 or less lets a user count processes of their own)"
        )
    if error.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.EINVAL):
        return (
            "the CPUs of this machine show no hardware counters, as is usual in a virtual machine "
            f"(perf_event_open: {error.strerror})"
        )
    return f"the hardware counters of the CPUs cannot be read (perf_event_open: {error.strerror})"
