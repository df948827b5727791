"""`plateau`: where throughput stops growing with its load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from netstudy.analysis.conclusions.cells import Growth
from netstudy.analysis.conclusions.plateau import Levelled
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.conclusions.growth import growth_sentences, more_load
from netstudy.report.question import Clause
from netstudy.report.truth import Truth, whole

if TYPE_CHECKING:
    from netstudy.analysis.conclusions import Concluded
    from netstudy.report.refs import Sentence


class PlateauPage(ConclusionPage[Levelled]):
    """Where growth ends."""

    kind = Levelled
    subject = "growth"

    def truth(self, drawn: Levelled, clause: Clause) -> Truth | None:
        """Whether throughput fills the link, if the clause asks that."""
        if not clause.is_polar or not clause.has(_FILLS):
            return None
        return whole(_fills(one) for one in drawn.growths)

    def sentences(self, drawn: Levelled, found: Concluded) -> Iterator[Sentence]:  # noqa: ARG002
        """The end of the growth at each setting."""
        return growth_sentences(drawn.growths)

    def next_run(self, drawn: Levelled) -> Sentence | None:
        """More load, while throughput grows."""
        return more_load(drawn.growths)


_FILLS: Final = "fills?|full|saturates?|sustained use"
_FULL: Final = 0.9
"""Share of the line rate from which a link counts as full, as for a bottleneck."""


def _fills(one: Growth) -> bool | None:
    """Whether a link is full where growth ends; None: growth has not ended, or no one link carries
    the throughput."""
    value = one.last_gain.value(one.metric)
    if one.line_bps is None or value is None:
        return None
    if value * 1e6 >= _FULL * one.line_bps:
        return True
    return False if one.has_ended and not one.is_uncertain else None
