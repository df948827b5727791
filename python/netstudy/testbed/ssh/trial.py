"""Trial traffic between hosts, which only `netstudy doctor --probe` sends: a short transfer in each
direction of each pair, by the agents that carry runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final, get_args

from netstudy import wire
from netstudy.errors import NetstudyError, TestbedError
from netstudy.inventory import HostEntry, Inventory
from netstudy.plan import make_plan
from netstudy.study.loader import load_text
from netstudy.testbed.real.clocks import NoBoundError
from netstudy.testbed.real.conduct import carry_out
from netstudy.testbed.real.processes import NodeError
from netstudy.testbed.real.setting import Setting
from netstudy.testbed.ssh.hosts import OpenHost
from netstudy.testbed.ssh.needs import Needs, Place
from netstudy.testbed.ssh.place import HostsPlace
from netstudy.testbed.ssh.pool import HostPool, known

_STUDY: Final = """\
study: trial
question: How much do two hosts carry?
factors: {direction: [put, get]}
topology:
  client: {profile: host-1g, tcp: {profile: linux-6, congestion_control: reno}}
  server: {profile: host-1g, tcp: {profile: linux-6, congestion_control: reno}}
  switch: generic-shallow
  link: {rate: 100 Mbit/s, mtu: 1500}
workload:
  transfer: {direction: "${direction}"}
procedure: {warmup: 200 ms, measure: 300 ms}
replicates: 1
testbeds: {hosts: {}}
"""
"""Every user of every host may choose reno. The rate of the link only bounds the time that the run
may take."""


@dataclass(frozen=True)
class Trial:
    """A transfer from one host to another."""

    ends: tuple[Place, Place]
    """The pair, in the order of `pairs_of`."""
    sender: Place
    receiver: Place
    goodput_bps: float | TestbedError
    """Rate of the data that arrived; or the reason why there is none."""
    rates_bps: tuple[int | None, int | None]
    """Rates of the links of sender and receiver; None: not known."""


async def trials(
    hosts: Mapping[str, OpenHost], pairs: Sequence[tuple[Place, Place]], inventory: Inventory
) -> list[Trial]:
    """Transfer in both directions of each pair, one after the other."""
    found: list[Trial] = []
    for client, server in pairs:
        rates = [await _rate_bps(hosts, place, inventory) for place in (client, server)]
        for direction in ("put", "get"):
            ends = [client, server] if direction == "put" else [server, client]
            of_ends = rates if direction == "put" else rates[::-1]
            reached = await _goodput_bps(hosts, client, server, direction, inventory)
            found.append(
                Trial((client, server), ends[0], ends[1], reached, (of_ends[0], of_ends[1]))
            )
    return found


def pairs_of(needs: Needs) -> list[tuple[Place, Place]]:
    """Each pair of places that are joined, once whichever of them is the client."""
    found: dict[frozenset[Place], tuple[Place, Place]] = {}
    for pair in needs.paths:
        found.setdefault(frozenset(pair), pair)
    return list(found.values())


async def _rate_bps(
    hosts: Mapping[str, OpenHost], place: Place, inventory: Inventory
) -> int | None:
    """The rate of a link as the inventory or else its interface gives it."""
    name, address = place
    given = inventory.hosts[name].rate_bps(address)
    if given is not None:
        return given
    interfaces = await hosts[name].session.interfaces()
    return next((one.speed_bps for one in interfaces if one.has(address)), None)


async def _goodput_bps(
    hosts: Mapping[str, OpenHost],
    client: Place,
    server: Place,
    direction: str,
    inventory: Inventory,
) -> float | TestbedError:
    """The rate of the data, or why there is none."""
    run = trial_runs()[direction]
    two = _only(inventory, client, server)
    try:
        async with AsyncExitStack() as stack:
            members = {
                name: await known(hosts[name], entry.addresses) for name, entry in two.hosts.items()
            }
            place = HostsPlace(run, HostPool(two, stack, members))
            evidence = await carry_out(Setting(run, place), {})
        received = sum(
            evidence.connection_growth(row, role)[0]
            for row in evidence.specs.workload
            for role in get_args(wire.Role)
        )
        return 8e9 * received / evidence.counted_ns
    except NodeError as error:
        host = {"client": client[0], "server": server[0]}.get(error.node, error.node)
        return TestbedError(f"{host}: {error.message}")
    except (NetstudyError, NoBoundError, LookupError) as error:
        return TestbedError(str(error))


@cache
def trial_runs() -> Mapping[str, wire.Run]:
    """Direction -> the transfer of a trial, to the server (put) or from it (get)."""
    study = load_text(_STUDY, Path("trial.yaml"))
    return {str(run.treatment["direction"]): run for run in make_plan(study).plan.runs}


def _only(inventory: Inventory, client: Place, server: Place) -> Inventory:
    """The inventory with two hosts, each with one address."""
    return inventory.model_copy(
        update={
            "hosts": {
                name: _at(inventory.hosts[name], address) for name, address in (client, server)
            },
            "roles": {"client": (client[0],), "server": (server[0],)},
        }
    )


def _at(entry: HostEntry, address: IPv4Address) -> HostEntry:
    own = {"address": address, "interfaces": None, "rate": entry.rate_bps(address)}
    return entry.model_copy(update=own)
