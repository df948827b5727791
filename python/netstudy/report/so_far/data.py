"""The report of an unfinished study for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netstudy.analysis.preliminary import PreliminaryPair, PreliminaryTable
from netstudy.analysis.progress import progress
from netstudy.analysis.study_result import StudyResult
from netstudy.report.export import as_data
from netstudy.report.prose.grow import ending_text
from netstudy.report.so_far.document import comparisons
from netstudy.store import FolderSoFar
from netstudy.store.environment import iso


def so_far_as_data(folder: FolderSoFar, result: StudyResult) -> dict[str, Any]:
    """The progress, the cells and the comparisons of an unfinished folder."""
    found = progress(result.cells)
    loops = [one for case in result.cases for one in case.loops]
    return {
        "folder": str(folder.path),
        "state": "running" if folder.was_running else "unfinished",
        "read_utc": iso(folder.read_at),
        "runs": {
            "planned": found.planned,
            "valid": found.valid,
            "failed": found.failed,
            "invalid": found.invalid,
            "missing": found.missing,
        },
        "rounds": folder.rounds(),
        "growth": [
            {
                "case": one.loop.case,
                "factor": one.loop.factor.name,
                "at": one.loop.held,
                "may_follow": [treatment[one.loop.factor.name] for treatment in one.left],
                "told": ending_text(one),
            }
            for one in loops
        ],
        **as_data(result.cells, is_so_far=True),
        "preliminary": [one for table in comparisons(result) for one in _pairs(table)],
    }


def _pairs(table: PreliminaryTable) -> Sequence[dict[str, Any]]:
    return [
        {
            "metric": table.metric.name,
            "factor": table.factor,
            "level": table.level,
            "base": table.base,
            "at": _at(table, one),
            "value": one.value,
            "base_value": one.base_value,
            "runs_valid": 0 if one.a is None else len(one.a.runs),
            "base_runs_valid": 0 if one.base is None else len(one.base.runs),
            "change": one.change,
            "change_unit": "percentage points" if table.metric.is_share else "%",
            "interval": None if one.interval is None else [one.interval.low, one.interval.high],
            "ahead": one.ahead,
            "within_noise": one.is_within_noise,
        }
        for one in table.pairs
    ]


def _at(table: PreliminaryTable, one: PreliminaryPair) -> dict[str, Any]:
    """The levels that both cells share."""
    x = table.panel.x
    return {**table.panel.fixed, **({} if x is None else {x: one.x})}
