"""The parts of a plan: cells, runs, and estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.plan.loops import OuterLoop
from netstudy.plan.support import not_on_the_wire
from netstudy.plan_lines import lines_of_runs
from netstudy.study import Study
from netstudy.wire import Treatment

SupportedT = TypeVar("SupportedT")


@dataclass(frozen=True)
class Cell:
    """One treatment of one test case: a row of the case's tables."""

    case: str
    treatment: Treatment
    """Levels of the case's factors, in the order of the study."""
    runs: int
    """Number of the cell's runs."""
    find_ids: Callable[[], tuple[str, ...]] = field(repr=False)
    """Computes the ids of its runs: a plan may have a million."""

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The cell's runs, one for each replicate. Another case with the same treatment shares
        them."""
        return self.find_ids()


@dataclass(frozen=True)
class RunSize:
    """The properties of a run that determine its memory use."""

    treatment: Treatment
    """One of the treatments whose runs have this size."""
    runs: int
    """The number of these runs."""
    nodes: int
    connections: int
    users: int
    """Number of users that the application has registered."""
    record_bytes: int


@dataclass(frozen=True)
class Estimate:
    """The cost of running a plan."""

    runs: int
    packets: int | None
    """Useful data packets, warm-up included; None if the workload does not define them."""
    per_hop_runs: int
    """Runs that need an event for each hop of a frame, which is slower."""
    per_hop_packets: int
    """The useful data packets of those runs."""
    record_bytes: int | None
    """Size of the records."""
    line_seconds: float
    """Time that links and simulated hosts need for all payload without loss, one run after the
    other. A phase with a fixed duration counts with this duration."""
    timed_seconds: float
    """How much of `line_seconds` is in phases with a fixed duration."""
    traced_runs: int = 0
    """Runs that the simulator traces, all of them with an event for each hop of a frame."""
    traced_packets: int = 0
    """The useful data packets of those runs."""
    nodes: int = 0
    """Hosts, zones and switches, summed over all runs."""
    connections: int = 0
    """Connections of the workload, summed over all runs."""
    users: int = 0
    """Users that applications have registered, summed over all runs."""
    series_bytes: int = 0
    """Size of the samplers' series in all records. The series are read one run at a time."""
    plan_bytes: int = 0
    """Size of the plan as JSON."""
    sizes: tuple[RunSize, ...] = ()
    """The sizes of the plan's runs, one for each combination of network and workload."""

    @classmethod
    def of_count(cls, runs: int) -> Estimate:
        """Lower bound for the cost of this number of runs, whatever they do."""
        return cls(runs, 0, 0, 0, 0, 0.0, 0.0)


Runs = Callable[[], Iterator[wire.Run]]
"""Makes runs, one after the other, in their order."""


@dataclass(frozen=True)
class PlannedStudy:
    """A planned study: its cells, its runs in order, and estimates."""

    study: Study
    seed: int
    cells: tuple[Cell, ...]
    """Every cell that may be run. Which levels of a growing factor are run depends on the
    results."""
    estimate: Estimate
    """Estimate of the first round."""
    most: Estimate
    """Upper bound for all rounds together."""
    loops: tuple[OuterLoop, ...]
    """The outer loops, whose further rounds depend on the records; empty if no factor grows."""
    one_of_each: tuple[wire.Run, ...] | None = field(repr=False)
    """The first replicate of each treatment that may be run: enough to describe a plan."""
    first: Runs | None = field(repr=False)
    """The runs of the first round, all runs if no factor grows; None if this version does not
    support the study."""
    whole: Runs | None = field(repr=False)
    """Every run that may be made in any round; None as `first`."""
    runs_of_first: int = field(repr=False)
    """Number of runs of the first round."""

    @cached_property
    def _first(self) -> tuple[wire.Run, ...]:
        return tuple(self._made(self.first))

    @cached_property
    def _whole(self) -> tuple[wire.Run, ...]:
        return self._first if self.whole is self.first else tuple(self._made(self.whole))

    @property
    def possible(self) -> tuple[wire.Run, ...] | None:
        """Every run that may be made in any round; None if this version does not support the
        study."""
        return None if self.whole is None else self._whole

    @property
    def plan(self) -> wire.Plan:
        """The engine's input. Raises StudyError if this version does not support the study."""
        return self._plan_of(self._first)

    @property
    def whole_plan(self) -> wire.Plan:
        """Every run that may be made in any round. Raises StudyError as `plan` does."""
        return self._plan_of(self._whole)

    @property
    def plan_of_one_each(self) -> wire.Plan:
        """The first replicate of each treatment: enough for a testbed to say whether it can
        execute the plan. Raises StudyError as `plan` does."""
        return self._plan_of(self._supported(self.one_of_each))

    def lines(self) -> Iterator[bytes]:
        """The lines of `plan`; the runs are not kept in memory. Raises StudyError as `plan`
        does."""
        runs = self._made(self.first)
        return lines_of_runs(self.study.study, self.seed, self.runs_of_first, runs)

    @property
    def rounds_at_most(self) -> int:
        """Upper bound for the number of rounds: each round tries one level of each loop."""
        return max((len(loop.steps) for loop in self.loops), default=1)

    def _made(self, runs: Runs | None) -> Iterator[wire.Run]:
        return self._supported(runs)()

    def _supported(self, part: SupportedT | None) -> SupportedT:
        if part is None:
            reasons = "; ".join(not_on_the_wire(self.study))
            raise StudyError(f"this version does not support {self.study.study}: {reasons}")
        return part

    def _plan_of(self, runs: tuple[wire.Run, ...]) -> wire.Plan:
        return wire.Plan(self.study.study, self.seed, runs)
