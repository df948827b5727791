"""A results folder that another process fills while it is read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from netstudy.store import Folder, FolderSoFar
from netstudy.wire import Run, RunRecord, to_json
from tests.report.results import from_text, study_text
from tests.report.synthetic import record

NOW = datetime(2026, 11, 30, 1, 2, 3, tzinfo=UTC)
TEXT = study_text("factors: {servers: [2, 4]}\nreplicates: 3\n", servers='"${servers}"')


@pytest.fixture
def half(tmp_path: Path) -> Folder:
    """Six planned runs, of which the first three have records."""
    written = 0

    def first_three(run: Run) -> RunRecord | None:
        nonlocal written
        written += 1
        return record(run) if written <= 3 else None

    return from_text(tmp_path, TEXT, first_three)


def add(folder: Folder, run: Run) -> None:
    folder.write_run(run.id, "ok", to_json(record(run)).encode() + b"\n")


def test_a_record_that_arrives_later_is_left_out_everywhere(half: Folder) -> None:
    runs = half.plan().runs
    seen = FolderSoFar.of(half, NOW)
    add(half, runs[3])
    assert [run.id for run in half.missing()] == [run.id for run in runs[4:]]
    assert [run.id for run in seen.missing()] == [run.id for run in runs[3:]]
    assert [one.run for one in seen.records()] == [run.id for run in runs[:3]]
    assert [run.id for run, _ in seen.each_record()] == [run.id for run in runs[:3]]
    assert len(list(seen.record_texts(runs))) == 3
    assert [run.id for run in seen.missing(runs[2:4])] == [runs[3].id]


def test_a_round_that_begins_later_is_left_out(half: Folder) -> None:
    seen = FolderSoFar.of(half, NOW)
    plan = half.plan()
    half.begin_round(plan.with_runs([replace(plan.runs[0], id="0123456789ab")]))
    assert (half.rounds(), seen.rounds()) == (2, 1)
    assert len(half.plan().runs) == 7
    assert seen.plan() == plan


def test_it_says_whether_a_process_was_writing(half: Folder) -> None:
    with half.writing():
        during = FolderSoFar.of(half, NOW)
    after = FolderSoFar.of(half, NOW)
    assert (during.was_running, after.was_running) == (True, False)
    assert during.read_at == NOW
