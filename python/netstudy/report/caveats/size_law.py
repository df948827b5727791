"""Sentences on sizes whose times do not fit the law of the other sizes."""

from __future__ import annotations

from collections.abc import Callable

from netstudy.analysis.caveats.size_law import OffLaw
from netstudy.analysis.size_law import LAW
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.cellrefs import count
from netstudy.report.numbers import full_level, level_text
from netstudy.report.prose.words import NOTHING
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.units import rough_size


@caveat_sentence.register
def off_law(found: OffLaw) -> Sentence:
    """A size whose times do not fit the law of the other sizes, and the size that these times
    imply."""
    several = found.settings > 1
    basis = f"{found.metric.name} at {found.factor}={level_text(found.level)}"
    return say(
        "At {level} the times do not fit the law {law}{where}: {metric} is {ratio} times the "
        "prediction from the other sizes, and would fit a size of {size}.",
        level=Name(full_level(found.factor, found.level)),
        law=Name(LAW),
        where=say(" in all {n} settings", n=count(found.settings, "settings along the size"))
        if several
        else NOTHING,
        metric=Name(found.metric.label),
        ratio=_span(found.ratio, lambda one: f"{one:.1f}", f"{basis} ÷ that of the law"),
        size=_span(
            found.implied_bytes,
            lambda one: rough_size(round(one)),
            f"(mean {basis} - latency) × bandwidth",
        ),
    )


def _span(ends: tuple[float, float], text: Callable[[float], str], source: str) -> Number:
    low, high = (text(one) for one in ends)
    return Number(ends[0], low if low == high else f"{low} to {high}", source)
