"""Stores the measurements of earlier commits, one JSON object per line, and compares a new one with
them.

Only measurements on the same model of CPU are compared. Each line has numbers by name: for rates,
higher is better; for costs, lower is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

SLOWER_PCT_MAX: Final = 10.0
"""If a measurement is worse by more than this, there is a warning."""


class Measurement(BaseModel):
    """One call of `make bench`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    commit: str
    """The short hash, with a + if the engine's sources had uncommitted changes; "unknown" outside a
    repository."""
    date: str
    cpu: str
    packets_per_s: Mapping[str, float]
    two_threads_ratio: float
    """How much faster two threads are than one."""
    rss_bytes_max: Mapping[str, int]
    cost_ratio: Mapping[str, float]
    """Cost of a packet with many flows, divided by the cost with 23 flows."""
    snapshot_us: Mapping[str, float] = {}
    """CPU time in which an agent reads the counters of its host; measurements of early commits lack
    it."""

    def rates(self) -> dict[str, float]:
        """The numbers for which higher is better."""
        return {**self.packets_per_s, "two threads to one": self.two_threads_ratio}

    def costs(self) -> dict[str, float]:
        """The numbers for which lower is better."""
        memory = {f"memory, {name}": float(size) for name, size in self.rss_bytes_max.items()}
        cost = {f"cost of a packet, {name}": ratio for name, ratio in self.cost_ratio.items()}
        snapshots = {f"counters, {name}": value for name, value in self.snapshot_us.items()}
        return memory | cost | snapshots


def read(path: Path) -> list[Measurement]:
    """The measurements of a file, oldest first; empty if there is no file."""
    if not path.exists():
        return []
    return [Measurement.model_validate_json(line) for line in path.read_text().splitlines()]


def append(path: Path, measurement: Measurement) -> None:
    """Add a line."""
    with path.open("a") as file:
        file.write(measurement.model_dump_json() + "\n")


class Comparison(BaseModel):
    """One number, compared with the last and the best on the same model of CPU; None if there is no
    earlier number."""

    model_config = ConfigDict(frozen=True)

    name: str
    now: float
    last_pct: float | None
    """By how many percent the number is better than the last one; negative if it is worse."""
    best_pct: float | None

    @property
    def is_slower(self) -> bool:
        """Whether the number is worse than the last one by more than noise explains."""
        return self.last_pct is not None and self.last_pct < -SLOWER_PCT_MAX


def compare(now: Measurement, before: Iterable[Measurement]) -> list[Comparison]:
    """Compares every number of a measurement with earlier ones."""
    known = [measurement for measurement in before if measurement.cpu == now.cpu]
    rates = _compared(now.rates(), [one.rates() for one in known], max, _more_is_better)
    costs = _compared(now.costs(), [one.costs() for one in known], min, _less_is_better)
    return rates + costs


def _compared(
    now: Mapping[str, float],
    before: list[dict[str, float]],
    best: Callable[[list[float]], float],
    better_pct: Callable[[float, float], float],
) -> list[Comparison]:
    compared = []
    for name, value in now.items():
        known = [one[name] for one in before if name in one]
        compared.append(
            Comparison(
                name=name,
                now=value,
                last_pct=better_pct(value, known[-1]) if known else None,
                best_pct=better_pct(value, best(known)) if known else None,
            )
        )
    return compared


def _more_is_better(now: float, before: float) -> float:
    return 100 * (now / before - 1)


def _less_is_better(now: float, before: float) -> float:
    return 100 * (1 - now / before)
