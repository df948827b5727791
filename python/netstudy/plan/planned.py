"""The parts of a plan: cells, runs, and estimates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.plan.loops import OuterLoop
from netstudy.plan.support import not_on_the_wire
from netstudy.study import Study
from netstudy.wire import Treatment


@dataclass(frozen=True)
class Cell:
    """One treatment of one test case: a row of the case's tables."""

    case: str
    treatment: Treatment
    """Levels of the case's factors, in the order of the study."""
    run_ids: tuple[str, ...]
    """The cell's runs, one for each replicate. Another case with the same treatment shares them."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run, that is, one treatment and one replicate, before it is converted to the wire."""

    id: str
    cases: tuple[str, ...]
    treatment: Treatment
    """Every level that identifies the run, including levels that a case holds fixed."""
    replicate: int
    seed: str


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


@dataclass(frozen=True)
class Expanded:
    """All runs of a plan. They are made late: a plan may have a million, and each takes time to
    make."""

    runs: tuple[PlannedRun, ...]
    wired: tuple[wire.Run, ...] | None
    possible: tuple[wire.Run, ...] | None


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
    expand: Callable[[], Expanded] = field(repr=False)
    """Makes the runs on first use, so that a plan that is refused by its estimates is never
    expanded."""

    @cached_property
    def _expanded(self) -> Expanded:
        return self.expand()

    @property
    def runs(self) -> tuple[PlannedRun, ...]:
        """Runs of the first round, in order; all runs if no factor grows."""
        return self._expanded.runs

    @property
    def wired(self) -> tuple[wire.Run, ...] | None:
        """The runs of the first round on the wire; None if this version does not support them."""
        return self._expanded.wired

    @property
    def possible(self) -> tuple[wire.Run, ...] | None:
        """Every run that may be made in any round; None if `wired` is None."""
        return self._expanded.possible

    @property
    def plan(self) -> wire.Plan:
        """The engine's input. Raises StudyError if this version does not support the study."""
        return self._plan_of(self.wired)

    @property
    def whole_plan(self) -> wire.Plan:
        """Every run that may be made in any round. Raises StudyError as `plan` does."""
        return self._plan_of(self.possible)

    @property
    def plan_of_one_each(self) -> wire.Plan:
        """The first replicate of each treatment. Raises StudyError as `plan` does."""
        return self._plan_of(self.one_of_each)

    @property
    def rounds_at_most(self) -> int:
        """Upper bound for the number of rounds: each round tries one level of each loop."""
        return max((len(loop.steps) for loop in self.loops), default=1)

    def _plan_of(self, runs: tuple[wire.Run, ...] | None) -> wire.Plan:
        if runs is None:
            reasons = "; ".join(not_on_the_wire(self.study))
            raise StudyError(f"this version does not support {self.study.study}: {reasons}")
        return wire.Plan(self.study.study, self.seed, runs)
