"""The controller of a lab: the folder with the inventory, and the home of the user that COMMAND
runs as.

The OpenSSH client reads ~/.ssh of the home that /etc/passwd has, whatever HOME is, so the lab has
an /etc/passwd of its own.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from netstudy.testbed.netns.namespaces import run_program
from netstudy.units import format_rate
from tools.ssh_lab.hosts import Interface, LabHost
from tools.ssh_lab.machines import Machine, make_key
from tools.ssh_lab.users import User, passwd

LAB: Final = Path("/run/lab")
"""The folder that NETSTUDY_LAB names."""
HOME: Final = LAB / "home"
INVENTORY: Final = LAB / "hosts.yaml"

_KEY, _KNOWN_HOSTS = HOME / ".ssh/id_ed25519", HOME / ".ssh/known_hosts"
_RUNTIME = LAB / "runtime"
"""XDG_RUNTIME_DIR: the user's own one is in the machine's /run, which the lab hides."""
_FAULT = Path(__file__).with_name("fault.py")
_CONTROL = LAB / "control"
_NOT_INHERITED = ("SSH_AUTH_SOCK", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")


def make_folders() -> str:
    """Make the folders and the key of the user. Returns the public key."""
    _KEY.parent.mkdir(parents=True)
    _RUNTIME.mkdir()
    make_key(_KEY)
    return _KEY.with_name(f"{_KEY.name}.pub").read_text()


def complete(user: User, machines: Sequence[Machine], login: User, files: str | None) -> None:
    """Write the files for this user from which the OpenSSH client and netstudy know the hosts.
    `files` is the folder of each host for files of a study, if there is one."""
    hosts = [one.host for one in machines]
    (_KEY.parent / "config").write_text("\n".join(_configuration(host, login) for host in hosts))
    _KNOWN_HOSTS.write_text("".join(map(_known, machines)))
    INVENTORY.write_text(inventory(hosts, files))
    entries = LAB / "passwd"
    entries.write_text(passwd([user] if user.name == login.name else [user, login]))
    run_program("mount", "--bind", str(entries), "/etc/passwd")
    for path in HOME.rglob("*"):
        user.own(path, 0o700 if path.is_dir() else 0o600)
    for folder in (HOME, _RUNTIME):
        user.own(folder, 0o700)


def control_socket(user: User) -> socket.socket:
    """The socket that the program `fault` asks, which is written too."""
    program = LAB / "fault"
    # The system's, if there is one: that of the environment may be where this user may not look.
    python = shutil.which("python3", path=os.defpath) or sys.executable
    program.write_text(f"#!{python} -I\n{_FAULT.read_text()}")
    program.chmod(0o755)
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    control.bind(str(_CONTROL))
    user.own(_CONTROL, 0o600)
    control.listen()
    return control


def environment(user: User) -> dict[str, str]:
    """The environment of COMMAND."""
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    own = {"HOME": HOME, "XDG_RUNTIME_DIR": _RUNTIME, "NETSTUDY_LAB": LAB}
    return {**kept, "USER": user.name, "LOGNAME": user.name, **{a: str(b) for a, b in own.items()}}


def inventory(hosts: Sequence[LabHost], files: str | None) -> str:
    """`hosts.yaml`, as `netstudy --testbed` reads it."""
    roles: dict[str, list[str]] = {}
    for host in hosts:
        roles.setdefault(host.role, []).append(host.name)
    named = ", ".join(f"{role}: [{', '.join(names)}]" for role, names in roles.items())
    folder = "" if files is None else f", files: {files}"
    lines = [f"  {host.name}: {{ssh: {host.name}, {_addresses(host)}{folder}}}\n" for host in hosts]
    # All hosts are one machine, whose CPUs work for the other hosts too.
    allow = "allow: {other_cpu: 100 %}\n"
    return f"hosts:\n{''.join(lines)}{allow}roles: {{{named}}}\n"


def _addresses(host: LabHost) -> str:
    first = host.interfaces[0]
    if len(host.interfaces) == 1 and not first.zones:
        return f"address: {first.address}{_rate(first)}"
    return f"interfaces: {{{', '.join(_each_address(host))}}}"


def _each_address(host: LabHost) -> Iterator[str]:
    for one in host.interfaces:
        addresses = {one.name: one.address, **one.zones}
        for name, address in addresses.items():
            yield f"{name}: {{device: {one.device}, address: {address}{_rate(one)}}}"


def _rate(one: Interface) -> str:
    """The key of the link's rate, which a virtual interface does not report."""
    return "" if one.rate_bps is None else f", rate: {format_rate(one.rate_bps)}"


def _configuration(host: LabHost, login: User) -> str:
    values = {
        "HostName": host.control_address,
        "User": login.name,
        "IdentityFile": _KEY,
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": _KNOWN_HOSTS,
    }
    lines = "".join(f"    {name} {value}\n" for name, value in values.items())
    return f"Host {host.name}\n{lines}"


def _known(machine: Machine) -> str:
    host = machine.host
    return f"{host.name},{host.control_address} {machine.public_key}\n"
