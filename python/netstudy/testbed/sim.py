"""The simulator: the engine's virtual time, on this machine's processors."""

from __future__ import annotations

from typing import ClassVar

from netstudy.store.environment import cores
from netstudy.testbed.base import OnRecord
from netstudy.testbed.engine import find_engine, run_engine
from netstudy.wire import Plan

_PACKETS_PER_S = 6e6
"""Useful data packets that a core simulates in a second, as measured on the incast study."""
_PER_HOP_PACKETS_PER_S = 0.8e6
"""Likewise with one event a hop."""
_PROGRESS_MS = 500


class Sim:
    """Runs a plan with `netstudy-engine sim`."""

    __test__: ClassVar[bool] = False
    name: ClassVar[str] = "sim"

    def check(self) -> None:
        """See Testbed.check: the engine must be there."""
        find_engine()

    def run(self, plan: Plan, *, threads: int | None, on_record: OnRecord) -> None:
        """See Testbed.run."""
        options = [f"--threads={threads or cores()}", "--as-completed"]
        command = [str(find_engine()), "sim", *options, f"--progress-ms={_PROGRESS_MS}"]
        run_engine(command, plan, on_record)

    def seconds(self, packets: int, per_hop_packets: int, *, threads: int | None) -> float:
        """See Testbed.seconds."""
        closed_form = (packets - per_hop_packets) / _PACKETS_PER_S
        return (closed_form + per_hop_packets / _PER_HOP_PACKETS_PER_S) / (threads or cores())
