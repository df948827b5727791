"""The rule that decides at which levels of a growing factor the metric improves: these levels
"gain".

Levels are judged in their order. A level gains if its value, over all replicates, is better than
the best value of the earlier levels by more than the noise. This is the noise that the study sets,
else the likely difference between two series of identical runs (A/A noise, from the replicates of
both levels). For a metric without a better direction, a higher value counts as better. The first
level always gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netstudy.analysis.verdict import aa_noise

if TYPE_CHECKING:
    from netstudy.analysis.cells import CellRow
    from netstudy.analysis.intervals import Estimate
    from netstudy.analysis.metrics import Metric
    from netstudy.wire import Level


@dataclass(frozen=True)
class Step:
    """One level that was tried."""

    level: Level
    estimate: Estimate | None
    """Estimate of the deciding metric, over the replicates; None: no run has a value."""
    threshold: float | None
    """The noise: a gain is an improvement over `before` by more than this, in the metric's unit.
    None for the first level, and if no noise is known, so that no gain can be shown."""
    gained: bool
    before: Estimate | None = None
    """The best value of the earlier levels; None: no earlier level has a value."""
    ahead: float | None = None
    """Improvement over `before`, in the metric's unit; negative if this level is worse."""


@dataclass(frozen=True)
class Judged:
    """The levels of a loop that were tried, judged by the rule."""

    steps: tuple[Step, ...]
    best: Step | None
    """The level with the best value; of equal values, the first. None: no level has a value."""
    last_gain: Step | None
    """The last level that gained: later levels are not better by more than the noise."""
    without_gain: int
    """Number of consecutive levels without gain at the end."""


def judge(
    tried: Sequence[tuple[Level, Estimate | None]],
    *,
    lower_is_better: bool,
    margin_pct: float | None,
) -> Judged:
    """Compares each level with the best of the earlier ones, in the order in which they were
    tried."""
    best: Step | None = None
    last_gain: Step | None = None
    without = 0
    steps: list[Step] = []
    for level, estimate in tried:
        before = None if best is None else best.estimate
        threshold = _threshold(before, estimate, margin_pct)
        ahead = _ahead(before, estimate, lower_is_better=lower_is_better)
        is_first = estimate is not None and before is None
        gained = is_first or (ahead is not None and threshold is not None and ahead > threshold)
        step = Step(level, estimate, threshold, gained, before, ahead)
        steps.append(step)
        if is_first or (ahead is not None and ahead > 0):
            best = step
        last_gain = step if gained else last_gain
        without = 0 if gained else without + 1
    return Judged(tuple(steps), best, last_gain, without)


def _ahead(before: Estimate | None, now: Estimate | None, *, lower_is_better: bool) -> float | None:
    if before is None or now is None:
        return None
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


def settled(
    rows: Sequence[CellRow], factor: str, metric: Metric, margin_pct: float | None
) -> list[CellRow]:
    """For each set of rows that differ only in a growing factor: the row at the last level with a
    gain, because higher levels only add delay. `rows` are in the order of the factor's levels; rows
    without a value are left out."""
    groups: dict[frozenset[tuple[str, Level]], list[CellRow]] = {}
    for row in rows:
        if row.value(metric) is not None:
            others = ((name, level) for name, level in row.treatment.items() if name != factor)
            groups.setdefault(frozenset(others), []).append(row)
    return [_settled(own, factor, metric, margin_pct) for own in groups.values()]


def _settled(
    rows: Sequence[CellRow], factor: str, metric: Metric, margin_pct: float | None
) -> CellRow:
    judged = judge(
        [(row.treatment.get(factor, ""), row.estimate(metric)) for row in rows],
        lower_is_better=metric.direction == "lower",
        margin_pct=margin_pct,
    )
    assert judged.last_gain is not None, "the first level gains"
    return rows[judged.steps.index(judged.last_gain)]
