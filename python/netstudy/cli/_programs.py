"""Shows the programs that a study starts, since a study file may contain any command. They are
printed before they run, but no confirmation is asked for; `--no-start` refuses them."""

from __future__ import annotations

import os
import pwd
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from netstudy.cli._terminal import say
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.study import Command


def command_text(command: Command) -> str:
    """The command on one line, quoted as for a shell."""
    return shlex.join(command).replace("\n", "\u240a")


def refuse_programs(programs: Sequence[Command]) -> None:
    """For `--no-start`: raise StudyError if there are programs that the study starts."""
    if programs:
        listed = "".join(f"\n  - {command_text(one)}" for one in programs)
        raise StudyError(f"the study starts a program, and --no-start allows none:{listed}")


def say_programs(programs: Sequence[Command], testbed: str) -> None:
    """Print the programs that are about to be started, and with which user's rights they run."""
    from netstudy.study.vocabulary import NOTHING_RUNS, SIMULATOR

    if testbed not in {SIMULATOR, *NOTHING_RUNS}:  # they start nothing
        for one in programs:
            say(f"netstudy: the study starts, with the rights of {_user()}: {command_text(one)}")


def _user() -> str:
    """The effective user of this process, which may differ from the user in shell variables."""
    user = os.geteuid()
    try:
        return f"user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"user {user}"
