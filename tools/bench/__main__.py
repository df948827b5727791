"""Measures how fast the engine is, compared with earlier commits: `make bench`.

Rates are useful data packets per second of CPU time on one thread. Useful packets are the
full-sized segments that a run must carry at least. The CPU time in which an agent reads the
counters of its host is measured too. Each number is the best of several rounds, since other load on
the machine can only make it worse. Every call adds a line to benches/history.jsonl; keep it with
the commit that it measured.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from netstudy import wire
from netstudy.plan import useful_packets
from tools.bench import history, probes, scenarios

HISTORY = scenarios.ROOT / "benches/history.jsonl"
ROUNDS = 3
PACKETS = 20_000_000
"""Number of useful packets in one measurement, which takes one or two seconds."""
MANY_FLOWS, MOST_FLOWS = 1_000, 10_000
ENGINE = ("crates", "Cargo.toml")
ON_THE_PACKET_PATH = ("fabric", "random", "sim", "tcp", "units", "workload")
"""The crates whose branch counts are in the engine's profile."""
DEEP_BUFFER_BYTES, SHORT_BLOCK_BYTES = 64_000_000, 400_000
"""Buffer and block for the measurement with the most flows, whose first windows would fill the
scenario's own buffer a thousand times."""


def measure() -> history.Measurement:
    """Measure everything that the history keeps."""
    peers = [scenarios.filled(run, PACKETS) for run in scenarios.peers()]
    calibrated = [scenarios.filled(run, PACKETS) for run in scenarios.incast()]
    rates = _rates(peers + calibrated)
    largest = max(peers, key=lambda run: (run.treatment["mtu"], run.treatment["servers"]))
    flows = int(largest.treatment["servers"])
    many = scenarios.filled(scenarios.with_servers(largest, MANY_FLOWS), PACKETS // 4)
    deep = scenarios.with_deep_buffer(largest, DEEP_BUFFER_BYTES, SHORT_BLOCK_BYTES)
    most = scenarios.with_iterations(scenarios.with_servers(deep, MOST_FLOWS), 1)
    return history.Measurement(
        commit=_commit(),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        cpu=_cpu(),
        packets_per_s=rates,
        two_threads_ratio=_two_threads_ratio(largest),
        rss_bytes_max={
            f"{flows} flows": scenarios.simulate([largest]).rss_bytes_max,
            f"{MOST_FLOWS} flows": scenarios.simulate([most]).rss_bytes_max,
        },
        cost_ratio={
            f"{MANY_FLOWS} flows": rates[scenarios.name(largest)] / _rates([many], 1).popitem()[1]
        },
        snapshot_us=probes.measure(ROUNDS),
    )


def _rates(runs: Sequence[wire.Run], rounds: int = ROUNDS) -> dict[str, float]:
    """Run -> useful packets per second of user time: the best of all rounds, in which the runs take
    turns."""
    seconds: dict[str, list[float]] = {scenarios.name(one): [] for one in runs}
    for _ in range(rounds):
        for one in runs:
            seconds[scenarios.name(one)].append(scenarios.simulate([one]).user_s)
    return {
        scenarios.name(one): round(useful_packets(one) / min(seconds[scenarios.name(one)]))
        for one in runs
    }


def _two_threads_ratio(one: wire.Run) -> float:
    """Wall time of four equal runs on one thread, divided by that on two threads; each is the
    shortest of all rounds."""
    walls: dict[int, list[float]] = {1: [], 2: []}
    four = [replace(one, id=f"{number:012x}") for number in range(4)]
    for _ in range(ROUNDS):
        for threads, found in walls.items():
            found.append(scenarios.simulate(four, threads).wall_s)
    return round(min(walls[1]) / min(walls[2]), 3)


def _commit() -> str:
    try:
        changed = _git(
            scenarios.ROOT, "status", "--porcelain", "--untracked-files=no", "--", *ENGINE
        )
        return _git(scenarios.ROOT, "rev-parse", "--short", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def commits_since_profile(root: Path = scenarios.ROOT) -> int:
    """Commits to the engine's sources since its profile was recorded: branch counts do not apply to
    sources that have changed, and code without counts is compiled as if it never ran
    (docs/decisions/0024)."""
    recorded = _git(root, "log", "-1", "--format=%H", "--", "crates/engine/profile")
    sources = [f"crates/{name}/src" for name in ON_THE_PACKET_PATH]
    return int(_git(root, "rev-list", "--count", f"{recorded}..HEAD", "--", *sources) or 0)


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def table(compared: Sequence[history.Comparison]) -> Table:
    """The measured numbers, one per row."""
    shown = Table("", "now", "against the last", "against the best")
    shown.caption = (
        "useful data packets a second of user time; memory in bytes; "
        "reading counters in µs of CPU time; else ratios"
    )
    for row in compared:
        shown.add_row(row.name, _number(row.now), _percent(row.last_pct), _percent(row.best_pct))
    return shown


def _number(value: float) -> str:
    return f"{value / 1e6:.3g} M" if value >= 1e6 else f"{value:.3g}"


def _percent(better: float | None) -> str:
    return "" if better is None else f"{better:+.1f} %"


def main() -> None:
    """Measure, print, keep."""
    argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__).parse_args()
    console, before = Console(), history.read(HISTORY)
    now = measure()
    compared = history.compare(now, before)
    console.print(f"commit {now.commit}, {now.cpu}; + is better than on the same machine before")
    console.print(table(compared))
    for row in (row for row in compared if row.is_slower):
        console.print(f"warning: {row.name} is more than {history.SLOWER_PCT_MAX:.0f} % worse")
    since = commits_since_profile()
    if since:
        console.print(
            f"warning: {since} commits to the engine's sources since its profile was recorded; "
            "record it anew with `make profile` before these rates are compared"
        )
    history.append(HISTORY, now)


if __name__ == "__main__":
    main()
