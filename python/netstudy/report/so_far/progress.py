"""Sentences on the progress of an unfinished study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from netstudy.analysis.cells import CellRow, Problem
from netstudy.analysis.growth import GrownLoop
from netstudy.analysis.progress import Progress
from netstudy.analysis.study_result import StudyResult
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import count, treatment_text
from netstudy.report.numbers import counted, spans
from netstudy.report.prose.grow import ending_text
from netstudy.report.prose.words import NOTHING, things
from netstudy.report.refs import Name, Sentence, join, say
from netstudy.store import FolderSoFar
from netstudy.wire import Level

_NAMED: Final = 3
"""At most this number of runs, cells or loops is named in sentences; tables have all of them."""
_CITED: Final = "Armitage, McPherson and Rowe, 1969"


def runs_sentence(found: Progress, rounds: int) -> Sentence:
    """How many runs are there, and how many of them are valid."""
    planned = count(found.planned, "runs planned so far")
    begun = say(" of {n} rounds", n=count(rounds, "rounds begun")) if rounds > 1 else NOTHING
    if not found.there:
        return say("None of {n} runs{begun} is there yet.", n=planned, begun=begun)
    missing = say("; {n} missing", n=count(found.missing, "missing runs"))
    return say(
        "{there} of {n} runs{begun} are there: {kinds}{missing}.",
        there=count(found.there, "runs with a record"),
        n=planned,
        begun=begun,
        kinds=join(_kinds(found), last=""),
        missing=missing if found.missing else NOTHING,
    )


def _kinds(found: Progress) -> list[Sentence]:
    valid = say("{n} valid", n=count(found.valid, "valid runs"))
    failed = say("{n} failed", n=count(found.failed, "failed runs"))
    invalid = say("{n} invalid", n=count(found.invalid, "invalid runs"))
    return [valid, *([failed] if found.failed else []), *([invalid] if found.invalid else [])]


def state_sentence(folder: FolderSoFar, result: StudyResult, resume: str) -> Sentence:
    """Whether the study goes on by itself, and when the folder was read; `resume` is the command
    that finishes it."""
    at = Name(f"{folder.read_at:%Y-%m-%d %H:%M:%S} UTC")
    if folder.was_running:
        return say("At {at}, a process was writing to the folder.", at=at)
    goes_on = any(one.ending is None for case in result.cases for one in case.loops)
    is_complete = not goes_on and not folder.missing()
    unsealed = "every run is there, but the folder is not sealed"
    why = unsealed if is_complete else "the run was interrupted"
    return say(
        "At {at}, no process was writing to the folder: {why}. Finish it with: {resume}",
        at=at,
        why=Name(why),
        resume=Name(resume, code=True),
    )


def cells_sentence(found: Progress) -> Sentence:
    """How many cells are complete, and which have no valid run."""
    every = (found.complete, found.partial, found.without)
    return say(
        "Of {cells}, {complete} complete, {partial} incomplete, {without} no valid run yet{which}.",
        cells=things(count(sum(map(len, every)), "cells planned so far"), "cell"),
        complete=_so_many(found.complete, "is", "are", "complete cells"),
        partial=_so_many(found.partial, "is", "are", "cells with a part of their runs"),
        without=_so_many(found.without, "has", "have", "cells without a valid run"),
        which=say(" ({cells})", cells=_cells(found.without)) if found.without else NOTHING,
    )


def _so_many(rows: Sequence[CellRow], verb: str, of_several: str, source: str) -> Sentence:
    number = count(len(rows), source)
    return say("{n} {verb}", n=number, verb=Name(verb if len(rows) == 1 else of_several))


def _cells(rows: Sequence[CellRow]) -> Sentence:
    named = [Name(treatment_text(row.treatment)) for row in rows[:_NAMED]]
    more = say("{n} more", n=count(len(rows) - _NAMED, "other cells"))
    return join([*named, *([more] if len(rows) > _NAMED else [])], last="", between="; ")


def problem_sentences(problems: Sequence[tuple[CellRow, Problem]]) -> Iterator[Sentence]:
    """The first failed and invalid runs, with the reason."""
    for row, one in problems[:_NAMED]:
        yield say(
            "Run {run} ({treatment}, replicate {replicate}) {kind}: {reason}.",
            run=Name(one.run, code=True),
            treatment=Name(treatment_text(row.treatment)),
            replicate=Name(str(one.replicate)),
            kind=Name("failed" if one.kind == "failed" else "is invalid"),
            reason=Name(one.reason.rstrip(".")),
        )
    if len(problems) > _NAMED:
        more = count(len(problems) - _NAMED, "further failed or invalid runs")
        yield say("The table below has {n} more.", n=more)


def growth_sentences(result: StudyResult) -> Iterator[Sentence]:
    """For each growing factor, whether it goes on, and the levels that may still follow."""
    loops = [one for case in result.cases for one in case.loops]
    for one in loops[:_NAMED]:
        held = treatment_text(one.loop.held)
        where = say("with {held}, ", held=Name(held)) if held else NOTHING
        yield say("{where}{text}", where=where, text=_loop(one)).capitalised()
    if len(loops) > _NAMED:
        going_on = sum(one.ending is None for one in loops[_NAMED:])
        yield say(
            "Of {n} further combinations of the other factors, {going_on} go on.",
            n=count(len(loops) - _NAMED, "other loops"),
            going_on=count(going_on, "other loops without an end"),
        )


def _loop(one: GrownLoop) -> Sentence:
    name = Name(one.loop.factor.name)
    if one.ending is not None:
        return say("{factor} grows no further: {why}.", factor=name, why=Name(ending_text(one)))
    left = [treatment[one.loop.factor.name] for treatment in one.left]
    parts = {
        "tried": [step.level for step in one.judged.steps],
        "under way": left[:1] if one.under_way else [],
        "may still follow": left[1:] if one.under_way else left,
    }
    told = [
        say("{what}: {levels}", what=Name(what), levels=_levels(one, levels))
        for what, levels in parts.items()
        if levels
    ]
    return say("{factor} grows; {told}.", factor=name, told=join(told, last="", between="; "))


def _levels(one: GrownLoop, levels: Sequence[Level]) -> Name:
    return Name(counted(one.loop.factor.name, listed(spans(levels, levels))))


def later_sentence(result: StudyResult) -> Sentence:
    """The judgements that wait for the last run, and the reason."""
    asked = [one for one in result.requirements if one.outcome != "not in this run"]
    wait = [
        things(count(number, f"{noun}s of the study"), noun)
        for number, noun in ((len(asked), "requirement"), (len(result.expectations), "expectation"))
        if number
    ]
    judges = say("judges {wait}, ", wait=join(wait)) if wait else NOTHING
    return say(
        "All of this is preliminary. When all runs are there, the final report {judges}tests the "
        "differences and draws the conclusions. Nothing is tested earlier, because tests that are "
        "repeated while runs arrive find differences where there are none ({cited}).",
        judges=judges,
        cited=Name(_CITED),
    )
