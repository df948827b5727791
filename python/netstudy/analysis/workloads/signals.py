"""Signals to senders other than drops at switches: marks, PAUSE, ring drops, loss probes.

These metrics are causes in the chain of a workload. Tables and figures leave them out, since they
are 0 in most studies.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from netstudy.analysis.gathering import Block, cell_runs
from netstudy.analysis.metrics import HOSTS, SWITCH_PORTS, Direction, Metric, RatioOfSums
from netstudy.analysis.samples import RunSample, Terms, one
from netstudy.analysis.workloads.base import Step
from netstudy.wire import Readings, RunRecord, growth_between

Count = Callable[[RunRecord], int | None]
"""Reads a count for the measuring phase; None if some host or port lacks the counter."""


def of_hosts(*counters: str) -> Count:
    """Sum of counters over all hosts."""
    return lambda record: _sum(record, _hosts(record), counters)


def of_switches(*counters: str) -> Count:
    """Sum of counters over all ports of all switches."""
    return lambda record: _sum(record, _switch_ports(record), counters)


def counted(count: Count, run: RunSample) -> int | None:
    """The count of a run, cached for several metrics."""
    return run.kept(("count", count), lambda: count(run.record))


def totals_of(count: Count) -> tuple[Hashable, Callable[[Block], tuple[int, bool]]]:
    """The key and the part of a count: its sum over the runs of a block, and whether each run
    counted."""

    def part(block: Block) -> tuple[int, bool]:
        found = [counted(count, run) for run in block]
        return sum(one for one in found if one is not None), None not in found

    return ("total", count), part


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


def pauses(record: RunRecord) -> int | None:
    """PAUSE frames of switches and of hosts."""
    found = [of_switches("pauses_sent")(record), of_hosts("pauses_sent")(record)]
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None


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
            reading=RatioOfSums(terms),
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
