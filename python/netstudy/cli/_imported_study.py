"""The text of a study of files that exist already, with comments for the next steps."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netstudy.study.collected import Collection, Group


@dataclass(frozen=True)
class Wanted:
    """The options of the user for the new study."""

    name: str
    hosts: Mapping[str, Sequence[str]]
    """Host -> patterns of its files."""
    block: str | None
    base: str | None
    """Level that the others are compared with; None: the first."""
    noise: str | None


@dataclass(frozen=True)
class Moved:
    """Where the files are, seen from the study's folder."""

    source: str
    """The folder that all files have in common, absolute."""
    target: str
    """The same folder or its copy, seen from the study's folder."""

    def path(self, path: str) -> str:
        """A path or pattern of the user, as the study writes it."""
        if path.startswith("{dir}"):
            return path
        inside = os.path.relpath(path, self.source)
        return os.path.normpath(f"{self.target}/{inside}")


def study_text(found: Collection, wanted: Wanted, moved: Moved) -> str:
    """A study.yaml of these files."""
    return "\n".join([*_lines(found, wanted, moved), ""])


def _lines(found: Collection, wanted: Wanted, moved: Moved) -> Iterator[str]:
    factors = {name: texts for name, texts in found.factors.items() if name != wanted.block}
    compared = _compared(factors)
    yield "# A study of files that were measured already. `netstudy run .` reads them anew."
    yield f"study: {wanted.name}"
    yield f"question: {_text(_question(factors, compared))}"
    yield ""
    yield "# Levels are labels of the conditions in which the files were recorded."
    yield "factors:"
    for name, texts in factors.items():
        yield f"  {name}: [{', '.join(_level(text) for text in texts)}]"
    yield ""
    yield "measured:"
    yield from _files(found, moved)
    if wanted.hosts:
        yield "  # Files that were recorded on hosts meanwhile, cut to the time of each run."
        yield "  hosts:"
        for host, patterns in wanted.hosts.items():
            yield f"    {host}: [{', '.join(_text(moved.path(one)) for one in patterns)}]"
    if wanted.block is not None:
        yield f"  block: {wanted.block}"
    yield ""
    if compared is not None:
        levels = factors[compared]
        base = wanted.base if wanted.base is not None else levels[0]
        yield "# The first metric decides; `on: [...]` names other ones."
        yield f"compare: {{factor: {compared}, base: {_level(base)}}}"
    if wanted.noise is not None:
        yield f"noise: {wanted.noise}"
    else:
        yield "# noise: 2 % # smaller differences do not count; without it, any proven one does"
    yield "# conclude: [bottleneck]"
    yield "# require: [goodput_mbps > 900] # makes `netstudy run` exit with 1 where it is missed"


def _compared(factors: Mapping[str, Sequence[str]]) -> str | None:
    """The factor whose levels are compared: the first with several levels that are no numbers, or
    the only one with several levels."""
    varied = [name for name, texts in factors.items() if len(texts) > 1]
    named = [name for name in varied if not all(_is_number(text) for text in factors[name])]
    return next(iter(named or (varied if len(varied) == 1 else ())), None)


def _question(factors: Mapping[str, Sequence[str]], compared: str | None) -> str:
    if compared is None:
        return "What do the files show?"
    levels = factors[compared]
    if len(levels) == 2:
        return f"Which {compared} is better, {levels[0]} or {levels[1]}, and by how much?"
    return f"Which {compared} is better, and by how much?"


def _files(found: Collection, moved: Moved) -> Iterator[str]:
    groups = found.groups
    if len(groups) == 1 and not groups[0].at and found.is_whole(groups[0]):
        yield f"  files: {_text(moved.path(groups[0].pattern))}"
        return
    yield "  files:"
    for group in groups:
        paths = [group.pattern] if found.is_whole(group) else _used(found, group)
        if paths:
            listed = ", ".join(_text(moved.path(one)) for one in paths)
            yield f"    - {{files: [{listed}]{_at(group)}}}"


def _used(found: Collection, group: Group) -> list[str]:
    return [one.path for one in found.files if one.group == group]


def _at(group: Group) -> str:
    levels = ", ".join(f"{name}: {_level(text)}" for name, text in group.at.items())
    return f", at: {{{levels}}}" if levels else ""


def _level(text: str) -> str:
    """A level in YAML: a number in its shortest form is a number, all else is text in quotes."""
    return text if _is_number(text) else _text(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and str(int(text)) == text


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
