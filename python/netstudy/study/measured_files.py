"""Finds the files of a study whose runs were measured elsewhere, and reads them.

Every measurement in a file is a run. Runs at the same levels are repetitions, in the order of time.
"""

from __future__ import annotations

import glob
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from netstudy import wire
from netstudy.documents.problems import Problem, raise_problems
from netstudy.errors import StudyError
from netstudy.formats import content_of
from netstudy.formats.measured import FormatError, HostReadings, Measurement
from netstudy.study.levels import level_text
from netstudy.study.measured import MEASURED, OF_THE_RUN, PLACEHOLDER, MeasuredRuns
from netstudy.study.model import Study
from netstudy.study.reference_files import level_of
from netstudy.wire import Level, MeasuredFile

_ANY = "*"


@dataclass(frozen=True)
class HostFile:
    """A file that was recorded on a host during a run, and its content."""

    file: MeasuredFile
    readings: HostReadings


@dataclass(frozen=True)
class FoundRun:
    """A run that was measured elsewhere."""

    levels: Mapping[str, Level]
    """Factor -> level of the study."""
    block: str | None
    """The block, if the study names it."""
    file: MeasuredFile
    measurement: Measurement
    """With an error if the file could not be read."""
    hosts: Mapping[str, tuple[HostFile, ...]]
    """Host -> files that were recorded there."""

    @property
    def order(self) -> tuple[object, ...]:
        """Sort key: the time of the measurement; without it, numbers in the path."""
        started = self.measurement.started_s
        return started is None, started or 0.0, _natural(self.file.path), self.file.test


def found_runs(study: Study) -> tuple[FoundRun, ...]:
    """The runs of a study's files, in the order of time.

    Raises StudyError if a pattern matches no file, or if a path has a text that is no level.
    """
    runs = study.file.measured
    assert runs is not None, "the study has files"
    return tuple(sorted(_Files(study, runs).read(), key=lambda one: one.order))


def read_again(folder: Path, levels: Mapping[str, Level], work: wire.Measured) -> FoundRun:
    """A run of a plan, from its files.

    Raises StudyError for a file that has changed since the plan was made, and OSError.
    """
    own, *others = work.files
    (measurement,) = [
        one for file, one in _measurements(folder, own.path) if _is_unchanged(folder, own, file)
    ]
    hosts: dict[str, list[HostFile]] = {}
    for file in others:
        assert file.node is not None, "all files but the first are of hosts"
        found = _host_file(folder, file.node, file.path)
        _is_unchanged(folder, file, found.file)
        hosts.setdefault(file.node, []).append(found)
    files = {host: tuple(found) for host, found in hosts.items()}
    return FoundRun(levels, work.block, own, measurement, files)


def _is_unchanged(folder: Path, planned: MeasuredFile, there: MeasuredFile) -> bool:
    """True if it is the planned measurement. Raises StudyError if the file is another one."""
    if planned.sha256 != there.sha256:
        raise StudyError("has changed since the plan was made", str(folder / planned.path))
    return planned.test == there.test


def matching(folder: Path, pattern: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The files that a pattern matches, relative to a folder, in natural order, each with the texts
    for the names in braces."""
    parts = re.split(r"(\{[^{}]*\}|\*)", pattern)
    wild = "".join(_ANY if one.startswith(("{", _ANY)) else glob.escape(one) for one in parts)
    wanted = re.compile("".join(_expressions(parts)))
    # Path.glob knows no absolute patterns.
    for path in sorted(glob.glob(wild, root_dir=folder), key=_natural):  # noqa: PTH207
        if (folder / path).is_file() and (match := wanted.fullmatch(path)):
            yield path, match.groupdict()


def host_paths(folder: Path, pattern: str, run: str, names: Mapping[str, str]) -> list[str]:
    """The files of a host for the run in the file `run`, relative to the folder. `names` has the
    texts for the names in braces."""
    path = PurePath(run)
    known = {**names, **dict(zip(OF_THE_RUN, (str(path.parent), path.stem), strict=True))}
    text = PLACEHOLDER.sub(lambda one: known[one[1]], pattern)
    return [path for path, _ in matching(folder, text)]


def _expressions(parts: Iterable[str]) -> Iterator[str]:
    """The regular expression of each part of a pattern. A name that occurs again has the same
    text."""
    seen: set[str] = set()
    for one in parts:
        if one == _ANY:
            yield "[^/]*"
        elif one.startswith("{"):
            name = one[1:-1]
            yield f"(?P={name})" if name in seen else f"(?P<{name}>[^/]+?)"
            seen.add(name)
        else:
            yield re.escape(one)


def _natural(path: str) -> tuple[tuple[int, str], ...]:
    """Sort key that puts run-2 before run-10."""
    return tuple(
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", path)
    )


class _Files:
    """Reads the files of a study, and collects its problems."""

    def __init__(self, study: Study, runs: MeasuredRuns) -> None:
        self.study = study
        self.runs = runs
        self.problems: list[Problem] = []

    def read(self) -> list[FoundRun]:
        """All runs. Raises StudyError."""
        found = [
            run
            for index, number, pattern, at in self.runs.patterns
            for run in self._of_pattern(index, number, pattern, at)
        ]
        raise_problems(self.problems)
        return found

    def _of_pattern(
        self, index: int, number: int, pattern: str, at: Mapping[str, Level]
    ) -> Iterator[FoundRun]:
        place = (MEASURED, "files", index, "files", number)
        paths = [*matching(self.study.folder, pattern)]
        if not paths:
            self.problems.append(
                self.study.document.problem(place, f"{self.study.folder / pattern}: no such file")
            )
        for path, names in paths:
            try:
                levels = self._levels({**names, **{name: level_text(at[name]) for name in at}})
            except ValueError as error:
                self.problems.append(self.study.document.problem(place, f"{path}: {error}"))
                continue
            block = None if self.runs.block is None else names.get(self.runs.block)
            hosts = {host: self._of_host(host, path, names) for host in self.runs.hosts}
            for file, measurement in _measurements(self.study.folder, path):
                yield FoundRun(levels, block, file, measurement, hosts)

    def _levels(self, texts: Mapping[str, str]) -> dict[str, Level]:
        """The levels of a run, in the order of the study. Raises ValueError for a text that is no
        level."""
        found = {}
        for name, factor in self.study.factors.items():
            given = texts.get(name)
            found[name] = factor.names[0] if given is None else level_of(factor, given)
        return found

    def _of_host(self, host: str, run: str, names: Mapping[str, str]) -> tuple[HostFile, ...]:
        """The files of a host for the run in the file `run`."""
        found: list[HostFile] = []
        for number, pattern in enumerate(self.runs.hosts[host]):
            paths = host_paths(self.study.folder, pattern, run, names)
            try:
                if not paths:
                    raise FormatError(f"no file {pattern} for the run in {run}")
                found += [_host_file(self.study.folder, host, path) for path in paths]
            except FormatError as error:
                place = (MEASURED, "hosts", host, number)
                self.problems.append(self.study.document.problem(place, str(error)))
        return tuple(found)


def _host_file(folder: Path, host: str, path: str) -> HostFile:
    """A file of a host. Raises FormatError."""
    data = (folder / path).read_bytes()
    try:
        form, content = content_of(data)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    if not isinstance(content, HostReadings):
        raise FormatError(f"{path}: {form.title} is of a run, not of a host")
    return HostFile(_described(data, path, form.name, host), content)


def _measurements(folder: Path, path: str) -> Iterator[tuple[MeasuredFile, Measurement]]:
    """The runs in a file; a file that cannot be read is a failed run."""
    data = (folder / path).read_bytes()
    name = "not recognised"
    tests: tuple[Measurement, ...] = ()
    try:
        form, content = content_of(data)
        name = form.name
        if isinstance(content, HostReadings):
            error = f"{form.title} is of a host; name it under measured.hosts"
        else:
            tests, error = content, "has no measurement"
    except FormatError as wrong:
        error = str(wrong)
    file = _described(data, path, name)
    for number, one in enumerate(tests or (Measurement(name, error=error),)):
        yield file.model_copy(update={"test": number}), one


def _described(data: bytes, path: str, form: str, node: str | None = None) -> MeasuredFile:
    digest = hashlib.sha256(data).hexdigest()
    return MeasuredFile(path=path, sha256=digest, bytes=len(data), format=form, node=node)
