"""`netstudy init`: a study to start from."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from netstudy.cli import _completion as completion
from netstudy.cli import _options as options
from netstudy.cli._terminal import print_json, say, show
from netstudy.errors import StudyError

NAME = "init"
EPILOG = "Example: netstudy init my-switches --like compare"


class Like(StrEnum):
    """The kind of question that a new study asks."""

    COMPARE = "compare"
    SWEEP = "sweep"
    FACTORS = "factors"
    REAL = "real"
    HOSTS = "hosts"
    TRANSFER = "transfer"
    LATENCY = "latency"
    USERS = "users"
    PLACEMENT = "placement"
    BUFFERBLOAT = "bufferbloat"
    CONGESTION_CONTROLS = "congestion-controls"
    POLICER = "policer"


READY = (Like.BUFFERBLOAT, Like.CONGESTION_CONTROLS, Like.POLICER)
"""The kinds with a ready study, whose page shows its results."""


def _like(text: str) -> Like:
    from netstudy.documents.nearest import did_you_mean

    try:
        return Like(text)
    except ValueError:
        kinds = [kind.value for kind in Like]
        raise typer.BadParameter(f'there is no kind "{text}"{did_you_mean(text, kinds)}') from None


_QUESTIONS = {
    Like.COMPARE: "which of two is better, and under which load",
    Like.SWEEP: "how far a value can grow until there is no more to gain",
    Like.FACTORS: "which of several settings matters, and what its effect depends on",
    Like.REAL: "the same with this machine's own kernel, between network namespaces",
    Like.HOSTS: "the same over ssh, between hosts of your own",
    Like.TRANSFER: "the limit of a bulk transfer over one path: window, buffer or delay",
    Like.LATENCY: "how long small requests wait during a bulk transfer",
    Like.USERS: "how many users an application serves while its pages stay fast",
    Like.PLACEMENT: "whether it matters where two programs sit: in one machine or in two",
    Like.BUFFERBLOAT: "behind which queue a ping stays short while others use a slow line",
    Like.CONGESTION_CONTROLS: "which of cubic, reno and bbr gets most through a lossy path",
    Like.POLICER: "whether shaping a policed uplink gets more through",
}


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Folder to write to; created if missing.")
    ] = Path(),
    like: Annotated[
        Like | None,
        typer.Option(
            "--like",
            parser=_like,
            metavar=f"<{'|'.join(Like)}>",
            autocompletion=completion.words(Like),
            help="A small study for a kind of question, with an answer in about a minute. On a "
            "terminal, netstudy asks for the kind if neither --like nor --from is given.",
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="NAME",
            help="A study that comes with netstudy, with its published values: incast, zones, "
            "examples/mtu.",
            autocompletion=completion.shipped,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Write a study to start from: a commented one with --like (default: compare), or a published
    one with --from. Nothing is overwritten.

    compare: which of two is better, and under which load. sweep: how far a value can grow until
    there is no more to gain. factors: which of several settings matters. real: this machine's own
    kernel, between network namespaces. hosts: hosts of your own over ssh, with a hosts.yaml that
    lists them. transfer: the limit of one path. latency: requests during a transfer. users: an
    application under load. placement: in one machine or in two. bufferbloat: a ping behind a full
    queue, and what cures it. congestion-controls: cubic, reno and bbr where packets are lost.
    policer: an uplink that is policed or shaped. Each has a short form: netstudy run DIR --quick.
    """
    from netstudy.store import storage, write_atomic

    if like is not None and template is not None:
        raise StudyError("--like and --from both say what to start from; give one of them")
    sources: Mapping[Path, Traversable]
    if template is not None:
        sources = _shipped(template)
    else:
        # Scripts must not have to answer, so nothing is asked without a terminal or with --json.
        like = like or (_ask() if _is_interactive() and not json else Like.COMPARE)
        sources = _commented(like)
    written = [folder / path for path in sources]
    _refuse_existing(written)
    with storage(folder):
        for path, source in zip(written, sources.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, source.read_bytes())
    if json:
        print_json({"written": [str(path) for path in written]})
        return
    for path in written:
        show(path)
    has_short_form = template is not None and b"\nquick:" in (folder / "study.yaml").read_bytes()
    say(f"next: {_next(like, has_short_form, shlex.quote(str(folder)))}")


def _next(like: Like | None, has_short_form: bool, folder: str) -> str:
    """The commands that the user may run next."""
    if like is Like.REAL:
        return f"netstudy doctor, then: netstudy run {folder} --testbed netns"
    if like is Like.HOSTS:
        hosts = f"{folder}/hosts.yaml"
        return f"write your hosts into {hosts}, then: netstudy doctor --testbed {hosts}"
    quick = " --quick" if has_short_form else ""
    return f"netstudy plan {folder}, then: netstudy run {folder}{quick}"


def _is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _ask() -> Like:
    """Asks on the terminal for the kind of question; the user answers with a number or a name."""
    kinds = list(Like)
    say("What do you want to know?")
    for number, kind in enumerate(kinds, start=1):
        say(f"  {number}  {kind}: {_QUESTIONS[kind]}")
    by_answer = {str(number): kind for number, kind in enumerate(kinds, start=1)}
    by_answer |= {kind.value: kind for kind in kinds}
    while True:
        answer = typer.prompt("Number or name", default="1", err=True).strip()
        if answer in by_answer:
            return by_answer[answer]
        say(f"there is no '{answer}'; there is: 1 to {len(kinds)}, {', '.join(kinds)}")


def _commented(like: Like) -> Mapping[Path, Traversable]:
    """Path in the new folder -> file of a commented study."""
    if like in READY:
        return _shipped(like)
    template = files("netstudy.cli") / "templates" / like
    names = sorted(file.name for file in template.iterdir())
    return {Path(name): template / name for name in names}


def _shipped(name: str) -> Mapping[Path, Traversable]:
    """Path in the new folder -> file of a study that comes with netstudy. Raises StudyError, with
    the most similar name, if there is no such study."""
    from netstudy.documents.nearest import did_you_mean
    from netstudy.study.shipped import files_of, shipped_studies

    studies = shipped_studies()
    if name not in studies:
        raise StudyError(f'no study "{name}" comes with netstudy{did_you_mean(name, studies)}')
    return {path: studies[name] / path for path in files_of(studies[name])}


def _refuse_existing(paths: list[Path]) -> None:
    there = [str(path) for path in paths if path.exists()]
    if there:
        raise StudyError(f"there already: {', '.join(there)}; nothing was written")
