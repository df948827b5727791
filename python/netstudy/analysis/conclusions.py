"""The conclusions that a study asks for, drawn from its cells in the order of the study.

A conclusion is drawn for its test case, or for each of them, from the cells at its levels. Every
kind rests on what the rest of the analysis uses: verdicts for levels against each other, the rule
of growing factors for where growth stops to pay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.effects import PairEffect, pair_effects
from netstudy.analysis.growth import Judged, judge
from netstudy.analysis.intervals import Interval, student_quantile
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named
from netstudy.analysis.ratio import fieller
from netstudy.analysis.verdict import ALPHA
from netstudy.study.levels import is_numeric
from netstudy.study.outcome import (
    Bound,
    Comparison,
    Conclusion,
    Equivalence,
    FirstRepetition,
    Knee,
    Limit,
    Plateau,
    ScalingLoss,
    Substitution,
)
from netstudy.study.selection import one_level
from netstudy.wire import Level, Treatment

if TYPE_CHECKING:
    from netstudy.study import Study


@dataclass(frozen=True, eq=False)
class LevelsCompared:
    """Levels of a factor against each other, in one metric."""

    metric: Metric
    factor: str
    pairs: tuple[PairEffect, ...]


@dataclass(frozen=True, eq=False)
class Growth:
    """How a metric grows with a factor, at one setting of the others."""

    metric: Metric
    factor: str
    held: Treatment
    cells: tuple[CellRow, ...]
    """Along the factor."""
    judged: Judged

    @property
    def last_gain(self) -> CellRow:
        """The cell of the last level that gains."""
        gained = self.judged.last_gain
        return self.cells[self.judged.steps.index(gained)] if gained else self.cells[0]

    @property
    def beyond(self) -> tuple[CellRow, ...]:
        """The cells of the levels after it, which gain nothing."""
        return self.cells[self.cells.index(self.last_gain) + 1 :]


@dataclass(frozen=True, eq=False)
class Loss:
    """What is lost at the largest level against growth in proportion from the smallest."""

    metric: Metric
    factor: str
    held: Treatment
    first: CellRow
    last: CellRow
    share_pct: float
    """Of the value in proportion; below 0 where growth is more than in proportion."""
    interval: Interval | None
    """The 95 % interval of the share, Fieller's."""


@dataclass(frozen=True, eq=False)
class LimitReached:
    """How far a metric goes while a condition holds."""

    metric: Metric
    bound: Bound
    condition: Metric
    best: CellRow | None
    """The cell with the largest value among those that keep the condition; None: none keeps it."""
    kept: int
    broken: int
    """Cells that do not keep it; those without a value count as neither."""


@dataclass(frozen=True, eq=False)
class Repetitions:
    """First repetitions beside the later ones."""

    metric: Metric
    cells: int
    """Cells with at least three repetitions."""
    apart: tuple[tuple[CellRow, float], ...]
    """Cells whose first repetition lies outside what the later ones let expect, with the ratio of
    the first to the mean of the later ones; the largest difference first."""
    spread_pct: float | None
    """Standard deviation of a later repetition, pooled over the cells, in percent."""


Drawn = LevelsCompared | Growth | Loss | LimitReached | Repetitions


@dataclass(frozen=True, eq=False)
class Concluded:
    """A conclusion of the study for one test case, with what it is drawn from."""

    asked: Conclusion
    case: str
    at: Treatment
    drawn: tuple[Drawn, ...]
    """Empty where the runs do not give what it needs."""


def concluded(study: Study, table: CellTable) -> tuple[Concluded, ...]:
    """Each conclusion of the study that this version draws, for each of its test cases."""
    found: list[Concluded] = []
    for asked in study.conclude:
        draw = _DRAW.get(type(asked))
        if draw is None:
            continue
        at = {name: one_level(study.factors[name], level) for name, level in asked.at.items()}
        for case in table.cases:
            if asked.case not in (None, case):
                continue
            cells = _Cells.of(study, table, case, at)
            found.append(Concluded(asked, case, at, tuple(draw(asked, cells))))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells that a conclusion is drawn from, and what else it needs to know."""

    study: Study
    table: CellTable
    rows: tuple[CellRow, ...]
    levels: Mapping[str, tuple[Level, ...]]
    """Factors of these cells with several levels."""
    growing: str | None

    @classmethod
    def of(cls, study: Study, table: CellTable, case: str, at: Treatment) -> _Cells:
        rows = tuple(
            row
            for row in table.of_case(case)
            if all(row.treatment.get(name) == level for name, level in at.items())
        )
        levels = {
            name: tuple(level for level in every if any(_has(row, name, level) for row in rows))
            for name, every in table.factors.items()
        }
        growing = next((one.growing for one in study.cases if one.name == case), None)
        return cls(
            study=study,
            table=table,
            rows=rows,
            levels={name: found for name, found in levels.items() if len(found) > 1},
            growing=growing.name if growing else None,
        )

    def metric(self, name: str) -> Metric | None:
        """A metric as the study names it, if some cell has a value of it."""
        found = metric_named(name, self.table.vocabulary)
        return found if found is not None and self.table.measured([found]) else None

    def pairs(self, metric: Metric, factor: str) -> tuple[PairEffect, ...]:
        """Every two levels of a factor."""
        found = pair_effects(self.rows, self.levels, metric, self.study.margin_pct)
        return found.get(factor, ())

    def along(self, factor: str) -> Iterator[tuple[Treatment, tuple[CellRow, ...]]]:
        """The cells along a factor, at each setting of the others."""
        groups: dict[frozenset[tuple[str, Level]], list[CellRow]] = {}
        for row in self.rows:
            if factor in row.treatment:
                key = frozenset(_without(row.treatment, factor).items())
                groups.setdefault(key, []).append(row)
        order = self.levels.get(factor, ())
        for rows in groups.values():
            held = _without(rows[0].treatment, factor)
            several = {name: level for name, level in held.items() if name in self.levels}
            if len(rows) > 1:
                rows.sort(key=lambda row: order.index(row.treatment[factor]))
                yield several, tuple(rows)

    @property
    def load(self) -> str | None:
        """The factor that grows, else the first numeric one with several levels."""
        if self.growing in self.levels:
            return self.growing
        return next((name for name, found in self.levels.items() if is_numeric(found)), None)


def _has(row: CellRow, name: str, level: Level) -> bool:
    return name in row.treatment and row.treatment[name] == level


def _without(treatment: Treatment, factor: str) -> Treatment:
    return {name: level for name, level in treatment.items() if name != factor}


def _compare(asked: Conclusion, cells: _Cells) -> Iterator[Drawn]:
    assert isinstance(asked, Comparison)
    every = cells.levels.get(asked.compare, ())
    factor = cells.study.factors[asked.compare]
    base = next(iter(every), None) if asked.base is None else one_level(factor, asked.base)
    named = [cells.metric(name) for name in asked.on] if asked.on else [_deciding(cells)]
    for metric in filter(None, named):
        pairs = cells.pairs(metric, asked.compare)
        chosen = tuple(one for one in pairs if base in (one.level, one.base))
        if chosen:
            yield LevelsCompared(metric, asked.compare, chosen)


def _deciding(cells: _Cells) -> Metric | None:
    own = cells.table.workload.deciding
    return next(iter(cells.table.measured((own, *cells.table.workload.compared_on))), None)


def _substitute(asked: Conclusion, cells: _Cells) -> Iterator[Drawn]:
    assert isinstance(asked, Substitution)
    for metric in cells.table.measured(cells.table.workload.compared_on):
        pairs = cells.pairs(metric, asked.substitution)
        if pairs:
            yield LevelsCompared(metric, asked.substitution, pairs)


def _equivalent(asked: Conclusion, cells: _Cells) -> Iterator[Drawn]:
    assert isinstance(asked, Equivalence)
    metric = cells.metric(asked.equivalent)
    for factor in cells.levels if metric else ():
        assert metric is not None, "there are no factors without it"
        pairs = cells.pairs(metric, factor)
        if pairs:
            yield LevelsCompared(metric, factor, pairs)


def _plateau(asked: Conclusion, cells: _Cells) -> Iterator[Drawn]:  # noqa: ARG001  # as every kind
    yield from _grown(cells, cells.load)


def _knee(asked: Conclusion, cells: _Cells) -> Iterator[Drawn]:
    assert isinstance(asked, Knee)
    yield from _grown(cells, asked.knee)


def _grown(cells: _Cells, factor: str | None) -> Iterator[Growth]:
    metric = _throughput(cells)
    if factor is None or metric is None:
        return
    for held, rows in cells.along(factor):
        measured = [row for row in rows if row.estimate(metric) is not None]
        judged = judge(
            [(row.treatment[factor], row.estimate(metric)) for row in measured],
            lower_is_better=metric.direction == "lower",
            margin_pct=cells.study.margin_pct,
        )
        if len(measured) > 1:
            yield Growth(metric, factor, held, tuple(measured), judged)


def _throughput(cells: _Cells) -> Metric | None:
    own = cells.table.workload.throughput
    return next(iter(cells.table.measured([own])), None)


def _loss(asked: Conclusion, cells: _Cells) -> Iterator[Drawn]:  # noqa: ARG001  # as every kind
    metric, factor = _throughput(cells), cells.load
    if metric is None or factor is None:
        return
    for held, rows in cells.along(factor):
        first, last = rows[0], rows[-1]
        a, b = last.estimate(metric), first.estimate(metric)
        if a is None or b is None or not b.value:
            continue
        growth = float(last.treatment[factor]) / float(first.treatment[factor])
        ratio = fieller(a, b)
        yield Loss(
            metric=metric,
            factor=factor,
            held=held,
            first=first,
            last=last,
            share_pct=_lost_pct(a.value / b.value, growth),
            interval=ratio
            and Interval(_lost_pct(ratio.high, growth), _lost_pct(ratio.low, growth)),
        )


def _lost_pct(ratio: float, growth: float) -> float:
    return 100 * (1 - ratio / growth)


def _limit(asked: Conclusion, cells: _Cells) -> Iterator[Drawn]:
    assert isinstance(asked, Limit)
    bound = Bound.of(asked.while_)
    metric, condition = cells.metric(asked.limit), cells.metric(bound.metric)
    if metric is None or condition is None:
        return
    values = [(row, row.value(condition)) for row in cells.rows]
    kept = [row for row, value in values if value is not None and bound.holds(value)]
    broken = [row for row, value in values if value is not None and not bound.holds(value)]
    measured = [row for row in kept if row.value(metric) is not None]
    best = max(measured, key=lambda row: row.value(metric) or 0.0, default=None)
    yield LimitReached(metric, bound, condition, best, len(kept), len(broken))


def _first_repetition(
    asked: Conclusion,  # noqa: ARG001  # as every kind
    cells: _Cells,
) -> Iterator[Drawn]:
    metric = _deciding(cells)
    if metric is None:
        return
    found = [(row, values) for row in cells.rows if len(values := _by_repetition(row, metric)) > 2]
    if not found:
        return
    squares = sum(sum((v - fmean(late)) ** 2 for v in late) for _, (_, *late) in found)
    df = sum(len(late) - 1 for _, (_, *late) in found)
    spread = math.sqrt(squares / df)
    level = student_quantile(1 - ALPHA / 2 / len(found), df)
    apart = [
        (row, math.exp(first - fmean(late)))
        for row, (first, *late) in found
        if abs(first - fmean(late)) > level * spread * math.sqrt(1 + 1 / len(late))
    ]
    apart.sort(key=lambda one: -abs(math.log(one[1])))
    yield Repetitions(metric, len(found), tuple(apart), 100 * spread if spread else None)


def _by_repetition(row: CellRow, metric: Metric) -> list[float]:
    """Logarithms of the values of single runs in the order of their numbers; empty where one is
    not positive."""
    runs = sorted(row.runs, key=lambda run: run.replicate)
    values = [metric.reading.of_run(run) for run in runs]
    known = [value for value in values if value is not None and value > 0]
    return [math.log(value) for value in known] if len(known) == len(runs) else []


_DRAW: Mapping[type[Conclusion], Callable[[Conclusion, _Cells], Iterator[Drawn]]] = {
    Comparison: _compare,
    Equivalence: _equivalent,
    Substitution: _substitute,
    Plateau: _plateau,
    Knee: _knee,
    ScalingLoss: _loss,
    Limit: _limit,
    FirstRepetition: _first_repetition,
}
