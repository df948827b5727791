"""`netstudy import`: a study, its answer and its report from files of measurements."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netstudy.cli import _options as options
from netstudy.cli._prepare import Asked
from netstudy.cli._terminal import print_json, say, show
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.cli._imported_study import Moved
    from netstudy.study.collected import Collection

NAME = "import"
EPILOG = "Example: netstudy import old=lab/old-*.json new=lab/new-*.json"
_COPIES = "files"
"""The folder of copies, in that of the study."""


def command(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LEVEL=FILES...]...",
            help="A level and the files that were measured at it, as in old=lab/old-*.json.",
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern",
            metavar="PATTERN",
            help="Paths that name the levels: 'lab/{driver}/{clients}c-{replicate}.json'.",
        ),
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(
            "--host",
            metavar="NODE=PATTERN",
            help="Files recorded on a host during the same runs: sender={dir}/{stem}.sadf.json.",
        ),
    ] = None,
    block: Annotated[
        str | None,
        typer.Option(
            "--block", metavar="NAME", help="The name in the pattern that is the session or day."
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="LEVEL", help="Compare with it. [default: the first level]"),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option("--noise", metavar="PERCENT", help="Smaller differences do not count: '2 %'."),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--into", metavar="DIR", help="Folder of the new study.yaml.")
    ] = Path(),
    link: Annotated[
        bool,
        typer.Option(
            "--link", help="Do not copy files from other folders; name them where they are."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print which files would be read; write nothing.")
    ] = False,
    results: options.Results = options.RESULTS,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Answer from files that exist already: iperf3, Flent, ping, wrk, sadf, nstat, ss and others.

    The format of each file is recognised by its content. Writes a study.yaml to go on with, and a
    results folder with the verdict and the report, as `netstudy run` does. Files from outside the
    study's folder are copied into it. Nothing is overwritten.
    """
    from netstudy.cli._imported_study import Wanted, study_text
    from netstudy.cli.run import Manner, begin
    from netstudy.store import storage, write_atomic
    from netstudy.study.collected import check_host_pattern, collect, groups_of

    groups, hosts = groups_of(files or (), pattern), _hosts(host or ())
    for one in (text for patterns in hosts.values() for text in patterns):
        check_host_pattern(one, groups)
    found = collect(Path(), groups)
    if dry_run and json:
        print_json(_as_json(found))
        return
    if dry_run:
        _tell(found, show)
        return
    _refuse_nothing(found)
    every = [*(one.path for one in found.files), *_host_files(found, hosts)]
    path, moved = folder / "study.yaml", _where(every, folder, link=link)
    if path.exists() or (moved.target == _COPIES and (folder / _COPIES).exists()):
        there = path if path.exists() else folder / _COPIES
        raise StudyError(f"there already: {there}; nothing was written")
    text = study_text(found, Wanted(_name(folder), hosts, block, base, noise), moved)
    with storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if moved.target == _COPIES:
            _copy(every, moved.source, folder / _COPIES)
        write_atomic(path, text.encode())
    if not quiet:
        _tell(found, say)
        say(f"study: {path}")
    manner = Manner(results, threads=None, json=json, is_quiet=quiet)
    raise typer.Exit(begin(Asked(folder), manner))


def _hosts(words: Sequence[str]) -> dict[str, list[str]]:
    """Host -> patterns of its files. Raises StudyError."""
    found: dict[str, list[str]] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name or not text:
            raise StudyError("write it as NODE=PATTERN, as in sender=lab/{stem}.sadf", "--host")
        found.setdefault(name, []).append(text)
    return found


def _refuse_nothing(found: Collection) -> None:
    if not found.files:
        reasons = "; ".join(f"{one.path}: {one.reason}" for one in found.left_out[:3])
        raise StudyError(f"no file can be read: {reasons}")
    runs = [(one.path, run.error) for one in found.files for run in one.measurements]
    if all(error is not None for _, error in runs):
        path, error = runs[0]
        raise StudyError(f"no file has a value: {path}: {error}")


def _host_files(found: Collection, hosts: dict[str, list[str]]) -> Iterator[str]:
    """The files of hosts, of all runs. Raises StudyError for a run without one."""
    from netstudy.study.measured_files import host_paths

    for run in found.files:
        for pattern in (text for patterns in hosts.values() for text in patterns):
            paths = host_paths(found.folder, pattern, run.path, run.names)
            if not paths:
                raise StudyError(f"no file {pattern} for the run in {run.path}", "--host")
            yield from paths


def _where(paths: Sequence[str], folder: Path, *, link: bool) -> Moved:
    """Where files are, seen from the new study. Those outside its folder are copied into it."""
    from netstudy.cli._imported_study import Moved

    source = os.path.commonpath([Path(path).absolute().parent for path in paths])
    inside = os.path.relpath(source, folder.absolute())
    if inside == ".." or inside.startswith(f"..{os.sep}"):
        return Moved(source, source if link else _COPIES)
    return Moved(source, inside)


def _copy(paths: Iterable[str], source: str, target: Path) -> None:
    """Copy files with the folders below `source`, and with their times."""
    for path in dict.fromkeys(paths):
        copy = target / os.path.relpath(path, source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)


def _name(folder: Path) -> str:
    """The study's name: that of its folder, as far as a name may have these characters."""
    text = re.sub(r"[^A-Za-z0-9_-]+", "-", folder.absolute().name).strip("-")
    return text[:64] if re.match(r"[A-Za-z]", text) else f"study-{text}"[:64].rstrip("-")


def _tell(found: Collection, print_line: Callable[[str], None]) -> None:
    """The files that would be read, and the others with the reason."""
    for line in _lines(found):
        print_line(line)


def _lines(found: Collection) -> Iterator[str]:
    counts = Counter(one.format for one in found.files)
    for form, files in counts.items():
        own = [one for one in found.files if one.format == form]
        runs = [run for one in own for run in one.measurements]
        versions = dict.fromkeys(run.version for run in runs if run.version)
        metrics = dict.fromkeys(name for run in runs for name in (*run.values, *run.samples))
        of = f" {', '.join(versions)}" if versions else ""
        number = f"{_things(len(runs), 'run')} in {_things(files, 'file')}"
        yield f"{form + of:<18} {number}: {', '.join(metrics)}"
    for name, texts in found.factors.items():
        yield f"{'factor':<18} {name}: {', '.join(texts)}"
    for one in found.files:
        for run in one.measurements:
            if run.error is not None:
                yield f"{'failed':<18} {one.path}: {run.error}"
            for broken in (check for check in run.checks if not check.holds):
                yield f"{'invalid':<18} {one.path}: {broken.law}: {broken.detail}"
    for out in found.left_out:
        yield f"{'left out':<18} {out.path}: {out.reason}"


def _things(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _as_json(found: Collection) -> dict[str, Any]:
    return {
        "read": [
            {
                "path": one.path,
                "format": one.format,
                "levels": {**one.group.at, **one.names},
                "runs": len(one.measurements),
                "failed": [run.error for run in one.measurements if run.error is not None],
            }
            for one in found.files
        ],
        "left_out": [{"path": one.path, "reason": one.reason} for one in found.left_out],
    }
