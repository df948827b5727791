"""Contribution of each mechanism of the simulator to its accuracy on the published incast tables.

usage: python -m tools.ablation [--iterations 100] [--seed 1]

Runs the incast study as its profiles have it, then with one mechanism at a time taken away, always
with the same random numbers, and writes the median errors into docs/concepts/accuracy.md, a table a
configuration, over some numbers of servers from the range. Nothing
is fitted anew: a row shows how the other mechanisms do without that one. A mechanism that the
profiles do not have is left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netstudy.analysis.metrics import Metric
from netstudy.analysis.reference import PanelReference
from netstudy.analysis.workloads.incast import COMPLETION, DROPS, RETRANSMISSIONS
from netstudy.report.cellrefs import count, plain
from netstudy.report.markdown import pipe_table, replace_between, text
from netstudy.report.refs import Name, say
from netstudy.report.tables import Group, Table, Value, bare_percent
from netstudy.wire import RunRecord
from tools import trial

PAGE = trial.ROOT / "docs/concepts/accuracy.md"
BEGIN = "<!-- ablation: written by python -m tools.ablation -->"
END = "<!-- end of ablation -->"
SWITCHES = ("arista-7124s", "nexus-5010")
SHOWN = (COMPLETION, DROPS, RETRANSMISSIONS)
SERVERS = (2, 4, 8, 12, 16, 20, 23)

Change = Callable[[trial.Run], Mapping[str, Any]]
"""Replacement for a mechanism: path in the run -> value; empty: nothing."""


@dataclass(frozen=True)
class Mechanism:
    """A part of the model, its replacement when it is taken away, and how to replace it."""

    name: str
    instead: str
    change: Change


def with_values(values: Mapping[str, Any]) -> Change:
    """The same values in every run that has such settings."""
    return lambda _run: values


def host(**values: Any) -> Change:
    """Settings of every host's TCP."""
    return with_values({f"network.groups.tcp.{key}": value for key, value in values.items()})


def nic(**values: Any) -> Change:
    """Settings of every host's interface."""
    return with_values({f"network.groups.nic.{key}": value for key, value in values.items()})


def buffer(**values: Any) -> Change:
    """Settings of the switch's buffer, where it has such."""
    return with_values({f"network.nodes.buffer.{key}": value for key, value in values.items()})


def divided_memory(run: trial.Run) -> Mapping[str, Any]:
    """The shared memory cut into equal parts, one a port."""
    switch = trial.switch(run)
    own = switch["buffer"]
    if own["kind"] != "shared-memory":
        return {}
    each = own["pool_bytes"] // switch["ports"] + own["port_reserve_bytes"]
    return {"network.nodes.buffer": {"kind": "output-queued", "port_buffer_bytes": each}}


def queue_at_the_egress(run: trial.Run) -> Mapping[str, Any]:
    """One ingress port's memory and the egress stage as the queue of the egress port."""
    own = trial.switch(run)["buffer"]
    if own["kind"] != "ingress-queued":
        return {}
    memory = own["ingress_buffer_bytes"] + own["egress_buffer_bytes"]
    return {"network.nodes.buffer": {"kind": "output-queued", "port_buffer_bytes": memory}}


def pause_in_memory(run: trial.Run) -> Mapping[str, Any]:
    """Hosts ask for a pause before their ring overflows; the switch with one memory honours it."""
    if trial.switch(run)["buffer"]["kind"] != "shared-memory":
        return {}
    return {
        "network.groups.nic.pause_high_frames": 384,
        "network.groups.nic.pause_low_frames": 256,
        "network.nodes.honours_pause": True,
    }


MECHANISMS = (
    Mechanism("packet memory shared by all ports", "equal private parts", divided_memory),
    Mechanism("dynamic threshold of that memory", "all of it for one port", buffer(alpha=1e6)),
    Mechanism("guaranteed frames of each ingress port", "none", buffer(ingress_guarantee_frames=0)),
    Mechanism("memory in cells", "memory in bytes", buffer(cell_bytes=1)),
    Mechanism(
        "virtual output queues at the ingress", "one queue at the egress", queue_at_the_egress
    ),
    Mechanism("egress stage behind the ingress queues", "none", buffer(egress_buffer_bytes=0)),
    Mechanism(
        "arbitration partly at random", "strict round robin", buffer(random_arbitration_pct=0)
    ),
    Mechanism(
        "cut-through",
        "store-and-forward",
        with_values({"network.nodes.forwarding": "store-and-forward"}),
    ),
    Mechanism(
        "window validation after idle time (RFC 2861)",
        "windows kept as they are",
        host(restart_after_idle=False),
    ),
    Mechanism("BIC", "Reno", host(congestion_control="reno")),
    Mechanism("FACK and rate halving", "RFC 6675", host(recovery="rfc")),
    Mechanism(
        "minimum RTO on the variation, as in Linux",
        "on the timeout, RFC 6298",
        host(rto_rule="rfc-6298"),
    ),
    Mechanism("retransmission clock in jiffies", "exact clock", host(clock_tick_ns=0)),
    Mechanism("bursts of segmentation offload", "single segments", host(offload_burst_bytes=0)),
    Mechanism(
        "quick acknowledgments", "none", host(quick_ack_segments=0, quick_ack_disorder=False)
    ),
    Mechanism(
        "quick acknowledgments after data out of order", "none", host(quick_ack_disorder=False)
    ),
    Mechanism("read ends of writes acknowledged at once", "delayed", host(ack_pushed=False)),
    Mechanism(
        "start jitter of the servers",
        "none",
        with_values({"workload.start_jitter": {"kind": "none"}}),
    ),
    Mechanism(
        "requests one after the other",
        "all at once",
        with_values({"workload.request_spacing_ns": 0}),
    ),
    Mechanism(
        "CPU time of received frames",
        "none",
        nic(receive_frame_ns=0, receive_rate_bps=None),
    ),
    Mechanism(
        "receive ring that may overflow",
        "one without end",
        nic(receive_ring_frames=None, receive_refill_frames=1),
    ),
    Mechanism("ring refilled by batches", "by single frames", nic(receive_refill_frames=1)),
    Mechanism("frames kept by the adapter", "descriptors only", nic(receive_ring_frames=512)),
    Mechanism("packet rate of the adapter", "none", nic(packet_rate_pps=None)),
    Mechanism(
        "room for several full frames at the ingress", "for one", buffer(ingress_reserve_frames=1)
    ),
    Mechanism("ingress buffer in cells", "in bytes", buffer(ingress_cell_bytes=1)),
    Mechanism(
        "packets that the adapter cuts",
        "frames that are segments",
        host(offload_request_bytes=0),
    ),
    Mechanism(
        "batches of received frames",
        "each at once",
        nic(interrupt_delay_ns=0, poll_weight_frames=None),
    ),
    Mechanism("segments merged by the receiver", "none", nic(receive_merge_bytes=0)),
    Mechanism(
        "link pause",
        "none",
        with_values(
            {
                "network.groups.nic.honours_pause": False,
                "network.groups.nic.pause_high_frames": None,
                "network.nodes.honours_pause": False,
                "network.nodes.pause_high_bytes": None,
            }
        ),
    ),
    # Mechanisms that were tried and rejected: here the row is the model with the mechanism added.
    Mechanism("no link pause", "asked for by the hosts, honoured by one switch", pause_in_memory),
    Mechanism("bursts as long as 64 KiB", "16 KiB", host(offload_burst_bytes=16_384)),
    Mechanism(
        "socket buffers of 4 MiB",
        "1 MB",
        host(send_buffer_bytes=1_000_000, receive_buffer_bytes=1_000_000),
    ),
    Mechanism("interrupts of the profile", "after 100 us", nic(interrupt_delay_ns=100_000)),
    Mechanism("no segments merged", "up to 64 KiB", nic(receive_merge_bytes=65_535)),
    Mechanism(
        "CPU time of the profile, about a microsecond a frame and 12.5 Gbit/s",
        "half of it",
        nic(receive_frame_ns=500, receive_rate_bps=25_000_000_000),
    ),
    Mechanism("guaranteed frames of the profile", "six", buffer(ingress_guarantee_frames=6)),
    Mechanism(
        "initial windows of RFC 3390, also after idle time",
        "of ten segments",
        host(initial_window_segments=10),
    ),
    Mechanism(
        "segments taken by TCP at once",
        "20 us later on average, as from the backlog of a socket that is being read",
        nic(receive_jitter_ns=20_000),
    ),
    Mechanism(
        "latencies of 10 us", "of 30 us", nic(send_latency_ns=30_000, receive_latency_ns=30_000)
    ),
)


@dataclass(frozen=True)
class Accuracy:
    """How a plan's outcome stands to the published table of one configuration."""

    median_abs_pct: Mapping[tuple[Metric, str], float | None]
    ratio: float | None
    """Of the two switches' completion times at the most servers."""

    def worse_than(self, other: Accuracy) -> float:
        """Sum over metrics and switches of what the median errors have grown by."""
        pairs = ((value, other.median_abs_pct[key]) for key, value in self.median_abs_pct.items())
        return sum(a - b for a, b in pairs if a is not None and b is not None)


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    name: str
    instead: str
    found: Mapping[str, Accuracy]
    """By configuration."""


def accuracy(reference: PanelReference) -> Accuracy:
    """The figures that the table shows."""
    medians = {
        (one.metric, str(one.level)): one.median_abs_pct
        for one in reference.agreements
        if one.metric in SHOWN
    }
    ratios = (ratio.own for ratio in reference.ratios if ratio.metric == COMPLETION)
    return Accuracy(medians, next(ratios, None))


def accuracies(asked: trial.Plan, records: Sequence[RunRecord]) -> dict[str, Accuracy]:
    """The figures of each configuration."""
    found = trial.agreements(asked, records)
    return {configuration: accuracy(reference) for configuration, reference in found.items()}


def without(mechanism: Mechanism, base: trial.Plan) -> trial.Plan:
    """The runs that differ when a mechanism is taken away.

    Raises ValueError when no run has the settings that it is made of.
    """
    changed = [_changed(run, mechanism.change(run)) for run in base["runs"]]
    if not any(found for _, found in changed):
        raise ValueError(f"no run has what {mechanism.name} is made of")
    pairs = zip(changed, base["runs"], strict=True)
    return {**base, "runs": [run for (run, _), before in pairs if run != before]}


def _changed(run: trial.Run, changes: Mapping[str, Any]) -> tuple[trial.Run, bool]:
    """A copy with other settings, and whether the run has all of these."""
    copy: trial.Run = json.loads(json.dumps(run))
    trial.put(copy, changes)
    return copy, bool(changes) and all(any(trial.places(run, path)) for path in changes)


def replaced(base: Sequence[RunRecord], others: Sequence[RunRecord]) -> list[RunRecord]:
    """The records, with `others` in place of the records of the same runs."""
    by_run = {record.run: record for record in others}
    return [by_run.get(record.run, record) for record in base]


def rows(iterations: int, seed: int) -> list[Row]:
    """The model as it is, with other random numbers, and without each mechanism, worst first."""
    base = _plan(iterations, seed)
    records = trial.simulate(base)
    whole = accuracies(base, records)
    fresh = _plan(iterations, seed + 1)
    again = accuracies(fresh, trial.simulate(fresh))
    taken = []
    for mechanism in MECHANISMS:
        runs = without(mechanism, base)
        if runs["runs"]:
            joined = replaced(records, trial.simulate(runs))
            row = Row(mechanism.name, mechanism.instead, accuracies(base, joined))
            taken.append(row)
            print(f"{_worse(row, whole):+8.1f}  {mechanism.name}", flush=True)
    taken.sort(key=lambda row: _worse(row, whole), reverse=True)
    return [Row("nothing", "", whole), Row("nothing", "other random numbers", again), *taken]


def _plan(iterations: int, seed: int) -> trial.Plan:
    return trial.only_published(trial.plan(iterations, seed, SERVERS))


def _worse(row: Row, whole: Mapping[str, Accuracy]) -> float:
    return sum(found.worse_than(whole[name]) for name, found in row.found.items())


def table(found: Sequence[Row], configuration: str) -> Table:
    """Median errors by metric and switch, and the ratio of the switches."""
    groups = (
        Group("Taken away"),
        Group("In its place"),
        *(Group(metric.title, "%", columns=SWITCHES) for metric in SHOWN),
        Group("Ratio"),
    )
    lines = tuple(_cells(row, row.found[configuration]) for row in found)
    return Table("ablation", say("Median errors"), groups, lines, stub=2)


def _cells(row: Row, found: Accuracy) -> tuple[Value, ...]:
    errors = (found.median_abs_pct.get((m, s)) for m in SHOWN for s in SWITCHES)
    ratio = found.ratio
    return (
        Name(row.name),
        Name(row.instead),
        *(None if e is None else bare_percent(e, f"median of |error|, {row.name}") for e in errors),
        None if ratio is None else plain(ratio, 2, "", f"ratio of completion times, {row.name}"),
    )


def write(found: Sequence[Row], iterations: int, seed: int, page: Path = PAGE) -> None:
    """Put the tables into the page."""
    said = say(
        "{n} iterations a cell after the warm-up, one run each, seed {seed}; servers {servers},"
        " where a table has them.",
        n=count(iterations, "iterations"),
        seed=Name(str(seed)),
        servers=Name(", ".join(map(str, SERVERS))),
    )
    parts = [text(said)]
    for configuration in filter(found[0].found.__contains__, trial.configurations()):
        parts += [f"### Without: {configuration}", pipe_table(table(found, configuration))]
    replace_between(page, BEGIN, END, "\n\n".join(parts))


def main() -> int:
    """Simulate, print, write."""
    parser = argparse.ArgumentParser(prog="python -m tools.ablation")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    write(rows(asked.iterations, asked.seed), asked.iterations, asked.seed)
    print(PAGE.relative_to(trial.ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
