"""The command line. Each verb is a module; results go to standard output, messages to standard
error.

Modules of this package import nothing slow at the top, so that `--help` responds at once; all other
imports are inside functions.
"""

from __future__ import annotations

import codecs
import errno
import gc
import io
import os
import shlex
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from netstudy.cli import (
    calibrate,
    clean,
    collect,
    compare,
    diagnose,
    doctor,
    export,
    import_,
    init,
    ls,
    plan,
    profiles,
    report,
    run,
    show,
    status,
    validate,
)
from netstudy.cli._terminal import say
from netstudy.errors import NetstudyError, StudyError, TestbedError
from netstudy.version import __version__


class _Verbs(TyperGroup):
    """The verbs. If the user types a study where a verb is expected, the error says how to run
    it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if self.get_command(ctx, name) is None and _is_study(Path(name)):
            ctx.fail(
                f"'{name}' is a study, not a verb. To run it: netstudy run {shlex.quote(name)}"
            )
        return super().resolve_command(ctx, args)


def _is_study(path: Path) -> bool:
    """Whether the path looks like a study; its content is not read."""
    return (path / "study.yaml").is_file() or (path.suffix in (".yaml", ".yml") and path.is_file())


app = typer.Typer(
    cls=_Verbs,
    name="netstudy",
    help="Design, run, analyse and publish network performance studies.",
    epilog="Example: netstudy init mine --like compare, then: netstudy run mine",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


class _Verb(TyperCommand):
    """A command that refuses an option with a single value if it is given twice; otherwise the
    first value would be ignored silently."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Any: typer's Context is private
        _, _, in_order = self.make_parser(ctx).parse_args(args=[*args])
        for option, times in Counter(in_order).items():
            takes_one = isinstance(option, TyperOption) and not (option.multiple or option.is_flag)
            if takes_one and times > 1:
                ctx.fail(f"{option.opts[0]} is given {times} times, and takes one value.")
        return super().parse_args(ctx, args)


for verb in (
    init,
    import_,
    validate,
    plan,
    run,
    collect,
    status,
    ls,
    show,
    report,
    compare,
    diagnose,
    calibrate,
    export,
    profiles,
    doctor,
    clean,
):
    app.command(verb.NAME, cls=_Verb, epilog=verb.EPILOG)(verb.command)


def _version(wanted: bool) -> None:
    if not wanted:
        return
    from netstudy.testbed.engine import engine_version, find_engine

    typer.echo(f"netstudy {__version__}")
    try:
        engine = find_engine()
        typer.echo(f"{engine_version(engine)} at {engine}")
    except TestbedError as error:
        typer.echo(f"no engine: {error}")
    raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the versions of netstudy and of its engine, and how that was built.",
        ),
    ] = False,
) -> None:
    """Design, run, analyse and publish network performance studies."""


_ASCII = str.maketrans(
    {
        "–": "-", "−": "-", "—": "-", "─": "-", "×": "x", "÷": "/", "·": ".", "±": "+-", "µ": "u",
        "→": "->", "≤": "<=", "≥": ">=", "…": "...", "‘": "'", "’": "'", "“": '"', "”": '"',
        "\u00a0": " ", "√": "sqrt ", "✓": "+", "✗": "x",
    }
)  # fmt: skip


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replaces characters that the output's encoding lacks by similar ASCII text, or by "?"."""
    assert isinstance(error, UnicodeEncodeError), "this is an error handler for output"
    missing = error.object[error.start : error.end]
    return missing.translate(_ASCII).encode("ascii", "replace").decode("ascii"), error.end


def main() -> None:
    """The command `netstudy`."""
    # Records are millions of long-lived objects. Repeated garbage collections over them took an
    # eighth of the time for a report.
    gc.set_threshold(1_000_000, 50, 1000)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # no error in `netstudy export | head`
    codecs.register_error("netstudy", _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="netstudy")
    code = invoke(sys.argv[1:])
    gc.freeze()  # no collection at exit, which would take 0.3 s after a report
    sys.exit(code)


_PATH_OF_THE_USER = (errno.ENAMETOOLONG, errno.EACCES, errno.ELOOP)
"""System errors that are caused by a path on the command line, not by a bug."""


def invoke(arguments: Sequence[str]) -> int:
    """Run one command line; returns its exit code.

    An error that the user can correct becomes one message on standard error, never a traceback.
    """
    try:
        app(list(arguments), prog_name="netstudy")
    except NetstudyError as error:
        say(f"netstudy: {error}")
        return error.exit_code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except OSError as error:
        if error.errno not in _PATH_OF_THE_USER:
            return _own_mistake()
        say(f"netstudy: {error.strerror}: {_shortened(str(error.filename))}")
        return StudyError.exit_code
    except Exception:
        return _own_mistake()
    return 0


def _own_mistake() -> int:
    """Print the current error. Print the traceback of an unexpected error. The exit code is not 1,
    which means that a requirement was missed."""
    say(traceback.format_exc().rstrip())
    return os.EX_SOFTWARE


def _shortened(path: str, longest: int = 80) -> str:
    return path if len(path) <= longest else f"{path[: longest - 1]}…"
