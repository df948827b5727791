"""The simulator: the engine simulates runs in virtual time, on this machine's CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import ClassVar

from netstudy.documents.nearest import suggestion
from netstudy.plan.planned import Estimate, RunSize
from netstudy.store.environment import cores
from netstudy.study.vocabulary import TestbedName
from netstudy.testbed.base import OnRecord, Preflight
from netstudy.testbed.controls import asking
from netstudy.testbed.engine import find_engine, run_engine
from netstudy.testbed.memory import Memory, memory_of
from netstudy.testbed.survival import run_surviving
from netstudy.wire import SIMULATED_CONTROLS, Plan

_PACKETS_PER_S = 6e6
"""Useful data packets that a core simulates per second, measured on the incast study."""
_PER_HOP_PACKETS_PER_S = 0.8e6
"""The same, if every hop is simulated by an event."""
_TRACED_PACKETS_PER_S = 0.3e6
"""The same, if the run is traced as well: 2.8 times the time of the event-driven trunk between two
switches."""
_CONNECTION_S = 35e-6
"""CPU time to open a connection and to send its first request: 20,000 users take 0.65 s."""
_USER_S = 90e-9
"""CPU time to shuffle a registered user into the deck: a thousand million take 91 s."""
_RUN_S = 1e-3
"""CPU time that the front takes to store, read and analyse a run: 113 s for 100,000 small runs."""
_ENGINE_BYTES = 8_000_000
"""Memory of the engine itself, with a run of three nodes and one connection."""
_NODE_BYTES = 16_000
"""Memory of a host with its interface and its switch port: 33 MB for 2,001 nodes."""
_CONNECTION_BYTES = 8_000
"""Memory of both ends of a connection with their application: 4.6 to 5.7 kB with 10,000 to 40,000
users, 8 kB with 10,000 flows that lose packets. Each packet in flight takes 300 B more. This is
left out, since far fewer packets than connections are in flight."""
_USER_BYTES = 4
"""Memory of a registered user: 3.9 GB for a thousand million."""
_RECORD_FACTOR = 4
"""Bytes of memory per byte of a record, for the samples until the record is written: 4.0 to 4.8.
The smaller value suffices, since the size of records is estimated at twice the real size."""
_PROGRESS_MS = 500


class Sim:
    """Runs a plan with `netstudy-engine sim`."""

    __test__: ClassVar[bool] = False
    name: ClassVar[TestbedName] = "sim"
    repeats_itself: ClassVar[bool] = True

    def check(self) -> None:
        """See Testbed.check: the engine must be there."""
        find_engine()

    def unsupported(self, plan: Plan) -> Sequence[str]:
        """See Testbed.unsupported: only congestion controls. Other unsupported parts are already
        refused when the study is planned."""
        return self.missing_controls(plan)

    def missing_controls(self, plan: Plan) -> Sequence[str]:
        """See Testbed.missing_controls."""
        there = ", ".join(SIMULATED_CONTROLS)
        return [
            f"The simulator has no congestion control {control}"
            f"{suggestion(control, SIMULATED_CONTROLS) or '.'} {ask} for it. The simulator has "
            f"{there}; netstudy doctor lists the ones of kernels."
            for control, (_, ask) in asking(plan).items()
            if control not in SIMULATED_CONTROLS
        ]

    def preflight(self, plan: Plan, scale: Fraction) -> Preflight:  # noqa: ARG002 (rates are kept)
        """See Testbed.preflight."""
        return Preflight(unsupported=tuple(self.unsupported(plan)))

    def run(
        self,
        plan: Plan,
        *,
        threads: int | None,
        on_record: OnRecord,
        captures: Path | None = None,  # noqa: ARG002 (nothing is captured)
    ) -> None:
        """See Testbed.run; there is nothing to capture."""
        options = [f"--threads={threads or cores()}", "--as-completed"]
        command = [str(find_engine()), "sim", *options, f"--progress-ms={_PROGRESS_MS}"]
        run_surviving(partial(run_engine, command), plan, on_record)

    def seconds(self, estimate: Estimate, *, threads: int | None) -> float:
        """See Testbed.seconds."""
        return engine_seconds(estimate) / (threads or cores()) + estimate.runs * _RUN_S

    def memory(self, estimate: Estimate, *, threads: int | None) -> Memory | None:
        """See Testbed.memory."""
        return memory_of(estimate, threads or cores(), _run_bytes)


def engine_seconds(estimate: Estimate) -> float:
    """Rough CPU time of the engine for a plan."""
    closed_form = ((estimate.packets or 0) - estimate.per_hop_packets) / _PACKETS_PER_S
    untraced = estimate.per_hop_packets - estimate.traced_packets
    per_hop = untraced / _PER_HOP_PACKETS_PER_S
    traced = estimate.traced_packets / _TRACED_PACKETS_PER_S
    opened = estimate.connections * _CONNECTION_S + estimate.users * _USER_S
    return closed_form + per_hop + traced + opened


def _run_bytes(size: RunSize) -> int:
    return (
        _ENGINE_BYTES
        + size.nodes * _NODE_BYTES
        + size.connections * _CONNECTION_BYTES
        + size.users * _USER_BYTES
        + size.record_bytes * _RECORD_FACTOR
    )
