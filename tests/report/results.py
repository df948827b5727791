"""Results folders made by the real plan and store, filled with synthetic records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from netstudy.hardware import HardwareLibrary
from netstudy.plan import make_plan
from netstudy.plan_lines import plan_lines
from netstudy.store import Folder, Invocation, create, gather
from netstudy.study import load, parse_only
from netstudy.wire import EngineRecord, Run, RunRecord, to_json
from tests.report.synthetic import record

INCAST = Path(__file__).parents[2] / "studies" / "incast"
NOW = datetime(2026, 11, 21, 20, 30, tzinfo=UTC)
Maker = Callable[[Run], RunRecord | None]

HEAD = """
study: small
question: What does it do?
topology:
  switch: {switch}
  client: {{profile: ucs-c200-rhel54}}
  server: {{profile: ucs-c200-rhel54, count: {servers}}}
  link: {{rate: 10 Gbit/s, delay: 1 us, mtu: 9000 B}}
workload:
  incast: {{block: {block}, iterations: {iterations}, warmup: 10}}
"""


def study_text(
    rest: str,
    *,
    switch: str = "nexus-5010",
    servers: str = "4",
    block: str = "4 MB",
    iterations: str = "90",
) -> str:
    """A small study; `rest` brings the factors and what else it has."""
    head = HEAD.format(switch=switch, servers=servers, block=block, iterations=iterations)
    return head + rest


def from_text(folder: Path, text: str, maker: Maker = record) -> Folder:
    """The results of a study that is given as text."""
    path = folder / "study.yaml"
    path.write_text(text)
    return results(folder, path, maker=maker)


def results(
    folder: Path,
    study: Path = INCAST,
    *,
    only: Sequence[str] = (),
    overrides: Mapping[str, str] | None = None,
    quick: bool = False,
    maker: Maker = record,
    testbed: str = "sim",
    variant: str | None = None,
) -> Folder:
    """The results of a study file; a maker that returns None leaves a run out. Of the incast study
    its first configuration, where nothing else is asked for."""
    written = load(study)
    if study == INCAST and variant is None and not any("configuration" in one for one in only):
        only = [*only, "configuration=4 MB"]
    invocation = Invocation(
        study=str(study),
        testbed=testbed,
        seed=1,
        only=parse_only(only, written),
        overrides=dict(overrides or {}),
        quick=quick,
        variant=variant,
    )
    applied = invocation.applied_to(written)
    kept = invocation.levels_kept(applied)
    plan = make_plan(applied, seed=1, only=kept, traces=invocation.traces).plan
    files = gather(written, applied, plan, HardwareLibrary.default(applied.folder))
    made = create(folder / "results", plan.study, plan_lines(plan), invocation, files, 0, NOW)
    _fill(made, maker, testbed)
    return made


def _fill(made: Folder, maker: Maker, testbed: str) -> None:
    with made.writing():
        made.begin_session(NOW)
        engine = EngineRecord(schema="netstudy/record/2", version="0.1.0", testbed=testbed)
        made.write_engine(to_json(engine).encode() + b"\n")
        for run in made.plan().runs:
            outcome = maker(run)
            if outcome is not None:
                if testbed == "sim" and outcome.status != "failed":
                    outcome = outcome.model_copy(update={"mode": "closed-form"})
                made.write_run(run.id, outcome.status, to_json(outcome).encode() + b"\n")
        made.end_session(NOW)


def small_incast(folder: Path, maker: Maker = record) -> Folder:
    """The incast study with few servers and iterations, five runs a cell."""
    return results(
        folder,
        only=["servers=1,2,5,9"],
        overrides={"workload.incast.iterations": "120", "replicates": "5"},
        maker=maker,
    )
