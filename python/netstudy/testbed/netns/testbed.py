"""Real Linux TCP between network namespaces of this machine, through a switch of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from netstudy import wire
from netstudy.errors import TestbedError
from netstudy.plan.planned import Estimate, RunSize
from netstudy.study.vocabulary import TestbedName
from netstudy.testbed.base import OnRecord, Preflight
from netstudy.testbed.engine import find_engine, run_engine
from netstudy.testbed.memory import Memory, memory_of
from netstudy.testbed.netns.layout import NAMES, Switching

_SUPERVISOR = "netstudy.testbed.netns"
"""The program of the sandbox, which executes runs."""
_RUN_S = 1.5
"""Seconds to make and remove a network, and to start and end its processes."""
_SLOWDOWN = 3.0
"""How many times as long as on ideal links a sample of a workload takes, because of losses and
their recovery."""
_NODE_BYTES = 8_000_000
"""Memory of a node: 3.3 MB for an idle agent, and an allowance for its namespace and buffers."""
_CONNECTION_BYTES = 20_000
"""Allowance for the memory of both sockets of a connection and of their queues."""
_RECORD_FACTOR = 10
"""Bytes of memory per byte of a run's record, for the agents' messages until the record is written:
somewhat more than the front needs for records that it has read."""


class Netns:
    """Runs a plan with the kernel's TCP, one run after the other, through the engine's switch."""

    __test__: ClassVar[bool] = False
    switching: ClassVar[Switching] = "user-space"
    name: ClassVar[TestbedName] = NAMES[switching]
    repeats_itself: ClassVar[bool] = False

    def check(self) -> None:
        """See Testbed.check: the engine is there, and the kernel lets us make namespaces."""
        from netstudy.testbed.netns.kernel import kernel

        find_engine()
        try:
            here = kernel()
        except TestbedError as error:
            raise TestbedError(f"{error}; netstudy doctor says what would allow it") from error
        if "veth" not in here.links or not here.packet_sockets:
            raise TestbedError(
                f"{here.name} here lacks veth links or packet sockets; netstudy doctor says more"
            )

    def unsupported(self, plan: wire.Plan) -> Sequence[str]:
        """See Testbed.unsupported: the unsupported parts depend on this machine's kernel."""
        try:
            return self._unsupported(plan)
        except TestbedError as error:
            return [f"This machine cannot run the study: {error}."]

    def _unsupported(self, plan: wire.Plan) -> list[str]:
        from netstudy.testbed.netns.kernel import kernel
        from netstudy.testbed.netns.unsupported import unsupported

        return unsupported(plan, self.switching, kernel())

    def missing_controls(self, plan: wire.Plan) -> Sequence[str]:
        """See Testbed.missing_controls. A machine without namespaces offers none to look at."""
        from netstudy.testbed.netns.kernel import kernel
        from netstudy.testbed.netns.unsupported import missing_controls

        try:
            return missing_controls(plan, kernel())
        except TestbedError:
            return ()

    def preflight(self, plan: wire.Plan, scale: Fraction) -> Preflight:
        """See Testbed.preflight: if all parts of the plan are supported, the capacity of the
        machine is probed."""
        from netstudy.testbed.netns.capacity_probe import preflight

        self.check()
        said = self._unsupported(plan)
        if said:
            return Preflight(unsupported=tuple(said))
        return preflight(plan, scale, self.switching)

    def run(
        self,
        plan: wire.Plan,
        *,
        threads: int | None,  # noqa: ARG002 (runs at the same time would disturb each other)
        on_record: OnRecord,
        captures: Path | None = None,
    ) -> None:
        """See Testbed.run."""
        from netstudy.testbed.netns.environment import sysctls
        from netstudy.testbed.netns.sandbox import explained, sandbox_command

        module = [sys.executable, "-m", _SUPERVISOR, f"--switching={self.switching}"]
        if captures is not None:
            shared = json.dumps(sysctls(), separators=(",", ":"))
            module += [f"--captures={captures.absolute()}", f"--machine-sysctls={shared}"]
        try:
            run_engine(sandbox_command(module), plan, on_record)
        except TestbedError as error:
            raise explained(error) from error

    def seconds(self, estimate: Estimate, *, threads: int | None) -> float:  # noqa: ARG002
        """See Testbed.seconds."""
        counted = estimate.line_seconds - estimate.timed_seconds
        return estimate.runs * _RUN_S + estimate.timed_seconds + counted * _SLOWDOWN

    def memory(self, estimate: Estimate, *, threads: int | None) -> Memory | None:  # noqa: ARG002
        """See Testbed.memory."""
        return memory_of(estimate, 1, _run_bytes)


def _run_bytes(size: RunSize) -> int:
    return (
        size.nodes * _NODE_BYTES
        + size.connections * _CONNECTION_BYTES
        + size.record_bytes * _RECORD_FACTOR
    )


class NetnsKernel(Netns):
    """Like `Netns`, but with the kernel's bridge and queues as the switch: faster, but only with
    drop-tail queues."""

    switching: ClassVar[Switching] = "kernel"
    name: ClassVar[TestbedName] = NAMES[switching]
