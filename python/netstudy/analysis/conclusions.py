"""The conclusions that a study asks for, drawn from its cells in the order of the study.

A conclusion is drawn for the test case that it names, else for every test case, from the cells at
the levels that it names. All kinds reuse other parts of the analysis: for example, verdicts compare
levels, and the rule of growing factors finds where growth stops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from netstudy.analysis.bottleneck import Limits, bottlenecks
from netstudy.analysis.bypass import Crossings, crossings
from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.conclusion_cells import Cells, Growth
from netstudy.analysis.effects import PairEffect
from netstudy.analysis.extrapolation import Extrapolated, clients_per_link
from netstudy.analysis.intervals import Interval, student_quantile
from netstudy.analysis.line_rates import carrying_bps
from netstudy.analysis.metrics import Metric
from netstudy.analysis.ratio import fieller
from netstudy.analysis.repetition import shows_nothing
from netstudy.analysis.verdict import ALPHA
from netstudy.analysis.verdict import Comparison as Verdict
from netstudy.study.outcome import (
    Bottleneck,
    Bound,
    BypassesTheWire,
    Comparison,
    Conclusion,
    Equivalence,
    Extrapolation,
    FirstRepetition,
    Knee,
    Limit,
    Plateau,
    ScalingLoss,
    Substitution,
)
from netstudy.study.selection import one_level
from netstudy.study.vocabulary import MetricName
from netstudy.wire import Level, Treatment

if TYPE_CHECKING:
    from netstudy.study import Study


@dataclass(frozen=True, eq=False)
class LevelsCompared:
    """Levels of a factor compared in one metric."""

    metric: Metric
    factor: str
    pairs: tuple[PairEffect, ...]


@dataclass(frozen=True)
class Bundle:
    """Two levels of a factor that differ in several things at once."""

    factor: str
    level: Level
    base: Level
    parts: tuple[str, ...]
    """The things that differ."""
    is_equal: bool
    """Whether the levels are equal in every metric that was compared."""


@dataclass(frozen=True, eq=False)
class Replaced:
    """The changes when one level of a factor replaces another."""

    factor: str
    level: Level
    base: Level
    """The level that was replaced."""
    throughput: PairEffect | None
    """The effect on throughput; None: it was not measured at both levels."""
    others: tuple[PairEffect, ...]
    """The effects on the other compared metrics."""
    losses: tuple[PairEffect, ...]
    """Effects on drops, retransmissions and similar losses, for those that differ at some
    setting."""

    def changes(self, pair: PairEffect) -> list[tuple[Treatment, tuple[float, float]]]:
        """The settings at which a loss differs, with the value before and after."""
        return [
            (context, _ways(row))
            for context, row in zip(pair.contexts, pair.rows, strict=True)
            if row.outcome == "different"
        ]

    def removes(self, pair: PairEffect) -> bool:
        """True if the replacement reduces a loss to at most 1 % of its value with the base, at
        every setting that has such losses."""
        rows = [row for row in pair.rows if row.value or row.base_value]
        return all(
            row.outcome == "different" and after <= before / 100
            for row in rows
            for before, after in [_ways(row)]
        )


def _ways(row: Verdict) -> tuple[float, float]:
    """A loss before and after the replacement."""
    return (row.base_value or 0.0, row.value or 0.0)


@dataclass(frozen=True, eq=False)
class TradeOff:
    """Two levels of a factor compared in several metrics, to show gains that have a cost."""

    factor: str
    level: Level
    base: Level
    pairs: tuple[PairEffect, ...]
    """One for each metric, in the order of the study."""

    def leading(self, pair: PairEffect) -> Level | None:
        """The level that is better in a metric. If the metric has no better direction, lower counts
        as better for percentages, such as utilisations, and higher for all other units. None: the
        levels are equal, no difference is shown, or each level is better in some setting."""
        if not pair.is_shown or pair.turns or self.is_equal(pair):
            return None
        direction = pair.metric.direction
        is_cost = direction == "lower" or (direction == "neutral" and pair.metric.unit == "%")
        return self.level if (pair.contrast.value > 0) != is_cost else self.base

    def is_equal(self, pair: PairEffect) -> bool:
        """Whether the levels are equal in a metric at every setting."""
        return all(row.outcome == "same" for row in pair.rows)

    @property
    def leaders(self) -> tuple[Level, ...]:
        """The levels that lead in some metric, each once."""
        found = (self.leading(pair) for pair in self.pairs)
        return tuple(dict.fromkeys(one for one in found if one is not None))

    @property
    def is_open(self) -> bool:
        """Whether some metric shows neither a lead nor equality."""
        return any(self.leading(one) is None and not self.is_equal(one) for one in self.pairs)


@dataclass(frozen=True)
class LossAt:
    """The loss at one level compared with linear scaling from the smallest level."""

    cell: CellRow
    share_pct: float
    """Loss in percent of the linearly scaled value; below 0 for superlinear growth."""
    interval: Interval | None
    """The 95 % Fieller interval of the share."""
    is_superlinear: bool
    """Whether growth exceeds linear scaling by more than the noise."""

    @property
    def is_open(self) -> bool:
        """Whether the 95 % interval includes zero: the change may be a loss or a gain."""
        return self.interval is not None and self.interval.low < 0 < self.interval.high


@dataclass(frozen=True, eq=False)
class Loss:
    """The loss at each level compared with linear scaling from the smallest level."""

    metric: Metric
    factor: str
    held: Treatment
    first: CellRow
    levels: tuple[LossAt, ...]
    """The levels after the first, in order."""
    line_bps: int | None
    """The rate of the one link that carries all of the throughput; None: unknown, or no such
    link."""
    missing: tuple[Level, ...]
    """Levels without a value at this setting, although measured at other settings; for an
    open-ended growing factor, also the whole numbers between measured levels."""
    grown: str | None = None
    """The growing factor, if each cell is the one at the last level with a gain; None: no factor
    grows, or all cells have the same level of it."""

    @property
    def last(self) -> LossAt:
        """The loss at the largest level."""
        return self.levels[-1]


@dataclass(frozen=True, eq=False)
class LimitReached:
    """The largest value of a metric while a condition holds."""

    metric: Metric
    bound: Bound
    condition: Metric
    best: CellRow | None
    """The cell with the largest value while the condition holds; None: it holds in no cell."""
    kept: int
    broken: int
    """Number of cells that break the condition; cells without a value are not counted."""


LEAST_REPETITIONS = 3
"""Fewest repetitions of a setting for a conclusion: the first one, and two later ones whose spread
can be estimated."""


@dataclass(frozen=True, eq=False)
class Repetitions:
    """First repetitions compared with the later ones."""

    metric: Metric
    cells: int
    """Number of cells with at least LEAST_REPETITIONS repetitions that are not all alike."""
    apart: tuple[tuple[CellRow, float], ...]
    """Cells whose first repetition is outside the prediction interval of the later ones. The number
    is the first repetition ÷ the geometric mean of the later ones; the largest difference comes
    first."""
    spread_pct: float | None
    """Standard deviation of the later repetitions, pooled over the cells, in percent."""
    alike: int = 0
    """Number of cells whose repetitions are all alike, which allow no conclusion."""


Drawn = (
    LevelsCompared
    | TradeOff
    | Growth
    | Loss
    | LimitReached
    | Repetitions
    | Limits
    | Extrapolated
    | Crossings
    | Bundle
    | Replaced
)


@dataclass(frozen=True, eq=False)
class Concluded:
    """A conclusion of the study for one test case, with its findings."""

    asked: Conclusion
    case: str
    at: Treatment
    drawn: tuple[Drawn, ...]
    """The findings; empty if the runs lack the values that the conclusion needs."""
    unmeasured: tuple[MetricName, ...] = ()
    """Metrics that the conclusion names but no run measured."""


def concluded(study: Study, table: CellTable) -> tuple[Concluded, ...]:
    """Each conclusion of the study, for each test case that it applies to."""
    found: list[Concluded] = []
    for asked in study.conclude:
        draw = _DRAW[type(asked)]
        at = {name: one_level(study.factors[name], level) for name, level in asked.at.items()}
        for case in table.cases:
            if asked.case not in (None, case):
                continue
            cells = Cells.of(study, table, case, at)
            named = asked.on if isinstance(asked, Comparison) else ()
            unmeasured = tuple(name for name in named if cells.metric(name) is None)
            found.append(Concluded(asked, case, at, tuple(draw(asked, cells)), unmeasured))
    return tuple(found)


def _compare(asked: Conclusion, cells: Cells) -> Iterator[Drawn]:
    assert isinstance(asked, Comparison)
    every = cells.levels.get(asked.compare, ())
    factor = cells.study.factors[asked.compare]
    base = next(iter(every), None) if asked.base is None else one_level(factor, asked.base)
    named = [cells.metric(name) for name in asked.on] if asked.on else [_deciding(cells)]
    found = [
        LevelsCompared(metric, asked.compare, chosen)
        for metric in filter(None, named)
        if (pairs := cells.pairs(metric, asked.compare, base))
        and (chosen := tuple(one for one in pairs if one.base == base))
    ]
    yield from found
    yield from _trade_offs(asked.compare, found)
    yield from _bundles(cells, found)


def _trade_offs(factor: str, found: Sequence[LevelsCompared]) -> Iterator[TradeOff]:
    """A trade-off for every pair of levels that was compared in several metrics."""
    together: dict[tuple[Level, Level], list[PairEffect]] = {}
    for one in found:
        for pair in one.pairs:
            together.setdefault((pair.level, pair.base), []).append(pair)
    for (level, base), pairs in together.items():
        if len(pairs) > 1:
            yield TradeOff(factor, level, base, tuple(pairs))


def _deciding(cells: Cells) -> Metric | None:
    own = cells.table.workload.deciding
    return next(iter(cells.table.measured((own, *cells.table.workload.compared_on))), None)


def _bundles(cells: Cells, compared: Sequence[LevelsCompared]) -> Iterator[Bundle]:
    """A bundle for every pair of levels that differ in several things at once; it combines all
    compared metrics."""
    together: dict[tuple[str, Level, Level], list[PairEffect]] = {}
    for one in compared:
        for pair in one.pairs:
            together.setdefault((one.factor, pair.level, pair.base), []).append(pair)
    for (factor, level, base), pairs in together.items():
        parts = tuple(_differing(cells, factor, level, base))
        if len(parts) > 1:
            rows = [row for pair in pairs for row in pair.rows if row.outcome != "missing"]
            equal = bool(rows) and all(row.outcome == "same" for row in rows)
            yield Bundle(factor, level, base, parts, equal)


def _differing(cells: Cells, name: str, level: Level, base: Level) -> Iterator[str]:
    """Fields in which two levels of a factor differ, and the other differences that the study
    lists for them under `bundle`."""
    one, other = (cells.study.factors[name].level(each) for each in (level, base))
    if one is None or other is None:
        return
    for field in dict.fromkeys((*one.fields, *other.fields)):
        if one.fields.get(field) != other.fields.get(field):
            yield field
    for said in dict.fromkeys((one.bundle, other.bundle)):
        yield from (part.strip() for part in (said or "").split(",") if part.strip())


def _substitute(asked: Conclusion, cells: Cells) -> Iterator[Drawn]:
    assert isinstance(asked, Substitution)
    factor = asked.substitution
    if factor not in cells.levels:
        return
    first = cells.levels[factor][0]
    base = first if asked.base is None else one_level(cells.study.factors[factor], asked.base)
    throughput = cells.throughput
    compared = [throughput] if throughput else []
    wanted = (*_of_comparison(cells), *cells.table.workload.compared_on)
    compared = list(dict.fromkeys([*compared, *cells.table.measured(wanted)]))
    # A loss may also be a compared metric, so both lists below read the same pairs.
    by_metric = {
        one.name: {pair.level: pair for pair in cells.pairs(one, factor, base) if pair.base == base}
        for one in dict.fromkeys((*compared, *_losses(cells)))
    }
    found = [LevelsCompared(one, factor, tuple(by_metric[one.name].values())) for one in compared]
    for level in cells.levels[factor]:
        pairs = {name: pair[level] for name, pair in by_metric.items() if level in pair}
        if level == base or not pairs:
            continue
        deciding = None if throughput is None else pairs.get(throughput.name)
        yield Replaced(
            factor=factor,
            level=level,
            base=base,
            throughput=deciding,
            others=tuple(
                pairs[one.name] for one in compared if one != throughput and one.name in pairs
            ),
            losses=tuple(
                pair
                for one in _losses(cells)
                if (pair := pairs.get(one.name))
                and any(row.outcome == "different" for row in pair.rows)
            ),
        )
    yield from _bundles(cells, found)


def _of_comparison(cells: Cells) -> tuple[Metric, ...]:
    """The metrics in `compare.on` of the study."""
    asked = cells.study.compare
    named = () if asked is None else tuple(cells.metric(name) for name in asked.on)
    return tuple(one for one in named if one is not None)


def _losses(cells: Cells) -> tuple[Metric, ...]:
    """Loss metrics that the study names, else the workload's own."""
    bases = ("drop", "segments_retransmitted", "retransmissions", "timeouts")
    named = [one for one in cells.table.asked if any(base in one.name for base in bases)]
    workload = cells.table.workload
    own = (workload.drops, workload.retransmissions)
    return cells.table.measured(dict.fromkeys(named or own))


def _equivalent(asked: Conclusion, cells: Cells) -> Iterator[Drawn]:
    assert isinstance(asked, Equivalence)
    metric = cells.metric(asked.equivalent)
    for factor in cells.levels if metric else ():
        assert metric is not None, "without a metric, no factor is looped over"
        pairs = cells.pairs(metric, factor)
        if pairs:
            compared = LevelsCompared(metric, factor, pairs)
            yield compared
            yield from _bundles(cells, [compared])


def _plateau(asked: Conclusion, cells: Cells) -> Iterator[Drawn]:  # noqa: ARG001  # see _DRAW
    yield from cells.growths(cells.load)


def _knee(asked: Conclusion, cells: Cells) -> Iterator[Drawn]:
    assert isinstance(asked, Knee)
    yield from cells.growths(asked.knee)


def _loss(asked: Conclusion, cells: Cells) -> Iterator[Drawn]:  # noqa: ARG001  # see _DRAW
    for metric in cells.scaling:
        yield from _loss_of(metric, cells)


def _loss_of(metric: Metric, cells: Cells) -> Iterator[Loss]:
    factor = cells.scaled
    if factor is None:
        return
    grown = None if cells.growing is None else cells.growing.name
    grown = grown if grown in cells.levels and grown != factor else None
    for held, rows in cells.along(factor, grown):
        measured = [row for row in rows if row.value(metric) and float(row.treatment[factor]) > 0]
        if len(measured) > 1:
            first, *rest = measured
            yield Loss(
                metric=metric,
                factor=factor,
                held=held,
                first=first,
                levels=tuple(_loss_at(row, first, metric, factor, cells) for row in rest),
                line_bps=carrying_bps(cells.study, cells.table.workload, first, metric),
                missing=tuple(_missing(cells, factor, measured)),
                grown=grown,
            )


def _loss_at(row: CellRow, first: CellRow, metric: Metric, factor: str, cells: Cells) -> LossAt:
    a, b = row.estimate(metric), first.estimate(metric)
    assert a is not None, "only levels with a value are compared"
    assert b is not None, "only levels with a value are compared"
    growth = float(row.treatment[factor]) / float(first.treatment[factor])
    ratio = fieller(a, b)
    share = _lost_pct(a.value / b.value, growth)
    interval = ratio and Interval(_lost_pct(ratio.high, growth), _lost_pct(ratio.low, growth))
    noise = cells.study.margin_pct or 0.0
    beyond = share if interval is None else interval.high
    return LossAt(row, share, interval, is_superlinear=beyond < -noise)


def _missing(cells: Cells, factor: str, measured: Sequence[CellRow]) -> Iterator[Level]:
    """Levels that a reader would expect but that are not in `measured`: steps left out, and levels
    measured at other settings."""
    here = [row.treatment[factor] for row in measured]
    wanted = {*here, *cells.levels.get(factor, ())}
    grown = cells.growing
    growth = grown.growth if grown is not None and grown.name == factor else None
    if growth is not None and growth.open_ended:
        whole = [level for level in wanted if isinstance(level, int)]
        wanted |= set(range(min(whole), max(whole)))
    yield from sorted((one for one in wanted if one not in here and float(one) > 0), key=float)


def _lost_pct(ratio: float, growth: float) -> float:
    return 100 * (1 - ratio / growth)


def _bottleneck(asked: Conclusion, cells: Cells) -> Iterator[Drawn]:
    assert isinstance(asked, Bottleneck)
    yield from bottlenecks(asked, cells)


def _extrapolate(asked: Conclusion, cells: Cells) -> Iterator[Drawn]:  # noqa: ARG001  # see _DRAW
    yield from clients_per_link(cells)


def _limit(asked: Conclusion, cells: Cells) -> Iterator[Drawn]:
    assert isinstance(asked, Limit)
    bound = asked.while_
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
    asked: Conclusion,  # noqa: ARG001  # see _DRAW
    cells: Cells,
) -> Iterator[Drawn]:
    metric = _deciding(cells)
    if metric is None:
        return
    valued = [(row, _by_repetition(row, metric)) for row in cells.rows]
    valued = [(row, values) for row, values in valued if len(values) >= LEAST_REPETITIONS]
    found = [(row, values) for row, values in valued if not shows_nothing(row, metric)]
    alike = len(valued) - len(found)
    if not found:
        if alike:
            yield Repetitions(metric, 0, (), None, alike)
        return
    squares = sum(sum((v - fmean(late)) ** 2 for v in late) for _, (_, *late) in found)
    df = sum(len(late) - 1 for _, (_, *late) in found)
    spread = math.sqrt(squares / df)
    # Bonferroni over the cells: among many cells, one would stand out by chance.
    level = student_quantile(1 - ALPHA / 2 / len(found), df)
    apart = [
        (row, math.exp(first - fmean(late)))
        for row, (first, *late) in found
        if abs(first - fmean(late)) > level * spread * math.sqrt(1 + 1 / len(late))
    ]
    apart.sort(key=lambda one: -abs(math.log(one[1])))
    spread_pct = 100 * spread if spread else None
    yield Repetitions(metric, len(found), tuple(apart), spread_pct, alike)


def _bypasses(asked: Conclusion, cells: Cells) -> Iterator[Drawn]:  # noqa: ARG001  # see _DRAW
    found = crossings(cells.study, cells.table, cells.rows)
    if found.of:
        yield found


def _by_repetition(row: CellRow, metric: Metric) -> list[float]:
    """Logarithms of the values of single runs, ordered by replicate; empty if a value is not
    positive, or the first replicate is missing."""
    runs = sorted(row.runs, key=lambda run: run.replicate)
    if not runs or runs[0].replicate > min(run.replicate for run in row.planned):
        return []
    values = [metric.reading.of_run(run) for run in runs]
    known = [value for value in values if value is not None and value > 0]
    return [math.log(value) for value in known] if len(known) == len(runs) else []


_DRAW: Mapping[type[Conclusion], Callable[[Conclusion, Cells], Iterator[Drawn]]] = {
    Comparison: _compare,
    Equivalence: _equivalent,
    Substitution: _substitute,
    Plateau: _plateau,
    Knee: _knee,
    ScalingLoss: _loss,
    Bottleneck: _bottleneck,
    Extrapolation: _extrapolate,
    Limit: _limit,
    FirstRepetition: _first_repetition,
    BypassesTheWire: _bypasses,
}
"""Kind of conclusion -> the function that draws it; all have the same signature, although some do
not need `asked`."""
