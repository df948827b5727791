"""A run's place in namespaces: all its nodes have one machine and one clock."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic import TypeAdapter

from netstudy.store.nodes import Machine, NodeEnvironment, Tuning
from netstudy.testbed.netns.application import start_application
from netstudy.testbed.netns.control_groups import control_groups, join_groups
from netstudy.testbed.netns.environment import capture, watched
from netstudy.testbed.netns.kernel import Kernel, tick_ns
from netstudy.testbed.netns.kernel_path import burst_bytes, frame_bytes
from netstudy.testbed.netns.layout import NAMES
from netstudy.testbed.netns.namespaces import end_processes, in_namespace
from netstudy.testbed.netns.network import network
from netstudy.testbed.netns.resources import Resources
from netstudy.testbed.netns.switches import communities, start_switch
from netstudy.testbed.netns.unsupported import notes_on_run
from netstudy.testbed.netns.watch import NamespaceWatch
from netstudy.testbed.real import snmp_wire
from netstudy.testbed.real.application import RunApplication
from netstudy.testbed.real.clocks import Clocks
from netstudy.testbed.real.place import EndpointAddress, Lost, Program, RunSwitch, SnmpAgent
from netstudy.testbed.real.processes import NodeProcess, RecordT, RunProcesses, local_channel
from netstudy.testbed.real.wire import SocketOptions
from netstudy.wire_model import Wire

_SNMP_PORT = 161
_MACHINE = "machine"
"""The name of the machine in records, and of its clock."""


@dataclass(frozen=True)
class Keeping:
    """Properties that all nodes share, for the record of their environments."""

    machine: Machine
    of_all: tuple[Tuning, ...]
    """Changes of settings that concern all processes."""


@dataclass
class NamespacePlace:
    """The namespaces of a run, a Place."""

    resources: Resources
    kernel: Kernel
    keeping: Keeping | None = None
    """None: nobody asks for the environments."""
    environments: Sequence[tuple[tuple[str, ...], NodeEnvironment]] = ()
    _groups: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    """Host -> the files that add a process to its control groups."""

    @property
    def environment(self) -> dict[str, str]:
        """See Place.environment."""
        switching = self.resources.layout.switching
        return {"testbed": NAMES[switching], "kernel": self.kernel.release}

    @property
    def departures(self) -> Sequence[str]:
        """See Place.departures."""
        return notes_on_run(self.resources.run, self.resources.layout.switching, self.kernel)

    @property
    def interfaces(self) -> Sequence[tuple[str, str]]:
        """See Place.interfaces."""
        return [(one.host, one.port) for one in self.resources.layout.interfaces]

    @property
    def names(self) -> Mapping[str, str]:
        """See Place.names."""
        return {one.ip: one.node for one in self.resources.layout.addresses}

    @property
    def clocks(self) -> Clocks:
        """See Place.clocks."""
        return Clocks({one.name: _MACHINE for one in self.resources.run.network.nodes})

    @property
    def machines(self) -> Mapping[str, str]:
        """See Place.machines."""
        return {one.name: _MACHINE for one in self.resources.run.network.nodes}

    async def compare_clocks(self) -> None:
        """See Place.compare_clocks: there is one."""

    async def lost(self) -> Sequence[Lost]:
        """See Place.lost: none, since hosts are processes of this machine."""
        return ()

    @property
    def cpus(self) -> Mapping[str, float]:
        """See Place.cpus."""
        return self.resources.cpus

    @property
    def tick_ns(self) -> int:
        """See Place.tick_ns."""
        return tick_ns()

    @property
    def burst_bytes(self) -> int:
        """See Place.burst_bytes. A kernel queue may send its token bucket, and one more frame,
        which the last token releases."""
        layout = self.resources.layout
        shaped = [
            end
            for one in layout.interfaces
            if layout.is_shaped(one)
            for end in ((one.end, one.link), (one.far, one.link))
        ]
        return max((burst_bytes(*one) + frame_bytes(one[1]) for one in shaped), default=0)

    @property
    def allowed(self) -> None:
        """See Place.allowed."""
        return None

    @property
    def ports(self) -> None:
        """See Place.ports."""
        return None

    def address(self, endpoint: str) -> EndpointAddress:
        """See Place.address."""
        found = self.resources.layout.address(endpoint)
        return EndpointAddress(
            ip=found.ip,
            device=found.device,
            stack=found.stack,
            port=found.interface.port,
            socket=SocketOptions(
                congestion_control=found.tcp.congestion_control,
                no_delay=found.tcp.nodelay,
                dscp=self.resources.layout.dscp(found.node),
            ),
        )

    def agent_cpu(self, node: str) -> int | None:  # noqa: ARG002 (the same for all)
        """See Place.agent_cpu."""
        return self.resources.pinning.hosts

    def folder(self, node: str, named: str) -> str:  # noqa: ARG002 (the sandbox has it for all)
        """See Place.folder."""
        return named

    def snmp(self, switch: str) -> SnmpAgent:
        """See Place.snmp."""
        address = self.resources.layout.switch_address(switch)
        assert address is not None, "a switch that is polled has an address"
        credentials = snmp_wire.Community(community=self._communities[switch])
        return SnmpAgent(f"{address.ip}:{_SNMP_PORT}", credentials)

    @cached_property
    def _communities(self) -> dict[str, str]:
        return communities(self.resources.run)

    @asynccontextmanager
    async def launch(self) -> AsyncIterator[None]:
        """See Place.launch. Makes the network and the control groups."""
        resources = self.resources
        tuned = watched(resources) if self.keeping else {}
        with network(resources.layout, tuned):
            if self.keeping is not None:
                kept = capture(resources, self.keeping.machine, self.keeping.of_all, tuned)
                self.environments = list(kept)
            with control_groups(resources.limits) as self._groups:
                try:
                    yield
                finally:
                    if resources.served is not None:
                        # Children that an application leaves behind would keep its control group
                        # from being removed.
                        end_processes(resources.layout.namespaces)

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
        host = self.resources.layout.host_of(node)
        command = [*in_namespace(host.node), str(self.resources.engine), program]
        # A poller does the work of a management station: it takes nothing of the host's quota.
        files = self._groups.get(host.machine, ()) if program == "agent" else ()
        channel = await local_channel(name, command, lambda: join_groups(files))
        return await processes.start(name, channel, plan, adapter)

    async def switch(self, processes: RunProcesses, time_limit_ms: int) -> RunSwitch:
        """See Place.switch."""
        return await start_switch(self.resources, self._communities, processes, time_limit_ms)

    async def application(
        self, processes: RunProcesses, time_limit_ms: int
    ) -> RunApplication | None:
        """See Place.application."""
        return await start_application(self.resources, self._groups, processes, time_limit_ms)

    async def watch(self, processes: RunProcesses) -> NamespaceWatch:
        """See Place.watch."""
        return await NamespaceWatch.begin(self.resources, processes)
