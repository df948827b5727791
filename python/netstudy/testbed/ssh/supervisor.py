"""Runs a plan on hosts: a plan on standard input, records on standard output."""

from __future__ import annotations

import sys
from pathlib import Path

from netstudy import wire
from netstudy.inventory import Inventory
from netstudy.plan_lines import read_plan
from netstudy.study.vocabulary import HOSTS
from netstudy.testbed.engine import engine_version, find_engine
from netstudy.testbed.real import supervise as real
from netstudy.testbed.real.setting import SILENCE_S
from netstudy.testbed.ssh.needs import Needs, needs_of_runs
from netstudy.testbed.ssh.place import HostsPlace
from netstudy.testbed.ssh.pool import HostPool, host_pool
from netstudy.testbed.ssh.readiness import aspects_of, refuse_missing


async def supervise(inventory: Inventory, file: str, captures: Path | None) -> None:
    """Read the plan, log in to its hosts, execute its runs one after the other, write their
    records. `file` is the inventory's, for messages. Raises TestbedError if a host cannot be used,
    or if hosts lack something that the plan needs."""
    plan = read_plan(sys.stdin.buffer)
    needs = needs_of_runs(plan.runs, inventory)
    async with host_pool(inventory, needs.hosts) as pool:
        await _check(pool, needs, file)
        version = engine_version(find_engine()).split()[1]
        real.write(wire.EngineRecord(version=version, testbed=HOSTS))
        await real.supervise(plan, lambda run: HostsPlace(run, pool), captures, SILENCE_S)


async def _check(pool: HostPool, needs: Needs, file: str) -> None:
    """Raises TestbedError if something is missing on the hosts or between them."""
    opened = {name: member.opened for name, member in pool.members.items()}
    refuse_missing(await aspects_of(opened, pool.inventory, needs, file))
