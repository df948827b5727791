"""Outer loops: each runs a growing factor level by level and determines the next level to run.

There is one loop for each combination of the other factors of a test case. Levels are tried in
their order and judged by the rule of `steps`. The loop ends after `confirm` levels without gain
since the last gain; undecided levels do not count. A level without a value ends the loop too, since
the next level could not be judged.

The next level depends only on the study, the invocation and the records, so an interrupted folder
continues as if it had not been interrupted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.metrics import Metric, Pooled
from netstudy.analysis.named import metric_named
from netstudy.analysis.related import pool_study, reader
from netstudy.analysis.steps import Judged, Step, judge_rows
from netstudy.analysis.workloads import further_of, metrics_of, workload_of
from netstudy.plan import OuterLoop, outer_loops
from netstudy.plan.identity import canonical
from netstudy.study.vocabulary import MetricName
from netstudy.wire import Plan, Treatment

if TYPE_CHECKING:
    from netstudy.store import Folder
    from netstudy.study import Study

Ending = Literal["no gain", "at most", "list ended", "not measured", "no valid run"]
"""Why a loop ended, in this order: there were `confirm` levels without gain, the last level that
the study allows was run, the list of levels in the study or invocation ended, the runs of a level
do not measure the metric, or a level has no valid run."""


@dataclass(frozen=True, eq=False)
class GrownLoop:
    """An outer loop, up to its latest records."""

    loop: OuterLoop
    metric: Metric
    judged: Judged
    rows: tuple[CellRow, ...]
    """The cells of the levels that were tried, one for each step."""
    ending: Ending | None
    """None: the loop goes on."""
    under_way: bool = False
    """Whether runs of the latest level are still missing; this level is then not among the
    steps."""

    @property
    def next(self) -> Treatment | None:
        """The complete treatment to run next; None if the loop ended, or waits for missing runs."""
        if self.ending is not None or self.under_way:
            return None
        return self.loop.steps[len(self.judged.steps)]

    @property
    def left(self) -> tuple[Treatment, ...]:
        """The complete treatments that may still be run, including the one under way."""
        return () if self.ending is not None else self.loop.steps[len(self.judged.steps) :]

    @property
    def best_row(self) -> CellRow | None:
        """The cell of the best level."""
        return self._row(self.judged.best)

    @property
    def last_gain_row(self) -> CellRow | None:
        """The cell of the last level that gained."""
        return self._row(self.judged.last_gain)

    def _row(self, step: Step | None) -> CellRow | None:
        return None if step is None else self.rows[self.judged.steps.index(step)]


def grown_loops(
    study: Study, loops: Iterable[OuterLoop], cells: CellTable, metrics: Mapping[str, Metric]
) -> tuple[GrownLoop, ...]:
    """Each loop up to its latest cell; a level without a cell was not planned yet.

    `metrics` are the deciding metrics (`deciding_metrics`).
    """
    rows = {(case, canonical(row.treatment)): row for row in cells.rows for case in row.cases}
    return tuple(_grown(study, loop, metrics[loop.case], rows) for loop in loops)


def loops_of(folder: Folder, study: Study, plan: Plan, cells: CellTable) -> tuple[GrownLoop, ...]:
    """The outer loops of a results folder; `cells` must contain all cells of the folder."""
    invocation = folder.invocation()
    if not invocation.has_rounds(study):
        return ()
    loops = outer_loops(study, invocation.levels_kept(study))
    return grown_loops(study, loops, cells, deciding_metrics(study, plan))


def loops_in(folder: Folder) -> tuple[GrownLoop, ...]:
    """The outer loops of a results folder, read from its records."""
    study, plan = folder.study(), folder.plan()
    cells = pool_study(study, plan, reader(folder), folder.series)
    return loops_of(folder, study, plan, cells)


def _grown(
    study: Study, loop: OuterLoop, metric: Metric, rows: Mapping[tuple[str, str], CellRow]
) -> GrownLoop:
    planned = [rows.get((loop.case, canonical(step))) for step in loop.steps]
    present = [row for row in planned if row is not None]
    complete = [row for row in present if all(one.kind != "missing" for one in row.problems)]
    judged = judge_rows(study, loop.case, complete, loop.factor.name, metric)
    under_way = len(complete) < len(present)
    ending = None if under_way else _ending(loop, judged, complete)
    return GrownLoop(loop, metric, judged, tuple(complete), ending, under_way)


def _ending(loop: OuterLoop, judged: Judged, rows: Sequence[CellRow]) -> Ending | None:
    growth = loop.factor.growth
    assert growth is not None, "the factor of a loop grows"
    if judged.steps and judged.steps[-1].estimate is None:
        return "not measured" if rows[-1].runs else "no valid run"
    if judged.without_gain >= growth.confirm:
        return "no gain"
    if len(judged.steps) == len(loop.steps):
        is_last = judged.steps[-1].level == growth.at_most
        return "at most" if is_last else "list ended"
    return None


def deciding_metrics(study: Study, plan: Plan) -> dict[str, Metric]:
    """Case -> the metric that its growing factor must improve; only cases with a growing factor."""
    return {
        case.name: _metric(case.growing.growth.of, plan)
        for case in study.cases
        if case.growing is not None and case.growing.growth is not None
    }


def _metric(of: MetricName | None, plan: Plan) -> Metric:
    if of is None:
        return workload_of(plan).throughput
    metric = metric_named(of, _vocabulary(plan))
    assert metric is not None, "`unsupported` refused unknown metrics before the runs"
    return metric


def _vocabulary(plan: Plan) -> tuple[Metric, ...]:
    return (*metrics_of(plan), *further_of(plan))


def unsupported(study: Study, plan: Plan) -> list[str]:
    """One sentence for each growing factor whose gain these runs cannot show, with the position in
    the file."""
    found: list[str] = []
    for case in study.cases:
        factor = case.growing
        of = factor.growth.of if factor and factor.growth else None
        if factor is not None and of is not None:
            why = _undecided(of, study, plan)
            path = (*factor.path, "of")
            found += [str(study.document.problem(path, f'"{of}" {why}'))] if why else []
    return found


def _undecided(of: MetricName, study: Study, plan: Plan) -> str | None:
    """Why these runs cannot show a gain in a metric; None if they can."""
    metric = metric_named(of, _vocabulary(plan))
    if metric is None:
        kind = plan.runs[0].workload.kind
        default = workload_of(plan).throughput.name
        return f"is not measured by the workload {kind}, whose throughput is {default}"
    repeats = not isinstance(metric.reading, Pooled) or metric.reading.repeats
    if study.margin_pct is None and not repeats:
        return "is an extreme value, so that replicates do not show its noise; declare noise"
    return None
