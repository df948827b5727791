"""`netstudy profiles`: list and search the hardware, the TCPs and the applications that a study may
name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netstudy.cli import _completion as completion
from netstudy.cli import _options as options
from netstudy.cli._terminal import print_json, show
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.hardware import AnyProfile, FigureRow, HardwareLibrary

NAME = "profiles"
EPILOG = "Example: netstudy profiles switch 10g"


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD]...",
            help="The name of a profile, to show its figures and their sources; or words to "
            "search for in names, kinds, titles, notes and figures.",
            autocompletion=completion.profiles,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """List, search or show the hardware, TCPs and applications that a study may name.

    Profiles in ./hardware, the folder of a study's own profiles, are listed as well.
    """
    from netstudy.hardware import HardwareLibrary

    library = HardwareLibrary.default(Path())
    asked = words or []
    # A full name shows only this profile: a search would also find profiles that mention the name.
    found = _named(library, asked) or [
        one for one in library.profiles() if _matches(library, one, asked)
    ]
    if not found:
        raise StudyError(f"no profile has {', '.join(asked)}; netstudy profiles lists all of them")
    is_one = len(found) == 1 and asked == [found[0].profile]
    if json:
        print_json([_as_data(library, one) if is_one else _head(one) for one in found])
    elif is_one:
        _show(found[0], library.rows(found[0].kind, found[0].profile))
    else:
        _list(found)


def _named(library: HardwareLibrary, words: Sequence[str]) -> list[AnyProfile]:
    """The profile whose full name is the only word on the command line; else empty."""
    return [one for one in library.profiles() if [one.profile] == list(words)]


def _matches(library: HardwareLibrary, profile: AnyProfile, words: Sequence[str]) -> bool:
    figures = library.rows(profile.kind, profile.profile)
    told = [profile.profile, profile.kind, profile.title, profile.notes or ""]
    told += [f"{row.name} {row.value} {row.origin}" for row in figures]
    text = "\n".join(told).lower()
    return all(word.lower() in text for word in words)


def _head(profile: AnyProfile) -> dict[str, Any]:
    named = {"profile": profile.profile, "kind": profile.kind, "title": profile.title}
    return {**named, "notes": profile.notes}


def _as_data(library: HardwareLibrary, profile: AnyProfile) -> dict[str, Any]:
    rows = library.rows(profile.kind, profile.profile)
    return {**_head(profile), "figures": [asdict(row) for row in rows]}


def _list(found: Sequence[AnyProfile]) -> None:
    width = max(len(one.profile) for one in found)
    for one in found:
        show(f"{one.kind:13}{one.profile:{width}}  {one.title}")


def _show(profile: AnyProfile, rows: Sequence[FigureRow]) -> None:
    show(f"{profile.profile}: {profile.kind}, {profile.title}")
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        show(f"  {row.name:{width}}  {row.value} ({row.source}: {row.origin})")
    if profile.notes:
        show(f"  {profile.notes}")
