"""A results folder: made whole or not at all, one writer, records byte for byte, sealed."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.plan_lines import plan_lines
from netstudy.store import Folder, Invocation, create
from netstudy.store.files import sha256
from tests.store.small import FILES
from tests.stored import damage

NOW = datetime(2026, 11, 21, 20, 30, tzinfo=UTC)
LATER = datetime(2026, 11, 21, 20, 31, tzinfo=UTC)
INVOCATION = Invocation(study="small", testbed="sim", seed=7)
ENGINE_LINE = wire.to_json(wire.EngineRecord(version="1.0", testbed="sim")).encode() + b"\n"


@pytest.fixture
def folder(tmp_path: Path, small_plan: wire.Plan) -> Folder:
    return create(tmp_path, "small", plan_lines(small_plan), INVOCATION, FILES, 10_000, NOW)


def run_line(run: wire.Run, **changes: object) -> bytes:
    """A record as another writer might space it: the bytes are kept as they are."""
    record = {
        "kind": "run",
        "run": run.id,
        "treatment": run.treatment,
        "replicate": run.replicate,
        "seed": run.seed,
        "status": "ok",
        **changes,
    }
    return json.dumps(record, indent=None, separators=(" ,", " : ")).encode() + b"\n"


def fill(folder: Folder) -> None:
    """All runs, the last one first, and what a session notes."""
    folder.begin_session(NOW)
    folder.write_engine(ENGINE_LINE)
    for run in reversed(folder.missing()):
        folder.write_run(run.id, "ok", run_line(run))
    folder.end_session(LATER)


def test_a_new_folder_holds_what_was_asked_for(folder: Folder, small_plan: wire.Plan) -> None:
    assert folder.path.name == "20261121T203000Z"
    assert {name: (folder.path / name).read_bytes() for name in FILES} == FILES
    assert folder.plan() == small_plan
    assert folder.invocation() == INVOCATION
    assert folder.missing() == list(small_plan.runs)
    assert not folder.is_done()


def test_failed_runs_are_set_aside_with_what_was_captured_of_them(folder: Folder) -> None:
    one, other = folder.missing()[:2]
    folder.write_run(one.id, "ok", run_line(one))
    captures = folder.path / "captures"
    captures.mkdir()
    for time in (b"first", b"second"):
        line = run_line(other, status="failed", error=time.decode())
        folder.write_run(other.id, "failed", line)
        for run in (one, other):
            (captures / f"{run.id}.jsonl.gz").write_bytes(time)
            (captures / f"{run.id}.app.sar").write_bytes(time)
        folder.set_aside([record for record in folder.records() if record.status == "failed"])
        assert other in folder.missing()
    kept = {path.name: path.read_bytes() for path in captures.iterdir()}
    assert kept == {
        f"{run}{suffix}": content
        for suffix in (".jsonl.gz", ".app.sar")
        for run, content in (
            (one.id, b"second"),
            (f"{other.id}.failed-1", b"first"),
            (f"{other.id}.failed-2", b"second"),
        )
    }
    assert [record.run for record in folder.records()] == [one.id]
    texts = [json.loads(text)["error"] for text in folder.set_aside_texts(other.id)]
    assert texts == ["first", "second"]


def test_a_folder_of_which_a_run_is_set_aside_is_done_no_more(folder: Folder) -> None:
    folder.write_engine(ENGINE_LINE)
    for run in folder.missing():
        folder.write_run(run.id, "invalid", run_line(run, status="invalid"))
    folder.seal(NOW)
    folder.set_aside([])
    assert folder.is_done(), "nothing was set aside"
    spoiled = folder.plan().runs[0]
    folder.set_aside(folder.records()[:1])
    assert not folder.is_done()
    assert folder.missing() == [spoiled]
    assert folder.set_aside_as("invalid") == 1


def test_folders_of_the_same_second_do_not_meet(
    folder: Folder, tmp_path: Path, small_plan: wire.Plan
) -> None:
    second = create(tmp_path, "small", plan_lines(small_plan), INVOCATION, FILES, 10_000, NOW)
    third = create(tmp_path, "small", plan_lines(small_plan), INVOCATION, FILES, 10_000, NOW)
    assert [second.path.name, third.path.name] == ["20261121T203000Z-2", "20261121T203000Z-3"]
    assert (tmp_path / "small" / "latest").resolve() == third.path.resolve()
    assert folder.path.is_dir()


def test_records_are_joined_in_the_order_of_the_plan_with_the_bytes_of_the_engine(
    folder: Folder, small_plan: wire.Plan
) -> None:
    fill(folder)
    runs = b"".join(run_line(run) for run in small_plan.runs)
    end = b'{"kind":"end","runs":6}\n'
    assert b"".join(folder.stream()) == ENGINE_LINE + runs + end
    assert [record.run for record in folder.records()] == [run.id for run in small_plan.runs]


def test_a_record_is_never_overwritten(folder: Folder) -> None:
    run = folder.missing()[0]
    folder.write_run(run.id, "ok", run_line(run))
    with pytest.raises(StudyError, match="never overwritten"):
        folder.write_run(run.id, "failed", run_line(run, status="failed"))
    assert folder.records()[0].status == "ok"


def test_a_damaged_record_is_named(folder: Folder) -> None:
    run = folder.missing()[0]
    folder.write_run(run.id, "ok", run_line(run))
    segment = folder.path / "records/0001.seg"
    damage(segment, -1)
    said = rf"record of run {run.id} in .*/records/0001\.seg is damaged; repeat the run with: "
    with pytest.raises(StudyError, match=said):
        Folder(folder.path).records()
    assert Folder(folder.path).damaged_runs() == [run.id]


def test_a_format_of_another_version_is_refused_by_its_name(folder: Folder) -> None:
    path = folder.path / "plan.jsonl"
    path.write_text(path.read_text().replace("netstudy/plan/3", "netstudy/plan/4"))
    refused = (
        r"plan\.jsonl is netstudy/plan/4, of another version.*; this one reads netstudy/plan/3"
    )
    with pytest.raises(StudyError, match=refused):
        Folder(folder.path).plan()


@pytest.mark.parametrize("name", ["plan.jsonl", "invocation.json", "environment.json"])
def test_a_damaged_file_is_named(folder: Folder, name: str) -> None:
    (folder.path / name).write_text('{"schema":')
    read = {
        "plan.jsonl": folder.plan,
        "invocation.json": folder.invocation,
        "environment.json": folder.environment,
    }
    with pytest.raises(StudyError, match=rf"{name} is damaged"):
        read[name]()


def test_done_carries_the_hash_of_every_file(folder: Folder) -> None:
    fill(folder)
    folder.seal(LATER)
    files = json.loads((folder.path / "DONE").read_text())["files"]
    on_disk = {
        str(path.relative_to(folder.path)): {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "bytes": path.stat().st_size,
            "modified_ns": path.stat().st_mtime_ns,
        }
        for path in folder.path.rglob("*")
        if path.is_file() and path.name != "DONE"
    }
    assert files == on_disk
    assert folder.changed_since_sealed() == []
    assert folder.is_done()


@pytest.mark.parametrize("name", [*FILES, "plan.jsonl", "records/0001.seg"])
def test_a_changed_input_or_record_is_found(folder: Folder, name: str) -> None:
    fill(folder)
    folder.seal(LATER)
    with (folder.path / name).open("ab") as file:
        file.write(b"\n")
    assert folder.changed_since_sealed() == [name]


@pytest.mark.parametrize("name", ["notes.txt", "measured/notes.txt"])
def test_what_a_user_keeps_in_the_folder_may_change(folder: Folder, name: str) -> None:
    (folder.path / name).write_text("looked at the first runs\n")
    fill(folder)
    folder.seal(LATER)
    (folder.path / name).write_text("looked at all runs\n")
    assert folder.changed_since_sealed() == []
    folder.refuse_changed()


def test_a_record_that_went_missing_is_found(folder: Folder) -> None:
    fill(folder)
    folder.seal(LATER)
    (folder.path / "records/0001.seg").unlink()
    assert folder.changed_since_sealed() == ["records/0001.seg"]
    assert folder.changed_since_sealed(by_date=True) == ["records/0001.seg"]
    assert folder.damaged_runs() == [run.id for run in folder.plan().runs]


def test_a_copy_of_a_folder_is_not_changed_whatever_its_dates(folder: Folder) -> None:
    fill(folder)
    folder.seal(LATER)
    record = folder.path / "records/0001.seg"
    for at in (folder.path / "DONE", record):
        os.utime(at, (0, 0))
    assert folder.changed_since_sealed(by_date=True) == []
    record.write_bytes(record.read_bytes() + b"\n")
    assert folder.changed_since_sealed(by_date=True) == ["records/0001.seg"]


DERIVED = ("cells.csv", "report.html", "report.md", "figures/drops.svg")


@pytest.fixture
def sealed(folder: Folder) -> Folder:
    """A folder that is done, with files that are made from its records."""
    fill(folder)
    (folder.path / "figures").mkdir()
    for name in DERIVED:
        (folder.path / name).write_text("as it was")
    folder.seal(LATER)
    return folder


class TestDerivedFiles:
    @pytest.mark.parametrize("name", DERIVED)
    @pytest.mark.parametrize("text", ["as it is ", "longer than it was"])
    def test_one_that_was_edited_is_named(self, sealed: Folder, name: str, text: str) -> None:
        assert sealed.derived_changed() == []
        edit(sealed.path / name, text)
        assert sealed.derived_changed() == [name]
        assert sealed.changed_since_sealed() == []

    def test_one_that_is_gone_is_named(self, sealed: Folder) -> None:
        (sealed.path / "report.html").unlink()
        assert sealed.derived_changed() == ["report.html"]

    def test_in_a_copy_with_other_times_the_content_counts(self, sealed: Folder) -> None:
        for name in DERIVED:
            os.utime(sealed.path / name, (0, 0))
        assert sealed.derived_changed() == []

    def test_only_those_with_another_time_are_read(
        self, sealed: Folder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        edit(sealed.path / "cells.csv", "as it is ")
        edit(sealed.path / "report.md", "longer than it was")
        read: list[str] = []

        def spied(path: Path) -> str:
            read.append(path.name)
            return sha256(path)

        monkeypatch.setattr("netstudy.store.folder.sha256", spied)
        assert sealed.derived_changed() == ["cells.csv", "report.md"]
        assert read == ["cells.csv"]


def edit(path: Path, text: str) -> None:
    """Change a file as an editor does: its time is another one, whatever the clock's steps."""
    path.write_text(text)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


def test_one_writer_at_a_time(folder: Folder) -> None:
    with folder.writing():
        assert folder.is_running()
        with pytest.raises(StudyError, match=r"another netstudy .* is writing"), folder.writing():
            pass
    assert not folder.is_running()


def test_a_writer_outlasts_one_who_only_asks_whether_the_folder_is_held(folder: Folder) -> None:
    """Who asks holds the lock for an instant."""
    asking = os.open(folder.path / ".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(asking, fcntl.LOCK_SH)
    answered = threading.Timer(0.05, os.close, [asking])
    answered.start()
    with folder.writing():
        assert folder.is_running()
    answered.join()


def test_what_an_interrupted_writer_left_half_written_is_cleared(folder: Folder) -> None:
    half = folder.path / ".engine.json.00ff00ff.tmp"
    half.write_bytes(b'{"kind":"en')
    assert len(folder.missing()) == len(folder.plan().runs)
    with folder.writing():
        assert not half.exists()


def test_the_machine_of_every_session_is_noted(folder: Folder) -> None:
    fill(folder)
    folder.begin_session(LATER)
    environment = folder.environment()
    assert environment["engine"] == "1.0"
    assert environment["started_utc"] == "2026-11-21T20:30:00Z"
    assert environment["ended_utc"] == "2026-11-21T20:31:00Z"
    (resumed,) = environment["resumed"]
    assert resumed["started_utc"] == "2026-11-21T20:31:00Z"
    assert resumed["ended_utc"] is None
    assert resumed["cores"] >= 1


def test_results_that_would_not_fit_are_refused_and_nothing_is_left(
    tmp_path: Path, small_plan: wire.Plan
) -> None:
    with pytest.raises(StudyError, match="not enough space"):
        create(
            tmp_path / "new" / "results",
            "small",
            plan_lines(small_plan),
            INVOCATION,
            FILES,
            10**15,
            NOW,
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("in_the_way", ["results", "results/small"])
def test_a_file_where_a_folder_must_be_is_named_and_left(
    tmp_path: Path, small_plan: wire.Plan, in_the_way: str
) -> None:
    file = tmp_path / in_the_way
    file.parent.mkdir(exist_ok=True)
    file.write_text("mine")
    with pytest.raises(StudyError, match=f"{in_the_way}.*: a file stands where a folder must be"):
        create(
            tmp_path / "results", "small", plan_lines(small_plan), INVOCATION, FILES, 10_000, NOW
        )
    assert file.read_text() == "mine"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]


def test_something_else_named_latest_stops_the_run_and_is_left(
    tmp_path: Path, small_plan: wire.Plan
) -> None:
    mine = tmp_path / "small" / "latest"
    mine.mkdir(parents=True)
    with pytest.raises(StudyError, match="latest"):
        create(tmp_path, "small", plan_lines(small_plan), INVOCATION, FILES, 10_000, NOW)
    assert list((tmp_path / "small").iterdir()) == [mine]
