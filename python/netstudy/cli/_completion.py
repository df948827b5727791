"""Shell completion of values. An error must never be printed into the user's prompt, so there are
no completions if a file cannot be read. Imports are inside the functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from netstudy.errors import NetstudyError

if TYPE_CHECKING:
    from netstudy.study import Study

Complete = Callable[[typer.Context, str], list[str]]


def _quietly(find: Callable[[typer.Context, str], Iterable[str]]) -> Complete:
    """Turns `find` into a completion: the found values that begin with the typed text, or none if a
    file cannot be read."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            return [one for one in find(ctx, incomplete) if one.startswith(incomplete)]
        except (NetstudyError, OSError):
            return []

    return complete


def words(known: type[StrEnum]) -> Complete:
    """The words of an enumeration."""
    return _quietly(lambda _ctx, _incomplete: [one.value for one in known])


@_quietly
def testbeds(_ctx: typer.Context, _incomplete: str) -> Iterable[str]:
    """The testbeds; the shell completes the path of an inventory of hosts."""
    from netstudy.study.vocabulary import HOSTS, TESTBEDS

    return [name for name in TESTBEDS if name != HOSTS]


@_quietly
def variants(ctx: typer.Context, _incomplete: str) -> Iterable[str]:
    """The testbeds for which the study has variants."""
    return _study(ctx).testbeds


@_quietly
def only(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """First the study's factors as "FACTOR=", then levels of the factor, separated by commas:
    "servers=1,2"."""
    from netstudy.study import level_text

    factors = _study(ctx).factors
    name, equals, written = incomplete.partition("=")
    if not equals:
        return [f"{factor}=" for factor in factors]
    if name not in factors:
        return []
    head, comma, _ = written.rpartition(",")
    before = f"{name}={head}{comma}"
    taken = head.split(",")
    return [
        f"{before}{text}" for one in factors[name].names if (text := level_text(one)) not in taken
    ]


@_quietly
def results(ctx: typer.Context, _incomplete: str) -> Iterable[str]:
    """The studies that have results. The shell completes paths."""
    from netstudy.store import Results

    root = ctx.params.get("results") or Path("results")
    return dict.fromkeys(folder.path.parent.name for folder in Results(Path(root)).folders())


@_quietly
def samples(_ctx: typer.Context, _incomplete: str) -> Iterable[str]:
    """The tables of samples."""
    from netstudy.data.samples import TABLES

    return TABLES


@_quietly
def shipped(_ctx: typer.Context, _incomplete: str) -> Iterable[str]:
    """The studies that come with netstudy."""
    from netstudy.study.shipped import shipped_studies

    return shipped_studies()


@_quietly
def profiles(_ctx: typer.Context, _incomplete: str) -> Iterable[str]:
    """The profiles of the hardware library."""
    from netstudy.hardware import HardwareLibrary

    return [profile.profile for profile in HardwareLibrary.default(Path()).profiles()]


def _study(ctx: typer.Context) -> Study:
    """The study on the command line. It is in `args` if it follows the option that is being
    completed."""
    from netstudy.study import load

    named = ctx.params.get("study") or next(iter(ctx.args), ".")
    return load(Path(named))
