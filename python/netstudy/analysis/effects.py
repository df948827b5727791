"""The effect of each factor on a metric, averaged over the levels of the other factors, and the
interactions between factors.

A test case is a factorial design: each treatment has a level of every factor. A context of two
levels of a factor is a treatment of the other factors that was run with both levels. The effect of
the two levels is the mean of their differences over all contexts. Contexts have equal weights,
whatever their numbers of replicates. If every value is positive and the metric is not a percentage,
effects are computed on logarithms, so that an effect is a ratio of geometric means; else it is a
difference. Intervals and tests are Welch-Satterthwaite's, for a linear combination of cell means;
they hold only for the contexts that were run. As in verdicts, an effect is shown if it is outside
the study's noise band. The p values of effects are adjusted for their number (Holm 1979); the
p values of interactions are adjusted separately.

An effect over all contexts describes them only if no context has the opposite effect, and no other
factor changes it by more than its own size. Else the simple effects at each level of that factor
replace it (Montgomery, 5.3.1: a large interaction masks main effects).

See Montgomery, Design and Analysis of Experiments, chapter 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Literal

from scipy.special import stdtr

from netstudy.analysis.cells import CellRow, have_one_base
from netstudy.analysis.intervals import ROUNDING, Estimate, Interval, student_interval
from netstudy.analysis.metrics import Metric
from netstudy.analysis.ratio import holm
from netstudy.analysis.verdict import ALPHA, Comparison, Pair, verdict_table
from netstudy.study.levels import is_numeric
from netstudy.wire import Level, Treatment

Scale = Literal["ratio", "difference"]
Levels = Mapping[str, Sequence[Level]]
"""Factor -> its levels, in order."""


@dataclass(frozen=True)
class Contrast:
    """A linear combination of cell means; on the scale "ratio", a linear combination of their
    logarithms."""

    value: float
    variance: float | None
    """None: some cell has only one run, so that run-to-run variation is unknown."""
    df: float

    @property
    def interval(self) -> Interval | None:
        """The 95 % Student interval."""
        return student_interval(self.value, self.variance, self.df)

    @property
    def p(self) -> float | None:
        """Two-sided p of "the combination is 0"."""
        if self.variance is None:
            return None
        return min(1.0, 2 * min(self.p_at_most(0.0), self.p_at_least(0.0)))

    def p_at_most(self, bound: float) -> float:
        """One-sided p of "the combination is at most this"."""
        return self._tail(self.value - bound)

    def p_at_least(self, bound: float) -> float:
        """One-sided p of "the combination is at least this"."""
        return self._tail(bound - self.value)

    def _tail(self, distance: float) -> float:
        assert self.variance is not None, "without a variance, nothing is tested"
        if self.variance == 0:
            is_rounding = abs(distance) <= ROUNDING
            return 0.5 if is_rounding else float(distance < 0)
        return float(stdtr(self.df, -distance / math.sqrt(self.variance)))


@dataclass(frozen=True, eq=False)
class PairEffect:
    """The effect of one level of a factor compared with another, over all contexts and in each of
    them."""

    metric: Metric
    factor: str
    level: Level
    base: Level
    scale: Scale
    margin: float
    """The study's equivalence margin, as a share of the base."""
    contrast: Contrast
    p: float | None
    """p of "the effect is inside the noise band", adjusted over all pairs of all factors."""
    contexts: tuple[Treatment, ...]
    """Treatments of the other factors that were run with both levels."""
    rows: tuple[Comparison, ...]
    """The verdicts in the order of `contexts`; their p values are adjusted over the contexts."""
    design: _Design = field(repr=False)

    @property
    def is_shown(self) -> bool:
        """Whether the effect over all contexts is shown to be outside the noise band."""
        return self.p is not None and self.p < ALPHA

    @cached_property
    def depends_on(self) -> Interaction | None:
        """The largest interaction with another factor that is shown and exceeds the effect over all
        contexts; None if there is none, or if the levels differ in no context."""
        if not any(row.outcome == "different" for row in self.rows):
            return None
        others = (name for name, found in self.design.levels.items() if len(found) > 1)
        found = [
            one
            for by in others
            if by != self.factor
            for one in _of_pair(self.design, self.factor, (self.level, self.base), by)
        ]
        adjusted = holm([one.contrast.p for one in found])
        shown = (replace(one, p=p) for one, p in zip(found, adjusted, strict=True))
        size = abs(self.contrast.value)
        larger = (one for one in shown if one.is_shown and abs(one.contrast.value) > size)
        return max(larger, key=lambda one: abs(one.contrast.value), default=None)

    @cached_property
    def is_main(self) -> bool:
        """Whether the effect over all contexts describes each of them: it is opposite in none that
        is decided, and no other factor changes it by more than its own size."""
        ways = [row.difference for row in self.rows if row.outcome == "different"]
        is_higher = self.contrast.value > 0
        opposite = any((way > 0) != is_higher for way in ways if way is not None)
        return not opposite and self.depends_on is None

    @property
    def winner(self) -> Level | None:
        """The better level over all contexts; None: neither, undecided, or an average that does not
        describe the contexts."""
        if not self.is_shown or self.metric.direction == "neutral" or not self.is_main:
            return None
        is_lower = self.contrast.value < 0
        return self.level if is_lower == (self.metric.direction == "lower") else self.base

    @property
    def change(self) -> float:
        """`level` ÷ `base` (geometric mean), or their mean difference."""
        return math.exp(self.contrast.value) if self.scale == "ratio" else self.contrast.value

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of `change`."""
        found = self.contrast.interval
        if found is None or self.scale == "difference":
            return found
        return Interval(math.exp(found.low), math.exp(found.high))

    def won_by(self, level: Level) -> list[Treatment]:
        """The contexts in which a level is better."""
        return [c for c, row in zip(self.contexts, self.rows, strict=True) if row.winner == level]

    def simple(self, by: str) -> list[tuple[Level, PairEffect]]:
        """The effect at each level of another factor, over the contexts with this level; the
        verdicts are adjusted over all contexts."""
        found = []
        for at in self.design.levels[by]:
            own = [n for n, context in enumerate(self.contexts) if context[by] == at]
            contexts = tuple(self.contexts[n] for n in own)
            if contexts:
                found.append((at, self._within(self.design.at(by, at), contexts, own)))
        adjusted = holm([pair.p for _, pair in found])
        return [(at, replace(pair, p=p)) for (at, pair), p in zip(found, adjusted, strict=True)]

    def _within(
        self, design: _Design, contexts: tuple[Treatment, ...], own: Sequence[int]
    ) -> PairEffect:
        of_level, of_base = (
            [_key({**context, self.factor: level}) for context in contexts]
            for level in (self.level, self.base)
        )
        return replace(
            self,
            contrast=design.difference(of_level, of_base),
            p=_p_beyond(design, of_level, of_base, self.margin),
            contexts=contexts,
            rows=tuple(self.rows[n] for n in own),
            design=design,
        )

    @property
    def turns(self) -> bool:
        """Whether each of the two levels is better in some context."""
        return bool(self.won_by(self.level) and self.won_by(self.base))


@dataclass(frozen=True)
class Interaction:
    """How much the effect of two levels of a factor depends on another factor."""

    factor: str
    level: Level
    base: Level
    by: str
    at: Level
    against: Level
    """The interaction is the effect at level `at` of factor `by` minus the effect at its level
    `against`."""
    scale: Scale
    contrast: Contrast
    p: float | None
    """Adjusted over all interactions."""

    def changed(self, value: float) -> float:
        """Converts a value of the contrast: a logarithm becomes a ratio, a difference remains
        unchanged."""
        return math.exp(value) if self.scale == "ratio" else value

    @property
    def change(self) -> float:
        """Ratio of the two effects, or their difference."""
        return self.changed(self.contrast.value)

    @property
    def is_shown(self) -> bool:
        """Whether the dependence on the other factor is significant."""
        return self.p is not None and self.p < ALPHA


@dataclass(frozen=True)
class Pointless:
    """A factor makes no difference at some levels of another factor."""

    factor: str
    by: str
    levels: tuple[Level, ...]
    """The levels of `by` at which all levels of `factor` give the same value."""
    is_tail: bool
    """Whether `levels` are the highest levels of `by`."""


@dataclass(frozen=True, eq=False)
class Effects:
    """The effects of all factors of a test case on a metric."""

    metric: Metric
    scale: Scale
    pairs: Mapping[str, tuple[PairEffect, ...]]
    """Factor -> the effect of every pair of its levels; largest first."""
    interactions: tuple[Interaction, ...]
    """The largest interaction of each pair of factors; largest first."""
    pointless: tuple[Pointless, ...]

    @property
    def ranked(self) -> list[PairEffect]:
        """The largest effect of each factor that has one, the largest first. A factor has one too
        if its effects at the levels of another factor cancel out on average."""
        shown = (
            next((one for one in pairs if one.is_shown or one.depends_on is not None), None)
            for pairs in self.pairs.values()
        )
        return sorted(filter(None, shown), key=lambda one: -abs(one.contrast.value))


def effects(
    rows: Sequence[CellRow], levels: Levels, metric: Metric, margin_pct: float | None
) -> Effects | None:
    """The effects of all factors with several levels; None with fewer than two such factors, or
    where the metric was not measured."""
    several = {name: found for name, found in levels.items() if len(found) > 1}
    design = _Design.of(rows, several, metric)
    if len(several) < 2 or not design.estimates:
        return None
    pairs = _all_pairs(design, metric, margin_pct)
    return Effects(
        metric=metric,
        scale=design.scale,
        pairs=pairs,
        interactions=tuple(_interactions(design)),
        pointless=tuple(_pointless(several, pairs)),
    )


def pair_effects(
    rows: Sequence[CellRow], levels: Levels, metric: Metric, margin_pct: float | None
) -> dict[str, tuple[PairEffect, ...]]:
    """Factor -> the effect of every pair of its levels. Unlike `effects`, also works with a single
    factor."""
    return _all_pairs(_Design.of(rows, levels, metric), metric, margin_pct)


_Key = frozenset[tuple[str, Level]]


def _key(treatment: Treatment) -> _Key:
    return frozenset(treatment.items())


@dataclass(frozen=True, eq=False)
class _Design:
    """The cells of a test case by their treatment."""

    cells: Mapping[_Key, CellRow]
    estimates: Mapping[_Key, Estimate]
    levels: Levels
    scale: Scale

    @classmethod
    def of(cls, rows: Sequence[CellRow], levels: Levels, metric: Metric) -> _Design:
        cells = {_key(row.treatment): row for row in rows}
        estimates = {
            key: found for key, row in cells.items() if (found := row.estimate(metric)) is not None
        }
        has_ratios = not metric.is_share and all(one.value > 0 for one in estimates.values())
        return cls(cells, estimates, levels, "ratio" if has_ratios else "difference")

    def at(self, factor: str, level: Level) -> _Design:
        """The cells with one level of a factor."""
        kept = {key for key in self.cells if (factor, level) in key}
        return replace(
            self,
            cells={key: row for key, row in self.cells.items() if key in kept},
            estimates={key: one for key, one in self.estimates.items() if key in kept},
            levels={**self.levels, factor: [level]},
        )

    def contexts(self, factor: str, *levels: Level) -> list[_Key]:
        """Treatments of the other factors for which there is an estimate at each of these
        levels."""
        first, *others = levels
        found = [key - {(factor, first)} for key in self.estimates if (factor, first) in key]
        return [
            one
            for one in found
            if all(one | {(factor, other)} in self.estimates for other in others)
        ]

    def contrast(self, terms: Sequence[tuple[float, _Key]]) -> Contrast:
        """The linear combination of these cells with their weights."""
        found = [(weight, self._mean(self.estimates[key])) for weight, key in terms]
        value = self._sum([(weight, one.value) for weight, one in found])
        if any(one.variance is None for _, one in found):
            return Contrast(value, None, 0)
        parts = [(weight**2 * (one.variance or 0.0), one.df) for weight, one in found]
        variance = sum(part for part, _ in parts)
        spread = sum(part**2 / df for part, df in parts if df)
        df = variance**2 / spread if spread else sum(df for _, df in parts)
        return Contrast(value, variance, df)

    def difference(
        self, of_level: Sequence[_Key], of_base: Sequence[_Key], times: float = 1.0
    ) -> Contrast:
        """The mean of some cells minus `times` the mean of as many others."""
        weight = 1 / len(of_level)
        return self.contrast(
            [*((weight, one) for one in of_level), *((-weight * times, one) for one in of_base)]
        )

    def _sum(self, terms: Sequence[tuple[float, float]]) -> float:
        """The weighted sum; 0 if it is only rounding error, which would be significant if the
        variance is zero."""
        # Near x = 1, ln x is small, but its rounding error is not.
        least = 1.0 if self.scale == "ratio" else 0.0
        size = math.fsum(abs(weight) * max(abs(value), least) for weight, value in terms)
        found = math.fsum(weight * value for weight, value in terms)
        return 0.0 if abs(found) <= ROUNDING * size else found

    def _mean(self, one: Estimate) -> Contrast:
        """A cell's mean or, on the scale "ratio", the logarithm of the mean, whose variance is
        computed by the delta method."""
        variance = one.variance if one.unit == "run" else None
        if self.scale == "difference":
            return Contrast(one.value, variance, one.df)
        relative = None if variance is None else variance / one.value**2
        return Contrast(math.log(one.value), relative, one.df)


def _all_pairs(
    design: _Design, metric: Metric, margin_pct: float | None
) -> dict[str, tuple[PairEffect, ...]]:
    found = [
        pair
        for factor, levels in design.levels.items()
        for base, level in combinations(levels, 2)
        if (pair := _pair(design, factor, (level, base), metric, margin_pct)) is not None
    ]
    adjusted = holm([pair.p for pair in found])
    found = [replace(pair, p=p) for pair, p in zip(found, adjusted, strict=True)]
    found.sort(key=lambda pair: -abs(pair.contrast.value))
    return {name: tuple(one for one in found if one.factor == name) for name in design.levels}


def _pair(
    design: _Design,
    factor: str,
    levels: tuple[Level, Level],
    metric: Metric,
    margin_pct: float | None,
) -> PairEffect | None:
    level, base = levels
    contexts = [
        one
        for one in design.contexts(factor, level, base)
        if have_one_base(
            design.cells[one | {(factor, level)}], design.cells[one | {(factor, base)}], metric
        )
    ]
    if not contexts:
        return None
    of_level = [one | {(factor, level)} for one in contexts]
    of_base = [one | {(factor, base)} for one in contexts]
    table = verdict_table(
        [
            Pair(None, design.cells[a], design.cells[b])
            for a, b in zip(of_level, of_base, strict=True)
        ],
        metric=metric,
        factor=factor,
        level=level,
        base=base,
        x=None,
        margin_pct=margin_pct,
    )
    margin = (margin_pct or 0.0) / 100
    return PairEffect(
        metric=metric,
        factor=factor,
        level=level,
        base=base,
        scale=design.scale,
        margin=margin,
        contrast=design.difference(of_level, of_base),
        # Adjusted in `_all_pairs`: Holm's correction needs the p of every pair.
        p=_p_beyond(design, of_level, of_base, margin),
        contexts=tuple(_without(design.cells[one].treatment, factor) for one in of_level),
        rows=table.rows,
        design=design,
    )


def _without(treatment: Treatment, factor: str) -> Treatment:
    return {name: level for name, level in treatment.items() if name != factor}


def _p_beyond(
    design: _Design, of_level: Sequence[_Key], of_base: Sequence[_Key], margin: float
) -> float | None:
    """p of "the effect is inside the noise band", as in verdicts: twice the smaller p of the two
    one-sided tests."""
    if design.scale == "ratio":
        high, low = math.log1p(margin), math.log1p(-margin) if margin < 1 else -math.inf
        over = under = design.difference(of_level, of_base)
    else:
        high = low = 0.0
        over, under = (
            design.difference(of_level, of_base, end) for end in (1 + margin, 1 - margin)
        )
    if over.variance is None or under.variance is None:
        return None
    return min(1.0, 2 * min(over.p_at_most(high), under.p_at_least(low)))


def _interactions(design: _Design) -> list[Interaction]:
    """The largest interaction of each pair of factors, over all pairs of their levels."""
    found = [
        one for factor, by in combinations(design.levels, 2) for one in _of_two(design, factor, by)
    ]
    adjusted = holm([one.contrast.p for one in found])
    found = [replace(one, p=p) for one, p in zip(found, adjusted, strict=True)]
    largest: dict[tuple[str, str], Interaction] = {}
    for one in sorted(found, key=lambda one: (not one.is_shown, -abs(one.contrast.value))):
        largest.setdefault((one.factor, one.by), one)
    return list(largest.values())


def _of_two(design: _Design, factor: str, by: str) -> Iterator[Interaction]:
    for base, level in _ends(design.levels[factor]):
        yield from _of_pair(design, factor, (level, base), by)


def _of_pair(
    design: _Design, factor: str, levels: tuple[Level, Level], by: str
) -> Iterator[Interaction]:
    """The interactions of two levels of a factor with another factor; p is not adjusted."""
    level, base = levels
    for against, at in _ends(design.levels[by]):
        corners = [
            (1, {(factor, level), (by, at)}),
            (-1, {(factor, base), (by, at)}),
            (-1, {(factor, level), (by, against)}),
            (1, {(factor, base), (by, against)}),
        ]
        contexts = [
            one - {(factor, level)}
            for one in design.contexts(by, at, against)
            if (factor, level) in one
        ]
        # Only contexts with all four combinations, so that both effects are over the same contexts.
        whole = [
            one
            for one in contexts
            if all(one | corner in design.estimates for _, corner in corners)
        ]
        if not whole:
            continue
        weight = 1 / len(whole)
        terms = [(sign * weight, one | corner) for one in whole for sign, corner in corners]
        contrast = design.contrast(terms)
        yield Interaction(factor, level, base, by, at, against, design.scale, contrast, contrast.p)


def _ends(levels: Sequence[Level]) -> Iterable[tuple[Level, Level]]:
    """Every pair of levels; if there are more than three numeric levels, only the pairs with the
    first level."""
    if is_numeric(levels) and len(levels) > 3:
        return [(levels[0], level) for level in levels[1:]]
    return combinations(levels, 2)


def _pointless(levels: Levels, pairs: Mapping[str, tuple[PairEffect, ...]]) -> Iterator[Pointless]:
    """Pairs of factors where the first makes no difference at some levels of the second, but does
    at all others."""
    for factor, by in ((a, b) for a in levels for b in levels if a != b):
        same = tuple(level for level in levels[by] if _all_same(pairs[factor], by, level))
        rest = [level for level in levels[by] if level not in same]
        if same and rest and all(_differs(pairs[factor], by, level) for level in rest):
            yield Pointless(factor, by, same, is_tail=_is_tail(same, levels[by]))


def _is_tail(some: Sequence[Level], every: Sequence[Level]) -> bool:
    """Whether `some` are the highest levels of a numeric factor, whose levels are `every`."""
    return is_numeric(every) and set(some) == set(sorted(every, key=float)[-len(some) :])


def _all_same(pairs: Sequence[PairEffect], by: str, level: Level) -> bool:
    found = [row for pair in pairs for row in _at(pair, by, level)]
    return bool(found) and all(row.outcome == "same" for row in found)


def _differs(pairs: Sequence[PairEffect], by: str, level: Level) -> bool:
    return any(row.outcome == "different" for pair in pairs for row in _at(pair, by, level))


def _at(pair: PairEffect, by: str, level: Level) -> list[Comparison]:
    return [
        row for context, row in zip(pair.contexts, pair.rows, strict=True) if context[by] == level
    ]
