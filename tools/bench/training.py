"""Executes the runs whose branches `make profile` counts, with an engine that was built for
counting.

The compiler assumes that code that no run reaches is rare, and compiles it for size. So the plan
has the scenarios of the benchmarks, by which the engine's speed is judged, and one run of every
other kind.
"""

from __future__ import annotations

from dataclasses import replace

from netstudy import wire
from netstudy.hardware import HardwareLibrary
from netstudy.plan.network import whole_tcp
from tools.bench import dumbbell, scenarios

PACKETS = 400_000
"""Useful packets in a run: enough that the frequencies of the branches no longer change."""
MODERN_TCP = "linux-6"
MERGED_BYTES = 65_536
"""Largest segment that a receiver merges; with merging, hosts are simulated by events."""
OTHERS = ("transfer-star", "request-star", "latency-under-load")
"""Studies of the other workloads; the first run of each is used."""


def runs() -> list[wire.Run]:
    """All runs: the benchmarks' scenarios, one scenario with a modern TCP in both modes, and the
    other workloads."""
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
    return [replace(run, id=f"{number:012x}") for number, run in enumerate(kinds)]


if __name__ == "__main__":
    scenarios.simulate(runs())
