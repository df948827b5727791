"""The interface between the conduct of a run and the hosts that it runs on: a `Place` starts the
run's processes, and knows the addresses, machines and clocks of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic import TypeAdapter

from netstudy.errors import TestbedError
from netstudy.store.nodes import NodeEnvironment
from netstudy.testbed.real.allowance import Allowance
from netstudy.testbed.real.application import RunApplication
from netstudy.testbed.real.clocks import Clocks
from netstudy.testbed.real.evidence import KernelSwitch, SwitchEvidence
from netstudy.testbed.real.processes import NodeProcess, RecordT, RunProcesses
from netstudy.testbed.real.snmp_wire import Community
from netstudy.testbed.real.sysstat import Recording
from netstudy.testbed.real.wire import SocketOptions
from netstudy.wire_model import Wire

Program = Literal["agent", "snmp"]
"""Programs of the engine that run on hosts."""


class PlaceGoneError(TestbedError):
    """The hosts cannot be used any more, for this run and for those after it."""


@dataclass(frozen=True)
class EndpointAddress:
    """The address of an endpoint of a role, and the interface that has it."""

    ip: str
    device: str
    """The name of the interface on its host."""
    stack: str
    """The host, or the zone with a network stack of its own, that the address belongs to."""
    port: str
    """The port of the host in the plan that packets from this address leave by."""
    socket: SocketOptions
    """The settings of TCP that each socket of the endpoint makes itself."""


@dataclass(frozen=True)
class SnmpAgent:
    """Where a switch answers SNMP, and to whom."""

    address: str
    """IP address and port, with a colon between."""
    credentials: Community


@dataclass(frozen=True)
class Watched:
    """Readings of a place's own instruments in the measuring phase; see Evidence."""

    recordings: tuple[Recording, ...] = ()
    hardware: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    hardware_note: str | None = None


class Watch(Protocol):
    """A place's own instruments in a run that is in progress."""

    async def end(self) -> Watched:
        """Stop them, after the counters were read at the end of the measuring phase. Raises
        NodeError."""
        ...


class RunSwitch(Protocol):
    """The switches of a run that is in progress."""

    @property
    def process(self) -> NodeProcess[Any] | None:
        """The one process for all switches; None if no program of the run is the switch."""

    async def snapshot(self, name: str) -> None:
        """Read the counters at the start or end of a phase."""

    async def stop(self) -> SwitchEvidence:
        """Stop, and return the counters."""
        ...


class NoSwitch:
    """No program of the run is a switch: the kernel carries every link from host to host, or the
    network is not the run's own. A RunSwitch."""

    process = None

    async def snapshot(self, name: str) -> None:
        """See RunSwitch.snapshot: there is nothing to read."""

    async def stop(self) -> SwitchEvidence:
        """See RunSwitch.stop."""
        return KernelSwitch({})


@dataclass(frozen=True)
class Lost:
    """A host that takes part in the run no more."""

    node: str
    why: str
    """A clause without the node's name."""


class Place(Protocol):
    """The hosts of a run."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The testbed and its kernel, for the record."""
        ...

    @property
    def departures(self) -> Sequence[str]:
        """Differences from the plan, one sentence each."""
        ...

    @property
    def interfaces(self) -> Sequence[tuple[str, str]]:
        """Host and port of each interface that can be read, in order."""
        ...

    @property
    def names(self) -> Mapping[str, str]:
        """IP address -> the host or zone that has it, for messages of agents, which know only
        addresses."""
        ...

    @property
    def clocks(self) -> Clocks:
        """The clocks of all nodes, as far as `compare_clocks` has compared them. A host's clock is
        named after the host or its machine; that of a switch is the clock of its reader."""
        ...

    @property
    def machines(self) -> Mapping[str, str]:
        """Host or zone -> the machine that it runs on. Where each host is a machine, both have the
        same name."""
        ...

    @property
    def cpus(self) -> Mapping[str, float]:
        """Host -> number of CPUs that its processes may use."""
        ...

    @property
    def tick_ns(self) -> int:
        """See Evidence.tick_ns."""
        ...

    @property
    def burst_bytes(self) -> int:
        """See Evidence.burst_bytes."""
        ...

    @property
    def environments(self) -> Sequence[tuple[tuple[str, ...], NodeEnvironment]]:
        """Some nodes, and the environment that is the same for all of them, as they were at the
        start of the run; empty if nobody asked for them."""
        ...

    @property
    def allowed(self) -> Allowance | None:
        """See Evidence.allowed."""

    @property
    def ports(self) -> tuple[int, int] | None:
        """The first and last port that agents may listen on; None: the kernel chooses."""

    def address(self, endpoint: str) -> EndpointAddress:
        """The address of an endpoint of a role."""
        ...

    def agent_cpu(self, node: str) -> int | None:
        """The CPU that the agents of a host or zone are pinned to; None: they are not pinned."""

    def folder(self, node: str, named: str) -> str:
        """The folder of a host or zone for the workload's files, which the workload calls
        `named`."""
        ...

    def snmp(self, switch: str) -> SnmpAgent:
        """Where a polled switch answers."""
        ...

    def launch(self) -> AbstractAsyncContextManager[None]:
        """Make the hosts ready for the run's processes, which all end before the block does. Raises
        NodeError or TestbedError."""
        ...

    async def compare_clocks(self) -> None:
        """Compare the clocks of all hosts. Called before the run, at the edges of its phases, and
        after it, while nothing else is sent. Raises NodeError."""

    async def start(
        self,
        processes: RunProcesses,
        name: str,
        node: str,
        program: Program,
        plan: Wire,
        adapter: TypeAdapter[RecordT],
    ) -> NodeProcess[RecordT]:
        """Start a program of the engine on a host or zone, as the process `name` of the run. Raises
        NodeError."""
        ...

    async def lost(self) -> Sequence[Lost]:
        """The hosts that are lost, after a failure: the processes of others may be the first to
        report it."""
        ...

    async def switch(self, processes: RunProcesses, time_limit_ms: int) -> RunSwitch:
        """Start the switches, if programs of the run are switches. Raises NodeError."""
        ...

    async def application(
        self, processes: RunProcesses, time_limit_ms: int
    ) -> RunApplication | None:
        """Start the run's application; None: the run has none. Raises NodeError."""

    async def watch(self, processes: RunProcesses) -> Watch:
        """Start the place's own instruments, before the counters are read at the start of the
        measuring phase. Raises NodeError."""
        ...
