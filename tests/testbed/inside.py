"""What the tests have done inside a sandbox: `inside.py CASE` prints its outcome as JSON."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

from netstudy.errors import TestbedError
from netstudy.testbed.netns import tuning
from netstudy.testbed.netns.layout import BRIDGE, SWITCHES, Address, Layout, make_links
from netstudy.testbed.netns.namespaces import (
    FOLDER,
    in_namespace,
    program,
    run_batch,
    run_program,
    within,
)
from netstudy.testbed.netns.network import network
from netstudy.testbed.netns.sandbox import enter
from tests.testbed.networks import LINUX_6, layout, star

_BLOCK = b"x" * 3_000_000
_PORT = 4711
_INTERFACE = "eth0"
_SOL_PACKET, _PACKET_IGNORE_OUTGOING = 263, 23  # linux/socket.h, linux/if_packet.h
_ETH_P_ALL = 3  # linux/if_ether.h
_SIOCETHTOOL = 0x8946  # linux/sockios.h
_GET_OFFLOAD = {"tx": 0x16, "sg": 0x18, "tso": 0x1E, "gso": 0x23, "gro": 0x2B}
"""ETHTOOL_G… of linux/ethtool.h."""


def hosts_24() -> Any:
    """24 hosts come up twice and vanish."""
    plan = layout(star(23))
    seconds = []
    for _ in range(2):
        start = time.monotonic()
        with network(plan):
            seconds.append(time.monotonic() - start)
            names = sorted(path.name for path in FOLDER.iterdir())
    return {"seconds": seconds, "names": names, "left": [p.name for p in FOLDER.iterdir()]}


def settings() -> Any:
    """What is in effect in a server's namespace."""
    tcp = LINUX_6.model_copy(update={"min_rto_ns": 5_000_000, "sack": False})
    plan = layout(star(2, tcp))
    with network(plan), within("server-1"):
        return {
            "sack": Path("/proc/sys/net/ipv4/tcp_sack").read_text().strip(),
            "connections": Path("/proc/sys/net/ipv4/tcp_ehash_entries").read_text().strip(),
            "rmem": Path("/proc/sys/net/ipv4/tcp_rmem").read_text().split(),
            "ipv6": Path("/proc/sys/net/ipv6/conf/eth0/disable_ipv6").read_text().strip(),
            "route": json.loads(run_program("ip", "-j", "route", "show")),
            "link": json.loads(run_program("ip", "-j", "-d", "link", "show", _INTERFACE)),
            "address": json.loads(run_program("ip", "-j", "-4", "address", "show", _INTERFACE)),
            "neighbours": json.loads(run_program("ip", "-j", "neighbour", "show")),
            "offloads": offloads(_INTERFACE),
        }


def offloads(interface: str) -> dict[str, bool]:
    """Which features an interface has on, under the names of `ethtool -k`."""
    return {feature: _ethtool_value(interface, get) for feature, get in _GET_OFFLOAD.items()}


def _ethtool_value(interface: str, command: int) -> bool:
    data = ctypes.create_string_buffer(struct.pack("II", command, 0), 8)
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(data))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCETHTOOL, request)
    return bool(struct.unpack("II", data.raw)[1])


def transfer() -> Any:
    """3 MB from a server to the client through the kernel's switch, and what its queues saw."""
    plan = layout(star(2))
    with network(plan):
        received = _send(plan.addresses[1], plan.addresses[0])
        with within(SWITCHES):
            queues = json.loads(run_program("tc", "-s", "-j", "qdisc", "show", "dev", "p0"))
            flooded = _counter(BRIDGE, "rx_packets")
        with within("server-2"):
            other = _counter(_INTERFACE, "rx_packets")
    return {"received": received, "queues": queues, "elsewhere": other, "to_bridge": flooded}


def _send(source: Address, sink: Address) -> int:
    """The bytes that reach `sink`; sockets stay in the namespace that they were made in."""
    with within(source.node):
        listener = socket.create_server((source.ip, _PORT))
    with within(sink.node):
        receiver = socket.create_connection((source.ip, _PORT), timeout=10)
    sender, _ = listener.accept()
    received = 0
    sender.setblocking(False)
    unsent = memoryview(_BLOCK)
    while received < len(_BLOCK):
        if unsent:
            unsent = unsent[_some(sender, unsent) :]
        received += len(receiver.recv(2**20))
    return received


def _some(sender: socket.socket, data: memoryview) -> int:
    try:
        return sender.send(data)
    except BlockingIOError:
        return 0


def _counter(interface: str, name: str) -> int:
    (link,) = json.loads(run_program("ip", "-s", "-j", "link", "show", interface))
    return int(link["stats64"]["rx"][name.removeprefix("rx_")])


def processes() -> Any:
    """Which processes the sandbox shows, and which one this is."""
    shown = [name.name for name in Path("/proc").iterdir() if name.name.isdigit()]
    return {"pid": os.getpid(), "shown": sorted(map(int, shown))}


def commands() -> Any:
    """A command run in a node's namespace."""
    plan = layout(star(1))
    with network(plan):
        shown = subprocess.run(
            [*in_namespace("client"), program("ip"), "-j", "-4", "address", "show", _INTERFACE],
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(shown.stdout)


def forwarded() -> Any:
    """1 MB through a program that forwards: the longest frame that it saw."""
    plan = layout(star(1, mtu_bytes=1500), switching="user-space")
    with network(plan):
        with within(SWITCHES):
            ports = [_packet_socket(one.peer[1]) for one in plan.switched]
        longest: list[int] = [0]
        for source, sink in (ports, reversed(ports)):
            Thread(target=_forward, args=(source, sink, longest), daemon=True).start()
        return {"received": _send(plan.addresses[1], plan.addresses[0]), "longest": longest[0]}


def _packet_socket(interface: str) -> socket.socket:
    """All frames that come in by an interface, and none that go out (packet(7))."""
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    found.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
    found.bind((interface, _ETH_P_ALL))
    return found


def _forward(source: socket.socket, sink: socket.socket, longest: list[int]) -> None:
    while True:
        frame = source.recv(2**17)
        longest[0] = max(longest[0], len(frame))
        sink.send(frame)


def receiving() -> Any:
    """Which processors deal with received frames."""
    plan = replace(layout(star(1)), receive_cpu=1)
    with network(plan):
        return [_rps_cpus("client", _INTERFACE), _rps_cpus(SWITCHES, "p1")]


def receiving_before_linux_6_3() -> Any:
    """The same on a kernel that has no sysctl for it."""
    tuning.RPS_DEFAULT_MASK = Path("/proc/no-such-sysctl")
    try:
        return receiving()
    except TestbedError as error:
        return str(error)


def _rps_cpus(node: str, interface: str) -> str:
    with within(node):
        folder = Path(tempfile.mkdtemp(dir="/run"))
        run_program("mount", "-t", "sysfs", "sysfs", str(folder))
        return (folder / f"class/net/{interface}/queues/rx-0/rps_cpus").read_text().strip()


def failing() -> Any:
    """What is said when a name is taken: the command of the batch that failed."""
    plan = layout(star(1))
    with network(plan):
        try:
            run_batch("ip", ["link show lo", *make_links(plan)])
        except TestbedError as error:
            return str(error)


def stay() -> Any:
    """A network with a process in each namespace, until somebody kills the sandbox."""
    plan = layout(star(3))
    with network(plan):
        for name in plan.namespaces:
            subprocess.Popen([*in_namespace(name), "sleep", "600"])
        _tell({"pid": os.getpid(), "namespaces": list(_inodes(plan))})
        time.sleep(600)


def _inodes(plan: Layout) -> list[int]:
    return [(FOLDER / name).stat().st_ino for name in plan.namespaces]


def _tell(outcome: Any) -> None:
    print(json.dumps(outcome), flush=True)


CASES: dict[str, Callable[[], Any]] = {
    case.__name__: case
    for case in (
        hosts_24,
        settings,
        transfer,
        processes,
        forwarded,
        receiving,
        receiving_before_linux_6_3,
        commands,
        failing,
        stay,
    )
}

if __name__ == "__main__":
    enter()
    _tell(CASES[sys.argv[1]]())
