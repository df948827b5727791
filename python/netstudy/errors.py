"""Errors that end a command: mistakes in the input, which the user can correct, and failures of the
testbed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Final

from netstudy.characters import visible

MISSED = 1
"""Exit code of a command that succeeded, but found a result that misses a requirement."""


_QUOTED: Final = re.compile(r'"([^"\n]{60})[^"\n]+"')
_WORD: Final = re.compile(r"(?<!\S)([^\s/]{60})[^\s/]{60,}?(?=[;:,.]?(?:\s|$))")
"""A long word without a slash: paths stay whole, so that they can be copied."""
_LINE_MAX: Final = 2000
"""Longer lines are cut; a line with several names and paths is shorter than this."""


def shortened(message: str) -> str:
    """A message with long values cut after 60 characters, and long lines cut in the middle."""
    short = _WORD.sub(r"\1…", _QUOTED.sub(r'"\1…"', message))
    return "\n".join(map(_short_line, short.split("\n")))


def _short_line(line: str) -> str:
    half = _LINE_MAX // 2
    return line if len(line) <= _LINE_MAX else f"{line[:half]} … {line[-half:]}"


class NetstudyError(Exception):
    """Base of the errors that a command turns into one message and an exit code."""

    exit_code = 2


class StudyError(NetstudyError):
    """Bad input: the message says what is wrong, where, and what would be right."""

    exit_code = 2

    def __init__(self, message: str, where: str | None = None) -> None:
        """`where` is `file:line:column`, put before the message."""
        super().__init__(shortened(f"{where}: {message}" if where else message))


class ChangedFolderError(StudyError):
    """Files of a results folder changed after the run was done; resuming cannot repair them."""


class TestbedError(NetstudyError):
    """The testbed failed, for example because the engine ended early or a host went away."""

    __test__ = False  # not a test case, whatever its name suggests to pytest
    exit_code = 3


def exit_code(work: Callable[[], object]) -> int:
    """Run a program's main function; returns its exit code. A NetstudyError is printed as one
    message."""
    try:
        work()
    except NetstudyError as error:
        print(visible(f"netstudy: {error}"), file=sys.stderr)
        return error.exit_code
    return 0
