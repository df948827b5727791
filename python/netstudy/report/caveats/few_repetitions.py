"""Sentences on too few repetitions to judge the first one."""

from __future__ import annotations

from netstudy.analysis.caveats.few_repetitions import FewRepetitions
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.cellrefs import count
from netstudy.report.prose.words import things
from netstudy.report.refs import Name, Sentence, say


@caveat_sentence.register
def few_repetitions(found: FewRepetitions) -> Sentence:
    """How many repetitions it takes, and how many there are."""
    return say(
        "A first repetition cannot be compared with later ones: this takes {least} of a setting, "
        "and the most here is {n}. Set {replicates} higher.",
        least=least_repetitions(found.needed),
        n=count(found.repetitions, "the most repetitions of a setting"),
        replicates=Name("replicates", code=True),
    )


def least_repetitions(number: int) -> Sentence:
    """The phrase "3 repetitions": the minimum for judging the first repetition."""
    return things(count(number, "a spread needs two later ones"), "repetition")
