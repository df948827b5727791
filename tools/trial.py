"""The incast study with changed figures, run by the engine and compared with the published tables.

The fit of profiles and the ablation of mechanisms ask the same question: how close does a plan
come to the published values? Plans are JSON here, so that a figure can be changed directly in the
plan, without a profile of its own.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from netstudy import wire
from netstudy.analysis.cells import pool
from netstudy.analysis.layout import layout
from netstudy.analysis.reference import PanelReference, Published, beside, read_reference
from netstudy.analysis.workloads.incast import INCAST
from netstudy.plan import make_plan
from netstudy.study import Study, apply_overrides, load
from netstudy.testbed.engine import find_engine

ROOT = Path(__file__).parents[1]
STUDY = ROOT / "studies/incast"

Run = dict[str, Any]
Plan = dict[str, Any]


@cache
def study() -> Study:
    """The incast study."""
    return load(STUDY)


@cache
def published() -> tuple[Published, ...]:
    """The values of its reference tables."""
    return read_reference(study(), INCAST.metrics)


def configurations() -> tuple[str, ...]:
    """The configurations of the study, each with a published table."""
    return tuple(map(str, study().factors["configuration"].names))


def plan(
    iterations: int,
    seed: int,
    servers: Sequence[int] | None = None,
    replicates: int = 1,
    configurations: Sequence[str] | None = None,
) -> Plan:
    """The study's plan with as many iterations and replicates; all levels unless given."""
    changes = {"replicates": str(replicates), "workload.incast.iterations": str(iterations)}
    only: dict[str, Sequence[wire.Level]] = {}
    if servers is not None:
        only["servers"] = servers
    if configurations is not None:
        only["configuration"] = configurations
    planned = make_plan(apply_overrides(study(), changes), seed=seed, only=only)
    made: Plan = json.loads(wire.to_json(planned.plan))
    return made


def only_published(asked: Plan) -> Plan:
    """The runs of a plan that have a row in a published table."""
    rows = published()
    runs = [run for run in asked["runs"] if any(row.is_of(run["treatment"]) for row in rows)]
    return {**asked, "runs": runs}


def switch(run: Run) -> dict[str, Any]:
    """The one switch of a run."""
    (found,) = (node for node in run["network"]["nodes"] if node["kind"] == "switch")
    return dict(found)


def iterations(run: Run) -> int:
    """Iterations that a run is measured for."""
    (measure,) = (phase for phase in run["phases"] if phase["kind"] == "measure")
    return int(measure["until"]["count"])


def places(run: Run, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Where a dotted path leads in a run, through every item of a list: a map and its key."""
    *way, last = path.split(".")
    found: list[Any] = [run]
    for step in way:
        nexts = [one[step] for one in found if isinstance(one, dict) and step in one]
        found = [item for one in nexts for item in (one if isinstance(one, list) else [one])]
    yield from ((one, last) for one in found if isinstance(one, dict) and last in one)


def changed(base: Plan, changes: Mapping[str, Any]) -> Plan:
    """A copy of a plan with other values at some paths, wherever a run has them."""
    copy: Plan = json.loads(json.dumps(base))
    for run in copy["runs"]:
        put(run, changes)
    return copy


def put(run: Run, changes: Mapping[str, Any]) -> None:
    """Set values at paths, wherever the run has them."""
    for path, value in changes.items():
        for place, key in places(run, path):
            place[key] = value


def simulate(asked: Plan) -> list[wire.RunRecord]:
    """Run a plan; the records in its order.

    Raises RuntimeError where the engine refuses the plan, or a run fails or breaks a law.
    """
    command = [str(find_engine()), "sim"]
    done = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the engine ended with {done.returncode}: {done.stderr.strip()}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    records = [wire.RunRecord.model_validate(line) for line in lines if line["kind"] == "run"]
    for record in records:
        if record.status != "ok":
            raise RuntimeError(f"run {record.run} is {record.status}: {record.error}")
    return records


def agreements(asked: Plan, records: Sequence[wire.RunRecord]) -> dict[str, PanelReference]:
    """The report's analysis of the records and the published values, by configuration."""
    cells = pool(wire.Plan.model_validate(asked), records)
    compare = study().compare
    assert compare is not None, "the incast study compares its switches"
    laid_out = (layout(cells, case, compare.factor) for case in cells.cases)
    panels = [panel for case in laid_out for panel in case.panels]
    return {
        str(panel.fixed["configuration"]): beside(
            panel,
            published(),
            compare.base,
            compare.margin_pct,
            metrics=INCAST.metrics,
            law=INCAST.identity,
        )
        for panel in panels
    }
