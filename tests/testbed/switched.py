"""Hosts around the engine's switch, for tests: inside a sandbox only."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import TypeAdapter

from netstudy import wire
from netstudy.testbed.engine import find_engine
from netstudy.testbed.netns.layout import SWITCH, Host, Layout
from netstudy.testbed.netns.namespaces import within
from netstudy.testbed.netns.network import in_namespace, network
from netstudy.testbed.real.switch_wire import (
    SwitchPlan,
    SwitchPort,
    SwitchRecord,
    SwitchSnapshot,
)
from tests.testbed.networks import LINUX_6, layout, star

_RECORD: TypeAdapter[SwitchRecord] = TypeAdapter(SwitchRecord)
_BUFFER = wire.OutputQueued(port_buffer_bytes=131_072)


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

    def snapshot(self) -> dict[str, Any]:
        """What its ports have counted."""
        counters = self.snapshot_record().counters
        return {node: counted.model_dump() for node, counted in counters.items()}

    def stop(self) -> dict[str, Any]:
        """Its records at the end, by kind."""
        self.ask("stop")
        records: dict[str, Any] = {}
        while (record := self.record()).kind != "end":
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
    buffer: wire.Buffer = _BUFFER,
    delay_ns: int = 0,
    ecn_threshold_bytes: int | None = None,
    time_limit_ms: int = 60_000,
    cpu: int | None = None,
    tcp: wire.Tcp = LINUX_6,
    paced_ingress: bool = False,
) -> Iterator[tuple[Layout, EngineSwitch]]:
    """A client and servers around a switch that is ready, for the block."""
    star_of = star(servers, tcp, rate_bps=rate_bps, mtu_bytes=mtu_bytes)
    plan = layout(star_of, switching="user-space")
    ports = tuple(
        SwitchPort(
            node=host.node,
            interface=host.port,
            mac=host.mac,
            rate_bps=rate_bps,
            delay_ns=delay_ns,
        )
        for host in plan.hosts
    )
    switch_plan = SwitchPlan(
        run="5d41402abc4b",
        time_limit_ms=time_limit_ms,
        cpu=cpu,
        seed="0123456789abcdef",
        ports=ports,
        buffer=buffer,
        ecn_threshold_bytes=ecn_threshold_bytes,
        mtu_bytes=mtu_bytes,
        paced_ingress=paced_ingress,
    )
    with network(plan, buffer), _at_work(switch_plan) as switch:
        yield plan, switch


@contextmanager
def _at_work(plan: SwitchPlan) -> Iterator[EngineSwitch]:
    process = subprocess.Popen(
        [*in_namespace(SWITCH), str(find_engine()), "switch"],
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


def datagrams(host: Host, port: int = 0) -> socket.socket:
    """A UDP socket of a host."""
    with within(host.node):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((host.address, port))
    made.settimeout(5)
    return made
