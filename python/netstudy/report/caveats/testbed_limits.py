"""Sentences on a testbed that was itself the limit, or whose instruments disagree."""

from __future__ import annotations

from netstudy.analysis.caveats.testbed_limits import DisagreeingInstruments, ExceededLimit
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.refs import Sentence
from netstudy.report.testbed_tables import check_sentence, limit_sentence


@caveat_sentence.register
def exceeded_limit(found: ExceededLimit) -> Sentence:
    """The worst run of an exceeded limit."""
    return limit_sentence(found.limit)


@caveat_sentence.register
def disagreeing_instruments(found: DisagreeingInstruments) -> Sentence:
    """The worst run of two instruments that disagree."""
    return check_sentence(found.check)
