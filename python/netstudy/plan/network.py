"""Hosts, interfaces and switches, from a study and the hardware library to the wire.

Each figure comes from the study where it says one, else from the hardware profile, else from the
wire's own default. A figure of another kind of switch is refused with its place in the study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import BaseModel

from netstudy import wire
from netstudy.documents.problems import Path
from netstudy.hardware import BUFFER_FIGURES, HardwareLibrary, HostProfile, SwitchProfile
from netstudy.study.references import concrete
from netstudy.study.topology import Host, Nic, Switch, TcpKnobs

Refuse = Callable[[Path, str], NoReturn]
"""Refuses a part of the study, by its path and in words."""

BYSTANDER = "none"
"""Profile of a host without one, which is a place to measure from and takes no part."""
_BYSTANDER_TCP = "rfc"

_TCP_FIELDS = {
    "congestion_control": "congestion_control",
    "recovery": "recovery",
    "rack": "rack",
    "tail_loss_probe": "tail_loss_probe",
    "sack": "sack",
    "timestamps": "timestamps",
    "ecn": "ecn",
    "initial_window": "initial_window_segments",
    "rto_rule": "rto_rule",
    "initial_rto": "initial_rto_ns",
    "min_rto": "min_rto_ns",
    "max_rto": "max_rto_ns",
    "clock_tick": "clock_tick_ns",
    "delayed_ack": "delayed_ack_ns",
    "ack_every": "ack_every_segments",
    "quick_ack": "quick_ack_segments",
    "ack_pushed": "ack_pushed",
    "read_at_once": "read_at_once_pct",
    "restart_after_idle": "restart_after_idle",
    "offload_burst": "offload_burst_bytes",
    "offload_rule": "offload_rule",
    "send_buffer": "send_buffer_bytes",
    "receive_buffer": "receive_buffer_bytes",
}
"""Name in studies and profiles -> name on the wire, which carries the unit."""

_NIC_FIELDS = {
    "send_latency": "send_latency_ns",
    "receive_latency": "receive_latency_ns",
    "receive_jitter": "receive_jitter_ns",
    "receive_per_frame": "receive_frame_ns",
    "receive_rate": "receive_rate_bps",
    "transmit_queue": "transmit_queue_frames",
    "packet_rate": "packet_rate_pps",
    "receive_ring": "receive_ring_frames",
    "interrupt_delay": "interrupt_delay_ns",
    "poll_weight": "poll_weight_frames",
    "receive_merge": "receive_merge_bytes",
    "honours_pause": "honours_pause",
    "pause_high": "pause_high_frames",
    "pause_low": "pause_low_frames",
    "pause_quanta": "pause_quanta",
}

_SWITCH_FIELDS = {
    "ports": "ports",
    "forwarding": "forwarding",
    "latency": "latency_ns",
    "ecn_threshold": "ecn_threshold_bytes",
    "honours_pause": "honours_pause",
    "pause_high": "pause_high_bytes",
    "pause_low": "pause_low_bytes",
    "pause_quanta": "pause_quanta",
}

_BUFFER_FIELDS = {
    "port_buffer": "port_buffer_bytes",
    "pool": "pool_bytes",
    "port_reserve": "port_reserve_bytes",
    "cell": "cell_bytes",
    "alpha": "alpha",
    "ingress_guarantee": "ingress_guarantee_frames",
    "ingress_buffer": "ingress_buffer_bytes",
    "egress_buffer": "egress_buffer_bytes",
    "random_arbitration": "random_arbitration_pct",
}

_BUFFERS: Mapping[
    str, type[wire.OutputQueued] | type[wire.SharedMemory] | type[wire.IngressQueued]
] = {
    "output-queued": wire.OutputQueued,
    "shared-memory": wire.SharedMemory,
    "ingress-queued": wire.IngressQueued,
}


def whole_tcp(hardware: HardwareLibrary, name: str) -> wire.Tcp:
    """A TCP of the hardware library, as the wire carries it. Raises StudyError if there is none."""
    return wire.Tcp(profile=name, **_tcp_figures(hardware, name))


def _tcp_figures(hardware: HardwareLibrary, name: str) -> dict[str, Any]:
    return _figures(hardware.tcp(name).figures, _TCP_FIELDS)


@dataclass(frozen=True)
class Devices:
    """Looks hosts, interfaces and switches up; raises StudyError with places."""

    hardware: HardwareLibrary
    refuse: Refuse

    def group(self, name: str, host: Host, path: Path, *, takes_part: bool) -> wire.Group:
        """What the hosts of a group have in common; `path` leads to it in the study."""
        named = concrete(host.profile)
        if named is None and takes_part:
            self.refuse(path, "needs a profile to be simulated")
        return wire.Group(
            name=name,
            profile=named or BYSTANDER,
            tcp=self._tcp(None if named is None else self.hardware.host(named), host.tcp),
            nic=wire.Nic(**self._nic(host)),
            cpu_quota_pct=_whole_percent(concrete(host.cpu_quota)),
        )

    def nic_of_link(self, host: Host, own: Nic) -> wire.Nic:
        """The interface of a host at a link that says what is different about it."""
        return wire.Nic(**(self._nic(host) | self._own_nic(own)))

    def line_rates(self, name: str, host: Host, at_link: Nic | None) -> dict[str, int]:
        """The rate that the interface of a host has, by what says so; empty where nothing does."""
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
        """A switch; `path` leads to it in the study."""
        profile = self.switch_profile(own)
        self._check_knobs(own, profile, path)
        values = _figures(profile.figures, _SWITCH_FIELDS) | _knobs(own, _SWITCH_FIELDS)
        buffer = {name: _BUFFER_FIELDS[name] for name in BUFFER_FIGURES[profile.architecture]}
        return wire.Switch(
            name=name,
            profile=profile.profile,
            buffer=_BUFFERS[profile.architecture](
                **(_figures(profile.figures, buffer) | _knobs(own, buffer))
            ),
            **values,
        )

    def switch_profile(self, own: Switch) -> SwitchProfile:
        """The profile of a switch."""
        return self.hardware.switch(concrete(own.profile))

    def _tcp(self, profile: HostProfile | None, own: TcpKnobs) -> wire.Tcp:
        """A TCP that the study names takes the place of the one that the host's profile names, and
        goes before what is different about the host's."""
        named = concrete(own.profile)
        usual = _BYSTANDER_TCP if profile is None else profile.tcp.profile
        values = {} if profile is None else _figures(profile.tcp, _TCP_FIELDS)
        if named is not None:
            values |= _tcp_figures(self.hardware, named)
        elif usual is not None:
            values = _tcp_figures(self.hardware, usual) | values
        values |= _knobs(own, _TCP_FIELDS)
        own_name = BYSTANDER if profile is None else profile.profile
        return wire.Tcp(profile=named or usual or own_name, **values)

    def _nic(self, host: Host) -> dict[str, Any]:
        profile = concrete(host.profile)
        values = {} if profile is None else _figures(self.hardware.host(profile).nic, _NIC_FIELDS)
        return values if host.nic is None else values | self._own_nic(host.nic)

    def _own_nic(self, own: Nic) -> dict[str, Any]:
        named = concrete(own.profile)
        values = {} if named is None else _figures(self.hardware.nic(named).figures, _NIC_FIELDS)
        return values | _knobs(own, _NIC_FIELDS)

    def _check_knobs(self, own: Switch, profile: SwitchProfile, path: Path) -> None:
        for architecture, names in BUFFER_FIGURES.items():
            for name in names:
                if architecture != profile.architecture and getattr(own, name) is not None:
                    message = f"belongs to a switch that is {architecture}; {profile.profile} is"
                    self.refuse((*path, name), f"{message} {profile.architecture}")


def _whole_percent(percent: float | None) -> int | None:
    return None if percent is None else max(round(percent), 1)


def _figures(figures: BaseModel, fields: Mapping[str, str]) -> dict[str, Any]:
    """The figures that a profile has, under their names on the wire."""
    given = {wired: getattr(figures, name) for name, wired in fields.items()}
    return {wired: figure.value for wired, figure in given.items() if figure is not None}


def _knobs(own: BaseModel, fields: Mapping[str, str]) -> dict[str, Any]:
    """What the study itself says, under the names on the wire."""
    given = {wired: getattr(own, name) for name, wired in fields.items()}
    return {wired: value for wired, value in given.items() if value is not None}
