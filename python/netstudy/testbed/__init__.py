"""The testbeds, which execute runs. Only this package starts processes. Each testbed is imported
only when it is needed: some programs start once per run, and need only a part of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.store import Invocation
    from netstudy.store.invocation import InventoryCopy
    from netstudy.testbed.base import Testbed


def named(name: str, inventory: InventoryCopy | None = None) -> Testbed:
    """The testbed with the name given to `--testbed`. Raises StudyError for an unknown name.

    The testbed `hosts` has an inventory, all others have none.
    """
    from netstudy.study.vocabulary import HOSTS, TESTBEDS
    from netstudy.testbed.netns.testbed import Netns, NetnsKernel
    from netstudy.testbed.published_data import PublishedData
    from netstudy.testbed.sim import Sim
    from netstudy.testbed.ssh.testbed import Hosts

    if name == HOSTS:
        assert inventory is not None, "--testbed names the file of an inventory"
        return Hosts(inventory)
    known: tuple[type[Testbed], ...] = (Sim, Netns, NetnsKernel, PublishedData)
    testbeds = {one.name: one for one in known}
    if name not in testbeds:
        names = ", ".join(TESTBEDS)
        raise StudyError(f"there is no testbed '{name}' in this version; there are {names}")
    return testbeds[name]()


def invoked(invocation: Invocation) -> Testbed:
    """The testbed of the arguments of a run."""
    return named(invocation.testbed, invocation.inventory)
