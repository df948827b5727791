"""Kill -9 at any instant, then --resume: nothing is lost but the run in progress."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from netstudy.plan_lines import read_plan
from netstudy.store import Folder, Results
from tests.cli.conftest import SMALL_RUNS, SMALL_STUDY, Netstudy

KILLED = Path(__file__).with_name("killed.py")
SAYS_WHEN = {"environment.json", "report.html", "report.md", "DONE"}
"""Files that say when they were made; no other may depend on an interruption."""

WRITES = 36
"""Writes of a run, at least."""
INSTANTS = {
    "before the first record is written": ("/records/:1:before", 0),
    "while the first record is written": ("/records/:1:half", 0),
    "when half of the records are there": ("/records/:6:after", 6),
    "while the last record is written": ("/records/:12:half", 11),
    "before the end is noted": ("environment.json:2:before", SMALL_RUNS),
    "before the report has its name": ("report.html:1:before", SMALL_RUNS),
    "before it is sealed": ("DONE:1:before", SMALL_RUNS),
}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, real_engine: Path) -> Path:
    """The results folder of a run that nothing happened to."""
    return run_apart(SMALL_STUDY, tmp_path_factory.mktemp("uninterrupted"), real_engine)


def run_apart(study: str, here: Path, engine: Path) -> Path:
    """Carry out a study in a folder and a process of its own; returns its results folder."""
    (here / "study.yaml").write_text(study)
    subprocess.run(
        [sys.executable, "-m", "netstudy", "run", "study.yaml"],
        cwd=here,
        env={**os.environ, "NETSTUDY_ENGINE": str(engine)},
        capture_output=True,
        check=True,
    )
    (latest,) = (here / "results").glob("*/latest")
    return latest


@pytest.fixture
def plans(here: Path, engine: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the engine keeps every plan that it is given."""
    kept = here / "plans"
    kept.mkdir()
    script = here / "engine"
    script.write_text(f'#!/bin/sh\ncat >"{kept}/$$"\nexec "{engine}" "$@" <"{kept}/$$"\n')
    script.chmod(0o755)
    monkeypatch.setenv("NETSTUDY_ENGINE", str(script))
    return kept


def planned(plans: Path) -> list[str]:
    """The runs of every plan that the engine was given, with repetitions."""
    found = [read_plan(path.read_bytes().splitlines()) for path in plans.iterdir()]
    return [run.id for plan in found for run in plan.runs]


def kill_run(study: Path, instant: str) -> None:
    """Start a run that kills itself at an instant, which must come."""
    assert is_killed(study, instant)


def is_killed(study: Path, instant: str) -> bool:
    """Start a run that kills itself at an instant; False: it came to its end before."""
    process = subprocess.run(
        [sys.executable, KILLED, "run", study.name],
        env={**os.environ, "KILL_AT": instant},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode in (0, -signal.SIGKILL), process.stderr
    return process.returncode != 0


def content(folder: Path) -> dict[str, bytes]:
    """The files that do not depend on interruptions, and the records."""
    root = folder.resolve()
    found = {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.name not in SAYS_WHEN and path.suffix != ".seg"
    }
    return {**found, "records": b"".join(Folder(root).stream())}


@pytest.mark.parametrize(("instant", "kept"), INSTANTS.values(), ids=INSTANTS.keys())
def test_a_killed_run_is_completed_without_running_anything_twice(
    study: Path,
    plans: Path,
    uninterrupted: Path,
    netstudy: Netstudy,
    instant: str,
    kept: int,
) -> None:
    kill_run(study, instant)
    (folder,) = Results(Path("results")).folders()
    there = {record.run for record in folder.records()}
    assert len(there) == kept
    only_its_report_is_missing = instant.startswith(("report", "DONE"))
    assert netstudy("export", folder.path).code == (0 if only_its_report_is_missing else 2)
    for path in plans.iterdir():
        path.unlink()
    resumed = netstudy("run", study, "--resume")
    assert resumed.code == 0, resumed.err
    assert sorted([*there, *planned(plans)]) == sorted(run.id for run in folder.plan().runs)
    assert content(folder.path) == content(uninterrupted)
    assert folder.changed_since_sealed() == []
    table = netstudy("export", folder.path, "--csv").out
    assert table == netstudy("export", uninterrupted, "--csv").out
    assert table.encode() == (folder.path / "cells.csv").read_bytes()


def test_killed_while_its_folder_is_made_a_run_leaves_nothing_but_what_clean_removes(
    study: Path, plans: Path, netstudy: Netstudy
) -> None:
    kill_run(study, "plan.jsonl:1:before")
    results = Results(Path("results"))
    assert results.folders() == []
    assert netstudy("run", study, "--resume").code == 2
    assert planned(plans) == []
    (leftover,) = results.leftovers()
    assert netstudy("clean", "--yes").code == 0
    assert not leftover.exists()


def test_a_run_is_killed_twice_and_still_completed(
    study: Path, plans: Path, uninterrupted: Path, netstudy: Netstudy
) -> None:
    kill_run(study, "/records/:4:half")
    (folder,) = Results(Path("results")).folders()
    process = subprocess.run(
        [sys.executable, KILLED, "run", folder.path, "--resume"],
        env={**os.environ, "KILL_AT": "/records/:4:after"},
        capture_output=True,
        check=False,
    )
    assert process.returncode == -signal.SIGKILL
    assert len(folder.records()) == 7
    assert netstudy("run", folder.path, "--resume").code == 0
    assert content(folder.path) == content(uninterrupted)
    assert len(folder.environment()["resumed"]) == 2


@pytest.mark.slow
def test_a_study_is_killed_at_200_random_instants_and_loses_nothing_but_the_run_in_progress(
    study: Path, uninterrupted: Path, netstudy: Netstudy
) -> None:
    """Writes of the plan, of records, of the report and of the seal. The seed is printed."""
    seed = random.SystemRandom().randrange(10**6)
    chance = random.Random(seed)
    killed = 0
    while killed < 200:
        shutil.rmtree("results", ignore_errors=True)
        instant = (
            f"/results/:{chance.randint(1, WRITES)}:{chance.choice(['before', 'half', 'after'])}"
        )
        said = f"seed {seed}, kill {killed}, killed at {instant}"
        print(said)
        if not is_killed(study, instant):
            continue  # copies of the process drew some of the figures
        killed += 1
        folders = Results(Path("results")).folders()
        there = len(folders[0].records()) if folders else 0
        outcome = netstudy("run", *([folders[0].path, "--resume"] if folders else [study.name]))
        assert outcome.code == 0, (said, outcome.err)
        (folder,) = Results(Path("results")).folders()
        assert content(folder.path) == content(uninterrupted), said
        assert folder.changed_since_sealed() == [], said
        done = re.search(r"(\d+) (?:runs|run) to do", outcome.err)
        assert (SMALL_RUNS - int(done[1]) if done else SMALL_RUNS) == there, said
