"""Measures the user-space switch on this machine: `python -m tools.bench.switch`.

Servers send to one client over TCP through `netstudy-engine switch`, in namespaces that are removed
after the measurement. The switch has the last CPU for itself; all other processes share the first.
Prints one line per case: goodput and the link's limit, how late frames left, the longest queue,
drops and retransmissions.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netstudy import buffers
from netstudy.testbed.netns.layout import Address, Layout
from netstudy.testbed.netns.namespaces import within
from netstudy.testbed.netns.sandbox import enter, sandbox_command
from netstudy.testbed.netns.tuning import keep_before_others
from netstudy.units import FRAMING_BYTES, header_bytes
from tests.testbed.networks import LINUX_6
from tests.testbed.switched import switched

_SECONDS = 2.0
_INSIDE = "--inside"
_BLOCK = bytes(1 << 20)
_POOL = buffers.SharedMemory(pool_bytes=1_000_000, alpha=1.0)
_RENO = LINUX_6.model_copy(update={"congestion_control": "reno", "offload_burst_bytes": 0})


@dataclass(frozen=True)
class Case:
    """Servers that send to a client as fast as they can."""

    servers: int
    rate_bps: int
    mtu_bytes: int

    @property
    def goodput_bps(self) -> float:
        """The highest rate of TCP payload on the client's link, if segments carry timestamps."""
        payload_bytes = self.mtu_bytes - header_bytes(timestamps=True)
        return self.rate_bps * payload_bytes / (self.mtu_bytes + FRAMING_BYTES)


CASES = [
    *(Case(1, 40_000_000_000, mtu) for mtu in (1500, 9000)),
    *(Case(1, 1_000_000_000, mtu) for mtu in (1500, 9000)),
    *(Case(23, 1_000_000_000, mtu) for mtu in (1500, 9000)),
]


def _measure(case: Case) -> None:
    cpu = (os.cpu_count() or 1) - 1
    with (
        switched(
            case.servers,
            rate_bps=case.rate_bps,
            mtu_bytes=case.mtu_bytes,
            buffer=_POOL,
            cpu=cpu or None,
            tcp=_RENO,
            paced_ingress=True,
        ) as (layout, switch),
        _kept_before_others(switch.process.pid),
        _sending(layout) as receivers,
    ):
        began_ns = time.monotonic_ns()
        # Slow start fills the buffer once; its drops do not belong to the steady state.
        _receive(receivers, 0.5)
        before, resent = switch.snapshot_record(), _retransmissions(layout)
        received, seconds = _receive(receivers, _SECONDS)
        after, resent = switch.snapshot_record(), _retransmissions(layout) - resent
        first, last = before.counters["switch"], after.counters["switch"]
        start, end = first["client"], last["client"]
        _print(
            case,
            goodput_bps=8 * received / seconds,
            frames_per_s=sum(
                last[port].frames_forwarded - first[port].frames_forwarded for port in last
            )
            / seconds,
            queue_bytes=end.queue_bytes_max,
            dropped=end.frames_dropped - start.frames_dropped,
            resent=resent,
            clock=switch.stop()["clock"],
            at_work_ns=time.monotonic_ns() - began_ns,
        )


@contextmanager
def _kept_before_others(pid: int) -> Iterator[None]:
    loop = asyncio.new_event_loop()
    keeper = threading.Thread(target=loop.run_forever)
    keeper.start()
    work = asyncio.run_coroutine_threadsafe(keep_before_others(pid), loop)
    try:
        yield
    finally:
        work.cancel()
        loop.call_soon_threadsafe(loop.stop)
        keeper.join()


@contextmanager
def _sending(layout: Layout) -> Iterator[list[socket.socket]]:
    """Opens the client's sockets; to each, a server sends data until the block ends."""
    client, *servers = layout.addresses
    pairs = [_connect(server, client) for server in servers]
    done = threading.Event()
    sender = threading.Thread(target=_send, args=([sender for sender, _ in pairs], done))
    sender.start()
    try:
        yield [receiver for _, receiver in pairs]
    finally:
        done.set()
        sender.join()
        for pair in pairs:
            for one in pair:
                one.close()


def _connect(server: Address, client: Address) -> tuple[socket.socket, socket.socket]:
    with within(server.node):
        listener = socket.create_server((server.ip, 4711))
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
    with within(client.node):
        receiver = socket.create_connection((server.ip, 4711), timeout=5)
    sender, _ = listener.accept()
    return sender, receiver


def _send(senders: list[socket.socket], done: threading.Event) -> None:
    with selectors.DefaultSelector() as ready:
        for sender in senders:
            sender.setblocking(False)
            ready.register(sender, selectors.EVENT_WRITE)
        while not done.is_set():
            for key, _ in ready.select(0.1):
                key.fileobj.send(_BLOCK)  # type: ignore[union-attr]


def _receive(receivers: list[socket.socket], seconds: float) -> tuple[int, float]:
    """Receives for about the given time; returns the number of bytes and the exact time."""
    buffer = bytearray(1 << 20)
    received, start = 0, time.monotonic()
    now = start
    with selectors.DefaultSelector() as ready:
        for receiver in receivers:
            receiver.setblocking(False)
            ready.register(receiver, selectors.EVENT_READ)
        while now < start + seconds:
            for key, _ in ready.select(0.1):
                received += key.fileobj.recv_into(buffer)  # type: ignore[union-attr]
            now = time.monotonic()
    return received, now - start


def _retransmissions(layout: Layout) -> int:
    """RetransSegs of all servers."""
    total = 0
    for host in layout.hosts[1:]:
        with within(host.node):
            lines = Path("/proc/thread-self/net/snmp").read_text().splitlines()
        names, values = (line.split() for line in lines if line.startswith("Tcp:"))
        total += int(values[names.index("RetransSegs")])
    return total


def _print(
    case: Case,
    *,
    goodput_bps: float,
    frames_per_s: float,
    queue_bytes: int,
    dropped: int,
    resent: int,
    clock: dict[str, Any],
    at_work_ns: int,
) -> None:
    share = 100 * clock["cpu_ns"] / at_work_ns
    late = " / ".join(f"{clock[f'late_ns_{which}'] / 1000:.0f}" for which in ("p50", "p99", "max"))
    print(
        f"| {case.servers} | {case.rate_bps / 1e9:g} | {case.mtu_bytes} "
        f"| {goodput_bps / 1e6:.1f} of {case.goodput_bps / 1e6:.1f} | {frames_per_s / 1e3:.0f} "
        f"| {late} | {share:.0f} | {queue_bytes:,} | {dropped:,} / {resent:,} "
        f"| {clock['frames_lost']} | {'yes' if clock['kept_up'] else clock['why']} |",
        flush=True,
    )


def _go_first() -> None:
    """Gives the process a higher priority than other programs for this time, if the machine allows
    it."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        os.setsid()
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text("-20")  # sched(7)


def main() -> int:
    """Measure inside a sandbox; returns the exit code."""
    if sys.argv[1:2] != [_INSIDE]:
        command = sandbox_command([sys.executable, "-m", "tools.bench.switch", _INSIDE])
        os.execv(command[0], command)
    enter()
    _go_first()
    os.sched_setaffinity(0, {0})
    print(
        "| servers | Gbit/s | MTU | goodput, Mbit/s | thousand frames/s "
        "| late: p50 / p99 / max, µs | CPU, % | longest queue, B "
        "| drops / retransmissions | lost | kept up |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for case in CASES:
        _measure(case)
    return 0


if __name__ == "__main__":
    sys.exit(main())
