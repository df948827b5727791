"""The programs that a real testbed starts for the runs of a plan."""

from __future__ import annotations

from collections.abc import Iterable

from netstudy import wire
from netstudy.plan.workloads import planned_of
from netstudy.study import Command


def programs_of_runs(runs: Iterable[wire.Run]) -> list[Command]:
    """Each program with its arguments in the order of the runs, without repetitions."""
    found = (planned_of(run.workload).starts(run.workload) for run in runs)
    return list(dict.fromkeys(command for command in found if command))
