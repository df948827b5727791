"""Clock domains: times of two nodes may be compared only when both are of one clock.

Phases and edges of a record are by the clock of the run's first client. A node of another clock
was read at the same edges, and says by its own clock when: from that its own measuring phase
follows. Where it does not say so, nothing of its times can be placed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netstudy.analysis.ideal import split
from netstudy.analysis.samples import NS_PER_S, Floats, RunSample, Sampled
from netstudy.wire import MEASURE_END, MEASURE_START, RunRecord


@dataclass(frozen=True)
class Window:
    """The measuring phase by one clock."""

    clock: str
    start_ns: int
    end_ns: int


def clock_of(record: RunRecord, node: str) -> str | None:
    """The clock that a node's times are of; None: the record does not know the node."""
    known = record.nodes.get(node)
    return None if known is None else known.clock


def window_of(run: RunSample, node: str) -> Window | None:
    """The measuring phase by the clock of a node; None where nothing tells it."""
    record, phase = run.record, run.record.measure
    clock = clock_of(record, node)
    if phase is None or clock is None:
        return None
    if clock == clock_of(record, split(run.planned.workload.roles.client[0])[0]):
        return Window(clock, phase.start_ns, phase.end_ns)
    names, read_at = [edge.name for edge in record.edges], record.nodes[node].read_at_ns
    if read_at is None or MEASURE_START not in names or MEASURE_END not in names:
        return None
    return Window(clock, read_at[names.index(MEASURE_START)], read_at[names.index(MEASURE_END)])


def inside(run: RunSample, series: Sampled, column: str) -> tuple[Floats, Floats] | None:
    """What a sampler read in the measuring phase: times in s from its start, and values.

    Samples that could not be read are left out. None where there is no such column, or where its
    times cannot be placed.
    """
    values, window = series.columns.get(column), window_of(run, series.node)
    if values is None or window is None:
        return None
    at = series.at_ns
    kept = (at >= window.start_ns) & (at <= window.end_ns) & ~np.isnan(values)
    return (at[kept] - window.start_ns) / NS_PER_S, values[kept]
