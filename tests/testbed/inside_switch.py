"""What the tests have the engine's switch do inside a sandbox: prints its outcome as JSON."""

from __future__ import annotations

import json
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from netstudy import buffers, wire
from netstudy.testbed.netns.layout import Address
from netstudy.testbed.netns.namespaces import in_namespace, run_program, within
from netstudy.testbed.netns.sandbox import enter
from tests.testbed.networks import direct, dumbbell, star
from tests.testbed.switched import carried, datagrams, switched

_FRAME = 1518
"""A full frame of MTU 1500 on the wire, check sequence included."""
_PAYLOAD = bytes(1472)
"""What fills it: an IP header of 20 bytes and a UDP header of 8 go before it."""
_ECT0, _CE = 0b10, 0b11
_SO_TIMESTAMPNS = 35  # asm-generic/socket.h, where a long has 64 bits


def rate() -> Any:
    """When each of 600 datagrams was received that came at once for a port of 10 Mbit/s."""
    buffer = buffers.OutputQueued(port_buffer_bytes=1 << 20)
    with switched(rate_bps=10_000_000, buffer=buffer) as (plan, switch):
        client, server = plan.addresses
        sink, source = datagrams(client, 4711), datagrams(server)
        sink.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        for _ in range(600):
            source.sendto(_PAYLOAD, (client.ip, 4711))
        return {"received_ns": [_received_ns(sink) for _ in range(600)], **switch.stop()}


def _received_ns(sink: socket.socket) -> int:
    """When the kernel received the next datagram."""
    _, parts, _, _ = sink.recvmsg(2048, 64)
    (stamp,) = (data for _, kind, data in parts if kind == _SO_TIMESTAMPNS)
    seconds, nanoseconds = struct.unpack("qq", stamp)
    return int(seconds * 10**9 + nanoseconds)


def burst_output_queued() -> Any:
    """Room for 20 frames at the port."""
    return _burst(buffers.OutputQueued(port_buffer_bytes=20 * _FRAME))


def burst_shared_memory() -> Any:
    """A pool for 60 frames, of which a queue may hold what it leaves free: 30."""
    return _burst(buffers.SharedMemory(pool_bytes=60 * _FRAME, alpha=1.0))


def burst_ingress_queued() -> Any:
    """Room for 20 frames at the ingress, beside the one on the wire."""
    return _burst(buffers.IngressQueued(ingress_buffer_bytes=20 * _FRAME))


def _burst(buffer: buffers.Buffer) -> Any:
    """100 datagrams at once to a port of 1 Mbit/s."""
    with switched(rate_bps=1_000_000, buffer=buffer) as (plan, switch):
        client, server = plan.addresses
        sink, source = datagrams(client, 4711), datagrams(server)
        for _ in range(100):
            source.sendto(_PAYLOAD, (client.ip, 4711))
        received = 0
        while received < (counted := switch.snapshot()["client"])["frames_forwarded"]:
            received += len(sink.recv(2048)) == len(_PAYLOAD)
        return {"received": received, "counted": counted, **switch.stop()}


def paced() -> Any:
    """100 datagrams at once from a host whose link is no faster than the one that they leave by."""
    buffer = buffers.OutputQueued(port_buffer_bytes=20 * _FRAME)
    with switched(rate_bps=10_000_000, buffer=buffer, paced_ingress=True) as (plan, switch):
        client, server = plan.addresses
        sink, source = datagrams(client, 4711), datagrams(server)
        for _ in range(100):
            source.sendto(_PAYLOAD, (client.ip, 4711))
        received = [len(sink.recv(2048)) for _ in range(100)]
        return {"received": received, "counted": switch.snapshot()["client"], **switch.stop()}


def marks() -> Any:
    """30 datagrams at once that understand marks, then 30 that do not, over a threshold of 10."""
    buffer = buffers.OutputQueued(port_buffer_bytes=1_000_000)
    with switched(rate_bps=2_000_000, buffer=buffer, ecn_threshold_bytes=10 * _FRAME) as (
        plan,
        switch,
    ):
        client, server = plan.addresses
        sink, source = datagrams(client, 4711), datagrams(server)
        sink.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        fields = []
        for field in (_ECT0, 0):
            source.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, field)
            for _ in range(30):
                source.sendto(_PAYLOAD, (client.ip, 4711))
            fields.append([_ecn_field(sink) for _ in range(30)])
        return {"fields": fields, "counted": switch.snapshot()["client"], **switch.stop()}


def _ecn_field(sink: socket.socket) -> int:
    _, parts, _, _ = sink.recvmsg(2048, 64)
    (value,) = (data for _, kind, data in parts if kind == socket.IP_TOS)
    return value[0] & _CE


def delay() -> Any:
    """The least round-trip time in milliseconds, without a delay and with 5 ms a link."""
    return [_round_trip_ms(0), _round_trip_ms(5_000_000)]


def _round_trip_ms(delay_ns: int) -> float:
    with switched(delay_ns=delay_ns) as (plan, _):
        return _trip_ms(*plan.addresses)


def _trip_ms(client: Address, server: Address) -> float:
    asking, answering = datagrams(client), datagrams(server, 4712)
    times = []
    for _ in range(20):
        start = time.monotonic()
        asking.sendto(b"?", (server.ip, 4712))
        question, address = answering.recvfrom(16)
        answering.sendto(question, address)
        asking.recv(16)
        times.append(1000 * (time.monotonic() - start))
    return min(times)


def elsewhere() -> Any:
    """A datagram to an Ethernet address that is behind no port."""
    with switched(servers=2) as (plan, switch):
        with within("client"):
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            raw.bind(("eth0", 0))
        source = bytes.fromhex(plan.addresses[0].interface.mac.replace(":", ""))
        for destination in (
            "ffffffffffff",
            "020000000999",
            plan.addresses[0].interface.mac.replace(":", ""),
        ):
            raw.send(bytes.fromhex(destination) + source + b"\x88\xb5" + bytes(46))
        deadline = time.monotonic() + 5
        while (counted := switch.snapshot())["client"]["frames_unaddressed"] < 3:
            assert time.monotonic() < deadline, counted
        return {"counted": counted, **switch.stop()}


def in_a_row() -> Any:
    """60 datagrams at once through two switches, over a link of 10 Mbit/s and 3 ms between them
    with room for 20 frames before it; the middle is sampled."""
    graph = dumbbell(
        middle_bps=(5_000_000, 10_000_000),
        delay_ns=3_000_000,
        buffer=buffers.OutputQueued(port_buffer_bytes=20 * _FRAME),
    )
    sampler = wire.Instrument(kind="ports", node="right", port="left", every_ns=1_000_000)
    with carried(graph, paced_ingress=True, instruments=(sampler,)) as (plan, switch):
        client, server = plan.addresses[0], plan.addresses[2]
        sink, source = datagrams(client, 4711), datagrams(server)
        sink.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        for _ in range(60):
            source.sendto(_PAYLOAD, (client.ip, 4711))
        received = [_received_ns(sink)]
        while len(received) < switch.snapshot("right")["left"]["frames_forwarded"]:
            received.append(_received_ns(sink))
        counted = {name: switch.snapshot(name) for name in ("left", "right")}
        return {"received_ns": received, "counted": counted, **switch.stop()}


def wire_between_hosts() -> Any:
    """When datagrams come over a wire of 10 Mbit/s there and 100 Mbit/s back, and the least
    round-trip time in milliseconds with a delay of 5 ms each way."""
    graph = direct(rate_bps=(10_000_000, 100_000_000), delay_ns=5_000_000)
    with carried(graph, paced_ingress=True) as (plan, switch):
        client, server = plan.addresses
        received = []
        for source, sink in ((client, server), (server, client)):
            there, here = datagrams(sink, 4711), datagrams(source)
            there.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            for _ in range(40):
                here.sendto(_PAYLOAD, (sink.ip, 4711))
            received.append([_received_ns(there) for _ in range(40)])
        return {"received_ns": received, "trip_ms": _trip_ms(client, server), **switch.stop()}


def ends() -> Any:
    """Exit code and output after SIGTERM, the end of input, and the time limit."""
    with switched() as (_, switch):
        switch.process.send_signal(signal.SIGTERM)
        terminated = switch.outcome()
    with switched() as (_, switch):
        switch.hang_up()
        hung_up = switch.outcome()
    with switched(time_limit_ms=100) as (_, switch):
        limited = switch.outcome()
    return {"SIGTERM": terminated, "input": hung_up, "limit": limited}


_COMMUNITY = "hush"


def walked() -> Any:
    """What net-snmp's programs show of the switch to an idle host, after 50 full frames and 5 short
    ones from the server to the client; what they say with a wrong community; ARP."""
    buffer = buffers.OutputQueued(port_buffer_bytes=1 << 20)
    graph = star(2, rate_bps=100_000_000, mtu_bytes=1500, buffer=buffer)
    known = {"switch": _COMMUNITY}
    with carried(graph, communities=known, paced_ingress=True) as (plan, switch):
        client, server, idle = plan.addresses
        sink, source = datagrams(client, 4711), datagrams(server)
        for payload in (*[_PAYLOAD] * 50, *[bytes(10)] * 5):
            source.sendto(payload, (client.ip, 4711))
            sink.recv(2048)
        address = plan.switch_address("switch")
        assert address is not None
        asked = {
            "system": _net_snmp(idle, "snmpbulkwalk", address.ip, "1.3.6.1.2.1.1"),
            "all": _net_snmp(idle, "snmpbulkwalk", address.ip, "1.3"),
            "one by one": _net_snmp(idle, "snmpwalk", address.ip, "1.3"),
            "octets": _net_snmp(
                idle, "snmpget", address.ip, *(f"1.3.6.1.2.1.31.1.1.1.6.{n}" for n in (1, 2, 3))
            ),
            "wrong": _net_snmp(
                idle, "snmpget", address.ip, "1.3.6.1.2.1.1.3.0", community="public"
            ),
        }
        counted = switch.snapshot_record().counters["switch"]
        return {
            **asked,
            "counted": {port: one.by_name for port, one in counted.items()},
            "arp": _arp(idle, address.ip),
            "mac": address.mac,
            **switch.stop(),
        }


def _net_snmp(
    host: Address, tool: str, agent: str, *names: str, community: str = _COMMUNITY
) -> list[str]:
    """The lines of a program of net-snmp at a host: numbers of names, and values with their types;
    or what it complains of."""
    options = ["-v2c", f"-c{community}", "-On", "-t1", "-r0", "-m", ""]
    command = [*in_namespace(host.interface.host), tool, *options, agent, *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    return (done.stdout or done.stderr).strip().splitlines()


def _arp(host: Address, ip: str) -> str:
    """The Ethernet address that a host finds by itself."""
    device = host.interface.device
    with within(host.interface.host):
        run_program("ip", "link", "set", "dev", device, "arp", "on")  # forgets its neighbours
        with datagrams(host) as asking:
            asking.sendto(b"x", (ip, 9))
        time.sleep(0.2)
        return run_program("ip", "neighbour", "show", ip)


CASES: dict[str, Callable[[], Any]] = {
    case.__name__: case
    for case in (
        *(rate, burst_output_queued, burst_shared_memory, burst_ingress_queued),
        *(paced, marks, delay, elsewhere, in_a_row, wire_between_hosts, walked, ends),
    )
}

if __name__ == "__main__":
    enter()
    print(json.dumps(CASES[sys.argv[1]]()), flush=True)
