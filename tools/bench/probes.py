"""Measures the CPU time in which an agent reads the counters of a host, with the benchmark of
`crates/probe`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from tools.bench.scenarios import ROOT

COMMAND = ("cargo", "bench", "--locked", "--quiet", "--package=netstudy-probe", "--bench=snapshot")
KEPT = ("all", "namespace", "one connection")
"""The measured readings: all sources, only the sources that are separate in each namespace, and one
connection."""


def measure(rounds: int) -> dict[str, float]:
    """Reading -> its CPU time in µs: the lowest of the medians of several rounds."""
    return best([medians_us(_printed()) for _ in range(rounds)])


def _printed() -> str:
    return subprocess.run(COMMAND, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def medians_us(printed: str) -> dict[str, float]:
    """CPU time by source. Each line of the output has a source with wall time, its p99, CPU time
    and its p99."""
    _, _, *lines = printed.splitlines()
    rows = [line.rsplit(maxsplit=4) for line in lines]
    return {name: float(cpu) for name, _, _, cpu, _ in rows}


def best(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Each recorded time is the lowest of all rounds, because other load on the machine can only
    make it longer."""
    return {name: min(one[name] for one in rounds) for name in KEPT}
