"""The executive summary: the conclusions of the cases, repeated."""

from __future__ import annotations

from netstudy.analysis.study_result import PanelResult, StudyResult
from netstudy.report.prose.conclude import deciding, verdict_points
from netstudy.report.prose.explain import cause_summary
from netstudy.report.prose.observe import key_observations
from netstudy.report.prose.published import published_summary
from netstudy.report.prose.words import Point, point


def summary(result: StudyResult) -> list[Point]:
    """The points of the summary; without a comparison, what was observed."""
    several = len(result.cases) > 1
    return [
        Point(f"{one.lead}, {case.name}", one.sentences) if several else one
        for case in result.cases
        for found in case.panels
        for one in _panel_points(found)
    ]


def _panel_points(found: PanelResult) -> list[Point]:
    verdicts = [one for table in deciding(found) for one in verdict_points(found, table)]
    return [
        *(verdicts or point("Observed", key_observations(found))),
        *point("Why", cause_summary(found)),
        *point("Published", published_summary(found)),
    ]
