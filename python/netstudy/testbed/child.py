"""A child process that never outlives its parent. Only the standard library is imported here: this
module is sent to workers that have no netstudy."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1  # prctl(2), Linux


def dies_with_parent() -> Callable[[], None] | None:
    """A `preexec_fn` that has the kernel kill the child when this process dies, even by kill -9."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:  # we died in between
            os._exit(1)

    return ask
