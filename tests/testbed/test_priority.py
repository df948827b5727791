"""The switch's process goes before all others, and never long enough for the kernel to stop it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from netstudy.testbed.netns.priority import keep_before_others

SPIN = "while True: pass"
SLEEP = "import time; time.sleep(60)"
WATCHED_S, STEP_S = 1.2, 0.01


@pytest.fixture
def pid(request: pytest.FixtureRequest) -> Iterator[int]:
    """A process that does what the parameter says."""
    process = subprocess.Popen([sys.executable, "-c", request.param])
    try:
        os.sched_setscheduler(process.pid, os.SCHED_RR, os.sched_param(1))
        os.sched_setscheduler(process.pid, os.SCHED_OTHER, os.sched_param(0))
    except PermissionError:
        pytest.skip("the real-time class is not allowed to this user")
    else:
        yield process.pid
    finally:
        process.kill()
        process.wait()


async def classes(pid: int) -> list[int]:
    """The classes that the process is seen in, for somewhat more than a second."""
    keeping = asyncio.ensure_future(keep_before_others(pid))
    seen = []
    for _ in range(round(WATCHED_S / STEP_S)):
        await asyncio.sleep(STEP_S)
        seen.append(os.sched_getscheduler(pid))
    keeping.cancel()
    return seen


@pytest.mark.parametrize("pid", [SPIN], indirect=True)
def test_one_that_never_sleeps_leaves_the_real_time_class_within_a_second(pid: int) -> None:
    seen = asyncio.run(classes(pid))

    assert seen[0] == os.SCHED_RR
    assert os.SCHED_OTHER in seen
    assert seen.count(os.SCHED_RR) > len(seen) / 2


@pytest.mark.parametrize("pid", [SLEEP], indirect=True)
def test_one_that_sleeps_stays_in_the_real_time_class(pid: int) -> None:
    assert set(asyncio.run(classes(pid))) == {os.SCHED_RR}
