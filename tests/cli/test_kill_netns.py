"""Kill -9 of a run in namespaces: its processes go, and with them its network."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from netstudy.store import Results
from netstudy.testbed.leftovers import working_for
from netstudy.testbed.netns.kernel import kernel
from tests.cli.conftest import SMALL_STUDY, Netstudy, start
from tests.skips import or_skip
from tests.testbed.processes import descendants, namespaces_of

_TIME_LIMIT_S = 60
_STEP_S = 0.05


@pytest.fixture
def slow_study(here: Path, engine: Path) -> Path:
    """A study whose first run takes a minute in real time."""
    with or_skip():
        kernel()
    text = SMALL_STUDY.replace("rate: 10 Gbit/s", "rate: 10 Mbit/s")
    text = text.replace("iterations: 20", "iterations: 700")
    for host in ("client: {profile: ucs-c200-rhel54", "server: {profile: ucs-c200-rhel54"):
        text = text.replace(host, f"{host}, tcp: {{profile: linux-6}}")
    path = here / "study.yaml"
    path.write_text(text)
    return path


def test_a_killed_run_leaves_no_process_and_nothing_for_clean_to_end(
    slow_study: Path, netstudy: Netstudy
) -> None:
    front = start("run", slow_study, "--testbed", "netns")
    try:
        inside = whole_network(front)
        assert len(namespaces_of(inside) - namespaces_of([os.getpid()])) >= 3
        ends = [os.pidfd_open(pid) for pid in inside]
        (folder,) = Results(Path("results")).folders()
        assert working_for([folder.path])
    finally:
        front.send_signal(signal.SIGKILL)
        front.communicate()

    assert all(select.select([end], [], [], _TIME_LIMIT_S)[0] for end in ends)
    told = json.loads(netstudy("clean", "--dry-run", "--json").out)
    assert (told["processes"], told["found"]) == ([], [str(folder.path)])


def whole_network(front: subprocess.Popen[str]) -> list[int]:
    """The processes of a run, as soon as its switch, its client and a server are there.

    There is a results folder then: trials of the machine come before that.
    """
    limit = time.monotonic() + _TIME_LIMIT_S
    while time.monotonic() < limit:
        assert front.poll() is None, front.communicate()
        found = descendants(front.pid)
        if sum(map(_is_engine, found)) >= 3 and Path("results").exists():
            return found
        select.select([], [], [], _STEP_S)
    raise AssertionError("the first run did not begin")


def _is_engine(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return False
    return words[1:2] in (["switch"], ["agent"])
