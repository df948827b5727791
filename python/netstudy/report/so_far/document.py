"""The report of an unfinished study as data: sentences and tables, which other modules render."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from netstudy.analysis.preliminary import PreliminaryTable, preliminary_tables
from netstudy.analysis.progress import progress
from netstudy.analysis.study_result import StudyResult
from netstudy.report.problem_table import problems_table
from netstudy.report.provenance import title_of
from netstudy.report.refs import Sentence
from netstudy.report.so_far.answer import preliminary_answer
from netstudy.report.so_far.progress import (
    cells_sentence,
    growth_sentences,
    later_sentence,
    problem_sentences,
    runs_sentence,
    state_sentence,
)
from netstudy.report.so_far.tables import cells_table, preliminary_table
from netstudy.report.tables import Table
from netstudy.store import FolderSoFar

_FIRST: Final = 3
"""At most this number of comparisons is shown at once."""


@dataclass(frozen=True)
class SoFar:
    """The report of an unfinished study."""

    study: str
    badge: str
    """The origin of the values, such as simulated."""
    title: str
    question: str | None
    """None if the question is the title."""
    progress: tuple[Sentence, ...]
    """How many runs are there, and how far the cells are."""
    state: Sentence
    """Says whether a process is writing to the folder, or how to finish the study."""
    growth: tuple[Sentence, ...]
    """The levels of growing factors that may follow."""
    problems: tuple[Sentence, ...]
    """The first failed and invalid runs, with the reason."""
    answer: tuple[Sentence, ...]
    """The preliminary answer."""
    later: Sentence
    """The judgements that wait for the last run."""
    problem_table: Table | None
    """All failed and invalid runs."""
    cells: tuple[Table, ...]
    """The cells of each test case."""
    comparisons: tuple[Table, ...]
    """The comparisons of each test case, in the deciding metric first."""
    first: int
    """How many of the comparisons are shown at once; the others are a click away."""


def so_far_document(folder: FolderSoFar, result: StudyResult, resume: str) -> SoFar:
    """The report of an unfinished folder; `resume` is the command that finishes it."""
    found = progress(result.cells)
    compared = comparisons(result)
    tables = [preliminary_table(one, f"compared-{n}") for n, one in enumerate(compared, 1)]
    return SoFar(
        study=result.study,
        badge=result.testbed.badge,
        title=title_of(result),
        question=result.question if result.title not in (None, result.question) else None,
        progress=(runs_sentence(found, folder.rounds()), cells_sentence(found)),
        state=state_sentence(folder, result, resume),
        growth=tuple(growth_sentences(result)),
        problems=tuple(problem_sentences(found.problems)),
        answer=tuple(preliminary_answer(result, compared)),
        later=later_sentence(result),
        problem_table=problems_table(found.problems),
        cells=tuple(
            cells_table(result, case, f"cells-{n}") for n, case in enumerate(result.cases, 1)
        ),
        comparisons=tuple(tables),
        first=min(_FIRST, sum(one.metric == result.deciding for one in compared)),
    )


def comparisons(result: StudyResult) -> list[PreliminaryTable]:
    """The comparisons of all test cases: in the deciding metric first, and of one metric, tables
    with values first."""
    found = [one for case in result.cases for one in preliminary_tables(case)]
    return sorted(
        found,
        key=lambda one: (
            one.metric != result.deciding,
            not any(pair.has_values for pair in one.pairs),
        ),
    )
