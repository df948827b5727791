"""The interface of every testbed: it runs a plan and hands over records as they arrive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, Protocol

from netstudy.plan.planned import Estimate
from netstudy.study.vocabulary import TestbedName
from netstudy.testbed.memory import Memory
from netstudy.wire import Plan, Record, Run, RunRecord

OnRecord = Callable[[Record, bytes], None]
"""Called with each record and the exact line that the record was read from, newline included."""


@dataclass(frozen=True)
class Preflight:
    """The answer of a testbed to the question whether it can run a plan."""

    unsupported: tuple[str, ...] = ()
    """Unsupported parts of the plan, one sentence each."""
    machine: Mapping[str, str] = field(default_factory=dict)
    """Measurements of the machine, by their names; they are stored with the results."""


class Testbed(Protocol):
    """Something that executes runs: the simulator, or this machine's kernel."""

    __test__: ClassVar[bool] = False  # not a test case, whatever its name suggests to pytest
    name: ClassVar[TestbedName]
    repeats_itself: ClassVar[bool]
    """Whether the testbed is deterministic: the same plan gives the same records, and a failed run
    would fail again."""

    def check(self) -> None:
        """Raise TestbedError when the testbed cannot be used at all, before any file or process is
        created."""

    def unsupported(self, plan: Plan) -> Sequence[str]:
        """Unsupported parts of a plan, one sentence each, or the reason why they cannot be
        determined. Nothing is measured."""
        ...

    def missing_controls(self, plan: Plan) -> Sequence[str]:
        """One sentence for each congestion control of a plan that the testbed does not have, with
        the list of its own; empty where only a log-in would tell. `unsupported` has these sentences
        too."""
        ...

    def preflight(self, plan: Plan, scale: Fraction) -> Preflight:
        """Whether the testbed and its machine can run the whole plan.

        `scale` is the factor that the plan's link rates were multiplied by; if another scale is
        advised, it is relative to the study's own rates.
        """

    def run(
        self,
        plan: Plan,
        *,
        threads: int | None,
        on_record: OnRecord,
        captures: Path | None = None,
    ) -> None:
        """Execute every run of the plan; records arrive in the order in which runs complete.

        If `threads` is None, all cores are used; `captures` is the folder for raw data, if the
        testbed keeps any. Raises TestbedError when the testbed fails; an exception from `on_record`
        ends the work and is raised again.
        """

    def seconds(self, estimate: Estimate, *, threads: int | None) -> float:
        """Rough duration of a plan."""
        ...

    def memory(self, estimate: Estimate, *, threads: int | None) -> Memory | None:
        """Rough peak memory of a plan; None: not known."""
        ...


def failed_record(run: Run, error: str) -> RunRecord:
    """The record of a run that did not complete."""
    return RunRecord(
        run=run.id,
        treatment=run.treatment,
        replicate=run.replicate,
        seed=run.seed,
        status="failed",
        error=error,
    )
