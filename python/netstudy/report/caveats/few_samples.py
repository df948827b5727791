"""Sentences on percentiles of too few samples."""

from __future__ import annotations

from netstudy.analysis.caveats.few_samples import FewSamples, FewSamplesExpected
from netstudy.documents.problems import listed
from netstudy.report.caveats.base import at_setting, caveat_sentence
from netstudy.report.cellrefs import count
from netstudy.report.prose.words import things
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.tables import lacking_text


@caveat_sentence.register
def few_samples(found: FewSamples) -> Sentence:
    """In how many cells a percentile has no value, and why."""
    return say(
        "The study asks for “{metric}” ({places}), which has no value in {n} of {all}: {why}.",
        metric=Name(found.metric.title),
        places=Name(listed(found.places)),
        n=count(found.cells, "cells with too few samples"),
        all=things(count(found.every, "cells with runs"), "cell"),
        why=Name(lacking_text(found.fewest)),
    )


@caveat_sentence.register
def few_samples_expected(found: FewSamplesExpected) -> Sentence:
    """How many samples a percentile takes, and how many there will be."""
    template = (
        "{metric} of one run takes {needed} {noun}s, and a run gives about {expected}{at}: there "
        "will be no verdict on it. Measure more in each run."
        if found.of_one_run
        else "{metric} takes {needed} {noun}s, and all runs of a setting give about "
        "{expected}{at}: it will have no value there. Measure more, or ask for a percentile closer "
        "to the median."
    )
    return say(
        template,
        metric=Name(found.metric.name, code=True),
        needed=count(found.needed, f"fewest {found.noun}s that carry it"),
        noun=Name(found.noun),
        expected=count(found.expected, f"{found.noun}s without losses, as estimated"),
        at=at_setting(found.treatment),
    )
