"""Sentences on the order in time of runs that were measured elsewhere."""

from __future__ import annotations

from netstudy.analysis.caveats.run_order import Drift, LevelsInTurn, Sessions, UnknownOrder
from netstudy.documents.problems import listed
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.cellrefs import count, plain
from netstudy.report.numbers import duration_text, full_level
from netstudy.report.prose.words import NOTHING
from netstudy.report.refs import Name, Sentence, say


@caveat_sentence.register
def unknown_order(found: UnknownOrder) -> Sentence:
    """Files without a time."""
    return say(
        "The files of {n} of {all} runs do not say when they were measured, so that drift and the "
        "order of the levels could not be checked.",
        n=count(found.runs, "runs without a time"),
        all=count(found.of, "runs"),
    )


@caveat_sentence.register
def levels_in_turn(found: LevelsInTurn) -> Sentence:
    """Levels that were not interleaved."""
    levels = [full_level(found.factor, level) for level in found.levels]
    return say(
        "All runs of a level were measured together ({levels}): whatever else changed with time "
        "looks like a difference of {factor}. Interleave the levels.",
        levels=Name(listed(levels, last="then")),
        factor=Name(found.factor),
    )


@caveat_sentence.register
def drift(found: Drift) -> Sentence:
    """Values that changed with time."""
    return say(
        "Within the levels of {factor} the values changed with time (p = {p}), and the levels were "
        "measured in turn: time may have made the difference.",
        factor=Name(found.factor),
        p=plain(found.p, 3, "", "p of the rank correlation of time and value inside the cells"),
    )


@caveat_sentence.register
def sessions(found: Sessions) -> Sentence:
    """Several sessions."""
    gap = NOTHING
    if found.longest_gap_s is not None:
        text = duration_text(round(found.longest_gap_s * 1e9))
        gap = say(", with a gap of up to {gap}", gap=Name(text))
    apart = NOTHING
    if found.factor is not None:
        apart = say(
            "; not every level of {factor} is in each of them, so that a difference may be one of "
            "the sessions",
            factor=Name(found.factor),
        )
    return say(
        "The runs are of {n} sessions{gap}{apart}.",
        n=count(found.sessions, "sessions"),
        gap=gap,
        apart=apart,
    )
