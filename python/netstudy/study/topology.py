"""The `topology` of a study: hosts, links, a switch, and where endpoints are placed."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import Field, field_validator, model_validator

from netstudy import wire
from netstudy.documents.fields import (
    Choice,
    Count,
    MtuSize,
    NameValue,
    Percent,
    Rate,
    Ref,
    Size,
    Switched,
    Typed,
    Words,
    WordsValue,
)
from netstudy.documents.shapes import Short
from netstudy.documents.validation import Model, fault
from netstudy.knobs import disorder, knobs, model_with, settings

ModelT = TypeVar("ModelT", bound=Model)

_LINK = knobs(wire.Link)
LinkRate = Annotated[int | Ref, Typed(_LINK["rate"].scalar)]
"""bit/s."""
Delay = Annotated[int | Ref, Typed(_LINK["delay"].scalar)]
"""nanoseconds."""

LinkKind = Annotated[
    str | Ref, Typed(Choice(("ethernet", "hipersocket", "loopback"), "a kind of link"))
]
Medium = Annotated[str | Ref, Typed(Choice(("ram", "disk"), "a place that data lie in"))]


def _ordered(own: ModelT, model: type[wire.Wire]) -> ModelT:
    for wrong in disorder(model, dict(own)):
        raise fault(wrong.message, wrong.upper)
    return own


class _NamedTcp(Model):
    profile: Words | None = None
    """A TCP of the hardware library, such as `linux-2.6.18`, `linux-6` or `rfc`, in place of the
    one that the host's profile names."""


class TcpKnobs(model_with(_NamedTcp, settings(wire.Tcp))):  # type: ignore[misc]
    """TCP of one host group: a whole one by its name, and settings that differ from it.

    What neither says comes from the host's profile.
    """

    @model_validator(mode="after")
    def _in_order(self) -> TcpKnobs:
        return _ordered(self, wire.Tcp)


TcpOrName = Annotated[TcpKnobs, Short("profile")]


class _NamedNic(Model):
    profile: Words | None = None
    """A NIC of the hardware library."""
    rate: Rate | None = None
    """Line rate of its port."""
    buffers: Count | None = None
    """Buffers of the driver, as mainframe interfaces count them."""


class Nic(model_with(_NamedNic, settings(wire.Nic))):  # type: ignore[misc]
    """A network interface: a profile, and what differs from it."""

    @model_validator(mode="after")
    def _in_order(self) -> Nic:
        return _ordered(self, wire.Nic)


NicOrName = Annotated[Nic, Short("profile")]


class Zone(Model):
    """A partition of a host with its own stack: a zone, a container, a guest."""

    interface: WordsValue | None = None
    """The interface that the zone owns."""


class Host(Model):
    """A group of identical hosts; with a count above 1 they are called name-1, name-2 and so on."""

    profile: Words | None = None
    """A host of the hardware library. Without one it is only a place to measure from."""
    count: Count = 1
    """How many of them."""
    cpus: Count | None = None
    """Processors that the host may use; without it the profile's."""
    cpu_quota: Percent | None = None
    """Processor time that its processes may take, in percent of one processor; on testbeds of real
    hosts only. What the kernel does for the network in soft interrupts is not charged to it."""
    memory: Size | None = None
    """Main memory; without it the profile's."""
    data: Medium | None = None
    """Where a database host keeps its tables."""
    zones: dict[NameValue, Zone] | None = None
    """Partitions that endpoints may be placed in."""
    interfaces: tuple[NameValue, ...] | None = None
    """Names of its interfaces, as placements write them after `@`."""
    nic: NicOrName | None = None
    """Its network interface; without it the profile's."""
    tcp: TcpOrName = TcpKnobs()
    """Its TCP, as far as it differs from the profile's."""


HostOrName = Annotated[Host, Short("profile")]


class LinkProperties(Model):
    """What a link is like, whatever it joins."""

    rate: LinkRate | None = None
    """Bits a second in each direction; without it the switch port's line rate."""
    delay: Delay | None = None
    """Propagation time one way; without it 0."""
    mtu: MtuSize | None = None
    """Bytes of an IP packet at most; without it 1500."""
    kind: LinkKind = "ethernet"
    """ethernet, or what stands in its place inside one machine."""
    nic: NicOrName | None = None
    """The interface at both ends; without it the hosts' own."""
    buffers: Count | None = None
    """Buffers of the driver at both ends."""


class Link(LinkProperties):
    """A link between two host groups, or between a host group and the switch."""

    between: tuple[NameValue, NameValue]
    """Two names of hosts; `switch` is the switch."""

    @field_validator("between", mode="before")
    @classmethod
    def _joins_two(cls, value: object) -> object:
        if not isinstance(value, list) or len(value) != 2:
            raise fault("names the two ends, such as [client, switch]")
        return value


class _NamedSwitch(Model):
    profile: Words
    """A switch of the hardware library."""
    snmp: Switched = False
    """Whether its counters can be read by SNMP."""


class Switch(
    model_with(  # type: ignore[misc]
        _NamedSwitch,
        settings(wire.Switch),
        settings(wire.OutputQueued, "Output-queued: "),
        settings(wire.SharedMemory, "Shared memory: "),
        settings(wire.IngressQueued, "Ingress-queued: "),
    )
):
    """The switch: a profile, and what differs from it."""

    @model_validator(mode="after")
    def _in_order(self) -> Switch:
        return _ordered(self, wire.Switch)


SwitchOrName = Annotated[Switch, Short("profile")]


class Placement(Model):
    """Where the two endpoints of a transfer sit: `host`, `host.zone` or `host.zone@interface`."""

    sender: WordsValue
    """Where the data come from."""
    receiver: WordsValue
    """Where they go."""


class Topology(Model):
    """Hosts, the links between them, and a switch.

    `client`, `server` and `link` are the short form of a star: the two host groups, and the link
    from every host to the switch. `hosts` and `links` say the same at length, for other shapes.
    """

    hosts: dict[NameValue, HostOrName] = Field(default_factory=dict)
    """Host groups by name."""
    client: HostOrName | None = None
    """Short for the host group `client`."""
    server: HostOrName | None = None
    """Short for the host group `server`."""
    switch: SwitchOrName | None = None
    """The switch that links meet in."""
    links: tuple[Link, ...] = ()
    """Links by the two ends they join."""
    link: LinkProperties | None = None
    """Short for the same link from every host to the switch."""
    shared_clock: Switched = False
    """Whether the clocks of all hosts tick at the same instants, as those of containers of one
    machine do: then timers of several hosts fire together. Else each ticks in its own phase."""
    placement: dict[WordsValue, Placement] = Field(default_factory=dict)
    """Named places of the two endpoints; a workload names one of them."""

    @model_validator(mode="after")
    def _said_once(self) -> Topology:
        for short in ("client", "server"):
            if getattr(self, short) is not None and short in self.hosts:
                raise fault("stands in hosts too; keep one of them", short)
        if self.link is not None and self.links:
            raise fault("is short for the same link to every host; keep it or links", "link")
        if self.link is not None and self.switch is None:
            raise fault("joins every host to the switch, and there is no switch", "link")
        if not self.groups:
            raise fault("needs at least one host: hosts, or client and server")
        return self

    @property
    def groups(self) -> dict[str, Host]:
        """Every host group by name, the short forms included."""
        short = {"client": self.client, "server": self.server}
        return {name: host for name, host in short.items() if host is not None} | self.hosts

    @property
    def all_links(self) -> tuple[Link, ...]:
        """Every link, the short form included."""
        if self.link is None:
            return self.links
        given = {key: getattr(self.link, key) for key in LinkProperties.model_fields}
        return tuple(
            Link.model_construct(**given, between=(name, "switch")) for name in self.groups
        )
