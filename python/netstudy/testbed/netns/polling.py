"""Pollers: processes in hosts that read the switches of a run by SNMP."""

from __future__ import annotations

import secrets as random_secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from netstudy import wire
from netstudy.testbed.netns.layout import Layout
from netstudy.testbed.netns.namespaces import in_namespace
from netstudy.testbed.netns.setting import Setting
from netstudy.testbed.real import snmp_wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.processes import (
    NodeProcess,
    RunProcesses,
    answered,
    local_channel,
    ready,
)
from netstudy.testbed.real.secrets import secret
from netstudy.testbed.real.snmp import Polls

_RECORD: TypeAdapter[snmp_wire.SnmpRecord] = TypeAdapter(snmp_wire.SnmpRecord)
_PORT = 161
_TIMEOUT_NS_MAX = 500_000_000
"""How long a poller waits for an answer; the emulated switches answer within a millisecond."""


@dataclass(frozen=True)
class Polling:
    """Says which host polls which switch, at which interval."""

    switch: str
    from_: str
    every_ns: int
    ports: tuple[str, ...]
    """The ports to poll, in the order of the plan."""
    own_port: str
    """The port of the switch that leads to the host."""


def pollings(run: wire.Run) -> list[Polling]:
    """The pollers of a run, in the order of its instruments."""
    ports: dict[tuple[str, str, int], list[str]] = {}
    for one in run.instruments:
        if one.kind == "snmp" and one.port is not None and one.from_ is not None:
            ports.setdefault((one.node, one.from_, one.every_ns), []).append(one.port)
    return [
        Polling(
            switch,
            from_,
            every_ns,
            tuple(dict.fromkeys(named)),
            next(own_ports(run.network, switch, from_)),
        )
        for (switch, from_, every_ns), named in ports.items()
    ]


def own_ports(network: wire.Network, switch: str, host: str) -> Iterator[str]:
    """The ports of a switch that lead to a host directly, with no other switch between."""
    for link in network.links:
        for end, far in (link.ports, link.ports[::-1]):
            if (end.node, far.node) == (switch, host):
                yield end.name


def polled_switches(run: wire.Run) -> tuple[str, ...]:
    """Switches that need an address of their own."""
    return tuple(dict.fromkeys(one.switch for one in pollings(run)))


def communities(run: wire.Run) -> dict[str, str]:
    """Polled switch -> its community: the one of the study, else one that is made up for this run.
    Raises TestbedError if the study's community cannot be read."""
    found: dict[str, str] = {}
    for one in run.instruments:
        if one.kind == "snmp":
            source = None if one.access is None else one.access.community
            named = f"the community of {one.node}"
            found.setdefault(
                one.node, random_secrets.token_hex(8) if source is None else secret(source, named)
            )
    return found


@dataclass
class Poller:
    """A poller in a run that is in progress."""

    polling: Polling
    process: NodeProcess[snmp_wire.SnmpRecord]
    rates_bps: Mapping[str, int]
    _edges: dict[str, int] = field(default_factory=dict)

    @classmethod
    async def start(
        cls, polling: Polling, setting: Setting, community: str, processes: RunProcesses
    ) -> Poller:
        """Start the program in the host that polls, and wait for the switch's first answer. Raises
        NodeError."""
        layout = setting.layout
        address = layout.switch_address(polling.switch)
        assert address is not None, "a switch that is polled has an address"
        ports = dict.fromkeys((*polling.ports, polling.own_port))
        plan = snmp_wire.SnmpPlan(
            run=setting.run.id,
            switch=polling.switch,
            agent=f"{address.ip}:{_PORT}",
            credentials=snmp_wire.Community(community=community),
            ports=tuple(snmp_wire.SnmpPort(port=port, name=port) for port in ports),
            every_ns=polling.every_ns,
            timeout_ns=min(polling.every_ns // 2, _TIMEOUT_NS_MAX),
            time_limit_ms=setting.time_limits.run_ms,
        )
        command = [*in_namespace(polling.from_), str(setting.engine), "snmp"]
        name = f"{polling.from_} (polls {polling.switch} each {polling.every_ns / 1e9:g} s)"
        channel = await local_channel(name, command)
        process = await processes.start(name, channel, plan, _RECORD)
        await ready(process, snmp_wire.SnmpReady)
        return cls(polling, process, _rates_bps(layout, polling.switch))

    async def snapshot(self, name: str) -> None:
        """Poll once at the start or end of a phase. No further request is sent until `go_on` is
        called."""
        await self.process.send(agent_wire.SnapshotCommand(name=name))
        taken = self.process.expect(snmp_wire.SnmpSnapshot, lambda snapshot: snapshot.name == name)
        self._edges[name] = (await answered(self.process, taken)).at_ns

    async def go_on(self) -> None:
        """Resume polling at intervals; the first poll is made at once."""
        await self.process.send(agent_wire.GoCommand())

    async def stop(self) -> Polls:
        """Stop, and return the readings."""
        await self.process.send(agent_wire.StopCommand())
        written = await answered(self.process, self.process.finish(agent_wire.EndRecord))
        polling = self.polling
        return Polls(
            switch=polling.switch,
            from_=polling.from_,
            every_ns=polling.every_ns,
            own_port=polling.own_port,
            samples=tuple(one for one in written if isinstance(one, snmp_wire.SnmpSamples)),
            edges=self._edges,
            rates_bps=self.rates_bps,
        )


def _rates_bps(layout: Layout, switch: str) -> dict[str, int]:
    """Port -> the higher of the rates of the two directions of its link."""
    return {
        end.name: max(port.rate_bps for port in link.ports)
        for link in layout.network.links
        for end in link.ports
        if end.node == switch
    }
