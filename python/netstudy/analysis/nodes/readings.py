"""The counters of several runs of a cell over one phase, as arrays with an entry for each run.

Several metrics and places read the same counters, so that everything here is computed once for the
runs of a block. Where all records have the same counters, as in the simulator, the counters of a
node or port are read into one matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from functools import cache
from itertools import chain
from typing import TypeVar

import numpy as np

from netstudy.analysis.gathering import Block
from netstudy.analysis.samples import NS_PER_S, Floats, RunSample
from netstudy.wire import (
    MAXIMA,
    Edges,
    PhaseKind,
    PhaseTimes,
    QueueStatistics,
    Readings,
    RecordNode,
    growth_between,
)

T = TypeVar("T")
Counters = tuple[Callable[[str], Floats | None], Collection[str]]
"""Reads the growth of a counter in each run, None if no run has it; and the names of all."""


_NOTHING: Readings = {}
_NO_PORTS: dict[str, Readings] = {}


class PhaseReadings:
    """The readings of some runs of one network at the start and end of a phase."""

    def __init__(self, runs: Sequence[RunSample], phase: PhaseKind) -> None:
        """Readings of the phase `phase`."""
        self.runs = runs
        self._phase = phase
        self._edges = [edges_of(run, phase) for run in runs]
        self._in_flight_ns = [in_flight_ns(run, phase) for run in runs]
        self._kept: dict[Hashable, object] = {}
        self._of_nodes = [run.record.counters for run in runs]
        self._of_ports = [run.record.ports for run in runs]

    def seconds(self, node: str, *, is_machine: bool) -> list[float | None]:
        """The time during which the counters of a node grew. Counters of a whole machine never
        stop, so for them it is the time between the readings at the start and end."""
        if is_machine:
            return self.between(node)

        def find() -> list[float | None]:
            return [
                between if in_flight is None else in_flight / NS_PER_S
                for in_flight, between in zip(self._in_flight_ns, self.between(node), strict=True)
            ]

        return self._once(("seconds", node), find)

    def between(self, node: str) -> list[float | None]:
        """The time between the readings of a node at the start and end."""
        return self._once(("between", node), lambda: self._between(node))

    def cpus(self, node: str) -> set[float | None]:
        """The CPUs of a node in any of the runs."""
        return self._once(("cpus", node), lambda: {cpus_of(run, node) for run in self.runs})

    def counters(self, node: str, port: str | None) -> Counters:
        """The growth of the counters of a port; if the port is None, of the node itself."""
        return self._once(("counters", node, port), lambda: self._counters(node, port))

    def queues(self, node: str, ports: Collection[str]) -> list[list[QueueStatistics]]:
        """For each run, the counters of the queue disciplines at these ports of a node."""
        every = self._once("queues", lambda: [run.record.samples.queue for run in self.runs])
        return [
            [one for one in counted if one.node == node and one.port in ports] if counted else []
            for counted in every
        ]

    def _once(self, key: Hashable, find: Callable[[], T]) -> T:
        if key not in self._kept:
            self._kept[key] = find()
        return self._kept[key]  # type: ignore[return-value]

    def _between(self, node: str) -> list[float | None]:
        usual = self._once("apart", lambda: self._apart())
        nodes = [run.record.nodes.get(node) for run in self.runs]
        if all(one is None or one.read_at_ns is None for one in nodes):
            return usual
        return [
            between if one is None or between is None else _apart(one, edges, between)
            for one, edges, between in zip(nodes, self._edges, usual, strict=True)
        ]

    def _apart(self) -> list[float | None]:
        """The time between both edges of each run, for nodes that were read at these times."""
        found: list[float | None] = []
        for run, (start, end) in zip(self.runs, self._edges, strict=True):
            at = run.record.edges
            if start is None or end is None:
                found.append(None)
            else:
                found.append((at[end].at_ns - at[start].at_ns) / NS_PER_S)
        return found

    def _counters(self, node: str, port: str | None) -> Counters:
        if port is None:
            read = [one.get(node, _NOTHING) for one in self._of_nodes]
        else:
            read = [one.get(node, _NO_PORTS).get(port, _NOTHING) for one in self._of_ports]
        return self._in_matrix(read) or self._one_by_one(read)

    def _in_matrix(self, read: Sequence[Readings]) -> Counters | None:
        """None: the runs have other counters, other edges, or a reading is missing."""
        names, edges = [*read[0]], self._edges[0]
        if not names or None in edges or any(one != edges for one in self._edges):
            return None
        width = len(read[0][names[0]])
        size = width * len(names)
        for one in read:
            if [*one] != names or sum(map(len, one.values())) != size:
                return None
        values = chain.from_iterable(chain.from_iterable(one.values()) for one in read)
        try:
            table = np.fromiter(values, dtype=np.int64, count=size * len(read))
        except (TypeError, OverflowError):  # a missing reading, or one beyond 64 bits
            return None
        start, end = (table.reshape(len(read), len(names), width)[:, :, edge] for edge in edges)
        grown = np.ascontiguousarray((end - start).T, dtype=np.float64)
        columns = dict(zip(names, grown, strict=True))
        for place, name in enumerate(names):
            if name in MAXIMA:
                columns[name] = np.ascontiguousarray(end[:, place], dtype=np.float64)
        return columns.get, frozenset(names)

    def _one_by_one(self, read: Sequence[Readings]) -> Counters:
        edges = self._edges  # not `self`, which would keep itself and its runs alive
        return cache(lambda name: _grown(read, edges, name)), frozenset().union(*read)


def _grown(read: Sequence[Readings], edges: Sequence[Edges], name: str) -> Floats | None:
    grown = [
        None if (values := one.get(name)) is None else growth_between(name, values, ends)
        for one, ends in zip(read, edges, strict=True)
    ]
    known = [np.nan if one is None else one for one in grown]
    return None if all(one is None for one in grown) else np.array(known, dtype=np.float64)


def readings_of_block(block: Block, phase: PhaseKind) -> PhaseReadings:
    """The readings of a block, cached with it."""
    return block.kept((PhaseReadings, phase), lambda: PhaseReadings(block, phase))


def edges_of(run: RunSample, phase: PhaseKind) -> Edges:
    """The edges of a phase, cached for all places of a run."""
    return run.kept((edges_of, phase), lambda: run.record.edges_of(phase))


def _apart(node: RecordNode, edges: Edges, usual: float) -> float:
    """The time between both edges at a node, which may have been read at times of its own."""
    start, end = edges
    if node.read_at_ns is None or start is None or end is None:
        return usual
    return (node.read_at_ns[end] - node.read_at_ns[start]) / NS_PER_S


def in_flight_ns(run: RunSample, phase: PhaseKind) -> int | None:
    """Time from the start of a phase until nothing was in flight any more; None if the record does
    not contain this, because counters were read at the end of the phase."""
    _, end = edges_of(run, phase)
    quiet_ns = None if end is None else run.record.edges[end].quiet_ns
    lasted = None if quiet_ns is None else run.record.phase(phase)
    return None if quiet_ns is None or lasted is None else quiet_ns - _begun_ns(run, lasted)


def _begun_ns(run: RunSample, lasted: PhaseTimes) -> int:
    """When the first client began a phase. With clients of several clocks, the measuring phase of
    the record begins with the last one; the first one ends a planned length after its start."""
    if lasted.kind != "measure" or run.measure_s is None:
        return lasted.start_ns
    return min(lasted.start_ns, lasted.end_ns - round(run.measure_s * NS_PER_S))


def cpus_of(run: RunSample, node: str) -> float | None:
    """The CPUs that a node may use; None: not known."""
    known = run.record.nodes.get(node)
    return None if known is None else known.cpus
