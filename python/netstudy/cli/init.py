"""`netstudy init`: a study to start from."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from netstudy.cli import _options as options
from netstudy.cli._terminal import print_json, say
from netstudy.errors import StudyError

NAME = "init"
EPILOG = "Example: netstudy init my-switches --from incast"


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Where to write it; made when not there.")
    ] = Path(),
    template: Annotated[
        str, typer.Option("--from", metavar="NAME", help="The study to start from.")
    ] = "incast",
    json: options.Json = False,
) -> None:
    """Write a commented study.yaml and a README.md to start from. Nothing is overwritten."""
    from netstudy.store import storage, write_atomic

    written = [folder / source.name for source in _sources(template)]
    _refuse_existing(written)
    with storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for source in _sources(template):
            write_atomic(folder / source.name, source.read_bytes())
    if json:
        print_json({"written": [str(path) for path in written]})
        return
    for path in written:
        print(path)
    say(f"next: netstudy plan {folder}, then: netstudy run {folder} --quick")


def _sources(template: str) -> list[Traversable]:
    """The files of a template. Raises StudyError with the available names."""
    templates = files("netstudy.cli") / "templates"
    names = sorted(entry.name for entry in templates.iterdir() if entry.is_dir())
    if template not in names:
        raise StudyError(
            f"there is no study '{template}' to start from; there is: {', '.join(names)}"
        )
    return sorted((templates / template).iterdir(), key=lambda source: source.name)


def _refuse_existing(paths: list[Path]) -> None:
    there = [str(path) for path in paths if path.exists()]
    if there:
        raise StudyError(f"there already: {', '.join(there)}; nothing was written")
