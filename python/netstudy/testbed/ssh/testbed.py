"""Real TCP between hosts that the user owns, through the user's own network."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from netstudy import wire
from netstudy.errors import TestbedError
from netstudy.inventory import parse_inventory
from netstudy.plan.planned import Estimate, RunSize
from netstudy.store.invocation import InventoryCopy
from netstudy.study.vocabulary import HOSTS, TestbedName
from netstudy.testbed.base import OnRecord, Preflight
from netstudy.testbed.engine import find_engine, run_engine
from netstudy.testbed.memory import Memory, memory_of
from netstudy.testbed.ssh.connect import NO_CLIENT
from netstudy.testbed.ssh.unsupported import unsupported

_SUPERVISOR = "netstudy.testbed.ssh"
"""The program that talks to the hosts and executes runs."""
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

    def __init__(self, copy: InventoryCopy) -> None:
        """Raises StudyError if the copy is not an inventory."""
        self.copy = copy
        self.inventory = parse_inventory(copy.text, copy.path)

    def check(self) -> None:
        """See Testbed.check: the engine and the ssh client are there."""
        find_engine()
        if shutil.which("ssh") is None:
            raise TestbedError(NO_CLIENT)

    def unsupported(self, plan: wire.Plan) -> Sequence[str]:
        """See Testbed.unsupported: also the hosts and addresses that the inventory lacks."""
        return unsupported(plan, self.inventory, self.copy.path)

    def missing_controls(self, plan: wire.Plan) -> Sequence[str]:  # noqa: ARG002 (hosts tell)
        """See Testbed.missing_controls: hosts are asked when a session with them is opened."""
        return ()

    def preflight(self, plan: wire.Plan, scale: Fraction) -> Preflight:  # noqa: ARG002
        """See Testbed.preflight."""
        self.check()
        if said := self.unsupported(plan):
            return Preflight(unsupported=tuple(said))
        return Preflight()

    def run(
        self,
        plan: wire.Plan,
        *,
        threads: int | None,  # noqa: ARG002 (runs at the same time would disturb each other)
        on_record: OnRecord,
        captures: Path | None = None,
    ) -> None:
        """See Testbed.run."""
        said = (f"--inventory={self.copy.text}", f"--file={self.copy.path}")
        module = [sys.executable, "-m", _SUPERVISOR, *said]
        if captures is not None:
            module.append(f"--captures={captures.absolute()}")
        run_engine(module, plan, on_record)

    def seconds(self, estimate: Estimate, *, threads: int | None) -> float:  # noqa: ARG002
        """See Testbed.seconds: a lower bound, since losses on the user's network are not known."""
        return estimate.runs * _RUN_S + estimate.line_seconds

    def memory(self, estimate: Estimate, *, threads: int | None) -> Memory | None:  # noqa: ARG002
        """See Testbed.memory: that of the controller, since the agents run on other machines."""
        return memory_of(estimate, 1, _run_bytes)


def _run_bytes(size: RunSize) -> int:
    return size.record_bytes * _RECORD_FACTOR
