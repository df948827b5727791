"""Receive steering, the switch's priority, and CPU quotas of hosts."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.testbed.netns.control_groups import (
    DiskLimit,
    Limits,
    control_groups,
    disk_of,
    usable,
)
from netstudy.testbed.netns.place import NamespacePlace
from netstudy.testbed.netns.resources import CpuPinning, Resources
from netstudy.testbed.netns.tuning import cpu_mask, keep_before_others
from netstudy.testbed.real.setting import Setting
from tests.skips import or_skip
from tests.testbed.carried_out import a_run, counts, roles
from tests.testbed.networks import MODERN, layout, zones

SPIN = "while True: pass"
SLEEP = "import time; time.sleep(60)"
WATCHED_S, STEP_S = 1.2, 0.01
BUSY = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass"


@pytest.mark.parametrize(
    ("cpu", "mask"), [(0, "1"), (3, "8"), (31, "80000000"), (33, "2,00000000")]
)
def test_a_processor_is_written_as_the_kernel_reads_it(cpu: int, mask: str) -> None:
    assert cpu_mask(cpu) == mask


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


@contextmanager
def quotas(percents: dict[str, float]) -> Iterator[dict[str, Path]]:
    """A group for each host that has a quota."""
    with control_groups({host: Limits(cpu_pct=pct) for host, pct in percents.items()}) as groups:
        yield {host: file for host, (file,) in groups.items()}


@pytest.fixture
def allowed() -> None:
    with or_skip(), quotas({"probe": 50}):
        pass


def processor_s(group: Path) -> float:
    """What a busy process of a second takes in a group."""
    process = subprocess.Popen([sys.executable, "-c", BUSY])
    group.write_text(str(process.pid))
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return used.ru_utime + used.ru_stime


def test_a_busy_host_gets_its_share_and_no_more(allowed: None) -> None:
    with quotas({"client": 20}) as groups:
        # A fifth of a second, one period of the quota more at most, and what ran before it was in.
        assert processor_s(groups["client"]) < 0.45


def test_a_quota_is_carried_to_the_microsecond_of_its_period(allowed: None) -> None:
    said = {"a": 12.5, "b": 33.333, "c": 1, "d": 250}
    with quotas(said) as groups:
        folders = {name: file.parent for name, file in groups.items()}
        assert {name: quota_us(folder) for name, folder in folders.items()} == {
            "a": 12_500,
            "b": 33_333,
            "c": 1_000,
            "d": 250_000,
        }


def test_memory_and_disk_are_limited_for_all_processes_of_a_host() -> None:
    device = disk_of(Path("/var/tmp"))
    if device is None or not {"memory", "io"} <= set(usable()):
        pytest.skip("needs root, and the controllers memory and io of control groups")
    limits = Limits(memory_bytes=2**29, disk=DiskLimit(device, 80_000_000, 500))
    with control_groups({"db": limits, "app": Limits()}) as groups:
        assert list(groups) == ["db"]
        said = {
            path.name: path.read_text().split()
            for file in groups["db"]
            for path in file.parent.iterdir()
            if path.name in _LIMITS
        }
    values = {word for words in said.values() for word in words}
    assert str(2**29) in values
    assert {"10000000", "500"} <= values or {"wbps=10000000", "wiops=500"} <= values


_LIMITS = (
    "memory.max",
    "memory.limit_in_bytes",
    "io.max",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.write_iops_device",
)


def quota_us(folder: Path) -> int:
    """As the kernel has it, in a period of 100 ms, whichever version of control groups it is."""
    unified = folder / "cpu.max"
    if not unified.exists():
        assert (folder / "cpu.cfs_period_us").read_text() == "100000\n"
        return int((folder / "cpu.cfs_quota_us").read_text())
    quota, period = unified.read_text().split()
    assert period == "100000"
    return int(quota)


def test_nothing_is_left(allowed: None) -> None:
    with quotas({"client": 20, "server-1": 50}) as groups:
        folder = groups["client"].parents[1]
        assert folder.is_dir()
    assert not folder.exists()


def test_groups_of_a_run_that_was_killed_are_removed_by_a_later_one(allowed: None) -> None:
    with quotas({"client": 20}) as groups:
        folder = groups["client"].parents[1]
        left = folder.with_name("netstudy-left")
        left.mkdir()
        past = time.time() - 3_600
        os.utime(left, (past, past))
    with quotas({"client": 20}):
        assert not left.exists()


def test_without_a_quota_nothing_is_made() -> None:
    with quotas({}) as groups:
        assert groups == {}


def test_zones_take_of_the_quota_of_their_host_and_have_none_of_their_own() -> None:
    network = zones()
    groups = [
        group.model_copy(update={"cpu_quota_pct": 50.0}) if group.name == "server" else group
        for group in network.groups
    ]
    network = network.model_copy(update={"groups": tuple(groups)})
    work = wire.Transfer(roles=roles("server.a", "server.b"), size_bytes=1)
    plan = layout(network, switching="user-space")
    run = a_run(network, work, counts(1))
    resources = Resources(run, plan, Path(), CpuPinning(None, None))
    setting = Setting(run, NamespacePlace(resources, MODERN))

    assert resources.quotas == {"server": 50.0}
    assert {plan.host_of(spec.node).node for spec in setting.specs.clients} == {"server"}
