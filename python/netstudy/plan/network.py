"""From a study's topology and workload, with a treatment's levels, to the network on the wire.

Each figure comes from the study where it says one, else from the hardware profile, else from the
wire's own default. What does not fit together (more hosts than ports, a figure of another kind of
switch) is refused with its place in the study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from pydantic import BaseModel

from netstudy import wire
from netstudy.documents.problems import Path, fail
from netstudy.hardware import BUFFER_FIGURES, BUFFERS, HardwareLibrary, HostProfile, SwitchProfile
from netstudy.knobs import disorder, knobs
from netstudy.study import Study
from netstudy.study.references import concrete, references, resolve
from netstudy.study.topology import Host, Link, Nic, Switch, TcpKnobs, Topology
from netstudy.study.workload import Incast, Jitter
from netstudy.units import CHECK_SEQUENCE_BYTES, ETHERNET_HEADER_BYTES, format_rate, header_bytes
from netstudy.wire import Level

MTU_DEFAULT = 1500
"""Bytes; the MTU of Ethernet where a study says nothing."""


def whole_tcp(hardware: HardwareLibrary, name: str) -> wire.Tcp:
    """A TCP of the hardware library, as the wire carries it. Raises StudyError if there is none."""
    return wire.Tcp(profile=name, **_tcp_figures(hardware, name))


def _tcp_figures(hardware: HardwareLibrary, name: str) -> dict[str, Any]:
    return _figures(hardware.tcp(name).figures, wire.Tcp)


class Resolver:
    """Turns treatments of one study into what the wire carries; raises StudyError with places."""

    def __init__(self, study: Study, hardware: HardwareLibrary, scale: Fraction) -> None:
        """`hardware` supplies the profiles that the study names; `scale` multiplies all rates."""
        self.study = study
        self.hardware = hardware
        self.scale = scale
        parts = (study.topology, study.workload)
        self._used = sorted({ref.name for part in parts for _, ref in references(part)})
        self._known: dict[str, tuple[wire.Network, wire.Incast]] = {}

    def incast(self, treatment: wire.Treatment) -> tuple[wire.Network, wire.Incast]:
        """The network and the incast of one treatment."""
        levels = self.study.levels_of(treatment)
        # Treatments that differ in nothing the network sees share one: a plan may have many.
        key = repr([levels[name] for name in self._used])
        if key not in self._known:
            self._known[key] = self._resolved(levels)
        return self._known[key]

    def _resolved(self, levels: Mapping[str, Level]) -> tuple[wire.Network, wire.Incast]:
        topology = resolve(self.study.topology, levels)
        spec = resolve(self.study.workload, levels).incast
        assert spec is not None, "only an incast study comes here"
        network = self._network(topology, spec)
        return network, self._workload(spec, network)

    def _network(self, topology: Topology, spec: Incast) -> wire.Network:
        assert topology.switch is not None, "only a topology with a switch comes here"
        names = (spec.client, spec.servers)
        if concrete(topology.groups[spec.client].count) != 1:
            self._refuse((*self._host_path(spec.client), "count"), "an incast has one client")
        self._check_ports(topology, names)
        return wire.Network(
            hosts=tuple(self._host_group(name, topology.groups[name]) for name in names),
            switch=self._switch(topology.switch),
            links=tuple(self._link(name, topology) for name in names),
            shared_clock=concrete(topology.shared_clock),
        )

    def _check_buffer(self, network: wire.Network, response_bytes: int) -> None:
        """A buffer without room for the largest frame loses it each time it is sent, for ever."""
        mtu_bytes = min(link.mtu_bytes for link in network.links)
        packet_bytes = min(mtu_bytes, response_bytes + header_bytes(timestamps=True))
        frame_bytes = packet_bytes + ETHERNET_HEADER_BYTES + CHECK_SEQUENCE_BYTES
        buffer = network.switch.buffer
        if not _holds(buffer, frame_bytes):
            message = f"the empty buffer of {network.switch.profile} has no room for the largest"
            place = ("topology", "switch", next(iter(knobs(type(buffer)))))
            self._refuse(place, f"{message} frame, of {frame_bytes} bytes")

    def _check_order(self, path: Path, made: wire.Tcp | wire.Nic | wire.Switch) -> None:
        """What the study says must go together with what it leaves to profiles."""
        model = type(made)
        values = {name: getattr(made, knob.wired) for name, knob in knobs(model).items()}
        for wrong in disorder(model, values):
            said = (*path, wrong.upper), (*path, wrong.lower)
            known = self.study.document.values
            place = next((each for each in said if each in known), path)
            self._refuse(place, wrong.message)

    def _check_ports(self, topology: Topology, names: Sequence[str]) -> None:
        assert topology.switch is not None
        counts = {name: concrete(topology.groups[name].count) for name in names}
        needed, ports = sum(counts.values()), self._ports(topology.switch)
        if needed > ports:
            said = " and ".join(f"{count:,} {name}" for name, count in counts.items())
            message = f"{needed:,} hosts ({said}) need as many ports, and {topology.switch.profile}"
            self._refuse((*self._host_path(names[-1]), "count"), f"{message} has {ports}")

    def _ports(self, own: Switch) -> int:
        ports: int | None = concrete(own.ports)
        profile = self._switch_profile(own).figures
        return profile.ports.value if ports is None else ports

    def _switch_profile(self, own: Switch) -> SwitchProfile:
        return self.hardware.switch(concrete(own.profile))

    def _host_group(self, name: str, host: Host) -> wire.HostGroup:
        profile_name = concrete(host.profile)
        if profile_name is None:
            self._refuse(self._host_path(name), "needs a profile to be simulated")
        profile = self.hardware.host(profile_name)
        tcp, nic = self._tcp(profile, host.tcp), self._nic(profile, host.nic)
        self._check_order((*self._host_path(name), "tcp"), tcp)
        self._check_order((*self._host_path(name), "nic"), nic)
        return wire.HostGroup(
            name=name,
            count=concrete(host.count),
            profile=profile_name,
            tcp=tcp,
            nic=nic,
            cpu_quota_pct=_whole_percent(concrete(host.cpu_quota)),
        )

    def _tcp(self, profile: HostProfile, own: TcpKnobs) -> wire.Tcp:
        """A TCP that the study names takes the place of the one that the host's profile names, and
        goes before what is different about the host's."""
        named, usual = concrete(own.profile), profile.tcp.profile
        values = _figures(profile.tcp, wire.Tcp)
        if named is not None:
            values |= _tcp_figures(self.hardware, named)
        elif usual is not None:
            values = _tcp_figures(self.hardware, usual) | values
        values |= _knobs(own, wire.Tcp)
        return wire.Tcp(profile=named or usual or profile.profile, **values)

    def _nic(self, profile: HostProfile, own: Nic | None) -> wire.Nic:
        values = _figures(profile.nic, wire.Nic)
        if own is not None and own.profile is not None:
            values |= _figures(self.hardware.nic(concrete(own.profile)).figures, wire.Nic)
        if own is not None:
            values |= _knobs(own, wire.Nic)
        return wire.Nic(**values)

    def _switch(self, own: Switch) -> wire.Switch:
        profile = self._switch_profile(own)
        self._check_knobs(own, profile)
        values = _figures(profile.figures, wire.Switch) | _knobs(own, wire.Switch)
        buffer = BUFFERS[profile.architecture]
        switch = wire.Switch(
            profile=profile.profile,
            buffer=buffer(**(_figures(profile.figures, buffer) | _knobs(own, buffer))),
            **values,
        )
        self._check_order(("topology", "switch"), switch)
        return switch

    def _check_knobs(self, own: Switch, profile: SwitchProfile) -> None:
        for architecture, names in BUFFER_FIGURES.items():
            for name in names:
                if architecture != profile.architecture and getattr(own, name) is not None:
                    message = f"belongs to a switch that is {architecture}; {profile.profile} is"
                    self._refuse(("topology", "switch", name), f"{message} {profile.architecture}")

    def _link(self, name: str, topology: Topology) -> wire.Link:
        found = [link for link in topology.all_links if set(link.between) == {name, "switch"}]
        if len(found) != 1:
            message = f"needs one link from {name} to the switch; it has {len(found)}"
            self._refuse(("topology",), message)
        mtu = concrete(found[0].mtu)
        return wire.Link(
            between=(name, "switch"),
            rate_bps=self._scaled(self._rate(found[0], name, topology), found[0]),
            delay_ns=concrete(found[0].delay) or 0,
            mtu_bytes=MTU_DEFAULT if mtu is None else mtu,
        )

    def _scaled(self, rate_bps: int, link: Link) -> int:
        scaled = int(rate_bps * self.scale)
        try:
            knobs(wire.Link)["rate"].scalar.parse(f"{scaled} bit/s")
        except ValueError as error:
            rate = format_rate(rate_bps)
            self._refuse((*self._link_path(link), "rate"), f"{rate} at {self.scale}: {error}")
        return scaled

    def _rate(self, link: Link, name: str, topology: Topology) -> int:
        """The link's rate, or the most that both its ends carry."""
        limits = self._line_rates(name, topology)
        owner = min(limits, key=lambda end: limits[end])
        rate = concrete(link.rate)
        if rate is not None and rate > limits[owner]:
            message = f"{format_rate(rate)} is above the {format_rate(limits[owner])} of {owner}"
            self._refuse((*self._link_path(link), "rate"), message)
        return limits[owner] if rate is None else rate

    def _line_rates(self, name: str, topology: Topology) -> dict[str, int]:
        assert topology.switch is not None
        switch = self._switch_profile(topology.switch)
        limits = {switch.profile: switch.figures.line_rate.value}
        host = topology.groups[name]
        own = concrete(host.nic.rate) if host.nic else None
        named = concrete(host.nic.profile) if host.nic else None
        profile = concrete(host.profile)
        if own is not None:
            limits[f"the nic of {name}"] = own
        elif named is not None and (figure := self.hardware.nic(named).figures.rate):
            limits[named] = figure.value
        elif profile is not None and (figure := self.hardware.host(profile).nic.rate):
            limits[profile] = figure.value
        return limits

    def _workload(self, spec: Incast, network: wire.Network) -> wire.Incast:
        servers = next(group.count for group in network.hosts if group.name == spec.servers)
        block = concrete(spec.block)
        if block < (servers if concrete(spec.striped) else 1):
            message = f"{block} bytes leave less than one byte for each of {servers} servers"
            self._refuse(("workload", "incast", "block"), message)
        self._check_buffer(network, block // servers if concrete(spec.striped) else block)
        return wire.Incast(
            client=spec.client,
            servers=spec.servers,
            block_bytes=block,
            striped=concrete(spec.striped),
            iterations=concrete(spec.iterations),
            warmup_iterations=concrete(spec.warmup),
            request_bytes=concrete(spec.request),
            request_spacing_ns=concrete(spec.spacing),
            start_jitter=_jitter(spec.jitter),
        )

    def _host_path(self, name: str) -> Path:
        inside = ("hosts", name) if name in self.study.topology.hosts else (name,)
        return ("topology", *inside)

    def _link_path(self, link: Link) -> Path:
        between = [found.between for found in self.study.topology.links]
        return ("topology", "links", between.index(link.between)) if between else _LINK

    def _refuse(self, path: Path, message: str) -> NoReturn:
        fail(self.study.document.problem(path, message))


def _holds(buffer: wire.Buffer, frame_bytes: int) -> bool:
    """Whether a queue of the buffer takes a frame while all else is empty."""
    if isinstance(buffer, wire.OutputQueued):
        return frame_bytes <= buffer.port_buffer_bytes
    if isinstance(buffer, wire.IngressQueued):
        return frame_bytes <= buffer.ingress_buffer_bytes
    cells = -(-frame_bytes // buffer.cell_bytes)
    shared_cells = min(buffer.alpha, 1.0) * (buffer.pool_bytes // buffer.cell_bytes)
    room_cells = buffer.port_reserve_bytes // buffer.cell_bytes + int(shared_cells)
    return buffer.ingress_guarantee_frames > 0 or cells <= room_cells


def _whole_percent(percent: float | None) -> int | None:
    return None if percent is None else max(round(percent), 1)


_LINK: Path = ("topology", "link")


def _figures(figures: BaseModel, model: type[BaseModel]) -> dict[str, Any]:
    """The figures that a profile has, under their names on the wire."""
    given = {knob.wired: getattr(figures, name) for name, knob in knobs(model).items()}
    return {wired: figure.value for wired, figure in given.items() if figure is not None}


def _knobs(own: BaseModel, model: type[BaseModel]) -> dict[str, Any]:
    """What the study itself says, under the names on the wire."""
    given = {knob.wired: getattr(own, name) for name, knob in knobs(model).items()}
    return {wired: value for wired, value in given.items() if value is not None}


def _jitter(jitter: Jitter) -> wire.NoJitter | wire.UniformJitter | wire.ExponentialJitter:
    if jitter.exponential is not None:
        return wire.ExponentialJitter(mean_ns=concrete(jitter.exponential))
    if jitter.uniform is not None:
        return wire.UniformJitter(max_ns=concrete(jitter.uniform))
    return wire.NoJitter()
