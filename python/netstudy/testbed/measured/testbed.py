"""The testbeds of runs that were measured elsewhere: records are made from tables and files, and
nothing is executed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from netstudy.errors import StudyError
from netstudy.plan.planned import Estimate
from netstudy.study.measured_files import read_again
from netstudy.study.measured_runs import contents_of
from netstudy.study.vocabulary import TestbedName
from netstudy.testbed.base import OnRecord, Preflight, failed_record
from netstudy.testbed.measured.records import record_of_files, record_of_table
from netstudy.testbed.memory import Memory
from netstudy.version import __version__
from netstudy.wire import EngineRecord, Measured, Plan, Run, RunRecord, to_json


class PublishedData:
    """Turns the values of tables in a plan into records, and hands over these records."""

    __test__: ClassVar[bool] = False
    name: ClassVar[TestbedName] = "published"
    repeats_itself: ClassVar[bool] = True

    def check(self) -> None:
        """See Testbed.check: this testbed needs nothing."""

    def unsupported(self, plan: Plan) -> Sequence[str]:  # noqa: ARG002 (any plan)
        """See Testbed.unsupported."""
        return ()

    def missing_controls(self, plan: Plan) -> Sequence[str]:  # noqa: ARG002 (any plan)
        """See Testbed.missing_controls: nothing is run."""
        return ()

    def preflight(self, plan: Plan, scale: Fraction) -> Preflight:  # noqa: ARG002 (any plan)
        """See Testbed.preflight: there is nothing to check."""
        return Preflight()

    def run(
        self,
        plan: Plan,
        *,
        threads: int | None,  # noqa: ARG002 (reading takes one)
        on_record: OnRecord,
        captures: Path | None = None,  # noqa: ARG002 (nothing is captured)
    ) -> None:
        """See Testbed.run."""
        head = EngineRecord(version=__version__, testbed=self.name)
        on_record(head, to_json(head).encode() + b"\n")
        for record in self.records(plan.runs):
            on_record(record, to_json(record).encode() + b"\n")

    def records(self, runs: Sequence[Run]) -> Iterator[RunRecord]:
        """The records of runs, in their order."""
        return map(record_of_table, runs)

    def seconds(self, estimate: Estimate, *, threads: int | None) -> float:  # noqa: ARG002
        """See Testbed.seconds: reading values takes almost no time."""
        return 0.0

    def memory(self, estimate: Estimate, *, threads: int | None) -> Memory | None:  # noqa: ARG002
        """See Testbed.memory: nothing is executed."""
        return None


class MeasuredData(PublishedData):
    """Turns files of measurements, and the tables of a study of such files, into records."""

    name: ClassVar[TestbedName] = "measured"

    def __init__(self, study: Path) -> None:
        """`study`: the file or folder of the study. Its files are relative to this folder."""
        self._folder = study if study.is_dir() else study.parent

    def records(self, runs: Sequence[Run]) -> Iterator[RunRecord]:
        """The records of runs, in their order. A file that has changed since the plan was made, or
        that is gone, makes a failed run."""
        return map(self._record, runs)

    def _record(self, run: Run) -> RunRecord:
        work = run.workload
        assert isinstance(work, Measured), "this testbed plans nothing else"
        if not work.files:
            return record_of_table(run)
        try:
            return record_of_files(run, contents_of(read_again(self._folder, run.treatment, work)))
        except (OSError, StudyError) as error:
            return failed_record(run, str(error))
