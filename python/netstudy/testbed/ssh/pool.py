"""The sessions of a plan's hosts: opened once, used by all runs, opened again when one is lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address, ip_interface
from typing import Final

from netstudy.errors import TestbedError
from netstudy.inventory import Inventory
from netstudy.store.nodes import NodeEnvironment
from netstudy.testbed.real.place import PlaceGoneError
from netstudy.testbed.ssh.environment import environment
from netstudy.testbed.ssh.environment import files as described_by
from netstudy.testbed.ssh.host_tcp import FILES
from netstudy.testbed.ssh.hosts import OpenHost, open_hosts
from netstudy.testbed.ssh.session import HostSession

_PATIENCE_S: Final = 60.0
"""How long a lost host may take to come back."""
_PAUSE_S: Final = 2.0


@dataclass(frozen=True)
class Member:
    """A host with a session, its interfaces, its TCP settings and its environment."""

    opened: OpenHost
    devices: Mapping[IPv4Address, str]
    """Address -> the interface that has it."""
    tcp: Mapping[str, str]
    """Texts of `host_tcp.FILES`."""
    environment: NodeEnvironment
    """The environment, with the interfaces that have test addresses."""

    @property
    def session(self) -> HostSession:
        """The session."""
        return self.opened.session


@dataclass
class HostPool:
    """The hosts of a plan. Created by `host_pool`."""

    inventory: Inventory
    stack: AsyncExitStack
    """Ends the sessions."""
    members: dict[str, Member] = field(default_factory=dict)

    async def open(self, names: Collection[str]) -> None:
        """Open the sessions of some hosts. Raises TestbedError with the cause for each host that
        cannot be used."""
        opened = await self.stack.enter_async_context(open_hosts(self.inventory, names))
        for name, host in opened.items():
            self.members[name] = await known(host, self.inventory.hosts[name].addresses)

    async def ready(self, names: Iterable[str]) -> dict[str, Member]:
        """The sessions of some hosts; sessions that are over are opened again. Raises
        PlaceGoneError if a host does not come back."""
        wanted = list(dict.fromkeys(names))
        patience_ends_s = time.monotonic() + _PATIENCE_S
        while lost := [name for name in wanted if self.members[name].session.why_over]:
            try:
                await self.open(lost)
            except TestbedError as error:
                # The process of an earlier session may hold the host's lock until its lease ends.
                if time.monotonic() > patience_ends_s:
                    raise PlaceGoneError(str(error)) from error
                await asyncio.sleep(_PAUSE_S)
        return {name: self.members[name] for name in wanted}


async def known(opened: OpenHost, addresses: Collection[IPv4Address]) -> Member:
    """The host with its environment, if it has these test addresses."""
    session = opened.session
    interfaces = await session.interfaces()
    devices = {
        IPv4Address(ip_interface(address).ip): one.device
        for one in interfaces
        for address in one.addresses
        if ip_interface(address).version == 4
    }
    names = {devices.get(address) for address in addresses}
    tested = [one for one in interfaces if one.device in names]
    texts = await session.read([*FILES, *described_by([one.device for one in tested])])
    return Member(
        opened,
        devices,
        {path: texts[path] for path in FILES if path in texts},
        environment(session.hello, tested, texts),
    )


@asynccontextmanager
async def host_pool(inventory: Inventory, names: Collection[str]) -> AsyncIterator[HostPool]:
    """The opened sessions of some hosts, which end after the block. Raises TestbedError with the
    cause for each host that cannot be used."""
    async with AsyncExitStack() as stack:
        pool = HostPool(inventory, stack)
        await pool.open(names)
        yield pool
