"""A size, such as a mistyped one, whose times do not follow the law of the other sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netstudy.analysis.caveats.base import Analysed, Caveat, reads
from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.claims import Claim
from netstudy.analysis.metrics import Metric
from netstudy.analysis.size_law import (
    Setting,
    fitted_along,
    off_everywhere,
    size_points,
    without_size,
)
from netstudy.wire import Level

if TYPE_CHECKING:
    from netstudy.study import Study


@dataclass(frozen=True)
class OffLaw(Caveat):
    """A size that is off the law at every setting of the other factors."""

    factor: str
    level: Level
    metric: Metric
    settings: int
    ratio: tuple[float, float]
    """Mean time ÷ time by the law of the other sizes: the smallest and largest ratio over the
    settings."""
    implied_bytes: tuple[float, float]
    """The size at which the law of the other sizes gives these times: smallest and largest over the
    settings."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[OffLaw]:
        """One caveat for each size that is off the law."""
        yield from off_laws(analysed.planned.study, analysed.cells)

    def forbids(self, claim: Claim) -> bool:
        """Claims about this size, which may be another one."""
        return claim.factor == self.factor and reads(claim, {self.factor: self.level})


def off_laws(study: Study, table: CellTable) -> tuple[OffLaw, ...]:
    """The sizes that are off the law, in every figure to which the study fits this law and in each
    test case."""
    found = [
        one
        for metric, factor, case in fitted_along(study, table)
        for one in _of_case(table.of_case(case), factor, metric)
    ]
    return tuple({(one.factor, one.level, one.metric.name): one for one in found}.values())


def _of_case(rows: Sequence[CellRow], factor: str, metric: Metric) -> Iterator[OffLaw]:
    groups: dict[Setting, list[CellRow]] = {}
    for row in rows:
        groups.setdefault(without_size(row.treatment, factor), []).append(row)
    known = off_everywhere({at: size_points(own, factor, metric) for at, own in groups.items()})
    if known:
        ratios = [one.ratio for one in known.values()]
        sizes = [one.implied_bytes for one in known.values()]
        yield OffLaw(
            factor=factor,
            level=next(iter(known.values())).level,
            metric=metric,
            settings=len(known),
            ratio=(min(ratios), max(ratios)),
            implied_bytes=(min(sizes), max(sizes)),
        )
