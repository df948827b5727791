"""Converts the hosts, interfaces and switches of a study to the wire.

Each figure comes from the study if it gives one, else from the hardware profile, else from the
wire's own default. A setting of a buffer architecture that the switch does not have is refused,
with its place in the study.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel

from netstudy import wire
from netstudy.buffers import ARCHITECTURES
from netstudy.documents.problems import Path
from netstudy.errors import StudyError
from netstudy.hardware import (
    BUFFER_FIGURES,
    HardwareLibrary,
    HostProfile,
    NicFigures,
    SwitchProfile,
)
from netstudy.knobs import disorder, knobs, without_effect
from netstudy.study.references import concrete
from netstudy.study.topology import Host, LinkProperties, Nic, Switch, TcpKnobs, Topology
from netstudy.wire_model import Wire

WireT = TypeVar("WireT", bound=Wire)

Refuse = Callable[[Path, str], NoReturn]
"""Raises an error with this message about the part of the study at a path."""

BYSTANDER = "none"
"""Profile of a host for which the study names none: it only measures, and takes no part in the
workload."""
_BYSTANDER_TCP = "rfc"
_FRAME_BYTES = 1_514
"""A frame of Ethernet with an MTU of 1500, as drivers store it."""


def whole_tcp(hardware: HardwareLibrary, name: str) -> wire.Tcp:
    """A TCP of the hardware library, converted to the wire. Raises StudyError if the library has no
    TCP of this name."""
    return wire.Tcp(profile=name, **_tcp_figures(hardware, name))


def described_tcp(hardware: HardwareLibrary, group: wire.Group) -> wire.Tcp | None:
    """The TCP that a group's profiles describe, without the study's own settings. None: the library
    lacks one of the profiles, as a study may bring its own."""
    try:
        profile = None if group.profile == BYSTANDER else hardware.host(group.profile)
        named = group.tcp.profile
        is_usual = profile is None or named in (profile.profile, profile.tcp.profile)
        own = TcpKnobs() if is_usual else TcpKnobs(profile=named)
        return tcp_of_host(hardware, profile, own)
    except StudyError:
        return None


def tcp_of_host(hardware: HardwareLibrary, profile: HostProfile | None, own: TcpKnobs) -> wire.Tcp:
    """The TCP of a host. If the study names a TCP, the figures of this TCP override the figures in
    the host's profile."""
    named = concrete(own.profile)
    usual = _BYSTANDER_TCP if profile is None else profile.tcp.profile
    values = {} if profile is None else _figures(profile.tcp, wire.Tcp)
    if named is not None:
        values |= _tcp_figures(hardware, named)
    elif usual is not None:
        values = _tcp_figures(hardware, usual) | values
    values |= _knobs(own, wire.Tcp)
    own_name = BYSTANDER if profile is None else profile.profile
    return wire.Tcp(profile=named or usual or own_name, **values)


def _tcp_figures(hardware: HardwareLibrary, name: str) -> dict[str, Any]:
    return _figures(hardware.tcp(name).figures, wire.Tcp)


_CHARGED_TWICE = (
    "received packets cost CPU time at the interface (receive_per_frame, receive_rate) and at the "
    "CPUs; say it once"
)
_OF_THE_RING = (
    *("receive_ring", "receive_refill", "poll_weight", "receive_merge"),
    *("pause_high", "pause_low", "pause_quanta"),
)
_A_WAIT = (
    "a packet_rate or an interrupt_delay where its host has CPUs with packet costs, or "
    "buses: frames wait for these behind the ring, not in it. To fill the ring, say what receiving "
    "costs by receive_per_frame and receive_rate instead"
)


@dataclass(frozen=True)
class _Queue:
    """The transmit queue of an interface: its length in frames, or in buffers of the driver."""

    frames: int | None = None
    buffers: int | None = None
    buffer_bytes: int | None = None
    """Size of each buffer; None: it holds one frame."""

    def changed(self, frames: int | None, buffers: int | None, size: int | None) -> _Queue:
        """The queue with the values of a more specific source, such as a link; None keeps a
        value."""
        size = self.buffer_bytes if size is None else size
        if frames is None and buffers is None:
            return replace(self, buffer_bytes=size)
        return _Queue(frames, buffers if frames is None else None, size)

    @property
    def on_the_wire(self) -> dict[str, int]:
        """The length as a field of the wire, in frames of the usual MTU; empty if it is not
        given."""
        each = max(1, (self.buffer_bytes or 0) // _FRAME_BYTES)
        length = self.frames if self.buffers is None else self.buffers * each
        return {} if length is None else {"transmit_queue_frames": length}


@dataclass(frozen=True)
class _Interface:
    """The interface that each host of a group has at one link."""

    group: str
    nic: wire.Nic
    places: tuple[Path, ...]
    """The parts of the study that may give the interface's settings, the most specific first."""
    has_buffers: bool
    """Whether the length of the transmit queue is given in driver buffers."""


@dataclass(frozen=True)
class Devices:
    """Looks up hosts, interfaces and switches; raises StudyError with places."""

    hardware: HardwareLibrary
    refuse: Refuse
    is_said: Callable[[Path], bool]
    """Whether the study sets a value at a path."""

    def group(self, name: str, host: Host, path: Path, *, works: bool = False) -> wire.Group:
        """The common properties of a group's hosts; `path` is the group's place in the study.

        `works`: the workload itself takes CPU time on these hosts, in addition to the CPU time for
        packets.
        """
        named = concrete(host.profile)
        profile = None if named is None else self.hardware.host(named)
        tcp = tcp_of_host(self.hardware, profile, host.tcp)
        nic = self._host_nic(host, path)
        self._check_order((*path, "tcp"), tcp)
        return wire.Group(
            name=name,
            profile=named or BYSTANDER,
            tcp=tcp,
            nic=nic,
            cpu_quota_pct=concrete(host.cpu_quota),
            dscp=concrete(host.dscp),
            local_path=self._simulated(host, wire.LocalPath, "local_path"),
            memory_bytes=concrete(host.memory),
            cpu=self._cpu(host, nic, path, works=works),
            bus=self._simulated(host, wire.Bus, "bus"),
            disk=self._simulated(host, wire.Disk, "disk"),
        )

    def nic_of_link(
        self, host: Host, link: LinkProperties, path: Path, host_path: Path
    ) -> wire.Nic:
        """The interface of a host at a link that has settings for it; `path` is the link's
        place."""
        values = self._nic(host, host_path)
        if link.nic is not None:
            values |= self._own_nic(link.nic, (*path, "nic"))
            if link.buffers is not None and {link.nic.buffers, link.nic.transmit_queue} != {None}:
                self.refuse((*path, "buffers"), "is set twice, here and under nic")
        return wire.Nic(**(values | self._queue(host, link).on_the_wire))

    def check_interfaces(self, topology: Topology, groups: Sequence[wire.Group]) -> None:
        """Checks that the settings of a host and of its links are consistent at each interface, and
        that each has an effect at some interface."""
        costly = {group.name for group in groups if group.cpu is not None}
        on_buses = {group.name for group in groups if group.bus is not None}
        useful, useless = set[Path](), dict[Path, str]()
        for one in self._interfaces(topology):
            self._check_disorder(one.places, one.nic)
            if one.group in costly and _costs_cpu(one.nic):
                self.refuse(one.places[0], _CHARGED_TWICE)
            idle = dict(without_effect(wire.Nic, _settings(one.nic)))
            if not one.has_buffers:
                idle["buffer"] = "buffers"
            if one.group in costly | on_buses and not _waits_in_ring(one.nic):
                idle |= dict.fromkeys(_OF_THE_RING, _A_WAIT)
            for place, name in product(one.places, (*knobs(wire.Nic), "buffer")):
                at = (*place, name)
                if self.is_said(at) and name in idle:
                    useless[at] = idle[name]
                elif self.is_said(at):
                    useful.add(at)
        for at, needed in useless.items():
            if at not in useful:
                self.refuse(at, f"has no effect without {needed}")

    def _interfaces(self, topology: Topology) -> Iterator[_Interface]:
        for inside, link in topology.placed_links:
            path = ("topology", *inside)
            for name in dict.fromkeys(end.group for end in link.between):
                if (host := topology.groups.get(name)) is None:
                    continue
                own = topology.host_path(name)
                has_own = link.nic is not None or link.buffers is not None
                nic = (
                    self.nic_of_link(host, link, path, own)
                    if has_own
                    else self._host_nic(host, own)
                )
                places = (*([(*path, "nic")] if link.nic else []), (*own, "nic"))
                yield _Interface(name, nic, places, self._queue(host, link).buffers is not None)

    def line_rates(self, name: str, host: Host, at_link: Nic | None) -> dict[str, int]:
        """Name of the source -> the rate of a host's interface; empty if no source gives the
        rate."""
        profile = concrete(host.profile)
        rates: dict[str, int] = {}
        if profile is not None and (figure := self.hardware.host(profile).nic.rate):
            rates = {profile: figure.value}
        for said, where in ((host.nic, f"the nic of {name}"), (at_link, "the nic of the link")):
            if said is None:
                continue
            rate, named = concrete(said.rate), concrete(said.profile)
            if rate is not None:
                rates = {where: rate}
            elif named is not None and (figure := self.hardware.nic(named).figures.rate):
                rates = {named: figure.value}
        return rates

    def switch(self, name: str, own: Switch, path: Path) -> wire.Switch:
        """A switch; `path` is its place in the study."""
        profile = self.switch_profile(own)
        self._check_knobs(own, profile, path)
        values = _figures(profile.figures, wire.Switch) | _knobs(own, wire.Switch)
        buffer = ARCHITECTURES[profile.architecture]
        switch = wire.Switch(
            name=name,
            profile=profile.profile,
            buffer=buffer(**(_figures(profile.figures, buffer) | _knobs(own, buffer))),
            **values,
        )
        self._check_order(path, switch)
        return switch

    def switch_profile(self, own: Switch) -> SwitchProfile:
        """The profile of a switch."""
        return self.hardware.switch(concrete(own.profile))

    def _cpu(self, host: Host, nic: wire.Nic, path: Path, *, works: bool) -> wire.Cpu | None:
        """The simulated CPUs of a host; None if no work costs CPU time there."""
        cpus = concrete(host.cpus)
        cpu = self._simulated(host, wire.Cpu, "cpu")
        if works and cpus is None and (host.cpu is None or host.cpu.cpus is None):
            cpus = self._known_cpus(host)
        if cpu is None and works and cpus is not None:
            cpu = wire.Cpu()
        if cpu is None:
            if cpus is not None:
                message = "has no effect where no work costs CPU time; give costs under cpu"
                self.refuse((*path, "cpus"), message)
            return None
        if cpus is not None and host.cpu is not None and host.cpu.cpus is not None:
            self.refuse((*path, "cpus"), "is set twice, here and under cpu")
        if _costs_cpu(nic):
            self.refuse((*path, "nic") if host.nic is not None else path, _CHARGED_TWICE)
        return cpu if cpus is None else cpu.model_copy(update={"cpus": cpus})

    def _known_cpus(self, host: Host) -> int | None:
        """Number of CPUs of a host, from its profile."""
        named = concrete(host.profile)
        figure = None if named is None else self.hardware.host(named).figures.cpus
        return None if figure is None else figure.value

    def _simulated(self, host: Host, model: type[WireT], section: str) -> WireT | None:
        """A part of a host that only the simulator models; None if neither the study nor the
        profile has it."""
        named = concrete(host.profile)
        figures = None if named is None else getattr(self.hardware.host(named), section)
        own = getattr(host, section)
        if figures is None and own is None:
            return None
        values = {} if figures is None else _figures(figures, model)
        return model(**(values if own is None else values | _knobs(own, model)))

    def _host_nic(self, host: Host, path: Path) -> wire.Nic:
        """The interface of a host at a link that has no settings for it."""
        return wire.Nic(**(self._nic(host, path) | self._queue(host).on_the_wire))

    def _nic(self, host: Host, path: Path) -> dict[str, Any]:
        profile = concrete(host.profile)
        values = {} if profile is None else _figures(self.hardware.host(profile).nic, wire.Nic)
        return values if host.nic is None else values | self._own_nic(host.nic, (*path, "nic"))

    def _own_nic(self, own: Nic, path: Path) -> dict[str, Any]:
        named = concrete(own.profile)
        values = {} if named is None else _figures(self.hardware.nic(named).figures, wire.Nic)
        if own.buffers is not None and own.transmit_queue is not None:
            self.refuse((*path, "buffers"), "is set twice, here and as transmit_queue")
        return values | _knobs(own, wire.Nic)

    def _queue(self, host: Host, link: LinkProperties | None = None) -> _Queue:
        """The transmit queue of a host's interface: from the study, else from the profiles."""
        found = _Queue()
        if (named := concrete(host.profile)) is not None:
            found = found.changed(*_queue_of(self.hardware.host(named).nic))
        for own in (host.nic, None if link is None else link.nic):
            if own is None:
                continue
            if (profile := concrete(own.profile)) is not None:
                found = found.changed(*_queue_of(self.hardware.nic(profile).figures))
            said = own.transmit_queue, own.buffers, own.buffer
            found = found.changed(*map(concrete, said))
        return found if link is None else found.changed(None, concrete(link.buffers), None)

    def _check_order(self, path: Path, made: wire.Tcp | wire.Switch) -> None:
        """Checks that the study's values are consistent with the values from profiles."""
        self._check_disorder((path,), made)
        for name, needed in without_effect(type(made), _settings(made)):
            if self.is_said((*path, name)):
                self.refuse((*path, name), f"has no effect without {needed}")

    def _check_disorder(
        self, places: Sequence[Path], made: wire.Tcp | wire.Nic | wire.Switch
    ) -> None:
        """Refuses values that contradict each other; `places` are the parts of the study that give
        them."""
        for wrong in disorder(type(made), _settings(made)):
            said = [(*place, name) for name in (wrong.upper, wrong.lower) for place in places]
            at = next((each for each in said if self.is_said(each)), places[0])
            self.refuse(at, wrong.message)

    def _check_knobs(self, own: Switch, profile: SwitchProfile, path: Path) -> None:
        for architecture, names in BUFFER_FIGURES.items():
            for name in names:
                if architecture != profile.architecture and getattr(own, name) is not None:
                    message = f"is only for a switch that is {architecture}; {profile.profile} is"
                    self.refuse((*path, name), f"{message} {profile.architecture}")


def _figures(figures: BaseModel, model: type[BaseModel]) -> dict[str, Any]:
    """The figures of a profile, under their names on the wire."""
    given = {knob.wired: getattr(figures, name) for name, knob in knobs(model).items()}
    return {wired: figure.value for wired, figure in given.items() if figure is not None}


def _queue_of(figures: NicFigures) -> tuple[int | None, int | None, int | None]:
    """The queue of a profile: its length in frames or in driver buffers, and the size of a
    buffer."""
    frames, buffers, size = (
        None if figure is None else figure.value
        for figure in (figures.transmit_queue, figures.buffers, figures.buffer)
    )
    return frames, buffers, size


def _costs_cpu(nic: wire.Nic) -> bool:
    """Whether the interface charges CPU time for each received frame or byte."""
    return bool(nic.receive_frame_ns) or nic.receive_rate_bps is not None


def _waits_in_ring(nic: wire.Nic) -> bool:
    """Whether received frames spend time in the receive ring, even if the CPUs and buses of the
    host are idle."""
    return bool(nic.packet_rate_pps or nic.interrupt_delay_ns or _costs_cpu(nic))


def _settings(made: BaseModel) -> dict[str, Any]:
    """The settings in a model of the wire, by their names in studies."""
    return {name: getattr(made, knob.wired) for name, knob in knobs(type(made)).items()}


def _knobs(own: BaseModel, model: type[BaseModel]) -> dict[str, Any]:
    """The study's own values, under their names on the wire."""
    given = {knob.wired: getattr(own, name) for name, knob in knobs(model).items()}
    return {wired: value for wired, value in given.items() if value is not None}
