"""Planted limits, found in the simulator with several seeds, and never a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.bounds.verdict import Level
from netstudy.analysis.conclusions.bottleneck import Bottlenecks
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.related import pool_study
from netstudy.plan import make_plan
from netstudy.study import load
from netstudy.testbed import named
from netstudy.wire import Record, RunRecord
from tests.bottleneck.planted import LIMITS, Limit

pytestmark = pytest.mark.engine
SEEDS = range(1, 21)
_LEAST = 19


def found(level: Level) -> set[tuple[str, str]]:
    """Kinds and nodes of what limits throughput at a level; empty: not decided."""
    if level.cause == "served":
        return {("none", "")}
    if level.part is not None:
        return {(level.part.kind, level.part.node)}
    return {(one.resource.kind, one.resource.node) for one in level.limits}


def verdicts(folder: Path, limit: Limit, seed: int) -> dict[object, set[tuple[str, str]]]:
    """Carry out the study with a seed: level of the first factor -> what limits throughput."""
    path = folder / "study.yaml"
    path.write_text(f"study: planted\nquestion: Where is the bottleneck?\n{limit.text}")
    study = load(path)
    plan = make_plan(study, seed=seed, traces=True).plan
    records: list[RunRecord] = []

    def keep(record: Record, line: bytes) -> None:
        if isinstance(record, RunRecord):
            records.append(record)

    named("sim").run(plan, threads=None, on_record=keep)
    assert all(record.status == "ok" for record in records)
    table = pool_study(study, plan, records)
    drawn = Bottlenecks.draw(Bottlenecks.by_default(), Cells.of(study, table, "main", {}))
    assert drawn is not None, "each study has a throughput"
    return {
        next(iter(level.row.treatment.values())): found(level)
        for one in drawn.limits
        for level in one.levels
    }


def outcome(folder: Path, limit: Limit, seed: int) -> str:
    """ "right", "open", or the wrong verdicts."""
    every = verdicts(folder, limit, seed)
    wrong = {level: every[level] for level, right in limit.at.items() if right not in every[level]}
    if any(wrong.values()):
        return f"wrong: {wrong}"
    return "open" if wrong else "right"


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_the_planted_limit_is_found(limit: Limit, tmp_path: Path) -> None:
    assert outcome(tmp_path, limit, 1) == "right", limit.why


@pytest.mark.slow
@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_the_planted_limit_is_found_with_other_seeds(limit: Limit, tmp_path: Path) -> None:
    every = [outcome(tmp_path, limit, seed) for seed in SEEDS]
    assert set(every) <= {"right", "open"}, "never a wrong one"
    assert every.count("right") >= _LEAST
