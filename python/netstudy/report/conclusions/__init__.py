"""The conclusions that a study asks for, in sentences and tables, one file per kind. Only `PAGES`
lists the kinds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.study_result import StudyResult
from netstudy.report.conclusions.base import ConclusionPage
from netstudy.report.conclusions.bottleneck import BottleneckPage
from netstudy.report.conclusions.bypasses_the_wire import BypassPage
from netstudy.report.conclusions.compare import ComparePage
from netstudy.report.conclusions.equivalent import EquivalentPage
from netstudy.report.conclusions.extrapolate import ExtrapolatePage
from netstudy.report.conclusions.first_repetition import RepetitionPage
from netstudy.report.conclusions.knee import KneePage
from netstudy.report.conclusions.limit import LimitPage
from netstudy.report.conclusions.loss_against_ideal import LossPage
from netstudy.report.conclusions.plateau import PlateauPage
from netstudy.report.conclusions.substitution import SubstitutionPage
from netstudy.report.conclusions.where_time_goes import TimePage
from netstudy.report.figures import Figure
from netstudy.report.prose.words import Point, held_levels, point
from netstudy.report.refs import Sentence
from netstudy.report.tables import Table

PAGES: Final[tuple[ConclusionPage[Any], ...]] = (
    BottleneckPage(),
    PlateauPage(),
    BypassPage(),
    RepetitionPage(),
    SubstitutionPage(),
    LimitPage(),
    ComparePage(),
    ExtrapolatePage(),
    EquivalentPage(),
    KneePage(),
    LossPage(),
    TimePage(),
)
"""The text and the tables of each kind."""
_OF: Final = {page.kind.kind: page for page in PAGES}


def page_of_conclusion(found: Concluded) -> ConclusionPage[Any]:
    """The text and the tables of a conclusion's kind."""
    return _OF[type(found.asked)]


def concluded_points(result: StudyResult) -> list[Point]:
    """One point for each conclusion, in the order of the study."""
    return _points(result, result.concluded)


def default_points(result: StudyResult) -> list[Point]:
    """One point for each conclusion of every study for which this one does not ask."""
    return _points(result, result.by_default)


def _points(result: StudyResult, concluded: Iterable[Concluded]) -> list[Point]:
    many = len(result.cases) > 1
    return [one for found in concluded for one in point(_lead(found, many), sentences_of(found))]


def _lead(found: Concluded, many: bool) -> str:
    title = found.asked.title
    title = f"{title[:1].upper()}{title[1:]}{held_levels(found.at)}"
    return f"{title} ({found.case})" if many else title


def sentences_of(found: Concluded) -> list[Sentence]:
    """The findings of a conclusion, the weightiest first; or the reason why it cannot be drawn."""
    page = _OF[type(found.asked)]
    if found.drawn is None:
        return [page.not_drawn(found.asked)]
    return list(page.sentences(found.drawn, found))


def brief_sentences(result: StudyResult) -> Iterator[Sentence]:
    """The findings that every answer may quote, whatever the question is."""
    for page, found, _ in _every_drawn(result):
        yield from page.in_brief(found.drawn, found)


def conclusion_tables(result: StudyResult) -> Iterator[Table]:
    """The tables of each conclusion, in the order of the study."""
    for page, found, key in _every_drawn(result):
        yield from page.tables(found.drawn, found, key)


def conclusion_figures(result: StudyResult) -> Iterator[Figure]:
    """The figures of each conclusion, in the order of the study."""
    for page, found, key in _every_drawn(result):
        yield from page.figures(found.drawn, found, key)


def _every_drawn(result: StudyResult) -> Iterator[tuple[ConclusionPage[Any], Concluded, str]]:
    """Each conclusion that is drawn, with its page and the beginning of its ids."""
    for number, found in enumerate((*result.concluded, *result.by_default), start=1):
        if found.drawn is not None:
            yield page_of_conclusion(found), found, f"concluded-{number}"
