"""An agent's cost of reading a host's counters: the benchmark of `crates/probe`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from tools.bench.scenarios import ROOT

COMMAND = ("cargo", "bench", "--locked", "--quiet", "--package=netstudy-probe", "--bench=snapshot")
KEPT = ("all", "namespace", "one connection")
"""All sources, the sources that each namespace has to itself, and one connection."""


def measure(rounds: int) -> dict[str, float]:
    """Processor time in µs, by what is read: medians, the best of some rounds."""
    return best([medians_us(_printed()) for _ in range(rounds)])


def _printed() -> str:
    return subprocess.run(COMMAND, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def medians_us(printed: str) -> dict[str, float]:
    """Processor time by source, from a line each: wall time, its p99, CPU time, its p99."""
    _, _, *lines = printed.splitlines()
    rows = [line.rsplit(maxsplit=4) for line in lines]
    return {name: float(cpu) for name, _, _, cpu, _ in rows}


def best(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of what is kept, the lowest of the rounds: other load can only make it higher."""
    return {name: min(one[name] for one in rounds) for name in KEPT}
