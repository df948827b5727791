"""Named network namespaces, as `ip netns` keeps them, and work inside one of them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path("/run/netns")
"""Where `ip netns` keeps the names; the sandbox puts an empty folder of its own there."""

_CLONE_NEWNET = 0x4000_0000  # linux/sched.h
_OWN = Path("/proc/thread-self/ns/net")


def namespace(name: str) -> Path:
    """The file that stands for a namespace, as `nsenter --net=` takes it."""
    return FOLDER / name


@contextmanager
def within(name: str) -> Iterator[None]:
    """Be in a namespace for the block: the calling thread alone, and the processes it starts.

    The kernel keeps the namespace per thread, so other threads stay where they are. /proc/net and
    /proc/sys/net show the namespace of the thread that opens them; /sys does not follow.
    """
    own = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(namespace(name))
        try:
            yield
        finally:
            _set(own)
    finally:
        os.close(own)


def _enter(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _set(descriptor)
    finally:
        os.close(descriptor)


def _set(descriptor: int) -> None:
    """setns(2), which Python has from 3.12 on."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")
