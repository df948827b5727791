"""Clock domains: times of two nodes may be compared only if both use the same clock.

Phases and edges of a record use the clock of the run's first client. A node with another clock
reports, for each edge, the time of its own clock at which it was read; these times are the start
and end of the phase on that clock. Without them, the node's samples cannot be assigned to a phase.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netstudy.analysis.ideal import split
from netstudy.analysis.samples import NS_PER_S, Floats, RunSample, Sampled
from netstudy.wire import Host, PhaseKind, RunRecord

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Window:
    """Start and end of a phase, as times of one clock."""

    clock: str
    start_ns: int
    end_ns: int


def clock_of(record: RunRecord, node: str) -> str | None:
    """The clock that a node's times are from; None: the record does not contain the node."""
    known = record.nodes.get(node)
    return None if known is None else known.clock


def are_machines(record: RunRecord, hosts: Iterable[Host]) -> bool:
    """True if each of the hosts is a machine, with a clock of its own; else all of them are on one
    machine."""
    return len({clock_of(record, host.name) for host in hosts}) > 1


def window_of(run: RunSample, node: str, phase: PhaseKind = "measure") -> Window | None:
    """Start and end of a phase, as times of a node's clock; None if the record does not determine
    them."""
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
    """A sampler's readings in a phase: times in s from the start of the phase, and values.

    Samples that could not be read are left out. None if there is no such column, or if the start
    and end of the phase are unknown by the node's clock.
    """
    values, window = series.columns.get(column), window_of(run, series.node, phase)
    if values is None or window is None:
        return None
    at = series.at_ns
    kept = (at >= window.start_ns) & (at <= window.end_ns) & ~np.isnan(values)
    return (at[kept] - window.start_ns) / NS_PER_S, values[kept]


def placed(run: RunSample, series: Sampled, chosen: Booleans, phase: PhaseKind) -> Floats:
    """The times of chosen samples of a series, in s from the start of a phase; empty if the start
    and end of the phase are unknown by the node's clock."""
    window = window_of(run, series.node, phase)
    if window is None:
        return np.empty(0)
    return (series.at_ns[chosen] - window.start_ns) / NS_PER_S
