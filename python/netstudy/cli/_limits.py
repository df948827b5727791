"""Estimates the cost of a plan, and refuses plans that need more memory or disk space than this
machine has, or more than the allowed time.

Everything is computed from the plan's treatments, before the plan is expanded into runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netstudy.cli._terminal import duration
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.cli._prepare import Asked
    from netstudy.plan import Estimate, PlannedStudy
    from netstudy.testbed.base import Testbed
    from netstudy.testbed.memory import Memory

_NS_PER_S = 1e9
_AROUND_S = 3.0
"""Seconds for the work before the first run and after the last: reading the study, planning,
analysis and report."""


@dataclass(frozen=True)
class Cost:
    """The estimated cost of executing a plan. A field is None if it is not known in advance."""

    runs: int
    packets: int | None
    per_hop_runs: int
    traced_runs: int
    seconds: float | None
    disk_bytes: int | None
    memory: Memory | None


def cost(planned: PlannedStudy, testbed: Testbed, threads: int | None) -> Cost:
    """The cost of the plan on a testbed; if a factor grows, only that of the first round."""
    return _cost(planned.estimate, testbed, threads)


def most(planned: PlannedStudy, testbed: Testbed, threads: int | None) -> Cost:
    """The largest possible cost of all rounds together."""
    return _cost(planned.most, testbed, threads)


def least(runs: int, testbed: Testbed, threads: int | None) -> Cost:
    """A lower bound of the cost, if only the number of runs is known."""
    from netstudy.plan import Estimate

    return _cost(Estimate.of_count(runs), testbed, threads)


def check_count(runs: int, asked: Asked, threads: int | None, max_time: str, results: Path) -> None:
    """Raises StudyError if so many runs need too much, whatever they do."""
    from netstudy.cli._prepare import chosen
    from netstudy.study.vocabulary import TESTBEDS
    from netstudy.testbed import named

    testbed, inventory = chosen(asked.testbed)
    if testbed in TESTBEDS:  # other names are refused later
        at_least = least(runs, named(testbed, inventory, asked.study), threads)
        check_cost(at_least, max_time, results)


def _cost(estimate: Estimate, testbed: Testbed, threads: int | None) -> Cost:
    from netstudy.store.create import disk_bytes

    is_known = estimate.packets is not None
    return Cost(
        runs=estimate.runs,
        packets=estimate.packets,
        per_hop_runs=estimate.per_hop_runs,
        traced_runs=estimate.traced_runs,
        seconds=testbed.seconds(estimate, threads=threads) + _AROUND_S if is_known else None,
        disk_bytes=disk_bytes(estimate) if estimate.record_bytes is not None else None,
        memory=testbed.memory(estimate, threads=threads) if is_known else None,
    )


def check_cost(cost: Cost, max_time: str, results: Path) -> None:
    """Raises StudyError for a plan that takes longer than `max_time` ("24h"), or more than the
    available memory or disk space."""
    _check_time(cost, max_time)
    if refused := too_little_memory(cost):
        raise StudyError(refused)
    if cost.disk_bytes is not None:
        from netstudy.store.create import check_space

        check_space(results, cost.disk_bytes)


def _check_time(cost: Cost, max_time: str) -> None:
    from netstudy.units import parse_duration

    try:
        limit_s = parse_duration(max_time) / _NS_PER_S
    except ValueError as error:
        raise StudyError(str(error), "--max-time") from error
    if cost.seconds is not None and cost.seconds > limit_s:
        packets = f", {cost.packets:,} packets" if cost.packets else ""
        raise StudyError(
            f"the plan would take about {duration(cost.seconds)} ({cost.runs:,} runs{packets}), "
            f"longer than --max-time {max_time}; make it smaller with --quick, --only or --set, or "
            "allow the time with --max-time"
        )


def too_little_memory(cost: Cost) -> str | None:
    """The reason why the plan needs more than this machine's available memory; None if it does
    not."""
    from netstudy.store.environment import available_memory_bytes
    from netstudy.units import rough_size

    need, available = cost.memory, available_memory_bytes()
    if need is None or available is None or need.bytes <= available:
        return None
    said = f"{rough_size(available)} of this machine's memory are available"
    if need.bytes_alone > available or need.at_once == 1:
        return (
            f"{need.name} would take about {rough_size(need.bytes_alone)} of memory, and {said}; "
            "make it smaller, or run it on a larger machine"
        )
    return (
        f"{need.at_once} runs at once would take about {rough_size(need.bytes)} of memory, and "
        f"{said}; run fewer at once, such as with --threads {need.fitting(available)}"
    )
