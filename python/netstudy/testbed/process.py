"""What holds for every process that a testbed starts."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1  # prctl(2), Linux


def dies_with_parent() -> Callable[[], None] | None:
    """What makes the kernel kill the child when we die without a chance to do so (kill -9)."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:  # we died in between
            os._exit(1)

    return ask
