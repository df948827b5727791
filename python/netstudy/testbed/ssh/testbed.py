"""Real TCP between hosts that the user owns, through the user's own network."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from netstudy import wire
from netstudy.errors import TestbedError
from netstudy.inventory import Inventory
from netstudy.plan.planned import Estimate, RunSize
from netstudy.study.vocabulary import HOSTS, TestbedName
from netstudy.testbed.base import OnRecord, Preflight
from netstudy.testbed.engine import find_engine
from netstudy.testbed.memory import Memory, memory_of
from netstudy.testbed.ssh.connect import NO_CLIENT
from netstudy.testbed.ssh.needs import needs_of_runs
from netstudy.testbed.ssh.readiness import aspects, refuse_missing
from netstudy.testbed.ssh.unsupported import unsupported

_RUN_S = 1.5
"""Seconds to start and end the processes of a run and to read counters."""
_RECORD_FACTOR = 10
"""Bytes of memory per byte of a run's record, for the agents' messages until the record is written:
somewhat more than the front needs for records that it has read."""


class Hosts:
    """Runs a plan on the hosts of an inventory, one run after the other."""

    __test__: ClassVar[bool] = False
    name: ClassVar[TestbedName] = HOSTS
    repeats_itself: ClassVar[bool] = False

    def __init__(self, inventory: Inventory, path: str) -> None:
        """`path` is the inventory's file, for messages."""
        self.inventory = inventory
        self.path = path

    def check(self) -> None:
        """See Testbed.check: the engine and the ssh client are there."""
        find_engine()
        if shutil.which("ssh") is None:
            raise TestbedError(NO_CLIENT)

    def unsupported(self, plan: wire.Plan) -> Sequence[str]:
        """See Testbed.unsupported: also the hosts and addresses that the inventory lacks."""
        return unsupported(plan, self.inventory, self.path)

    def preflight(self, plan: wire.Plan, scale: Fraction) -> Preflight:  # noqa: ARG002
        """See Testbed.preflight. Raises TestbedError if a host or a path is not ready."""
        self.check()
        if said := self.unsupported(plan):
            return Preflight(unsupported=tuple(said))
        needs = needs_of_runs(plan.runs, self.inventory)
        refuse_missing(asyncio.run(aspects(self.inventory, needs, self.path)))
        raise TestbedError("this version checks hosts, but cannot run a study on them yet")

    def run(
        self,
        plan: wire.Plan,  # noqa: ARG002
        *,
        threads: int | None,  # noqa: ARG002
        on_record: OnRecord,  # noqa: ARG002
        captures: Path | None = None,  # noqa: ARG002
    ) -> None:
        """See Testbed.run."""
        raise AssertionError("the preflight refuses every plan")

    def seconds(self, estimate: Estimate, *, threads: int | None) -> float:  # noqa: ARG002
        """See Testbed.seconds: a lower bound, since losses on the user's network are not known."""
        return estimate.runs * _RUN_S + estimate.line_seconds

    def memory(self, estimate: Estimate, *, threads: int | None) -> Memory | None:  # noqa: ARG002
        """See Testbed.memory: that of the controller, since the agents run on other machines."""
        return memory_of(estimate, 1, _run_bytes)


def _run_bytes(size: RunSize) -> int:
    return size.record_bytes * _RECORD_FACTOR
