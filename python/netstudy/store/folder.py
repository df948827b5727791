"""One results folder: its content, and the only functions that add to it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from netstudy.errors import ChangedFolderError, StudyError
from netstudy.store.environment import host, iso
from netstudy.store.files import TEMPORARY_SUFFIX, sha256, storage, write_atomic
from netstudy.store.invocation import Invocation
from netstudy.store.links import refuse_links
from netstudy.store.lock import LOCK_NAME, is_locked, locked
from netstudy.wire import (
    PLAN_SCHEMA,
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

STUDY, PLAN, INVOCATION = "study.yaml", "plan.json", "invocation.json"
ROUNDS = "rounds"
"""If a factor grows: the plans of the rounds after the first, `2.json` and so on."""
ENVIRONMENT, ENGINE, RUNS = "environment.json", "engine.json", "runs"
RECORDS, DONE = "records.jsonl", "DONE"
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
        *(STUDY, PLAN, INVOCATION, ROUNDS, ENVIRONMENT, ENGINE, RUNS, RECORDS, DONE, CAPTURES),
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
        first = self._parsed(PLAN, Plan.model_validate_json)
        further = [self._parsed(name, Plan.model_validate_json) for name in self._further_rounds()]
        return joined([first, *further]) if further else first

    def rounds(self) -> int:
        """Number of rounds that have a plan: more than one only if a factor grows."""
        return 1 + len(self._further_rounds())

    def begin_round(self, plan: Plan) -> int:
        """Store the plan of the next round and return its number. Earlier rounds stay as they
        are."""
        number = self.rounds() + 1
        (self.path / ROUNDS).mkdir(exist_ok=True)
        self._write(f"{ROUNDS}/{number}.json", to_json(plan).encode() + b"\n")
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
        series of 100 runs of seven minutes take more than a gigabyte of memory (decision 0006).
        """
        chosen = self.plan().runs if runs is None else runs
        return [record for _, record in self.each_record(chosen)]

    def each_record(self, runs: Iterable[Run] | None = None) -> Iterator[tuple[Run, RunRecord]]:
        """These runs with their records, as `records` returns them, but with only one record in
        memory at a time."""
        for run in self.plan().runs if runs is None else runs:
            if self._has(run):
                yield run, self._record(run.id)

    def record(self, run: str) -> RunRecord | None:
        """The record of a run without its series, as `records` has it; None: the run has none."""
        return self._record(run) if self._run_path(run).exists() else None

    def series(self, run: str) -> tuple[Series, ...]:
        """The time series of a run. Raises StudyError if the run has no record."""
        return self._parsed(f"{RUNS}/{run}.json", RunRecord.model_validate_json).series

    def record_texts(self, runs: Iterable[Run]) -> Iterator[bytes]:
        """The text of the records of these runs, in this order; missing records are left out."""
        return (self._read(f"{RUNS}/{run.id}.json") for run in runs if self._has(run))

    def missing(self, runs: Iterable[Run] | None = None) -> list[Run]:
        """The runs without a record among `runs`, or among all runs, in the plan's order. If a
        factor grows, a further round can follow only when no run is missing (`execute.Rounds`).

        A failed or invalid run has a record, so it is not missing: the simulator would give the
        same outcome again.
        """
        return [run for run in (self.plan().runs if runs is None else runs) if not self._has(run)]

    def set_aside(self, records: Sequence[RunRecord]) -> None:
        """Rename the files of these runs, so that the runs are missing again. The folder is then no
        longer done."""
        if records:
            self._reopen()
        for record in records:
            self._rename_run(record.run, record.status)

    def damaged_runs(self) -> list[str]:
        """Ids of runs whose record is unreadable or, in a sealed folder, differs from DONE or is
        gone. They can be repeated."""
        if self.is_done():
            changed = set(self.changed_since_sealed())
            return [run.id for run in self.plan().runs if f"{RUNS}/{run.id}.json" in changed]
        there = [run for run in self.plan().runs if self._has(run)]
        return [run.id for run in there if not self._is_readable(run)]

    def set_damaged_aside(self) -> list[str]:
        """Rename the remaining files of damaged runs, so that the runs are missing, and return the
        ids of these runs. Raises StudyError if other files changed after the folder was sealed."""
        damaged = self.damaged_runs()
        if self.is_done() and (changed := self.changed_since_sealed()):
            if not all(map(_can_be_repeated, changed)):
                self.refuse_changed()
            self._reopen()
        for run in damaged:
            if self._run_path(run).exists():
                self._rename_run(run, "damaged")
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
        for of_all in (DONE, RECORDS):
            (self.path / of_all).unlink(missing_ok=True)

    def _rename_run(self, run: str, why: str) -> None:
        """Rename a run's files, so that the run is missing."""
        path = self._run_path(run)
        taken = len(list(path.parent.glob(f"{run}.{why}-*.json")))
        aside = f"{run}.{why}-{taken + 1}"
        rename_captures(self.path / CAPTURES, run, aside)
        path.rename(path.with_name(f"{aside}.json"))

    def _is_readable(self, run: Run) -> bool:
        try:
            self._record(run.id)
        except StudyError:
            return False
        return True

    def set_aside_as(self, status: str) -> int:
        """Number of records with this status that were set aside."""
        return len(list((self.path / RUNS).glob(f"*.{status}-*.json")))

    def is_done(self) -> bool:
        """Whether all runs are complete and the folder was sealed."""
        return (self.path / DONE).exists()

    def is_carried_out(self) -> bool:
        """Whether every run has a record. A folder of a real testbed with failed runs is not
        sealed, since these runs can be repeated, but the other runs can be read."""
        return self.is_done() or (self.path / RECORDS).exists()

    def is_running(self) -> bool:
        """Whether a process is writing to the folder now."""
        return is_locked(self.path)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the folder for one writer, remove partial files of an interrupted writer, and make
        the folder of the records if it is missing. Raises StudyError, before anything is written,
        if the folder has links in it (`refuse_links`)."""
        self.refuse_links()
        with locked(self.path):
            with storage(self.path):
                (self.path / RUNS).mkdir(exist_ok=True)
                for leftover in self.leftovers():
                    leftover.unlink(missing_ok=True)
            yield

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
        """Record the engine and the end of the session; the end of an interrupted session stays
        empty."""
        environment, engine = self.environment(), self.engine()
        session = environment["resumed"][-1] if environment["resumed"] else environment
        session["ended_utc"] = iso(now)
        environment["engine"] = engine.version if engine else None
        self._write_json(ENVIRONMENT, environment)

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

    def write_run(self, run: str, line: bytes) -> None:
        """Store one run's record exactly as the engine wrote it."""
        path = self._run_path(run)
        if path.exists():
            raise StudyError(f"{path} exists already: a record is never overwritten")
        self._write(f"{RUNS}/{run}.json", line)

    def write_records(self) -> None:
        """Write records.jsonl: the stream that an uninterrupted engine would have written."""
        runs = self.plan().runs
        lines = (self._run_path(run.id).read_bytes() for run in runs)
        end = to_json(EndRecord(runs=len(runs))).encode() + b"\n"
        self._write(RECORDS, chain([self._read(ENGINE)], lines, [end]))

    def seal(self, now: datetime) -> None:
        """Write DONE, with the hash, size and time of each of the folder's own files. This is the
        last step, and it is repeated after a new report."""
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
        further = len(list((self.path / ROUNDS).glob("*.json")))
        return [f"{ROUNDS}/{number}.json" for number in range(2, further + 2)]

    def _run_path(self, run: str) -> Path:
        return self.path / RUNS / f"{run}.json"

    def _has(self, run: Run) -> bool:
        return self._run_path(run.id).exists()

    def _record(self, run: str) -> RunRecord:
        def parse(text: bytes) -> RunRecord:
            record = RunRecord.model_validate_json(text)
            return record.model_copy(update={"series": ()}) if record.series else record

        try:
            return self._parsed(f"{RUNS}/{run}.json", parse)
        except StudyError as error:
            advice = f"netstudy run {self.path} --resume"
            raise StudyError(f"{error}; repeat the run with: {advice}") from error

    def _parsed(self, name: str, parse: Callable[[bytes], ReadT]) -> ReadT:
        try:
            return parse(self._read(name))
        except ValidationError as error:
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
    return name == RECORDS or name.startswith(f"{RUNS}/")


def _own_file(path: Path) -> str | None:
    """The name of a file that shows that this is a results folder; None if there is no such
    file."""
    written = (INVOCATION, ENVIRONMENT, ENGINE, RECORDS, DONE)
    return next((name for name in written if (path / name).exists()), None)


def joined(plans: Sequence[Plan]) -> Plan:
    """The plan with the runs of all rounds. A run that is in several rounds belongs to the test
    cases of all of them."""
    runs: dict[str, Run] = {}
    for plan in plans:
        for run in plan.runs:
            known = runs.setdefault(run.id, run)
            cases = tuple(dict.fromkeys((*known.cases, *run.cases)))
            if cases != known.cases:
                runs[run.id] = known.model_copy(update={"cases": cases})
    return plans[0].model_copy(update={"runs": tuple(runs.values())})
