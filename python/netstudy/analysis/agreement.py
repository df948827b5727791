"""How well a study's own values, simulated or measured, agree with published values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from netstudy.analysis.bootstrap import bootstrap_interval
from netstudy.analysis.intervals import Estimate, Interval
from netstudy.analysis.metrics import Metric
from netstudy.analysis.rank import RankCorrelation, rank_correlation
from netstudy.analysis.ratio import fieller, p_different
from netstudy.analysis.samples import Floats
from netstudy.analysis.verdict import ALPHA
from netstudy.wire import Level


@dataclass(frozen=True)
class Beside:
    """A published value and the study's own value, simulated or measured; each is None if
    missing."""

    x: Level | None
    published: float | None
    estimate: Estimate | None
    redrawn: Floats | None = field(default=None, repr=False, compare=False)
    """The study's own value, computed from each resampled set of runs; None if resampling is
    impossible."""
    fitted: bool = False
    """Whether a profile was fitted to the published value: then agreement proves nothing."""
    because: str | None = None
    """The reason that the study gives for the difference."""

    @property
    def own(self) -> float | None:
        """The study's own value."""
        return None if self.estimate is None else self.estimate.value

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the study's own value."""
        return None if self.estimate is None else self.estimate.interval

    @property
    def error(self) -> float | None:
        """The study's own value minus the published value; 0 if they differ only by floating-point
        rounding, which occurs in base rows (100 %)."""
        if self.published is None or self.own is None:
            return None
        is_equal = math.isclose(self.own, self.published, rel_tol=1e-12)
        return 0.0 if is_equal else self.own - self.published

    @property
    def error_pct(self) -> float | None:
        """The error in percent of the published value; None if that is 0."""
        if self.error is None or not self.published:
            return None
        return 100 * self.error / self.published


@dataclass(frozen=True)
class Agreement:
    """The published values and the study's own values of one metric at one level, along x."""

    metric: Metric
    level: Level | None
    rows: tuple[Beside, ...]
    ranks: RankCorrelation

    @property
    def compared(self) -> int:
        """Number of rows with an error in percent: both values exist, and the published value is
        not 0."""
        return sum(row.error_pct is not None for row in self.rows)

    @property
    def off_zero(self) -> tuple[Beside, ...]:
        """Rows whose published value is 0 although the study's own value is not: they have no
        `error_pct`."""
        return tuple(row for row in self.rows if row.published == 0 and row.own)

    @property
    def median_abs_pct(self) -> float | None:
        """Median of the absolute percentage errors; None if no row has an error in percent."""
        errors = [abs(row.error_pct) for row in self.rows if row.error_pct is not None]
        return float(np.median(errors)) if errors else None

    @property
    def median_abs_pct_interval(self) -> Interval | None:
        """95 % interval of `median_abs_pct`, from resampled runs; None if some row cannot be
        resampled."""
        middle = self.median_abs_pct
        if middle is None:
            return None
        errors: list[Floats] = []
        for row in self.rows:
            if row.error_pct is None or not row.published:
                continue
            if row.redrawn is None:
                return None
            errors.append(np.abs(row.redrawn / row.published - 1) * 100)
        found = bootstrap_interval(middle, np.median(errors, axis=0))
        return Interval(max(0.0, found.low), found.high)

    @property
    def worst(self) -> Beside | None:
        """The row with the largest absolute percentage error."""
        rows = [row for row in self.rows if row.error_pct is not None]
        return max(rows, key=lambda row: abs(row.error_pct or 0.0), default=None)


@dataclass(frozen=True)
class RatioAgreement:
    """The ratio of a metric between two levels at one x: as published, and as found by the
    study."""

    metric: Metric
    x: Level | None
    level: Level
    base: Level
    published: float | None
    own: float | None
    interval: Interval | None
    """95 % Fieller interval of the study's own ratio."""

    @property
    def error_pct(self) -> float | None:
        """Error of the study's own ratio, in percent of the published ratio."""
        if self.own is None or not self.published:
            return None
        return 100 * (self.own / self.published - 1)


@dataclass(frozen=True)
class OrderedRow:
    """A row in which two levels differ clearly in the publication and also in the study."""

    x: Level | None
    published_higher: Level
    """The level with the higher published value."""
    own_higher: Level
    """The level with the higher value in the study."""

    @property
    def is_reversed(self) -> bool:
        """True if the study orders the two levels the other way round than the publication."""
        return self.published_higher != self.own_higher


@dataclass(frozen=True)
class OrderAgreement:
    """Compares the order of two levels in the study with their published order, row by row."""

    metric: Metric
    level: Level
    base: Level
    rows: tuple[OrderedRow, ...]
    """The rows in which the two levels differ by more than the noise in the publication and also in
    the study."""

    @property
    def compared(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def same(self) -> int:
        """Number of rows in which study and publication have the same order."""
        return sum(not row.is_reversed for row in self.rows)

    @property
    def reversed_at(self) -> Mapping[Level, tuple[Level | None, ...]]:
        """The level that the publication has ahead -> the rows in which the study has the other one
        ahead. Where neither direction is better, the level with the higher value is ahead."""
        lower_is_ahead = self.metric.direction == "lower"
        found: dict[Level, list[Level | None]] = {}
        for row in self.rows:
            if row.is_reversed:
                ahead = row.own_higher if lower_is_ahead else row.published_higher
                found.setdefault(ahead, []).append(row.x)
        return {level: tuple(xs) for level, xs in found.items()}

    @property
    def contradicted(self) -> bool:
        """Whether the order is reversed in most rows."""
        return self.same * 2 < self.compared


def agreement(
    metric: Metric, level: Level | None, rows: Sequence[Beside], *, test: bool = True
) -> Agreement:
    """Summarises the rows of one metric at one level."""
    ranks = rank_correlation([row.published for row in rows], [row.own for row in rows], test=test)
    return Agreement(metric, level, tuple(rows), ranks)


def ratio_agreement(level: Agreement, base: Agreement) -> RatioAgreement | None:
    """The ratio level/base at the largest x for which all four values exist."""
    if level.level is None or base.level is None:
        return None
    others = {row.x: row for row in base.rows if row.error is not None}
    shared = [row for row in level.rows if row.error is not None and row.x in others]
    if not shared:
        return None
    last = shared[-1]
    other = others[last.x]
    return RatioAgreement(
        metric=level.metric,
        x=last.x,
        level=level.level,
        base=base.level,
        published=_ratio(last.published, other.published),
        own=_ratio(last.own, other.own),
        interval=_interval(last.estimate, other.estimate),
    )


def order_agreement(
    level: Agreement, base: Agreement, margin_pct: float | None
) -> OrderAgreement | None:
    """Compares the order of two levels; None if no row shows a clear difference in both the
    published values and the study's own."""
    if level.level is None or base.level is None:
        return None
    others = {row.x: row for row in base.rows}
    higher = {1: level.level, -1: base.level}
    signs = [
        (
            row.x,
            _sign(row.published, other.published, margin_pct),
            _own_sign(row.estimate, other.estimate, margin_pct),
        )
        for row in level.rows
        if (other := others.get(row.x)) is not None
    ]
    rows = tuple(
        OrderedRow(x, higher[published], higher[own])
        for x, published, own in signs
        if published and own
    )
    return OrderAgreement(level.metric, level.level, base.level, rows) if rows else None


def _own_sign(a: Estimate | None, b: Estimate | None, margin_pct: float | None) -> int:
    """Like `_sign`, but for the values that this study measured; also 0 where the values are
    not shown to differ by more than the noise."""
    p = None if a is None or b is None else p_different(a, b, (margin_pct or 0.0) / 100)
    if a is None or b is None or (p is not None and p >= ALPHA):
        return 0
    return _sign(a.value, b.value, margin_pct)


def _sign(a: float | None, b: float | None, margin_pct: float | None) -> int:
    """1 if a is above b by more than the noise, -1 if below; 0 otherwise or if one is missing."""
    if a is None or b is None or abs(a - b) <= (margin_pct or 0.0) / 100 * abs(b):
        return 0
    return 1 if a > b else -1


def _interval(a: Estimate | None, b: Estimate | None) -> Interval | None:
    return None if a is None or b is None else fieller(a, b)


def _ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or not b else a / b
