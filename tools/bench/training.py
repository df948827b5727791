"""The runs that `make profile` records, made by the engine that it built to count.

The compiler takes code that no run reaches for rare and builds it for size. So the plan holds the
benchmarks' scenarios, which the engine's speed is judged by, and a run of each other kind.
"""

from __future__ import annotations

from netstudy import wire
from netstudy.hardware import HardwareLibrary
from netstudy.plan.network import whole_tcp
from tools.bench import dumbbell, scenarios

PACKETS = 400_000
"""Useful packets of a run: the shares of the paths are steady by then."""
MODERN_TCP = "linux-6"
MERGED_BYTES = 65_536
"""Largest merged segment of a receiver; merging is simulated event-driven."""
OTHERS = ("transfer-star", "request-star", "latency-under-load")
"""Studies of the other workloads: of each the first run."""


def runs() -> list[wire.Run]:
    """The benchmarks' scenarios, one of them with a modern TCP in both modes, other workloads."""
    some = scenarios.peers()[0]
    tcp = whole_tcp(HardwareLibrary.default(), MODERN_TCP)
    modern = scenarios.with_hosts(some, tcp, {})
    per_hop = scenarios.with_hosts(some, tcp, {"receive_merge_bytes": MERGED_BYTES})
    incast = (*scenarios.peers(), *scenarios.incast(), modern, per_hop)
    transfers = [
        dumbbell.engine_run(cell, PACKETS // dumbbell.PAIRS, seed=1) for cell in dumbbell.cells()
    ]
    others = [scenarios.first_of(scenarios.CONFORMANCE / f"{name}.yaml") for name in OTHERS]
    kinds = (*(scenarios.filled(run, PACKETS) for run in incast), *transfers, *others)
    return [run.model_copy(update={"id": f"{number:012x}"}) for number, run in enumerate(kinds)]


if __name__ == "__main__":
    scenarios.simulate(runs())
