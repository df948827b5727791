"""`loss against ideal`: how much is lost compared with ideal scaling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netstudy.analysis.cells import CellRow
from netstudy.analysis.conclusions.base import Drawn
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.intervals import Interval
from netstudy.analysis.line_rates import carrying_bps
from netstudy.analysis.metrics import Metric
from netstudy.analysis.ratio import fieller
from netstudy.study.conclusions.loss_against_ideal import ScalingLoss
from netstudy.wire import Level, Treatment


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
class Losses(Drawn[ScalingLoss]):
    """The losses in each metric, at each setting of the other factors."""

    kind = ScalingLoss
    losses: tuple[Loss, ...]

    @classmethod
    def draw(cls, asked: ScalingLoss, cells: Cells) -> Losses | None:  # noqa: ARG003  # of the base
        """Compare every level with linear scaling from the smallest one."""
        found = tuple(loss for metric in cells.scaling for loss in _loss_of(metric, cells))
        return cls(found) if found else None


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
