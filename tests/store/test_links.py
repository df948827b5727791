"""A results folder that somebody sent leads nowhere: no file outside of it is written or locked."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.plan_lines import plan_lines
from netstudy.store import Folder, Invocation, Results, create, is_locked, locked, write_atomic
from netstudy.store.folder import OWN_NAMES
from tests.store.small import FILES

NOW = datetime(2026, 11, 21, 20, 30, tzinfo=UTC)
INVOCATION = Invocation(study="small", testbed="sim", seed=7)
MINE = "what the user has elsewhere"


@pytest.fixture
def folder(tmp_path: Path, small_plan: wire.Plan) -> Folder:
    return create(
        tmp_path / "results", "small", plan_lines(small_plan), INVOCATION, FILES, 10_000, NOW
    )


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder of the user's with a file in it, that stay as they are."""
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "mine").write_text(MINE)
    yield outside
    assert [path.name for path in outside.iterdir()] == ["mine"]
    assert (outside / "mine").read_text() == MINE


def put_in_place(path: Path, target: Path) -> None:
    """A link where the folder has a file or a folder of its own, or could have one."""
    make_room(path)
    path.symlink_to(target)


def make_room(path: Path) -> None:
    if path.exists():
        path.rename(path.with_name(f"{path.name}-kept"))


@contextmanager
def refused(folder: Folder, name: str) -> Iterator[None]:
    with pytest.raises(StudyError, match=rf"{folder.path} is refused: {name} in it is ") as caught:
        yield
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", sorted(OWN_NAMES - {"plan.jsonl"}))
@pytest.mark.parametrize("target", ["mine", ".", "nowhere"])
def test_a_folder_with_a_link_under_a_name_of_ours_is_refused_by_name(
    folder: Folder, elsewhere: Path, name: str, target: str
) -> None:
    put_in_place(folder.path / name, elsewhere / target)
    with refused(folder, name), folder.writing():
        pass
    for done in (True, False):
        with refused(folder, name):
            Results(folder.path.parents[1]).resolve(str(folder.path), done=done)
        with refused(folder, name):
            Results(folder.path.parents[1]).resolve("small", done=done)


@pytest.mark.parametrize("name", ["records/0001.seg", "captures/nodes/a.json", "figures/drops.svg"])
def test_so_is_one_with_a_link_further_down(folder: Folder, elsewhere: Path, name: str) -> None:
    (folder.path / name).parent.mkdir(parents=True, exist_ok=True)
    put_in_place(folder.path / name, elsewhere / "mine")
    with refused(folder, name), folder.writing():
        pass


def test_links_of_the_users_own_beside_our_files_are_no_matter(
    folder: Folder, elsewhere: Path
) -> None:
    (folder.path / "notes").symlink_to(elsewhere)
    with folder.writing():
        pass


def test_a_pipe_for_a_record_is_refused_and_not_waited_for(folder: Folder) -> None:
    name = "records/0001.seg"
    (folder.path / name).parent.mkdir()
    os.mkfifo(folder.path / name)
    with refused(folder, name):
        Folder.at(folder.path)


class TestLock:
    def test_the_process_is_not_written_through_a_link(
        self, folder: Folder, elsewhere: Path
    ) -> None:
        """Also where the link came after the folder was looked at."""
        put_in_place(folder.path / ".lock", elsewhere / "mine")
        with refused(folder, r"\.lock"), locked(folder.path):
            pass
        assert not is_locked(folder.path)

    def test_another_files_name_is_no_lock(self, folder: Folder, elsewhere: Path) -> None:
        make_room(folder.path / ".lock")
        (folder.path / ".lock").hardlink_to(elsewhere / "mine")
        with refused(folder, r"\.lock"), folder.writing():
            pass

    def test_a_pipe_is_no_lock_and_is_not_waited_for(self, folder: Folder) -> None:
        make_room(folder.path / ".lock")
        os.mkfifo(folder.path / ".lock")
        assert not is_locked(folder.path)
        with refused(folder, r"\.lock"), folder.writing():
            pass

    def test_who_holds_a_file_elsewhere_does_not_hold_the_folder(
        self, folder: Folder, elsewhere: Path
    ) -> None:
        put_in_place(folder.path / ".lock", elsewhere / "mine")
        with (elsewhere / "mine").open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            assert not is_locked(folder.path)


class TestWriting:
    def test_no_folder_on_the_way_to_a_file_is_a_link(
        self, folder: Folder, elsewhere: Path
    ) -> None:
        (folder.path / "figures").symlink_to(elsewhere)
        with refused(folder, "figures"):
            write_atomic(folder.path / "figures" / "mine", b"new", within=folder.path)

    def test_a_link_to_the_folder_itself_may_be_on_the_way(
        self, folder: Folder, tmp_path: Path
    ) -> None:
        (tmp_path / "by-link").symlink_to(folder.path)
        place = tmp_path / "by-link"
        (place / "reference").mkdir(exist_ok=True)
        write_atomic(place / "reference" / "a.csv", b"new", within=place)
        assert (folder.path / "reference" / "a.csv").read_bytes() == b"new"


class TestLinksThatGoOnWorking:
    def test_latest(self, folder: Folder) -> None:
        latest = folder.path.with_name("latest")
        found = Results(folder.path.parents[1]).resolve(str(latest), done=False)
        with found.writing():
            assert folder.is_running()

    @pytest.mark.parametrize("above", [1, 2])
    def test_a_root_or_a_study_on_another_disk(
        self, tmp_path: Path, small_plan: wire.Plan, above: int
    ) -> None:
        disk = tmp_path / "disk"
        disk.mkdir()
        root = tmp_path / "results"
        if above == 2:
            root.symlink_to(disk)
        else:
            root.mkdir()
            (root / "small").symlink_to(disk)
        made = create(root, "small", plan_lines(small_plan), INVOCATION, FILES, 10_000, NOW)
        with made.writing():
            made.begin_session(NOW)
        assert Results(root).resolve("small", done=False).environment()["started_utc"]
        Results(root).remove(made.path)
        assert Results(root).folders() == []


class TestRemoving:
    def test_of_a_linked_leftover_the_link_alone_goes(
        self, folder: Folder, elsewhere: Path
    ) -> None:
        left = folder.path.with_name(".0123.tmp")
        left.symlink_to(elsewhere)
        results = Results(folder.path.parents[1])
        assert results.leftovers() == [left]
        results.remove(left)
        assert not left.is_symlink()

    @pytest.mark.parametrize("name", [".lock", "records", "notes"])
    def test_a_folder_with_links_can_be_removed(
        self, folder: Folder, elsewhere: Path, name: str
    ) -> None:
        put_in_place(folder.path / name, elsewhere)
        Results(folder.path.parents[1]).remove(folder.path)
        assert not folder.path.exists()
