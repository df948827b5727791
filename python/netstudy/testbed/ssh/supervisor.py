"""Runs a plan on hosts: a plan on standard input, records on standard output."""

from __future__ import annotations

import sys
from pathlib import Path

from netstudy import wire
from netstudy.inventory import Inventory
from netstudy.study.vocabulary import HOSTS
from netstudy.testbed.engine import engine_version, find_engine
from netstudy.testbed.real import supervise as real
from netstudy.testbed.real.setting import SILENCE_S
from netstudy.testbed.ssh.assignment import assign
from netstudy.testbed.ssh.place import HostsPlace
from netstudy.testbed.ssh.pool import host_pool


async def supervise(inventory: Inventory, captures: Path | None) -> None:
    """Read the plan, log in to its hosts, execute its runs one after the other, write their
    records. Raises TestbedError if a host cannot be used."""
    plan = wire.Plan.model_validate_json(sys.stdin.buffer.read())
    networks = {repr(run.network): run.network for run in plan.runs}.values()
    names = {host for network in networks for host in assign(network, inventory).hosts.values()}
    async with host_pool(inventory, sorted(names)) as pool:
        version = engine_version(find_engine()).split()[1]
        real.write(wire.EngineRecord(version=version, testbed=HOSTS))
        await real.supervise(plan, lambda run: HostsPlace(run, pool), captures, SILENCE_S)
