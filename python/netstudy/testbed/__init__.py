"""The testbeds, which execute runs. Only this package starts processes. Each testbed is imported
only when it is needed: some programs start once per run, and need only a part of this package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.store import Invocation
    from netstudy.store.invocation import InventoryCopy
    from netstudy.testbed.base import Testbed


def named(name: str, inventory: InventoryCopy | None = None, study: Path = Path()) -> Testbed:
    """The testbed with the name given to `--testbed`. Raises StudyError for an unknown name.

    The testbed `hosts` has an inventory, all others have none. `study` is the file or folder of the
    study, in whose folder `measured` finds its files.
    """
    from netstudy.study.vocabulary import HOSTS, MEASURED, TESTBEDS
    from netstudy.testbed.measured.testbed import MeasuredData, PublishedData
    from netstudy.testbed.netns.testbed import Netns, NetnsKernel
    from netstudy.testbed.sim import Sim
    from netstudy.testbed.ssh.testbed import Hosts

    if name == HOSTS:
        assert inventory is not None, "--testbed names the file of an inventory"
        return Hosts(inventory)
    if name == MEASURED:
        return MeasuredData(study)
    known: tuple[type[Testbed], ...] = (Sim, Netns, NetnsKernel, PublishedData)
    testbeds = {one.name: one for one in known}
    if name not in testbeds:
        names = ", ".join(TESTBEDS)
        raise StudyError(f"there is no testbed '{name}' in this version; there are {names}")
    return testbeds[name]()


def invoked(invocation: Invocation) -> Testbed:
    """The testbed of the arguments of a run."""
    return named(invocation.testbed, invocation.inventory, Path(invocation.study))
