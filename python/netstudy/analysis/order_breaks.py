"""Finds levels that are out of order: a metric rises or falls steadily along x except at one level.

Only steps whose verdict is "different" count, after Holm's correction over all tests of a line. If
the level is left out, all steps must have the same sign: a metric that rises and then falls has a
turning point, not a level out of order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from netstudy.analysis.cells import CellRow
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric
from netstudy.analysis.verdict import Comparison, Pair, verdict_table
from netstudy.wire import Level

FEWEST = 4
"""Fewest levels that a line must have to be examined."""


@dataclass(frozen=True, eq=False)
class OrderBreak:
    """A cell that is out of order in its line, and its two neighbours along x."""

    metric: Metric
    series: Level | None
    before: CellRow
    cell: CellRow
    after: CellRow


def order_breaks(panel: Panel, metric: Metric, margin_pct: float | None) -> Iterator[OrderBreak]:
    """The levels out of order, at most one per line of the panel."""
    if panel.x is None or not panel.x_numeric:
        return
    for series in panel.series_levels:
        cells = [cell for cell in panel.along_x(series) if cell.estimate(metric) is not None]
        if len(cells) < FEWEST:
            continue
        place = _place(_signs(cells, panel.x, metric, margin_pct), len(cells))
        if place is not None:
            yield OrderBreak(metric, series, *cells[place - 1 : place + 2])


Step = tuple[int, int]
"""Two cells of a line, by their positions."""


def _signs(
    cells: Sequence[CellRow], x: str, metric: Metric, margin_pct: float | None
) -> Mapping[Step, int]:
    """For every pair of neighbours, and of cells with one cell between them: 1 if the metric rises
    from the first to the second, -1 if it falls, 0 if neither is shown."""
    last = len(cells) - 1
    steps = [*pairwise(range(last + 1)), *((place - 1, place + 1) for place in range(1, last))]
    table = verdict_table(
        [Pair(None, cells[b], cells[a]) for a, b in steps],
        metric=metric,
        factor=x,
        level=cells[-1].treatment[x],
        base=cells[0].treatment[x],
        x=None,
        margin_pct=margin_pct,
    )
    return {step: _sign(row) for step, row in zip(steps, table.rows, strict=True)}


def _sign(row: Comparison) -> int:
    if row.outcome != "different" or row.within_one_run or not row.difference:
        return 0
    return 1 if row.difference > 0 else -1


def _place(signs: Mapping[Step, int], count: int) -> int | None:
    """The position of the only cell whose removal restores the order; None if there is no such cell
    or several."""
    found = []
    for place in range(1, count - 1):
        before, after = (place - 1, place), (place, place + 1)
        rest = [signs[a, a + 1] for a in range(count - 1) if (a, a + 1) not in (before, after)]
        rest.append(signs[place - 1, place + 1])
        if signs[before] * signs[after] < 0 and len({sign for sign in rest if sign}) == 1:
            found.append(place)
    return found[0] if len(found) == 1 else None
