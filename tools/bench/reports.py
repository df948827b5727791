"""Measures the report of a sweep of tiny runs: CPU time and memory, and how both grow with the
number of runs. `python -m tools.bench.reports [REPLICATES …]`; each study has 20 cells, and is run
in a temporary folder (`TMPDIR`, best on a RAM disk)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tools.bench import usage

CELLS: Final = 20
REPLICATES: Final = (50, 250, 1_000)
_NETSTUDY: Final = (sys.executable, "-m", "netstudy")
_STUDY: Final = """\
study: tiny
question: How long does a tiny synchronized read take?
topology:
  switch: arista-7124s
  client: {profile: ucs-c200-rhel54}
  server: {profile: ucs-c200-rhel54, count: 2}
  link: {rate: 10 Gbit/s, delay: 1 us, mtu: "${mtu}"}
factors:
  mtu: [1500, 9000]
  block: [1 kB, 2 kB, 3 kB, 4 kB, 5 kB, 6 kB, 7 kB, 8 kB, 9 kB, 10 kB]
workload:
  incast:
    block: "${block}"
    iterations: 3
    warmup: 0
    request: 64 B
    spacing: 5 us
    jitter: {exponential: 75 us}
compare: {factor: mtu, base: 1500, noise: 2 %}
replicates: """


@dataclass(frozen=True)
class Cost:
    """The usage of one command for a number of runs."""

    verb: str
    runs: int
    used: usage.Usage


def measured(replicates: int) -> Iterator[Cost]:
    """The cost of `run` and of `report`, for one study."""
    with TemporaryDirectory() as folder:
        study, results = Path(folder, "study.yaml"), f"--results={folder}/results"
        study.write_text(f"{_STUDY}{replicates}\n")
        for verb, named in (("run", str(study)), ("report", "tiny")):
            job = usage.Job((*_NETSTUDY, verb, named, results, "--quiet"))
            yield Cost(verb, CELLS * replicates, usage.run(job))


def table(costs: Sequence[Cost]) -> Iterator[str]:
    """A line for each measurement, then the growth between two sizes."""
    yield "verb     runs    CPU s  memory MB"
    for one in costs:
        memory_mb = one.used.rss_bytes_max / 1e6
        yield f"{one.verb:7}{one.runs:6}{one.used.user_s:9.2f}{memory_mb:11.0f}"
    for verb in dict.fromkeys(one.verb for one in costs):
        for less, more in pairwise(one for one in costs if one.verb == verb):
            yield f"{verb}, {less.runs} to {more.runs} runs: {growth(less, more)}"


def growth(less: Cost, more: Cost) -> str:
    """The CPU time and the memory of a further run."""
    runs = more.runs - less.runs
    cpu_us = 1e6 * (more.used.user_s - less.used.user_s) / runs
    memory_bytes = (more.used.rss_bytes_max - less.used.rss_bytes_max) / runs
    return f"{cpu_us:.0f} us and {memory_bytes:.0f} B a run"


def main(arguments: Sequence[str]) -> None:
    """Measures the sizes given as replicates, or the usual ones."""
    sizes = sorted(map(int, arguments)) or REPLICATES
    costs = [cost for size in sizes for cost in measured(size)]
    print("\n".join(table(costs)))


if __name__ == "__main__":
    main(sys.argv[1:])
