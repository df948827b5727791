"""Causes in the box of the answer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from netstudy.analysis.study_result import StudyResult
from netstudy.report.prose.explain import cause_summary
from netstudy.report.prose.signals import moved_losses, standing_queues
from netstudy.report.prose.words import in_words
from netstudy.report.refs import Sentence


def where_frames_wait(result: StudyResult) -> Iterator[Sentence]:
    """The queues in which frames wait longest, of the first panel whose ports have disciplines."""
    panels = [found for case in result.cases for found in case.panels]
    each = ((found, one) for found in panels for one in standing_queues(found))
    for found, one in islice(each, 1):
        yield in_words(found.panel, one) if len(panels) > 1 else one


def why(result: StudyResult) -> Iterator[Sentence]:
    """The causes in the first panel that has any, and the panels whose losses are at another place.
    With several panels, each sentence names its panel."""
    panels = [found for case in result.cases for found in case.panels]
    base = next((found for found in panels if cause_summary(found)), None)
    if base is None:
        return
    first, *others = cause_summary(base)
    yield in_words(base.panel, first) if len(panels) > 1 else first
    for found in panels:
        if found.panel.fixed != base.panel.fixed:
            yield from (in_words(found.panel, one) for one in moved_losses(found, base))
    yield from others
