"""Measures how fast the engine simulates: `make bench`.

Each run of benches/star goes to the engine alone, on one thread. The rate is useful data packets,
the full-sized segments that the run must carry at least, a second of processor time. It is the best
of three: other load can only make it slower.
"""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

from rich.console import Console
from rich.table import Table

from netstudy import wire
from netstudy.plan import make_plan
from netstudy.plan.make import useful_packets
from netstudy.study import load
from netstudy.testbed.engine import find_engine

STUDY = Path(__file__).parents[1] / "benches/star"
REPEATS = 3


def processor_seconds(plan: wire.Plan, engine: Path) -> float:
    """User time that the engine takes for a plan on one thread."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(
        [engine, "sim", "--threads=1"],
        input=wire.to_json(plan).encode(),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    """Print a row a run."""
    planned, engine = make_plan(load(STUDY)), find_engine()
    plan = planned.plan
    order = [run for cell in planned.cells for run in cell.run_ids]
    table = Table("MTU", "servers", "useful packets", "processor s", "million packets/s")
    for run in sorted(plan.runs, key=lambda run: order.index(run.id)):
        alone = plan.model_copy(update={"runs": (run,)})
        seconds = min(processor_seconds(alone, engine) for _ in range(REPEATS))
        packets = useful_packets(run)
        levels = (str(run.treatment[factor]) for factor in ("mtu", "servers"))
        table.add_row(*levels, f"{packets:,}", f"{seconds:.2f}", f"{packets / seconds / 1e6:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
