"""Pollers: processes in hosts that read the switches of a run by SNMP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from netstudy import wire
from netstudy.testbed.real import snmp_wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.processes import NodeProcess, RunProcesses, answered, ready
from netstudy.testbed.real.setting import Setting
from netstudy.testbed.real.snmp import Polls

_RECORD: TypeAdapter[snmp_wire.SnmpRecord] = TypeAdapter(snmp_wire.SnmpRecord)
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
    own_port: str | None
    """The port of the switch that leads to the host; None: the host reaches it otherwise."""


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
            next(own_ports(run.network, switch, from_), None),
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


@dataclass
class Poller:
    """A poller in a run that is in progress."""

    polling: Polling
    process: NodeProcess[snmp_wire.SnmpRecord]
    rates_bps: Mapping[str, int]
    _edges: dict[str, int] = field(default_factory=dict)

    @classmethod
    async def start(cls, polling: Polling, setting: Setting, processes: RunProcesses) -> Poller:
        """Start the program in the host that polls, and wait for the switch's first answer. Raises
        NodeError."""
        polled = setting.place.snmp(polling.switch)
        own = () if polling.own_port is None else (polling.own_port,)
        ports = dict.fromkeys((*polling.ports, *own))
        plan = snmp_wire.SnmpPlan(
            run=setting.run.id,
            switch=polling.switch,
            agent=polled.address,
            credentials=polled.credentials,
            ports=tuple(snmp_wire.SnmpPort(port=port, name=port) for port in ports),
            every_ns=polling.every_ns,
            timeout_ns=min(polling.every_ns // 2, _TIMEOUT_NS_MAX),
            time_limit_ms=setting.time_limits.run_ms,
        )
        name = f"{polling.from_} (polls {polling.switch} each {polling.every_ns / 1e9:g} s)"
        process = await setting.place.start(processes, name, polling.from_, "snmp", plan, _RECORD)
        await ready(process, snmp_wire.SnmpReady)
        return cls(polling, process, _rates_bps(setting.run.network, polling.switch))

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


def _rates_bps(network: wire.Network, switch: str) -> dict[str, int]:
    """Port -> the higher of the rates of the two directions of its link."""
    return {
        end.name: max(port.rate_bps for port in link.ports)
        for link in network.links
        for end in link.ports
        if end.node == switch
    }
