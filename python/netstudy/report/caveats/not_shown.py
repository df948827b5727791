"""Sentences on parts of the study that the report does not have."""

from __future__ import annotations

from netstudy.analysis.caveats.not_shown import LeftOut, NotShown
from netstudy.documents.problems import listed
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.refs import Name, Sentence, say


@caveat_sentence.register
def not_shown(found: NotShown) -> Sentence:
    """A part that the report cannot show."""
    return say("The study asks for “{text}”, which is not shown.", text=Name(found.part))


@caveat_sentence.register
def left_out(found: LeftOut) -> Sentence:
    """Parts that were left out, and by whom."""
    how = "by its variant for this testbed" if found.by_variant else "with --without"
    return say(
        "Parts of the study were left out {how}: {parts}.",
        how=Name(how),
        parts=Name(listed(list(found.parts))),
    )
