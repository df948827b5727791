"""Sentences on TCP factors without the event that they act on."""

from __future__ import annotations

from netstudy.analysis.caveats.never_triggered import NoLoss, NoSignal, NoTimeout
from netstudy.documents.problems import listed
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.numbers import full_level
from netstudy.report.refs import Name, Sentence, say


@caveat_sentence.register
def no_timeout(found: NoTimeout) -> Sentence:
    """A minimum RTO without timeouts."""
    return say(
        "No retransmission timed out in any run, so {factor} was not tested: it acts only on "
        "timeouts.",
        factor=Name(found.factor),
    )


@caveat_sentence.register
def no_loss(found: NoLoss) -> Sentence:
    """A loss recovery without losses."""
    return say(
        "No packet was lost in any run, so {factor} was not tested: it acts only on losses.",
        factor=Name(found.factor),
    )


@caveat_sentence.register
def no_signal(found: NoSignal) -> Sentence:
    """A congestion control without losses and marks."""
    return say(
        "No packet was lost or marked in any run, so {factor} was hardly tested: {levels} differ "
        "mainly in their response to losses and marks.",
        factor=Name(found.factor),
        levels=Name(listed([full_level(found.factor, level) for level in found.levels])),
    )
