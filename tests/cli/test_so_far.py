"""`report --so-far` and `export --so-far`: a run that goes on, was interrupted or was killed."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from netstudy.store import Folder, Results
from netstudy.wire import Check, to_json
from tests.cli.conftest import SMALL_RUNS, Netstudy, start
from tests.cli.test_growth import GROWING
from tests.cli.test_kill import KILLED, kill_run

HELD_S = 20


def newest() -> Folder:
    return Results(Path("results")).folders()[0]


def content(folder: Folder) -> dict[str, tuple[bytes, int]]:
    """Every file with its bytes and the time of its last change."""
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.path.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def begun(
    study: Path, netstudy: Netstudy, fake_engine: Path, monkeypatch: pytest.MonkeyPatch
) -> Folder:
    """A run whose engine crashed after five of twelve runs."""
    monkeypatch.setenv("FAKE_ENGINE", "crash:5")
    assert netstudy("run", study, "-q").code == 3
    return newest()


@contextmanager
def writing(study: Path, runs: int) -> Iterator[subprocess.Popen[str]]:
    """A process that writes to a folder; its engine hangs after this number of records."""
    process = start("run", study, "-q", FAKE_ENGINE=f"hang:{runs}")
    try:
        until = time.monotonic() + HELD_S
        while not (Path("results").is_dir() and Results(Path("results")).folders()) or (
            newest().engine() is None or len(newest().records()) < runs
        ):
            assert time.monotonic() < until, process.poll()
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.communicate()


class TestWhileItRuns:
    @pytest.mark.parametrize("runs", [0, 1, 7])
    def test_the_folder_is_read_without_its_lock_and_stays_as_it_is(
        self, study: Path, netstudy: Netstudy, fake_engine: Path, runs: int
    ) -> None:
        with writing(study, runs):
            before = content(newest())
            outcome = netstudy("report", "--so-far", "-o", "pages")
            exported = netstudy("export", "--so-far")
            assert content(newest()) == before
            assert newest().is_running()
        assert (outcome.code, exported.code) == (0, 0), outcome.err + exported.err
        assert f"{runs or 'None'} of {SMALL_RUNS} runs" in outcome.out
        assert "a process was writing to the folder" in outcome.out
        assert sorted(path.name for path in Path("pages").iterdir()) == ["report.html", "report.md"]
        rows = list(csv.DictReader(io.StringIO(exported.out)))
        assert sum(int(row["runs_valid"]) for row in rows) == runs
        assert {row["runs_planned"] for row in rows} == {"2"}

    def test_it_can_be_read_at_any_instant(
        self, here: Path, engine: Path, netstudy: Netstudy
    ) -> None:
        """A study that grows, so that records and rounds arrive while it is read."""
        del engine
        (here / "study.yaml").write_text(GROWING.replace("measure: 100 ms", "measure: 2 s"))
        process = start("run", "study.yaml", "-q")
        seen: list[tuple[int, int]] = []
        while process.poll() is None:
            if not (Path("results").is_dir() and Results(Path("results")).folders()):
                continue
            outcome = netstudy("report", "--so-far", "--json", "-q")
            assert outcome.code == 0, outcome.err
            found = json.loads(outcome.out)
            if "runs" not in found:  # it has ended: the final report
                continue
            runs = found["runs"]
            assert runs["planned"] == sum(one["runs_planned"] for one in found["cells"])
            assert runs["valid"] == sum(one["runs_valid"] for one in found["cells"])
            seen.append((runs["valid"], runs["planned"]))
            assert netstudy("export", "--so-far", "--samples", "connection").code in (0, 2)
        process.communicate()
        assert process.returncode == 0
        assert seen == sorted(seen)
        assert len(set(seen)) > 2, seen


@pytest.mark.parametrize("runs", [0, 1, 5, 11])
def test_an_interrupted_run_says_how_far_it_came_and_how_to_finish_it(
    study: Path,
    netstudy: Netstudy,
    fake_engine: Path,
    monkeypatch: pytest.MonkeyPatch,
    runs: int,
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", f"crash:{runs}")
    netstudy("run", study, "-q")
    outcome = netstudy("report", "--so-far")
    assert outcome.code == 0, outcome.err
    assert f"{runs or 'None'} of {SMALL_RUNS} runs" in outcome.out
    assert f"netstudy run {newest().path} --resume" in " ".join(outcome.out.split())
    found = json.loads(netstudy("report", "--so-far", "--json").out)
    assert found["state"] == "unfinished"
    assert found["runs"]["missing"] == SMALL_RUNS - runs
    missing = {one["run"] for cell in found["cells"] for one in cell["problems"]}
    assert missing == {run.id for run in newest().missing()}


@pytest.mark.parametrize(
    ("instant", "kept"),
    [
        ("/records/:1:half", 0),
        ("/records/:6:after", 6),
        ("environment.json:2:before", SMALL_RUNS),
        ("report.html:1:before", SMALL_RUNS),
        ("DONE:1:before", SMALL_RUNS),
    ],
)
def test_a_killed_run_is_read_as_it_was_left(
    study: Path, engine: Path, netstudy: Netstudy, instant: str, kept: int
) -> None:
    del engine
    kill_run(study, instant)
    before = content(newest())
    outcome = netstudy("report", "--so-far")
    assert outcome.code == 0, outcome.err
    assert f"{kept or 'None'} of {SMALL_RUNS} runs" in outcome.out
    unsealed = "every run is there, but the folder is not sealed" in " ".join(outcome.out.split())
    assert unsealed == (kept == SMALL_RUNS)
    assert content(newest()) == before


def test_failed_and_invalid_runs_are_told_with_their_reason(
    begun: Folder, netstudy: Netstudy
) -> None:
    whole = begun.records()[0]
    law = Check(law="bytes in = bytes out", holds=False, detail="9 of 10")
    outcomes: list[dict[str, Any]] = [
        {"status": "failed", "error": "server-3 never answered"},
        {"status": "invalid", "checks": (law,)},
    ]
    for run, changes in zip(begun.missing(), outcomes, strict=False):
        own = {name: getattr(run, name) for name in ("treatment", "replicate", "seed")}
        record = whole.model_copy(update={"run": run.id, **own, **changes})
        begun.write_run(run.id, record.status, to_json(record).encode() + b"\n")
    text = " ".join(netstudy("report", "--so-far").out.split())
    assert "7 of 12 runs are there: 5 valid, 1 failed, 1 invalid; 5 missing." in text
    assert "failed: server-3 never answered." in text
    assert "is invalid: bytes in = bytes out: 9 of 10." in text


def test_a_growing_study_says_what_may_still_follow(
    here: Path, engine: Path, netstudy: Netstudy
) -> None:
    (here / "study.yaml").write_text(GROWING)
    process = subprocess.run(
        [sys.executable, KILLED, "run", "study.yaml"],
        env={**os.environ, "KILL_AT": "/records/:7:after", "NETSTUDY_ENGINE": str(engine)},
        capture_output=True,
        check=False,
    )
    assert process.returncode == -signal.SIGKILL
    text = " ".join(netstudy("report", "--so-far").out.split())
    assert "7 of 8 runs of 2 rounds are there" in text
    (missing,) = newest().missing()  # of the two threads, either may be the slower one
    direction = missing.treatment["direction"]
    under_way = "tried: 1 client; under way: 2 clients; may still follow: 3 to 8 clients."
    assert f"With direction={direction}, clients grows; {under_way}" in text
    assert "tried: 1 and 2 clients; may still follow: 3 to 8 clients." in text
    loops = json.loads(netstudy("report", "--so-far", "--json").out)["growth"]
    assert [one["may_follow"][0] for one in loops] == ([2, 3] if direction == "get" else [3, 2])


class TestExport:
    def test_every_form_has_the_numbers_of_runs(self, begun: Folder, netstudy: Netstudy) -> None:
        rows = list(csv.DictReader(io.StringIO(netstudy("export", "--so-far").out)))
        assert list(rows[0])[:5] == [
            "switch", "servers", "runs_valid", "runs_planned", "completion_ms_mean",
        ]  # fmt: skip
        valid = [int(row["runs_valid"]) for row in rows]
        assert sum(valid) == 5
        assert [row["completion_ms_mean"] != "" for row in rows] == [n > 0 for n in valid]
        cells = json.loads(netstudy("export", "--so-far", "--json").out)["cells"]
        assert [cell["runs_valid"] for cell in cells] == valid
        markdown = netstudy("export", "--so-far", "--markdown").out.splitlines()
        assert [int(line.split("|")[3]) for line in markdown[2:]] == valid

    def test_parquet_has_them_too(self, begun: Folder, netstudy: Netstudy) -> None:
        pq = pytest.importorskip("pyarrow.parquet")
        assert netstudy("export", "--so-far", "--parquet", "-o", "cells.parquet").code == 0
        table = pq.read_table("cells.parquet")
        assert table.column_names[2:4] == ["runs_valid", "runs_planned"]
        assert sum(table["runs_valid"].to_pylist()) == 5
        assert table["runs_planned"].to_pylist() == [2] * 6

    def test_samples_are_those_of_the_runs_that_are_there(
        self, begun: Folder, netstudy: Netstudy
    ) -> None:
        text = netstudy("export", "--so-far", "--samples", "iteration").out
        runs = {row["run"] for row in csv.DictReader(io.StringIO(text))}
        assert runs == {record.run for record in begun.records()}

    def test_without_it_an_unfinished_run_is_refused_as_before(
        self, begun: Folder, netstudy: Netstudy
    ) -> None:
        for verb in ("export", "report"):
            outcome = netstudy(verb, begun.path)
            assert outcome.code == 2
            assert "is not finished: only 5 of 12 runs are there" in outcome.err

    def test_a_finished_run_has_the_same_columns_so_that_a_script_needs_no_change(
        self, study: Path, engine: Path, netstudy: Netstudy
    ) -> None:
        assert netstudy("run", study, "-q").code == 0
        outcome = netstudy("export", "--so-far")
        assert "is finished: this is its final result" in outcome.err
        rows = list(csv.reader(io.StringIO(outcome.out)))
        assert [row[2:4] for row in rows] == [["runs_valid", "runs_planned"], *[["2", "2"]] * 6]
        others = [[*row[:2], *row[4:]] for row in rows]
        assert others == list(csv.reader(io.StringIO(netstudy("export").out)))


class TestAFinishedRun:
    @pytest.fixture
    def done(self, study: Path, engine: Path, netstudy: Netstudy) -> Folder:
        assert netstudy("run", study, "-q").code == 0
        return newest()

    def test_its_final_summary_is_printed_and_nothing_is_written(
        self, done: Folder, netstudy: Netstudy
    ) -> None:
        before = content(done)
        outcome = netstudy("report", "--so-far")
        assert outcome.code == 0
        assert f"{done.path} is finished: this is its final result" in outcome.err
        assert f"report: {done.path}/report.html" in outcome.out
        assert "Preliminary" not in outcome.out
        assert content(done) == before

    def test_its_final_pages_are_written_elsewhere(self, done: Folder, netstudy: Netstudy) -> None:
        assert netstudy("report", "--so-far", "-o", "so-far").code == 0
        assert netstudy("report", "-o", "final").code == 0
        for name in ("report.html", "report.md"):
            page = (done.path / name).read_bytes()
            assert Path("so-far", name).read_bytes() == Path("final", name).read_bytes() == page

    def test_a_changed_one_is_refused(self, done: Folder, netstudy: Netstudy) -> None:
        (done.path / "study.yaml").write_text("changed")
        outcome = netstudy("report", "--so-far")
        assert outcome.code == 2
        assert "changed after it was sealed" in outcome.err


def test_pages_do_not_go_into_the_folder_that_is_written_to(
    begun: Folder, netstudy: Netstudy
) -> None:
    for inside in (begun.path, begun.path / "pages", Path("results/small/latest/pages")):
        outcome = netstudy("report", "--so-far", "-o", inside)
        assert outcome.code == 2
        assert "inside the results folder of an unfinished run" in outcome.err
    assert not (begun.path / "pages").exists()
    assert not (begun.path / "report.html").exists()


@pytest.mark.parametrize("option", ["--static", "--png", "--pdf"])
def test_options_of_the_final_report_are_refused(
    begun: Folder, netstudy: Netstudy, option: str
) -> None:
    outcome = netstudy("report", "--so-far", option)
    assert outcome.code == 2
    assert f"{option}: " in outcome.err


def test_a_quiet_report_prints_the_paths_of_its_pages_alone(
    begun: Folder, netstudy: Netstudy
) -> None:
    outcome = netstudy("report", "--so-far", "-q", "-o", "pages")
    assert (outcome.out, outcome.err) == ("pages/report.html\npages/report.md\n", "")


def test_pages_of_a_later_look_replace_the_earlier_ones(begun: Folder, netstudy: Netstudy) -> None:
    netstudy("report", "--so-far", "-q", "-o", "pages")
    assert "5 of 12 runs are there" in Path("pages/report.md").read_text()
    netstudy("run", begun.path, "--resume", "-q")
    netstudy("report", "--so-far", "-q", "-o", "pages")
    assert "10 of 12 runs are there" in Path("pages/report.md").read_text()
