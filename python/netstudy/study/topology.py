"""The `topology` of a study: hosts, links, a switch, and where endpoints are placed."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import chain, count
from typing import Annotated, TypeVar, get_args

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from netstudy import wire
from netstudy.buffers import ARCHITECTURES
from netstudy.documents.fields import (
    Choice,
    Count,
    MtuSize,
    NameValue,
    ProcessorShare,
    Rate,
    Ref,
    Size,
    Switched,
    SwitchedValue,
    Typed,
    Words,
    WordsValue,
)
from netstudy.documents.nearest import did_you_mean
from netstudy.documents.problems import Path
from netstudy.documents.shapes import Short
from netstudy.documents.validation import Model, fault
from netstudy.knobs import disorder, knobs, model_with, settings
from netstudy.study.jitter import Delay, Jitter, JitterOrNone
from netstudy.study.places import LinkEnd, Place, PlaceValue
from netstudy.study.queues import CodePoint, QueueOrName
from netstudy.wire_model import Wire

ModelT = TypeVar("ModelT", bound=Model)

PortRate = Annotated[int | Ref, Typed(knobs(wire.Port)["rate"].scalar)]
"""bit/s."""
FrameShare = Annotated[int | Ref, Typed(knobs(wire.LinkPath)["duplicate"].scalar)]
"""Millionths."""
LostShare = Annotated[int | Ref, Typed(knobs(wire.IndependentLoss)["share"].scalar)]
"""Millionths."""

LinkKind = Annotated[str | Ref, Typed(Choice(("ethernet", "hipersocket"), "a kind of link"))]
Stack = Annotated[wire.Stack | Ref, Typed(Choice(get_args(wire.Stack), "a kind of network stack"))]
Medium = Annotated[str | Ref, Typed(Choice(("ram", "disk"), "a place for data"))]


def _ordered(own: ModelT, model: type[Wire]) -> ModelT:
    for wrong in disorder(model, dict(own)):
        raise fault(wrong.message, wrong.upper)
    return own


class _NamedTcp(Model):
    profile: Words | None = None
    """A TCP of the hardware library, such as `linux-2.6.18`, `linux-6` or `rfc`, in place of the
    TCP in the host's profile."""


class TcpKnobs(model_with(_NamedTcp, settings(wire.Tcp))):  # type: ignore[misc]
    """TCP of a host group: the name of a TCP profile, and settings that differ from it. Settings
    that neither of these gives come from the host's profile.
    """

    @model_validator(mode="after")
    def _in_order(self) -> TcpKnobs:
        return _ordered(self, wire.Tcp)


TcpOrName = Annotated[TcpKnobs, Short("profile")]


class _NamedNic(Model):
    profile: Words | None = None
    """A NIC of the hardware library."""
    rate: Rate | None = None
    """Line rate of the interface's port."""
    buffers: Count | None = None
    """Number of driver buffers for frames that wait to be sent, the unit in which mainframe
    interfaces count their queue. Fewer: a burst loses more frames."""
    buffer: Size | None = None
    """Size of each buffer. If neither the study nor the profile gives it, each buffer holds one
    frame."""


class Nic(model_with(_NamedNic, settings(wire.Nic))):  # type: ignore[misc]
    """A network interface: a profile, and settings that differ from it."""

    @model_validator(mode="after")
    def _in_order(self) -> Nic:
        return _ordered(self, wire.Nic)


NicOrName = Annotated[Nic, Short("profile")]


class LocalPath(model_with(Model, settings(wire.LocalPath))):  # type: ignore[misc]
    """The path of data between two endpoints on one simulated host."""


class Cpu(model_with(Model, settings(wire.Cpu))):  # type: ignore[misc]
    """Simulated CPUs and the CPU time that work takes, as far as they differ from the profile."""


class Bus(model_with(Model, settings(wire.Bus))):  # type: ignore[misc]
    """Simulated buses, as far as they differ from the profile."""


class Disk(model_with(Model, settings(wire.Disk))):  # type: ignore[misc]
    """A simulated disk and page cache, as far as they differ from the profile."""


class Zone(Model):
    """A partition of a host with an address of its own: a zone, a container, a guest."""

    interface: NameValue | None = None
    """The interface of the host to which the zone's address belongs; by default, the first."""


class Host(Model):
    """A group of identical hosts; with a count above 1 they are called name-1, name-2 and so on."""

    profile: Words | None = None
    """A host of the hardware library. A host without a profile can only make measurements and
    cannot take part in the workload."""
    count: Count = 1
    """Number of hosts in the group."""
    cpus: Count | None = None
    """Number of CPUs that the host may use; by default, from the profile."""
    cpu_quota: ProcessorShare | None = None
    """Limit for the CPU time of the host's processes, in percent of one CPU: at least 1 %, in steps
    of 0.001 %. Only testbeds of real hosts can impose it. The kernel's network work in soft
    interrupts does not count towards the limit."""
    memory: Size | None = None
    """Main memory; by default, from the profile."""
    data: Medium | None = None
    """Where a database host keeps its tables."""
    zones: dict[NameValue, Zone] | None = None
    """Partitions of the host in which endpoints may be placed."""
    stack: Stack | None = None
    """The network stack of the zones. `shared`, the default: all use the host's stack, which
    delivers data between zones locally, whatever their interfaces. `own`: each zone has a stack of
    its own, with a virtual interface on one interface of the host. Data between two zones then stay
    inside the host if both are at the same interface, and cross the wire if they are not."""
    local_path: LocalPath | None = None
    """In the simulator: the path of data inside the host, as far as it differs from the profile. If
    neither gives it, such data have the latencies and CPU costs of the host's first interface."""
    unused: SwitchedValue = False
    """True if the host may carry no traffic in any run. Otherwise, `plan` refuses a host that no
    traffic uses."""
    queue: QueueOrName | None = None
    """Queue discipline of its interfaces; by default first in, first out."""
    dscp: CodePoint | None = None
    """Differentiated services code point of the packets that it sends; by default 0."""
    interfaces: tuple[NameValue, ...] | None = None
    """Names of the host's interfaces, which placements write after `@`."""
    nic: NicOrName | None = None
    """The host's network interface; by default, from the profile."""
    tcp: TcpOrName = TcpKnobs()
    """The host's TCP, as far as it differs from the profile."""
    cpu: Cpu | None = None
    """In the simulator: the host's CPUs and the CPU time that work takes, as far as they differ
    from the profile."""
    bus: Bus | None = None
    """In the simulator: the host's buses, as far as they differ from the profile."""
    disk: Disk | None = None
    """In the simulator: the host's disk and page cache, as far as they differ from the profile."""


HostOrName = Annotated[Host, Short("profile")]


class EachWay(Model):
    """The rate of a link whose two directions differ."""

    up: PortRate
    """From the first of the two ends to the second; in `link`, from each host to the switch."""
    down: PortRate
    """The rate in the other direction."""


class DelayEachWay(Model):
    """The delay of a link whose two directions differ."""

    up: Delay
    """From the first of the two ends to the second; in `link`, from each host to the switch."""
    down: Delay
    """The delay in the other direction."""


class GilbertElliott(Model):
    """Losses in bursts. After each frame, the link may change between a good and a bad state, which
    have a loss of their own (Gilbert 1960, Elliott 1963). These are p, r, 1-h and 1-k of
    `netem loss gemodel`."""

    to_bad: FrameShare
    """Probability of the change from good to bad after a frame: p."""
    to_good: FrameShare
    """Probability of the change from bad to good after a frame: r; bursts last 1/r frames."""
    in_bad: FrameShare = 1_000_000
    """Share of the frames in the bad state that are lost: 1-h."""
    in_good: FrameShare = 0
    """Share of the frames in the good state that are lost: 1-k."""


class Bursts(Model):
    """A model of losses in bursts."""

    gilbert_elliott: GilbertElliott = Field(alias="gilbert-elliott")
    """Two states with a loss each."""


def _kind_of_loss(value: object) -> str:
    return "=bursts" if isinstance(value, dict | Bursts) else "=independent"


OneWayLoss = Annotated[
    Annotated[LostShare, Tag("=independent")] | Annotated[Bursts, Tag("=bursts")],
    Discriminator(_kind_of_loss),
]
"""A share of frames, each lost independently, or a model of bursts."""


class LossEachWay(Model):
    """The loss of a link whose two directions differ."""

    up: OneWayLoss | None = None
    """From the first of the two ends to the second; in `link`, from each host to the switch. By
    default, no frame is lost there at random."""
    down: OneWayLoss | None = None
    """The loss in the other direction; by default, no frame is lost there at random."""


class QueueEachWay(Model):
    """The queue disciplines of a link whose two directions differ."""

    up: QueueOrName | None = None
    """Of the frames from the first of the two ends to the second: at the port of the first end; in
    `link`, at each host. By default that of the switch or host."""
    down: QueueOrName | None = None
    """Of the frames in the other direction: at the port of the second end; in `link`, at the
    switch. By default that of the switch or host."""


def _ways(value: object) -> str:
    is_each = isinstance(value, EachWay | DelayEachWay | LossEachWay | QueueEachWay)
    is_map = isinstance(value, dict) and not value.keys().isdisjoint(("up", "down"))
    return "=each way" if is_each or is_map else "=both ways"


LinkRate = Annotated[
    Annotated[PortRate, Tag("=both ways")] | Annotated[EachWay, Tag("=each way")],
    Discriminator(_ways),
]
"""One rate for both directions, or one for each."""
LinkDelay = Annotated[
    Annotated[Delay, Tag("=both ways")] | Annotated[DelayEachWay, Tag("=each way")],
    Discriminator(_ways),
]
"""One delay for both directions, or one for each."""
LinkLoss = Annotated[
    Annotated[OneWayLoss, Tag("=both ways")] | Annotated[LossEachWay, Tag("=each way")],
    Discriminator(_ways),
]
"""One loss for both directions, or one for each."""
LinkQueue = Annotated[
    Annotated[QueueOrName, Tag("=both ways")] | Annotated[QueueEachWay, Tag("=each way")],
    Discriminator(_ways),
]
"""One queue discipline for both directions, or one for each."""


class LinkProperties(Model):
    """The properties of a link between any two ends."""

    rate: LinkRate | None = None
    """Rate in each direction, or `{up: …, down: …}` if the two differ; by default, the highest rate
    that both ends support."""
    delay: LinkDelay | None = None
    """Propagation time in one direction, or `{up: …, down: …}` if the two differ; by default 0."""
    loss: LinkLoss | None = None
    """Frames that are lost at random in each direction: `1 %`, each independently of others, or
    `{gilbert-elliott: {to_bad: 1 %, to_good: 20 %}}` for bursts; `{up: …, down: …}` if the two
    differ. By default, only full queues lose frames."""
    duplicate: FrameShare | None = None
    """Share of the frames that arrive twice, in each direction."""
    jitter: JitterOrNone = Jitter(none=True)
    """Random delay of each frame, in each direction: `{exponential: 2 ms}` or `{uniform: 5 ms}`."""
    queue: LinkQueue | None = None
    """Queue discipline of the ports at both ends of the link: `fq-codel`, a map such as
    `{discipline: codel, target: 5 ms}`, or a name of `queues`; `{up: …, down: …}` if the two
    directions differ. By default that of the switch or host."""
    reorder: Switched = False
    """Whether a frame whose random delay is shorter overtakes others; otherwise it waits for
    them."""
    mtu: MtuSize | None = None
    """Largest IP packet in bytes; by default 1500, or 8192 for a `hipersocket`."""
    kind: LinkKind = "ethernet"
    """`ethernet`, or `hipersocket` between two hosts of one machine: packets are larger by default,
    and no interface limits the rate, which is 10 Gbit/s unless the link gives another one."""
    nic: NicOrName | None = None
    """The hosts' interface at this link, as far as it differs from their other interfaces."""
    buffers: Count | None = None
    """Number of driver buffers at both ends, for frames that wait to be sent."""

    @model_validator(mode="after")
    def _reorders_by_jitter(self) -> LinkProperties:
        if self.reorder and self.jitter.none:
            raise fault("frames overtake others only if delays are random: give jitter", "reorder")
        return self


class Link(LinkProperties):
    """A link between hosts, between switches, or from one to the other.

    A host group with a count above 1 has a link from each of its hosts. If the other end is a
    single host, these links meet at a switch in front of the host's only interface. Forwarding in
    this switch is never the limit; `netstudy plan` shows the switch's name. Its ports have no queue
    discipline; write the switch itself to give them one.
    """

    unused: SwitchedValue = False
    """True if no traffic may use the link. Otherwise, `plan` refuses a link of a host that no
    traffic uses, such as the second of two links between the same ends: the traffic of two hosts
    uses one path only."""
    between: tuple[LinkEnd, LinkEnd]
    """The two ends: host groups and switches, `host@interface` for one of several interfaces."""

    @field_validator("between", mode="before")
    @classmethod
    def _joins_two(cls, value: object) -> object:
        if not isinstance(value, list) or len(value) != 2:
            raise fault("must name two ends, such as [client, switch]")
        return value


class _NamedSwitch(Model):
    profile: Words
    """A switch of the hardware library."""
    snmp: Switched = False
    """Whether the switch's counters can be read by SNMP."""
    queue: QueueOrName | None = None
    """Queue discipline of all its ports; by default first in, first out, as far as the buffer has
    room."""


class Switch(
    model_with(  # type: ignore[misc]
        _NamedSwitch,
        settings(wire.Switch),
        *(settings(one, f"{one.TITLE}: ") for one in ARCHITECTURES.values()),
    )
):
    """The switch: a profile, and settings that differ from it."""

    @model_validator(mode="after")
    def _in_order(self) -> Switch:
        return _ordered(self, wire.Switch)


SwitchOrName = Annotated[Switch, Short("profile")]


class Placement(Model):
    """Places of the two ends of a transfer: `host`, `host.zone` or `host.zone@interface`."""

    sender: PlaceValue
    """The end that sends the data."""
    receiver: PlaceValue
    """The end that receives the data."""


SWITCH = "switch"
"""Name of the only switch in the short form."""


def wire_name(host: str, taken: Container[str]) -> str:
    """Name of the switch that is inserted where several hosts are linked to a single interface of a
    host: `wire-` and the name of this host, with a number if the name is taken."""
    first = f"wire-{host}"
    names = chain([first], (f"{first}-{n}" for n in count(2)))
    return next(name for name in names if name not in taken)


class Topology(Model):
    """Hosts, switches, and the links between them.

    `client`, `server`, `switch` and `link` are the short form of a star: the two host groups, and
    the link from every host to the switch. `hosts`, `switches` and `links` are the long form, for
    any graph without a loop of switches.
    """

    hosts: dict[NameValue, HostOrName] = Field(default_factory=dict)
    """Host groups by name."""
    client: HostOrName | None = None
    """Short for the host group `client`."""
    server: HostOrName | None = None
    """Short for the host group `server`."""
    switch: SwitchOrName | None = None
    """Short for one switch with the name `switch`."""
    switches: dict[NameValue, SwitchOrName] = Field(default_factory=dict)
    """Switches by name."""
    links: tuple[Link, ...] = ()
    """Links, each with its two ends."""
    link: LinkProperties | None = None
    """Short for the same link from every host to the only switch."""
    queues: dict[NameValue, QueueOrName] = Field(default_factory=dict)
    """Named queue disciplines, so that a factor can choose one: `queue: ${queue}`."""
    shared_clock: Switched = False
    """Whether the clocks of all hosts tick at the same instants, like the clocks of containers on
    one machine; timers of several hosts then fire together. Otherwise, each clock has a phase of
    its own."""
    placement: dict[WordsValue, Placement] = Field(default_factory=dict)
    """Named places of the two ends of a transfer; a workload names one of them."""

    @model_validator(mode="after")
    def _said_once(self) -> Topology:
        for short in ("client", "server"):
            if getattr(self, short) is not None and short in self.hosts:
                raise fault("is in hosts too; keep one of them", short)
        if self.switch is not None and self.switches:
            raise fault("is short for a single switch; keep either switch or switches", SWITCH)
        if self.link is not None:
            self._check_short_link()
        if not self.groups:
            raise fault("needs at least one host: hosts, or client and server")
        return self

    def _check_short_link(self) -> None:
        if self.links:
            raise fault(
                "is short for the same link to every host; keep either link or links", "link"
            )
        if not self.all_switches:
            raise fault("joins every host to the switch, but there is no switch", "link")
        if len(self.all_switches) > 1:
            message = "joins every host to a single switch, but there are several; write links"
            raise fault(message, "link")

    @property
    def groups(self) -> dict[str, Host]:
        """Every host group by name, the short forms included."""
        short = {"client": self.client, "server": self.server}
        return {name: host for name, host in short.items() if host is not None} | self.hosts

    @property
    def all_switches(self) -> dict[str, Switch]:
        """Every switch by name, the short form included."""
        return self.switches if self.switch is None else {SWITCH: self.switch}

    @property
    def all_links(self) -> tuple[Link, ...]:
        """Every link, the short form included."""
        return tuple(link for _, link in self.placed_links)

    @property
    def placed_links(self) -> Iterator[tuple[Path, Link]]:
        """Every link with its path in the file, the short form included."""
        if self.link is None:
            yield from ((("links", index), link) for index, link in enumerate(self.links))
            return
        given = {key: getattr(self.link, key) for key in LinkProperties.model_fields}
        (switch,) = self.all_switches
        for name in self.groups:
            yield ("link",), Link.model_construct(**given, between=(Place(name), Place(switch)))

    def host_path(self, group: str) -> Path:
        """The path of a host group in a study."""
        return ("topology", *(("hosts", group) if group in self.hosts else (group,)))

    def no_group(self, name: str, *others: str) -> str | None:
        """The error message for an unknown host group; None if it exists."""
        known = [*self.groups, *others]
        return None if name in known else f'no host "{name}"{did_you_mean(name, known)}'

    def no_place(self, place: Place) -> str | None:
        """The error message for an unknown host, zone or interface; None if it exists."""
        if wrong := self.no_group(place.group):
            return wrong
        host = self.groups[place.group]
        zones, interfaces = host.zones or {}, host.interfaces or ()
        if place.zone and place.zone not in zones:
            return f'host {place.group} has no zone "{place.zone}"{did_you_mean(place.zone, zones)}'
        if place.interface and not interfaces:
            return f"host {place.group} names no interfaces; write interfaces: [{place.interface}]"
        if place.interface and place.interface not in interfaces:
            hint = did_you_mean(place.interface, interfaces)
            return f'host {place.group} has no interface "{place.interface}"{hint}'
        owned = zones[place.zone].interface if place.zone else None
        if place.interface and owned not in (None, place.interface):
            return f"the zone {place.zone} of {place.group} is at interface {owned}"
        return None
