"""How runs and folders are spoken of: the same words in every verb."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netstudy.store import Folder
    from netstudy.wire import Run, RunRecord


def state(folder: Folder) -> str:
    """done, running (a process is writing to it), or unfinished."""
    if folder.is_done():
        return "done"
    return "running" if folder.is_running() else "unfinished"


def rounds_begun(rounds: int) -> str:
    """How many rounds a study whose factors grow has begun; others may follow."""
    return f"{rounds} round{'s' if rounds > 1 else ''}"


def treatment(run: Run | RunRecord) -> str:
    """The levels and the replicate of a run."""
    levels = [f"{factor}={level}" for factor, level in run.treatment.items()]
    return ", ".join([*levels, f"replicate {run.replicate}"])


def explain(record: RunRecord) -> str:
    """Why a run failed or is invalid."""
    from netstudy.analysis.reasons import reasons

    return reasons(record)


def continue_with(folder: Folder) -> str:
    """The command that finishes an unfinished folder."""
    return f"netstudy run {shlex.quote(str(folder.path))} --resume"
