"""Outer loops: which levels of a growing factor were tried, what each gained, and what comes next.

The rule, for each combination of a case's other factors: levels are tried in their order. A level
gains where its value, that of all its replicates, is better than the best before it by more than
the noise: the study's own, else what two series of identical runs would differ by (A/A noise, from
the replicates of both levels). Of a metric that has no better direction, more is better. The first
level gains, since nothing is before it. As many levels without gain, one after the other, as
`confirm` says end the loop; one that gains starts the count anew. A level without a value ends it
too: what would come next could not be judged.

All of this is a function of the study, of what was asked for, and of the records: a folder that
was interrupted goes on as it would have gone on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from netstudy.analysis.cells import CellRow, CellTable, pool_study
from netstudy.analysis.intervals import Estimate
from netstudy.analysis.metrics import Metric, Pooled
from netstudy.analysis.named import metric_named
from netstudy.analysis.verdict import aa_noise
from netstudy.analysis.workloads import further_of, metrics_of, workload_of
from netstudy.plan import OuterLoop, outer_loops
from netstudy.plan.planned import canonical
from netstudy.wire import Level, Plan, Treatment

if TYPE_CHECKING:
    from netstudy.store import Folder
    from netstudy.study import Study

Ending = Literal["no gain", "at most", "list ended", "not measured", "no valid run"]
"""Why a loop ended: so many levels without gain as confirm it, the last level that the study
allows, the last one of its list or of what was asked for, a level whose runs do not give the
metric, or one without a valid run."""


@dataclass(frozen=True)
class Step:
    """One level that was tried."""

    level: Level
    estimate: Estimate | None
    """Of the metric that must gain, over the replicates; None: no run gives a value."""
    threshold: float | None
    """By how much, in the metric's unit, it had to be better than the best before it; None for the
    first level, and where no noise is known, so that no gain can be shown."""
    gained: bool


@dataclass(frozen=True)
class Judged:
    """The levels of a loop that were tried, as the rule sees them."""

    steps: tuple[Step, ...]
    best: Step | None
    """The level with the best value, the first of equals; None: no level has a value."""
    last_gain: Step | None
    """The last level that gained: those after it are no better by more than the noise."""
    without_gain: int
    """Levels without gain, one after the other, at the end."""


@dataclass(frozen=True, eq=False)
class GrownLoop:
    """An outer loop as far as the records go."""

    loop: OuterLoop
    metric: Metric
    judged: Judged
    rows: tuple[CellRow, ...]
    """The cells of the levels that were tried, one a step."""
    ending: Ending | None
    """None: it goes on."""
    under_way: bool = False
    """Whether runs of the last level are still missing; it is not among the steps."""

    @property
    def next(self) -> Treatment | None:
        """The whole treatment to run next; None where it ended, or waits for missing runs."""
        if self.ending is not None or self.under_way:
            return None
        return self.loop.steps[len(self.judged.steps)]

    @property
    def left(self) -> tuple[Treatment, ...]:
        """The whole treatments that may still be run, those under way included."""
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


def judge(
    tried: Sequence[tuple[Level, Estimate | None]],
    *,
    lower_is_better: bool,
    margin_pct: float | None,
) -> Judged:
    """Holds each level against the best before it, in the order in which they were tried."""
    best: Step | None = None
    last_gain: Step | None = None
    without = 0
    steps: list[Step] = []
    for level, estimate in tried:
        before = None if best is None else best.estimate
        threshold = _threshold(before, estimate, margin_pct)
        ahead = _ahead(before, estimate, lower_is_better=lower_is_better)
        gained = estimate is not None and (
            before is None or (threshold is not None and ahead > threshold)
        )
        step = Step(level, estimate, threshold, gained)
        steps.append(step)
        if estimate is not None and (before is None or ahead > 0):
            best = step
        last_gain = step if gained else last_gain
        without = 0 if gained else without + 1
    return Judged(tuple(steps), best, last_gain, without)


def _ahead(before: Estimate | None, now: Estimate | None, *, lower_is_better: bool) -> float:
    """By how much a value is better than the best before it; below zero where it is worse."""
    if before is None or now is None:
        return 0.0
    return before.value - now.value if lower_is_better else now.value - before.value


def _threshold(
    before: Estimate | None, now: Estimate | None, margin_pct: float | None
) -> float | None:
    if before is None or now is None:
        return None
    if margin_pct is not None:
        return margin_pct / 100 * abs(before.value)
    known = [noise for one in (before, now) if (noise := aa_noise(one)) is not None]
    return max(known, default=None)


def grown_loops(
    study: Study, loops: Iterable[OuterLoop], cells: CellTable, metrics: Mapping[str, Metric]
) -> tuple[GrownLoop, ...]:
    """Each loop as far as the cells go; its levels are those that the plans so far hold.

    `metrics` are those that decide (`deciding_metrics`).
    """
    rows = {(case, canonical(row.treatment)): row for row in cells.rows for case in row.cases}
    return tuple(_grown(study, loop, metrics[loop.case], rows) for loop in loops)


def loops_of(folder: Folder, study: Study, plan: Plan, cells: CellTable) -> tuple[GrownLoop, ...]:
    """The outer loops of a results folder; `cells` are all that it has."""
    invocation = folder.invocation()
    if not invocation.has_rounds(study):
        return ()
    loops = outer_loops(study, invocation.levels_kept(study))
    return grown_loops(study, loops, cells, deciding_metrics(study, plan))


def loops_in(folder: Folder) -> tuple[GrownLoop, ...]:
    """The outer loops of a results folder, read from its records."""
    study, plan = folder.study(), folder.plan()
    cells = pool_study(study, plan, folder.records(plan.runs), folder.series)
    return loops_of(folder, study, plan, cells)


def _grown(
    study: Study, loop: OuterLoop, metric: Metric, rows: Mapping[tuple[str, str], CellRow]
) -> GrownLoop:
    planned = [rows.get((loop.case, canonical(step))) for step in loop.steps]
    there = [row for row in planned if row is not None]
    complete = [row for row in there if all(one.kind != "missing" for one in row.problems)]
    judged = judge(
        [(row.treatment[loop.factor.name], row.estimate(metric)) for row in complete],
        lower_is_better=metric.direction == "lower",
        margin_pct=study.margin_pct,
    )
    under_way = len(complete) < len(there)
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
    """Case -> the metric that its growing factor must gain; only cases in which one grows."""
    return {
        case.name: _metric(case.growing.growth.of, plan)
        for case in study.cases
        if case.growing is not None and case.growing.growth is not None
    }


def _metric(of: str | None, plan: Plan) -> Metric:
    if of is None:
        return workload_of(plan).throughput
    metric = metric_named(of, _vocabulary(plan))
    assert metric is not None, "a metric that the runs do not give was refused before them"
    return metric


def _vocabulary(plan: Plan) -> tuple[Metric, ...]:
    return (*metrics_of(plan), *further_of(plan))


def unsupported(study: Study, plan: Plan) -> list[str]:
    """Growing factors whose metric cannot decide here, a sentence each with its place."""
    found: list[str] = []
    for case in study.cases:
        factor = case.growing
        of = factor.growth.of if factor and factor.growth else None
        if factor is not None and of is not None:
            why = _undecided(of, study, plan)
            path = (*factor.path, "of")
            found += [str(study.document.problem(path, f'"{of}" {why}'))] if why else []
    return found


def _undecided(of: str, study: Study, plan: Plan) -> str | None:
    """Why a metric cannot tell a gain of these runs; None: it can."""
    metric = metric_named(of, _vocabulary(plan))
    if metric is None:
        kind = plan.runs[0].workload.kind
        default = workload_of(plan).throughput.name
        return f"is not measured by the workload {kind}, whose throughput is {default}"
    repeats = not isinstance(metric.reading, Pooled) or metric.reading.repeats
    if study.margin_pct is None and not repeats:
        return "does not repeat from run to run, so that replicates give no noise; say noise"
    return None
