"""`plateau`: where throughput stops growing with its load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netstudy.analysis.conclusions.plateau import Levelled
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.conclusions.growth import growth_sentences

if TYPE_CHECKING:
    from netstudy.analysis.conclusions import Concluded
    from netstudy.report.refs import Sentence


class PlateauPage(ConclusionPage[Levelled]):
    """Where growth ends."""

    kind = Levelled
    subject = "growth"

    def sentences(self, drawn: Levelled, found: Concluded) -> Iterator[Sentence]:  # noqa: ARG002
        """The end of the growth at each setting."""
        return growth_sentences(drawn.growths)
