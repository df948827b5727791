"""Writes into studies/conformance/results.md how properties of hosts affect losses, compared with
the kernel.

usage: python -m tools.host_effects [--iterations 200] [--seed 1] [RESULTS]

Simulates two cells of studies/conformance as they are, and then with one property of the hosts
changed at a time. The kernel's figures are taken from the newest results folder in namespaces. No
number between the markers is typed by hand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netstudy.calibration import simulated as simulate
from netstudy.errors import StudyError, exit_code
from netstudy.plan import make_plan
from netstudy.report.cellrefs import plain
from netstudy.report.markdown import pipe_table, replace_between
from netstudy.report.refs import Name, say
from netstudy.report.tables import Group, Table, Value
from netstudy.study import Study, apply_overrides, load
from netstudy.wire import Level, RunRecord
from tools import conformance, trial

BEGIN = "<!-- host effects: written by python -m tools.host_effects -->"
END = "<!-- end of host effects -->"


@dataclass(frozen=True)
class Scenario:
    """A cell of a study, and the variants of its hosts."""

    title: str
    study: str
    cell: Mapping[str, Level]
    variants: Mapping[str, Mapping[str, Any]]
    """Name of a row -> path in a run -> value to set there; without a path, the run is as in the
    study."""

    def load(self) -> Study:
        """The study itself."""
        return load(conformance.STUDIES / f"{self.study}.yaml")


def jitter(mean_us: int) -> dict[str, Any]:
    """The setting that gives a host this mean of random time per segment."""
    return {"network.groups.nic.receive_jitter_ns": mean_us * 1000}


SHARED = Scenario(
    "Reno, 8 flows that share a port",
    "shared",
    {"tcp": "reno", "flows": 8},
    {
        **{f"jitter of {mean_us} µs": jitter(mean_us) for mean_us in (0, 2, 5, 10, 20, 50, 100)},
        "small queues hold back": {"network.groups.tcp.limit_output_bytes": 1 << 20},
    },
)
COLLAPSE = Scenario(
    "CUBIC, 16 servers, collapse",
    "incast-collapse",
    {"tcp": "cubic-hystart", "servers": 16},
    {
        "as the study says": {},
        "no jitter of hosts": jitter(0),
        "a clock for each host": {"network.shared_clock": False},
        "the end of a write waits": {"network.groups.tcp.ack_pushed": False},
        "requests and answers at once": {
            "workload.request_spacing_ns": 0,
            "workload.start_jitter": {"kind": "none"},
        },
    },
)


@dataclass(frozen=True)
class Losses:
    """Counts and completion time per iteration, as means over all iterations."""

    completion_ms: float
    frames_dropped: float
    fast_recoveries: float
    loss_probe_recoveries: float
    timeouts: float


def losses(records: Sequence[RunRecord]) -> Losses:
    """Losses and their repair. Raises ValueError if no iteration was completed."""
    tables = [one.samples.iteration for one in records]
    completed_ns = [ns for table in tables if table for ns in table.completion_ns]
    if not completed_ns:
        raise ValueError("no iteration was completed")

    def per_iteration(counter: str) -> float:
        return sum(_of_servers(one, counter) for one in records) / len(completed_ns)

    dropped = sum(_dropped_to_client(one) for one in records)
    return Losses(
        completion_ms=sum(completed_ns) / len(completed_ns) / 1e6,
        frames_dropped=dropped / len(completed_ns),
        fast_recoveries=per_iteration("fast_recoveries"),
        loss_probe_recoveries=per_iteration("loss_probe_recoveries"),
        timeouts=per_iteration("timeouts"),
    )


def _of_servers(record: RunRecord, counter: str) -> int:
    """The sum of a counter over all servers, in the measuring phase. Raises KeyError without it."""
    servers = [name for name, node in record.nodes.items() if node.group == "server"]
    return sum(record.growth(record.counters[name])[counter] for name in servers)


def _dropped_to_client(record: RunRecord) -> int:
    return record.growth(record.ports["switch"]["client"])["frames_dropped"]


def simulated(scenario: Scenario, iterations: int, seed: int) -> Iterator[tuple[str, Losses]]:
    """The name of each variant, and its losses."""
    study = apply_overrides(scenario.load(), {"workload.incast.iterations": str(iterations)})
    only = {factor: [str(level)] for factor, level in scenario.cell.items()}
    base = make_plan(study, seed=seed, only=only).plan
    for name, change in scenario.variants.items():
        records = simulate(trial.changed(base, trial.always(change)))
        yield name, losses([*records.values()])


def measured(scenario: Scenario, results: Path) -> Losses:
    """The losses with the kernel's TCP. Raises StudyError if there is no finished run in
    namespaces."""
    done = conformance.newest(scenario.load(), results)
    folder = next((one for one in done if one.invocation().testbed == "netns"), None)
    if folder is None:
        raise StudyError(f"{results} has no finished run of {scenario.study} in namespaces")
    valid = (one for one in folder.records() if one.status == "ok")
    return losses([one for one in valid if one.treatment == scenario.cell])


def table(scenario: Scenario, rows: Sequence[tuple[str, Losses]]) -> Table:
    """One row for each variant; the last row is the kernel's."""
    groups = (
        Group(scenario.title),
        Group("Completion time", "ms"),
        Group("frames dropped"),
        Group("fast recoveries"),
        Group("repaired by a probe"),
        Group("timeouts"),
    )
    caption = say("Losses of an iteration, by a property of the hosts")
    found = tuple(_row(name, one) for name, one in rows)
    return Table(scenario.study, caption, groups, found)


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
    tables = []
    for scenario in (SHARED, COLLAPSE):
        rows = [*simulated(scenario, iterations, seed)]
        rows.append(("kernel, in namespaces", measured(scenario, results)))
        tables.append(pipe_table(table(scenario, rows)))
    replace_between(conformance.PAGE, BEGIN, END, "\n\n".join(tables))


def main(arguments: Sequence[str]) -> int:
    """Run from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.host_effects")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("results", nargs="?", type=Path, default=Path("results"))
    asked = parser.parse_args(arguments)
    return exit_code(lambda: _make(asked.iterations, asked.seed, asked.results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
