"""Counters of the CPUs: of which processes they are, and the reason where there are none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.testbed.real import hardware_counters
from netstudy.testbed.real.counters import readings
from netstudy.testbed.real.hardware_counters import Counting, Event, NotCountedError
from tests.skips import needs_programs
from tests.testbed.carried_out import a_run, counts, record_of, roles
from tests.testbed.conftest import User
from tests.testbed.networks import star
from tests.testbed.served import a_served_run, brokerage, tiers, transactions
from tests.testbed.told import evidence

TASK_CLOCK = {"task_clock_ns": Event(1, 1)}
"""PERF_COUNT_SW_TASK_CLOCK: CPU time, which every kernel counts by the same call."""
EACH_NS = 100_000_000
HAS_COUNTERS = Path("/sys/bus/event_source/devices/cpu").exists()
SPENDING = """
import subprocess, sys, threading, time
spend = "import time\\nwhile time.thread_time_ns() < {each}: pass"
started = threading.Event()
def early():
    started.wait()
    exec(spend)
thread = threading.Thread(target=early)
thread.start()
print("there", flush=True)
sys.stdin.readline()
started.set()
late = threading.Thread(target=exec, args=(spend,))
late.start()
child = subprocess.run([sys.executable, "-c", spend])
thread.join(), late.join()
print("spent", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def spending() -> Iterator[subprocess.Popen[str]]:
    """A process with two threads that spends CPU time when it is sent a line: in the thread that is
    there, in a new one, and in a child."""
    process = subprocess.Popen(
        [sys.executable, "-c", SPENDING.format(each=EACH_NS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        yield process
        process.kill()


def test_threads_that_are_there_later_ones_and_children_are_counted(
    spending: subprocess.Popen[str],
) -> None:
    try:
        counting = Counting.of([spending.pid], TASK_CLOCK)
    except NotCountedError as error:
        pytest.skip(f"the kernel lets this user count nothing: {error}")
    assert spending.stdin is not None
    assert spending.stdout is not None
    before = counting.read()["task_clock_ns"]
    print("go", file=spending.stdin, flush=True)
    assert spending.stdout.readline() == "spent\n"
    grown = counting.read()["task_clock_ns"] - before
    counting.close()

    # The starts of the child and of its interpreter come on top.
    assert 3 * EACH_NS <= grown < 30 * EACH_NS


def test_what_has_ended_is_not_counted_and_no_error() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    try:
        counting = Counting.of([ended.pid], TASK_CLOCK)
    except NotCountedError as error:
        pytest.skip(f"the kernel lets this user count nothing: {error}")
    assert counting.read() == {"task_clock_ns": 0}


def test_this_machine_counts_cycles_and_instructions_or_says_why_not(
    spending: subprocess.Popen[str],
) -> None:
    if not HAS_COUNTERS:
        with pytest.raises(NotCountedError, match="show no hardware counters, as is usual in a "):
            Counting.of([spending.pid])
        return
    counting = Counting.of([spending.pid])
    assert spending.stdin is not None
    assert spending.stdout is not None
    print("go", file=spending.stdin, flush=True)
    assert spending.stdout.readline() == "spent\n"
    counted = counting.read()
    assert counted["cpu_cycles"] > EACH_NS // 10
    assert counted["cpu_instructions"] > EACH_NS // 10
    counting.close()


def test_a_user_without_the_right_is_told_what_would_help(user: User) -> None:
    if user.is_root:
        pytest.skip("root may count")
    setting = Path("/proc/sys/kernel/perf_event_paranoid")
    program = (
        "import os\n"
        "from netstudy.testbed.real.hardware_counters import Counting, NotCountedError\n"
        "try: Counting.of([1])\n"
        "except NotCountedError as error: print(error)\n"
    )
    said = user.output("-c", program)
    if HAS_COUNTERS and int(setting.read_text()) <= 2:
        assert said == ""
    else:
        assert "show no hardware counters" in said or "perf_event_paranoid is" in said


def test_a_machine_whose_call_is_not_known_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware_counters, "_CALL", {})
    with pytest.raises(NotCountedError, match="the number of the call on"):
        Counting.of([1])


def test_counts_stand_in_the_record_for_the_measuring_phase() -> None:
    run = a_run(star(1), wire.Incast(roles=roles("client", "server"), block_bytes=1), counts(1))
    counted = {"server": {"cpu_cycles": 300, "cpu_instructions": 200}}
    of = readings(replace(evidence(run, {}), hardware=counted))
    assert of["server"]["cpu_cycles"] == (0, 300)
    assert of["server"]["cpu_instructions"] == (0, 200)
    assert "cpu_cycles" not in of["client"]


@needs_programs("ip")
@pytest.mark.one_user
def test_a_run_has_them_or_the_reason(user: User) -> None:
    work = transactions(brokerage(database="sqlite"), wire.ClosedLoad(users=4))
    record = record_of(user, a_served_run(work, tiers()))

    reason = record.environment.get(wire.HARDWARE_COUNTERS)
    if "cpu_cycles" in record.counters["app"]:
        cycles = [count for count in record.counters["app"]["cpu_cycles"] if count is not None]
        assert cycles[0] == 0 < cycles[1]
    else:
        assert reason is not None
        assert not HAS_COUNTERS or "perf_event_paranoid" in reason
    if not HAS_COUNTERS:
        assert reason is not None
        assert reason.startswith("the CPUs of this machine show no hardware counters")
