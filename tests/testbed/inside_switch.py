"""What the tests have the engine's switch do inside a sandbox: prints its outcome as JSON."""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from netstudy import wire
from netstudy.testbed.netns.namespaces import within
from netstudy.testbed.netns.sandbox import enter
from tests.testbed.switched import datagrams, switched

_FRAME = 1518
"""A full frame of MTU 1500 on the wire, check sequence included."""
_PAYLOAD = bytes(1472)
"""What fills it: an IP header of 20 bytes and a UDP header of 8 go before it."""
_ECT0, _CE = 0b10, 0b11


def rate() -> Any:
    """Bytes of TCP payload and seconds, once the transfer is under way."""
    with switched(rate_bps=100_000_000) as (plan, switch):
        client, server = plan.hosts
        with within(server.node):
            listener = socket.create_server((server.address, 4711))
        with within(client.node):
            receiver = socket.create_connection((server.address, 4711), timeout=5)
        sender, _ = listener.accept()
        threading.Thread(target=_send_on, args=(sender,), daemon=True).start()
        _receive_for(receiver, 0.3)
        received, seconds = _receive_for(receiver, 1.5)
        receiver.close()
        return {"bytes": received, "seconds": seconds, **switch.stop()}


def _send_on(sender: socket.socket) -> None:
    block = bytes(262_144)
    try:
        while True:
            sender.sendall(block)
    except OSError:
        return  # the receiver has had enough


def _receive_for(receiver: socket.socket, seconds: float) -> tuple[int, float]:
    start = now = time.monotonic()
    received = 0
    while now < start + seconds:
        received += len(receiver.recv(65_536))
        now = time.monotonic()
    return received, now - start


def burst() -> Any:
    """100 datagrams at once to a port of 1 Mbit/s with room for 20 frames."""
    buffer = wire.OutputQueued(port_buffer_bytes=20 * _FRAME)
    with switched(rate_bps=1_000_000, buffer=buffer) as (plan, switch):
        client, server = plan.hosts
        sink, source = datagrams(client, 4711), datagrams(server)
        for _ in range(100):
            source.sendto(_PAYLOAD, (client.address, 4711))
        received = 0
        while received < (counted := switch.snapshot()["client"])["frames_forwarded"]:
            received += len(sink.recv(2048)) == len(_PAYLOAD)
        return {"received": received, "counted": counted, **switch.stop()}


def marks() -> Any:
    """30 datagrams at once that understand marks, then 30 that do not, over a threshold of 10."""
    buffer = wire.OutputQueued(port_buffer_bytes=1_000_000)
    with switched(rate_bps=2_000_000, buffer=buffer, ecn_threshold_bytes=10 * _FRAME) as (
        plan,
        switch,
    ):
        client, server = plan.hosts
        sink, source = datagrams(client, 4711), datagrams(server)
        sink.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        fields = []
        for field in (_ECT0, 0):
            source.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, field)
            for _ in range(30):
                source.sendto(_PAYLOAD, (client.address, 4711))
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
        client, server = plan.hosts
        asking, answering = datagrams(client), datagrams(server, 4711)
        times = []
        for _ in range(20):
            start = time.monotonic()
            asking.sendto(b"?", (server.address, 4711))
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
        source = bytes.fromhex(plan.hosts[0].mac.replace(":", ""))
        for destination in ("ffffffffffff", "020000000999", plan.hosts[0].mac.replace(":", "")):
            raw.send(bytes.fromhex(destination) + source + b"\x88\xb5" + bytes(46))
        deadline = time.monotonic() + 5
        while (counted := switch.snapshot())["client"]["frames_unaddressed"] < 3:
            assert time.monotonic() < deadline, counted
        return {"counted": counted, **switch.stop()}


def ends() -> Any:
    """Exit code and last record after SIGTERM, the end of input, and the time limit."""
    outcome = {}
    with switched() as (_, switch):
        switch.process.send_signal(signal.SIGTERM)
        outcome["SIGTERM"] = (switch.process.wait(10), switch.process.stdout.read())  # type: ignore[union-attr]
    with switched() as (_, switch):
        switch.process.stdin.close()  # type: ignore[union-attr]
        outcome["input"] = (switch.process.wait(10), switch.process.stdout.read())  # type: ignore[union-attr]
    with switched(time_limit_ms=100) as (_, switch):
        outcome["limit"] = (switch.process.wait(10), switch.process.stdout.read())  # type: ignore[union-attr]
    return outcome


CASES: dict[str, Callable[[], Any]] = {
    case.__name__: case for case in (rate, burst, marks, delay, elsewhere, ends)
}

if __name__ == "__main__":
    enter()
    print(json.dumps(CASES[sys.argv[1]]()), flush=True)
