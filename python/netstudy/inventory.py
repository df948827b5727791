"""The inventory of a user's hosts: `hosts.yaml`, given as `--testbed hosts.yaml`.

It says how to log in to each host, at which addresses the test traffic flows, and which hosts play
which group of a study. It has no secrets: keys and passwords belong to the user's ssh client.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from netstudy.documents.compact import compacted
from netstudy.documents.fields import NameValue, Quantity, RateValue, Scalar, Text, Typed
from netstudy.documents.nearest import did_you_mean
from netstudy.documents.shapes import OneOrMore
from netstudy.documents.source import Document, read, read_text
from netstudy.documents.validation import Model, describe, fault, raise_faults, validate
from netstudy.units import DURATION, PERCENT, parse_duration, parse_percent

_PORTS: Final = (1_024, 65_535)
"""Ports that an ordinary user may listen on, without port 0."""
_DEVICE_MAX = 15
"""IFNAMSIZ - 1, include/uapi/linux/if.h."""


class Destination(Text):
    """A destination of the ssh client: a Host of ~/.ssh/config, or user@address."""

    def parse(self, value: object) -> str:
        """Read a destination. A leading `-` is refused, since ssh would take it for an option."""
        text = super().parse(value)
        if not re.fullmatch(r"([A-Za-z0-9_.+][\w.+-]*@)?[A-Za-z0-9_][\w.:%-]*", text, re.ASCII):
            raise ValueError(
                f'"{text}" is not a destination of ssh; write a Host of ~/.ssh/config or '
                "user@address, and put ports and options into ~/.ssh/config"
            )
        return text

    @property
    def definition(self) -> str:
        """A destination of ssh."""
        return "Destination"


@dataclass(frozen=True)
class Ipv4(Scalar):
    """The IPv4 address of an interface."""

    def parse(self, value: object) -> IPv4Address:
        """Read an address that an interface of a host can have."""
        try:
            address = IPv4Address(value if isinstance(value, str) else "")
        except AddressValueError:
            raise ValueError(
                f"must be an IPv4 address such as 192.0.2.11, not {describe(value)}"
            ) from None
        if address.is_loopback or address.is_multicast or address.is_unspecified:
            raise ValueError(f"{address} is not an address that other hosts can reach")
        return address

    def json_schema(self) -> dict[str, Any]:
        """Four numbers with dots."""
        return {"type": "string", "format": "ipv4", "examples": ["192.0.2.11"]}

    @property
    def definition(self) -> str:
        """An IPv4 address."""
        return "Ipv4Address"


class Device(Text):
    """The name of a network interface in the host's kernel."""

    def parse(self, value: object) -> str:
        """Read a name that the kernel accepts (dev_valid_name, net/core/dev.c)."""
        text = super().parse(value)
        if len(text) > _DEVICE_MAX or re.search(r"[\s/:]", text) or text in (".", ".."):
            raise ValueError(f'"{text}" is not the name of a network interface, such as ens1f0')
        return text

    @property
    def definition(self) -> str:
        """The name of an interface."""
        return "Device"


class RemoteFolder(Text):
    """A folder on a host: an absolute path, or one below the home folder."""

    def parse(self, value: object) -> str:
        """Read a path that does not depend on where ssh starts."""
        text = super().parse(value)
        if not text.startswith(("/", "~/")):
            raise ValueError(f'"{text}" must be an absolute path, or begin with ~/')
        return text.rstrip("/") or "/"

    @property
    def definition(self) -> str:
        """A folder on a host."""
        return "RemoteFolder"


@dataclass(frozen=True)
class Ports:
    """A range of ports, both ends included."""

    first: int
    last: int

    def __str__(self) -> str:
        """As the file writes it."""
        return f"{self.first}-{self.last}"


@dataclass(frozen=True)
class PortRange(Scalar):
    """A range of ports."""

    def parse(self, value: object) -> Ports:
        """Read a range such as 5000-5099."""
        match = (
            re.fullmatch(r"(\d{1,5})\s*-\s*(\d{1,5})", value) if isinstance(value, str) else None
        )
        if match is None:
            raise ValueError(f"must be a range of ports such as 5000-5099, not {describe(value)}")
        first, last = int(match[1]), int(match[2])
        lowest, highest = _PORTS
        if not lowest <= first <= last <= highest:
            raise ValueError(f"must be an ascending range within {lowest}-{highest}, not {value}")
        return Ports(first, last)

    def json_schema(self) -> dict[str, Any]:
        """Two numbers with a hyphen."""
        return {"type": "string", "pattern": r"^\d{1,5} ?- ?\d{1,5}$", "examples": ["5000-5099"]}


AddressValue = Annotated[IPv4Address, Typed(Ipv4(), refs=False)]
FolderValue = Annotated[str, Typed(RemoteFolder(), refs=False)]
LeaseValue = Annotated[
    int, Typed(Quantity(DURATION, parse_duration, 2 * 10**9, 600 * 10**9), refs=False)
]
"""nanoseconds. Shorter than two seconds would end hosts whose controller pauses for a moment."""
ShareValue = Annotated[float, Typed(Quantity(PERCENT, parse_percent, 0, 100), refs=False)]


class InterfaceEntry(Model):
    """A test interface, or a second address for a zone."""

    address: AddressValue
    """The address that test traffic uses. The host must have it."""
    device: Annotated[str, Typed(Device(), refs=False)] | None = None
    """The kernel's name of the interface; by default, the interface that has the address."""
    rate: RateValue | None = None
    """The rate of the link at this address, if the interface does not report the true one, as those
    of virtual machines."""


class HostEntry(Model):
    """A host: how to log in, and where its test traffic flows."""

    ssh: Annotated[str, Typed(Destination(), refs=False)]
    """A Host of ~/.ssh/config, or user@address. The user's own ssh client logs in, without asking
    for a password."""
    address: AddressValue | None = None
    """The address of the test interface, if the host has only one."""
    rate: RateValue | None = None
    """The rate of the link at this address, if the interface does not report the true one, as those
    of virtual machines."""
    interfaces: dict[NameValue, InterfaceEntry] | None = None
    """Several test addresses, under the names that the study gives to the host's interfaces and
    zones."""
    engine: FolderValue = "~/.cache/netstudy"
    """Folder for the engine, which is copied there once."""
    files: FolderValue | None = None
    """Folder for the files of FTP transfers; without one, transfers of files are refused."""

    @model_validator(mode="after")
    def _has_addresses(self) -> HostEntry:
        if self.address is None and not self.interfaces:
            raise fault("needs the address of its test interface: address, or interfaces")
        if self.address is not None and self.interfaces is not None:
            raise fault("has an address and interfaces; write one of them", "address")
        if self.rate is not None and self.address is None:
            raise fault("belongs to an address: write it at each of the interfaces", "rate")
        return self

    @property
    def addresses(self) -> tuple[IPv4Address, ...]:
        """All test addresses of the host."""
        own = () if self.address is None else (self.address,)
        return (*own, *(one.address for one in (self.interfaces or {}).values()))

    def rate_bps(self, address: IPv4Address) -> int | None:
        """The rate of the link at a test address, if the file gives it."""
        if address == self.address:
            return self.rate
        entries = (self.interfaces or {}).values()
        return next((one.rate for one in entries if one.address == address), None)

    def interface(self, name: str) -> tuple[IPv4Address, str | None] | None:
        """The test address, and the device if the file names it, of an interface or zone of the
        study; None if the file has none under this name."""
        entry = (self.interfaces or {}).get(name)
        return None if entry is None else (entry.address, entry.device)


class Allow(Model):
    """Activity of others on the hosts that does not spoil a run."""

    other_traffic: ShareValue = 0.5
    """Traffic on the test interfaces that is not the run's own, as a share of the link's rate."""
    other_cpu: ShareValue = 5.0
    """CPU time of processes that do not belong to the run, as a share of the host's CPUs."""


class Inventory(Model):
    """Hosts that are reached by ssh, and their roles in studies."""

    hosts: Annotated[dict[NameValue, HostEntry], Field(min_length=1)]
    """The hosts, each with a name that messages and records use."""
    roles: dict[NameValue, Annotated[tuple[NameValue, ...], OneOrMore()]] = Field(
        default_factory=dict
    )
    """Host group of the study -> the hosts that play it, in order. Without a role, a node of the
    study is the host of the same name."""
    ports: Annotated[Ports, Typed(PortRange(), refs=False)] | None = None
    """The ports that agents listen on, for firewalls; by default, any free port."""
    lease: LeaseValue = 5 * 10**9
    """A host that has not heard from its controller for this time ends its traffic."""
    allow: Allow = Field(default_factory=Allow)
    """Activity of others that does not spoil a run."""

    @model_validator(mode="before")
    @classmethod
    def _no_switches(cls, data: Any) -> Any:
        if isinstance(data, dict) and "switches" in data:
            raise fault(
                "the counters of real switches cannot be read yet; leave switches out", "switches"
            )
        return data

    @model_validator(mode="after")
    def _agrees(self) -> Inventory:
        raise_faults([*self._unknown_hosts(), *self._twice()], "Inventory")
        return self

    def _unknown_hosts(self) -> Iterator[PydanticCustomError]:
        for group, names in self.roles.items():
            for place, name in enumerate(names):
                if name not in self.hosts:
                    hint = did_you_mean(name, self.hosts)
                    yield fault(f'there is no host "{name}"{hint}', "roles", group, place)
                elif name in names[:place]:
                    yield fault(f"{name} is listed twice", "roles", group, place)

    def _twice(self) -> Iterator[PydanticCustomError]:
        """Hosts that share a destination or an address, so that they cannot be two machines."""
        destinations: dict[str, str] = {}
        owners: dict[IPv4Address, str] = {}
        for name, host in self.hosts.items():
            other = destinations.setdefault(host.ssh, name)
            if other != name:
                yield fault(f"{host.ssh} is host {other} too", "hosts", name, "ssh")
            for address in host.addresses:
                if address in owners:
                    yield fault(f"{address} belongs to host {owners[address]} too", "hosts", name)
                owners.setdefault(address, name)


def load_inventory(path: Path) -> Inventory:
    """Read an inventory. Raises StudyError with `file:line:column` for every problem."""
    return validate(read(path), Inventory)


def parse_inventory(text: str, name: str) -> Inventory:
    """An inventory from its text; `name` is the file's name in messages. Raises StudyError."""
    return validate(read_text(text, name), Inventory)


def is_inventory(document: Document) -> bool:
    """True if a YAML file is an inventory and not a study."""
    return "hosts" in document.data and "study" not in document.data


def json_schema() -> dict[str, Any]:
    """The JSON Schema of inventories, for editors and for checks by other tools."""
    schema = compacted(Inventory.model_json_schema(by_alias=True))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "netstudy inventory of hosts",
    }
