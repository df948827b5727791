"""Faults of a host's links: see `faults.FAULTS`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from netstudy.errors import StudyError, TestbedError
from netstudy.testbed.netns.layout import OFFLOADS_OFF
from netstudy.testbed.netns.namespaces import (
    find_program,
    in_namespace,
    run_program,
    within,
)
from netstudy.testbed.netns.tuning import set_offloads
from tools.ssh_lab.hosts import CONTROL_DEVICE, Interface
from tools.ssh_lab.links import wait_until_forwarding, wait_until_up
from tools.ssh_lab.machines import Machine
from tools.ssh_lab.numbers import number, whole

_STRAY = Path(__file__).with_name("stray.py")
_CUT: Final = "lab_cut"
_HOLE: Final = "lab_hole"
_FIREWALL: Final = "lab_firewall"


def cut(machine: Machine, link: str) -> None:
    """A port of a bridge goes down, so that the host has no carrier. The engine's switch would end
    with its port: there, frames are dropped in both directions."""
    _set_ports(machine, link, "down")
    if link == "test" and not all(one.bridged for one in machine.host.interfaces):
        _forget(machine, "netdev", _CUT)
        _drop(machine, _CUT, "drop")


def join(machine: Machine, link: str) -> None:
    """The inverse of `cut`."""
    if link == "test":
        _forget(machine, "netdev", _CUT)
    _set_ports(machine, link, "up")


def _set_ports(machine: Machine, link: str, state: str) -> None:
    if link not in ("control", "test"):
        raise StudyError(f"{link}: the links of a host are control and test")
    if link == "control":
        devices = [CONTROL_DEVICE]
        _set_port(machine.host.control_port, state)
    else:
        bridged = [one for one in machine.host.interfaces if one.bridged]
        devices = [one.device for one in bridged]
        for namespace, port in (one.peer for one in bridged):
            with within(namespace):
                _set_port(port, state)
    if state == "up":
        with within(machine.host.name):
            wait_until_up(devices)


def _set_port(port: str, state: str) -> None:
    run_program("ip", "link", "set", "dev", port, state)
    if state == "up":
        wait_until_forwarding([port])


def delay(machine: Machine, milliseconds: str) -> None:
    """Only frames to the host are late, those from it are not."""
    wanted = f"{number(milliseconds):g}ms"
    place = ["dev", machine.host.control_port, "root"]
    try:
        run_program("tc", "qdisc", "replace", *place, "netem", "delay", wanted)
    except TestbedError as error:
        raise TestbedError(f"this kernel cannot delay frames (no sch_netem): {error}") from error


def set_mtu(machine: Machine, size_bytes: str) -> None:
    """The host's TCP announces the MSS for it; larger frames to the host are lost."""
    mtu = str(whole(size_bytes))
    with within(machine.host.name):
        for one in machine.host.interfaces:
            run_program("ip", "link", "set", "dev", one.device, "mtu", mtu)


def mtu_hole(machine: Machine, size_bytes: str) -> None:
    """No ICMP tells the sender. In both directions."""
    _forget(machine, "netdev", _HOLE)
    if size_bytes == "off":
        return
    # A burst that an interface would cut into frames passes the rules as one large packet.
    for one in machine.host.interfaces:
        for where, device in ((machine.host.name, one.device), one.peer):
            with within(where):
                set_offloads(device, OFFLOADS_OFF)
    _drop(machine, _HOLE, f"meta protocol ip ip length > {whole(size_bytes)} drop")


def _drop(machine: Machine, table: str, rule: str) -> None:
    """Apply a rule to the frames on the host's test links, in both directions."""
    chains = [
        f"chain {hook}_{one.device} {{\n"
        f"type filter hook {hook} device {one.device} priority 0; policy accept;\n{rule}\n}}"
        for one in machine.host.interfaces
        for hook in ("ingress", "egress")
    ]
    _nft(machine, "netdev", table, chains)


def firewall(machine: Machine, ports: str) -> None:
    """Answers to connections of the host's own pass."""
    _forget(machine, "inet", _FIREWALL)
    if ports != "off":
        _nft(machine, "inet", _FIREWALL, [f"chain input {{\n{_accepted(ports)}\n}}"])


def _accepted(ports: str) -> str:
    rules = [
        "type filter hook input priority 0; policy drop;",
        "iif lo accept",
        "ct state established,related accept",
        "tcp dport 22 accept",
    ]
    if ports != "ssh":
        first, dash, last = ports.partition("-")
        if not dash:
            raise StudyError(f"{ports}: write a range of ports as 5201-5210")
        rules.append(f"meta l4proto {{ tcp, udp }} th dport {whole(first)}-{whole(last)} accept")
    return "\n".join(rules)


def _nft(machine: Machine, family: str, table: str, chains: list[str]) -> None:
    if find_program("nft") is None:
        raise TestbedError("needs nft: sudo apt-get install nftables")
    rules = machine.host.folder / table
    text = "\n".join(chains)
    rules.write_text(f"table {family} {table} {{\n{text}\n}}\n")
    with within(machine.host.name):
        run_program("nft", "-f", str(rules))


def _forget(machine: Machine, family: str, table: str) -> None:
    rules = machine.host.folder / table
    if rules.exists():
        with within(machine.host.name):
            run_program("nft", "delete", "table", family, table)
        rules.unlink()


def stray(machine: Machine, mbit_s: str) -> None:
    """The datagrams come out of the switch's port to the host, as from a host that is none of the
    study's."""
    machine.stop_helper("stray")
    if mbit_s == "off":
        return
    rate = number(mbit_s)
    one = machine.host.interfaces[0]
    namespace, port = one.peer
    words = [port, _mac(machine, one), one.address, str(rate)]
    # By its file: it starts in another folder, and needs nothing of netstudy.
    command = [*in_namespace(namespace), sys.executable, "-I", str(_STRAY), *words]
    machine.start_helper("stray", command, until="sending")


def _mac(machine: Machine, interface: Interface) -> str:
    with within(machine.host.name):
        (found,) = json.loads(run_program("ip", "-j", "link", "show", "dev", interface.device))
    return str(found["address"])
