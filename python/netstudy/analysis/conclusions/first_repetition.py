"""`first repetition`: whether the first repetition differs from the later ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean

from netstudy.analysis.cells import CellRow
from netstudy.analysis.conclusions.base import Drawn, deciding
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.intervals import student_quantile
from netstudy.analysis.metrics import Metric
from netstudy.analysis.repetition import shows_nothing
from netstudy.analysis.verdict import ALPHA
from netstudy.study.conclusions.first_repetition import FirstRepetition


@dataclass(frozen=True, eq=False)
class Repetitions(Drawn[FirstRepetition]):
    """First repetitions compared with the later ones."""

    kind = FirstRepetition
    metric: Metric
    cells: int
    """Number of cells with at least `repetitions_min` repetitions that are not all alike."""
    apart: tuple[tuple[CellRow, float], ...]
    """Cells whose first repetition is outside the prediction interval of the later ones. The number
    is the first repetition ÷ the geometric mean of the later ones; the largest difference comes
    first."""
    spread_pct: float | None
    """Standard deviation of the later repetitions, pooled over the cells, in percent."""
    alike: int = 0
    """Number of cells whose repetitions are all alike, which allow no conclusion."""

    @classmethod
    def draw(
        cls,
        asked: FirstRepetition,
        cells: Cells,
    ) -> Repetitions | None:
        """Compare the first repetition of each cell with the prediction of the later ones."""
        metric = deciding(cells)
        if metric is None:
            return None
        valued = [(row, _by_repetition(row, metric)) for row in cells.rows]
        valued = [(row, values) for row, values in valued if len(values) >= asked.repetitions_min]
        found = [(row, values) for row, values in valued if not shows_nothing(row, metric)]
        alike = len(valued) - len(found)
        if not found:
            return cls(metric, 0, (), None, alike) if alike else None
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
        return cls(metric, len(found), tuple(apart), spread_pct, alike)


def _by_repetition(row: CellRow, metric: Metric) -> list[float]:
    """Logarithms of the values of single runs, ordered by replicate; empty if a value is not
    positive, or the first replicate is missing."""
    replicates = row.runs.replicates
    if not replicates or min(replicates) > min(run.replicate for run in row.planned):
        return []
    each = zip(replicates, metric.reading.of_each(row.runs), strict=True)
    values = [value for _, value in sorted(each, key=lambda one: one[0])]
    known = [value for value in values if value is not None and value > 0]
    return [math.log(value) for value in known] if len(known) == len(values) else []
