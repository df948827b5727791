"""Opens the sessions of several hosts: logs in, copies the engine where it is missing, begins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from netstudy.errors import TestbedError
from netstudy.inventory import HostEntry, Inventory
from netstudy.testbed.engine import engine_version, find_engine
from netstudy.testbed.ssh import remote
from netstudy.testbed.ssh.connect import Master, master, master_argv, session_argv, socket_folder
from netstudy.testbed.ssh.deploy import Probed, deploy, nonce, not_run, probe, remove
from netstudy.testbed.ssh.host_wire import AGENT_PROTOCOL, HelloRecord
from netstudy.testbed.ssh.session import HostInUseError, HostSession, host_session

_AT_ONCE: Final = 8
"""Log-ins at the same time: sshd refuses some beyond 10 (MaxStartups), which a common jump host
would reach."""
_NS_PER_MS: Final = 10**6


@dataclass(frozen=True)
class OpenHost:
    """A host with a session."""

    session: HostSession
    probed: Probed


@asynccontextmanager
async def open_hosts(
    inventory: Inventory, names: Collection[str]
) -> AsyncIterator[Mapping[str, OpenHost]]:
    """The sessions of some hosts of an inventory; they end after the block. Raises TestbedError
    with the cause for each host that cannot be used."""
    async with open_each(inventory, names) as found:
        failed = [str(one) for one in found.values() if isinstance(one, TestbedError)]
        if failed:
            raise TestbedError("\n".join(failed))
        yield {name: one for name, one in found.items() if isinstance(one, OpenHost)}


@asynccontextmanager
async def open_each(
    inventory: Inventory, names: Collection[str]
) -> AsyncIterator[Mapping[str, OpenHost | TestbedError]]:
    """Like `open_hosts`, with the error in place of a host that cannot be used."""
    version = engine_version(find_engine()).split()[1]
    turns = asyncio.Semaphore(_AT_ONCE)
    with socket_folder() as folder:
        async with AsyncExitStack() as stack:

            async def one(number: int, name: str) -> OpenHost | TestbedError:
                entry = inventory.hosts[name]
                try:
                    async with turns:
                        return await _open(
                            stack, name, entry, f"{folder}/{number}", inventory.lease, version
                        )
                except TestbedError as error:
                    return error

            found = await asyncio.gather(*(one(*each) for each in enumerate(names)))
            yield _with_twins(dict(zip(names, found, strict=True)))


def _with_twins(
    found: Mapping[str, OpenHost | TestbedError],
) -> dict[str, OpenHost | TestbedError]:
    """The hosts, where the error of a host that is in use names the host of the inventory that may
    be the same machine."""
    own = {one.session.hello.pid: name for name, one in found.items() if isinstance(one, OpenHost)}
    told: dict[str, OpenHost | TestbedError] = {}
    for name, one in found.items():
        if isinstance(one, HostInUseError) and one.pid in own:
            twin = own[one.pid]
            one = TestbedError(f"{one}. If {name} and {twin} are one machine, list it only once")
        told[name] = one
    return told


async def _open(
    stack: AsyncExitStack, name: str, entry: HostEntry, socket: str, lease_ns: int, version: str
) -> OpenHost:
    own = AsyncExitStack()
    async with own:
        logged_in = await own.enter_async_context(master(name, entry.ssh, socket))
        found = await probe(logged_in, entry)
        engine = await deploy(logged_in, entry, found)
        session = await own.enter_async_context(_session(logged_in, engine, lease_ns))
        if said := disagreement(name, session.hello, version):
            raise TestbedError(said)
        stack.push_async_exit(own.pop_all())
    return OpenHost(session, found)


def _session(
    logged_in: Master, engine: str, lease_ns: int
) -> AbstractAsyncContextManager[HostSession]:
    word = nonce()
    argv = logged_in.argv(remote.host_session(engine, word, lease_ns // _NS_PER_MS))
    return host_session(
        logged_in.host, argv, word, lease_ns, lambda said: not_run(logged_in.host, engine, said)
    )


def disagreement(host: str, hello: HelloRecord, version: str) -> str | None:
    """Why the engine of a host does not fit the one here; None if it does."""
    anew = "make the engines anew: make build engine-static"
    if hello.version != version:
        return f"{host}: its engine is version {hello.version}, the one here is {version}; {anew}"
    if hello.agent_protocol != AGENT_PROTOCOL:
        return (
            f"{host}: its engine speaks version {hello.agent_protocol} of the protocol with "
            f"agents, netstudy speaks {AGENT_PROTOCOL}; {anew}"
        )
    return None


def commands(name: str, entry: HostEntry, lease_ns: int) -> list[tuple[str, list[str]]]:
    """Every command that a run starts for a host, with the purpose of each, for a dry run. Words
    that are drawn anew in each run are in capitals."""
    socket, word, sha256 = f"SOCKETS/{name}", "NONCE", "SHA256"
    engine = remote.engine_path(entry.engine, sha256)
    over = [
        ("look at the host", remote.probe(word, entry.engine, entry.files)),
        ("copy the engine, if it is not there", remote.copy(word, entry.engine, sha256)),
        ("carry the runs", remote.host_session(engine, word, lease_ns // _NS_PER_MS)),
    ]
    return [
        ("log in", master_argv(entry.ssh, socket)),
        *((purpose, session_argv(entry.ssh, socket, command)) for purpose, command in over),
    ]


def removal(name: str, entry: HostEntry) -> list[str]:
    """The command that removes the engines from a host, for a dry run."""
    return session_argv(entry.ssh, f"SOCKETS/{name}", remote.remove("NONCE", entry.engine))


async def remove_all(inventory: Inventory) -> dict[str, list[str]]:
    """Remove the engines from every host. Returns host -> names of the removed files. Raises
    TestbedError with the cause for each host that cannot be reached, after all others are done."""
    with socket_folder() as folder:

        async def one(number: int, name: str) -> list[str] | TestbedError:
            entry = inventory.hosts[name]
            try:
                async with master(name, entry.ssh, f"{folder}/{number}") as logged_in:
                    return await remove(logged_in, entry)
            except TestbedError as error:
                return error

        found = await asyncio.gather(*(one(*each) for each in enumerate(inventory.hosts)))
    failed = [str(one) for one in found if isinstance(one, TestbedError)]
    if failed:
        raise TestbedError("\n".join(failed))
    names = zip(inventory.hosts, found, strict=True)
    return {name: one for name, one in names if not isinstance(one, TestbedError)}
