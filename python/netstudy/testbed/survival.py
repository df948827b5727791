"""Executes the runs of a plan even if the engine dies: only the run that makes it die is lost.

One engine executes many runs at once, and does not say which of them made it die. The runs without
a record are therefore halved, and each half gets an engine of its own, until an engine with a
single run dies: that run has failed. So a run succeeds if it fails only in parallel with others,
for example because two runs do not fit into memory together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from netstudy.errors import TestbedError
from netstudy.testbed.base import OnRecord, failed_record
from netstudy.wire import Plan, ProgressRecord, Record, Run, RunRecord, to_json


class EngineDiedError(TestbedError):
    """The engine began to execute runs and was then killed by a signal that is not a request to
    end."""


Start = Callable[[Plan, OnRecord], None]
"""Executes all runs of a plan with one engine; raises EngineDiedError if that engine dies."""

_FAILED_BY = "its engine died: "
_MARK = f'"error":"{_FAILED_BY}'.encode()


def is_of_dead_engine(text: bytes) -> bool:
    """Whether a record (given as text) is that of a run that made the engine die; such a run may
    succeed with more memory. The text is searched, not parsed, so that only the records of such
    runs have to be parsed."""
    return _MARK in text


def record_of_dead(run: Run, death: str) -> tuple[RunRecord, bytes]:
    """The record of a run that made the engine die, and its line. `death` tells how it died."""
    record = failed_record(run, _FAILED_BY + " ".join(death.split()))
    return record, to_json(record).encode() + b"\n"


def run_surviving(start: Start, plan: Plan, on_record: OnRecord) -> None:
    """Execute all runs of a plan; if an engine dies, new engines execute the runs that it left."""
    _Survivors(start, plan, on_record).make(plan.runs)


@dataclass
class _Survivors:
    start: Start
    plan: Plan
    on_record: OnRecord
    ended: set[str] = field(default_factory=set)
    """Runs that have a record."""
    packets: int = 0
    """Packets simulated by the engines before the current one."""

    def make(self, runs: Sequence[Run]) -> None:
        present = _Engine(self, ended_before=len(self.ended), is_first=not self.ended)
        try:
            self.start(self.plan.with_runs(runs), present.on_record)
        except EngineDiedError as death:
            self._go_on([run for run in runs if run.id not in self.ended], death)
        finally:
            self.packets += present.packets

    def _go_on(self, left: Sequence[Run], death: EngineDiedError) -> None:
        if len(left) == 1:
            record, line = record_of_dead(left[0], str(death))
            self.on_record(record, line)
            self.ended.add(record.run)
            return
        half = (len(left) + 1) // 2
        for part in (left[:half], left[half:]):
            if part:  # if an engine dies after its last run, no run is left
                self.make(part)


@dataclass
class _Engine:
    """The records of one of several engines, counted as if there were only one."""

    of: _Survivors
    ended_before: int
    is_first: bool
    packets: int = 0

    def on_record(self, record: Record, line: bytes) -> None:
        if isinstance(record, ProgressRecord):
            self.packets = record.packets
            if not self.is_first:
                record = self._whole(record)
        self.of.on_record(record, line)
        if isinstance(record, RunRecord):
            self.of.ended.add(record.run)

    def _whole(self, record: ProgressRecord) -> ProgressRecord:
        """The progress of the whole plan. The number of planned packets no longer applies, since
        some packets of the dead engine are simulated again."""
        return record.model_copy(
            update={
                "runs_done": self.ended_before + record.runs_done,
                "runs": len(self.of.plan.runs),
                "packets": self.of.packets + record.packets,
                "packets_planned": 0,
            }
        )
