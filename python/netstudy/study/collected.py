"""Collects files of measurements that a user names, for a new study of them: which of them can be
read, at which levels, and which are left out and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netstudy.documents.problems import listed
from netstudy.errors import StudyError
from netstudy.formats import read_file
from netstudy.formats.measured import FormatError, HostReadings, Measurement
from netstudy.study.measured import OF_THE_RUN, PLACEHOLDER, REPLICATE
from netstudy.study.measured_files import matching

CONFIGURATION: Final = "configuration"
"""Name of the factor whose levels are given with their files."""


@dataclass(frozen=True)
class Group:
    """Files that a user names together."""

    pattern: str
    """Relative to the folder from which the user names it, or absolute."""
    at: Mapping[str, str]
    """Factor -> level."""


@dataclass(frozen=True)
class Collected:
    """A file with measurements."""

    group: Group
    path: str
    names: Mapping[str, str]
    """Name in braces in the pattern -> the text in the path."""
    format: str
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True)
class LeftOut:
    """A file that is not used."""

    path: str
    reason: str


@dataclass(frozen=True)
class Collection:
    """The files of a new study."""

    folder: Path
    groups: tuple[Group, ...]
    files: tuple[Collected, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def factors(self) -> dict[str, list[str]]:
        """Factor -> its levels in order of first appearance; neither the number of a repetition nor
        the block is a factor."""
        found: dict[str, dict[str, None]] = {}
        for one in self.files:
            for name, text in {**one.group.at, **one.names}.items():
                if name != REPLICATE:
                    found.setdefault(name, {})[text] = None
        return {name: list(texts) for name, texts in found.items()}

    def is_whole(self, group: Group) -> bool:
        """True if every file that the group's pattern matches is used."""
        used = {one.path for one in self.files if one.group == group}
        return used == {path for path, _ in matching(self.folder, group.pattern)}


def groups_of(words: Sequence[str], pattern: str | None) -> tuple[Group, ...]:
    """The groups that `LEVEL=FILES…` and `--pattern` name. Raises StudyError."""
    if pattern is not None:
        if words:
            raise StudyError("name files by LEVEL=FILES or by --pattern, not by both")
        if not set(PLACEHOLDER.findall(pattern)) - {REPLICATE}:
            raise StudyError(
                "names no factor; write a name in braces in place of the level in the path, as in "
                "'lab/{driver}/run-{replicate}.json'",
                "--pattern",
            )
        return (Group(pattern, {}),)
    found: list[Group] = []
    level: str | None = None
    for word in words:
        before, sign, after = word.partition("=")
        if sign and before and "/" not in before:
            level, word = before, after
        if level is None:
            raise StudyError(f"{word}: write the level before its files, as in old=lab/old-*.json")
        if word:
            found.append(Group(word, {CONFIGURATION: level}))
    if not found:
        raise StudyError("name files, as in old=lab/old-*.json new=lab/new-*.json, or --pattern")
    return tuple(found)


def collect(folder: Path, groups: Iterable[Group]) -> Collection:
    """Read the files of the groups. Raises StudyError if a group matches no file, and OSError."""
    groups = tuple(groups)
    files: list[Collected] = []
    left_out: list[LeftOut] = []
    for group in groups:
        paths = [*matching(folder, group.pattern)]
        if not paths:
            raise StudyError(f"no file matches {group.pattern}")
        for path, names in paths:
            found = _read(folder, group, path, names)
            (files if isinstance(found, Collected) else left_out).append(found)  # type: ignore[arg-type]
    return Collection(folder, groups, tuple(files), tuple(left_out))


def _read(folder: Path, group: Group, path: str, names: Mapping[str, str]) -> Collected | LeftOut:
    try:
        form, content = read_file(folder / path)
    except FormatError as error:
        return LeftOut(path, str(error))
    if isinstance(content, HostReadings):
        return LeftOut(path, f"{form.title} is of a host; name it by --host NODE=PATTERN")
    if not content:
        return LeftOut(path, "has no measurement")
    return Collected(group, path, names, form.name, content)


def check_host_pattern(pattern: str, groups: Iterable[Group]) -> None:
    """Raises StudyError for a name in braces that no pattern of runs has."""
    known = {*OF_THE_RUN}
    for group in groups:
        known |= {*PLACEHOLDER.findall(group.pattern)}
    unknown = [name for name in PLACEHOLDER.findall(pattern) if name not in known]
    if unknown:
        raise StudyError(
            f"there is no {{{unknown[0]}}}; known are "
            f"{listed([f'{{{name}}}' for name in sorted(known)])}",
            "--host",
        )


def failures(found: Collected) -> Iterator[str]:
    """Why measurements of a file failed, in the words of the tool."""
    return (one.error for one in found.measurements if one.error is not None)
