"""Sentences on runs without numbers, and on runs that the machine disturbed."""

from __future__ import annotations

from typing import Final

from netstudy.analysis.caveats.failed_runs import EmptyCells, FailedRuns, RepeatedRuns, RunsSetAside
from netstudy.analysis.cells import ProblemKind
from netstudy.report.caveats.base import caveat_sentence, named_cells
from netstudy.report.cellrefs import count
from netstudy.report.prose.words import NOTHING, things
from netstudy.report.refs import Name, Sentence, say

_REASONS: Final[dict[ProblemKind, tuple[str, str]]] = {
    "failed": ("failed", "failed"),
    "invalid": (
        "broke a conservation law and is kept out of the numbers",
        "broke a conservation law and are kept out of the numbers",
    ),
    "limited": (
        "is invalid, because the testbed was disturbed, and kept out of the numbers",
        "are invalid, because the testbed was disturbed, and kept out of the numbers",
    ),
    "missing": ("was planned and has no record", "were planned and have no record"),
}
"""Kind of problem -> its words, for one run and for several."""


@caveat_sentence.register
def failed_runs(found: FailedRuns) -> Sentence:
    """How many runs failed, and why."""
    singular, plural = _REASONS[found.reason]
    return say(
        "{n} of {planned} runs {text}{advice}.",
        n=count(found.runs, f"runs that are {found.reason}"),
        planned=count(found.planned, "runs of the plan"),
        text=Name(singular if found.runs == 1 else plural),
        advice=_advice(found) if found.reason == "limited" else NOTHING,
    )


def _advice(found: FailedRuns) -> Sentence:
    """Advice for runs on a testbed that was disturbed."""
    again = Name("netstudy run --resume", code=True)
    if found.smaller_scale is None:
        return say(": make them again on idle hosts and links by {again}", again=again)
    return say(
        ": make them again on an idle machine by {again}, or run the study at a smaller scale, "
        "such as {option}",
        again=again,
        option=Name(f"--scale {found.smaller_scale}", code=True),
    )


@caveat_sentence.register
def repeated_runs(found: RepeatedRuns) -> Sentence:
    """How many runs were made again."""
    return say(
        "{n} of {planned} runs {were} made again, because the testbed was disturbed; {attempts} "
        "{do} not count.",
        n=count(found.runs, "runs that were made again"),
        planned=count(found.planned, "runs of the plan"),
        were=Name("was" if found.runs == 1 else "were"),
        attempts=things(count(found.attempts, "attempts that do not count"), "attempt"),
        do=Name("does" if found.attempts == 1 else "do"),
    )


@caveat_sentence.register
def runs_set_aside(found: RunsSetAside) -> Sentence:
    """How many attempts were set aside."""
    return say(
        "Attempts that the machine disturbed were set aside and repeated: {n}.",
        n=count(found.runs, "records of invalid runs that were set aside"),
    )


@caveat_sentence.register
def empty_cells(found: EmptyCells) -> Sentence:
    """The cells without numbers."""
    cells = named_cells(found.cells, found.table, "for")
    return say("No run gives numbers for {cells}.", cells=cells)
