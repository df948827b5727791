"""Sentences on waits that no counter explains."""

from __future__ import annotations

from netstudy.analysis.caveats.unexplained_waits import UnexplainedWaits
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.prose.signals import long_waits, sent_again
from netstudy.report.prose.words import in_panel
from netstudy.report.refs import Sentence, say


@caveat_sentence.register
def unexplained_waits(found: UnexplainedWaits) -> Sentence:
    """Waits of about one minimum RTO without a timeout."""
    return say(
        "{waits}{held}, and {known}: look for the cause before you trust the tail.",
        waits=long_waits(found.panel, found.waits),
        held=in_panel(found.panel.panel),
        known=sent_again(found.waits),
    )
