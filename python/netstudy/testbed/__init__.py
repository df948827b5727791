"""The testbeds, which execute runs. Only this package starts processes. Each testbed is imported
only when it is needed: some programs start once per run, and need only a part of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.testbed.base import Testbed


def named(name: str) -> Testbed:
    """The testbed with the name given to `--testbed`. Raises StudyError for an unknown name."""
    from netstudy.testbed.netns.testbed import Netns, NetnsKernel
    from netstudy.testbed.published_data import PublishedData
    from netstudy.testbed.sim import Sim

    known: tuple[type[Testbed], ...] = (Sim, Netns, NetnsKernel, PublishedData)
    testbeds = {one.name: one for one in known}
    if name not in testbeds:
        names = ", ".join(testbeds)
        raise StudyError(f"there is no testbed '{name}' in this version; there are {names}")
    return testbeds[name]()
