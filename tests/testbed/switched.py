"""Hosts around the engine's switch, for tests: inside a sandbox only."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pydantic import TypeAdapter

from netstudy import buffers, wire
from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.layout import SWITCHES, Address, Layout
from netstudy.testbed.netns.namespaces import in_namespace, within
from netstudy.testbed.netns.network import network
from netstudy.testbed.netns.switches import switch_plan
from netstudy.testbed.real.switch_wire import SwitchPlan, SwitchRecord, SwitchSnapshot
from tests.testbed.networks import BUFFER, LINUX_6, layout, star

_RECORD: TypeAdapter[SwitchRecord] = TypeAdapter(SwitchRecord)


class EngineSwitch:
    """The engine's switch at work."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def ask(self, command: str, **arguments: str) -> None:
        """Give it a command."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
        self.process.stdin.flush()

    def record(self) -> SwitchRecord:
        """Its next record."""
        assert self.process.stdout is not None
        return _RECORD.validate_json(self.process.stdout.readline())

    def snapshot_record(self) -> SwitchSnapshot:
        """Its answer when it is asked for its counters."""
        self.ask("snapshot", name="now")
        record = self.record()
        assert record.kind == "snapshot", record
        return record

    def snapshot(self, switch: str = "switch") -> dict[str, Any]:
        """What the ports of a switch have counted."""
        counters = self.snapshot_record().counters[switch]
        return {port: counted.model_dump() for port, counted in counters.items()}

    def stop(self) -> dict[str, Any]:
        """Its records at the end, by kind."""
        self.ask("stop")
        records: dict[str, Any] = {}
        while (record := self.record()).kind != "end":
            if record.kind == "samples":
                records.setdefault("samples", []).append(record.model_dump())
            else:
                records[record.kind] = record.model_dump()
        assert self.process.wait(10) == 0
        return records

    def hang_up(self) -> None:
        """End its input, as a controller that is gone does."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def outcome(self) -> tuple[int, str]:
        """Its exit code, and what it wrote that was not read yet."""
        assert self.process.stdout is not None
        return self.process.wait(10), self.process.stdout.read()


@contextmanager
def switched(
    servers: int = 1,
    *,
    rate_bps: int = 100_000_000,
    mtu_bytes: int = 1500,
    buffer: buffers.Buffer = BUFFER,
    delay_ns: int = 0,
    ecn_threshold_bytes: int | None = None,
    time_limit_ms: int = 60_000,
    cpu: int | None = None,
    tcp: wire.Tcp = LINUX_6,
    paced_ingress: bool = False,
) -> Iterator[tuple[Layout, EngineSwitch]]:
    """A client and servers around a switch that is ready, for the block."""
    graph = star(
        servers, tcp, rate_bps=rate_bps, mtu_bytes=mtu_bytes, delay_ns=delay_ns, buffer=buffer
    )
    marking = {"ecn_threshold_bytes": ecn_threshold_bytes}
    nodes = [
        one.model_copy(update=marking) if isinstance(one, wire.Switch) else one
        for one in graph.nodes
    ]
    with carried(
        graph.model_copy(update={"nodes": tuple(nodes)}),
        time_limit_ms=time_limit_ms,
        cpu=cpu,
        paced_ingress=paced_ingress,
    ) as found:
        yield found


@contextmanager
def carried(
    graph: wire.Network,
    *,
    time_limit_ms: int = 60_000,
    cpu: int | None = None,
    paced_ingress: bool = False,
    instruments: tuple[wire.Instrument, ...] = (),
    communities: Mapping[str, str] | None = None,
) -> Iterator[tuple[Layout, EngineSwitch]]:
    """Any network, whose switches are ready, for the block; those with a community answer SNMP."""
    known = communities or {}
    plan = layout(graph, switching="user-space", polled=tuple(known))
    told = switch_plan(run_on(graph, instruments), plan, cpu, time_limit_ms, known)
    with network(plan), _at_work(told.model_copy(update={"paced_ingress": paced_ingress})) as found:
        yield plan, found


def run_on(graph: wire.Network, instruments: tuple[wire.Instrument, ...] = ()) -> wire.Run:
    """A run over a network."""
    return wire.Run(
        id="5d41402abc4b",
        cases=(),
        treatment={},
        replicate=1,
        seed="0123456789abcdef",
        network=graph,
        workload=wire.Incast(
            roles=wire.Roles(client=("client",), server=("server",)), block_bytes=1
        ),
        phases=(wire.Phase(kind="measure", until=wire.UntilCount(count=1)),),
        instruments=instruments,
    )


@contextmanager
def _at_work(plan: SwitchPlan) -> Iterator[EngineSwitch]:
    process = subprocess.Popen(
        [*in_namespace(SWITCHES), str(find_engine()), "switch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    switch = EngineSwitch(process)
    try:
        process.stdin.write(wire.to_json(plan) + "\n")
        process.stdin.flush()
        assert (record := switch.record()).kind == "ready", record
        yield switch
    finally:
        process.kill()
        process.wait()


def datagrams(address: Address, port: int = 0) -> socket.socket:
    """A UDP socket of a host at one of its addresses."""
    with within(address.interface.host):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((address.ip, port))
    made.settimeout(5)
    return made
