"""Sentences on ECN that could not act."""

from __future__ import annotations

from netstudy.analysis.caveats.marking import NeverMarks, NobodyListens, NoMark, NothingMarks
from netstudy.documents.problems import listed
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.refs import Name, Sentence, say

_THRESHOLD = Name("ecn_threshold", code=True)


@caveat_sentence.register
def nothing_marks(found: NothingMarks) -> Sentence:
    """Hosts with ECN, without a switch that marks."""
    return say(
        "{who} on {nodes} cannot be tested: no switch on the path marks. Set {key} of a switch.",
        who=_ecn(dctcp=found.dctcp),
        nodes=Name(listed(list(found.hosts))),
        key=_THRESHOLD,
    )


@caveat_sentence.register
def nobody_listens(found: NobodyListens) -> Sentence:
    """Switches that mark, without a connection that uses ECN."""
    return say(
        "{nodes} marks from its {key} on, but no connection has ECN at both ends, so "
        "nothing is marked: set {ecn} at both.",
        nodes=Name(listed(list(found.switches))),
        key=_THRESHOLD,
        ecn=Name("tcp.ecn: true", code=True),
    )


@caveat_sentence.register
def never_marks(found: NeverMarks) -> Sentence:
    """Thresholds that no queue can reach."""
    return say(
        "{nodes} can mark nothing: no queue there can become longer than its {key}. Set a "
        "lower one.",
        nodes=Name(listed(list(found.switches))),
        key=_THRESHOLD,
    )


@caveat_sentence.register
def no_mark(found: NoMark) -> Sentence:
    """Thresholds that no queue reached."""
    return say(
        "{nodes} marked nothing in any run, so {who} was not tested: the queue stayed below {key}.",
        nodes=Name(listed(list(found.switches))),
        who=_ecn(dctcp=found.dctcp),
        key=_THRESHOLD,
    )


def _ecn(*, dctcp: bool) -> Name:
    return Name("DCTCP" if dctcp else "ECN")
