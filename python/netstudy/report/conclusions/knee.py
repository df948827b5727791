"""`knee`: the level above which a factor brings no further gain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netstudy.analysis.conclusions.knee import KneeFound
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.conclusions.growth import growth_sentences, more_load

if TYPE_CHECKING:
    from netstudy.analysis.conclusions import Concluded
    from netstudy.report.refs import Sentence


class KneePage(ConclusionPage[KneeFound]):
    """Where growth ends."""

    kind = KneeFound
    subject = "growth"

    def sentences(self, drawn: KneeFound, found: Concluded) -> Iterator[Sentence]:  # noqa: ARG002
        """The end of the growth at each setting."""
        return growth_sentences(drawn.growths)

    def next_run(self, drawn: KneeFound) -> Sentence | None:
        """More load, while throughput grows."""
        return more_load(drawn.growths)
