"""The caveats of a result as its report says them."""

from __future__ import annotations

from netstudy.analysis.study_result import StudyResult
from netstudy.report.caveats import caveat_sentence
from netstudy.report.refs import Sentence


def caveat_sentences(result: StudyResult) -> list[Sentence]:
    """One sentence for each caveat."""
    return [caveat_sentence(one) for one in result.caveats]
