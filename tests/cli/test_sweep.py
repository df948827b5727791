"""Runs on the workers of a dask cluster: the same bytes, whatever dies meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netstudy.store import Folder
from tests.cli.conftest import SMALL_STUDY, start
from tests.testbed.processes import all_processes, descendants, status

pytest.importorskip("distributed", reason="needs distributed: pip install netstudy[dask]")
pytest.importorskip("cryptography", reason="needs cryptography: pip install netstudy[dask]")

FAKE_ENGINE = Path(__file__).parents[1] / "fake_engine.py"
PATIENCE_S = 120
LOCAL = ("--on", "dask:local:2")


def netstudy_apart(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run netstudy as a process of its own, to its end."""
    command = [sys.executable, "-m", "netstudy", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def wait_until(happened: Callable[[], bool]) -> None:
    """Look until something has happened; fails if it does not."""
    end_s = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < end_s, "it never happened"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, real_engine: Path) -> bytes:
    """The records of the small study from one machine, without dask."""
    here = tmp_path_factory.mktemp("alone")
    (here / "study.yaml").write_text(SMALL_STUDY)
    subprocess.run(
        [sys.executable, "-m", "netstudy", "run", "study.yaml"],
        cwd=here,
        env={**os.environ, "NETSTUDY_ENGINE": str(real_engine)},
        capture_output=True,
        check=True,
    )
    return records_of(here)


def records_of(here: Path) -> bytes:
    """The records of the only results folder."""
    return (latest(here).path / "records.jsonl").read_bytes()


def latest(here: Path) -> Folder:
    """The only results folder."""
    (path,) = (here / "results").glob("*/latest")
    folder = Folder.at(path)
    assert folder is not None
    return folder


@pytest.fixture
def gate(here: Path, engine: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """An engine that waits before its first run, until it may go on."""
    made = Gate(here / "gate")
    script = here / "waiting-engine"
    script.write_text(
        f'#!/bin/sh\n[ "$1" = sim ] || exec "{engine}" "$@"\nplan=$(mktemp)\ncat >"$plan"\n'
        f'echo $PPID >"{made.folder}/$$"\nwhile [ ! -e "{made.go}" ]; do sleep 0.05; done\n'
        f'exec "{engine}" "$@" <"$plan"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("NETSTUDY_ENGINE", str(script))
    return made


class Gate:
    """The place where engines wait."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.go = folder / "go"

    def engines(self) -> dict[int, int]:
        """Engine -> its worker, of all engines that came here so far."""
        texts = {path.name: path.read_text() for path in self.folder.glob("[0-9]*")}
        return {int(name): int(text) for name, text in texts.items() if text}

    def next_engine(self, before: set[int]) -> int:
        """An engine that is not among those before."""
        wait_until(lambda: bool(self.engines().keys() - before))
        return min(self.engines().keys() - before)

    def open(self) -> None:
        """Let all engines go on, and those to come."""
        self.go.touch()


def is_gone(pid: int) -> bool:
    """Whether a process has ended."""
    return status(pid, "State") in (None, "Z", "X")


@pytest.fixture
def nothing_left(here: Path) -> Iterator[None]:
    """The test leaves no worker behind."""
    before = set(all_processes())
    yield
    mine = str(here)
    wait_until(
        lambda: (
            not [
                pid
                for pid in set(all_processes()) - before
                if mine.encode() in read(f"/proc/{pid}/environ") and not is_gone(pid)
            ]
        )
    )


def read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


pytestmark = pytest.mark.usefixtures("nothing_left")


def test_the_records_are_the_same_bytes(study: Path, engine: Path, alone: bytes) -> None:
    done = netstudy_apart("run", study, *LOCAL)
    assert done.returncode == 0, done.stderr
    assert records_of(study.parent) == alone
    assert "12/12 runs" in done.stderr


def test_a_worker_that_is_killed_twice_costs_no_run(study: Path, gate: Gate, alone: bytes) -> None:
    run = start("run", study, *LOCAL)
    first = gate.next_engine(set())
    os.kill(gate.engines()[first], signal.SIGKILL)
    second = gate.next_engine({first})
    wait_until(lambda: is_gone(first))  # no engine outlives its worker
    os.kill(gate.engines()[second], signal.SIGKILL)
    gate.next_engine({first, second})
    gate.open()
    _, errors = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, errors
    assert records_of(study.parent) == alone


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_workers_and_resume_goes_on(
    study: Path, gate: Gate, alone: bytes, number: signal.Signals
) -> None:
    run = start("run", study, *LOCAL)
    engine = gate.next_engine(set())
    workers = descendants(run.pid)
    os.kill(run.pid, number)
    _, errors = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 128 + number
    assert f"stopped by {number.name}; 0 of 12 runs are kept" in errors
    assert "Traceback" not in errors
    wait_until(lambda: all(map(is_gone, (engine, *workers))))
    gate.open()
    done = netstudy_apart("run", latest(study.parent).path, "--resume", *LOCAL)
    assert done.returncode == 0, done.stderr
    assert records_of(study.parent) == alone


def test_no_process_outlives_a_killed_client_and_resume_goes_on_without_dask(
    study: Path, gate: Gate, alone: bytes
) -> None:
    run = start("run", study, *LOCAL)
    engine = gate.next_engine(set())
    left = descendants(run.pid)
    assert engine in left
    run.kill()
    run.communicate()
    wait_until(lambda: all(map(is_gone, left)))
    gate.open()
    done = netstudy_apart("run", latest(study.parent).path, "--resume")
    assert done.returncode == 0, done.stderr
    assert records_of(study.parent) == alone
