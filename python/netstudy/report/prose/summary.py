"""The summary: the answer in a box, then expectations, requirements, causes, published values.

The answer has at most 60 words and the whole summary at most 150, however many factors and test
cases a study has; further results are in the section of each test case.
"""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.analysis.case_result import PanelResult
from netstudy.analysis.requirements import CheckedRequirement
from netstudy.analysis.study_result import StudyResult
from netstudy.report.cellrefs import count, treatment_text
from netstudy.report.expectation_table import expectation_text
from netstudy.report.prose.answer import alone, answer, led, within, words_in
from netstudy.report.prose.explain import cause_summary
from netstudy.report.prose.published import published_summary, published_winners
from netstudy.report.prose.signals import moved_losses
from netstudy.report.prose.words import Point, in_words, point, things
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.requirement_table import condition_text, worst_number

WORDS_MAX = 150
_WHY = 2
"""At most this number of sentences on causes from one panel."""


def summary(result: StudyResult) -> list[Point]:
    """The answer, then further points as long as they fit. If no sentence of a point fits, they are
    tried again without their asides, such as intervals in brackets. Words are kept for the
    sentences on other winners in the published data, whatever the points before them say."""
    found = point("Answer", answer(result))
    winners = list(alone(published_winners(result)))
    for lead, sentences in (
        ("Expected", list(alone(_expected(result)))),
        ("Required", list(alone(_required(result)))),
        ("Why", list(led(_why(result)))),
        ("Published", [*winners, *alone(published_summary(result))]),
    ):
        left = WORDS_MAX - sum(words_in(one.sentences) for one in found)
        if lead != "Published":
            left -= words_in([one.sentence for one in winners])
        short = alone(one.sentence.without_asides() for one in sentences if one.after is None)
        fitting = within(sentences, left, first_always=False)
        found += point(lead, fitting or within(short, left, first_always=False))
    return found


def _why(result: StudyResult) -> Iterator[Sentence]:
    """The causes in the first panel that has any, and the panels whose losses are at another place.
    With several panels, each sentence names its panel."""
    panels = list(_panels(result))
    base = next((found for found in panels if cause_summary(found)), None)
    if base is None:
        return
    first, *others = cause_summary(base)[:_WHY]
    yield in_words(base.panel, first) if len(panels) > 1 else first
    for found in panels:
        if found.panel.fixed != base.panel.fixed:
            yield from (in_words(found.panel, one) for one in moved_losses(found, base))
    yield from others


def _panels(result: StudyResult) -> Iterator[PanelResult]:
    return (found for case in result.cases for found in case.panels)


def _expected(result: StudyResult) -> Iterator[Sentence]:
    """One sentence for each expectation, refuted ones first."""
    order = ("refuted", "confirmed", "undecided")
    asked = [one for one in result.expectations if one.outcome in order]
    for one in sorted(asked, key=lambda one: order.index(one.outcome)):
        text = Name(expectation_text(one))
        yield say("{outcome}: {text}.", outcome=Name(one.outcome.capitalize()), text=text)


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
