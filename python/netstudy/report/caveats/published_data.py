"""Sentences on published data that cannot be used, or that the study contradicts."""

from __future__ import annotations

from netstudy.analysis.caveats.published_data import ContradictedOrder, UnreadReference
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.cellrefs import count, level_name
from netstudy.report.refs import Name, Sentence, say


@caveat_sentence.register
def unread_reference(found: UnreadReference) -> Sentence:
    """The problem of the reference data."""
    return say("{text}.", text=Name(found.problem))


@caveat_sentence.register
def contradicted_order(found: ContradictedOrder) -> Sentence:
    """Two levels that the published data order the other way round."""
    order = found.order
    return say(
        "In {metric} the published data put {level} and {base} the other way round in {n} of "
        "{total} rows that differ clearly: the model of one of them may be wrong.",
        metric=Name(order.metric.label),
        level=level_name(order.level),
        base=level_name(order.base),
        n=count(order.compared - order.same, "rows in the other order"),
        total=count(order.compared, "rows that differ by more than the noise on both sides"),
    )
