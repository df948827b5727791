"""What goes first on the processors: a run must not depend on what else the machine has to do."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress

from netstudy.store.nodes import Tuning

_NICENESS, _MOST_NICENESS = -15, -20
_SHARE, _AHEAD_S = 0.9, 0.04
"""No second has more than 0.9 s and 0.04 s."""
_STEP_S = 0.03


def prefer_this_process() -> Tuning:
    """Let this process and its children go before others, where that is allowed: not to users. What
    that changed."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
    after = os.getpriority(os.PRIO_PROCESS, 0)
    command = f"renice --priority {_NICENESS}"
    return Tuning(command=command, before=f"{before}", after=f"{after}")


async def keep_before_others(pid: int) -> None:
    """Keep a program before all others until cancelled, where that is allowed: not to users.

    The switch is a clock: a frame that leaves late is one that a real switch would have sent. The
    kernel stops programs of the real-time class that take more than 95 % of a second for the rest
    of it (sched_rt_runtime_us), which a switch that does not sleep would do: before that, it is a
    program like others for a while.
    """
    with suppress(OSError):  # not allowed, or the program has ended
        os.setpriority(os.PRIO_PROCESS, pid, _MOST_NICENESS)
        budget, is_real_time = _Budget(pid), False
        while True:
            # Only where it changes: it holds the program up.
            if budget.is_left() != is_real_time:
                is_real_time = not is_real_time
                policy, level = (os.SCHED_RR, 1) if is_real_time else (os.SCHED_OTHER, 0)
                os.sched_setscheduler(pid, policy, os.sched_param(level))
            await asyncio.sleep(_STEP_S)
            budget.charge(is_real_time=is_real_time)


class _Budget:
    """What a program may take of the real-time class: a share of the time, and a bit ahead."""

    def __init__(self, pid: int) -> None:
        self._clock = (~pid << 3) | 2  # processor time of a process: clock_getcpuclockid(3)
        self._used_s, self._at_s = time.clock_gettime(self._clock), time.monotonic()
        self._ahead_s = 0.0

    def is_left(self) -> bool:
        return self._ahead_s < _AHEAD_S

    def charge(self, *, is_real_time: bool) -> None:
        """What it took since the last call, in the real-time class or not."""
        used_s, at_s = time.clock_gettime(self._clock), time.monotonic()
        taken_s = used_s - self._used_s if is_real_time else 0.0
        self._ahead_s = max(0.0, self._ahead_s + taken_s - _SHARE * (at_s - self._at_s))
        self._used_s, self._at_s = used_s, at_s
