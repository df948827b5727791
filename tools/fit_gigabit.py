"""Fits two costs of the gigabit study's hosts to two published rates.

usage: python -m tools.fit_gigabit [--seconds 4] [--replicates 2] [--seed 1] [--score-only]
                                    [--write]

Two figures are free: the client's CPU time a received byte, which decides what one discarding
client takes, and the server's CPU time a sent packet, which decides the plateau. So there are two
unknowns and two published rates, and the fit is the solution of two equations. The plateau is the
rate to which the published test's last client added nothing: 762 Mbit/s with five. It is simulated
as the study finds a plateau, by five clients and the two more that confirm it, whose mean it is.
Both times a frame are sums of what the frame costs, so that each step corrects a figure by the time
that a frame takes too long or too short, until both rates are as close as can be told. All
candidates meet the same random numbers.

The interval of each figure holds the values with which its rate stays within 2 % of the published
one, the noise that the study declares: the time of a frame may be that much longer or shorter.

Files are shorter than the study's, which changes no rate: to open a connection takes less than a
thousandth of a transfer's time. Nothing else is fitted. With fresh random numbers all published
rows are simulated and printed beside the published values, those that were not fitted as
predictions; with --write the figures and their intervals go into the profiles.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from netstudy import wire
from netstudy.analysis.nodes import node_metric
from netstudy.analysis.samples import RunSample
from netstudy.plan import make_plan
from netstudy.study import Study, apply_overrides, load
from tools import fit, trial

STUDY = trial.ROOT / "studies/gigabit"
NOISE = 0.02
"""What the study declares."""
CLOSE = 0.005
"""Rates this close to the published ones are taken for equal."""
ROUNDS_MAX = 8
FILE = "20 MB"
RATE = node_metric("switch@server.port_in_mbps_mean")
"""What the published values are values of: the mean of the seconds inside the phase, without the
transfers that run on behind it."""
FRAME_BITS = 8 * 1518
PAYLOAD_BYTES = 1460
"""Of a full frame without timestamps, which the client does not have."""


@dataclass(frozen=True)
class Cost:
    """A figure that is fitted, and the published rate that decides it."""

    group: str
    wired: str
    """In the group's CPU on the wire."""
    knob: fit.Knob
    """In the profile."""
    clients: tuple[int, ...]
    """Of the published row, and those that its rate is simulated with too."""
    frame_ns: float
    """Time of a frame that one unit of it makes."""


def _knob(profile: str, figure: str, unit: str) -> fit.Knob:
    return fit.Knob("", profile, "cpu", figure, unit, ())


CLIENT = Cost(
    "client",
    "receive_ps_per_byte",
    _knob("nt-client-450", "receive_per_byte", "ps/B"),
    clients=(1,),
    frame_ns=PAYLOAD_BYTES / 1e3,
)
SERVER = Cost(
    "server",
    "send_packet_ns",
    _knob("hp-n4000", "send_per_packet", "ns"),
    clients=(5, 6, 7),
    frame_ns=1.0,
)
COSTS = (CLIENT, SERVER)
Chosen = Mapping[Cost, int]
Rates = Callable[[Chosen], Mapping[Cost, float]]


@cache
def study() -> Study:
    """The gigabit study."""
    return load(STUDY)


@dataclass(frozen=True)
class Row:
    """A published row."""

    clients: int
    sink: str
    mbps: float


def published() -> tuple[Row, ...]:
    """The sustained rates of the published table."""
    lines = (STUDY / "reference/gigabit_ftp.csv").read_text(encoding="utf-8").splitlines()
    fields = [line.split(",") for line in lines[1:]]
    return tuple(Row(int(f[0]), f[1], float(f[3])) for f in fields if f[2] == "sustained")


def plan(rows: Sequence[Row], seconds: int, replicates: int, seed: int) -> trial.Plan:
    """The study's plan for these rows of the copying daemon, with the rate's instrument alone."""
    changes = {
        "replicates": str(replicates),
        "procedure.measure": f"{seconds} s",
        "workload.transfer.size": FILE,
    }
    only: dict[str, list[wire.Level]] = {
        "daemon": ["copying"],
        "sink": list(dict.fromkeys(row.sink for row in rows)),
        "clients": list(dict.fromkeys(row.clients for row in rows)),
    }
    made = make_plan(apply_overrides(study(), changes), seed=seed, only=only).whole_plan
    asked: trial.Plan = wire.Plan.model_dump(made, mode="json", by_alias=True)
    wanted = {(row.clients, row.sink) for row in rows}
    asked["runs"] = [
        {**run, "instruments": [one for one in run["instruments"] if one["kind"] == "snmp"]}
        for run in asked["runs"]
        if _place(run["treatment"]) in wanted
    ]
    return asked


def _place(treatment: Mapping[str, Any]) -> tuple[int, str]:
    return int(treatment["clients"]), str(treatment["sink"])


def with_chosen(base: trial.Plan, chosen: Chosen) -> trial.Plan:
    """The plan with other costs."""
    asked = trial.changed(base, {})
    for run in asked["runs"]:
        for group in run["network"]["groups"]:
            for cost, value in chosen.items():
                if group["name"] == cost.group:
                    group["cpu"][cost.wired] = value
    return asked


def rates(asked: trial.Plan) -> dict[tuple[int, str], list[float]]:
    """What the switch receives from the server, in Mbit/s, by row and replicate."""
    found: dict[tuple[int, str], list[float]] = {}
    runs = wire.Plan.model_validate(asked).runs
    for run, record in zip(runs, trial.simulate(asked), strict=True):
        mbps = RATE.reading.of_run(RunSample(run, record))
        assert mbps is not None, "the switch is sampled in each run"
        found.setdefault(_place(record.treatment), []).append(mbps)
    return found


def target(cost: Cost) -> float:
    """The published rate that decides a figure."""
    return next(
        row.mbps for row in published() if (row.clients, row.sink) == (cost.clients[0], "null")
    )


def frame_ns(mbps: float) -> float:
    """Time of a frame at a rate."""
    return FRAME_BITS * 1e3 / mbps


def solve(chosen: Chosen, rates_with: Rates) -> Chosen:
    """The figures with which both rates are the published ones. Raises RuntimeError if they do not
    get there."""
    for _ in range(ROUNDS_MAX):
        found = rates_with(chosen)
        errors = [found[cost] / target(cost) - 1 for cost in COSTS]
        print([f"{cost.knob.text(value)}" for cost, value in chosen.items()], errors, flush=True)
        if all(abs(error) <= CLOSE for error in errors):
            return chosen
        chosen = {
            cost: max(0, round(value + _short_ns(cost, found[cost]) / cost.frame_ns))
            for cost, value in chosen.items()
        }
    raise RuntimeError(f"no two values give both rates: they are off by {errors}")


def _short_ns(cost: Cost, mbps: float) -> float:
    """By how much the time of a frame is too short."""
    return frame_ns(target(cost)) - frame_ns(mbps)


def interval(cost: Cost, value: int) -> fit.Interval:
    """The values with which the rate stays within the noise."""
    off = NOISE * frame_ns(target(cost)) / cost.frame_ns
    return fit.Interval(max(0, round(value - off)), round(value + off))


def in_profiles(base: trial.Plan) -> Chosen:
    """The values that the profiles have."""
    groups = {group["name"]: group for group in base["runs"][0]["network"]["groups"]}
    return {cost: int(groups[cost.group]["cpu"][cost.wired]) for cost in COSTS}


def main() -> int:
    """Fit, find the intervals, print all rows with fresh random numbers, write when asked to."""
    parser = argparse.ArgumentParser(prog="python -m tools.fit_gigabit")
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--replicates", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--score-only", action="store_true", help="keep the profiles' values")
    parser.add_argument("--write", action="store_true", help="put the result into hardware/")
    asked = parser.parse_args()
    fitted = [Row(n, "null", target(cost)) for cost in COSTS for n in cost.clients]
    base = plan(fitted, asked.seconds, asked.replicates, asked.seed)

    def rates_with(chosen: Chosen) -> Mapping[Cost, float]:
        found = rates(with_chosen(base, chosen))
        return {
            cost: statistics.mean(rate for n in cost.clients for rate in found[n, "null"])
            for cost in COSTS
        }

    chosen = in_profiles(base)
    if not asked.score_only:
        chosen = solve(chosen, rates_with)
        for cost, value in chosen.items():
            found = interval(cost, value)
            low, high = cost.knob.text(found.low), cost.knob.text(found.high)
            print(f"{cost.knob.figure}: {cost.knob.text(value)}, as good: {low} to {high}")
            if asked.write:
                fit.write(cost.knob, value, found)
    rows = published()
    fresh = plan(rows, asked.seconds, asked.replicates, asked.seed + 1)
    score(rows, with_chosen(fresh, chosen))
    return 0


def score(rows: Sequence[Row], asked: trial.Plan) -> None:
    """All published rows beside the simulated ones."""
    simulated = rates(asked)
    decided = {(cost.clients[0], "null") for cost in COSTS}
    for row in rows:
        place = row.clients, row.sink
        mbps = statistics.mean(simulated[place])
        how = "fitted" if place in decided else "predicted"
        error = 100 * (mbps / row.mbps - 1)
        print(f"{place}: published {row.mbps:.0f}, {how} {mbps:.0f} Mbit/s, {error:+.1f} %")


if __name__ == "__main__":
    sys.exit(main())
