"""The answer: the whole first screen of a report, and the first lines on a terminal.

The first paragraph answers the question in at most 60 words. The second has at most 60 words on
the costs and the causes of the answer. Then come the caveats that forbid to claim something, and
the next run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from netstudy.analysis.caveats import Caveat
from netstudy.analysis.requirements import CheckedRequirement
from netstudy.analysis.study_result import StudyResult
from netstudy.report.answer.budget import alone, led, within, words_in
from netstudy.report.answer.causes import where_frames_wait, why
from netstudy.report.answer.costs import costs
from netstudy.report.answer.findings import allowed, findings_first
from netstudy.report.answer.next_run import next_run
from netstudy.report.caveats import caveat_sentence
from netstudy.report.cellrefs import count, treatment_text
from netstudy.report.conclusions import brief_sentences
from netstudy.report.expectation_table import expectation_text
from netstudy.report.prose.against_published import published_winners
from netstudy.report.prose.words import things
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.requirement_table import condition_text, worst_number

WORDS_MAX = 60
"""Most words of each of the two paragraphs."""


@dataclass(frozen=True)
class Answer:
    """The answer to a study's question."""

    sentences: tuple[Sentence, ...]
    """The answer itself."""
    further: tuple[Sentence, ...]
    """Costs of the answer, failed requirements, refuted expectations, and causes."""
    caveats: tuple[Caveat, ...]
    """The caveats that forbid to claim something."""
    next: Sentence | None
    """The run that would decide what is open; None: nothing is open."""

    @property
    def forbidding(self) -> tuple[Sentence, ...]:
        """The sentences of the caveats."""
        return tuple(caveat_sentence(one).capitalised() for one in self.caveats)

    def __iter__(self) -> Iterator[Sentence]:
        """All sentences, in the order of the page."""
        yield from (*self.sentences, *self.further, *self.forbidding)
        if self.next is not None:
            yield self.next


def answer(result: StudyResult) -> Answer:
    """The answer to the question of a study."""
    winners = published_winners(result)
    found = allowed(result)
    sentences = within(findings_first(result, found.sources), WORDS_MAX - words_in(winners))
    sentences = [*(sentences or [say("The runs do not decide it.")]), *winners]
    told = {str(one) for one in sentences}
    further = chain(
        alone(costs(result)),
        alone(_required(result)),
        alone(_expected(result)),
        alone(where_frames_wait(result)),
        alone(brief_sentences(result)),
        led(why(result)),
    )
    rest = (one for one in further if str(one.sentence) not in told)
    return Answer(
        sentences=tuple(one.capitalised() for one in sentences),
        further=tuple(one.capitalised() for one in within(rest, WORDS_MAX, first_always=False)),
        caveats=found.caveats,
        next=next_run(result),
    )


def _expected(result: StudyResult) -> Iterator[Sentence]:
    """The refuted expectations."""
    for one in result.expectations:
        if one.outcome == "refuted":
            yield say("Expected, but not so: {text}.", text=Name(expectation_text(one)))


def _required(result: StudyResult) -> Iterator[Sentence]:
    """The missed requirements, and the number of requirements that are met."""
    asked = [one for one in result.requirements if one.outcome != "not in this run"]
    yield from map(_missed, result.missed)
    met = len(asked) - len(result.missed)
    if asked:
        yield say(
            "{met} of {n} met.",
            met=count(met, "requirements that are met"),
            n=things(count(len(asked), "requirements with cells in this run"), "requirement"),
        )


def _missed(one: CheckedRequirement) -> Sentence:
    """The sentence on a missed requirement, with the worst value."""
    worst, value = one.worst, worst_number(one)
    if worst is None or value is None or one.outcome == "not measured":
        return say("Not measured: {required}.", required=Name(condition_text(one)))
    return say(
        "Requirement failed: {required} (worst {value}: {where}).",
        required=Name(condition_text(one)),
        value=value,
        where=Name(treatment_text(worst.cell.treatment)),
    )
