"""Describes a test case: its factors, its runs, its workload, and differences of the compared
cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netstudy.analysis.case_result import CaseResult, Comparing
from netstudy.analysis.cells import CellRow
from netstudy.analysis.layout import Panel
from netstudy.analysis.settings import settings_of
from netstudy.analysis.study_result import StudyResult
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import count, level_name
from netstudy.report.numbers import level_text, spans
from netstudy.report.prose.words import NOTHING, number_range, things
from netstudy.report.refs import Name, Sentence, join, say
from netstudy.report.workloads import page_of
from netstudy.report.workloads.base import probing
from netstudy.study.levels import is_numeric
from netstudy.wire import Level, Run


def study_description(result: StudyResult) -> list[Sentence]:
    """The study's general description, and the variant that was run."""
    found = [say("{text}", text=Name(result.description))] if result.description else []
    if result.variant is not None:
        testbed, why = result.variant
        found.append(
            say(
                "In its variant for the testbed {testbed}: {why}",
                testbed=Name(testbed),
                why=Name(why),
            )
        )
    return found


def case_description(case: CaseResult, comparing: Comparing | None) -> list[Sentence]:
    """The paragraph that opens a test case."""
    cells = [cell for panel in case.panels for cell in panel.panel.cells.values()]
    sentences = [say("{text}", text=Name(case.description))] if case.description else []
    runs = [cell.planned[0] for cell in cells]
    page = page_of(case.panels[0].workload)
    return [
        *sentences,
        _varies(case, cells),
        *_levels(case),
        *page.description(runs),
        *probing(runs),
        *_differences(case, comparing),
    ]


def _varies(case: CaseResult, cells: Sequence[CellRow]) -> Sentence:
    factors = case.layout.factors.items()
    varied = [_factor(name, levels) for name, levels in factors if len(levels) > 1]
    held = [_factor(name, levels) for name, levels in factors if len(levels) == 1]
    number = count(len(cells), "cells of the test case")
    runs = number_range([len(cell.planned) for cell in cells], "planned runs a cell")
    if not factors:
        return say("It has one cell with {runs}.", runs=things(runs, "run"))
    return say(
        "It {does}: {cells} with {runs} in each.",
        does=join(
            [
                *([say("varies {factors}", factors=join(varied))] if varied else []),
                *([say("holds {factors}", factors=join(held))] if held else []),
            ]
        ),
        cells=things(number, "cell"),
        runs=things(runs, "run"),
    )


def _levels(case: CaseResult) -> Iterator[Sentence]:
    """The descriptions of levels that the study gives."""
    for factor, level, said in case.levels:
        yield say(
            "{factor} {level}: {said}",
            factor=Name(factor),
            level=level_name(level),
            said=Name(said),
        )


def _factor(name: str, levels: Sequence[Level]) -> Sentence:
    whole = is_numeric(levels) and list(levels) == list(range(int(levels[0]), int(levels[-1]) + 1))
    texts = spans(levels, levels) if whole else [level_text(level) for level in levels]
    return say("{name} ({levels})", name=Name(name), levels=Name(listed(texts)))


def _differences(case: CaseResult, comparing: Comparing | None) -> Iterator[Sentence]:
    """The settings in which the compared cells differ."""
    if comparing is None or case.layout.series != comparing.factor:
        return
    paths = dict.fromkeys(
        path
        for panel in case.panels
        for pair in _pairs(panel.panel, comparing.base)
        for path in differing(*pair)
    )
    if not paths:
        return
    credited = "a difference is credited to the {factor} as a whole, not to one of these"
    yield say(
        "The cells that are compared differ in {paths} and in nothing else{credited}.",
        paths=join([Name(path, code=True) for path in paths]),
        credited=say(f"; {credited}", factor=level_name(comparing.factor))
        if len(paths) > 1
        else NOTHING,
    )


def _pairs(panel: Panel, base: Level) -> Iterator[tuple[Run, Run]]:
    for (x, level), cell in panel.cells.items():
        other = panel.cell(x, base)
        if level != base and other is not None:
            yield cell.planned[0], other.planned[0]


def differing(a: Run, b: Run) -> list[str]:
    """Paths of the settings in which two runs differ. If a part of the configuration has different
    settings in the two runs, as it is of another kind, only the path of the part is listed."""
    left, right = settings_of(a), settings_of(b)
    parts = {path.rpartition(".")[0] for path in left.keys() ^ right.keys()}
    changed = {path for path in left.keys() & right.keys() if left[path] != right[path]}
    outside = {path for path in changed if not any(path.startswith(f"{part}.") for part in parts)}
    return sorted(parts | outside)
