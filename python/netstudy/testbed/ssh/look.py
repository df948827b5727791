"""Looks at hosts through their sessions: settings of the kernel, activity, clocks, and the paths
between them. Nothing is changed; a path gets some small packets."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Final, TypeVar

from netstudy.errors import TestbedError
from netstudy.inventory import Inventory
from netstudy.testbed.real.clocks import Ping
from netstudy.testbed.ssh.host_tcp import FILES
from netstudy.testbed.ssh.host_wire import HostInterface, ReachedRecord
from netstudy.testbed.ssh.hosts import OpenHost
from netstudy.testbed.ssh.needs import Needs, Place
from netstudy.testbed.ssh.session import HostSession

AnswerT = TypeVar("AnswerT")

PINGS: Final = 50
"""Questions for the clock of a host."""
_WATCHED_S: Final = 1.0
"""How long the activity of others is watched."""
_REACH_S: Final = 0.5
"""How long a path may be silent before it counts as blocked."""
_LISTEN_S: Final = 120.0
_SIZES: Final = (9_000, 1_500, 1_492, 1_450, 1_400, 1_280, 576)
"""Sizes of packets that are tried, in bytes: usual MTUs, of tunnels too."""

_GOVERNORS: Final = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
_STAT: Final = "/proc/stat"
_COUNTERS: Final = "/sys/class/net/{device}/statistics/{direction}_bytes"
_USER_HZ_FIELDS: Final = 8
"""Fields of the line `cpu` in /proc/stat that are times of their own: guest time is in user time
too (proc(5))."""


@dataclass(frozen=True)
class Activity:
    """The activity of others on a host while nothing of a run was there."""

    cpu_share: float
    """Share of all CPUs that were busy."""
    traffic_bps: Mapping[str, float]
    """Device -> bits received and sent each second."""


@dataclass(frozen=True)
class Looked:
    """A host as its session shows it."""

    tcp: Mapping[str, str]
    """Texts of `host_tcp.FILES`."""
    governors: tuple[str, ...]
    """Distinct frequency governors of the CPUs; empty: the host has none."""
    interfaces: tuple[HostInterface, ...]
    pings: tuple[Ping, ...]
    activity: Activity

    def device_of(self, address: IPv4Address) -> HostInterface | None:
        """The interface that has an address."""
        return next((one for one in self.interfaces if one.has(address)), None)


async def look(sessions: Sequence[HostSession]) -> list[Looked | TestbedError]:
    """Look at some hosts; the error of a host that does not answer takes its place."""
    # One host after the other, while nothing else is under way: waiting widens the bound.
    clocks = [await _kept(one.clock(PINGS)) for one in sessions]
    return await asyncio.gather(*map(_look, sessions, clocks))


async def _look(session: HostSession, pings: list[Ping] | TestbedError) -> Looked | TestbedError:
    return pings if isinstance(pings, TestbedError) else await _kept(_looked(session, pings))


async def _kept(answer: Coroutine[Any, Any, AnswerT]) -> AnswerT | TestbedError:
    """The answer of a host, or its error."""
    try:
        return await answer
    except TestbedError as error:
        return error


async def _looked(session: HostSession, pings: Sequence[Ping]) -> Looked:
    interfaces = await session.interfaces()
    devices = [one.device for one in interfaces]
    watched = [_STAT, *(_counter(one, way) for one in devices for way in ("rx", "tx"))]
    first = await session.read(watched)
    await asyncio.sleep(_WATCHED_S)
    second = await session.read(watched)
    files = await session.read([*FILES, _GOVERNORS])
    governors = {text.strip() for path, text in files.items() if path.endswith("_governor")}
    return Looked(
        tcp={name: files[name] for name in FILES if name in files},
        governors=tuple(sorted(governors)),
        interfaces=interfaces,
        pings=tuple(pings),
        activity=activity(first, second, devices, _WATCHED_S),
    )


def _counter(device: str, direction: str) -> str:
    return _COUNTERS.format(device=device, direction=direction)


def activity(
    first: Mapping[str, str], second: Mapping[str, str], devices: Sequence[str], between_s: float
) -> Activity:
    """The activity between two readings of the same files."""
    idle, total = (_cpu(second[_STAT])[place] - _cpu(first[_STAT])[place] for place in range(2))
    traffic = {
        one: sum(
            8 * (int(second[path]) - int(first[path])) / between_s
            for path in (_counter(one, "rx"), _counter(one, "tx"))
        )
        for one in devices
        if _counter(one, "rx") in first and _counter(one, "rx") in second
    }
    return Activity(1 - idle / total if total else 0.0, traffic)


def _cpu(stat: str) -> tuple[int, int]:
    """Idle time and all time of all CPUs, in ticks. Waiting for a disk counts as idle (proc(5))."""
    times = [int(word) for word in stat.split("\n", 1)[0].split()[1 : 1 + _USER_HZ_FIELDS]]
    return times[3] + times[4], sum(times)


@dataclass(frozen=True)
class PathLooked:
    """A path from a client to a server, at one port."""

    client: Place
    server: Place
    port: int
    sizes: tuple[int, ...]
    """Sizes of packets that were tried, the largest first."""
    reached: ReachedRecord | TestbedError
    """The answer of the client, or the reason why the server could not listen."""


async def look_at_paths(
    hosts: Mapping[str, OpenHost], looked: Mapping[str, Looked], needs: Needs, inventory: Inventory
) -> list[PathLooked]:
    """Try each path whose hosts have their addresses: one server after the other, so that no host
    sends to several at once."""
    found: list[PathLooked] = []
    for server in dict.fromkeys(server for _, server in needs.paths):
        clients = [
            client
            for client, other in needs.paths
            if other == server and _is_usable(client, looked) and _is_usable(server, looked)
        ]
        for port in _ports(inventory) if clients else ():
            found += await _look_at_server(hosts, looked, server, clients, port)
    return found


def _ports(inventory: Inventory) -> tuple[int, ...]:
    """The ports to try: both ends of the range that the inventory gives, or any free port."""
    ports = inventory.ports
    return (0,) if ports is None else tuple(dict.fromkeys((ports.first, ports.last)))


def _is_usable(place: Place, looked: Mapping[str, Looked]) -> bool:
    host, address = place
    return host in looked and looked[host].device_of(address) is not None


async def _look_at_server(
    hosts: Mapping[str, OpenHost],
    looked: Mapping[str, Looked],
    server: Place,
    clients: Sequence[Place],
    port: int,
) -> list[PathLooked]:
    listener = hosts[server[0]].session
    try:
        peers = [address for _, address in clients]
        number, opened = await listener.listen(server[1], peers, port, _LISTEN_S)
    except TestbedError as error:
        return [PathLooked(client, server, port, (), error) for client in clients]
    found = [await _reach(hosts, looked, client, server, opened) for client in clients]
    await listener.unlisten(number)
    return found


async def _reach(
    hosts: Mapping[str, OpenHost],
    looked: Mapping[str, Looked],
    client: Place,
    server: Place,
    port: int,
) -> PathLooked:
    sizes = sizes_to_try(*(_mtu(place, looked) for place in (client, server)))
    session = hosts[client[0]].session
    reached = await session.reach(client[1], server[1], port, sizes, _REACH_S)
    return PathLooked(client, server, port, sizes, reached)


def _mtu(place: Place, looked: Mapping[str, Looked]) -> int:
    found = looked[place[0]].device_of(place[1])
    assert found is not None, "only usable places are tried"
    return found.mtu


def sizes_to_try(*mtus: int) -> tuple[int, ...]:
    """The sizes of packets to try on a path: the smaller MTU of its ends, then usual smaller
    ones."""
    largest = min(mtus)
    return (largest, *(size for size in _SIZES if size < largest))


def offset_ns(pings: Sequence[Ping]) -> tuple[int, int]:
    """The least and the largest offset of a host's clock to the controller's that agree with all
    pings."""
    least = max(one.host_ns - one.received_ns for one in pings)
    return least, min(one.host_ns - one.sent_ns for one in pings)
