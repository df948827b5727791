"""Sentences on phases of only a few round trips."""

from __future__ import annotations

from netstudy.analysis.caveats.short_phase import ShortPhase
from netstudy.report.caveats.base import at_setting, caveat_sentence, duration
from netstudy.report.refs import Name, Sentence, say

_PHASES = {"warm-up": "warm-up", "measure": "measuring phase"}


@caveat_sentence.register
def short_phase(found: ShortPhase) -> Sentence:
    """The length of the phase, and that of a round trip."""
    return say(
        "The {phase} lasts {length}, and a round trip takes {trip}{at}: TCP hardly gets "
        "beyond its first windows. Make it longer.",
        phase=Name(_PHASES[found.phase]),
        length=duration(found.length_ns),
        trip=duration(round(found.trip_ns), "without queues"),
        at=at_setting(found.treatment),
    )
