"""The testbed of published runs: records are made from published values, and nothing is
executed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from netstudy.plan.planned import Estimate
from netstudy.study.vocabulary import TestbedName
from netstudy.testbed.base import OnRecord, Preflight
from netstudy.testbed.memory import Memory
from netstudy.testbed.workloads import record_of
from netstudy.version import __version__
from netstudy.wire import EngineRecord, Plan, to_json


class PublishedData:
    """Turns the published values in a plan into records, and hands over these records."""

    __test__: ClassVar[bool] = False
    name: ClassVar[TestbedName] = "published"
    repeats_itself: ClassVar[bool] = True

    def check(self) -> None:
        """See Testbed.check: this testbed needs nothing."""

    def unsupported(self, plan: Plan) -> Sequence[str]:  # noqa: ARG002 (any plan)
        """See Testbed.unsupported."""
        return ()

    def preflight(self, plan: Plan, scale: Fraction) -> Preflight:  # noqa: ARG002 (any plan)
        """See Testbed.preflight: the plan consists of published values."""
        return Preflight()

    def run(
        self,
        plan: Plan,
        *,
        threads: int | None,  # noqa: ARG002 (nothing takes time)
        on_record: OnRecord,
        captures: Path | None = None,  # noqa: ARG002 (nothing is captured)
    ) -> None:
        """See Testbed.run."""
        head = EngineRecord(version=__version__, testbed=self.name)
        on_record(head, to_json(head).encode() + b"\n")
        for run in plan.runs:
            record = record_of(run)
            on_record(record, to_json(record).encode() + b"\n")

    def seconds(self, estimate: Estimate, *, threads: int | None) -> float:  # noqa: ARG002
        """See Testbed.seconds: reading values takes almost no time."""
        return 0.0

    def memory(self, estimate: Estimate, *, threads: int | None) -> Memory | None:  # noqa: ARG002
        """See Testbed.memory: nothing is executed."""
        return None
