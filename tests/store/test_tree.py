"""Which results a user means, and what is left when some are removed."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.plan_lines import plan_lines
from netstudy.store import Folder, Invocation, Results, create
from tests.store.small import FILES
from tests.study.conftest import SMALL

INVOCATION = Invocation(study="small", testbed="sim", seed=7)


def made(root: Path, plan: wire.Plan, minute: int, *, done: bool) -> Folder:
    now = datetime(2026, 11, 21, 20, minute, tzinfo=UTC)
    folder = create(root, plan.study, plan_lines(plan), INVOCATION, FILES, 10_000, now)
    if done:
        folder.seal(now)
    return folder


def test_folders_are_listed_newest_first_with_the_tenth_of_a_second_after_the_second(
    tmp_path: Path, small_plan: wire.Plan
) -> None:
    made_folders = [made(tmp_path, small_plan, 30, done=False) for _ in range(11)]
    (tmp_path / "small" / "notes").mkdir()
    newest_first = [folder.path for folder in reversed(made_folders)]
    assert [folder.path for folder in Results(tmp_path).folders()] == newest_first


def test_a_study_means_its_newest_and_for_reading_its_newest_that_is_done(
    tmp_path: Path, small_plan: wire.Plan
) -> None:
    done = made(tmp_path, small_plan, 30, done=True)
    newer = made(tmp_path, small_plan, 31, done=False)
    results = Results(tmp_path)
    assert results.resolve("small", done=False).path == newer.path
    assert results.resolve("small", done=True).path == done.path
    assert results.resolve(None, done=True).path == done.path
    assert results.resolve(str(tmp_path / "small"), done=True).path == done.path
    assert results.resolve(str(newer.path), done=False).path == newer.path
    latest = tmp_path / "small" / "latest"
    assert results.resolve(str(latest), done=False).path.resolve() == newer.path.resolve()


def test_a_study_or_a_tree_elsewhere_means_its_newest(
    tmp_path: Path, small_plan: wire.Plan
) -> None:
    older = made(tmp_path / "elsewhere", small_plan, 30, done=True)
    newer = made(tmp_path / "elsewhere", small_plan, 31, done=True)
    results = Results(tmp_path / "here")
    for named in (older.path.parent, older.path.parent.parent):
        assert results.resolve(str(named), done=True).path == newer.path


@pytest.mark.parametrize("named", ["/there/is/no/such/folder", "sm*", "sm[a"])
def test_a_name_is_no_pattern_and_a_path_without_results_has_none(
    tmp_path: Path, small_plan: wire.Plan, named: str
) -> None:
    made(tmp_path, small_plan, 30, done=True)
    with pytest.raises(StudyError, match=f"no results of '{re.escape(named)}'"):
        Results(tmp_path).resolve(named, done=True)


def test_an_unfinished_folder_is_not_read_as_if_it_were_done(
    tmp_path: Path, small_plan: wire.Plan
) -> None:
    folder = made(tmp_path, small_plan, 30, done=False)
    with pytest.raises(StudyError, match=r"0 of 6 runs are there.*--resume"):
        Results(tmp_path).resolve(str(folder.path), done=True)


def test_results_that_are_not_there_are_told_with_those_that_are(
    tmp_path: Path, small_plan: wire.Plan
) -> None:
    made(tmp_path, small_plan, 30, done=True)
    with pytest.raises(StudyError, match=r"no results of 'large'.* there are results of small"):
        Results(tmp_path).resolve("large", done=True)


def test_latest_follows_when_the_newest_is_removed(tmp_path: Path, small_plan: wire.Plan) -> None:
    older = made(tmp_path, small_plan, 30, done=True)
    newer = made(tmp_path, small_plan, 31, done=True)
    results, link = Results(tmp_path), tmp_path / "small" / "latest"
    results.remove(newer.path)
    assert link.resolve() == older.path.resolve()
    results.remove(older.path)
    assert not link.is_symlink()


def test_a_folder_in_use_is_not_removed(tmp_path: Path, small_plan: wire.Plan) -> None:
    folder = made(tmp_path, small_plan, 30, done=False)
    with folder.writing(), pytest.raises(StudyError, match="another netstudy"):
        Results(tmp_path).remove(folder.path)
    assert folder.path.is_dir()


def test_a_study_is_found_by_the_folder_that_it_was_run_from(
    tmp_path: Path, small_plan: wire.Plan
) -> None:
    """The folder and the study may have different names: `init mine` writes `my-comparison`."""
    now = datetime(2026, 11, 21, 20, 30, tzinfo=UTC)
    invocations = {"mine": "mine/study.yaml", "here": ".", "far": str(tmp_path / "far")}
    for name, study in invocations.items():
        place = tmp_path / name if name == "here" else tmp_path
        invocation = INVOCATION.model_copy(update={"study": study})
        folder = create(
            place / "results", "small", plan_lines(small_plan), invocation, FILES, 10_000, now
        )
        folder.seal(now)
        assert Results(place / "results").resolve(name, done=True).path == folder.path
    with pytest.raises(StudyError, match="no results of 'other'"):
        Results(tmp_path / "results").resolve("other", done=True)


def test_results_inside_of_a_study_s_folder_are_found_by_it(
    tmp_path: Path, small_plan: wire.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path / "mine" / "results", small_plan, 30, done=True)
    (tmp_path / "mine" / "study.yaml").write_text(SMALL)
    monkeypatch.chdir(tmp_path)
    for named in ("mine", "mine/", "mine/study.yaml"):
        found = Results(Path("results")).resolve(named, done=True)
        assert found.path.resolve() == folder.path


def test_a_folder_of_which_all_runs_are_there_can_be_read(
    tmp_path: Path, small_plan: wire.Plan
) -> None:
    """Runs that failed on a real machine can be repeated, so such a folder is not sealed."""
    folder = made(tmp_path, small_plan, 30, done=False)
    for run in small_plan.runs:
        folder.write_run(run.id, "failed", b"{}\n")
    folder.begin_session(datetime(2026, 11, 21, tzinfo=UTC))
    with pytest.raises(StudyError, match="is not finished"):
        Results(tmp_path).resolve("small", done=True)
    folder.end_session(datetime(2026, 11, 21, tzinfo=UTC))
    assert Results(tmp_path).resolve("small", done=True).path == folder.path
