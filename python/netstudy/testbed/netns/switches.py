"""The switch of a run, whoever it is: how it is started, read and stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from pydantic import TypeAdapter

from netstudy import wire
from netstudy.testbed.netns.kernel_path import burst_bytes
from netstudy.testbed.netns.layout import SWITCH, Layout
from netstudy.testbed.netns.namespaces import within
from netstudy.testbed.netns.network import in_namespace
from netstudy.testbed.netns.priority import keep_before_others
from netstudy.testbed.netns.programs import run_program
from netstudy.testbed.real import switch_wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.evidence import KernelSwitch, SwitchEvidence, UserSpaceSwitch
from netstudy.testbed.real.process import NodeProcess, answered, ready
from netstudy.testbed.real.running import Running

_RECORD: TypeAdapter[switch_wire.SwitchRecord] = TypeAdapter(switch_wire.SwitchRecord)
_CHECK_SEQUENCE_BYTES = 4
"""The kernel counts frames without it, a switch with it (IEEE 802.3, 3.1.1)."""


class RunSwitch(Protocol):
    """A switch while a run is under way."""

    @property
    def process(self) -> NodeProcess[Any] | None:
        """The process that it is; None: it is the kernel."""

    async def snapshot(self, name: str) -> None:
        """Read the counters; called before and after the measuring phase."""

    async def stop(self) -> SwitchEvidence:
        """End it; what it counted."""


class EngineSwitch:
    """The user-space switch."""

    def __init__(self, process: NodeProcess[switch_wire.SwitchRecord]) -> None:
        """Made by `start`."""
        self.process = process
        self._snapshots: list[switch_wire.SwitchSnapshot] = []

    @classmethod
    async def start(
        cls,
        run: wire.Run,
        layout: Layout,
        engine: Path,
        *,
        cpu: int | None,
        time_limit_ms: int,
        running: Running,
    ) -> EngineSwitch:
        """Start it in its namespace as one of the run's processes. Raises NodeError."""
        plan = _plan(run, layout, cpu, time_limit_ms)
        command = [*in_namespace(SWITCH), str(engine), "switch"]
        process = await running.start(SWITCH, command, plan, _RECORD)
        await ready(process, switch_wire.SwitchReady)
        running.accompany(keep_before_others(process.process.pid))
        return cls(process)

    async def snapshot(self, name: str) -> None:
        """See RunSwitch.snapshot."""
        await self.process.send(agent_wire.SnapshotCommand(name=name))
        taken = self.process.expect(
            switch_wire.SwitchSnapshot, lambda snapshot: snapshot.name == name
        )
        self._snapshots.append(await answered(self.process, taken))

    async def stop(self) -> SwitchEvidence:
        """See RunSwitch.stop."""
        await self.process.send(agent_wire.StopCommand())
        written = await answered(self.process, self.process.finish(agent_wire.EndRecord))
        before, after = self._snapshots
        return UserSpaceSwitch(before, after, tuple(written))


class KernelQueues:
    """The kernel's bridge with a byte-limited queue a port."""

    process = None

    def __init__(self, layout: Layout) -> None:
        """The queues are there with the network."""
        self._ports = {host.port: host.node for host in layout.hosts}
        self._burst_bytes = max(burst_bytes(host.link) for host in layout.hosts)
        self._snapshots: list[Mapping[str, Mapping[str, int]]] = []

    async def snapshot(self, name: str) -> None:  # noqa: ARG002 (they are in order)
        """See RunSwitch.snapshot."""
        with within(SWITCH):
            queues = json.loads(run_program("tc", "-s", "-j", "qdisc", "show"))
        found = {self._ports[queue["dev"]]: _counters(queue) for queue in queues if _is_leaf(queue)}
        self._snapshots.append(found)

    async def stop(self) -> SwitchEvidence:
        """See RunSwitch.stop."""
        before, after = self._snapshots
        return KernelSwitch(before, after, self._burst_bytes)


def _is_leaf(queue: Mapping[str, Any]) -> bool:
    return bool(queue["kind"] == "bfifo")


def _counters(queue: Mapping[str, Any]) -> dict[str, int]:
    packets = int(queue["packets"])
    return {
        "frames_forwarded": packets,
        "bytes_forwarded": int(queue["bytes"]) + _CHECK_SEQUENCE_BYTES * packets,
        "frames_dropped": int(queue["drops"]),
    }


def _plan(
    run: wire.Run, layout: Layout, cpu: int | None, time_limit_ms: int
) -> switch_wire.SwitchPlan:
    switch = run.network.switch
    return switch_wire.SwitchPlan(
        run=run.id,
        time_limit_ms=time_limit_ms,
        cpu=cpu,
        seed=run.seed,
        ports=tuple(
            switch_wire.SwitchPort(
                node=host.node,
                interface=host.port,
                mac=host.mac,
                rate_bps=host.link.rate_bps,
                delay_ns=host.link.delay_ns,
            )
            for host in layout.hosts
        ),
        buffer=switch.buffer,
        forwarding=switch.forwarding,
        latency_ns=switch.latency_ns,
        ecn_threshold_bytes=switch.ecn_threshold_bytes,
        mtu_bytes=max(link.mtu_bytes for link in run.network.links),
        paced_ingress=True,
    )
