"""Parts of a plan that namespaces on this machine do not support. Each of these parts is refused by
name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from netstudy import wire
from netstudy.documents.problems import listed
from netstudy.errors import TestbedError
from netstudy.testbed.controls import asking
from netstudy.testbed.netns import kernel_path
from netstudy.testbed.netns.application_limits import (
    application_notes,
    application_refusals,
    imposed_on,
)
from netstudy.testbed.netns.kernel import Kernel
from netstudy.testbed.netns.kernel_tcp import departures, kernel_tcp, missing_control
from netstudy.testbed.netns.layout import Layout, Switching, make_layout
from netstudy.testbed.netns.sysstat import recorder_refusals
from netstudy.testbed.real.host_queues import host_queues
from netstudy.testbed.real.secrets import secret
from netstudy.testbed.workloads import served_by, traffic_of
from netstudy.testbed.workloads.base import ApplicationTraffic

_OF_ANOTHER_TCP = ("fack", "rfc")


def unsupported(plan: wire.Plan, switching: Switching, kernel: Kernel) -> list[str]:
    """One sentence for each unsupported part; empty when the whole plan is supported."""
    networks = {repr(run.network): run.network for run in plan.runs}.values()
    of_networks = (line for network in networks for line in _of(network, switching, kernel))
    of_runs = (line for run in plan.runs for line in _of_run(run, switching, kernel))
    controls = missing_controls(plan, kernel)
    return list(dict.fromkeys([*of_networks, *controls, *of_runs]))


def missing_controls(plan: wire.Plan, kernel: Kernel) -> list[str]:
    """One sentence for each congestion control that this kernel does not offer."""
    return [
        f"{missing} {ask} for it."
        for tcp, ask in asking(plan).values()
        if (missing := missing_control(tcp, kernel)) is not None
    ]


def notes_on_run(run: wire.Run, switching: Switching, kernel: Kernel) -> list[str]:
    """Differences from the study that do not stop a run, one sentence each."""
    application = served_by(run)
    if application is None:
        return notes(run.network, switching, kernel)
    of_hosts = notes(run.network, switching, kernel, frozenset(imposed_on(application)))
    return [*of_hosts, *application_notes(run, application, kernel)]


def notes(
    network: wire.Network,
    switching: Switching,
    kernel: Kernel,
    imposed: Collection[tuple[str, str]] = (),
) -> list[str]:
    """Differences between this testbed's network and the study's. Parts of hosts that are in
    `imposed` are not differences, since this machine imposes them."""
    own = [line for group in network.groups for line in departures(group.tcp, kernel)]
    path = kernel_path.departures(network) if switching == "kernel" else []
    switches = [line for switch in network.switches for line in _switch(switch)]
    hosts = [*_hosts(network, imposed), *_queues(make_layout(network, kernel, switching=switching))]
    found = [*own, *path, *hosts, *_clock(network), *switches, *_zones(network)]
    return list(dict.fromkeys(found))


def _of(network: wire.Network, switching: Switching, kernel: Kernel) -> Iterator[str]:
    if switching == "kernel":
        yield from kernel_path.unsupported(network)
    yield from _checksums(make_layout(network, kernel, switching=switching))
    if any(one.honours_pause or one.pause_high_bytes is not None for one in network.switches):
        yield "Links of namespaces know no PAUSE; turn it off in the switch."
    yield from _pauses(network)
    yield from _disciplines(network, switching)
    for group in network.groups:
        yield from _tcp(group, kernel)
    yield from _places(network, kernel)
    yield from _quotas(network, kernel)


def _checksums(layout: Layout) -> Iterator[str]:
    asked = [
        one for one in layout.interfaces if one.nic.checksum_offload and not layout.is_shaped(one)
    ]
    for group in dict.fromkeys(layout.host_of(one.host).group.name for one in asked):
        yield (
            f"The switches' program carries a link of host {group}, and forwards no frames whose "
            "checksum is left to the interface: leave checksum_offload out, or link hosts "
            "directly at a rate that the kernel keeps."
        )


def _quotas(network: wire.Network, kernel: Kernel) -> Iterator[str]:
    limited = [group.name for group in network.groups if group.cpu_quota_pct is not None]
    if limited and "cpu" not in kernel.control_groups:
        yield (
            f"The quota of {', '.join(limited)} limits CPU time by control groups, which this user "
            "may not make here: run as root, or leave cpu_quota out."
        )


def _pauses(network: wire.Network) -> Iterator[str]:
    """Refuses PAUSE between two hosts on one link. PAUSE frames that the peer ignores have no
    effect, so they are not refused."""
    groups = {host.name: network.group(host.group) for host in network.hosts}
    for link in network.links:
        for end, peer in (link.ports, link.ports[::-1]):
            if end.node not in groups or peer.node not in groups:
                continue
            asking, honouring = groups[end.node], groups[peer.node]
            asks = (end.nic or asking.nic).pause_high_frames is not None
            if asks and (peer.nic or honouring.nic).honours_pause:
                yield (
                    f"The nic of {asking.name} asks that of {honouring.name} to pause, over a link "
                    "between the two, and links of namespaces know no PAUSE: leave out pause_high "
                    f"at {asking.name}, or write honours_pause: false at {honouring.name}."
                )


def _disciplines(network: wire.Network, switching: Switching) -> Iterator[str]:
    """Refuses queue disciplines where the user-space switch does not stand."""
    if switching == "user-space":
        yield from host_queues(network)
        return
    for end in (end for link in network.links for end in link.ports):
        if end.queue is not None:
            yield f"The kernel's bridge has no {end.queue.kind} at {end.node}: use --testbed netns."


def _tcp(group: wire.Group, kernel: Kernel) -> Iterator[str]:
    tcp = group.tcp
    if tcp.recovery in _OF_ANOTHER_TCP:
        yield (
            f"The TCP {tcp.profile} of host {group.name} is not that of {kernel.name}: name "
            f"linux-6, in topology.{group.name}.tcp.profile or in the study's variant for netns."
        )


def _places(network: wire.Network, kernel: Kernel) -> Iterator[str]:
    """Refuses hosts on other machines, several addresses without source routes, and zones with a
    TCP or quota of their own."""
    for host in network.hosts:
        if host.machine is not None:
            yield f"Host {host.name} is on {host.machine}; namespaces are only on this machine."
        ends = [end for link in network.links for end in link.ports if end.node == host.name]
        zones = [zone for zone in network.zones if zone.host == host.name]
        inside = [zone for zone in zones if zone.stack == "shared"]
        if len(ends) + len(inside) > 1 and not kernel.source_routes:
            yield (
                f"Host {host.name} has several addresses, and {kernel.name} here has no routes by "
                "source address (CONFIG_IP_MULTIPLE_TABLES)."
            )
        group = network.group(host.group)
        own = kernel_tcp(group.tcp, 1500, kernel)
        if len(inside) < len(zones) and "macvlan" not in kernel.links:
            yield (
                f"The zones of {host.name} have network stacks of their own, and {kernel.name} "
                "here makes no virtual interfaces (CONFIG_MACVLAN): write stack: shared."
            )
        for zone in zones:
            said = network.group(zone.group)
            if said.cpu_quota_pct != group.cpu_quota_pct:
                yield (
                    f"Zone {zone.name} has another cpu_quota than its host {host.name}, whose "
                    "quota is for the processes of both."
                )
            # A zone shares only the sysctls of its host; it may have other routes and socket
            # options.
            if zone.stack == "shared" and kernel_tcp(said.tcp, 1500, kernel).sysctls != own.sysctls:
                yield (
                    f"Zone {zone.name} has another TCP than its host {host.name}, whose kernel "
                    "settings it shares."
                )


def _of_run(run: wire.Run, switching: Switching, kernel: Kernel) -> Iterator[str]:
    traffic = traffic_of(run.workload)
    yield from traffic.unsupported(run)
    application = served_by(run)
    known: Collection[wire.PhaseKind] = ()
    if isinstance(traffic, ApplicationTraffic):
        known = traffic.application_phases(run.workload)
    for phase in run.phases:
        if phase.kind in wire.APPLICATION_PHASES and phase.kind not in known:
            yield f"The workload has no data of its own: it has no phase '{phase.kind}'."
    if application is not None:
        yield from application_refusals(run, application, kernel)
    yield from _probe(run)
    yield from _instruments(run, switching)
    yield from recorder_refusals(run)
    yield from _pairs(run)


def _probe(run: wire.Run) -> Iterator[str]:
    if run.probe is None and run.until("idle") is not None:
        yield "In the phase 'idle' only the probe runs, and the study has none."
    if run.probe is not None and isinstance(run.until("idle"), wire.UntilCount):
        yield "The phase 'idle' lasts for a time: give it one."


def _instruments(run: wire.Run, switching: Switching) -> Iterator[str]:
    switches = {switch.name for switch in run.network.switches}
    for one in run.instruments:
        at_switch = one.node in switches
        if one.kind == "snmp":
            yield from _poll(one, switching)
        elif one.kind == "ports" and switching == "kernel":
            yield "The kernel's bridge is not read at intervals: use --testbed netns."
        elif (one.kind == "ports") != at_switch:
            what = "a switch" if one.kind == "ports" else "a host"
            yield f"The instrument '{one.kind}' reads {what}, and {one.node} is none."
        elif one.from_ is not None and one.from_ != one.node:
            yield f"The instrument '{one.kind}' at {one.node} asks itself, not {one.from_}."
        elif not at_switch and one.every_ns % 1_000_000:
            yield f"Agents sample every so many milliseconds, not every {one.every_ns} ns."
    yield from _sampled_differently(run)


def _poll(poll: wire.Instrument, switching: Switching) -> Iterator[str]:
    if switching == "kernel":
        yield "The kernel's bridge answers no SNMP: use --testbed netns."
        return
    if poll.from_ is None:
        yield (
            f"Nobody polls {poll.node}: write from: with an idle host that is linked to it, in the "
            "instrument snmp."
        )
    if poll.access is not None and poll.access.user is not None:
        yield (
            f"{poll.node} is an emulated switch and answers only SNMPv2c: leave out user and its "
            "passwords, in the study or in its variant for netns."
        )
    if poll.access is not None and poll.access.community is not None:
        try:
            secret(poll.access.community, f"the community of {poll.node}")
        except TestbedError as error:
            yield f"{str(error)[:1].upper()}{str(error)[1:]}."


def _sampled_differently(run: wire.Run) -> Iterator[str]:
    """Refuses two intervals for the same kind of instrument, since an agent has only one."""
    communities: dict[str, wire.SecretSource | None] = {}
    for one in run.instruments:
        source = None if one.access is None else one.access.community
        if one.kind == "snmp" and communities.setdefault(one.node, source) != source:
            yield f"The switch {one.node} has one community, and two are named for it."
    every: dict[tuple[str, str], int] = {}
    for one in run.instruments:
        if one.kind in ("host", "tcp") and every.setdefault((one.kind, one.node), one.every_ns) != (
            one.every_ns
        ):
            yield f"The instrument '{one.kind}' at {one.node} has two intervals; give it one."


def _pairs(run: wire.Run) -> Iterator[str]:
    """Refuses data between two interfaces of one host, which would stay inside the host instead of
    using the links."""
    zones = {zone.name: zone for zone in run.network.zones}
    for client, server in run.workload.connected:
        host, other = client.partition("@")[0], server.partition("@")[0]
        yield from _with_own_zone(zones, host, other)
        if host == other and host not in zones:
            yield (
                f"{client} talks to {server}, which is the same host: its kernel hands such data "
                "over inside; put the two ends into zones to measure that, or on two hosts."
            )


def _with_own_zone(zones: Mapping[str, wire.Zone], *ends: str) -> Iterator[str]:
    """Refuses data between a zone and its own host: the zone's virtual interface cannot exchange
    frames with the host's interface below it."""
    for end, other in (ends, ends[::-1]):
        zone = zones.get(end)
        if zone is not None and zone.stack == "own" and zone.host == other:
            yield (
                f"{end} has a network stack of its own and does not reach that of its host "
                f"{other}: put the other end into a zone too, or write stack: shared."
            )


def _hosts(network: wire.Network, imposed: Collection[tuple[str, str]]) -> Iterator[str]:
    """Differences in interfaces and CPUs: properties that the simulator models, but that the
    machine itself determines in namespaces. Parts of hosts that are in `imposed` are left out."""
    own = {
        (network.group(host.group).name, part)
        for name, part in imposed
        for host in network.hosts
        if host.name == name
    }
    modelled = {
        "receive_latency_ns",
        "receive_jitter_ns",
        "send_latency_ns",
        "receive_frame_ns",
        "receive_rate_bps",
        "interrupt_delay_ns",
        "poll_weight_frames",
        "packet_rate_pps",
        "receive_refill_frames",
        "receive_ring_frames",
        "receive_merge_bytes",
    }
    # A value equal to the default has no effect, so it is not a difference.
    usual = wire.Nic()
    nics = [(group.nic, group.profile) for group in network.groups]
    nics += [
        (port.nic, f"{port.node} {port.name}")
        for link in network.links
        for port in link.ports
        if port.nic
    ]
    for nic, profile in nics:
        said = sorted(name for name in modelled if getattr(nic, name) != getattr(usual, name))
        if said:
            yield f"The hosts are this machine: {', '.join(said)} of {profile} are not imposed."
    for group in network.groups:
        parts = ("local_path", "cpu", "bus", "disk")
        there = (part for part in parts if getattr(group, part) is not None)
        if said := [part for part in there if (group.name, part) not in own]:
            are = "are" if len(said) > 1 else "is"
            what = f"{', '.join(said)} of {group.profile} {are}"
            yield f"The hosts are this machine: {what} not imposed."


_NO_BURST = (
    "The offload_burst of {hosts} is not imposed where the kernel keeps a link to its rate: there "
    "TCP hands over single frames."
)
_NO_TRANSMIT_QUEUE = (
    "The transmit_queue of {hosts} is not imposed where the switches' program carries a link: it "
    "accepts any number of frames at once."
)
_NO_LIMIT_OUTPUT = (
    "The limit_output of {hosts} has no effect where the switches' program carries a link: it "
    "takes frames at once, so that none wait in the host."
)


def _queues(layout: Layout) -> Iterator[str]:
    """Settings of host queues that have no effect, because the kernel or the switch program that
    emulates the link ignores them."""
    found: dict[str, dict[str, None]] = {}
    for one in layout.interfaces:
        group = layout.host_of(one.host).group
        for said in _without_effect(one.nic, group.tcp, is_shaped=layout.is_shaped(one)):
            found.setdefault(said, {})[group.name] = None
    for said, names in found.items():
        yield said.format(hosts=f"{'hosts' if len(names) > 1 else 'host'} {listed([*names])}")


def _without_effect(nic: wire.Nic, tcp: wire.Tcp, *, is_shaped: bool) -> Iterator[str]:
    if is_shaped:
        if tcp.offload_burst_bytes:
            yield _NO_BURST
        return
    if nic.transmit_queue_frames != wire.Nic().transmit_queue_frames:
        yield _NO_TRANSMIT_QUEUE
    if tcp.limit_output_bytes:
        yield _NO_LIMIT_OUTPUT


def _clock(network: wire.Network) -> Iterator[str]:
    if not network.shared_clock:
        yield (
            "The hosts share this kernel's clock, so that timers of several fire at the same "
            "instant (shared_clock in the simulator)."
        )


def _switch(switch: wire.Switch) -> Iterator[str]:
    if switch.forwarding == "cut-through":
        yield "A frame arrives whole before it is forwarded: nothing is cut through."


def _zones(network: wire.Network) -> Iterator[str]:
    stacks = {zone.stack for zone in network.zones}
    if "shared" in stacks:
        yield (
            "Two zones that share their host's network stack talk over its loopback, in packets of "
            "up to 65,536 bytes, and touch no link, whichever interfaces they are at."
        )
    if "own" in stacks:
        yield (
            "Two zones with network stacks of their own talk over virtual interfaces (macvlan): "
            "inside of their host at the same interface, over the wire at two."
        )
