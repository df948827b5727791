"""The executive summary: the conclusions of the cases, repeated."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.analysis.requirements import CheckedRequirement
from netstudy.analysis.study_result import CaseResult, PanelResult, StudyResult
from netstudy.report.cellrefs import cell_number, count, treatment_text
from netstudy.report.prose.conclude import deciding, verdict_points
from netstudy.report.prose.explain import cause_summary
from netstudy.report.prose.grow import loop_sentence
from netstudy.report.prose.observe import key_observations
from netstudy.report.prose.published import published_summary
from netstudy.report.prose.words import Point, held_levels, point, things
from netstudy.report.refs import Name, Sentence, say
from netstudy.report.requirement_table import condition_text


def summary(result: StudyResult) -> list[Point]:
    """The points of the summary; without a comparison, the observations."""
    several = len(result.cases) > 1
    return [
        *point("Required", _required(result)),
        *(
            one
            for case in result.cases
            for one in _case_points(case, f", {case.name}" if several else "")
        ),
    ]


def _required(result: StudyResult) -> Iterator[Sentence]:
    """The number of requirements that are met, and each one that is missed."""
    asked = [one for one in result.requirements if one.outcome != "not in this run"]
    if asked:
        yield say(
            "{met} of {n} that this run can answer {verb} met.",
            met=count(len(asked) - len(result.missed), "requirements that are met"),
            n=things(count(len(asked), "requirements with cells in this run"), "requirement"),
            verb=Name("is" if len(asked) - len(result.missed) == 1 else "are"),
        )
    for one in result.missed:
        yield _missed(one)


def _missed(one: CheckedRequirement) -> Sentence:
    """The requirement and the actual value."""
    worst = one.worst
    value = None
    if worst is not None and one.metric is not None:
        value = cell_number(worst.cell, one.metric, unit=True)
    if worst is None or value is None or one.outcome == "not measured":
        return say("{required} was not measured.", required=Name(condition_text(one)))
    return say(
        "{required} is missed: {value} at {where}.",
        required=Name(condition_text(one)),
        value=value,
        where=Name(treatment_text(worst.cell.treatment)),
    )


def _case_points(case: CaseResult, name: str) -> list[Point]:
    """The points of a case, each with `name` behind its lead."""
    return [
        *point(f"Grown{name}", map(loop_sentence, case.loops)),
        *(
            one
            for found in case.panels
            for one in _panel_points(found, name, _told_apart(case, found))
        ),
    ]


def _told_apart(case: CaseResult, found: PanelResult) -> Sentence:
    """What a panel holds and other panels of its case do not."""
    first = case.panels[0].panel.fixed
    differing = {f for one in case.panels for f, v in one.panel.fixed.items() if v != first[f]}
    return held_levels({f: v for f, v in found.panel.fixed.items() if f in differing})


def _panel_points(found: PanelResult, name: str, held: Sentence) -> list[Point]:
    verdicts = [
        Point(f"{one.lead}{name}", one.sentences)
        for table in deciding(found)
        for one in verdict_points(found, table)
    ]
    return [
        *(verdicts or point(f"Observed{name}{held}", key_observations(found))),
        *point(f"Why{name}", cause_summary(found)),
        *point(f"Published{name}", published_summary(found)),
    ]
