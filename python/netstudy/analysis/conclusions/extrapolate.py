"""How many clients one link would serve, at the measured rate per client.

    clients = capacity of the link ÷ (throughput ÷ clients of the run)

Capacity and throughput count the same bytes: a metric of frames excludes preamble and gap, a metric
of application bytes also excludes headers. The result is rounded down to whole clients. The rate
per client may change with the number of clients. A range of the result is therefore computed from
every measured number of clients up to the end of growth, each with its interval over the
replicates. Cells whose clients already fill the link are left out, since the link limits their
rate; the first of them is reported with the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.cells import CellRow
from netstudy.analysis.conclusions.base import Drawn
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.ideal import host_of
from netstudy.analysis.intervals import Interval
from netstudy.analysis.line_rates import Capacity, capacity
from netstudy.analysis.metrics import Metric
from netstudy.study.conclusions.extrapolate import Extrapolation
from netstudy.study.levels import is_numeric
from netstudy.wire import Treatment

FULL: Final = 0.9
"""A link that carries at least this share of its capacity counts as filled: it limits its
clients."""


@dataclass(frozen=True)
class Share:
    """The rate per client in one cell."""

    cell: CellRow
    clients: int
    mbps: float
    interval: Interval | None
    """The 95 % interval of the rate, over the replicates; None: run-to-run variation is unknown."""

    def fit_into(self, capacity_mbps: float) -> float:
        """Number of clients at this rate that fill a link."""
        return capacity_mbps / self.mbps


@dataclass(frozen=True, eq=False)
class Extrapolated:
    """The clients that one link would serve, at one setting of the other factors."""

    metric: Metric
    held: Treatment
    capacity: Capacity
    shares: tuple[Share, ...]
    """In the order of the number of clients."""
    most: CellRow
    """The cell with the largest throughput of the test case, over all settings."""
    filled: Share | None = None
    """The smallest measured number of clients that fills the link; None: no measured number fills
    it."""

    @property
    def basis(self) -> Share:
        """The share from which the result is computed: the one with the most clients."""
        return self.shares[-1]

    @property
    def clients(self) -> int:
        """Whole clients that the link would serve."""
        return math.floor(self.basis.fit_into(self.capacity.mbps))

    @property
    def range(self) -> tuple[int, int | None]:
        """The fewest and the most clients that the link would serve, over all shares and their
        intervals; the most is None if an interval includes a throughput of 0."""
        ends = [end for one in self.shares for end in self._ends(one)]
        most = max(ends)
        return math.floor(min(ends)), None if math.isinf(most) else math.floor(most)

    def _ends(self, one: Share) -> Iterator[float]:
        link = self.capacity.mbps
        yield one.fit_into(link)
        if one.interval is not None:
            yield link / one.interval.high
            yield link / one.interval.low if one.interval.low > 0 else math.inf

    @property
    def at_most_mbps(self) -> float:
        """The largest throughput of the test case."""
        value = self.most.value(self.metric)
        assert value is not None, "the cell was chosen by this value"
        return value


@dataclass(frozen=True, eq=False)
class Extrapolations(Drawn[Extrapolation]):
    """The clients that one link would serve."""

    kind = Extrapolation
    each: tuple[Extrapolated, ...]
    """One for each setting of the factors other than the number of clients."""

    @classmethod
    def draw(cls, asked: Extrapolation, cells: Cells) -> Extrapolations | None:  # noqa: ARG003
        """Extrapolate from the rate per client."""
        found = tuple(_clients_per_link(cells))
        return cls(found) if found else None


def _clients_per_link(cells: Cells) -> Iterator[Extrapolated]:
    """An extrapolation for each setting of the factors other than the number of clients."""
    metric = cells.throughput
    if metric is None or metric.unit != "Mbit/s":
        return
    factor = _counting(cells)
    groups = cells.along(factor) if factor else _each_alone(cells)
    ends = {frozenset(one.held.items()): one.last_gain for one in cells.growths(factor)}
    for held, rows in groups:
        valued = [row for row in rows if row.value(metric) and _clients(row, factor)]
        measured = sorted(valued, key=lambda row: _clients(row, factor))
        # Growth is judged in the order of the levels: in another order, its end is unknown.
        end = ends.get(frozenset(held.items())) if measured == valued else None
        last = measured.index(end) + 1 if end is not None and end in measured else len(measured)
        growing = measured[:last]
        shares = [_share(row, metric, factor) for row in growing]
        if not shares:
            continue
        link = capacity(cells.study, cells.table.workload, growing[0], metric)
        if link is None:
            continue
        full = (n for n, one in enumerate(shares) if one.mbps * one.clients >= FULL * link.mbps)
        first = next(full, len(shares))
        yield Extrapolated(
            metric=metric,
            held=held,
            capacity=link,
            shares=tuple(shares[: max(first, 1)]),
            most=_largest(cells, metric),
            filled=shares[first] if first < len(shares) else None,
        )


def _counting(cells: Cells) -> str | None:
    """The factor that sets the number of clients; None if all cells have the same number. The
    number of other hosts, such as the servers of an incast, does not count."""
    likely = filter(None, (cells.hosts, cells.load))
    every = dict.fromkeys((*likely, *cells.levels))
    return next((factor for factor in every if _counts_clients(factor, cells)), None)


def _counts_clients(factor: str, cells: Cells) -> bool:
    return any(len({_clients(row, factor) for row in rows}) > 1 for _, rows in cells.along(factor))


def _each_alone(cells: Cells) -> Iterator[tuple[Treatment, tuple[CellRow, ...]]]:
    for row in cells.rows:
        yield cells.setting(row), (row,)


def _share(row: CellRow, metric: Metric, factor: str | None) -> Share:
    estimate = row.estimate(metric)
    assert estimate is not None, "only cells with a value are used"
    clients = _clients(row, factor)
    interval = estimate.interval
    own = interval and Interval(interval.low / clients, interval.high / clients)
    return Share(row, clients, estimate.value / clients, own)


def _clients(row: CellRow, factor: str | None) -> int:
    """The number of client hosts of a cell; for published runs, the level of the factor."""
    run = row.planned[0]
    if run.network.nodes:
        return len({host_of(run.network, one)[0] for one in run.workload.roles.client})
    if factor is None or not is_numeric([row.treatment[factor]]):
        return 1
    return int(row.treatment[factor])


def _largest(cells: Cells, metric: Metric) -> CellRow:
    return max(cells.table.of_case(cells.case), key=lambda row: row.value(metric) or 0.0)
