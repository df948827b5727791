"""Signals to senders other than drops at switches: marks, PAUSE, ring drops, loss probes.

These metrics are causes in the chain of a workload. Tables and figures leave them out, since they
are 0 in most studies.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, Literal

import numpy as np

from netstudy.analysis.gathering import Block, cell_runs
from netstudy.analysis.metrics import HOSTS, SWITCH_PORTS, Direction, Metric, RatioOfSums
from netstudy.analysis.nodes.readings import readings_of_block
from netstudy.analysis.samples import (
    DROP_COUNTER,
    Floats,
    NotAlikeError,
    RunSample,
    Terms,
    dropped_at_ports,
    one,
)
from netstudy.analysis.workloads.base import Step
from netstudy.wire import Readings, RunRecord, growth_between

Count = Callable[[RunRecord], int | None]
"""Reads a count for the measuring phase; None if some host or port lacks the counter."""


@dataclass(frozen=True)
class Counters:
    """Sums of counters: each over all hosts, or over all ports of all switches."""

    sums: tuple[tuple[Literal["host", "switch"], tuple[str, ...]], ...]

    def __call__(self, record: RunRecord) -> int | None:
        """The count of a run; see Count."""
        found = [_sum(record, _READINGS[kind](record), counters) for kind, counters in self.sums]
        known = [value for value in found if value is not None]
        return sum(known) if len(known) == len(found) else None

    def of_block(self, block: Block) -> Floats | None:
        """The count of each run of a block, NaN if no run counted; None: they must be read one by
        one."""
        places = block.kept("nodes and ports", lambda: _nodes_and_ports(block))
        read = readings_of_block(block, "measure")
        columns = [
            read.counters(node, port)[0](counter)
            for kind, counters in self.sums
            for node, port in places.get(kind, ())
            for counter in counters
        ]
        if not all(places.get(kind) for kind, _ in self.sums):
            return None
        known = [one for one in columns if one is not None]
        if len(known) < len(columns):
            return np.full(len(block), np.nan)
        total: Floats = reduce(np.add, known)
        return None if np.isnan(total).any() else total


Places = Mapping[str, Sequence[tuple[str, str | None]]]
"""Kind of node -> the nodes and ports whose counters are summed."""


def _nodes_and_ports(block: Block) -> Places:
    """The nodes and ports of all runs of a block; empty if the runs differ."""
    first, *others = (
        [
            (name, node.kind, [*run.record.ports.get(name, ())])
            for name, node in run.record.nodes.items()
        ]
        for run in block
    )
    if any(one != first for one in others):
        return {}
    return {
        "host": [(name, None) for name, kind, _ in first if kind == "host"],
        "switch": [
            (name, port) for name, kind, ports in first if kind == "switch" for port in ports
        ],
    }


def of_hosts(*counters: str) -> Counters:
    """Sum of counters over all hosts."""
    return Counters((("host", counters),))


def of_switches(*counters: str) -> Counters:
    """Sum of counters over all ports of all switches."""
    return Counters((("switch", counters),))


def counted(count: Count, run: RunSample) -> int | None:
    """The count of a run, cached for several metrics."""
    return run.kept(("count", count), lambda: count(run.record))


def totals_of(count: Count) -> tuple[Hashable, Callable[[Block], tuple[int, bool]]]:
    """The key and the part of a count: its sum over the runs of a block, and whether each run
    counted."""

    def part(block: Block) -> tuple[int, bool]:
        each = counts_of_block(count, block)
        if each is not None:
            return (0, False) if np.isnan(each).all() else (int(each.sum()), True)
        found = [counted(count, run) for run in block]
        return sum(one for one in found if one is not None), None not in found

    return ("total", count), part


def counts_of_block(count: Count, block: Block) -> Floats | None:
    """The count of each run of a block; None: they must be read one by one."""
    counters = _DROPS if count is dropped_at_ports else count
    return counters.of_block(block) if isinstance(counters, Counters) else None


def total_of(runs: Sequence[RunSample], count: Count) -> int | None:
    """The sum of a count over the runs of a cell; None if a run did not count."""
    parts = cell_runs(runs).gathered(*totals_of(count))
    return sum(one for one, _ in parts) if all(is_known for _, is_known in parts) else None


def _hosts(record: RunRecord) -> Iterator[Readings]:
    return (
        record.counters.get(name, {}) for name, node in record.nodes.items() if node.kind == "host"
    )


def _switch_ports(record: RunRecord) -> Iterator[Readings]:
    return (
        readings
        for name, node in record.nodes.items()
        if node.kind == "switch"
        for readings in record.ports.get(name, {}).values()
    )


_READINGS: Final = {"host": _hosts, "switch": _switch_ports}


def _sum(record: RunRecord, of: Iterable[Readings], counters: tuple[str, ...]) -> int | None:
    edges = record.edges_of("measure")
    grown = [
        growth_between(name, read[name], edges) if name in read else None
        for read in of
        for name in counters
    ]
    known = [one for one in grown if one is not None]
    return sum(known) if known and len(known) == len(grown) else None


marks = of_switches("frames_marked")
forwarded = of_switches("frames_forwarded")
ring_drops = of_hosts("ring_drops")
loss_probes = of_hosts("loss_probes")
probe_repairs = of_hosts("loss_probe_recoveries")
setup_retransmissions = of_hosts("syn_retransmissions")


pauses = Counters((("switch", ("pauses_sent",)), ("host", ("pauses_sent",))))
"""PAUSE frames of switches and of hosts."""
_DROPS = of_switches(DROP_COUNTER)
"""The count of `dropped_at_ports`."""


COUNTS: tuple[Count, ...] = (
    marks,
    forwarded,
    ring_drops,
    loss_probes,
    probe_repairs,
    setup_retransmissions,
    pauses,
)
"""All counts of signals."""


@dataclass(frozen=True)
class Signals:
    """The metrics of these signals for one workload, each per amount of work."""

    marks: Metric
    pauses: Metric
    ring_drops: Metric
    loss_probes: Metric

    def steps(self, deciding: Metric, drops: Metric, again: Metric) -> tuple[Step, ...]:
        """Links of the causal chain from these signals to the losses and to the deciding metric.
        Marks and PAUSE prevent drops; PAUSE also delays frames to other receivers that wait behind
        the paused port (head-of-line blocking)."""
        worse = deciding.direction == "lower"
        return (
            Step(self.ring_drops, again, rises=True),
            Step(self.marks, drops, rises=False),
            Step(self.pauses, drops, rises=False),
            Step(self.pauses, deciding, rises=worse),
            Step(self.loss_probes, deciding, rises=worse),
        )


def signals_of(
    suffix: str, per: str, amount: Callable[[RunSample], float | None], formula: str
) -> Signals:
    """The metrics per amount of work: ratios of sums over runs. `per` is the text after the unit,
    such as `a GB`; `formula` is the end of each metric's formula."""

    def metric(
        name: str, count: Count, what: str, unit: str, title: str, direction: Direction, source: str
    ) -> Metric:
        def terms(run: RunSample) -> Terms | None:
            value, work = counted(count, run), amount(run)
            return None if value is None or not work else one(value, work)

        def rows(block: Block) -> Terms | None:
            values = counts_of_block(count, block)
            work = block.kept(("work", amount), lambda: [amount(run) for run in block])
            if values is None or not all(work):
                raise NotAlikeError
            if np.isnan(values).all():
                return None
            return values[:, np.newaxis], np.array(work, dtype=np.float64)[:, np.newaxis]

        # Inside a sentence, abbreviations such as ECN keep their capitals.
        return Metric(
            name=f"{name}_{suffix}",
            label=f"{title[:1].lower() if title[1:2].islower() else title[:1]}{title[1:]} {per}",
            unit=unit,
            formula=f"{what} {formula}",
            direction=direction,
            instruments=(source,),
            decimals=1,
            title=title,
            figure=f"{name}_{suffix}",
            reading=RatioOfSums(terms, of_rows=rows),
            per=f" {per}",
            exported=False,
        )

    return Signals(
        marks=metric(
            "marks",
            marks,
            "frames that switch ports marked (CE)",
            "packets",
            "ECN marks",
            "neutral",
            SWITCH_PORTS,
        ),
        pauses=metric(
            "pauses",
            pauses,
            "PAUSE frames that switches and hosts sent",
            "frames",
            "PAUSE frames",
            "neutral",
            SWITCH_PORTS,
        ),
        ring_drops=metric(
            "ring_drops",
            ring_drops,
            "frames that found a host's receive ring full",
            "packets",
            "Ring drops",
            "lower",
            HOSTS,
        ),
        loss_probes=metric(
            "loss_probes",
            loss_probes,
            "tail loss probes that hosts sent",
            "segments",
            "Tail loss probes",
            "lower",
            HOSTS,
        ),
    )
