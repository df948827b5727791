"""Sentences on levels of a factor that run the same."""

from __future__ import annotations

from netstudy.analysis.caveats.same_levels import SameLevels, SameProgram, SameProgramDiffers
from netstudy.documents.problems import listed
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.numbers import full_level
from netstudy.report.refs import Name, Sentence, say


@caveat_sentence.register
def same_levels(found: SameLevels) -> Sentence:
    """Levels that set the same values."""
    return say(
        "{levels} set the same values, so nothing can differ between them: use "
        "{reference} in a setting that takes effect.",
        levels=_levels(found),
        reference=Name(f"${{{found.factor}}}", code=True),
    )


@caveat_sentence.register
def same_program(found: SameProgram) -> Sentence:
    """Builds of an application that are not at hand."""
    return say(
        "{levels} stand for builds that are not at hand: all of them are the same program "
        "with the same settings here, so that {factor} was not tested. Give each its "
        "settings under {variants}.",
        levels=_levels(found),
        factor=Name(found.factor),
        variants=Name("variants", code=True),
    )


@caveat_sentence.register
def same_program_differs(found: SameProgramDiffers) -> Sentence:
    """Levels that run the same program, and yet differ."""
    return say(
        "{levels} are the same program with the same settings, and yet they differ in "
        "{metric}: something else changed between their runs, so that no difference of "
        "this size can be credited to any factor.",
        levels=_levels(found),
        metric=Name(found.metric.label),
    )


def _levels(found: SameLevels | SameProgram | SameProgramDiffers) -> Name:
    return Name(listed([full_level(found.factor, level) for level in found.levels]))
