"""Compares hosts with the needs of a plan, and gives advice for each missing part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Final

from netstudy import wire
from netstudy.documents.problems import listed
from netstudy.errors import TestbedError
from netstudy.hardware import HardwareLibrary
from netstudy.inventory import HostEntry, Inventory
from netstudy.testbed.real.kernel_tcp import KernelRelease, control_name
from netstudy.testbed.ssh.host_tcp import (
    FORGET_METRICS,
    congestion_controls,
    differences,
    keeps_metrics,
)
from netstudy.testbed.ssh.host_wire import HostInterface, ReachedRecord
from netstudy.testbed.ssh.hosts import OpenHost, open_each
from netstudy.testbed.ssh.look import Looked, PathLooked, look, look_at_paths, offset_ns
from netstudy.testbed.ssh.needs import InterfaceNeeds, Needs, Place
from netstudy.testbed.ssh.trial import Trial, pairs_of, trials
from netstudy.units import format_duration, format_rate, rough_size

_FREE_BYTES_MIN: Final = 100_000_000
_OPENAT2: Final = (5, 6)
"""The first Linux with openat2."""
_PERFORMANCE: Final = "performance"
_NS_PER_S: Final = 1e9
_NS_PER_US: Final = 1e3


@dataclass(frozen=True)
class HostAspect:
    """A property of a host, or of a path between two hosts."""

    host: str
    """The host, or both ends of the path."""
    name: str
    ok: bool
    found: str
    advice: str | None = None
    """How to mend it."""
    needed: bool = True
    """Whether runs are impossible without it."""


async def aspects(
    inventory: Inventory, needs: Needs, file: str, *, probe: bool = False
) -> list[HostAspect]:
    """Every aspect of the hosts and paths in `needs`, also if some hosts cannot be used. `file` is
    the inventory's. With `probe`, hosts send each other trial traffic."""
    async with open_each(inventory, needs.hosts) as opened:
        found = await aspects_of(opened, inventory, needs, file)
        return [*found, *await _trials(opened, inventory, needs, found)] if probe else found


async def aspects_of(
    opened: Mapping[str, OpenHost | TestbedError], inventory: Inventory, needs: Needs, file: str
) -> list[HostAspect]:
    """Every aspect of hosts whose sessions are open, and of the paths between them. The error of a
    host that has none is an aspect too."""
    found: list[HostAspect] = []
    hosts = {name: one for name, one in opened.items() if isinstance(one, OpenHost)}
    seen = await look([one.session for one in hosts.values()])
    by_host = {**opened, **dict(zip(hosts, seen, strict=True))}
    looked: dict[str, Looked] = {}
    for name, one in by_host.items():
        if isinstance(one, TestbedError):
            said = str(one).removeprefix(f"{name}: ")
            found.append(HostAspect(name, "session", False, said))
        elif isinstance(one, Looked):
            looked[name] = one
            found += host_aspects(hosts[name], one, inventory, needs, file)
    paths = await look_at_paths(hosts, looked, needs, inventory)
    found += [aspect for path in paths for aspect in path_aspects(path, needs)]
    return found


def host_aspects(
    opened: OpenHost, looked: Looked, inventory: Inventory, needs: Needs, file: str
) -> Iterator[HostAspect]:
    """The aspects of one host."""
    name = opened.session.host
    entry = inventory.hosts[name]
    hello = opened.session.hello
    yield HostAspect(name, "log-in", True, f"{entry.ssh} as {hello.user} (uid {hello.uid})")
    yield _printed(name, opened.probed.printed)
    yield HostAspect(
        name,
        "system",
        True,
        f"Linux {hello.kernel}, {hello.architecture}, {hello.cpus} CPUs",
    )
    yield from _disks(name, entry, opened.probed.free_bytes)
    if name in needs.storing:
        yield from _files(name, KernelRelease(hello.kernel))
    groups = needs.groups.get(name, [])
    yield _controls(name, hello.uid, looked, {control_name(group.tcp) for group in groups})
    yield from _tcp(name, looked, groups)
    yield _clock(name, looked)
    for (host, address), wanted in needs.interfaces.items():
        if host == name:
            yield from _interface(name, address, wanted, looked, entry.rate_bps(address), file)
    yield _governor(name, looked.governors)
    yield from _activity(name, looked, inventory, needs)


def _printed(host: str, printed: Sequence[str]) -> HostAspect:
    if not printed:
        return HostAspect(host, "start files", True, "print nothing")
    first = printed[0][:60]
    lines = "a line" if len(printed) == 1 else f"{len(printed)} lines"
    found = f'print {lines}: "{first}"'
    advice = (
        "netstudy leaves these lines out; other programs may not: print only for terminals, after "
        "`case $- in *i*)` in .bashrc"
    )
    return HostAspect(host, "start files", False, found, advice, needed=False)


def _disks(host: str, entry: HostEntry, free_bytes: tuple[int, int] | None) -> Iterator[HostAspect]:
    if free_bytes is None:
        yield HostAspect(host, "disk", False, "df says nothing", needed=False)
        return
    folders = {entry.engine: free_bytes[0]}
    if entry.files is not None:
        folders[entry.files] = free_bytes[1]
    for folder, free in folders.items():
        yield HostAspect(
            host,
            "disk",
            free >= _FREE_BYTES_MIN,
            f"{rough_size(free)} free for {folder}",
            "free some space, or name another folder in the inventory",
            needed=False,
        )


def _files(host: str, kernel: KernelRelease) -> Iterator[HostAspect]:
    """Agents open files by openat2(2)."""
    if kernel.version < _OPENAT2:
        found = "{} has {}; files need Linux {}.{} or later".format(host, kernel.name, *_OPENAT2)
        advice = "leave from and to out in the study: data are then made and discarded in memory"
        yield HostAspect(host, "files", False, found, advice)


def _controls(host: str, uid: int, looked: Looked, wanted: set[str]) -> HostAspect:
    """Congestion controls. Root may choose every loaded one (tcp_set_congestion_control)."""
    available, may_choose = congestion_controls(looked.tcp)
    usable = available if uid == 0 else may_choose
    missing = sorted(wanted - usable)
    found = ", ".join(sorted(usable))
    if not missing:
        return HostAspect(host, "congestion", True, found)
    allowed = " ".join(sorted({*may_choose, *missing}))
    modules = " ".join(f"tcp_{one}" for one in missing if one not in available)
    load = f"sudo modprobe -a {modules} && " if modules else ""
    advice = f'{load}sudo sysctl net.ipv4.tcp_allowed_congestion_control="{allowed}"'
    return HostAspect(
        host, "congestion", False, f"{host} lacks {listed(missing)}; it has {found}", advice
    )


def _tcp(host: str, looked: Looked, groups: Sequence[wire.Group]) -> Iterator[HostAspect]:
    """The other settings of TCP: one that the study asks for is needed, one that only a profile
    describes is not."""
    library = HardwareLibrary.default()
    found = dict.fromkeys(
        one for group in groups for one in differences(group, looked.tcp, library)
    )
    for one in found:
        advice = one.command or "leave it out in the study's variant for hosts, or use netns"
        described = "" if one.is_asked else "; only the profile of the study says so"
        said = f"{one}{described}"
        yield HostAspect(host, "TCP", False, said, advice, needed=one.is_asked)
    if keeps_metrics(looked.tcp):
        said = "connections inherit ssthresh from earlier ones, so that runs are not independent"
        yield HostAspect(host, "TCP", False, said, FORGET_METRICS, needed=False)


def _clock(host: str, looked: Looked) -> HostAspect:
    least, most = offset_ns(looked.pings)
    if least > most:
        found = "jumped while it was read"
        return HostAspect(host, "clock", False, found, "is something setting it?", needed=False)
    middle_s, bound_us = (least + most) / 2 / _NS_PER_S, (most - least) / 2 / _NS_PER_US
    found = f"{middle_s:+.6f} s to the clock here, known to ± {bound_us:.0f} us"
    return HostAspect(host, "clock", True, found)


def _interface(
    host: str,
    address: IPv4Address,
    wanted: InterfaceNeeds,
    looked: Looked,
    given_bps: int | None,
    file: str,
) -> Iterator[HostAspect]:
    """`given_bps` is the rate that the inventory gives; None: that of the interface counts."""
    device = looked.device_of(address)
    if device is None:
        there = listed(
            [
                f"{own.partition('/')[0]} ({one.device})"
                for one in looked.interfaces
                for own in one.addresses
                if one.device != "lo"
            ]
        )
        found = f"{host} does not have {address}; it has {there}"
        advice = f"correct the address in {file}, or ssh: if the name leads to another host"
        yield HostAspect(host, "address", False, found, advice)
        return
    if given_bps is not None:
        device = device.model_copy(update={"speed_bps": given_bps})
    yield _link(host, address, wanted, device)
    if device.offloads is not None:
        found = f"{device.device}: {', '.join(device.offloads) or 'none on'}"
        yield HostAspect(host, "offloads", True, found)


def _link(
    host: str, address: IPv4Address, wanted: InterfaceNeeds, device: HostInterface
) -> HostAspect:
    name = device.device
    rate = "rate unknown" if device.speed_bps is None else format_rate(device.speed_bps)
    duplex = f", {device.duplex} duplex" if device.duplex else ""
    found = f"{name} has {address}, {rate}{duplex}, MTU {device.mtu}"
    for said, advice in _link_faults(wanted, device):
        return HostAspect(host, "interface", False, f"{found}; {said}", advice)
    is_known = device.speed_bps is not None or not wanted.rates_bps
    unknown = None if is_known else "whether it keeps the study's rate is not known"
    return HostAspect(host, "interface", is_known, found, unknown, needed=False)


def _link_faults(wanted: InterfaceNeeds, device: HostInterface) -> Iterator[tuple[str, str]]:
    """Each fault of an interface, with the advice for it."""
    name = device.device
    if wanted.device is not None and wanted.device != name:
        yield f"the inventory says {wanted.device}", f"write device: {name}, or leave it out"
    if not device.up:
        yield "it is down, or has no carrier", f"sudo ip link set dev {name} up, or plug it in"
    if device.duplex == "half":
        yield "half duplex loses frames", "let both ends of the cable negotiate: autoneg on"
    wrong = sorted(wanted.rates_bps - {device.speed_bps})
    if wrong and device.speed_bps is not None:
        rates = listed([format_rate(one) for one in wrong])
        yield (
            f"the study's link has {rates}",
            f"in the study's variant for hosts: rate: {format_rate(device.speed_bps)}, no scale; "
            "or, if the interface does not know the rate, rate: at its address in the inventory",
        )
    if odd := sorted(wanted.mtus_bytes - {device.mtu}):
        mtus = listed([str(one) for one in odd])
        yield (
            f"the study's link has an MTU of {mtus}",
            f"in the study: mtu: {device.mtu}; or on the host: sudo ip link set dev {name} mtu "
            f"{odd[0]}",
        )


def _governor(host: str, governors: Sequence[str]) -> HostAspect:
    if not governors:
        return HostAspect(host, "governor", True, "the CPUs have none", needed=False)
    ok = tuple(governors) == (_PERFORMANCE,)
    advice = f"for an even speed of the CPUs: sudo cpupower frequency-set -g {_PERFORMANCE}"
    return HostAspect(host, "governor", ok, ", ".join(governors), None if ok else advice, False)


def _activity(
    host: str, looked: Looked, inventory: Inventory, needs: Needs
) -> Iterator[HostAspect]:
    """The activity of others on the host, since no run has begun."""
    percent, most = 100 * looked.activity.cpu_share, inventory.allow.other_cpu
    yield HostAspect(
        host,
        "other load",
        percent <= most,
        f"{percent:.1f} % of the CPUs are busy, allow.other_cpu is {most:g} %",
        "end other programs there, or raise allow.other_cpu; runs beyond it are repeated",
        needed=False,
    )
    for own, address in needs.interfaces:
        device = looked.device_of(address) if own == host else None
        if device is None:
            continue
        bps = looked.activity.traffic_bps.get(device.device, 0.0)
        allowed = inventory.allow.other_traffic
        rate_bps = inventory.hosts[host].rate_bps(address) or device.speed_bps
        share = None if not rate_bps else 100 * bps / rate_bps
        yield HostAspect(
            host,
            "other traffic",
            share is None or share <= allowed,
            f"{bps / 1e6:.2f} Mbit/s at {device.device}, allow.other_traffic is {allowed:g} %",
            "end other traffic there, or raise allow.other_traffic; runs beyond it are repeated",
            needed=False,
        )


def path_aspects(path: PathLooked, needs: Needs) -> Iterator[HostAspect]:
    """The aspects of one path."""
    ends = _ends(path.client, path.server)
    address, port = path.server[1], path.port
    if isinstance(path.reached, TestbedError):
        found = f"{path.server[0]} cannot listen on {address} port {port}: {path.reached}"
        yield HostAspect(ends, "port", False, found, "choose other ports: in the inventory")
        return
    reached = path.reached
    if reached.tcp is not None:
        found = f"{address} port {port} does not answer {path.client[0]}: {reached.tcp}"
        yield HostAspect(ends, "port", False, found, _open_firewall(path.client, port))
        return
    yield _answers(ends, path, reached, needs.paths.get((path.client, path.server), set()))
    yield _packets(ends, path, reached)


def _open_firewall(client: Place, port: int) -> str:
    return (
        f"let the firewall pass TCP from {client[1]} to port {port}, and name the open ports in "
        "the inventory: ports: FIRST-LAST"
    )


def _answers(
    ends: str, path: PathLooked, reached: ReachedRecord, round_trips_ns: set[int]
) -> HostAspect:
    """A path whose port answers; the round trip must not be shorter than the study's links make
    it."""
    assert reached.connect_ns is not None, "a connection was opened"
    within = f"{path.server[1]} port {path.port} answers within {reached.connect_ns / 1e6:.2f} ms"
    longer = [one for one in round_trips_ns if one > reached.connect_ns]
    if longer:
        found = f"{within}; the study's links take {format_duration(max(longer))} there and back"
        return HostAspect(ends, "port", False, found, "leave delay out in the variant for hosts")
    return HostAspect(ends, "port", True, within)


def _packets(ends: str, path: PathLooked, reached: ReachedRecord) -> HostAspect:
    largest = reached.largest_bytes
    if largest is None:
        found = "not known: datagrams do not pass (UDP), connections do"
        return HostAspect(ends, "path MTU", False, found, None, needed=False)
    wanted = path.sizes[0]
    if largest == wanted:
        return HostAspect(ends, "path MTU", True, f"packets of {largest} bytes pass")
    told = "" if reached.told_mtu_bytes is None else f" (the path says {reached.told_mtu_bytes})"
    found = f"packets of {wanted} bytes do not pass, of {largest} they do{told}"
    advice = f"set the MTU of the switches to {wanted}, or that of both interfaces to {largest}"
    return HostAspect(ends, "path MTU", False, found, advice)


async def _trials(
    opened: Mapping[str, OpenHost | TestbedError],
    inventory: Inventory,
    needs: Needs,
    found: Sequence[HostAspect],
) -> list[HostAspect]:
    """The rates between hosts that lack nothing."""
    lacking = {one.host for one in found if not one.ok and one.needed}
    hosts = {name: one for name, one in opened.items() if isinstance(one, OpenHost)}
    pairs = pairs_of(needs)
    usable = [pair for pair in pairs if not lacking & {pair[0][0], pair[1][0], _ends(*pair)}]
    tried = [trial_aspect(one) for one in await trials(hosts, usable, inventory)]
    left_out = [_ends(*pair) for pair in pairs if pair not in usable]
    said = "not tried, since something is missing"
    return [*tried, *(HostAspect(one, "trial", False, said, needed=False) for one in left_out)]


def _ends(client: Place, server: Place) -> str:
    return f"{client[0]} - {server[0]}"


def trial_aspect(trial: Trial) -> HostAspect:
    """The rate of a trial transfer."""
    way = f"from {trial.sender[0]} to {trial.receiver[0]}"
    ends = _ends(*trial.ends)
    if isinstance(trial.goodput_bps, TestbedError):
        return HostAspect(ends, "trial", False, f"{way}: {trial.goodput_bps}", needed=False)
    rates = " and ".join(
        "an unknown rate" if one is None else format_rate(one) for one in trial.rates_bps
    )
    found = f"{way}: {trial.goodput_bps / 1e6:,.1f} Mbit/s of data; their links have {rates}"
    return HostAspect(ends, "trial", True, found)


def refuse_missing(found: Sequence[HostAspect]) -> None:
    """Raises TestbedError with each aspect without which runs are impossible, and how to mend
    it."""
    lacking = [one for one in found if not one.ok and one.needed]
    if lacking:
        lines = (f"{one.host}: {one.found}" + _how(one.advice) for one in lacking)
        raise TestbedError("the hosts are not ready:" + "".join(f"\n  - {one}" for one in lines))


def _how(advice: str | None) -> str:
    return "" if advice is None else f" ({advice})"
