"""Hosts, interfaces and switches, from a study and the hardware library to the wire.

Each figure comes from the study if it gives one, else from the hardware profile, else from the
wire's own default. A figure of another kind of switch is refused with its place in the study.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel

from netstudy import wire
from netstudy.documents.problems import Path
from netstudy.hardware import (
    BUFFER_FIGURES,
    BUFFERS,
    HardwareLibrary,
    HostProfile,
    NicFigures,
    SwitchProfile,
)
from netstudy.knobs import disorder, knobs, without_effect
from netstudy.study.references import concrete
from netstudy.study.topology import Host, LinkProperties, Nic, Switch, TcpKnobs

WireT = TypeVar("WireT", bound=wire.Wire)

Refuse = Callable[[Path, str], NoReturn]
"""Refuses a part of the study, by its path and with a message."""

BYSTANDER = "none"
"""Profile of a host without one, which only measures and takes no part."""
_BYSTANDER_TCP = "rfc"
_FRAME_BYTES = 1_514
"""A frame of Ethernet with an MTU of 1500, as drivers store it."""


def whole_tcp(hardware: HardwareLibrary, name: str) -> wire.Tcp:
    """A TCP of the hardware library on the wire. Raises StudyError if there is none of that
    name."""
    return wire.Tcp(profile=name, **_tcp_figures(hardware, name))


def _tcp_figures(hardware: HardwareLibrary, name: str) -> dict[str, Any]:
    return _figures(hardware.tcp(name).figures, wire.Tcp)


@dataclass(frozen=True)
class Devices:
    """Looks up hosts, interfaces and switches; raises StudyError with places."""

    hardware: HardwareLibrary
    refuse: Refuse
    is_said: Callable[[Path], bool]
    """Whether the study sets a value at a path."""

    def group(self, name: str, host: Host, path: Path, *, works: bool = False) -> wire.Group:
        """The common properties of a group's hosts; `path` is the group's place in the study.

        `works`: the workload takes time of their CPUs, whatever packets cost.
        """
        named = concrete(host.profile)
        tcp = self._tcp(None if named is None else self.hardware.host(named), host.tcp)
        nic = wire.Nic(**self._nic(host, path))
        self._check_order((*path, "tcp"), tcp)
        self._check_order((*path, "nic"), nic)
        return wire.Group(
            name=name,
            profile=named or BYSTANDER,
            tcp=tcp,
            nic=nic,
            cpu_quota_pct=concrete(host.cpu_quota),
            local_path=self._simulated(host, wire.LocalPath, "local_path"),
            memory_bytes=concrete(host.memory),
            cpu=self._cpu(host, nic, path, works=works),
            bus=self._simulated(host, wire.Bus, "bus"),
            disk=self._simulated(host, wire.Disk, "disk"),
        )

    def nic_of_link(self, host: Host, link: LinkProperties, path: Path) -> wire.Nic:
        """The interface of a host at a link with its own settings; `path` is the link's place."""
        values = self._nic(host, path)
        if link.nic is not None:
            values |= self._own_nic(host, link.nic, (*path, "nic"))
        if (buffers := concrete(link.buffers)) is not None:
            if link.nic is not None and {link.nic.buffers, link.nic.transmit_queue} != {None}:
                self.refuse((*path, "buffers"), "is said twice, here and under nic")
            values |= {"transmit_queue_frames": buffers * self._buffer_frames(host, link.nic)}
        return wire.Nic(**values)

    def line_rates(self, name: str, host: Host, at_link: Nic | None) -> dict[str, int]:
        """The rate of a host's interface, by the name of its source; empty if no source gives
        one."""
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
        buffer = BUFFERS[profile.architecture]
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

    def _tcp(self, profile: HostProfile | None, own: TcpKnobs) -> wire.Tcp:
        """The TCP of a host. A TCP that the study names replaces the one of the host's profile, and
        overrides the profile's differences from it."""
        named = concrete(own.profile)
        usual = _BYSTANDER_TCP if profile is None else profile.tcp.profile
        values = {} if profile is None else _figures(profile.tcp, wire.Tcp)
        if named is not None:
            values |= _tcp_figures(self.hardware, named)
        elif usual is not None:
            values = _tcp_figures(self.hardware, usual) | values
        values |= _knobs(own, wire.Tcp)
        own_name = BYSTANDER if profile is None else profile.profile
        return wire.Tcp(profile=named or usual or own_name, **values)

    def _cpu(self, host: Host, nic: wire.Nic, path: Path, *, works: bool) -> wire.Cpu | None:
        """The simulated CPUs of a host; None if work costs none."""
        cpus = concrete(host.cpus)
        cpu = self._simulated(host, wire.Cpu, "cpu")
        if works and cpus is None and (host.cpu is None or host.cpu.cpus is None):
            cpus = self._known_cpus(host)
        if cpu is None and works and cpus is not None:
            cpu = wire.Cpu()
        if cpu is None:
            if cpus is not None:
                message = "has no effect where no work costs CPU time; say its costs under cpu"
                self.refuse((*path, "cpus"), message)
            return None
        if cpus is not None and host.cpu is not None and host.cpu.cpus is not None:
            self.refuse((*path, "cpus"), "is said twice, here and under cpu")
        if nic.receive_frame_ns or nic.receive_rate_bps is not None:
            message = (
                "received packets cost CPU time at the interface (receive_per_frame, receive_rate) "
                "and at the CPUs; say it once"
            )
            self.refuse((*path, "nic") if host.nic is not None else path, message)
        return cpu if cpus is None else cpu.model_copy(update={"cpus": cpus})

    def _known_cpus(self, host: Host) -> int | None:
        """CPUs of a host by its profile."""
        named = concrete(host.profile)
        figure = None if named is None else self.hardware.host(named).figures.cpus
        return None if figure is None else figure.value

    def _simulated(self, host: Host, model: type[WireT], section: str) -> WireT | None:
        """A part of a host that only the simulator has; None if neither the study nor the profile
        says anything of it."""
        named = concrete(host.profile)
        figures = None if named is None else getattr(self.hardware.host(named), section)
        own = getattr(host, section)
        if figures is None and own is None:
            return None
        values = {} if figures is None else _figures(figures, model)
        return model(**(values if own is None else values | _knobs(own, model)))

    def _nic(self, host: Host, path: Path) -> dict[str, Any]:
        profile = concrete(host.profile)
        values = {} if profile is None else _nic_figures(self.hardware.host(profile).nic)
        if host.nic is None:
            return values
        return values | self._own_nic(host, host.nic, (*path, "nic"))

    def _own_nic(self, host: Host, own: Nic, path: Path) -> dict[str, Any]:
        named, buffers = concrete(own.profile), concrete(own.buffers)
        values = {} if named is None else _nic_figures(self.hardware.nic(named).figures)
        if buffers is not None:
            if own.transmit_queue is not None:
                self.refuse((*path, "buffers"), "is said twice, here and as transmit_queue")
            values |= {"transmit_queue_frames": buffers * self._buffer_frames(host, own)}
        elif own.buffer is not None:
            self.refuse((*path, "buffer"), "has no effect without buffers")
        return values | _knobs(own, wire.Nic)

    def _buffer_frames(self, host: Host, at_link: Nic | None) -> int:
        """Frames of the usual MTU that fit into a buffer of a host's interface: by the study,
        else by the profiles; without a size a buffer holds one."""
        size: int | None = None
        if (named := concrete(host.profile)) is not None:
            size = _buffer_bytes(self.hardware.host(named).nic)
        for own in (host.nic, at_link):
            if own is None:
                continue
            if (profile := concrete(own.profile)) is not None:
                size = _buffer_bytes(self.hardware.nic(profile).figures) or size
            size = concrete(own.buffer) or size
        return 1 if size is None else max(1, size // _FRAME_BYTES)

    def _check_order(self, path: Path, made: wire.Tcp | wire.Nic | wire.Switch) -> None:
        """The study's values must be consistent with those that it leaves to profiles."""
        model = type(made)
        values = {name: getattr(made, knob.wired) for name, knob in knobs(model).items()}
        for wrong in disorder(model, values):
            said = (*path, wrong.upper), (*path, wrong.lower)
            place = next((each for each in said if self.is_said(each)), path)
            self.refuse(place, wrong.message)
        for name, needed in without_effect(model, values):
            if self.is_said((*path, name)):
                self.refuse((*path, name), f"has no effect without {needed}")

    def _check_knobs(self, own: Switch, profile: SwitchProfile, path: Path) -> None:
        for architecture, names in BUFFER_FIGURES.items():
            for name in names:
                if architecture != profile.architecture and getattr(own, name) is not None:
                    message = f"belongs to a switch that is {architecture}; {profile.profile} is"
                    self.refuse((*path, name), f"{message} {profile.architecture}")


def holds(buffer: wire.Buffer, frame_bytes: int) -> bool:
    """Whether a queue of the buffer accepts a frame while everything else is empty."""
    if isinstance(buffer, wire.OutputQueued):
        return frame_bytes <= buffer.port_buffer_bytes
    if isinstance(buffer, wire.IngressQueued):
        taken = -(-frame_bytes // buffer.ingress_cell_bytes) * buffer.ingress_cell_bytes
        needed = taken * max(buffer.ingress_reserve_frames, 1) + buffer.ingress_hysteresis_bytes
        return needed <= buffer.ingress_buffer_bytes
    cells = -(-frame_bytes // buffer.cell_bytes)
    shared_cells = min(buffer.alpha, 1.0) * (buffer.pool_bytes // buffer.cell_bytes)
    room_cells = buffer.port_reserve_bytes // buffer.cell_bytes + int(shared_cells)
    return buffer.ingress_guarantee_frames > 0 or cells <= room_cells


def _figures(figures: BaseModel, model: type[BaseModel]) -> dict[str, Any]:
    """The figures of a profile, under their names on the wire."""
    given = {knob.wired: getattr(figures, name) for name, knob in knobs(model).items()}
    return {wired: figure.value for wired, figure in given.items() if figure is not None}


def _nic_figures(figures: NicFigures) -> dict[str, Any]:
    """The figures of an interface: frames wait in the buffers of its driver."""
    waits = {}
    if figures.buffers is not None:
        each = max(1, (_buffer_bytes(figures) or 0) // _FRAME_BYTES)
        waits = {"transmit_queue_frames": figures.buffers.value * each}
    return waits | _figures(figures, wire.Nic)


def _buffer_bytes(figures: NicFigures) -> int | None:
    return None if figures.buffer is None else figures.buffer.value


def _knobs(own: BaseModel, model: type[BaseModel]) -> dict[str, Any]:
    """The study's own values, under their names on the wire."""
    given = {knob.wired: getattr(own, name) for name, knob in knobs(model).items()}
    return {wired: value for wired, value in given.items() if value is not None}
