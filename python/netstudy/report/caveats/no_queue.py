"""Sentences on switches that can neither queue nor drop."""

from __future__ import annotations

from netstudy.analysis.caveats.no_queue import NoQueue
from netstudy.documents.problems import listed
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.refs import Name, Sentence, say


@caveat_sentence.register
def no_queue(found: NoQueue) -> Sentence:
    """The switches, and what would make them queue."""
    return say(
        "No port of {switches} ever gets frames faster than it sends them on, so {they} "
        "queue and drop nothing, whatever the buffers. Have several hosts send to one, or "
        "a fast link lead to a slow one.",
        switches=Name(listed(list(found.switches))),
        they=Name("it will" if len(found.switches) == 1 else "they will"),
    )
