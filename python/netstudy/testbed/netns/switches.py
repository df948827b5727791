"""The switches of a run, in the engine or in the kernel: starts, reads and stops them."""

from __future__ import annotations

import json
import secrets as random_secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from netstudy import wire
from netstudy.testbed.netns.layout import SWITCHES, Interface, Layout
from netstudy.testbed.netns.namespaces import in_namespace, run_program, within
from netstudy.testbed.netns.resources import Resources
from netstudy.testbed.netns.tuning import keep_before_others
from netstudy.testbed.real import switch_wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.evidence import (
    SWITCH,
    KernelSwitch,
    Readings,
    SwitchEvidence,
    UserSpaceSwitches,
)
from netstudy.testbed.real.place import NoSwitch, RunSwitch
from netstudy.testbed.real.processes import (
    NodeProcess,
    RunProcesses,
    answered,
    local_channel,
    ready,
)
from netstudy.testbed.real.secrets import secret
from netstudy.units import CHECK_SEQUENCE_BYTES

_RECORD: TypeAdapter[switch_wire.SwitchRecord] = TypeAdapter(switch_wire.SwitchRecord)


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


class EngineSwitch:
    """The user-space switches, a RunSwitch."""

    def __init__(self, process: NodeProcess[switch_wire.SwitchRecord]) -> None:
        """Use `start` instead."""
        self.process = process
        self._snapshots: dict[str, switch_wire.SwitchSnapshot] = {}

    @classmethod
    async def start(
        cls,
        run: wire.Run,
        layout: Layout,
        engine: Path,
        *,
        communities: Mapping[str, str],
        cpu: int | None,
        time_limit_ms: int,
        processes: RunProcesses,
    ) -> EngineSwitch:
        """Start the switches' program in its namespace, as a process of the run; `communities` are
        the SNMP communities of polled switches. Raises NodeError."""
        plan = switch_plan(run, layout, cpu, time_limit_ms, communities)
        command = [*in_namespace(SWITCHES), str(engine), "switch"]
        channel = await local_channel(SWITCH, command)
        process = await processes.start(SWITCH, channel, plan, _RECORD)
        await ready(process, switch_wire.SwitchReady)
        processes.accompany(keep_before_others(channel.process.pid))
        return cls(process)

    async def snapshot(self, name: str) -> None:
        """See RunSwitch.snapshot."""
        await self.process.send(agent_wire.SnapshotCommand(name=name))
        taken = self.process.expect(
            switch_wire.SwitchSnapshot, lambda snapshot: snapshot.name == name
        )
        self._snapshots[name] = await answered(self.process, taken)

    async def stop(self) -> SwitchEvidence:
        """See RunSwitch.stop."""
        await self.process.send(agent_wire.StopCommand())
        written = await answered(self.process, self.process.finish(agent_wire.EndRecord))
        return UserSpaceSwitches(self._snapshots, tuple(written))


async def start_switch(
    resources: Resources,
    known: Mapping[str, str],
    processes: RunProcesses,
    time_limit_ms: int,
) -> RunSwitch:
    """Start the switches of a run; `known` are the SNMP communities of polled switches. Raises
    NodeError."""
    layout = resources.layout
    if not layout.switched:
        return NoSwitch()
    if layout.switching == "kernel":
        return KernelQueues(layout)
    return await EngineSwitch.start(
        resources.run,
        layout,
        resources.engine,
        communities=known,
        cpu=resources.pinning.switch,
        time_limit_ms=time_limit_ms,
        processes=processes,
    )


class KernelQueues:
    """The kernel's bridge with a byte-limited queue at each port, a RunSwitch."""

    process = None

    def __init__(self, layout: Layout) -> None:
        """Nothing has to be started: the queues are made and removed with the network."""
        (self._switch,) = layout.network.switches
        self._ports = {one.peer[1]: one.far.name for one in layout.switched}
        self._snapshots: dict[str, Readings] = {}

    async def snapshot(self, name: str) -> None:
        """See RunSwitch.snapshot."""
        at_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        with within(SWITCHES):
            queues = json.loads(run_program("tc", "-s", "-j", "qdisc", "show"))
        found = {self._ports[queue["dev"]]: _counters(queue) for queue in queues if _is_leaf(queue)}
        self._snapshots[name] = Readings(at_ns, {self._switch.name: found})

    async def stop(self) -> SwitchEvidence:
        """See RunSwitch.stop."""
        return KernelSwitch(self._snapshots)


def _is_leaf(queue: Mapping[str, Any]) -> bool:
    return bool(queue["kind"] == "bfifo")


def _counters(queue: Mapping[str, Any]) -> dict[str, int]:
    packets = int(queue["packets"])
    return {
        "frames_forwarded": packets,
        "bytes_forwarded": int(queue["bytes"]) + CHECK_SEQUENCE_BYTES * packets,
        "frames_dropped": int(queue["drops"]),
    }


def switch_plan(
    run: wire.Run,
    layout: Layout,
    cpu: int | None,
    time_limit_ms: int,
    communities: Mapping[str, str],
) -> switch_wire.SwitchPlan:
    """The plan of the switches' program: all switches, and the links that the kernel does not
    carry."""
    hosts = {(one.host, one.port): one for one in layout.interfaces}
    # Links are compared by identity, since two links between the same hosts may be equal.
    direct = {id(one.link) for one in layout.interfaces if one.is_direct}
    macs = {one.peer[1]: tuple(layout.macs_behind(one)) for one in layout.switched}
    return switch_wire.SwitchPlan(
        run=run.id,
        time_limit_ms=time_limit_ms,
        cpu=cpu,
        seed=run.seed,
        switches=tuple(
            switch_wire.SwitchElement(
                name=switch.name,
                buffer=switch.buffer,
                forwarding=switch.forwarding,
                latency_ns=switch.latency_ns,
                ecn_threshold_bytes=switch.ecn_threshold_bytes,
                management=_management(layout, switch.name, communities),
            )
            for switch in run.network.switches
        ),
        links=tuple(
            switch_wire.SwitchLink(
                a=_end(link.a, hosts, macs),
                b=_end(link.b, hosts, macs),
                delay_ns=link.delay_ns,
                mtu_bytes=link.mtu_bytes,
            )
            for link in layout.network.links
            if id(link) not in direct
        ),
        sampled=tuple(
            switch_wire.SwitchSampling(switch=one.node, port=one.port, every_ns=one.every_ns)
            for one in run.instruments
            if one.kind == "ports"
        ),
        paced_ingress=True,
    )


def _management(
    layout: Layout, switch: str, communities: Mapping[str, str]
) -> switch_wire.Management | None:
    address = layout.switch_address(switch)
    if address is None:
        return None
    return switch_wire.Management(mac=address.mac, ip=address.ip, community=communities[switch])


def _end(
    end: wire.Port,
    hosts: Mapping[tuple[str, str], Interface],
    macs: Mapping[str, tuple[str, ...]],
) -> switch_wire.SwitchLinkEnd:
    own = hosts.get((end.node, end.name))
    host = None
    if own is not None:
        host = switch_wire.SwitchHost(interface=own.peer[1], macs=macs[own.peer[1]])
    return switch_wire.SwitchLinkEnd(
        node=end.node,
        port=end.name,
        rate_bps=end.rate_bps,
        host=host,
        queue=end.queue,
        path=end.path,
    )
