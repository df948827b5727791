"""A results folder as it was at one moment, for readers that must not wait for the last run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from netstudy.store.folder import Folder
from netstudy.wire import Plan, Run, RunRecord


@dataclass(frozen=True, eq=False)
class FolderSoFar(Folder):
    """An unfinished results folder with the plan and the records that it had when it was read.

    Another process may be writing to the folder. Its lock is not needed, and nothing is written. A
    record or a round that arrives later is left out, so all tables of a report count the same runs.
    """

    read_at: datetime
    was_running: bool
    """True if a process was writing to the folder."""
    _plan: Plan
    _rounds: int
    _lacking: frozenset[str]

    @classmethod
    def of(cls, folder: Folder, now: datetime) -> FolderSoFar:
        """The folder as it is now. Raises StudyError if its plan is damaged."""
        was_running = folder.is_running()
        rounds, plan = folder.rounds(), folder.plan()
        while rounds != (begun := folder.rounds()):  # a round began meanwhile
            rounds, plan = begun, folder.plan()
        lacking = frozenset(run.id for run in folder.missing(plan.runs))
        return cls(folder.path, now, was_running, plan, rounds, lacking)

    def plan(self) -> Plan:
        """The runs of all rounds that had begun, in order, without repetitions."""
        return self._plan

    def rounds(self) -> int:
        """Number of rounds that had begun."""
        return self._rounds

    def record(self, run: str) -> RunRecord | None:
        """The record of a run, if it was there."""
        return None if run in self._lacking else super().record(run)

    def each_record(self, runs: Iterable[Run] | None = None) -> Iterator[tuple[Run, RunRecord]]:
        """These runs with the records that were there."""
        chosen = self._plan.runs if runs is None else runs
        return super().each_record([run for run in chosen if run.id not in self._lacking])

    def record_texts(self, runs: Iterable[Run]) -> Iterator[bytes]:
        """The text of the records that were there, in the order of these runs."""
        return super().record_texts([run for run in runs if run.id not in self._lacking])

    def missing(self, runs: Iterable[Run] | None = None) -> list[Run]:
        """The runs that had no record, in the plan's order."""
        chosen = self._plan.runs if runs is None else runs
        return [run for run in chosen if run.id in self._lacking]
