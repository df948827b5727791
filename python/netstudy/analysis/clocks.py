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
from netstudy.wire import PhaseKind, RunRecord


@dataclass(frozen=True)
class Window:
    """A phase by one clock."""

    clock: str
    start_ns: int
    end_ns: int


def clock_of(record: RunRecord, node: str) -> str | None:
    """The clock that a node's times are of; None: the record does not know the node."""
    known = record.nodes.get(node)
    return None if known is None else known.clock


def window_of(run: RunSample, node: str, phase: PhaseKind = "measure") -> Window | None:
    """A phase by the clock of a node; None where nothing tells it."""
    record, times = run.record, run.record.phase(phase)
    clock = clock_of(record, node)
    if times is None or clock is None:
        return None
    if clock == clock_of(record, split(run.planned.workload.roles.client[0])[0]):
        return Window(clock, times.start_ns, times.end_ns)
    start, end = record.edges_of(phase)
    read_at = record.nodes[node].read_at_ns
    if read_at is None or start is None or end is None:
        return None
    return Window(clock, read_at[start], read_at[end])


def inside(
    run: RunSample, series: Sampled, column: str, phase: PhaseKind = "measure"
) -> tuple[Floats, Floats] | None:
    """What a sampler read in a phase: times in s from its start, and values.

    Samples that could not be read are left out. None where there is no such column, or where its
    times cannot be placed.
    """
    values, window = series.columns.get(column), window_of(run, series.node, phase)
    if values is None or window is None:
        return None
    at = series.at_ns
    kept = (at >= window.start_ns) & (at <= window.end_ns) & ~np.isnan(values)
    return (at[kept] - window.start_ns) / NS_PER_S, values[kept]
