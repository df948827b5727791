"""What a plan will cost: time and disk, estimated before anything is started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netstudy.cli._output import duration
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.plan import Estimate, PlannedStudy
    from netstudy.testbed.base import Testbed
    from netstudy.wire import Run

_NS_PER_S = 1e9


@dataclass(frozen=True)
class Cost:
    """An estimate of what carrying out a plan takes; None: not known before it is run."""

    runs: int
    packets: int | None
    per_hop_runs: int
    seconds: float | None
    disk_bytes: int | None


def cost(planned: PlannedStudy, testbed: Testbed, threads: int | None) -> Cost:
    """The cost of the plan, which is its first round where a factor grows, on a testbed."""
    return _cost(planned.estimate, planned.wired, planned, testbed, threads)


def most(planned: PlannedStudy, testbed: Testbed, threads: int | None) -> Cost:
    """What all rounds together cost at most."""
    return _cost(planned.most, planned.possible, planned, testbed, threads)


def _cost(
    estimate: Estimate,
    runs: tuple[Run, ...] | None,
    planned: PlannedStudy,
    testbed: Testbed,
    threads: int | None,
) -> Cost:
    from netstudy.store.create import disk_bytes
    from netstudy.wire import Plan

    packets, record_bytes = estimate.packets, estimate.record_bytes
    disk = None
    if runs is not None and record_bytes is not None:
        plan = Plan(study=planned.study.study, seed=planned.seed, runs=runs)
        disk = disk_bytes(plan, record_bytes)
    return Cost(
        runs=estimate.runs,
        packets=packets,
        per_hop_runs=estimate.per_hop_runs,
        seconds=None if packets is None else testbed.seconds(estimate, threads=threads),
        disk_bytes=disk,
    )


def check_time(cost: Cost, max_time: str) -> None:
    """Refuse a plan that would take longer than `max_time` ("24h")."""
    from netstudy.units import parse_duration

    try:
        limit_s = parse_duration(max_time) / _NS_PER_S
    except ValueError as error:
        raise StudyError(str(error), "--max-time") from error
    if cost.seconds is not None and cost.seconds > limit_s:
        raise StudyError(
            f"the plan would take about {duration(cost.seconds)} ({cost.runs:,} runs, "
            f"{cost.packets:,} packets), longer than --max-time {max_time}; make it smaller with "
            "--quick, --only or --set, or allow the time with --max-time"
        )
