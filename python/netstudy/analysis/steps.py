"""The rule that decides at which levels of a growing factor the metric improves: these levels
"gain".

Levels are judged in their order, each against the last level that gained; the first level gains.

- gain: the value, over all replicates, is better than at the last gain by more than the noise. This
  is the noise that the study sets, else the likely difference between two series of identical runs
  (A/A noise, from the replicates of both levels).
- no gain: the value is not better by more than the noise, it is shown to miss proportion to the
  load by more than the noise, and it does not rise. Proportion is the value at the last gain, times
  the growth of the load since; divided by this growth if lower is better. A factor that is no load
  has no proportion to miss.
- undecided: all other levels. They neither count as levels without gain nor restart the count.

The value rises if it is shown to be better than at one of the two levels before it, back to the
last gain, and if at this pace it would gain by the time that the load has doubled (at the next
level, if the factor is no load). "Shown" is a one-sided Welch test: at 5 % for proportion, at 10 %
for a rise. Without replicates, values count as they are, and a rise must exceed the noise.

For a metric without a better direction, a higher value counts as better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from netstudy.analysis.loads import loads_of
from netstudy.analysis.ratio import p_at_least
from netstudy.analysis.verdict import ALPHA, aa_noise

if TYPE_CHECKING:
    from netstudy.analysis.cells import CellRow
    from netstudy.analysis.intervals import Estimate
    from netstudy.analysis.metrics import Metric
    from netstudy.study import Study
    from netstudy.wire import Level

RISE_ALPHA: Final = 0.10
"""Level of the test of a rise. It is less strict than the others: a rise found by chance costs one
more level, a rise that is missed ends the growth too early."""

Outcome = Literal["gain", "no gain", "undecided"]


@dataclass(frozen=True)
class Step:
    """One level that was tried."""

    level: Level
    estimate: Estimate | None
    """Estimate of the deciding metric, over the replicates; None: no run has a value."""
    threshold: float | None
    """The noise: a gain is an improvement over `before` by more than this, in the metric's unit.
    None for the first level, and if no noise is known, so that no gain can be shown."""
    outcome: Outcome
    before: Estimate | None = None
    """The value at the last gain before this level; None: no earlier level has a value."""
    ahead: float | None = None
    """Improvement over `before`, in the metric's unit; negative if this level is worse."""

    @property
    def gained(self) -> bool:
        """Whether the level gained."""
        return self.outcome == "gain"


@dataclass(frozen=True)
class Judged:
    """The levels of a loop that were tried, judged by the rule."""

    steps: tuple[Step, ...]
    best: Step | None
    """The level with the best value; of equal values, the first. None: no level has a value."""
    last_gain: Step | None
    """The last level that gained: later levels are not better by more than the noise."""
    without_gain: int
    """Number of levels without gain since the last gain."""


def judge(
    tried: Sequence[tuple[Level, Estimate | None]],
    *,
    lower_is_better: bool,
    margin_pct: float | None,
    loads: Mapping[Level, float],
) -> Judged:
    """Judges the levels in the order in which they were tried. `loads` holds the load at each
    level; empty: the factor is no load."""
    rule = _Rule(lower_is_better, margin_pct, loads)
    steps: list[Step] = []
    since: list[_Measured] = []
    best: Step | None = None
    lead = 0.0
    for level, estimate in tried:
        step = rule.step(level, estimate, since)
        steps.append(step)
        if estimate is None:
            continue
        now = _Measured(step, estimate)
        since = [now] if step.gained else [*since, now]
        better = rule.sign * estimate.value
        if best is None or better > lead:
            best, lead = step, better
    last_gain = since[0].step if since else None
    without = sum(one.step.outcome == "no gain" for one in since)
    return Judged(tuple(steps), best, last_gain, without)


@dataclass(frozen=True)
class _Measured:
    """A level with a value."""

    step: Step
    estimate: Estimate

    @property
    def level(self) -> Level:
        return self.step.level


@dataclass(frozen=True)
class _Rule:
    lower_is_better: bool
    margin_pct: float | None
    loads: Mapping[Level, float]

    @property
    def sign(self) -> int:
        return -1 if self.lower_is_better else 1

    def step(self, level: Level, now: Estimate | None, since: Sequence[_Measured]) -> Step:
        """The level, judged against the levels with a value since the last gain, which is the
        first of them."""
        if now is None:
            before = since[0].estimate if since else None
            return Step(level, None, None, "undecided", before)
        if not since:
            return Step(level, now, None, "gain")
        last = since[0]
        threshold = _threshold(last.estimate, now, self.margin_pct)
        ahead = self.sign * (now.value - last.estimate.value)
        outcome: Outcome = "no gain"
        if threshold is None:
            outcome = "undecided"
        elif ahead > threshold:
            outcome = "gain"
        elif not self._misses_proportion(level, now, last, threshold) or self._rises(
            level, now, since, ahead, threshold
        ):
            outcome = "undecided"
        return Step(level, now, threshold, outcome, last.estimate, ahead)

    def _misses_proportion(
        self, level: Level, now: Estimate, last: _Measured, threshold: float
    ) -> bool:
        growth = self._growth(last.level, level)
        if growth is None or last.estimate.value <= 0:
            return True
        noise = threshold / last.estimate.value
        if self.lower_is_better:
            return _is_shown_below(last.estimate, now, growth / (1 + noise))
        return _is_shown_below(now, last.estimate, growth * (1 - noise))

    def _rises(
        self,
        level: Level,
        now: Estimate,
        since: Sequence[_Measured],
        ahead: float,
        threshold: float,
    ) -> bool:
        for distance, earlier in enumerate(reversed(since[-2:]), start=1):
            rise = self.sign * (now.value - earlier.estimate.value)
            growth = self._growth(earlier.level, level)
            # At a steady pace, the load doubles from here in growth / (growth - 1) such rises.
            further = rise / distance if growth is None else rise * growth / (growth - 1)
            if ahead + further > threshold and self._is_better(now, earlier.estimate, threshold):
                return True
        return False

    def _is_better(self, now: Estimate, earlier: Estimate, threshold: float) -> bool:
        worse, better = (now, earlier) if self.lower_is_better else (earlier, now)
        p = p_at_least(worse, better, 1.0)
        return better.value - worse.value > threshold if p is None else p < RISE_ALPHA

    def _growth(self, earlier: Level, later: Level) -> float | None:
        """The later load in units of the earlier one; None if the load does not grow, or if the
        factor is no load."""
        a, b = self.loads.get(earlier, 0.0), self.loads.get(later, 0.0)
        return b / a if 0 < a < b else None


def _is_shown_below(a: Estimate, b: Estimate, rho: float) -> bool:
    """Whether a is shown to be below ρ b; by the values themselves if their spread is unknown."""
    p = p_at_least(a, b, rho)
    return a.value < rho * b.value if p is None else p < ALPHA


def _threshold(before: Estimate, now: Estimate, margin_pct: float | None) -> float | None:
    if margin_pct is not None:
        return margin_pct / 100 * abs(before.value)
    known = [noise for one in (before, now) if (noise := aa_noise(one)) is not None]
    return max(known, default=None)


def judge_rows(
    study: Study, case: str, rows: Sequence[CellRow], factor: str, metric: Metric
) -> Judged:
    """Judges cells along a factor, in their order."""
    return judge(
        [(row.treatment.get(factor, ""), row.estimate(metric)) for row in rows],
        lower_is_better=metric.direction == "lower",
        margin_pct=study.margin_pct,
        loads=loads_of(study, case).get(factor, {}),
    )


def settled(
    study: Study, case: str, rows: Sequence[CellRow], factor: str, metric: Metric
) -> list[CellRow]:
    """For each set of rows that differ only in a growing factor: the row at the last level with a
    gain, because higher levels only add delay. `rows` are in the order of the factor's levels; rows
    without a value are left out."""
    groups: dict[frozenset[tuple[str, Level]], list[CellRow]] = {}
    for row in rows:
        if row.value(metric) is not None:
            others = ((name, level) for name, level in row.treatment.items() if name != factor)
            groups.setdefault(frozenset(others), []).append(row)
    return [_settled(study, case, own, factor, metric) for own in groups.values()]


def _settled(
    study: Study, case: str, rows: Sequence[CellRow], factor: str, metric: Metric
) -> CellRow:
    judged = judge_rows(study, case, rows, factor, metric)
    assert judged.last_gain is not None, "the first level gains"
    return rows[judged.steps.index(judged.last_gain)]
