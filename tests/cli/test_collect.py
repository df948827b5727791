"""Runs executed by engines that never hear of each other: --prepare, --slice and collect."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from netstudy.plan_lines import read_plan
from netstudy.store import Folder
from tests.cli.conftest import SMALL_RUNS, Netstudy

SLICES = 3


@pytest.fixture
def prepared(netstudy: Netstudy, study: Path, engine: Path) -> Path:
    """The folder of the small study, without a record."""
    done = netstudy("run", study, "--prepare", "-q")
    assert done.code == 0
    return Path(done.out.strip())


@pytest.fixture
def slices(netstudy: Netstudy, prepared: Path, engine: Path) -> list[Path]:
    """The outputs of an engine for each slice."""
    return [carried_out(netstudy, prepared, number, engine) for number in range(1, SLICES + 1)]


def carried_out(netstudy: Netstudy, of: Path, number: int, engine: Path, *more: str) -> Path:
    """The output of an engine for a slice of a study or a folder."""
    plan = netstudy("plan", of, "--json", "--slice", f"{number}/{SLICES}", *more).out
    answer = subprocess.run(
        [engine, "sim", "--threads=1"], input=plan.encode(), capture_output=True, check=True
    )
    path = Path(f"{of.name}-{number}{''.join(more)}.jsonl")
    path.write_bytes(answer.stdout)
    return path


def run_ids(plan: str) -> list[str]:
    return [run.id for run in read_plan(plan.encode().splitlines()).runs]


def test_slices_are_the_plan_and_share_nothing(netstudy: Netstudy, study: Path) -> None:
    whole = run_ids(netstudy("plan", study, "--json").out)
    parts = [
        run_ids(netstudy("plan", study, "--json", "--slice", f"{number}/5").out)
        for number in range(1, 6)
    ]
    assert sorted(run for part in parts for run in part) == sorted(whole)
    for part in parts:
        assert part == [run for run in whole if run in part]


def test_collected_slices_are_the_bytes_of_one_machine(
    netstudy: Netstudy, study: Path, prepared: Path, slices: list[Path]
) -> None:
    done = netstudy("collect", prepared, *slices)
    assert done.code == 0
    assert f"{SMALL_RUNS} new records" in done.err
    assert "Results" in done.out
    folder = Folder(prepared.resolve())
    assert folder.is_done()
    assert folder.changed_since_sealed() == []
    assert netstudy("run", study, "--results", "elsewhere", "-q").code == 0
    (local,) = Path("elsewhere").glob("*/latest")
    assert [*Folder(prepared).stream()] == [*Folder(local).stream()]


def test_a_missing_slice_is_named_and_resume_does_it(
    netstudy: Netstudy, prepared: Path, slices: list[Path]
) -> None:
    done = netstudy("collect", prepared, slices[0], slices[2], "--slices", SLICES)
    assert done.code == 3
    assert "slice 2/3 is missing" in done.err
    assert "slice 1/3" not in done.err
    assert netstudy("run", prepared, "--resume", "-q").code == 0
    assert Folder(prepared.resolve()).is_done()


def test_a_record_that_breaks_off_leaves_out_its_run_only(
    netstudy: Netstudy, prepared: Path, slices: list[Path]
) -> None:
    torn = slices[1]
    lines = torn.read_bytes().splitlines(keepends=True)
    assert lines[-2].startswith(b'{"kind":"run"')  # the last run, before the end
    torn.write_bytes(b"".join(lines[:-2]) + lines[-2][:100])
    done = netstudy("collect", prepared, *slices)
    assert done.code == 3
    assert f"{torn}:{len(lines) - 1} breaks off: its run is left out" in done.err
    run = json.loads(lines[-2])["run"]
    assert f"1 run to do, {SMALL_RUNS - 1} are there: {run}\n" in done.err


def test_equal_records_count_once(netstudy: Netstudy, prepared: Path, slices: list[Path]) -> None:
    assert netstudy("collect", prepared, slices[0]).code == 3
    done = netstudy("collect", prepared, slices[0], *slices)
    assert done.code == 0
    first = slices[0].read_bytes().count(b'"kind":"run"')
    assert f"{SMALL_RUNS - first} new records, {2 * first} were there" in done.err


def test_a_second_different_record_of_a_run_is_refused(
    netstudy: Netstudy, study: Path, prepared: Path, slices: list[Path], engine: Path
) -> None:
    assert netstudy("collect", prepared, slices[0]).code == 3
    other = carried_out(netstudy, study, 1, engine, "--set", "workload.incast.block=90 kB")
    done = netstudy("collect", prepared, other)
    assert done.code == 2
    assert f"{other}:2: run " in done.err
    assert "has another record than the one that" in done.err


def test_a_slice_of_another_seed_is_refused(
    netstudy: Netstudy, study: Path, prepared: Path, engine: Path
) -> None:
    done = netstudy("collect", prepared, carried_out(netstudy, study, 1, engine, "--seed", "99"))
    assert done.code == 2
    assert "the slice is of another plan" in done.err


def test_a_slice_of_another_engine_is_refused(
    netstudy: Netstudy, prepared: Path, slices: list[Path]
) -> None:
    first, rest = slices[1].read_bytes().split(b"\n", 1)
    slices[1].write_bytes(first.replace(b'"version":"', b'"version":"9') + b"\n" + rest)
    done = netstudy("collect", prepared, *slices)
    assert done.code == 2
    assert "whose records may differ" in done.err


def test_options_of_a_slice_must_be_those_of_its_folder(netstudy: Netstudy, prepared: Path) -> None:
    done = netstudy("plan", prepared, "--json", "--slice", "1/2", "--seed", "99")
    assert done.code == 2
    assert "was begun differently: --seed was " in done.err


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0"])
def test_what_is_no_slice_is_refused(netstudy: Netstudy, study: Path, text: str) -> None:
    done = netstudy("plan", study, "--json", "--slice", text)
    assert done.code == 2
    assert f"--slice: '{text}' is no slice; write 3/10 for the third of ten" in done.err


def test_a_file_that_is_no_output_of_an_engine_is_refused(
    netstudy: Netstudy, prepared: Path, here: Path
) -> None:
    Path("notes").write_text("slurmstepd: error\n")
    done = netstudy("collect", prepared, "notes")
    assert done.code == 2
    assert "notes:1: 'slurmstepd: error' is not a record of netstudy-engine" in done.err


def test_other_testbeds_are_not_prepared(netstudy: Netstudy, study: Path) -> None:
    done = netstudy("run", study, "--prepare", "--testbed", "netns")
    assert done.code == 2
    assert "--prepare: runs of the testbed sim only can be executed elsewhere" in done.err
