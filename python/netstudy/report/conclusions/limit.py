"""`limit`: how large a metric can become while a condition holds."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.conclusions.limit import LimitReached
from netstudy.report.cellrefs import cell_number, count, treatment_text
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.requirement_table import bound_text
from netstudy.wire import Treatment


class LimitPage(ConclusionPage[LimitReached]):
    """The largest value while a condition holds."""

    kind = LimitReached
    subject = "growth"

    def sentences(self, drawn: LimitReached, found: Concluded) -> Iterator[Sentence]:  # noqa: ARG002
        """The largest value, and how many settings keep the condition."""
        return _limit(drawn)


def _limit(one: LimitReached) -> Iterator[Sentence]:
    condition = Name(bound_text(one.bound, one.condition))
    value = None if one.best is None else cell_number(one.best, one.metric, unit=True)
    if one.best is None or value is None:
        yield say("No setting keeps {condition}.", condition=condition)
        return
    yield say(
        "{metric} reaches {value} while {condition}{where}.",
        metric=Name(one.metric.title),
        value=value,
        condition=condition,
        where=_where(one.best.treatment),
    )
    every = count(one.broken + one.kept, "settings with a value")
    if one.broken:
        yield say(
            "{n} of {all} settings do not keep {condition}.",
            n=count(one.broken, "settings beyond the condition"),
            all=every,
            condition=condition,
        )
    elif one.kept > 1:
        yield say("All {all} settings keep it, so that none shows the limit.", all=every)


def _where(treatment: Treatment) -> Sentence:
    return say(" ({where})", where=Name(treatment_text(treatment)))
