"""Sentences on PAUSE that never stopped anybody."""

from __future__ import annotations

from netstudy.analysis.caveats.pause import NoPause
from netstudy.documents.problems import listed
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.refs import Name, Sentence, say


@caveat_sentence.register
def no_pause(found: NoPause) -> Sentence:
    """Thresholds of PAUSE that no queue reached."""
    return say(
        "{nodes} sent no PAUSE in any run, so PAUSE was not tested: no queue reached {key}.",
        nodes=Name(listed(list(found.nodes))),
        key=Name("pause_high", code=True),
    )
