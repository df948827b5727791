"""Counts drops, marks, PAUSE frames and loss probes at each level of a panel, and finds waits that
are not due to timeouts.

Totals cover the measuring phases of all runs. A total is None if some host or port lacks the
counter.

Waits of about one minimum RTO without a timeout appear as a hump in the distribution: samples that
take 0.8 to 2 minimum RTOs longer than the quick samples, with fewer samples in between. Linux waits
that long for a tail loss probe when a single segment is outstanding: two round trips plus the
minimum RTO (RFC 8985, 7.2; `tcp_schedule_loss_probe`). A lost SYN waits for the initial RTO.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np

from netstudy.analysis.cells import CellRow
from netstudy.analysis.distribution import Distribution, Values
from netstudy.analysis.gathering import Block, CellRuns
from netstudy.analysis.ideal import group_of
from netstudy.analysis.intervals import packed
from netstudy.analysis.layout import Panel
from netstudy.analysis.metrics import Metric, Percentile
from netstudy.analysis.samples import NS_PER_MS, Floats, NotAlikeError, dropped_at_ports
from netstudy.analysis.standing_queues import StandingQueue, standing_queue
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.analysis.workloads.signals import (
    Count,
    forwarded,
    loss_probes,
    marks,
    pauses,
    probe_repairs,
    ring_drops,
    setup_retransmissions,
)
from netstudy.wire import Level, Run

Waiting = tuple[Floats, Floats, Floats]
"""For each sample: time in ms, timeouts, retransmitted segments."""

NEAR: Final = (0.8, 2.0)
"""A wait between these bounds, in minimum RTOs, counts as about one minimum RTO."""
_QUICK: Final = 0.1
"""The quantile that is used as the time of a quick sample, that is, one without a wait."""
SHARE_TOLD_PCT: Final = 1.0
"""Smallest share of waiting samples that is reported: a smaller share does not affect the 99th
percentile."""


@dataclass(frozen=True)
class Signals:
    """The counts at one level of a panel, over all of its runs."""

    level: Level | None
    runs: int
    switch_drops: int | None
    ring_drops: int | None
    forwarded: int | None
    marks: int | None
    pauses: int | None
    probes: int | None
    probe_repairs: int | None
    standing: StandingQueue | None
    """Where frames wait longest, if ports have queue disciplines."""

    @property
    def ring_share_pct(self) -> float | None:
        """Ring drops in percent of all drops; None without drops, or if either was not counted."""
        if self.ring_drops is None or self.switch_drops is None:
            return None
        lost = self.ring_drops + self.switch_drops
        return 100 * self.ring_drops / lost if lost else None

    @property
    def marked_pct(self) -> float | None:
        """Marked frames in percent of all frames that switches forwarded or dropped."""
        return self._of_all(self.marks)

    @property
    def dropped_pct(self) -> float | None:
        """Dropped frames in percent of all frames that switches forwarded or dropped."""
        return self._of_all(self.switch_drops)

    def _of_all(self, some: int | None) -> float | None:
        came = (self.forwarded or 0) + (self.switch_drops or 0)
        return None if some is None or not came else 100 * some / came


@dataclass(frozen=True)
class LongWaits:
    """The samples of a cell that wait about one minimum RTO without a timeout."""

    x: Level | None
    level: Level | None
    min_rto_ms: float
    p99_ms: float
    samples: int | None
    """Number of samples of the cell. None: timeouts are not counted per sample, so the waits were
    found by the percentiles of the cell."""
    waiting: int
    """Number of samples that wait."""
    retransmitting: int
    """Number of waiting samples with retransmitted segments."""
    probes: int | None
    setup: int | None
    """Retransmitted SYNs and SYN-ACKs; None: not counted."""

    @property
    def is_explained(self) -> bool:
        """Whether tail loss probes or SYN retransmissions, which wait this long, were counted."""
        return bool(self.probes) or bool(self.setup)


def signals(panel: Panel) -> tuple[Signals, ...]:
    """The totals at each level of the series; if there is no series but x has named levels, at each
    of these."""
    if panel.series is None and panel.x is not None and not panel.x_numeric:
        cells = ((x, panel.cell(x, None)) for x in panel.x_levels)
        return tuple(_totals(x, [cell]) for x, cell in cells if cell is not None)
    return tuple(_totals(level, panel.along_x(level)) for level in panel.series_levels)


def _totals(level: Level | None, cells: Sequence[CellRow]) -> Signals:
    return Signals(
        level=level,
        runs=sum(len(cell.runs) for cell in cells),
        switch_drops=_total(cells, dropped_at_ports),
        ring_drops=_total(cells, ring_drops),
        forwarded=_total(cells, forwarded),
        marks=_total(cells, marks),
        pauses=_total(cells, pauses),
        probes=_total(cells, loss_probes),
        probe_repairs=_total(cells, probe_repairs),
        standing=standing_queue(cells),
    )


def _total(cells: Sequence[CellRow], count: Count) -> int | None:
    found = [cell.total(count) for cell in cells if cell.runs]
    known = [value for value in found if value is not None]
    return sum(known) if known and len(known) == len(found) else None


def long_waits(panel: Panel, workload: WorkloadAnalysis) -> tuple[LongWaits, ...]:
    """The cells in which at least 1 % of samples wait about one minimum RTO without a timeout."""
    return tuple(
        found
        for x in panel.x_levels
        for level in panel.series_levels
        if (found := _of_cell(panel, x, level, workload)) is not None
    )


def _of_cell(
    panel: Panel, x: Level | None, level: Level | None, workload: WorkloadAnalysis
) -> LongWaits | None:
    cell = panel.cell(x, level)
    if cell is None or not cell.runs or workload.tail is None:
        return None
    # Without a common minimum RTO, it is not known how long the wait for a timeout would be.
    late = cell.value(workload.tail[1])
    min_rto_ms = least_rto_ms(cell.planned[0])
    if late is None or min_rto_ms is None:
        return None
    counts = _counted(cell, workload, min_rto_ms)
    if counts is None:
        return None
    samples, waiting, again = counts
    cells = (cell,)
    return LongWaits(
        x=x,
        level=level,
        min_rto_ms=min_rto_ms,
        p99_ms=late * _MS_PER[workload.tail[1].unit],
        samples=samples,
        waiting=waiting,
        retransmitting=again,
        probes=_total(cells, loss_probes),
        setup=_total(cells, setup_retransmissions),
    )


_MS_PER: Final = {"s": 1e3, "ms": 1.0, "µs": 1e-3}


def least_rto_ms(run: Run) -> float | None:
    """The minimum RTO of the endpoints that send data, if it is the same for all of them."""
    found = {
        group_of(run.network, sender).tcp.min_rto_ns
        for role in run.workload.sending
        for sender in getattr(run.workload.roles, role)
    }
    return found.pop() / NS_PER_MS if len(found) == 1 else None


def _counted(
    cell: CellRow, workload: WorkloadAnalysis, min_rto_ms: float
) -> tuple[int | None, int, int] | None:
    """The numbers of: all samples; samples that wait without a timeout; and, among these, samples
    with a retransmission."""
    samples = workload.waiting_samples
    if samples is None:
        return _by_percentiles(cell, workload, min_rto_ms)
    return cell.runs.kept(_counted, lambda: _among(cell.runs, workload, min_rto_ms))


def settle_waits(cell: CellRow, workload: WorkloadAnalysis) -> None:
    """Counts the waiting samples of a cell while they are in memory, and drops the samples."""
    min_rto_ms, samples = least_rto_ms(cell.planned[0]), workload.waiting_samples
    if min_rto_ms is not None and samples is not None:
        _counted(cell, workload, min_rto_ms)
        cell.runs.forget(["waiting"])


def waiting_part(workload: WorkloadAnalysis) -> Callable[[Block], Waiting | None]:
    """Gathers the samples of a block: times in ms, timeouts, retransmitted segments."""
    samples, rows = workload.waiting_samples, workload.waiting_rows
    assert samples is not None, "the workload counts timeouts for each sample"

    def part(block: Block) -> Waiting | None:
        if rows is not None:
            with suppress(NotAlikeError):
                found = rows(block)
                return None if found is None else _joined([[one.ravel() for one in found]])
        each = [found for run in block if (found := samples(run)) is not None]
        return _joined(each) if each else None

    return part


def _joined(each: Sequence[Sequence[Floats]]) -> Waiting:
    times, timeouts, again = (np.concatenate(column) for column in zip(*each, strict=True))
    return times, packed(timeouts), packed(again)


def _among(
    runs: CellRuns, workload: WorkloadAnalysis, min_rto_ms: float
) -> tuple[int | None, int, int] | None:
    parts = runs.gathered("waiting", waiting_part(workload))
    each = [one for one in parts if one is not None]
    if not each:
        return None
    times, timeouts, again = _joined(each)
    waits = _hump(times, min_rto_ms) & (timeouts == 0)
    waiting = int(waits.sum())
    if 100 * waiting < SHARE_TOLD_PCT * times.size:
        return None
    return int(times.size), waiting, int((again[waits] > 0).sum())


def _hump(times: Floats, min_rto_ms: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Marks the samples that take about one minimum RTO longer than the quick ones, but only if
    they form a hump."""
    ascending = Values(np.sort(times))
    beyond = (times - ascending.quantile(_QUICK)) / min_rto_ms
    hump = (beyond >= NEAR[0]) & (beyond < NEAR[1])
    return hump if _has_hump(ascending, min_rto_ms) else np.zeros_like(hump)


def _has_hump(times: Distribution, min_rto: float) -> bool:
    """True if more samples wait for about one minimum RTO than for half of it, and quick samples
    take at most one minimum RTO. A growing queue also causes long times, but they do not form a
    hump. `min_rto` is in the unit of the times."""
    quick = times.quantile(_QUICK)
    half, least, most = (
        times.above(quick + share * min_rto) for share in (NEAR[0] / 2, NEAR[0], NEAR[1])
    )
    return quick <= min_rto and half - least < least - most


def _by_percentiles(
    cell: CellRow, workload: WorkloadAnalysis, min_rto_ms: float
) -> tuple[int | None, int, int] | None:
    """Like `_counted`, for samples without timeout counts. The cell must have no timeouts, its
    median must be at most one minimum RTO, and its 99th percentile must be in a hump about one
    minimum RTO above the median."""
    assert workload.tail is not None, "`_of_cell` skips workloads without a tail"
    middle, late = (cell.value(metric) for metric in workload.tail)
    if middle is None or late is None or cell.value(workload.timeouts) != 0:
        return None
    a_unit = _MS_PER[workload.tail[1].unit] / min_rto_ms
    beyond = (late - middle) * a_unit
    if middle * a_unit > 1 or not NEAR[0] <= beyond < NEAR[1]:
        return None
    times = _samples(cell, workload.tail[1])
    if times is None or not _has_hump(times, 1 / a_unit):
        return None
    again = cell.value(workload.retransmissions)
    return None, 0, int(bool(again))


def _samples(cell: CellRow, percentile: Metric) -> Distribution | None:
    """The pooled samples of a cell from which a percentile is computed."""
    assert isinstance(percentile.reading, Percentile), "the tail of a workload is a percentile"
    return percentile.reading.quantity.of(cell.runs)


def unexplained(found: Sequence[LongWaits]) -> Iterator[LongWaits]:
    """The waits that neither tail loss probes nor SYN retransmissions explain."""
    return (one for one in found if not one.is_explained)


def by_cause(waits: Sequence[LongWaits]) -> Iterator[tuple[bool, list[LongWaits]]]:
    """The waits grouped by level and cause, each with whether SYNs are the cause: only if no probe
    was sent."""

    def key(one: LongWaits) -> tuple[str, bool]:
        return str(one.level), not one.probes and bool(one.setup)

    for (_, setup), same in groupby(sorted(waits, key=key), key=key):
        yield setup, list(same)
