"""One results folder: its content, and the only functions that add to it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from netstudy.errors import ChangedFolderError, StudyError
from netstudy.plan_lines import PLAN_SCHEMA, plan_lines, read_plan
from netstudy.store.environment import host, iso
from netstudy.store.files import TEMPORARY_SUFFIX, sha256, storage, write_atomic
from netstudy.store.invocation import Invocation
from netstudy.store.links import refuse_links
from netstudy.store.lock import LOCK_NAME, is_locked, locked
from netstudy.store.records import Reason, Records, Status
from netstudy.wire import (
    RECORD_SCHEMA,
    EndRecord,
    EngineRecord,
    Plan,
    Run,
    RunRecord,
    Series,
    to_json,
)

if TYPE_CHECKING:
    from netstudy.study import Study

ReadT = TypeVar("ReadT")

STUDY, PLAN, INVOCATION = "study.yaml", "plan.jsonl", "invocation.json"
ROUNDS = "rounds"
"""If a factor grows: the plans of the rounds after the first, `2.jsonl` and so on."""
_OLD_PLAN = "plan.json"
"""The plan of earlier versions, a single JSON object."""
ENVIRONMENT, ENGINE = "environment.json", "engine.json"
RECORDS, DONE = "records", "DONE"
CAPTURES = "captures"
"""Output of the processes of real testbeds, one file per run. The records are made from these
files."""
CAPTURE = ".jsonl.gz"
"""Suffix of a file in the captures folder, after the run's id."""
RECORDING = ".sar"
"""Suffix of a file written by sysstat, after the run's id and the host's name."""
DONE_SCHEMA = "netstudy/done/1"
_HEAD_BYTES = 200
"""Number of bytes at the start of a file that are searched for the name of the file's schema."""
_SCHEMA = re.compile(rb'"schema"\s*:\s*"(netstudy/[^"]*)"')

DERIVED = ("cells.csv", "report.html", "report.md", "figures/")
"""Files derived from the records, which may be rewritten. All others must not change once the
folder is sealed."""
HARDWARE = "hardware"
"""Copies of the profiles."""
OWN_NAMES = frozenset(
    {
        *(STUDY, PLAN, INVOCATION, ROUNDS, ENVIRONMENT, ENGINE, RECORDS, DONE, CAPTURES),
        *(name.rstrip("/") for name in DERIVED),
        *(HARDWARE, LOCK_NAME, "report.pdf"),
    }
)
"""Names that netstudy itself uses in the folder: copies of reference data cannot have them."""


def rename_captures(captures: Path, run: str, aside: str) -> None:
    """Rename the captures of a run, so that the run can be repeated."""
    own = [captures / f"{run}{CAPTURE}", *captures.glob(f"{run}.*{RECORDING}")]
    for path in own:
        is_aside = path.name.count(".") > 2  # a host's name has no dot
        if path.exists() and not is_aside:
            path.rename(path.with_name(f"{aside}{path.name.removeprefix(run)}"))


@dataclass(frozen=True)
class Folder:
    """A results folder. It may be unfinished; `missing` lists the remaining runs."""

    path: Path

    @classmethod
    def at(cls, path: Path, *, without_plan: bool = False) -> Folder | None:
        """The results folder at a path, or None. A link is replaced by its current target.

        Raises StudyError for a results folder without a plan, so that no other folder is used by
        mistake, and for a folder with links in it (`refuse_links`). With `without_plan` such
        folders are returned, so that they can be removed.
        """
        if not (path / PLAN).is_file():
            own_file = _own_file(path)
            if own_file is None:
                return None
            if not without_plan and own_file == _OLD_PLAN:
                raise StudyError(
                    f"{path} is a results folder of another version of netstudy: it holds "
                    f"{own_file}, and this version reads {PLAN} ({PLAN_SCHEMA})"
                )
            if not without_plan:
                raise StudyError(
                    f"{path} is a results folder (it holds {own_file}), but its {PLAN} is missing, "
                    "and nothing can be read without it. Put the file back, name another folder, "
                    f"or remove this one with: netstudy clean {path}"
                )
        found = cls(path.parent / path.readlink() if path.is_symlink() else path)
        if not without_plan:
            found.refuse_links()
        return found

    def refuse_links(self) -> None:
        """Raise StudyError if one of netstudy's own files in the folder is a link, a pipe or a
        device."""
        refuse_links(self.path, OWN_NAMES)

    def study(self) -> Study:
        """The study as it was run: the stored text, with this run's overrides."""
        return self.invocation().applied_to(self._written)

    @cached_property
    def _written(self) -> Study:
        """The study without the run's overrides. Cached: the file does not change after the folder
        is created, and parsing it takes 0.2 s."""
        from netstudy.study import load

        return load(self.path / STUDY, was_carried_out=True)

    def reference_problems(self) -> list[str]:
        """Problems of the reference data in the folder. A study that was run to its end has
        problems only if an older version ran it, or if the data changed since."""
        from netstudy.study.checks.outcome import reference_problems

        return [str(problem) for problem in reference_problems(self._written)]

    def plan(self) -> Plan:
        """The runs of all rounds so far, in order, without repetitions."""
        names = (PLAN, *self._further_rounds())
        if names not in self._plans:
            self._plans[names] = joined([self._parsed(name, _plan_of) for name in names])
        return self._plans[names]

    @cached_property
    def _plans(self) -> dict[tuple[str, ...], Plan]:
        """The files of the rounds -> the plan of all of them, since reading a plan of 100,000 runs
        takes a second. A plan that was written does not change."""
        return {}

    def rounds(self) -> int:
        """Number of rounds that have a plan: more than one only if a factor grows."""
        return 1 + len(self._further_rounds())

    def begin_round(self, plan: Plan) -> int:
        """Store the plan of the next round and return its number. Earlier rounds stay as they
        are."""
        number = self.rounds() + 1
        (self.path / ROUNDS).mkdir(exist_ok=True)
        self._write(f"{ROUNDS}/{number}.jsonl", plan_lines(plan))
        return number

    def invocation(self) -> Invocation:
        """The arguments of the run."""
        return self._parsed(INVOCATION, Invocation.model_validate_json)

    def environment(self) -> dict[str, Any]:
        """The machine and software of the first session; later sessions are under `resumed`."""
        return self._json(ENVIRONMENT)

    def engine(self) -> EngineRecord | None:
        """The engine that wrote the records; None if no engine was started yet."""
        if not (self.path / ENGINE).exists():
            return None
        return self._parsed(ENGINE, EngineRecord.model_validate_json)

    def records(self, runs: Iterable[Run] | None = None) -> list[RunRecord]:
        """The records of these runs, or of all runs, in the plan's order; missing records are left
        out. They do not contain the time series, which `series` reads for one run at a time: the
        series of 100 runs of seven minutes take more than a gigabyte of memory (decision 0030).
        """
        chosen = self.plan().runs if runs is None else runs
        return [record for _, record in self.each_record(chosen)]

    def each_record(self, runs: Iterable[Run] | None = None) -> Iterator[tuple[Run, RunRecord]]:
        """These runs with their records, as `records` returns them, but with only one record in
        memory at a time."""
        records = self._fresh_records()
        for run in self.plan().runs if runs is None else runs:
            if records.has(run.id):
                yield run, self._record(run.id)

    def record(self, run: str) -> RunRecord | None:
        """The record of a run without its series, as `records` has it; None: the run has none."""
        records = self._records if self._records.has(run) else self._fresh_records()
        return self._record(run) if records.has(run) else None

    def series(self, run: str) -> tuple[Series, ...]:
        """The time series of a run. Raises StudyError if the run has no record."""
        return self._whole_record(run).series

    def record_text(self, run: str) -> bytes:
        """The line of a run's record, exactly as the engine wrote it. Raises StudyError if it has
        none, or if it is damaged."""
        records = self._records if self._records.has(run) else self._fresh_records()
        text = records.text(run)
        if text is not None:
            return text
        if not records.has(run):
            raise StudyError(f"{self.path} has no record of run {run}")
        raise StudyError(
            f"the record of run {run} in {self.path / RECORDS / (records.segment(run) or '')} is "
            f"damaged; repeat the run with: netstudy run {self.path} --resume"
        )

    def record_texts(self, runs: Iterable[Run]) -> Iterator[bytes]:
        """The text of the records of these runs, in this order; missing records are left out."""
        records = self._fresh_records()
        return (self.record_text(run.id) for run in runs if records.has(run.id))

    def set_aside_texts(self, run: str) -> list[bytes]:
        """The lines of a run's earlier records, which were set aside, oldest first."""
        return self._fresh_records().set_aside_texts(run)

    def stream(self) -> Iterator[bytes]:
        """The lines that an uninterrupted engine would have written: its own, the records in the
        order of the plan, and the end."""
        runs = self.plan().runs
        yield self._read(ENGINE)
        yield from self.record_texts(runs)
        yield to_json(EndRecord(runs=len(runs))).encode() + b"\n"

    def missing(self, runs: Iterable[Run] | None = None) -> list[Run]:
        """The runs without a record among `runs`, or among all runs, in the plan's order. If a
        factor grows, a further round can follow only when no run is missing (`execute.Rounds`).

        A failed or invalid run has a record, so it is not missing: the simulator would give the
        same outcome again.
        """
        records = self._fresh_records()
        chosen = self.plan().runs if runs is None else runs
        return [run for run in chosen if not records.has(run.id)]

    def ended_as(self, status: Status) -> list[Run]:
        """The runs whose record has this status, in the plan's order; no record is read."""
        records = self._fresh_records()
        return [run for run in self.plan().runs if records.status(run.id) == status]

    def statuses(self) -> Counter[Status]:
        """How many runs ended with each status; no record is read."""
        records = self._fresh_records()
        found = (records.status(run.id) for run in self.plan().runs)
        return Counter(status for status in found if status is not None)

    def set_aside(self, records: Sequence[RunRecord]) -> None:
        """Set the records of these runs aside, so that the runs are missing again. The folder is
        then no longer done."""
        if records:
            self._reopen()
        for record in records:
            assert record.status != "ok", "a valid run is not repeated"
            self._set_aside(record.run, record.status)

    def damaged_runs(self) -> list[str]:
        """Ids of runs whose record is damaged or, in a sealed folder, in a segment that is gone or
        differs from DONE. They can be repeated."""
        records = self._fresh_records()
        if not self.is_done():
            damaged = set(records.damaged())
            return [run.id for run in self.plan().runs if run.id in damaged]
        changed = {None, *self.changed_since_sealed()}
        if len(changed) == 1:
            return []
        of = {run.id: records.segment(run.id) for run in self.plan().runs}
        return [run for run, name in of.items() if (name and f"{RECORDS}/{name}") in changed]

    def set_damaged_aside(self) -> list[str]:
        """Set the records of damaged runs aside, so that the runs are missing, and return the ids
        of these runs. Raises StudyError if other files changed after the folder was sealed."""
        damaged = self.damaged_runs()
        if self.is_done() and (changed := self.changed_since_sealed()):
            if not all(map(_can_be_repeated, changed)):
                self.refuse_changed()
            self._reopen()
        for run in damaged:
            if self._records.has(run):
                self._set_aside(run, "damaged")
        return damaged

    def refuse_changed(self) -> None:
        """Raise StudyError if a file changed after the folder was sealed."""
        changed = self.changed_since_sealed()
        if not changed:
            return
        advice = (
            f"repeat the runs with: netstudy run {self.path} --resume"
            if all(map(_can_be_repeated, changed))
            else "restore the files from a copy, or run the study anew"
        )
        raise ChangedFolderError(
            f"{self.path} changed after it was sealed: {', '.join(changed)} changed or went "
            f"missing, so no result from it is reliable; {advice}"
        )

    def _reopen(self) -> None:
        """Remove the seal: the folder is no longer done."""
        (self.path / DONE).unlink(missing_ok=True)

    def _set_aside(self, run: str, why: Reason) -> None:
        """Set a run's record and captures aside, so that the run is missing."""
        number = self._records.set_aside_as(why, run) + 1
        rename_captures(self.path / CAPTURES, run, f"{run}.{why}-{number}")
        self._records.set_aside(run, why)

    def set_aside_as(self, reason: Reason) -> int:
        """Number of records that were set aside for this reason."""
        return self._fresh_records().set_aside_as(reason)

    def is_done(self) -> bool:
        """Whether all runs are complete and the folder was sealed."""
        return (self.path / DONE).exists()

    def is_carried_out(self) -> bool:
        """Whether all rounds came to their end. A folder of a real testbed with failed runs is not
        sealed, since these runs can be repeated, but the other runs can be read."""
        if self.is_done():
            return True
        try:
            session = self._session(self.environment())
        except StudyError:
            return False  # no session began
        return session["ended_utc"] is not None and not self.missing()

    def is_running(self) -> bool:
        """Whether a process is writing to the folder now."""
        return is_locked(self.path)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the folder for one writer, and remove partial files of an interrupted writer. At the
        end, all records are on the disk. Raises StudyError, before anything is written, if the
        folder has links in it (`refuse_links`)."""
        self.refuse_links()
        with locked(self.path):
            with storage(self.path):
                for leftover in self.leftovers():
                    leftover.unlink(missing_ok=True)
            try:
                yield
            finally:
                with storage(self.path):
                    self._records.close()

    def leftovers(self) -> list[Path]:
        """Partial files of an interrupted writer."""
        return sorted(self.path.rglob(f".*{TEMPORARY_SUFFIX}"))

    def begin_session(self, now: datetime, machine: Mapping[str, str] | None = None) -> None:
        """Record the start of a session and its machine; `machine` gives further facts about the
        machine."""
        session = {**host(), **(machine or {}), "started_utc": iso(now), "ended_utc": None}
        if (self.path / ENVIRONMENT).exists():
            first = self.environment()
            self._write_json(ENVIRONMENT, {**first, "resumed": [*first["resumed"], session]})
        else:
            self._write_json(ENVIRONMENT, {**session, "engine": None, "resumed": []})

    def end_session(self, now: datetime) -> None:
        """Flush the records to the disk, and record the engine and the end of the session; the end
        of an interrupted session stays empty."""
        self._records.close()
        environment, engine = self.environment(), self.engine()
        self._session(environment)["ended_utc"] = iso(now)
        environment["engine"] = engine.version if engine else None
        self._write_json(ENVIRONMENT, environment)

    @staticmethod
    def _session(environment: dict[str, Any]) -> dict[str, Any]:
        """The last session."""
        resumed: list[dict[str, Any]] = environment["resumed"]
        return resumed[-1] if resumed else environment

    def write_engine(self, line: bytes) -> None:
        """Store the engine's first record. Raises StudyError if the folder's earlier records are
        from another engine."""
        path = self.path / ENGINE
        if not path.exists():
            self._write(ENGINE, line)
        elif path.read_bytes() != line:
            began, now = self.engine(), EngineRecord.model_validate_json(line)
            raise StudyError(
                f"{self.path} was begun with engine {began and began.version} on testbed "
                f"{began and began.testbed}; this is engine {now.version} on {now.testbed}, whose "
                "records may differ. Use the first engine, or start a new run without --resume"
            )

    def write_run(self, run: str, status: Status, line: bytes) -> None:
        """Store one run's record exactly as the engine wrote it: it survives the end of this
        process, and within a second a power cut. Raises StudyError if the run has a record."""
        self._records.write(run, status, line)

    def seal(self, now: datetime) -> None:
        """Write DONE, with the hash, size and time of each of the folder's own files. This is the
        last step, and it is repeated after a new report."""
        self._records.close()
        files = {name: _sealed(self.path / name) for name in self._own_files()}
        self._write_json(DONE, {"schema": DONE_SCHEMA, "sealed_utc": iso(now), "files": files})
        (self.path / LOCK_NAME).unlink(missing_ok=True)

    def clear_lock(self) -> None:
        """Remove the lock file that a process left if it was killed after its last step."""
        if not is_locked(self.path):
            (self.path / LOCK_NAME).unlink(missing_ok=True)

    def changed_since_sealed(self, *, by_date: bool = False) -> list[str]:
        """Inputs and records that are missing or differ from their entry in DONE; usually none.

        With `by_date`, only files that are not older than DONE are read, which is fast enough for a
        list of folders, but overlooks a changed file whose date was set back.
        """
        done = self._json(DONE)["files"]
        since_ns = (self.path / DONE).stat().st_mtime_ns if by_date else None
        kept = [name for name in done if not name.startswith(DERIVED)]
        return [name for name in kept if not self._matches(name, done[name]["sha256"], since_ns)]

    def derived_changed(self) -> list[str]:
        """Derived files (report, cells.csv, figures) that are missing or changed after the folder
        was sealed. A file with the sealed size and time is not read."""
        done = self._json(DONE)["files"]
        derived = [name for name in done if name.startswith(DERIVED)]
        return [name for name in derived if not _is_as_sealed(self.path / name, done[name])]

    def _matches(self, name: str, digest: str, since_ns: int | None) -> bool:
        path = self.path / name
        if not path.is_file():
            return False
        is_older = since_ns is not None and path.stat().st_mtime_ns < since_ns
        return is_older or sha256(path) == digest

    def _own_files(self) -> list[str]:
        """Files that netstudy wrote, and the copies of reference data. The user's other files may
        change."""
        files = (path for path in self.path.rglob("*") if path.is_file())
        inside = (path.relative_to(self.path) for path in files)
        copies = self._reference_data()
        return sorted(
            str(path)
            for path in inside
            if path.name not in (DONE, LOCK_NAME) and (path.parts[0] in OWN_NAMES or path in copies)
        )

    def _reference_data(self) -> set[Path]:
        """Paths of the copies of reference data in the folder."""
        from netstudy.study import load

        written = load(self.path / STUDY, was_carried_out=True)
        applied = self.invocation().applied_to(written)
        return {Path(one.file) for study in (written, applied) for one in study.reference}

    def _further_rounds(self) -> list[str]:
        """Names of the plans of the second and later rounds."""
        further = len(list((self.path / ROUNDS).glob("*.jsonl")))
        return [f"{ROUNDS}/{number}.jsonl" for number in range(2, further + 2)]

    @cached_property
    def _records(self) -> Records:
        return Records(self.path / RECORDS, self.path)

    def _fresh_records(self) -> Records:
        """The records, with all that was appended until now."""
        try:
            self._records.refresh()
        except OSError as error:
            raise StudyError(f"cannot read {error.filename}: {error.strerror}") from error
        return self._records

    def _record(self, run: str) -> RunRecord:
        record = self._whole_record(run)
        return record.model_copy(update={"series": ()}) if record.series else record

    def _whole_record(self, run: str) -> RunRecord:
        text = self.record_text(run)
        try:
            return RunRecord.model_validate_json(text)
        except ValidationError as error:
            raise StudyError(
                f"the record of run {run} in {self.path} is not of this version of netstudy"
            ) from error

    def _parsed(self, name: str, parse: Callable[[bytes], ReadT]) -> ReadT:
        try:
            return parse(self._read(name))
        except ValueError as error:
            raise StudyError(self._not_whole(name)) from error

    def _json(self, name: str) -> dict[str, Any]:
        try:
            read = json.loads(self._read(name))
        except ValueError as error:
            raise StudyError(self._not_whole(name)) from error
        if not isinstance(read, dict):
            raise StudyError(self._not_whole(name))
        return read

    def _not_whole(self, name: str) -> str:
        written = _SCHEMA.search(self._read(name)[:_HEAD_BYTES])
        known = (PLAN_SCHEMA, RECORD_SCHEMA, DONE_SCHEMA)
        if written and (schema := written[1].decode()) not in known:
            same = [one for one in known if one.rpartition("/")[0] == schema.rpartition("/")[0]]
            reads = f"; this one reads {same[0]}" if same else ""
            return f"{self.path / name} is {schema}, of another version of netstudy{reads}"
        return f"{self.path / name} is damaged"

    def _read(self, name: str) -> bytes:
        path = self.path / name
        try:
            return path.read_bytes()
        except OSError as error:
            message = f"cannot read {path}: {error.strerror}. Is {self.path} a results folder?"
            raise StudyError(message) from error

    def _write_json(self, name: str, value: dict[str, Any]) -> None:
        self._write(name, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())

    def _write(self, name: str, data: bytes | Iterable[bytes]) -> None:
        write_atomic(self.path / name, data, within=self.path)


def _sealed(path: Path) -> dict[str, str | int]:
    """The entry that DONE has for a file."""
    digest, found = sha256(path), path.stat()
    return {"sha256": digest, "bytes": found.st_size, "modified_ns": found.st_mtime_ns}


def _is_as_sealed(path: Path, sealed: Mapping[str, Any]) -> bool:
    """Whether a file agrees with DONE; its content is read only if its date differs."""
    if not path.is_file():
        return False
    found = path.stat()
    if found.st_size != sealed["bytes"]:
        return False
    return bool(found.st_mtime_ns == sealed["modified_ns"]) or sha256(path) == sealed["sha256"]


def _can_be_repeated(name: str) -> bool:
    """Whether repeating runs makes the file again."""
    return name.startswith(f"{RECORDS}/")


def _own_file(path: Path) -> str | None:
    """The name of a file that shows that this is a results folder; None if there is no such
    file."""
    written = (_OLD_PLAN, INVOCATION, ENVIRONMENT, ENGINE, DONE)
    return next((name for name in written if (path / name).exists()), None)


def _plan_of(text: bytes) -> Plan:
    return read_plan(text.splitlines(keepends=True))


def joined(plans: Sequence[Plan]) -> Plan:
    """The plan with the runs of all rounds. A run that is in several rounds belongs to the test
    cases of all of them."""
    if len(plans) == 1:
        return plans[0]
    runs: dict[str, Run] = {}
    for plan in plans:
        for run in plan.runs:
            known = runs.setdefault(run.id, run)
            cases = tuple(dict.fromkeys((*known.cases, *run.cases)))
            if cases != known.cases:
                runs[run.id] = replace(known, cases=cases)
    return plans[0].with_runs(runs.values())
