"""The simulator: the engine's virtual time, on this machine's CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import ClassVar

from netstudy.plan.planned import Estimate
from netstudy.store.environment import cores
from netstudy.study.vocabulary import TestbedName
from netstudy.testbed.base import OnRecord, Preflight
from netstudy.testbed.engine import find_engine, run_engine
from netstudy.testbed.survival import run_surviving
from netstudy.wire import Plan

_PACKETS_PER_S = 6e6
"""Useful data packets that a core simulates in a second, as measured on the incast study."""
_PER_HOP_PACKETS_PER_S = 0.8e6
"""The same with one event a hop."""
_PROGRESS_MS = 500


class Sim:
    """Runs a plan with `netstudy-engine sim`."""

    __test__: ClassVar[bool] = False
    name: ClassVar[TestbedName] = "sim"
    repeats_itself: ClassVar[bool] = True

    def check(self) -> None:
        """See Testbed.check: the engine must be there."""
        find_engine()

    def unsupported(self, plan: Plan) -> Sequence[str]:  # noqa: ARG002 (any plan)
        """See Testbed.unsupported: what cannot be simulated is refused by the study already."""
        return ()

    def preflight(self, plan: Plan, scale: Fraction) -> Preflight:  # noqa: ARG002 (any plan)
        """See Testbed.preflight: every plan can be simulated."""
        return Preflight()

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
        closed_form = ((estimate.packets or 0) - estimate.per_hop_packets) / _PACKETS_PER_S
        per_hop = estimate.per_hop_packets / _PER_HOP_PACKETS_PER_S
        return (closed_form + per_hop) / (threads or cores())
