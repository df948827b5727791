"""Where runs are carried out: the only place that starts processes."""

from __future__ import annotations

from netstudy.errors import StudyError
from netstudy.testbed.base import Testbed
from netstudy.testbed.sim import Sim

__all__ = ["Sim", "Testbed", "named"]


def named(name: str) -> Testbed:
    """The testbed that `--testbed` names. Raises StudyError when there is none of that name."""
    if name != Sim.name:
        raise StudyError(f"there is no testbed '{name}' in this version; there is: {Sim.name}")
    return Sim()
