"""Fits what is not documented of the incast study's switches and hosts to the published table.

usage: python -m tools.fit [--iterations 150] [--seed 1]

Few figures are free, each from a short list of values that the device could have. One after the
other takes each of its values; the one with the least error stays, until none changes. All
candidates meet the same random numbers. The result is then scored with fresh ones and more
iterations, and printed beside the profiles' own figures; nothing is written. Error is the mean
absolute log ratio of simulated to published completion times and drops, none counting more than a
quarter: the published means of few servers carry a sampling error of their own, and no single row
shall carry the fit.
"""

from __future__ import annotations

import argparse
import copy
import csv
import json
import math
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netstudy import wire
from netstudy.plan import make_plan
from netstudy.study import apply_overrides, load
from netstudy.testbed.engine import find_engine

ROOT = Path(__file__).parents[1]
STUDY = ROOT / "studies/incast"
SERVERS = tuple(range(2, 24))
WORST = 0.25
"""No ratio counts more than this."""

Plan = dict[str, Any]


@dataclass(frozen=True)
class Knob:
    """A figure that is fitted: where it stands on the wire, and what it could be."""

    name: str
    values: tuple[float, ...]

    def put(self, run: dict[str, Any], value: float) -> None:
        """Set it wherever the run has it."""
        hosts = run["network"]["hosts"]
        places = [run["network"]["switch"]["buffer"], *(host["tcp"] for host in hosts)]
        for place in places:
            if self.name in place:
                place[self.name] = value


KNOBS = (
    Knob("alpha", (0.25, 0.5, 1.0)),
    Knob("offload_burst_bytes", (18_000, 27_000, 36_000, 65_535)),
    Knob("read_at_once_pct", (15, 20, 25, 30, 35)),
    Knob("ingress_buffer_bytes", (81_500, 90_500, 99_500)),
    Knob("egress_buffer_bytes", (0, 7_000, 18_100)),
    Knob("random_arbitration_pct", (50, 75, 100)),
)


@dataclass(frozen=True)
class Row:
    """One cell: simulated over published."""

    switch: str
    servers: int
    completion: float
    drops: float | None

    def error(self) -> float:
        """Absolute log ratios, bounded, averaged."""
        ratios = [self.completion, *([self.drops] if self.drops is not None else [])]
        return statistics.mean(min(abs(math.log(max(ratio, 0.01))), WORST) for ratio in ratios)


def published() -> dict[tuple[str, int], tuple[float, float]]:
    """Completion time in ms and dropped packets by switch and number of servers."""
    with (STUDY / "reference/incast_4mb_mtu9000.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        (switch, int(row["servers"])): (
            float(row[f"completion_ms_{switch.replace('-', '_')}"]),
            float(row[f"dropped_packets_{switch.replace('-', '_')}"]),
        )
        for row in rows
        for switch in ("arista-7124s", "nexus-5010")
    }


def plan(iterations: int, seed: int, servers: tuple[int, ...]) -> Plan:
    """The study's plan with one replicate."""
    changes = {"replicates": "1", "workload.incast.iterations": str(iterations)}
    planned = make_plan(
        apply_overrides(load(STUDY), changes), seed=seed, only={"servers": list(servers)}
    )
    made: Plan = json.loads(wire.to_json(planned.plan))
    return made


def simulate(base: Plan, chosen: dict[Knob, float]) -> list[Row]:
    """Run the plan with the chosen figures; each cell beside its published values."""
    candidate = copy.deepcopy(base)
    for run in candidate["runs"]:
        for knob, value in chosen.items():
            knob.put(run, value)
    command = [str(find_engine()), "sim"]
    done = subprocess.run(
        command, input=json.dumps(candidate), capture_output=True, text=True, check=True
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return [_row(record) for record in records if record["kind"] == "run"]


def _row(record: dict[str, Any]) -> Row:
    switch, servers = record["treatment"]["switch"], record["treatment"]["servers"]
    completion_ms, drops = published()[switch, servers]
    samples = record["iterations"]
    simulated_drops = statistics.mean(samples["dropped_packets"])
    return Row(
        switch,
        servers,
        statistics.mean(samples["completion_ns"]) / 1e6 / completion_ms,
        simulated_drops / drops if drops else None,
    )


def error(rows: list[Row]) -> float:
    """What is made small."""
    return statistics.mean(row.error() for row in rows)


def fit(base: Plan) -> dict[Knob, float]:
    """Coordinate descent over the lists, from the first value that the profiles have."""
    chosen: dict[Knob, float] = {}
    best = error(simulate(base, chosen))
    changed = True
    while changed:
        changed = False
        for knob in KNOBS:
            for value in knob.values:
                found = error(simulate(base, {**chosen, knob: value}))
                if found < best:
                    best, changed = found, True
                    chosen[knob] = value
            print(f"{best:.4f}  {knob.name} = {chosen.get(knob, 'as in the profile')}", flush=True)
    return chosen


def score(rows: list[Row]) -> None:
    """Median absolute percentage errors, a line a switch."""
    for switch in sorted({row.switch for row in rows}):
        mine = [row for row in rows if row.switch == switch]
        completion = statistics.median(abs(row.completion - 1) * 100 for row in mine)
        drops = statistics.median(abs(row.drops - 1) * 100 for row in mine if row.drops is not None)
        print(f"{switch}: completion time {completion:.1f} %, drops {drops:.1f} % (median error)")


def main() -> int:
    """Fit, then score on fresh seeds."""
    parser = argparse.ArgumentParser(prog="python -m tools.fit")
    parser.add_argument("--iterations", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chosen = fit(plan(arguments.iterations, arguments.seed, SERVERS))
    for knob in KNOBS:
        print(f"{knob.name}: {chosen.get(knob, 'as in the profile')}")
    fresh = plan(4 * arguments.iterations, arguments.seed + 1, tuple(range(1, 24)))
    print("with fresh random numbers:")
    score(simulate(fresh, chosen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
