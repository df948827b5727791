"""Sentences on cells with many unanswered requests."""

from __future__ import annotations

from netstudy.analysis.caveats.unanswered import Unanswered
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.cellrefs import cell_number, count
from netstudy.report.prose.words import value_range
from netstudy.report.refs import Name, Sentence, say


@caveat_sentence.register
def unanswered(found: Unanswered) -> Sentence:
    """The share of unanswered requests, and why percentiles may be too low."""
    shares = [cell_number(row, found.share, unit=True) for row in found.cells]
    return say(
        "{what} in {cells}: {share}. They have no latency, so that percentiles and means may be "
        "too low there.",
        what=Name(found.share.title),
        cells=_of_all(len(found.cells), found.of),
        share=value_range([one for one in shares if one is not None]),
    )


def _of_all(some: int, total: int) -> Sentence:
    if some == total:
        return say("every cell" if total > 1 else "the only cell")
    return say(
        "{n} of {total} cells",
        n=count(some, "cells with unanswered requests"),
        total=count(total, "cells of the plan"),
    )
