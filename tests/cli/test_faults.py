"""What can befall a run: a full or read-only disk, an engine that fails, being told to stop."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netstudy.plan_lines import read_plan
from netstudy.store import Results
from tests.cli.conftest import Netstudy, start
from tests.conftest import inherited

Mount = Callable[[str], Path]


@pytest.fixture
def mount(here: Path) -> Iterator[Mount]:
    """Mount a file system in memory with the given options; it is gone after the test."""
    mounted: list[Path] = []

    def mount_one(options: str) -> Path:
        if os.geteuid() != 0:
            pytest.skip("only root can mount a small file system to fill")
        path = here / f"disk-{len(mounted)}"
        path.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            pytest.skip(f"this machine does not let root mount: {answer.stderr.strip()}")
        mounted.append(path)
        return path

    yield mount_one
    for path in mounted:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


@pytest.fixture
def read_only(here: Path, request: pytest.FixtureRequest) -> Path:
    """A folder that cannot be written to, for root either."""
    if os.geteuid() == 0:
        mount: Mount = request.getfixturevalue("mount")
        return mount("ro")
    folder = here / "read-only"
    folder.mkdir(mode=0o555)
    return folder


def entries(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_read_only_folder_is_refused(
    study: Path, netstudy: Netstudy, fake_engine: Path, read_only: Path
) -> None:
    outcome = netstudy("run", study, "--results", read_only / "results")
    assert outcome.code == 2
    assert f"cannot write {read_only}/results" in outcome.err
    assert "read-only" in outcome.err or "permission denied" in outcome.err
    assert entries(read_only) == []


@pytest.mark.parametrize(
    ("verb", "code", "told"),
    [
        (
            ("status", "closed"),
            2,
            "no results of 'closed' in results; permission denied: results/closed",
        ),
        (("ls",), 0, "permission denied: results/closed"),
        (("clean", "--dry-run"), 0, "permission denied: results/closed"),
    ],
    ids=["status", "ls", "clean"],
)
def test_results_that_this_user_may_not_look_into_are_named(
    here: Path, verb: tuple[str, ...], code: int, told: str
) -> None:
    closed = here / "results" / "closed"
    closed.mkdir(parents=True)
    closed.chmod(0)
    rights = "-dac_override,-dac_read_search"
    as_others = ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}"]
    answer = subprocess.run(
        [*(as_others if os.geteuid() == 0 else []), sys.executable, "-m", "netstudy", *verb],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == code
    assert told in answer.stderr


def test_a_disk_without_room_for_the_results_is_refused(
    study: Path, netstudy: Netstudy, fake_engine: Path, mount: Mount
) -> None:
    disk = mount("size=1m")
    outcome = netstudy("run", study, "--results", disk / "results")
    assert outcome.code == 2
    assert "not enough space" in outcome.err
    assert entries(disk) == []


def test_a_disk_without_room_for_one_more_file_is_refused(
    study: Path, netstudy: Netstudy, fake_engine: Path, mount: Mount
) -> None:
    disk = mount("size=64m,nr_inodes=6")
    outcome = netstudy("run", study, "--results", disk / "results")
    assert outcome.code == 2
    assert "the disk is full" in outcome.err
    assert entries(disk) == []


def test_a_disk_that_fills_up_during_a_run_costs_the_run_in_progress_alone(
    study: Path,
    netstudy: Netstudy,
    fake_engine: Path,
    mount: Mount,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = mount("size=32m")
    monkeypatch.setenv("FAKE_ENGINE", "fill:5")
    monkeypatch.setenv("FAKE_ENGINE_DISK", str(disk))
    outcome = netstudy("run", study, "--results", disk)
    (folder,) = Results(disk).folders()
    assert outcome.code == 2
    assert f"cannot write {folder.path}/records/0001.seg" in outcome.err
    assert "the disk is full" in outcome.err
    kept = len(folder.records())
    assert kept < 12, "a record may still fit into the last block of the segment"
    assert f"{kept} of 12 runs {'is' if kept == 1 else 'are'} kept" in outcome.err
    assert [path for path in entries(folder.path) if path.endswith(".tmp")] == []
    (disk / "filler").unlink()
    monkeypatch.delenv("FAKE_ENGINE")
    assert netstudy("run", study, "--results", disk, "--resume").code == 0
    netstudy("run", study, "--results", "elsewhere")
    (whole,) = Results(Path("elsewhere")).folders()
    assert [*folder.stream()] == [*whole.stream()]
    assert (folder.path / "cells.csv").read_bytes() == (whole.path / "cells.csv").read_bytes()


def test_a_disk_that_became_read_only_can_be_read_but_not_added_to(
    study: Path,
    netstudy: Netstudy,
    fake_engine: Path,
    mount: Mount,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = mount("size=32m")
    netstudy("run", study, "--results", disk)
    monkeypatch.setenv("FAKE_ENGINE", "crash:2")
    netstudy("run", study, "--results", disk)
    unfinished, done = Results(disk).folders()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert netstudy("export", done.path).code == 0
    assert netstudy("status", unfinished.path).code == 0
    for arguments in (["run", unfinished.path, "--resume"], ["report", done.path]):
        outcome = netstudy(*arguments)
        assert outcome.code == 2
        assert f"cannot write {arguments[1]}" in outcome.err
        assert "the file system is read-only" in outcome.err


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("crash:2", "exit code 101"),
        ("ended:2", "killed by SIGTERM"),
        ("garbage:2", "not a record"),
        ("silent:2", "break off"),
    ],
)
def test_an_engine_that_fails_is_exit_code_3(
    study: Path,
    netstudy: Netstudy,
    fake_engine: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    message: str,
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", fault)
    outcome = netstudy("run", study)
    assert outcome.code == 3
    assert message in outcome.err
    assert "2 of 12 runs are kept" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_run_that_kills_the_engine_costs_no_other_run_and_is_repeated_by_resume(
    study: Path, netstudy: Netstudy, fake_engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = read_plan(netstudy("plan", study, "--json").out.encode().splitlines())
    monkeypatch.setenv("FAKE_ENGINE", f"poison:{plan.runs[4].id}")
    outcome = netstudy("run", study)
    assert outcome.code == 3
    assert "failed: its engine died: the engine was killed by SIGABRT" in outcome.err
    assert "1 run failed; repeat with: netstudy run" in outcome.err
    assert "report: " in outcome.out
    (folder,) = Results(Path("results")).folders()
    assert len(folder.records()) == 12
    assert not folder.is_done()
    monkeypatch.delenv("FAKE_ENGINE")
    assert netstudy("run", folder.path, "--resume").code == 0
    assert folder.is_done()
    assert {record.status for record in folder.records()} == {"ok"}


def test_an_engine_that_is_not_there_stops_a_run_before_anything_is_made(
    study: Path, netstudy: Netstudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETSTUDY_ENGINE", "/nowhere/engine")
    outcome = netstudy("run", study)
    assert outcome.code == 3
    assert "NETSTUDY_ENGINE names /nowhere/engine" in outcome.err
    assert not Path("results").exists()


@pytest.mark.parametrize("status", ["failed", "invalid"])
def test_a_bad_run_is_kept_shown_and_not_run_again(
    study: Path,
    netstudy: Netstudy,
    fake_engine: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: str,
) -> None:
    why = {"failed": "server-3 never answered", "invalid": "bytes in = bytes out: 9 < 10"}[status]
    monkeypatch.setenv("FAKE_ENGINE", f"{status}:3")
    outcome = netstudy("run", study)
    assert outcome.code == 3
    assert f"{status}: {why}" in outcome.err
    (folder,) = Results(Path("results")).folders()
    assert folder.is_done()
    told = netstudy("status")
    assert told.code == 0
    (line,) = [line for line in told.out.splitlines() if line.startswith(f"  {status}")]
    assert why in line
    monkeypatch.setenv("FAKE_ENGINE", "crash:0")  # would show that the engine is started
    assert netstudy("run", study, "--resume").code == 3
    assert [record.status for record in folder.records()].count("ok") == 11


def test_a_run_that_the_engine_cannot_make_costs_no_other_run(
    study: Path, netstudy: Netstudy, engine: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fourth run's switch has one port for two hosts or more: no study gets that far."""
    spoils = here / "engine-with-a-spoilt-plan"
    spoils.write_text(
        f"#!{sys.executable}\n"
        "import subprocess, sys\n"
        "from dataclasses import replace\n"
        "from netstudy.plan_lines import RUN, plan_bytes, read_plan\n"
        "plan = read_plan(sys.stdin.buffer)\n"
        "run = RUN.dump_python(plan.runs[3])\n"
        "nodes = run['network']['nodes']\n"
        "next(node for node in nodes if node['kind'] == 'switch')['ports'] = 1\n"
        "spoilt = RUN.validate_python(run)\n"
        "plan = plan.with_runs((*plan.runs[:3], spoilt, *plan.runs[4:]))\n"
        f"command = [{str(engine)!r}, *sys.argv[1:]]\n"
        "sys.exit(subprocess.run(command, input=plan_bytes(plan)).returncode)\n"
    )
    spoils.chmod(0o755)
    monkeypatch.setenv("NETSTUDY_ENGINE", str(spoils))
    outcome = netstudy("run", study)
    assert outcome.code == 3
    assert re.search(r'failed: "switch" has 1 ports and \d links', outcome.err)
    (folder,) = Results(Path("results")).folders()
    statuses = {record.run: record.status for record in folder.records()}
    spoilt = folder.plan().runs[3].id
    assert statuses == {
        run.id: "failed" if run.id == spoilt else "ok" for run in folder.plan().runs
    }
    assert folder.is_done()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_being_told_to_stop_keeps_what_is_done_and_says_how_to_go_on(
    study: Path, fake_engine: Path, number: signal.Signals, code: int
) -> None:
    with inherited(number, signal.SIG_DFL):
        process = start("run", study, FAKE_ENGINE="hang:4")
    assert process.stderr is not None
    lines = iter(process.stderr.readline, "")
    next(line for line in lines if line.startswith("4/12 runs"))
    (folder,) = Results(Path("results")).folders()
    assert folder.is_running()
    process.send_signal(number)
    _, told = process.communicate()
    assert process.returncode == code
    assert f"stopped by {number.name}" in told
    assert f"netstudy run {folder.path} --resume" in told
    assert "Traceback" not in told
    assert len(folder.records()) == 4
    assert not folder.is_running()


def test_nohup_lets_a_run_outlive_its_terminal(study: Path, fake_engine: Path) -> None:
    """A signal that the user had ignored stays ignored."""
    with inherited(signal.SIGHUP, signal.SIG_IGN):
        process = start("run", study, FAKE_ENGINE="hang:4")
    assert process.stderr is not None
    lines = iter(process.stderr.readline, "")
    next(line for line in lines if line.startswith("4/12 runs"))
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
