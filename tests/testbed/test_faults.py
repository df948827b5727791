"""What can befall a run on a real testbed: each ends in a clear error, and leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from netstudy.store import Folder
from netstudy.store.folder import CAPTURE, CAPTURES
from netstudy.testbed.netns.kernel import kernel
from netstudy.testbed.netns.namespaces import program
from netstudy.wire import DISTURBED_ATTEMPTS
from tests.conftest import inherited
from tests.skips import or_skip
from tests.testbed.front import (
    TIME_LIMIT_S,
    all_engines,
    awaited,
    begun,
    captured,
    engines,
    finished,
    go_on,
    hasty,
    nothing_left,
    resume,
    study_text,
    supervisor,
)

pytestmark = [pytest.mark.quiet, pytest.mark.engine]

_CLIENT, _SERVER = "10.77.0.1", "10.77.0.3"
_PROCESSES = 4
"""Of a run with two servers: the switch, the client, the servers."""
Fault = Callable[[dict[str, int]], None]
Start = Callable[[Folder], subprocess.Popen[str]]


@pytest.fixture
def possible() -> None:
    """Skips where the kernel makes no namespaces for this user."""
    with or_skip():
        kernel()


@pytest.fixture
def folder(possible: None, tmp_path: Path) -> Folder:
    """A folder for one run of about two seconds with two servers."""
    return begun(tmp_path, study_text(iterations=350))


def killed(node: str) -> Fault:
    return lambda there: os.kill(there[node], signal.SIGKILL)


def without_link(node: str) -> Fault:
    """The host's end of its link goes, and the switch's with it."""

    def remove(there: dict[str, int]) -> None:
        inside = ["nsenter", f"--target={there[node]}", "--net", "--"]
        if os.geteuid() != 0:
            inside[2:2] = ["--user", "--preserve-credentials"]
        subprocess.run([*inside, program("ip"), "link", "delete", "eth0"], check=True)

    return remove


@pytest.mark.slow
def test_a_killed_server_fails_the_run_and_it_can_be_made_again(folder: Folder) -> None:
    told = fails(folder, killed(_SERVER))
    (run,) = folder.plan().runs
    assert "server-2: was killed by signal 9" in told
    assert f"the output of its processes is in captures/{run.id}.jsonl.gz" in told
    completes(folder, resume)
    failed, made = captured(folder, f"{run.id}.failed-1"), captured(folder, run.id)
    assert {line["node"] for line in failed} == {line["node"] for line in made}
    answered = {line["node"] for line in failed if line["record"]["kind"] == "served"}
    assert answered == {"server-1"}, "who was not killed tells all that it would at its end"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        pytest.param(killed(_CLIENT), "client: was killed by signal 9", id="client"),
        pytest.param(killed("switch"), "switch: was killed by signal 9", id="switch"),
    ],
)
def test_any_killed_process_is_named(folder: Folder, fault: Fault, message: str) -> None:
    assert message in fails(folder, fault)
    completes(folder)


@pytest.mark.parametrize(
    ("node", "port"),
    [
        pytest.param(_SERVER, "server-2", id="server"),
        pytest.param(_CLIENT, "client", id="client"),
    ],
)
@pytest.mark.slow
def test_a_link_that_is_removed_is_named(folder: Folder, node: str, port: str) -> None:
    assert f'switch: the port "eth0" of "{port}"' in fails(folder, without_link(node))
    completes(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("node", "messages"),
    [
        pytest.param(
            _SERVER, ["client: nothing has come for 20000 ms", "is server-2"], id="server"
        ),
        pytest.param(
            "switch", ["client: nothing has come for 20000 ms", "is server-"], id="switch"
        ),
        pytest.param(_CLIENT, ["client: has said nothing for 23 s", "last heard"], id="client"),
    ],
)
def test_a_process_that_stands_still_is_given_up(
    folder: Folder, node: str, messages: list[str]
) -> None:
    told = fails(folder, lambda there: os.kill(there[node], signal.SIGSTOP))
    assert all(message in told for message in messages), told
    assert "stands still, stopped by SIGSTOP" in told
    completes(folder)


def test_a_client_that_stands_still_fails_its_run_and_the_next_one_is_made(
    possible: None, tmp_path: Path
) -> None:
    folder = begun(tmp_path, f"{study_text(iterations=350)}replicates: 2\n")
    with nothing_left(folder) as note:
        testbed = hasty(folder, silence_s=1)
        there = all_engines(testbed, _PROCESSES)
        time.sleep(0.3)
        note(testbed)
        os.kill(there[_CLIENT], signal.SIGSTOP)
        written, told = testbed.communicate(timeout=TIME_LIMIT_S)
    records = [json.loads(line) for line in written.splitlines()]
    first, second = [record for record in records if record["kind"] == "run"]
    assert first["status"] == "failed", told
    assert first["error"].startswith("client: has said nothing for 4 s; last heard: ")
    assert "client stands still, stopped by SIGSTOP" in first["error"]
    assert "client" in {line["node"] for line in captured(folder, first["run"])}
    assert second["status"] in ("ok", "invalid"), second["error"]
    signs = [record for record in records if record["kind"] == "progress" and record["under_way"]]
    assert {sign["runs_done"] for sign in signs} == {1}, "the first did not last for a second"
    done = [sign["under_way"]["done"] for sign in signs]
    assert all(0 < iterations < 351 for iterations in done), done


@pytest.mark.slow
def test_a_disturbed_run_is_made_again_and_every_attempt_keeps_its_capture(folder: Folder) -> None:
    front = go_on(folder)
    switch = all_engines(front, _PROCESSES)["switch"]
    for _ in range(40):  # of a run of two seconds: frames wait, and none is lost
        for number in (signal.SIGSTOP, signal.SIGCONT):
            os.kill(switch, number)
            time.sleep(0.02)
    _, told = finished(front)
    (record,) = folder.records()
    assert record.status in ("ok", "invalid"), told
    (attempts,) = [limit for limit in record.limits if limit.name == DISTURBED_ATTEMPTS]
    assert attempts.value, "the first attempt was late"
    aside = [f"{record.run}.disturbed-{number + 1}" for number in range(int(attempts.value))]
    files = (folder.path / CAPTURES).glob(f"*{CAPTURE}")
    kept = {path.name.removesuffix(CAPTURE) for path in files}
    assert kept == {record.run, *aside}
    started = [begun_ns(folder, name) for name in (*aside, record.run)]
    assert started == sorted(set(started)), "one after the other"


def begun_ns(folder: Folder, name: str) -> int:
    """When the first iteration that was captured began."""
    records = [line["record"] for line in captured(folder, name)]
    return next(int(one["started_ns"][0]) for one in records if one["kind"] == "iterations")


def fails(folder: Folder, fault: Fault) -> str:
    """The error of a run that a fault befalls in the middle."""
    with nothing_left(folder) as note:
        front = go_on(folder)
        there = all_engines(front, _PROCESSES)
        time.sleep(0.3)
        note(front)
        fault(there)
        code, told = finished(front)
    (record,) = folder.records()
    assert (code, record.status) == (3, "failed")
    assert not folder.is_done()
    assert f"netstudy run {folder.path} --resume" in told
    assert record.error is not None
    assert record.error in told
    return record.error


def completes(folder: Folder, start: Start = go_on) -> None:
    """What is missing is made, and the folder sealed, whatever befell it before."""
    code, told = finished(start(folder))
    statuses = {record.status for record in folder.records()}
    assert statuses <= {"ok", "invalid"}, told
    assert code == (3 if "invalid" in statuses else 0), told
    assert folder.is_done()
    assert folder.changed_since_sealed() == []


def test_a_full_disk_ends_the_study_and_loses_no_more_than_the_run(folder: Folder) -> None:
    captures = folder.path / "captures"
    captures.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(captures)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not mount a small file system to fill")
    try:
        code, told = finished(go_on(folder))
        left = list(captures.iterdir())
    finally:
        subprocess.run(["umount", "--lazy", str(captures)], check=True)
    assert code == 3
    assert f"cannot write {captures}/" in told
    assert "the disk is full" in told
    assert left == []
    assert folder.records() == []
    completes(folder)


@pytest.mark.parametrize("servers", ["2", "3"], ids=["the same", "another"])
@pytest.mark.slow
def test_two_studies_at_once_do_not_see_each_other(
    possible: None, tmp_path: Path, servers: str
) -> None:
    # A busy machine may begin the one seconds after the other: each takes about four, both seven.
    works = [begun(tmp_path, study_text(count, iterations=700)) for count in ("2", servers)]
    fronts = [go_on(one) for one in works]
    counts = [_PROCESSES, 2 + int(servers)]
    awaited(lambda: [len(engines(front)) for front in fronts] == counts or None, *fronts)
    for one, front in zip(works, fronts, strict=True):
        code, told = finished(front)
        statuses = [record.status for record in one.records()]
        assert (statuses, code) in ((["ok"], 0), (["invalid"], 3)), told


def network_begun(front: subprocess.Popen[str]) -> bool | None:
    """The namespaces of a run have names, and no process is in them yet."""
    inside = supervisor(front)
    names = inside and Path(f"/proc/{inside}/root/run/netns")
    try:
        return True if names and any(names.iterdir()) else None
    except OSError:
        return None


def processes_start(front: subprocess.Popen[str]) -> bool | None:
    return True if engines(front) else None


def under_way(front: subprocess.Popen[str]) -> bool | None:
    if len(engines(front)) < _PROCESSES:
        return None
    time.sleep(0.3)
    return True


def processes_stop(front: subprocess.Popen[str]) -> bool | None:
    """The client is the first that is stopped."""
    all_engines(front, _PROCESSES)
    return awaited(lambda: None if _CLIENT in engines(front) else True, front)


@pytest.mark.parametrize(
    ("phase", "iterations", "warmup"),
    [
        pytest.param(network_begun, 3, 1, id="network"),
        pytest.param(processes_start, 3, 1, id="start", marks=pytest.mark.slow),
        pytest.param(under_way, 3, 2000, id="warm-up", marks=pytest.mark.slow),
        pytest.param(under_way, 2000, 1, id="measuring"),
        pytest.param(processes_stop, 100, 1, id="stop"),
    ],
)
def test_ctrl_c_ends_a_run_in_any_phase(
    possible: None,
    tmp_path: Path,
    phase: Callable[[subprocess.Popen[str]], bool | None],
    iterations: int,
    warmup: int,
) -> None:
    work = begun(tmp_path, study_text(iterations=iterations, warmup=warmup))
    told = stopped(work, signal.SIGINT, 130, phase)
    assert "stopped by SIGINT" in told


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGTERM, 143, id="SIGTERM"),
        pytest.param(signal.SIGHUP, 129, id="SIGHUP"),
    ],
)
@pytest.mark.slow
def test_being_told_to_stop_is_no_harm(folder: Folder, number: signal.Signals, code: int) -> None:
    told = stopped(folder, number, code, under_way)
    assert f"stopped by {number.name}" in told
    completes(folder)


def stopped(
    folder: Folder,
    number: signal.Signals,
    code: int,
    phase: Callable[[subprocess.Popen[str]], bool | None],
) -> str:
    """What is said when the front's whole group gets a signal in a phase."""
    with nothing_left(folder) as note:
        with inherited(number, signal.SIG_DFL):
            front = go_on(folder)
        awaited(lambda: phase(front), front)
        note(front)
        os.killpg(front.pid, number)
        ended, told = finished(front)
    assert ended == code
    assert f"netstudy run {folder.path} --resume" in told
    assert not folder.is_running()
    return told


def test_a_killed_supervisor_takes_all_with_it(folder: Folder) -> None:
    with nothing_left(folder) as note:
        front = go_on(folder)
        all_engines(front, _PROCESSES)
        note(front)
        os.kill(awaited(lambda: supervisor(front), front), signal.SIGKILL)
        code, told = finished(front)
    assert code == 3
    assert "supervisor was killed by SIGKILL" in told
    assert folder.records() == []
    completes(folder)
