"""`equivalent`: whether levels are the same within the noise."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.conclusions.equivalent import Alike
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.conclusions.bundle import bundle_sentence
from netstudy.report.conclusions.levels import levels_sentences, ratios_tables
from netstudy.report.refs import Sentence
from netstudy.report.tables import Table


class EquivalentPage(ConclusionPage[Alike]):
    """Whether levels are the same."""

    kind = Alike
    subject = "comparison"

    def sentences(self, drawn: Alike, found: Concluded) -> Iterator[Sentence]:
        """Each pair of levels of each factor."""
        for one in drawn.factors:
            yield from levels_sentences(one.levels, found.at)
            yield from map(bundle_sentence, one.bundles)

    def tables(self, drawn: Alike, found: Concluded, key: str) -> Iterator[Table]:
        """The ratio at each setting."""
        return ratios_tables(drawn.compared, found.at, key)
