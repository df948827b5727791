"""Where runs are carried out: the only place that starts processes."""

from __future__ import annotations

from collections.abc import Mapping

from netstudy.errors import StudyError
from netstudy.testbed.base import Testbed
from netstudy.testbed.netns import Netns, NetnsKernel
from netstudy.testbed.sim import Sim

__all__ = ["Netns", "NetnsKernel", "Sim", "Testbed", "named"]

_TESTBEDS: Mapping[str, type[Testbed]] = {
    testbed.name: testbed for testbed in (Sim, Netns, NetnsKernel)
}


def named(name: str) -> Testbed:
    """The testbed that `--testbed` names. Raises StudyError when there is none of that name."""
    if name not in _TESTBEDS:
        there = ", ".join(_TESTBEDS)
        raise StudyError(f"there is no testbed '{name}' in this version; there are {there}")
    return _TESTBEDS[name]()
