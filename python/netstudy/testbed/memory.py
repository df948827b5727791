"""Peak memory of a plan: the largest runs that may be in progress at once, plus the front, which
keeps the plan and reads the records cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from netstudy.plan.planned import Estimate, RunSize
from netstudy.study.levels import level_text

_FRONT_BYTES = 170_000_000
"""Memory of the front with its imports and a report of a few runs; measured: 160 MB with 10
runs."""
_RUN_BYTES = 600
"""Memory of a run in the front: its identity, the place of its record, and its values. 100,000 runs
take 47 MB more than 20,000."""
_PARSED = 8
"""Bytes of memory that each byte of a record takes once it is read."""
_CACHE_BYTES = 130_000_000
"""Memory of records that are read, of which the analysis keeps only a part at a time."""
_KEPT = 2
"""Bytes that the analysis keeps for each byte of a record, at most: samples as numbers. 10 runs of
a million iterations take 1.25 GB."""


@dataclass(frozen=True)
class Memory:
    """Rough peak memory of a plan."""

    front_bytes: int
    """Memory of the process that reads and analyses the records."""
    largest: tuple[tuple[int, int], ...]
    """Runs that may be in progress together, as (memory of one run, number of these runs), the
    largest first."""
    name: str
    """The largest run, described by its levels."""

    @property
    def bytes(self) -> int:
        """The whole memory."""
        return self.front_bytes + sum(each * runs for each, runs in self.largest)

    @property
    def bytes_alone(self) -> int:
        """Peak memory if the largest run is the only one in progress."""
        return self.front_bytes + self.largest[0][0]

    @property
    def at_once(self) -> int:
        """Number of runs in progress together."""
        return sum(runs for _, runs in self.largest)

    def fitting(self, available_bytes: int) -> int:
        """How many runs fit into this much memory at once, counted from the largest run; at least
        1."""
        left, fit = available_bytes - self.front_bytes, 0
        for each, runs in self.largest:
            more = min(runs, left // each) if each else runs
            left, fit = left - more * each, fit + more
            if more < runs:
                break
        return max(fit, 1)


def memory_of(
    estimate: Estimate, at_once: int, run_bytes: Callable[[RunSize], int]
) -> Memory | None:
    """The memory of a plan of which `at_once` runs are executed at a time; `run_bytes` estimates a
    run. None: the plan's runs are not known."""
    sized = sorted(((run_bytes(one), one) for one in estimate.sizes), key=_by_size)
    if not sized:
        return None
    largest = max(one.record_bytes for one in estimate.sizes)
    pooled = (estimate.record_bytes or 0) - estimate.series_bytes
    read = min(_PARSED * pooled, _CACHE_BYTES + _KEPT * pooled)
    front = _FRONT_BYTES + _RUN_BYTES * estimate.runs + read + _PARSED * largest
    return Memory(front, tuple(_first(at_once, sized)), _named(sized[0][1]))


def _by_size(sized: tuple[int, RunSize]) -> int:
    return -sized[0]


def _first(at_once: int, sized: list[tuple[int, RunSize]]) -> Iterator[tuple[int, int]]:
    left = at_once
    for each, one in sized:
        runs = min(left, one.runs)
        if runs:
            yield each, runs
        left -= runs


def _named(size: RunSize) -> str:
    levels = ", ".join(f"{name}={level_text(level)}" for name, level in size.treatment.items())
    return f"a run at {levels}"
