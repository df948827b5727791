"""A sandbox shows nothing outside, and leaves nothing behind however it ends."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from netstudy.testbed.netns.namespaces import find_program
from netstudy.testbed.netns.sandbox import effective_capabilities
from tests.testbed.conftest import User
from tests.testbed.processes import descendants, namespaces_of

_TIME_LIMIT_S = 60
_SYSCTLS = ("ipv4/tcp_sack", "ipv4/tcp_rmem", "core/rps_default_mask", "core/netdev_max_backlog")


def outside() -> dict[str, str]:
    """What a sandbox might have changed of the machine."""
    ip = find_program("ip")
    assert ip is not None
    interfaces = subprocess.run([ip, "-o", "link"], capture_output=True, text=True, check=True)
    sysctls = [Path("/proc/sys/net") / name for name in _SYSCTLS]
    return {
        "interfaces": interfaces.stdout,
        "mounts": "\n".join(filter(_of_a_sandbox, Path("/proc/mounts").read_text().splitlines())),
        "run": " ".join(sorted(path.name for path in Path("/run").iterdir())),
        **{str(path): path.read_text() for path in sysctls if path.exists()},
    }


def _of_a_sandbox(mount: str) -> bool:
    """Whether a line of /proc/mounts is about a place where a sandbox mounts something."""
    return mount.split()[1].startswith(("/run", "/proc", "/sys"))


@pytest.fixture(autouse=True)
def nothing_changed_outside() -> Iterator[None]:
    before = outside()
    yield
    assert outside() == before


def test_the_program_sees_itself_as_the_first_process(user: User) -> None:
    assert user.outcome("processes") == {"pid": 1, "shown": [1]}


def test_the_sandbox_ends_with_its_programs_exit_code(user: User) -> None:
    assert user.start(*user.in_sandbox("sh", "-c", "exit 7")).wait(_TIME_LIMIT_S) == 7


@pytest.mark.parametrize("victim", ["the starter", "the program"])
def test_kill_9_leaves_no_process(user: User, victim: str) -> None:
    sandbox = user.start(
        *user.in_sandbox(user.python, "-m", "tests.testbed.inside", "stay"),
        stdout=subprocess.PIPE,
    )
    assert sandbox.stdout is not None
    with sandbox, sandbox.stdout as told:
        namespaces = set(json.loads(told.readline())["namespaces"])
        inside = descendants(sandbox.pid)
        assert len(inside) >= 5  # the program, and a process in each of the four namespaces
        assert namespaces_of(inside) >= namespaces
        ends = {pid: os.pidfd_open(pid) for pid in inside}
        os.kill(sandbox.pid if victim == "the starter" else inside[0], signal.SIGKILL)
        assert [pid for pid, end in ends.items() if not has_ended(end)] == []


def test_a_signal_to_the_group_ends_the_program_in_order(user: User) -> None:
    sandbox = user.start(
        *user.in_sandbox(user.python, "-m", "tests.testbed.inside", "stay"),
        stdout=subprocess.PIPE,
        process_group=0,
    )
    assert sandbox.stdout is not None
    with sandbox, sandbox.stdout as told:
        assert json.loads(told.readline())["pid"] == 1
        os.killpg(sandbox.pid, signal.SIGTERM)

        assert sandbox.wait(_TIME_LIMIT_S) == 128 + signal.SIGTERM


def has_ended(pidfd: int) -> bool:
    """Whether a process ends within the time limit (pidfd_open(2): it is readable then)."""
    try:
        return select.select([pidfd], [], [], _TIME_LIMIT_S)[0] != []
    finally:
        os.close(pidfd)


def test_capabilities_are_read_from_the_effective_set() -> None:
    text = "CapInh:\t0000000000000000\nCapPrm:\t000001ffffffffff\nCapEff:\t0000000000201000\n"

    assert effective_capabilities(text) == 1 << 21 | 1 << 12


@pytest.mark.engine
def test_where_no_namespaces_can_be_made_a_run_points_to_the_doctor(tmp_path: Path) -> None:
    """In a user namespace that allows no network namespaces below itself, so that nothing of the
    machine's changes."""
    here = tmp_path / "mine"
    netstudy = f"{sys.executable} -m netstudy"
    script = (
        "echo 0 > /proc/sys/user/max_net_namespaces && "
        f"{netstudy} init {here} --like real && {netstudy} run {here} --testbed netns"
    )
    unshare = find_program("unshare")
    assert unshare is not None
    done = subprocess.run(
        [unshare, "--user", "--map-root-user", "sh", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=_TIME_LIMIT_S,
    )
    assert done.returncode == 3
    assert "no namespaces can be made here: unshare: unshare failed: No space left" in done.stderr
    assert "netstudy doctor says what would allow it" in done.stderr
