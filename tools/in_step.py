"""What it does to losses that hosts take the same time always: docs/concepts/conformance.md.

usage: python -m tools.in_step [--iterations 200] [--seed 1] [RESULTS]

Simulates Reno with 8 flows of studies/conformance/shared.yaml with more and more jitter of the
hosts, and puts the kernel's figures from the newest folder in namespaces beside it. No number
between the markers is typed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from netstudy import wire
from netstudy.errors import exit_code
from netstudy.plan import make_plan
from netstudy.report.cellrefs import plain
from netstudy.report.markdown import pipe_table
from netstudy.report.marked import replace_between
from netstudy.report.refs import Name, say
from netstudy.report.tables import Group, Table, Value
from netstudy.study import apply_overrides, load
from netstudy.wire import RunRecord
from tools import conformance, trial

STUDY = conformance.STUDIES / "shared.yaml"
CELL = {"tcp": "reno", "flows": 8}
JITTERS_US = (0, 2, 5, 10, 20, 50, 100)
BEGIN = "<!-- in step: written by python -m tools.in_step -->"
END = "<!-- end of in step -->"


@dataclass(frozen=True)
class Losses:
    """Counts of an iteration, means over all of them, and the time it took."""

    completion_ms: float
    frames_dropped: float
    fast_recoveries: float
    loss_probe_recoveries: float
    timeouts: float


def losses(records: Sequence[RunRecord]) -> Losses:
    """What was lost and how it was repaired. Raises ValueError without a single iteration."""
    completed_ns = [ns for one in records if one.iterations for ns in one.iterations.completion_ns]
    if not completed_ns:
        raise ValueError("no iteration was completed")

    def per_iteration(node: str, counter: str) -> float:
        return sum(one.counters[node][counter] for one in records) / len(completed_ns)

    return Losses(
        completion_ms=sum(completed_ns) / len(completed_ns) / 1e6,
        frames_dropped=per_iteration("switch.client", "frames_dropped"),
        fast_recoveries=per_iteration("server", "fast_recoveries"),
        loss_probe_recoveries=per_iteration("server", "loss_probe_recoveries"),
        timeouts=per_iteration("server", "timeouts"),
    )


def simulated(iterations: int, seed: int) -> Iterator[tuple[int, Losses]]:
    """Each jitter in microseconds, and what comes of it."""
    study = apply_overrides(load(STUDY), {"workload.incast.iterations": str(iterations)})
    only = {factor: [str(level)] for factor, level in CELL.items()}
    base = json.loads(wire.to_json(make_plan(study, seed=seed, only=only).plan))
    for jitter_us in JITTERS_US:
        change = {"network.hosts.nic.receive_jitter_ns": jitter_us * 1000}
        yield jitter_us, losses(trial.simulate(trial.changed(base, change)))


def measured(results: Path) -> Losses:
    """The same of the kernel. Raises StudyError without a finished run in namespaces."""
    folder = conformance.newest(load(STUDY), "netns", results)
    valid = (one for one in folder.records() if one.status == "ok")
    return losses([one for one in valid if one.treatment == CELL])


def table(rows: Sequence[tuple[str, Losses]]) -> Table:
    """A row for each jitter, and the kernel's last."""
    groups = (
        Group("jitter of hosts"),
        Group("Completion time", "ms"),
        Group("frames dropped"),
        Group("fast recoveries"),
        Group("repaired by a probe"),
        Group("timeouts"),
    )
    return Table("in-step", say("Losses of an iteration, by jitter of the hosts"), groups,
                 tuple(_row(*row) for row in rows))  # fmt: skip


def _row(name: str, found: Losses) -> tuple[Value, ...]:
    source = f"{name}, mean of an iteration"
    return (
        Name(name),
        plain(found.completion_ms, 1, "", source),
        plain(found.frames_dropped, 1, "", source),
        plain(found.fast_recoveries, 1, "", source),
        plain(found.loss_probe_recoveries, 2, "", source),
        plain(found.timeouts, 2, "", source),
    )


def _make(iterations: int, seed: int, results: Path) -> None:
    rows = [(f"{jitter_us} µs", found) for jitter_us, found in simulated(iterations, seed)]
    rows.append(("kernel, in namespaces", measured(results)))
    replace_between(conformance.PAGE, BEGIN, END, pipe_table(table(rows)))


def main(arguments: Sequence[str]) -> int:
    """Run from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.in_step")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("results", nargs="?", type=Path, default=Path("results"))
    asked = parser.parse_args(arguments)
    return exit_code(lambda: _make(asked.iterations, asked.seed, asked.results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
