"""Levels that differ in several things at once, in a sentence."""

from __future__ import annotations

from netstudy.analysis.conclusions.levels import Bundle
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import count
from netstudy.report.prose.words import named
from netstudy.report.refs import Name, Sentence, say


def bundle_sentence(one: Bundle) -> Sentence:
    """The sentence on levels that differ in several things: a difference cannot be credited to one
    of them."""
    words = (
        "so two of their effects may cancel out"
        if one.is_equal
        else "so a difference cannot be credited to one of them"
    )
    return say(
        f"{{a}} and {{b}} differ in {{n}} things at once ({{parts}}), {words}.",
        a=named(one.factor, one.level),
        b=named(one.factor, one.base),
        n=count(len(one.parts), "things that differ between the levels"),
        parts=Name(listed(list(one.parts))),
    )
