"""Parts of a plan that hosts of a user cannot give, found before any host is asked. Each of these
parts is refused by name."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy import wire
from netstudy.documents.problems import listed
from netstudy.inventory import Inventory
from netstudy.testbed.real.host_queues import host_queues
from netstudy.testbed.real.random_links import random_links
from netstudy.testbed.ssh.assignment import assign, refusals
from netstudy.testbed.workloads import traffic_of
from netstudy.testbed.workloads.base import ApplicationTraffic
from netstudy.units import format_rate


def unsupported(plan: wire.Plan, inventory: Inventory, name: str) -> list[str]:
    """One sentence for each unsupported part; empty when the whole plan is supported. `name` is the
    file of the inventory."""
    networks = {repr(run.network): run.network for run in plan.runs}.values()
    found = [
        *refusals(plan.runs, inventory, name),
        *(line for network in networks for line in _of_network(network)),
        *(line for run in plan.runs for line in _of_run(run)),
    ]
    if not found:
        found = [line for run in plan.runs for line in _files(run, inventory, name)]
    return list(dict.fromkeys(found))


def _of_network(network: wire.Network) -> Iterator[str]:
    limited = [group.name for group in network.groups if group.cpu_quota_pct is not None]
    if limited:
        yield f"The cpu_quota of {listed(limited)} cannot be set on hosts: leave it out."
    apart = dict.fromkeys(zone.group for zone in network.zones if zone.stack == "own")
    if apart:
        yield (
            f"The zones of {listed([*apart])} have a network stack each, which hosts do not have: "
            "write stack: shared."
        )
    yield from host_queues(network)
    yield from random_links(network, "sim and netns have and real links do not")
    hosts = {host.name for host in network.hosts}
    for link in network.links:
        a, b = link.ports
        if a.rate_bps != b.rate_bps and {a.node, b.node} & hosts:
            yield (
                f"The link between {a.node} and {b.node} has {format_rate(a.rate_bps)} in one "
                f"direction and {format_rate(b.rate_bps)} in the other; interfaces of hosts have "
                "one rate."
            )


def _of_run(run: wire.Run) -> Iterator[str]:
    traffic = traffic_of(run.workload)
    if isinstance(traffic, ApplicationTraffic):
        yield "An application cannot run on hosts yet: use sim or netns."
        return
    yield from traffic.unsupported(run)
    yield from _inside(run)
    for one in run.instruments:
        if one.kind in ("ports", "snmp"):
            yield (
                f"The ports of {one.node} cannot be read on hosts yet: leave out this instrument, "
                "and what is drawn or concluded from it."
            )
        if one.sysstat:
            yield f"sysstat's sar at {one.node} cannot be started on hosts yet: leave sysstat out."


def _inside(run: wire.Run) -> Iterator[str]:
    """Refuses data between two interfaces of one host, which would not leave it."""
    zones = {zone.name for zone in run.network.zones}
    for client, server in run.workload.connected:
        host, other = client.partition("@")[0], server.partition("@")[0]
        if host == other and host not in zones:
            yield (
                f"{client} talks to {server}, which is the same host: its kernel hands such data "
                "over inside; put the two ends into zones to measure that, or on two hosts."
            )


def _files(run: wire.Run, inventory: Inventory, name: str) -> Iterator[str]:
    """Refuses files at hosts without a folder for them."""
    traffic = traffic_of(run.workload)
    if not traffic.folders(run.workload):
        return
    for host in sorted(set(assign(run.network, inventory).hosts.values())):
        if inventory.hosts[host].files is None:
            yield f"Files of the study need a folder at {host}: {name} needs hosts.{host}.files."
