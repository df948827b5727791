"""Sentences on costs in the simulator that nobody measured."""

from __future__ import annotations

from netstudy.analysis.caveats.assumed_costs import AssumedCosts, BuiltInApplication
from netstudy.documents.problems import listed
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.refs import Name, Sentence, say


@caveat_sentence.register
def built_in_application(found: BuiltInApplication) -> Sentence:  # noqa: ARG001  # its kind says it all
    """The study says nothing of its application's costs."""
    return say(
        "Absolute figures rest on built-in costs of an application that the study does not "
        "describe."
    )


@caveat_sentence.register
def assumed_costs(found: AssumedCosts) -> Sentence:
    """The profiles with assumed figures."""
    return say(
        "Absolute figures rest on costs of {profiles} that were assumed, not measured.",
        profiles=Name(listed(list(found.figures))),
    )
