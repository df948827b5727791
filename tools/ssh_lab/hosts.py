"""The hosts of a lab: names, addresses and roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from netstudy.testbed.netns.layout import SWITCHES

CONTROLLER: Final = "10.99.0.254"
"""Address of the controller in the control network, 10.99.0.0/24."""
CONTROL_DEVICE: Final = "ctl0"
"""A host's interface in the control network."""
TEST_DEVICE: Final = "eth0"
"""A host's interface in a test network without a study."""

_FOLDER = Path("/run/hosts")


@dataclass(frozen=True)
class Interface:
    """A host's interface in the test network."""

    name: str
    """Its name in a study."""
    device: str
    address: str
    peer: tuple[str, str]
    """Namespace and name of the other end of the link."""
    bridged: bool
    """True if the other end is a port of the kernel's bridge."""
    zones: Mapping[str, str] = field(default_factory=dict)
    """Zone -> another address, which is the zone's."""
    rate_bps: int | None = None
    """The rate of the link; None: it has none, and the interface does not tell so."""


@dataclass(frozen=True)
class LabHost:
    """A host of the lab."""

    name: str
    """Also the name of its network namespace, and its Host in the controller's ~/.ssh/config."""
    number: int
    """Counted from 1."""
    role: str
    interfaces: tuple[Interface, ...]

    @property
    def control_address(self) -> str:
        """Where its sshd listens."""
        return f"10.99.0.{self.number}"

    @property
    def control_port(self) -> str:
        """The controller's end of the control link."""
        return f"c{self.number}"

    @property
    def folder(self) -> Path:
        """The host's own files, in the sandbox's /run."""
        return _FOLDER / self.name

    @property
    def own_etc(self) -> Path:
        """The host's /etc/ssh, and its passwd and shadow."""
        return self.folder / "etc"

    @property
    def disk(self) -> Path:
        """The file system with the home folders of the host."""
        return self.folder / "disk"

    @property
    def log(self) -> Path:
        """Standard error of the host's sshd."""
        return self.folder / "log"


def plain_hosts(count: int, roles: Mapping[str, int]) -> list[LabHost]:
    """Hosts h1, h2, …, one interface each; the first ones have the roles in order, the others are
    servers."""
    named = [role for role, number in roles.items() for _ in range(number)]
    named += ["server"] * (count - len(named))
    return [
        LabHost(f"h{number}", number, role, (_plain_interface(number),))
        for number, role in enumerate(named, start=1)
    ]


def _plain_interface(number: int) -> Interface:
    return Interface(TEST_DEVICE, TEST_DEVICE, f"10.98.0.{number}", (SWITCHES, f"t{number}"), True)
