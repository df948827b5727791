"""Carry out what a results folder lacks: the walk from a plan to its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from netstudy.errors import TestbedError
from netstudy.store.environment import utc_now
from netstudy.store.files import storage
from netstudy.store.folder import CAPTURES, Folder
from netstudy.testbed.base import Testbed
from netstudy.wire import EngineRecord, ProgressRecord, Record, Run, RunRecord

OnProgress = Callable[[ProgressRecord | RunRecord], None]


def execute(
    folder: Folder,
    testbed: Testbed,
    *,
    threads: int | None = None,
    on_progress: OnProgress | None = None,
) -> Counter[str]:
    """Carry out the runs that the folder lacks and keep each record as it comes.

    Returns how many of these runs ended with each status. The caller holds the folder
    (`folder.writing()`). Raises StudyError when a record cannot be written and TestbedError when
    the testbed fails; what was finished before is kept, and calling again does the remainder.
    """
    missing = folder.missing()
    walk = _Walk(folder, {run.id: run for run in missing}, on_progress)
    if missing:
        plan = folder.plan().model_copy(update={"runs": tuple(missing)})
        captures = folder.path / CAPTURES
        testbed.run(plan, threads=threads, on_record=walk.on_record, captures=captures)
    if walk.waiting:
        raise TestbedError(f"{len(walk.waiting)} runs have no record, {min(walk.waiting)} first")
    return walk.statuses


@dataclass
class _Walk:
    """The runs under way: each is waited for until its record is on the disk."""

    folder: Folder
    waiting: dict[str, Run]
    on_progress: OnProgress | None
    statuses: Counter[str] = field(default_factory=Counter)

    def on_record(self, record: Record, line: bytes) -> None:
        if isinstance(record, EngineRecord):
            with storage(self.folder.path):
                self.folder.write_engine(line)
        elif isinstance(record, RunRecord):
            self._keep(record, line)
        if self.on_progress and isinstance(record, ProgressRecord | RunRecord):
            self.on_progress(record)

    def _keep(self, record: RunRecord, line: bytes) -> None:
        run = self.waiting.get(record.run)
        if run is None or record.seed != run.seed:
            raise TestbedError(f"a record of run {record.run}, which was not asked for")
        with storage(self.folder.path):
            self.folder.write_run(record.run, line)
        del self.waiting[record.run]
        self.statuses[record.status] += 1


def carry_out(
    folder: Folder,
    testbed: Testbed,
    *,
    threads: int | None,
    on_progress: OnProgress | None,
    machine: Mapping[str, str] | None = None,
) -> Counter[str]:
    """`execute` as one session: its machine, start and end are noted in the folder."""
    with storage(folder.path):
        folder.begin_session(utc_now(), machine)
    statuses = execute(folder, testbed, threads=threads, on_progress=on_progress)
    with storage(folder.path):
        folder.end_session(utc_now())
    return statuses
