"""Executes the missing runs of a results folder: from a plan to its records, round by round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field

from netstudy.analysis.cells import is_limited
from netstudy.analysis.growth import GrownLoop, deciding_metrics, grown_loops
from netstudy.analysis.related import pool_study
from netstudy.errors import TestbedError
from netstudy.plan import make_plan, make_round
from netstudy.plan.identity import canonical
from netstudy.plan.loops import CaseTreatment
from netstudy.store.environment import utc_now
from netstudy.store.files import storage
from netstudy.store.folder import CAPTURES, Folder, joined
from netstudy.testbed.base import Testbed
from netstudy.testbed.survival import is_of_dead_engine
from netstudy.units import parse_scale
from netstudy.wire import EngineRecord, Plan, ProgressRecord, Record, Run, RunRecord

OnProgress = Callable[[ProgressRecord | RunRecord], None]
OnRound = Callable[[int, int], None]
"""Called before each further round, with the round's number and its number of missing runs."""


class Rounds:
    """The further rounds of a study with a growing factor, computed only from the study's results
    folder.

    A round depends only on the study, the invocation, and the records of earlier rounds. It runs
    the next level of each outer loop that continues. A round has only one level per loop, since a
    level without a valid run ends its loop and makes further levels unnecessary.
    """

    def __init__(self, folder: Folder) -> None:
        """Raises StudyError when the folder's study cannot be read."""
        invocation = folder.invocation()
        self._folder = folder
        self._study = folder.study()
        self._planned = make_plan(
            self._study,
            seed=invocation.seed,
            only=invocation.levels_kept(self._study),
            scale=parse_scale(invocation.scale or 1),
            traces=invocation.traces,
        )
        self._plan = folder.plan()
        self._records: dict[str, RunRecord] = {}

    def next(self) -> Plan | None:
        """The plan of the next round; None: every loop has ended. Every run so far must have a
        record."""
        wanted = [
            CaseTreatment(one.loop.case, one.next, one.next)
            for one in self._loops()
            if one.next is not None
        ]
        if not wanted:
            return None
        plan = make_round(self._planned, wanted)
        self._plan = joined([self._plan, plan])
        return plan

    def left(self, again: Container[str]) -> Plan:
        """Runs that may still be needed: planned runs without a record, runs to be repeated
        (`again`), and runs of levels that may follow."""
        missing = {run.id for run in self._folder.missing(self._plan.runs)}
        planned = {run.id for run in self._plan.runs}
        following = {
            canonical(treatment)
            for one in self._loops()
            for treatment in (one.loop.steps if _is_open(one, again) else one.left)
        }
        whole = self._planned.whole_plan
        runs = tuple(
            run
            for run in whole.runs
            if run.id in missing
            or run.id in again
            or (run.id not in planned and canonical(run.treatment) in following)
        )
        return whole.with_runs(runs)

    def _loops(self) -> tuple[GrownLoop, ...]:
        if not self._planned.loops:
            return ()  # the selected levels exclude the growing factor
        growing = {loop.case for loop in self._planned.loops}
        runs = [run for run in self._plan.runs if growing & set(run.cases)]
        unread = [run for run in runs if run.id not in self._records]
        self._records |= {found.run: found for found in self._folder.records(unread)}
        plan = self._plan.with_runs(runs)
        records, series = [*self._records.values()], self._folder.series
        cells = pool_study(self._study, plan, records, series)
        metrics = deciding_metrics(self._study, plan)
        return grown_loops(self._study, self._planned.loops, cells, metrics)


def _is_open(one: GrownLoop, again: Container[str]) -> bool:
    """Whether runs of a loop are to be repeated (`again`); their new records may continue a loop
    that has ended."""
    return any(run.id in again for row in one.rows for run in row.planned)


def left_to_do(folder: Folder, again: Container[str]) -> Plan:
    """Runs that a folder may still need: runs without a record, runs to be repeated (`again`) and,
    if a factor grows, runs of levels that may follow."""
    rounds = rounds_of(folder)
    if rounds is not None:
        return rounds.left(again)
    plan = folder.plan()
    missing = {run.id for run in folder.missing(plan.runs)}
    runs = tuple(run for run in plan.runs if run.id in missing or run.id in again)
    return plan.with_runs(runs)


def made_again(folder: Folder, testbed: Testbed) -> list[RunRecord]:
    """Runs that may end differently when repeated: failed runs and runs with interference. On a
    deterministic testbed, only runs whose engine died."""
    failed = folder.ended_as("failed")
    if testbed.repeats_itself:
        texts = folder.record_texts(failed)
        return [RunRecord.model_validate_json(one) for one in texts if is_of_dead_engine(one)]
    invalid = folder.records(folder.ended_as("invalid"))
    return [*folder.records(failed), *filter(is_limited, invalid)]


def is_final(folder: Folder, testbed: Testbed) -> bool:
    """Whether no run of the folder needs to be repeated. Runs with interference may be repeated,
    but need not be."""
    return all(record.status != "failed" for record in made_again(folder, testbed))


def rounds_of(folder: Folder) -> Rounds | None:
    """The further rounds of a folder; None if no factor of its study grows."""
    return Rounds(folder) if folder.invocation().has_rounds(folder.study()) else None


def execute(
    folder: Folder,
    testbed: Testbed,
    *,
    threads: int | None = None,
    on_progress: OnProgress | None = None,
    rounds: Rounds | None = None,
    on_round: OnRound | None = None,
) -> Counter[str]:
    """Execute the missing runs of the folder and store each record as it arrives; if factors
    grow, do the same for each further round.

    Returns how many of these runs ended with each status. The caller locks the folder
    (`folder.writing()`). Raises StudyError when a record cannot be written and TestbedError when
    the testbed fails; records stored before are kept, and another call executes the remaining runs.
    """
    walk = _Walk(folder, testbed, threads, on_progress)
    walk.carry_out(folder.plan())
    while rounds is not None and (plan := rounds.next()) is not None:
        with storage(folder.path):
            number = folder.begin_round(plan)
        if on_round is not None:
            on_round(number, len(folder.missing(plan.runs)))
        walk.carry_out(plan)
    return walk.statuses


@dataclass
class _Walk:
    """The runs in progress: a run counts as waiting until its record is on the disk."""

    folder: Folder
    testbed: Testbed
    threads: int | None
    on_progress: OnProgress | None
    waiting: dict[str, Run] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)

    def carry_out(self, plan: Plan) -> None:
        """Execute the runs of a plan that have no record yet."""
        missing = self.folder.missing(plan.runs)
        self.waiting = {run.id: run for run in missing}
        if missing:
            self.testbed.run(
                plan.with_runs(missing),
                threads=self.threads,
                on_record=self.on_record,
                captures=self.folder.path / CAPTURES,
            )
        if self.waiting:
            first = min(self.waiting)
            raise TestbedError(f"{len(self.waiting)} runs have no record, {first} first")

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
            raise TestbedError(f"unexpected record of run {record.run}")
        with storage(self.folder.path):
            self.folder.write_run(record.run, record.status, line)
        del self.waiting[record.run]
        self.statuses[record.status] += 1


def carry_out(
    folder: Folder,
    testbed: Testbed,
    *,
    threads: int | None,
    on_progress: OnProgress | None,
    on_round: OnRound | None = None,
    machine: Mapping[str, str] | None = None,
) -> Counter[str]:
    """Executes all rounds as one session; the folder records the session's machine, start and
    end."""
    with storage(folder.path):
        folder.begin_session(utc_now(), machine)
    statuses = execute(
        folder,
        testbed,
        threads=threads,
        on_progress=on_progress,
        rounds=rounds_of(folder),
        on_round=on_round,
    )
    with storage(folder.path):
        folder.end_session(utc_now())
    return statuses
