"""The records of a results folder: appended to segments, and found through an index in memory.

`records/0001.seg` and so on are append-only files of frames (`frames`). Each session of a run
begins a new segment, and so does each thousand of records. The index, run -> place, is built by
reading the headers of the frames: there is no second file that could disagree with the segments.
A record that was written survives the end of the writer's process; the segments are flushed to the
disk once a second, so that a power cut loses at most the last second.
"""

from __future__ import annotations

import mmap
import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from netstudy.errors import StudyError
from netstudy.store.flush import Flusher
from netstudy.store.frames import Frame, Kind, frame_at, framed, frames
from netstudy.store.links import opened

SUFFIX: Final = ".seg"
_MOST_FRAMES: Final = 1_000
_MOST_BYTES: Final = 64_000_000

Status = Literal["ok", "invalid", "failed"]
Reason = Literal["invalid", "failed", "damaged"]
"""Why a record was set aside."""
_KINDS: Final[dict[Status, Kind]] = {
    "ok": Kind.OK,
    "invalid": Kind.INVALID,
    "failed": Kind.FAILED,
}
_STATUSES: Final = {kind: status for status, kind in _KINDS.items()}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the record of a run is."""

    segment: int
    start: int
    kind: Kind


@dataclass
class Records:
    """The records in a folder of segments. One object may write while others, also of other
    processes, read."""

    folder: Path
    """The folder of the segments; it may be missing."""
    within: Path
    """The results folder."""
    _places: dict[str, _Place] = field(default_factory=dict)
    _aside: dict[str, list[_Place]] = field(default_factory=dict)
    """Run -> its earlier records, which were set aside."""
    _reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(run, reason) -> number of its records that were set aside for this reason."""
    _read_to: dict[int, int] = field(default_factory=dict)
    """Segment -> the offset up to which it is in the index."""
    _writer: _Writer | None = None

    def refresh(self) -> None:
        """Add the frames that were appended since to the index."""
        sizes = self._sizes()
        if any(sizes.get(segment, 0) < read for segment, read in self._read_to.items()):
            self._forget()  # a segment was removed or cut
        for segment, size in sorted(sizes.items()):
            start = self._read_to.get(segment, 0)
            if size > start:
                self._scan(segment, start)

    def has(self, run: str) -> bool:
        """Whether a run has a record, by the index."""
        return run in self._places

    def status(self, run: str) -> Status | None:
        """The status of a run's record, by the index; None: it has none."""
        place = self._places.get(run)
        return None if place is None else _STATUSES[place.kind]

    def segment(self, run: str) -> str | None:
        """Name of the segment with the run's record; None: it has no record."""
        place = self._places.get(run)
        return None if place is None else _name(place.segment)

    def text(self, run: str) -> bytes | None:
        """The line of a run's record. None: it has none, or the record is damaged."""
        place = self._places.get(run)
        return None if place is None else self._text(place)

    def set_aside_texts(self, run: str) -> list[bytes]:
        """The lines of a run's earlier records that are readable, oldest first."""
        texts = map(self._text, self._aside.get(run, ()))
        return [text for text in texts if text is not None]

    def set_aside_as(self, reason: Reason, run: str | None = None) -> int:
        """Number of records that were set aside for a reason, of all runs or of one."""
        if run is not None:
            return self._reasons[run, reason]
        return sum(count for (_, why), count in self._reasons.items() if why == reason)

    def damaged(self) -> list[str]:
        """Runs whose record is damaged; reads every record."""
        return [run for run, place in self._places.items() if self._text(place) is None]

    def write(self, run: str, status: Status, line: bytes) -> None:
        """Append a run's record. Raises StudyError if the run has a record, and OSError."""
        if self._writer is None:
            self.refresh()  # later, this object itself is the only writer
        if run in self._places:
            raise StudyError(
                f"{self.within} has a record of run {run} already: a record is never overwritten"
            )
        kind = _KINDS[status]
        segment, start = self._append(framed(kind, run, line))
        self._places[run] = _Place(segment, start, kind)

    def set_aside(self, run: str, reason: Reason) -> None:
        """Append that the run's record no longer counts. Raises OSError."""
        self._append(framed(Kind.SET_ASIDE, run, reason.encode()))
        self._drop(run, reason)

    def close(self) -> None:
        """Flush the last segment to the disk, and end the thread that does so. Raises OSError."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _append(self, frame: bytes) -> tuple[int, int]:
        """Returns the number of the segment and the offset of the frame."""
        if self._writer is not None and self._writer.is_full:
            self.close()
        if self._writer is None:
            number = 1 + max(self._sizes(), default=0)
            self._writer = _Writer.begin(self.folder, self.within, number)
        start = self._writer.append(frame)
        self._read_to[self._writer.number] = self._writer.size
        return self._writer.number, start

    def _sizes(self) -> dict[int, int]:
        try:
            with os.scandir(self.folder) as entries:
                return {
                    int(entry.name[: -len(SUFFIX)]): entry.stat().st_size
                    for entry in entries
                    if entry.name.endswith(SUFFIX) and entry.name[: -len(SUFFIX)].isdigit()
                }
        except FileNotFoundError:
            return {}

    def _forget(self) -> None:
        for known in (self._places, self._aside, self._reasons, self._read_to):
            known.clear()

    def _scan(self, segment: int, start: int) -> None:
        with (self.folder / _name(segment)).open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                for frame in frames(content, start):
                    self._take(segment, frame, content)
                    self._read_to[segment] = frame.end

    def _take(self, segment: int, frame: Frame, content: mmap.mmap) -> None:
        if frame.kind is not Kind.SET_ASIDE:
            self._places[frame.run] = _Place(segment, frame.start, frame.kind)
            return
        reason = frame.text(content[frame.body : frame.end])
        self._drop(frame.run, "damaged" if reason is None else reason.decode())

    def _drop(self, run: str, reason: str) -> None:
        self._reasons[run, reason] += 1
        if (place := self._places.pop(run, None)) is not None:
            self._aside.setdefault(run, []).append(place)

    def _text(self, place: _Place) -> bytes | None:
        try:
            descriptor = os.open(self.folder / _name(place.segment), os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            found = frame_at(descriptor, place.start)
        finally:
            os.close(descriptor)
        return None if found is None else found[0].text(found[1])


def _name(segment: int) -> str:
    return f"{segment:04}{SUFFIX}"


@dataclass
class _Writer:
    """Appends frames to a new segment."""

    path: Path
    number: int
    descriptor: int
    flusher: Flusher
    frames: int = 0
    size: int = 0

    @classmethod
    def begin(cls, folder: Path, within: Path, number: int) -> _Writer:
        """Make the segment with this number. Raises OSError, and StudyError if the folder of the
        segments is a link."""
        name, flags = _name(number), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        folder.mkdir(exist_ok=True)
        with opened(folder, within) as handle:
            descriptor = os.open(name, flags, 0o666, dir_fd=handle)
            os.fsync(handle)
        return cls(folder / name, number, descriptor, Flusher(descriptor))

    @property
    def is_full(self) -> bool:
        """Whether the next frame belongs into a new segment."""
        return self.frames >= _MOST_FRAMES or self.size >= _MOST_BYTES

    def append(self, frame: bytes) -> int:
        """Write a frame completely or not at all; returns its offset."""
        start, left = self.size, memoryview(frame)
        try:
            while left:
                left = left[os.write(self.descriptor, left) :]
            self.flusher.written()
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self.descriptor, start)
            error.filename = str(self.path)
            raise
        self.frames, self.size = self.frames + 1, start + len(frame)
        return start

    def close(self) -> None:
        """Flush the segment and close it. Raises OSError."""
        try:
            self.flusher.close()
        except OSError as error:
            error.filename = str(self.path)
            raise
        finally:
            os.close(self.descriptor)
