"""`netstudy clean` ends what still works for a results folder, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from netstudy.store import Folder
from netstudy.testbed.leftovers import SUPERVISOR, captures_of, end, started, working_for
from tests.cli.conftest import Netstudy

_TIME_LIMIT_S = 20
_SAYS_SO_AND_STAYS = "import time; print('here', flush=True); time.sleep(600)"

Supervisor = Callable[[Path], subprocess.Popen[str]]


@pytest.fixture
def unfinished(
    study: Path, netstudy: Netstudy, fake_engine: Path, monkeypatch: pytest.MonkeyPatch
) -> Folder:
    """A run whose engine crashed after two runs."""
    monkeypatch.setenv("FAKE_ENGINE", "crash:2")
    netstudy("run", study)
    return Folder(Path("results/small/latest").resolve())


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    """Starts a process with the command line of one that works for a folder."""
    started: list[subprocess.Popen[str]] = []

    def start(folder: Path) -> subprocess.Popen[str]:
        words = ["-m", SUPERVISOR, f"--captures={folder}/captures"]
        process = subprocess.Popen(
            [sys.executable, "-c", _SAYS_SO_AND_STAYS, *words], stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_it_ends_what_works_for_a_folder_that_nobody_writes_to(
    unfinished: Folder, supervisor: Supervisor, netstudy: Netstudy
) -> None:
    process = supervisor(unfinished.path)
    outcome = netstudy("clean", "--yes")

    assert outcome.code == 0
    assert f"end process {process.pid}, which works for {unfinished.path}" in outcome.out
    assert process.wait(_TIME_LIMIT_S) == -9
    assert not unfinished.path.exists()


def test_it_leaves_alone_what_works_for_others(
    unfinished: Folder, supervisor: Supervisor, netstudy: Netstudy, tmp_path: Path
) -> None:
    other = supervisor(tmp_path / "results" / "other")
    told = json.loads(netstudy("clean", "--yes", "--json").out)

    assert told["processes"] == []
    assert other.poll() is None


def test_it_leaves_a_run_under_way_alone(
    unfinished: Folder, supervisor: Supervisor, netstudy: Netstudy
) -> None:
    process = supervisor(unfinished.path)
    with unfinished.writing():
        told = json.loads(netstudy("clean", "--yes", "--json").out)

    assert (told["processes"], told["found"]) == ([], [])
    assert process.poll() is None


def test_a_dry_run_ends_nothing(
    unfinished: Folder, supervisor: Supervisor, netstudy: Netstudy
) -> None:
    process = supervisor(unfinished.path)
    told = netstudy("clean", "--dry-run").out

    assert f"would end process {process.pid}" in told
    assert process.poll() is None


def test_a_process_that_has_the_id_of_an_earlier_one_is_not_hit(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    process = supervisor(tmp_path)
    (found,) = working_for([tmp_path])
    earlier = replace(found, start_ticks=found.start_ticks - 1)

    assert end(earlier)
    assert process.poll() is None
    assert end(found)
    assert process.wait(_TIME_LIMIT_S) == -9
    assert end(found)


@pytest.mark.parametrize(
    "command",
    [
        ("vim", "--captures=/r/captures"),
        ("python", "-m", "netstudy", "--captures=/r/captures"),
        ("grep", SUPERVISOR, "--captures=/r/captures"),
        ("python", "-m", SUPERVISOR),
    ],
)
def test_other_commands_are_none_of_ours(command: tuple[str, ...]) -> None:
    assert captures_of(command) is None


def test_a_sandbox_is_known_by_its_own_command_and_by_its_starters() -> None:
    words = ("python", "-m", SUPERVISOR, "--captures=/r/captures")

    assert (
        captures_of(words) == captures_of(("unshare", "--net", "--", *words)) == Path("/r/captures")
    )


def test_the_start_is_found_behind_any_name() -> None:
    numbers = " ".join(str(number) for number in range(4, 53))

    assert started(f"17 (a) b (c) R {numbers}") == 22
