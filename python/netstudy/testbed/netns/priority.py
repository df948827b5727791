"""What goes first on the processors: a run must not depend on what else the machine has to do."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache

from netstudy.testbed.netns.programs import program

_NICENESS = -15


def prefer_this_process() -> None:
    """Let this process and its children go before others, where that is allowed: not to users."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)


@cache
def before_others() -> list[str]:
    """What starts a program in the real-time class, before all that is not; else nothing.

    The switch is a clock: a frame that leaves late is one that a real switch would have sent. The
    kernel leaves other programs a twentieth of the time (sched_rt_runtime_us).
    """
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        return []
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return [program("chrt"), "--rr", "1"]
