"""Differences between a study's network and the user's own, for the records of its runs. They do
not stop a run: the study only describes these parts, by its profiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from netstudy import wire
from netstudy.documents.problems import listed
from netstudy.hardware import HardwareLibrary
from netstudy.testbed.real.kernel_tcp import (
    KernelRelease,
    ack_departures,
    initial_rto_departures,
    offload_departures,
    recovery_departures,
    rule_departures,
)
from netstudy.testbed.ssh.host_tcp import differences, keeps_metrics


@dataclass(frozen=True)
class HostKernel:
    """The kernel of a host."""

    release: KernelRelease
    tcp: Mapping[str, str]
    """Texts of `host_tcp.FILES`."""


def departures(network: wire.Network, kernels: Mapping[str, HostKernel]) -> list[str]:
    """One sentence for each difference. `kernels` has the host that plays each host of the study,
    by its name in the study."""
    library = HardwareLibrary.default()
    found: list[str] = []
    for group in network.groups:
        played = {
            node.name: kernels[node.name] for node in network.hosts if node.group == group.name
        }
        found += _settings(group, played, library)
        found += [line for one in played.values() for line in _fixed(group.tcp, one.release)]
        found += _metrics(played)
    return list(dict.fromkeys([*found, *_hosts(network), *_switches(network)]))


def _settings(
    group: wire.Group, played: Mapping[str, HostKernel], library: HardwareLibrary
) -> Iterator[str]:
    """Settings of hosts that differ, each with the hosts that have it."""
    where: dict[str, list[str]] = {}
    for node, kernel in played.items():
        for one in differences(group, kernel.tcp, library):
            where.setdefault(str(one), []).append(node)
    for said, nodes in where.items():
        at = group.name if len(nodes) == len(played) else listed(nodes)
        yield f"At {at}, {said}: a setting of the whole host, which is left as it is."


def _fixed(tcp: wire.Tcp, kernel: KernelRelease) -> Iterator[str]:
    """Differences that no setting of a kernel removes."""
    yield from recovery_departures(tcp, kernel)
    yield from rule_departures(tcp, kernel)
    yield from initial_rto_departures(tcp, kernel)
    yield from ack_departures(tcp)
    yield from offload_departures(tcp)


def _metrics(played: Mapping[str, HostKernel]) -> Iterator[str]:
    keeping = [node for node, kernel in played.items() if keeps_metrics(kernel.tcp)]
    if keeping:
        yield (
            f"Connections of {listed(keeping)} inherit ssthresh and round-trip times from earlier "
            "runs (net.ipv4.tcp_no_metrics_save=0)."
        )


def _hosts(network: wire.Network) -> Iterator[str]:
    for group in network.groups:
        yield (
            f"The user's hosts have interfaces and CPUs of their own: the figures of "
            f"{group.profile} for {group.name} are not imposed."
        )


def _switches(network: wire.Network) -> Iterator[str]:
    for switch in network.switches:
        yield (
            f"The switch {switch.name} is the user's own: that it has the buffers and the "
            f"forwarding of {switch.profile} is a claim of the study, which nothing here checks."
        )
        ends = [end for link in network.links for end in link.ports if end.node == switch.name]
        kinds = dict.fromkeys(end.queue.kind for end in ends if end.queue is not None)
        if kinds:
            yield (
                f"That ports of {switch.name} have {listed([*kinds])} is a claim of the study too: "
                "set it at the switch."
            )
