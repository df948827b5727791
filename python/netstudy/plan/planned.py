"""What a plan consists of: cells, runs with their identities, and what they take."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.plan.support import not_on_the_wire
from netstudy.study import Study
from netstudy.wire import Treatment

if TYPE_CHECKING:
    from netstudy.plan.loops import OuterLoop


@dataclass(frozen=True)
class Cell:
    """One treatment of one test case: a row of its tables."""

    case: str
    treatment: Treatment
    """Levels of the case's factors, in the order of the study."""
    run_ids: tuple[str, ...]
    """Its runs by replicate; another case with the same treatment has the same ones."""


@dataclass(frozen=True)
class PlannedRun:
    """One treatment and one replicate, before the network is worked out."""

    id: str
    cases: tuple[str, ...]
    treatment: Treatment
    """Every level that tells the run from others, what a case holds fixed included."""
    replicate: int
    seed: str


@dataclass(frozen=True)
class Estimate:
    """What carrying out the plan takes."""

    runs: int
    packets: int | None
    """Useful data packets, warm-up included; None where the workload does not tell."""
    per_hop_runs: int
    """Runs that need an event for each hop of a frame, which is slower."""
    per_hop_packets: int
    """The useful data packets of those."""
    record_bytes: int | None
    """Size of the records."""
    line_seconds: float
    """Time that the links need for all payload without loss, one run after the other; a phase that
    lasts for a time takes that time."""


@dataclass(frozen=True)
class PlannedStudy:
    """A study laid out: its cells, its runs in order, and what they take."""

    study: Study
    seed: int
    cells: tuple[Cell, ...]
    """Every cell that may be run; which ones of a growing factor are, the results decide."""
    runs: tuple[PlannedRun, ...]
    """Those of the first round, in the order in which they are to be made: all of them where no
    factor grows."""
    estimate: Estimate
    """What the first round takes."""
    most: Estimate
    """What all rounds together take at most."""
    loops: tuple[OuterLoop, ...]
    """The outer loops, whose further rounds depend on the records; none where no factor grows."""
    wired: tuple[wire.Run, ...] | None = field(repr=False)
    possible: tuple[wire.Run, ...] | None = field(repr=False)
    """Every run that may be made."""

    @property
    def plan(self) -> wire.Plan:
        """What the engine reads first. Raises StudyError where this version cannot carry it out."""
        return self._plan_of(self.wired)

    @property
    def whole_plan(self) -> wire.Plan:
        """Every run that may be made in any round. Raises StudyError as `plan` does."""
        return self._plan_of(self.possible)

    @property
    def rounds_at_most(self) -> int:
        """How many rounds there may be: one level of each loop in each."""
        return max((len(loop.steps) for loop in self.loops), default=1)

    def _plan_of(self, runs: tuple[wire.Run, ...] | None) -> wire.Plan:
        if runs is None:
            reasons = "; ".join(not_on_the_wire(self.study))
            raise StudyError(f"this version cannot carry out {self.study.study}: {reasons}")
        return wire.Plan(study=self.study.study, seed=self.seed, runs=runs)


def run_id(treatment: Treatment, replicate: int) -> str:
    """12 hexadecimal digits that tell this run from every other of the study."""
    return digest("run", canonical(treatment), replicate)[:12]


def run_seed(treatment: Treatment, replicate: int, seed: int) -> str:
    """16 hexadecimal digits: the root of the run's random streams."""
    return digest("seed", seed, canonical(treatment), replicate)[:16]


def canonical(treatment: Treatment) -> str:
    """A treatment as text that does not depend on the order of its factors."""
    return json.dumps(treatment, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(*parts: object) -> str:
    """SHA-256 of the parts, in hexadecimal."""
    return sha256("\n".join(str(part) for part in parts).encode()).hexdigest()
