"""What namespaces on this machine cannot do of a plan: it is refused, not left out in silence."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy import wire
from netstudy.testbed.netns import kernel_path
from netstudy.testbed.netns.kernel import Kernel
from netstudy.testbed.netns.kernel_tcp import departures, missing_control
from netstudy.testbed.netns.layout import Switching

_OF_ANOTHER_TCP = ("fack", "rfc")


def refusals(plan: wire.Plan, switching: Switching, kernel: Kernel) -> list[str]:
    """One sentence for each thing; empty when the plan can be carried out."""
    networks = {repr(run.network): run.network for run in plan.runs}.values()
    return list(
        dict.fromkeys(line for network in networks for line in _of(network, switching, kernel))
    )


def notes(network: wire.Network, switching: Switching, kernel: Kernel) -> list[str]:
    """What is different from the study although it is carried out, one sentence each."""
    own = [line for group in network.hosts for line in departures(group.tcp, kernel)]
    path = kernel_path.departures(network) if switching == "kernel" else []
    return list(
        dict.fromkeys([*own, *path, *_hosts(network), *_clock(network), *_switch(network.switch)])
    )


def _of(network: wire.Network, switching: Switching, kernel: Kernel) -> Iterator[str]:
    if switching == "kernel":
        yield from kernel_path.refusals(network)
    if network.switch.honours_pause or network.switch.pause_high_bytes is not None:
        yield "Links of namespaces know no PAUSE; turn it off in the switch."
    for group in network.hosts:
        yield from _tcp(group, kernel)


def _tcp(group: wire.HostGroup, kernel: Kernel) -> Iterator[str]:
    tcp = group.tcp
    if tcp.recovery in _OF_ANOTHER_TCP:
        yield (
            f"The TCP {tcp.profile} of host {group.name} is not that of {kernel.name}: name "
            f"linux-6, in topology.{group.name}.tcp.profile or in the study's form for netns."
        )
    if (missing := missing_control(tcp, kernel)) is not None:
        yield f"{missing} Host {group.name} asks for it."


def _hosts(network: wire.Network) -> Iterator[str]:
    """What a profile says of a host's interface and processor: here these are the machine's own."""
    modelled = {
        "receive_latency_ns",
        "receive_jitter_ns",
        "send_latency_ns",
        "receive_frame_ns",
        "receive_rate_bps",
        "interrupt_delay_ns",
        "packet_rate_pps",
        "receive_ring_frames",
        "receive_merge_bytes",
    }
    usual = wire.Nic()
    for group in network.hosts:
        said = sorted(name for name in modelled if getattr(group.nic, name) != getattr(usual, name))
        if said:
            yield (
                f"The hosts are this machine: {', '.join(said)} of {group.profile} are not imposed."
            )


def _clock(network: wire.Network) -> Iterator[str]:
    if not network.shared_clock:
        yield (
            "The hosts share this kernel's clock, so that timers of several fire at the same "
            "instant (shared_clock in the simulator)."
        )


def _switch(switch: wire.Switch) -> Iterator[str]:
    if switch.forwarding == "cut-through":
        yield "A frame arrives whole before it is forwarded: nothing is cut through."
