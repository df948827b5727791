"""Files are whole or not there, whatever happens while they are written."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from netstudy.errors import StudyError
from netstudy.store.files import replace_link, storage, write_atomic


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_write_that_fails_leaves_the_old_content_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "records.jsonl"
    write_atomic(path, b"old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space") as raised:
        write_atomic(path, b"new")
    assert raised.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["records.jsonl"]


def test_a_write_is_flushed_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut after the rename must not find an empty file under the final name."""
    path = tmp_path / "run.json"
    seen: list[tuple[Path, bool]] = []

    def spy(descriptor: int) -> None:
        seen.append((Path(f"/proc/self/fd/{descriptor}").readlink(), path.exists()))

    monkeypatch.setattr(os, "fsync", spy)
    write_atomic(path, b"content")
    (first, named_at_first), (second, named_at_second) = seen
    assert first.name.startswith(".run.json.")
    assert (named_at_first, second, named_at_second) == (False, tmp_path, True)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission denied"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_what_the_file_system_refuses_is_told_with_its_path_and_cause(
    code: int, words: str
) -> None:
    with (
        pytest.raises(StudyError, match=f"cannot write /data/x: .*{words}"),
        storage(Path("/data")),
    ):
        raise OSError(code, os.strerror(code), "/data/x")


def test_a_link_is_moved_from_one_target_to_the_next(tmp_path: Path) -> None:
    link = tmp_path / "latest"
    replace_link(link, "first")
    replace_link(link, "second")
    assert link.readlink() == Path("second")
    assert names(tmp_path) == ["latest"]
