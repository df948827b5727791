"""Takes records of a folder's runs that engines elsewhere wrote into files, such as the tasks of a
job array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from netstudy.errors import StudyError
from netstudy.store.files import storage
from netstudy.store.folder import Folder
from netstudy.testbed.engine import RECORD
from netstudy.wire import EndRecord, EngineRecord, Record, Run, RunRecord


@dataclass(frozen=True)
class Collected:
    """The outcome of taking in some files."""

    new: int
    """Records that were stored."""
    known: int
    """Records that the folder had already, byte for byte."""
    unfinished: tuple[str, ...]
    """One sentence for each file whose engine did not come to its end."""


def collect(folder: Folder, files: Sequence[Path]) -> Collected:
    """Store the records of these files. The caller locks the folder.

    Raises StudyError for a file that is no output of the folder's engine for the folder's runs, or
    has another record of a run than the folder; records of files and lines before it are stored.
    """
    collector = _Collector(folder)
    unfinished = [said for path in files if (said := collector.take_in(path)) is not None]
    return Collected(collector.new, collector.known, tuple(unfinished))


@dataclass
class _Collector:
    folder: Folder
    new: int = 0
    known: int = 0
    _runs: dict[str, Run] = field(init=False)
    _missing: set[str] = field(init=False)

    def __post_init__(self) -> None:
        runs = self.folder.plan().runs
        self._runs = {run.id: run for run in runs}
        self._missing = {run.id for run in self.folder.missing(runs)}

    def take_in(self, path: Path) -> str | None:
        """Store the records of a file; a sentence if the file breaks off."""
        begun = ended = False
        try:
            with path.open("rb") as lines:
                for where, line in _numbered(path, lines):
                    if not line.endswith(b"\n"):
                        return f"{where} breaks off: its run is left out"
                    record = _parsed(where, line)
                    begun = begun or isinstance(record, EngineRecord)
                    if not begun:
                        raise StudyError("is not the beginning of an engine's output", where)
                    ended = isinstance(record, EndRecord)
                    self._take(where, record, line)
        except OSError as error:
            raise StudyError(f"cannot read {path}: {error.strerror}") from error
        if not begun:
            return f"{path} is empty"
        return None if ended else f"{path} ends before its engine's end"

    def _take(self, where: str, record: Record, line: bytes) -> None:
        if isinstance(record, EngineRecord):
            with storage(self.folder.path):
                self.folder.write_engine(line)
        elif isinstance(record, RunRecord):
            self._take_run(where, record, line)

    def _take_run(self, where: str, record: RunRecord, line: bytes) -> None:
        run = self._runs.get(record.run)
        if run is None:
            raise StudyError(f"run {record.run} is not in the plan of {self.folder.path}", where)
        if record.seed != run.seed:
            raise StudyError(
                f"run {run.id} has seed {record.seed}, and in the plan of {self.folder.path} "
                f"{run.seed}: the slice is of another plan",
                where,
            )
        if run.id in self._missing:
            with storage(self.folder.path):
                self.folder.write_run(run.id, record.status, line)
            self._missing.remove(run.id)
            self.new += 1
        elif next(iter(self.folder.record_texts([run]))) == line:
            self.known += 1
        else:
            raise StudyError(
                f"run {run.id} has another record than the one that {self.folder.path} has "
                "already, and the same plan gives the same record: one of the two is of another "
                "plan",
                where,
            )


def _numbered(path: Path, lines: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    return ((f"{path}:{number}", line) for number, line in enumerate(lines, 1))


def _parsed(where: str, line: bytes) -> Record:
    try:
        return RECORD.validate_json(line)
    except ValidationError as error:
        shown = line[:60].decode("utf-8", "backslashreplace").strip()
        raise StudyError(f"{shown!r} is not a record of netstudy-engine", where) from error
