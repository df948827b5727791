"""The measurements of earlier commits, a JSON object a line, and how a new one compares.

Only measurements of the same CPU are compared. A line holds numbers by name: rates, in which
higher is better, and costs, in which lower is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

SLOWER_PCT_MAX: Final = 10.0
"""A measurement that is worse by more is warned about."""


class Measurement(BaseModel):
    """One call of `make bench`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    commit: str
    """Short hash, with a + when the tree had changes; "unknown" outside a repository."""
    date: str
    cpu: str
    packets_per_s: Mapping[str, float]
    two_threads_ratio: float
    """How much faster two threads are than one."""
    rss_bytes_max: Mapping[str, int]
    cost_ratio: Mapping[str, float]
    """Cost of a packet against that with 23 flows."""
    snapshot_us: Mapping[str, float] = {}
    """Processor time of an agent that reads its host's counters; earlier commits lack it."""

    def rates(self) -> dict[str, float]:
        """Numbers in which higher is better."""
        return {**self.packets_per_s, "two threads to one": self.two_threads_ratio}

    def costs(self) -> dict[str, float]:
        """Numbers in which lower is better."""
        memory = {f"memory, {name}": float(size) for name, size in self.rss_bytes_max.items()}
        cost = {f"cost of a packet, {name}": ratio for name, ratio in self.cost_ratio.items()}
        snapshots = {f"counters, {name}": value for name, value in self.snapshot_us.items()}
        return memory | cost | snapshots


def read(path: Path) -> list[Measurement]:
    """The measurements of a file, oldest first; none where there is no file."""
    if not path.exists():
        return []
    return [Measurement.model_validate_json(line) for line in path.read_text().splitlines()]


def append(path: Path, measurement: Measurement) -> None:
    """Add a line."""
    with path.open("a") as file:
        file.write(measurement.model_dump_json() + "\n")


class Comparison(BaseModel):
    """One number compared with the last and the best of the same machine; None without one."""

    model_config = ConfigDict(frozen=True)

    name: str
    now: float
    last_pct: float | None
    """How much better than the last, in per cent of it; negative is worse."""
    best_pct: float | None

    @property
    def is_slower(self) -> bool:
        """Whether it is worse than the last by more than noise explains."""
        return self.last_pct is not None and self.last_pct < -SLOWER_PCT_MAX


def compare(now: Measurement, before: Iterable[Measurement]) -> list[Comparison]:
    """Every number of a measurement, held against those before it."""
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
