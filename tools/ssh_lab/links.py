"""The networks of a lab: the control network, and the test network if no study gives one."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from netstudy.errors import TestbedError
from netstudy.testbed.netns.layout import SWITCHED_OFF, SWITCHES
from netstudy.testbed.netns.namespaces import run_batch, run_program, within
from netstudy.testbed.netns.network import write_sysctls
from netstudy.testbed.netns.tuning import steer_new
from netstudy.testbed.netns.users import is_all_users
from tools.ssh_lab.hosts import CONTROL_DEVICE, CONTROLLER, LabHost

_BRIDGE: Final = "br0"
_READY_S = 30.0
_LOOK_S = 0.02
_SYSCTLS = Path("/proc/sys/net")


def make_control_network(hosts: Iterable[LabHost]) -> None:
    """Joins every host, whose namespace must exist, to the controller, which is in this process's
    namespace."""
    bridge = f"name {CONTROL_DEVICE} type bridge mcast_snooping 0"
    run_batch("ip", [f"link add {bridge}", *_with_address(CONTROL_DEVICE, CONTROLLER)])
    for host in hosts:
        far = f"type veth peer name {CONTROL_DEVICE} netns {host.name}"
        port = host.control_port
        run_batch("ip", [f"link add name {port} {far}", _forwarding(port, CONTROL_DEVICE)])
        with within(host.name):
            run_batch("ip", _with_address(CONTROL_DEVICE, host.control_address))
            if not is_all_users():  # sshd is not root, and listens at port 22
                write_sysctls({"ipv4/ip_unprivileged_port_start": "0"})


def make_plain_network(hosts: Sequence[LabHost]) -> None:
    """Makes the hosts' namespaces, and joins them by a bridge that limits no rate, in a namespace
    of its own."""
    names = [SWITCHES, *(host.name for host in hosts)]
    run_batch("ip", [f"netns add {name}" for name in names])
    for name in names:
        with within(name):
            write_sysctls(_quiet())
            # Frames that several CPUs forward overtake each other, which TCP takes for losses.
            steer_new(min(os.sched_getaffinity(0)))
            run_batch("ip", ["link set lo up"])
    run_batch("ip", _links(hosts))
    with within(SWITCHES):
        ports = [one.peer[1] for host in hosts for one in host.interfaces]
        bridge = [f"link add name {_BRIDGE} type bridge mcast_snooping 0", _up(_BRIDGE)]
        run_batch("ip", [*bridge, *(_forwarding(port, _BRIDGE) for port in ports)])
    for host in hosts:
        with within(host.name):
            for one in host.interfaces:
                run_batch("ip", _with_address(one.device, one.address))
            wait_until_up([one.device for one in host.interfaces])
    with within(SWITCHES):
        wait_until_forwarding(ports)


def wait_until_forwarding(ports: Collection[str]) -> None:
    """Wait for these ports of bridges of the current namespace: for up to a second after a link is
    up, the kernel has not told its bridge (linkwatch). Raises TestbedError."""
    _wait(_forwarding_ports, ports)


def wait_until_up(devices: Collection[str]) -> None:
    """Wait for interfaces of the current namespace: the kernel is as late to start their queues.
    Raises TestbedError."""
    _wait(_interfaces_up, devices)


def _wait(ready: Callable[[], set[str]], wanted: Collection[str]) -> None:
    deadline = time.monotonic() + _READY_S
    while not ready().issuperset(wanted):
        if time.monotonic() > deadline:
            raise TestbedError(f"{', '.join(wanted)}: not up after {_READY_S:.0f} s")
        time.sleep(_LOOK_S)


def _interfaces_up() -> set[str]:
    found = json.loads(run_program("ip", "-j", "link", "show"))
    return {one["ifname"] for one in found if one["operstate"] == "UP"}


def _forwarding_ports() -> set[str]:
    found = json.loads(run_program("bridge", "-j", "link", "show"))
    return {one["ifname"] for one in found if one["state"] == "forwarding"}


def _quiet() -> dict[str, str]:
    """The sysctls of this kernel with which hosts send no frames of their own accord."""
    return {name: value for name, value in SWITCHED_OFF.items() if (_SYSCTLS / name).exists()}


def _links(hosts: Iterable[LabHost]) -> Iterator[str]:
    for host in hosts:
        for one in host.interfaces:
            namespace, port = one.peer
            near, far = f"name {one.device} netns {host.name}", f"name {port} netns {namespace}"
            yield f"link add {near} type veth peer {far}"


def _with_address(device: str, address: str) -> list[str]:
    return [f"address add {address}/24 dev {device}", _up(device)]


def _forwarding(port: str, bridge: str) -> str:
    return f"link set dev {port} master {bridge} up"


def _up(device: str) -> str:
    return f"link set dev {device} up"
