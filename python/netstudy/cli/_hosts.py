"""The hosts of an inventory, for several verbs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from netstudy.cli._prepare import Asked, chosen, prepare
from netstudy.cli._terminal import show
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.cli._prepare import Prepared
    from netstudy.inventory import Inventory
    from netstudy.testbed.ssh.needs import Needs
    from netstudy.testbed.ssh.readiness import HostAspect


def inventory_of(testbed: str) -> tuple[Inventory, str]:
    """The inventory that `--testbed` names, and its path. Raises StudyError for another testbed."""
    from netstudy.inventory import parse_inventory

    name, copy = chosen(testbed)
    if copy is None:
        raise StudyError(f"{name} has no hosts; name an inventory such as hosts.yaml", "--testbed")
    return parse_inventory(copy.text, copy.path), copy.path


def aspects_of_hosts(testbed: str, asked: Asked | None, *, probe: bool) -> list[HostAspect]:
    """Checks the hosts; with a study, also the study's needs; with `probe`, also the
    rates between them. Raises StudyError for a probe without two hosts that are joined."""
    import asyncio

    from netstudy.testbed.ssh.needs import needs_of_hosts, needs_of_runs
    from netstudy.testbed.ssh.readiness import HostAspect, aspects

    inventory, path = inventory_of(testbed)
    if asked is None:
        needs = needs_of_hosts(inventory, list(inventory.hosts))
        _refuse_alone(needs, path, probe=probe)
        return asyncio.run(aspects(inventory, needs, path, probe=probe))
    prepared = prepare(asked)
    name = prepared.study.study
    refused = [HostAspect(name, "study", False, line) for line in _refused(prepared)]
    if refused:
        return refused
    needs = needs_of_runs(prepared.planned.plan_of_one_each.runs, inventory)
    _refuse_alone(needs, path, probe=probe)
    found = asyncio.run(aspects(inventory, needs, path, probe=probe))
    return [_estimate(prepared), *found]


def _refuse_alone(needs: Needs, path: str, *, probe: bool) -> None:
    if probe and not needs.paths:
        raise StudyError(f"--probe: no two hosts of {path} are joined; list two or more", "--probe")


def _refused(prepared: Prepared) -> Iterator[str]:
    from netstudy.testbed import invoked

    yield from prepared.unsupported()
    yield from invoked(prepared.invocation).unsupported(prepared.planned.plan_of_one_each)


def _estimate(prepared: Prepared) -> HostAspect:
    """The runs and their time, as `netstudy plan` prints them."""
    from netstudy.cli.plan import estimated
    from netstudy.testbed.ssh.readiness import HostAspect

    return HostAspect(prepared.study.study, "estimate", True, estimated(prepared))


def show_commands(prepared: Prepared) -> None:
    """Print every command that a run starts, by host; nothing if the hosts cannot run the plan,
    which a note says."""
    from netstudy.testbed.ssh.hosts import commands
    from netstudy.testbed.ssh.needs import needs_of_runs

    if list(_refused(prepared)):
        return
    inventory, _ = inventory_of(prepared.invocation.testbed_option)
    for name in needs_of_runs(prepared.planned.plan_of_one_each.runs, inventory).hosts:
        show(f"{name}:")
        for purpose, argv in commands(name, inventory.hosts[name], inventory.lease):
            show(f"  {purpose}: {shlex.join(argv)}")


def removal_commands(testbed: str) -> dict[str, str]:
    """Host -> the command that removes the engines there."""
    from netstudy.testbed.ssh.hosts import removal

    inventory, _ = inventory_of(testbed)
    return {name: shlex.join(removal(name, entry)) for name, entry in inventory.hosts.items()}


def remove_engines(testbed: str) -> dict[str, list[str]]:
    """Remove the engines from all hosts. Returns host -> the files that were removed. Raises
    TestbedError with the cause for each host that cannot be reached."""
    import asyncio

    from netstudy.testbed.ssh.hosts import remove_all

    return asyncio.run(remove_all(inventory_of(testbed)[0]))
