"""Walking a plan: every run once, each record kept as it comes, faults told and survived."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.errors import StudyError, TestbedError
from netstudy.execute import execute, is_final, made_again
from netstudy.plan_lines import plan_bytes, plan_lines
from netstudy.store import Folder, Invocation, create
from netstudy.testbed.sim import Sim

NOW = datetime(2026, 11, 21, 20, 30, tzinfo=UTC)
INVOCATION = Invocation(study="small", testbed="sim", seed=7)

pytestmark = pytest.mark.usefixtures("fake_engine")


@pytest.fixture
def folder(tmp_path: Path, small_plan: wire.Plan) -> Folder:
    return create(
        tmp_path,
        "small",
        plan_lines(small_plan),
        INVOCATION,
        {"study.yaml": b"study: small\n"},
        10_000,
        NOW,
    )


def engine_runs(log: Path) -> list[str]:
    return log.read_text().split() if log.exists() else []


def test_every_run_is_carried_out_once_and_its_line_is_kept(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(log))
    statuses = execute(folder, Sim())
    planned = [run.id for run in folder.plan().runs]
    assert engine_runs(log) == planned
    assert statuses == {"ok": len(planned)}
    assert [record.run for record in folder.records()] == planned
    assert folder.missing() == []


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("crash:3", "exit code 101"),
        ("ended:3", "killed by SIGTERM"),
        ("garbage:3", "not a record"),
        ("broken:3", "exit code 1"),
        ("silent:3", "break off before their end"),
        ("repeat:3", "unexpected record of run"),
    ],
)
def test_what_was_finished_before_a_fault_is_kept_and_not_run_again(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, message: str
) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(log))
    monkeypatch.setenv("FAKE_ENGINE", fault)
    with pytest.raises(TestbedError, match=message):
        execute(folder, Sim())
    assert len(folder.records()) == 3
    monkeypatch.delenv("FAKE_ENGINE")
    log.unlink()
    execute(folder, Sim())
    assert engine_runs(log) == [run.id for run in folder.plan().runs[3:]]
    assert folder.missing() == []


def test_a_run_that_kills_the_engine_has_failed_and_the_others_go_on(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = [run.id for run in folder.plan().runs]
    monkeypatch.setenv("FAKE_ENGINE", f"poison:{planned[2]}")
    assert execute(folder, Sim()) == {"ok": len(planned) - 1, "failed": 1}
    assert [record.run for record in folder.records()] == planned
    (failed,) = [one for one in folder.records() if one.status == "failed"]
    assert failed.run == planned[2]
    assert failed.error is not None
    assert "killed by SIGABRT: memory allocation of 8589934592 bytes failed" in failed.error


def test_an_engine_that_dies_by_chance_costs_no_run(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each engine is killed at its fourth run: the runs that are left get engines of their own."""
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(log))
    monkeypatch.setenv("FAKE_ENGINE", "killed:3")
    planned = [run.id for run in folder.plan().runs]
    assert execute(folder, Sim()) == {"ok": len(planned)}
    assert engine_runs(log) == planned


def test_progress_counts_the_runs_of_all_engines(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "killed:3")
    seen: list[wire.ProgressRecord] = []

    def note(record: wire.ProgressRecord | wire.RunRecord) -> None:
        if isinstance(record, wire.ProgressRecord):
            seen.append(record)

    execute(folder, Sim(), on_progress=note)
    runs = len(folder.plan().runs)
    assert [one.runs_done for one in seen] == list(range(1, runs + 1))
    assert {one.runs for one in seen} == {runs}


def test_a_run_whose_engine_died_can_be_repeated(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With more memory it may succeed; any other failed run of the simulator fails again."""
    first = folder.plan().runs[0].id
    monkeypatch.setenv("FAKE_ENGINE", f"poison:{first}")
    execute(folder, Sim())
    assert [record.run for record in made_again(folder, Sim())] == [first]
    assert not is_final(folder, Sim())
    folder.set_aside(made_again(folder, Sim()))
    monkeypatch.delenv("FAKE_ENGINE")
    assert execute(folder, Sim()) == {"ok": 1}
    assert is_final(folder, Sim())


def test_the_last_words_of_a_crashed_engine_are_shown(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "crash:0")
    with pytest.raises(TestbedError, match="panicked at 'queue is empty'"):
        execute(folder, Sim())


def test_a_plan_that_the_engine_refuses_is_bad_input(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "refuse")
    with pytest.raises(StudyError, match="24 ports cannot take 30 hosts"):
        execute(folder, Sim())


@pytest.mark.parametrize("status", ["failed", "invalid"])
def test_a_failed_or_invalid_run_counts_as_carried_out(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", f"{status}:2")
    assert execute(folder, Sim()) == {"ok": 5, status: 1}
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(log))
    execute(folder, Sim())
    assert engine_runs(log) == []
    assert [record.status for record in folder.records()].index(status) == 2  # type: ignore[arg-type]


def test_another_engine_may_not_add_to_a_folder(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "crash:3")
    with pytest.raises(TestbedError):
        execute(folder, Sim())
    monkeypatch.delenv("FAKE_ENGINE")
    monkeypatch.setenv("FAKE_ENGINE_VERSION", "2.0")
    with pytest.raises(StudyError, match=r"begun with engine 1\.0 .* this is engine 2\.0"):
        execute(folder, Sim())
    assert len(folder.records()) == 3


def test_an_engine_that_is_not_there_is_named_with_the_command_that_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NETSTUDY_ENGINE")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(TestbedError, match="make build"):
        Sim().check()


def test_the_engine_dies_with_a_front_that_is_killed(tmp_path: Path, small_plan: wire.Plan) -> None:
    """A front that gets no chance to clean up leaves no engine behind, even a hanging one."""
    script = """
import sys
from pathlib import Path
from netstudy.plan_lines import read_plan
from netstudy.testbed.sim import Sim
plan = read_plan(Path(sys.argv[1]).open("rb"))
Sim().run(plan, threads=1, on_record=lambda record, line: print(record.kind, flush=True))
"""
    plan = tmp_path / "plan.jsonl"
    plan.write_bytes(plan_bytes(small_plan))
    engine = tmp_path / "engine"
    shown = tmp_path / "pid"
    fake = os.environ["NETSTUDY_ENGINE"]
    engine.write_text(f'#!/bin/sh\necho $$ >"{shown}"\nexec "{sys.executable}" "{fake}" "$@"\n')
    engine.chmod(0o755)
    env = {**os.environ, "NETSTUDY_ENGINE": str(engine), "FAKE_ENGINE": "hang:0"}
    front = subprocess.Popen(
        [sys.executable, "-c", script, str(plan)], env=env, stdout=subprocess.PIPE
    )
    assert front.stdout is not None
    assert front.stdout.readline() == b"engine\n"  # it is running and about to hang
    child = os.pidfd_open(int(shown.read_text()))
    front.kill()
    front.wait()
    front.stdout.close()
    assert ended(child)


def ended(process: int) -> bool:
    """Whether the process behind a descriptor ends before the test's patience does."""
    try:
        return bool(select.select([process], [], [], 30)[0])
    finally:
        os.close(process)


def test_ctrl_c_ends_a_hanging_engine(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "hang:2")

    def stop_after_two(_record: object) -> None:
        if len(folder.records()) == 2:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            execute(folder, Sim(), on_progress=stop_after_two)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(folder.records()) == 2
