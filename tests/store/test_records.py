"""Records in segments: found through an index that is built from the segments alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from netstudy.errors import StudyError
from netstudy.store import flush, records
from netstudy.store.records import Records
from tests.stored import damage


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Records]:
    made = anew(tmp_path)
    yield made
    made.close()


def anew(folder: Path) -> Records:
    """The records as another process finds them."""
    found = Records(folder / "records", folder)
    found.refresh()
    return found


def text(number: int) -> bytes:
    return b'{"run":"%d"}\n' % number


def fill(kept: Records, count: int) -> None:
    for number in range(count):
        kept.write(f"{number:012x}", "ok", text(number))


def test_another_reader_finds_what_is_appended(kept: Records, tmp_path: Path) -> None:
    reader = anew(tmp_path)
    fill(kept, 3)
    assert not reader.has(f"{2:012x}")
    reader.refresh()
    assert reader.text(f"{2:012x}") == text(2)
    kept.write("aa", "failed", b"why\n")
    reader.refresh()
    assert (reader.status(f"{2:012x}"), reader.status("aa")) == ("ok", "failed")
    assert reader.status("bb") is None


def test_a_run_has_one_record_until_it_is_set_aside(kept: Records, tmp_path: Path) -> None:
    kept.write("aa", "failed", b"first\n")
    with pytest.raises(StudyError, match="never overwritten"):
        kept.write("aa", "ok", b"second\n")
    kept.set_aside("aa", "failed")
    assert not kept.has("aa")
    kept.write("aa", "ok", b"second\n")
    for one in (kept, anew(tmp_path)):
        assert one.text("aa") == b"second\n"
        assert one.set_aside_texts("aa") == [b"first\n"]
        assert (one.set_aside_as("failed"), one.set_aside_as("failed", "aa")) == (1, 1)
        assert one.set_aside_as("invalid") == 0


def test_each_session_and_each_thousand_records_have_a_segment(
    kept: Records, tmp_path: Path
) -> None:
    fill(kept, 2_001)
    kept.close()
    later = anew(tmp_path)
    later.write("aa", "ok", b"later\n")
    later.close()
    assert sorted(path.name for path in (tmp_path / "records").iterdir()) == [
        "0001.seg", "0002.seg", "0003.seg", "0004.seg",
    ]  # fmt: skip
    found = anew(tmp_path)
    assert [found.text(f"{number:012x}") for number in range(2_001)] == [*map(text, range(2_001))]


def test_a_lost_segment_loses_its_own_records_alone(kept: Records, tmp_path: Path) -> None:
    fill(kept, 2_500)
    kept.close()
    reader = anew(tmp_path)
    (tmp_path / "records/0002.seg").unlink()
    for found in (reader, anew(tmp_path)):
        found.refresh()
        lost = {number for number in range(2_500) if not found.has(f"{number:012x}")}
        assert lost == set(range(1_000, 2_000))


def test_a_damaged_record_is_named_and_no_other(kept: Records, tmp_path: Path) -> None:
    fill(kept, 10)
    kept.close()
    damage(tmp_path / "records/0001.seg", -1)
    found = anew(tmp_path)
    assert found.damaged() == [f"{9:012x}"]
    assert found.has(f"{9:012x}")
    assert found.text(f"{9:012x}") is None
    assert found.text(f"{8:012x}") == text(8)


def test_a_record_that_does_not_fit_on_the_disk_leaves_nothing(
    kept: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(kept, 1)
    segment = tmp_path / "records/0001.seg"
    size, write = segment.stat().st_size, os.write

    def full(descriptor: int, data: memoryview) -> int:
        write(descriptor, data[:7])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left") as caught:
        kept.write("aa", "ok", b"more\n")
    assert caught.value.filename == str(segment)
    assert segment.stat().st_size == size
    monkeypatch.undo()
    kept.write("aa", "ok", b"more\n")
    assert anew(tmp_path).text("aa") == b"more\n"


class TestFlush:
    @pytest.fixture
    def flushed(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """The sizes of the segment when it was flushed."""
        sizes: list[int] = []
        sync = os.fsync

        def note(descriptor: int) -> None:
            name = Path(f"/proc/self/fd/{descriptor}").readlink()
            if name.suffix == records.SUFFIX:
                sizes.append(os.fstat(descriptor).st_size)
            sync(descriptor)

        monkeypatch.setattr(os, "fsync", note)
        monkeypatch.setattr(flush, "_INTERVAL_S", 0.02)
        return sizes

    def test_a_record_is_flushed_without_another_write(
        self, kept: Records, tmp_path: Path, flushed: list[int]
    ) -> None:
        kept.write("aa", "ok", b"one\n")
        size = (tmp_path / "records/0001.seg").stat().st_size
        until = time.monotonic() + 20
        while size not in flushed and time.monotonic() < until:
            time.sleep(0.01)
        assert flushed[-1] == size

    def test_the_end_waits_for_the_disk(
        self, kept: Records, tmp_path: Path, flushed: list[int]
    ) -> None:
        fill(kept, 5)
        kept.close()
        assert flushed[-1] == (tmp_path / "records/0001.seg").stat().st_size

    def test_a_disk_that_fails_is_told_at_the_next_write_or_the_end(
        self, kept: Records, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill(kept, 1)

        def broken(_: int) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "fsync", broken)
        with pytest.raises(OSError, match="Input/output error"):
            kept.close()
