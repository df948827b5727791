"""Divides the runs of a plan among machines that never hear of each other, such as the tasks of a
job array: everybody computes the same shares."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from netstudy.testbed.sweep.cutter import Cost
from netstudy.wire import Run


def shares(
    runs: Sequence[Run], count: int, cost: Callable[[Run], Cost]
) -> tuple[tuple[Run, ...], ...]:
    """`count` parts of about the same work, each in the order of the plan.

    The longest run that is left goes to the part with the least work: no part takes more than 4/3
    of the shortest possible time (Graham 1969, "Bounds on multiprocessing timing anomalies").
    """
    seconds = [cost(run).seconds for run in runs]
    loads = [(0.0, part) for part in range(count)]
    part_of = [0] * len(runs)
    for index in sorted(range(len(runs)), key=lambda index: -seconds[index]):
        load, part = loads[0]
        heapq.heapreplace(loads, (load + seconds[index], part))
        part_of[index] = part
    parts: list[list[Run]] = [[] for _ in range(count)]
    for index, run in enumerate(runs):
        parts[part_of[index]].append(run)
    return tuple(map(tuple, parts))
