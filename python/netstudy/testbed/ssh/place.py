"""A run's place on a user's hosts: each host is a machine of its own, with a clock of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NoReturn

from pydantic import TypeAdapter

from netstudy import wire
from netstudy.errors import TestbedError
from netstudy.store.nodes import NodeEnvironment
from netstudy.study.vocabulary import HOSTS
from netstudy.testbed.real.allowance import Allowance
from netstudy.testbed.real.application import RunApplication
from netstudy.testbed.real.clocks import Clocks, HostClock, Ping
from netstudy.testbed.real.kernel_tcp import KernelRelease, control_name
from netstudy.testbed.real.place import (
    EndpointAddress,
    Lost,
    NoSwitch,
    Program,
    SnmpAgent,
    Watched,
)
from netstudy.testbed.real.processes import NodeError, NodeProcess, RecordT, RunProcesses
from netstudy.testbed.real.wire import SocketOptions
from netstudy.testbed.ssh.assignment import Assignment, assign
from netstudy.testbed.ssh.departures import HostKernel, departures
from netstudy.testbed.ssh.pool import HostPool, Member
from netstudy.testbed.ssh.session import without_name
from netstudy.wire_model import Wire

_PINGS: Final = 10
"""Questions for the clock of a host at a time."""


class NoWatch:
    """No instruments except the agents, as a Watch."""

    async def end(self) -> Watched:
        """See Watch.end."""
        return Watched()


@dataclass
class HostsPlace:
    """The hosts of a run, a Place."""

    run: wire.Run
    pool: HostPool
    _members: Mapping[str, Member] = field(default_factory=dict)
    """Host of the inventory -> its session, once the place is launched."""
    _pings: dict[str, list[list[Ping]]] = field(default_factory=dict)
    """Host of the study -> groups of questions for its clock."""

    @cached_property
    def assigned(self) -> Assignment:
        """The hosts and addresses of the run's nodes."""
        return assign(self.run.network, self.pool.inventory)

    @property
    def environment(self) -> Mapping[str, str]:
        """See Place.environment. Hosts with different kernels are named with theirs."""
        kernels: dict[str, list[str]] = {}
        for name, member in self._members.items():
            kernels.setdefault(member.session.hello.kernel, []).append(name)
        if len(kernels) == 1:
            return {"testbed": HOSTS, "kernel": next(iter(kernels))}
        each = (f"{release} ({', '.join(names)})" for release, names in kernels.items())
        return {"testbed": HOSTS, "kernel": "; ".join(each)}

    @property
    def environments(self) -> Sequence[tuple[tuple[str, ...], NodeEnvironment]]:
        """See Place.environments: as each host was when its session began."""
        zones = self.run.network.zones
        return [
            (
                (node, *(zone.name for zone in zones if zone.host == node)),
                self._members[host].environment,
            )
            for node, host in self.assigned.hosts.items()
        ]

    @property
    def departures(self) -> Sequence[str]:
        """See Place.departures."""
        kernels = {
            node: HostKernel(KernelRelease(member.session.hello.kernel), member.tcp)
            for node, host in self.assigned.hosts.items()
            for member in (self._members[host],)
        }
        return departures(self.run.network, kernels)

    @property
    def clocks(self) -> Clocks:
        """See Place.clocks: each host has a clock, which is named after the host. Nobody reads a
        switch; its clock stands for that of the first host."""
        estimates = {node: HostClock.of(node, groups) for node, groups in self._pings.items()}
        first = next(iter(self.assigned.hosts))
        switches = {switch.name: first for switch in self.run.network.switches}
        return Clocks({**self.machines, **switches}, estimates)

    @property
    def machines(self) -> Mapping[str, str]:
        """See Place.machines."""
        zones = {zone.name: zone.host for zone in self.run.network.zones}
        return {**{node: node for node in self.assigned.hosts}, **zones}

    @property
    def interfaces(self) -> Sequence[tuple[str, str]]:
        """See Place.interfaces."""
        hosts = self.assigned.hosts
        return [(one.node, one.port) for one in self.assigned.addresses if one.node in hosts]

    @property
    def names(self) -> Mapping[str, str]:
        """See Place.names."""
        return {str(one.ip): one.node for one in self.assigned.addresses}

    @property
    def cpus(self) -> Mapping[str, float]:
        """See Place.cpus."""
        return {
            node: float(self._members[host].session.hello.cpus)
            for node, host in self.assigned.hosts.items()
        }

    @property
    def tick_ns(self) -> int:
        """See Place.tick_ns: that of the kernel with the longest tick."""
        return max(member.session.hello.tick_ns for member in self._members.values())

    @property
    def burst_bytes(self) -> int:
        """See Place.burst_bytes. An interface sends at the rate of its link, never faster."""
        return 0

    @property
    def allowed(self) -> Allowance:
        """See Place.allowed."""
        allow = self.pool.inventory.allow
        return Allowance(traffic_pct=allow.other_traffic, cpu_pct=allow.other_cpu)

    @property
    def ports(self) -> tuple[int, int] | None:
        """See Place.ports."""
        ports = self.pool.inventory.ports
        return None if ports is None else (ports.first, ports.last)

    def address(self, endpoint: str) -> EndpointAddress:
        """See Place.address."""
        found = self.assigned.address(endpoint)
        # A zone is an address of its host, whose network stack it shares.
        owner = self._host_of(found.node)
        group = self.run.network.group(owner.group)
        return EndpointAddress(
            ip=str(found.ip),
            device=found.device or self._members[found.host].devices[found.ip],
            stack=owner.name,
            port=found.port,
            socket=SocketOptions(
                congestion_control=control_name(group.tcp),
                no_delay=group.tcp.nodelay,
                dscp=group.dscp or 0,
            ),
        )

    def _host_of(self, node: str) -> wire.Host:
        """The host that a node is, or on which it is a zone."""
        found = self.run.network.node(node)
        if isinstance(found, wire.Zone):
            return self._host_of(found.host)
        assert isinstance(found, wire.Host), "endpoints are of hosts and zones"
        return found

    def agent_cpu(self, node: str) -> int | None:  # noqa: ARG002
        """See Place.agent_cpu: the scheduler of each host decides."""
        return None

    def folder(self, node: str, named: str) -> str:  # noqa: ARG002 (one for RAM disk and disk)
        """See Place.folder. The agent checks the kind of the disk."""
        folder = self.pool.inventory.hosts[self.assigned.hosts[self._host_of(node).name]].files
        assert folder is not None, "files without a folder are refused"
        # Agents start in the home folder.
        return folder.removeprefix("~/")

    def snmp(self, switch: str) -> SnmpAgent:
        """See Place.snmp."""
        raise AssertionError(f"polls of {switch} are refused")

    @asynccontextmanager
    async def launch(self) -> AsyncIterator[None]:
        """See Place.launch. Opens again the sessions that are lost since the last run."""
        self._members = await self.pool.ready(self.assigned.hosts.values())
        self._pings = {node: [] for node in self.assigned.hosts}
        yield

    async def compare_clocks(self) -> None:
        """See Place.compare_clocks. One host after the other: waiting for others widens the
        bound."""
        for node, host in self.assigned.hosts.items():
            try:
                self._pings[node].append(await self._members[host].session.clock(_PINGS))
            except TestbedError as error:
                _fail(node, error)

    async def start(
        self,
        processes: RunProcesses,
        name: str,
        node: str,
        program: Program,
        plan: Wire,
        adapter: TypeAdapter[RecordT],
    ) -> NodeProcess[RecordT]:
        """See Place.start."""
        assert program == "agent", "polls are refused"
        session = self._members[self.assigned.hosts[self._host_of(node).name]].session
        try:
            channel = await session.start(name, program)
        except TestbedError as error:
            _fail(name, error)
        return await processes.start(name, channel, plan, adapter)

    async def lost(self) -> Sequence[Lost]:
        """See Place.lost. A host that says nothing is waited for until its lease is over."""
        sessions = {node: self._members[host].session for node, host in self.assigned.hosts.items()}
        await asyncio.gather(*(one.heard_or_over() for one in sessions.values()))
        found = {node: one.why_over for node, one in sessions.items() if one.why_over}
        return [Lost(node, without_name(node, why)) for node, why in found.items()]

    async def switch(self, processes: RunProcesses, time_limit_ms: int) -> NoSwitch:  # noqa: ARG002
        """See Place.switch: the user's switches are not read."""
        return NoSwitch()

    async def application(
        self,
        processes: RunProcesses,  # noqa: ARG002
        time_limit_ms: int,  # noqa: ARG002
    ) -> RunApplication | None:
        """See Place.application: applications are refused."""
        return None

    async def watch(self, processes: RunProcesses) -> NoWatch:  # noqa: ARG002
        """See Place.watch."""
        return NoWatch()


def _fail(name: str, error: TestbedError) -> NoReturn:
    raise NodeError(name, without_name(name, str(error))) from error
